//! A person's own Firefox. Firefox lends an extension no debugger, so the extension in it is itself a small remote end of
//! WebDriver BiDi. It is trusted to do what it is asked; who may ask what is kept here, in `machine.rs`. This file is its
//! shell: it moves messages, reads files, and waits for an extension that is gone for a moment.

mod acts;
mod aims;
mod answers;
mod contexts;
mod cookies;
mod events;
mod files;
mod machine;
mod rules;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::io;

use bowline_hub::audit::Act;
use bowline_hub::backend::{Link, Outgoing, Protocol, StartError, Started};
use bowline_hub::extensions::{Extensions, Relay};
use bowline_wire::bidi::{Command, Refusal};
use bowline_wire::origins::Origins;
use bowline_wire::relay::{Policy, Session};
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::PollSender;
use tokio_util::task::TaskTracker;

use super::{FIRST_STATE, GONE, LARGEST, MESSAGES, Text, next_frame, not_there, wall_clock};
use machine::Machine;

pub(super) async fn start(
    extensions: &Extensions,
    name: &str,
    mut relay: Relay,
    sites: &Origins,
    tasks: &TaskTracker,
) -> Result<Started, StartError> {
    let policy = Policy { sites: sites.clone(), ..Policy::default() };
    let mut machine = Machine::new(policy, Instant::now());
    // Before anyone asks, the person's rules are known.
    let known = tokio::time::timeout(FIRST_STATE, async {
        while machine.session.is_none() {
            let Some(frame) = relay.incoming.recv().await else { return false };
            machine.frame(&String::from_utf8_lossy(&frame));
        }
        true
    });
    if !known.await.unwrap_or(false) {
        return Err(not_there());
    }
    let (commands_in, commands) = mpsc::channel::<Outgoing>(MESSAGES);
    let (messages, mut messages_out) = mpsc::channel::<Bytes>(MESSAGES);
    let shell = Shell {
        extensions: extensions.clone(),
        name: name.to_owned(),
        instance: relay.visitor.instance.clone(),
        machine,
        commands,
        messages,
        tasks: tasks.clone(),
    };
    tasks.spawn(shell.run(relay));
    let reader = futures_util::stream::poll_fn(move |context| {
        messages_out.poll_recv(context).map(|message| message.map(Ok))
    });
    let writer = PollSender::new(commands_in).sink_map_err(|_| io::Error::other("the extension is gone"));
    let link = Link {
        reader: Box::pin(reader.boxed()),
        writer: Box::pin(writer),
        max_outgoing: LARGEST,
        may_be_closed: false,
        is_virtual: true,
    };
    Ok(Started { link, protocol: Protocol::Bidi, process: None })
}

struct Shell {
    extensions: Extensions,
    name: String,
    instance: String,
    machine: Machine,
    commands: mpsc::Receiver<Outgoing>,
    messages: mpsc::Sender<Bytes>,
    tasks: TaskTracker,
}

type Read = (u64, Result<Value, Refusal>);

enum Happened {
    Command(Option<Outgoing>),
    Frame(Option<Bytes>),
    Read(Option<Read>),
}

impl Shell {
    /// Runs until the hub lets go, or the extension stays away or comes back without its session.
    async fn run(mut self, relay: Relay) {
        let mut relay = relay;
        let (read, mut files) = mpsc::channel::<Read>(16);
        loop {
            if self.flush(&relay, &read).await.is_err() {
                return self.leave(&relay);
            }
            let happened = tokio::select! {
                biased;
                frame = relay.incoming.recv() => Happened::Frame(frame),
                command = self.commands.recv() => Happened::Command(command),
                read = files.recv() => Happened::Read(read),
            };
            self.machine.now = Instant::now();
            match happened {
                Happened::Command(Some(command)) => self.command(&command),
                Happened::Command(None) => return self.leave(&relay),
                Happened::Frame(Some(frame)) => self.take(&frame),
                Happened::Frame(None) => {
                    self.machine.relay_lost();
                    let Some(new) = self.wait_for_extension().await else { return };
                    relay = new;
                }
                Happened::Read(Some((id, files))) => self.machine.read(id, files),
                Happened::Read(None) => {}
            }
        }
    }

    /// The session is of no use to anybody; the pages are left as they are.
    fn leave(&mut self, relay: &Relay) {
        for message in self.machine.last_words() {
            // There is no time for one that does not read.
            let _ = relay.outgoing.try_send(message);
        }
    }

    fn command(&mut self, command: &Outgoing) {
        tracing::trace!(message = %Text(&command.body), "from a client");
        self.machine.command(&String::from_utf8_lossy(&command.body));
    }

    fn take(&mut self, frame: &Bytes) {
        match std::str::from_utf8(frame) {
            Ok(text) => {
                tracing::trace!(message = text, "from the extension");
                self.machine.frame(text);
            }
            Err(_) => tracing::warn!("the extension sent a message that is not UTF-8; dropped"),
        }
    }

    /// Hands out what the machine has to say. Fails if nobody listens any more.
    async fn flush(&mut self, relay: &Relay, read: &mpsc::Sender<Read>) -> Result<(), ()> {
        self.machine.tell_drivers();
        self.write_down();
        self.tell_extension(relay).await;
        self.tell_hub().await?;
        for reading in self.machine.readings.drain(..) {
            let read = read.clone();
            self.tasks.spawn(async move {
                let id = reading.id;
                let done = tokio::task::spawn_blocking(move || reading.carry_out()).await;
                let failed = |error: tokio::task::JoinError| {
                    (id, Err(Refusal::new("unable to set file input", error.to_string())))
                };
                // Nobody is told if nobody is there.
                let _ = read.send(done.unwrap_or_else(failed)).await;
            });
        }
        Ok(())
    }

    async fn tell_extension(&mut self, relay: &Relay) {
        for message in self.machine.to_extension.drain(..) {
            tracing::trace!(message = %Text(&message), "to the extension");
            // An error means that the extension has gone, which is noticed when nothing comes.
            let _ = relay.outgoing.send(message).await;
        }
    }

    async fn tell_hub(&mut self) -> Result<(), ()> {
        for message in self.machine.to_hub.drain(..) {
            tracing::trace!(message = %Text(&message), "to a client");
            self.messages.send(message).await.map_err(|_| ())?;
        }
        Ok(())
    }

    fn write_down(&mut self) {
        for act in self.machine.acts.new.drain(..) {
            self.extensions.audit().record(&Act {
                time: wall_clock(),
                browser: &self.name,
                client: &act.client,
                page: &act.page,
                method: &act.method,
                to: act.to.as_deref(),
                refused: act.refused.as_deref(),
            });
        }
    }

    /// The extension may come back, and have kept the session: then it goes on where it was. What clients send meanwhile
    /// waits; that the browser is there is said all the same. One without the session has been restarted, and with it, it
    /// may be, the browser: it is let go, and comes again at once to begin anew.
    async fn wait_for_extension(&mut self) -> Option<Relay> {
        let deadline = Instant::now() + GONE;
        let mut held = VecDeque::new();
        let (extensions, instance) = (self.extensions.clone(), self.instance.clone());
        let mut relay: Option<Relay> = None;
        while self.machine.session.is_none() {
            self.tell_hub().await.ok()?;
            tokio::select! {
                arrived = extensions.take(&instance, GONE), if relay.is_none() => relay = Some(arrived?),
                frame = next_frame(&mut relay) => match frame {
                    Some(frame) => self.take(&frame),
                    // Gone again.
                    None => relay = None,
                },
                command = self.commands.recv(), if held.len() < MESSAGES => {
                    let command = command?;
                    match probe(&command) {
                        Some(id) => self.machine.answer_probe(id),
                        None => held.push_back(command),
                    }
                }
                () = self.messages.closed() => return None,
                () = tokio::time::sleep_until(deadline) => return None,
            }
        }
        if self.machine.session == Some(Session::Fresh) {
            return None;
        }
        self.machine.now = Instant::now();
        self.machine.resync();
        // What waits is judged by where the tabs are now, and not by where they were.
        while self.machine.is_resyncing() {
            self.tell_hub().await.ok()?;
            self.tell_extension(relay.as_ref()?).await;
            tokio::select! {
                frame = next_frame(&mut relay) => match frame {
                    Some(frame) => self.take(&frame),
                    None => return None,
                },
                () = self.messages.closed() => return None,
                () = tokio::time::sleep_until(deadline) => return None,
            }
        }
        for command in held {
            self.command(&command);
        }
        relay
    }
}

/// The id of a command by which the hub asks if the browser is alive.
fn probe(command: &Outgoing) -> Option<u64> {
    let text = std::str::from_utf8(&command.body).ok()?;
    Command::parse(text).ok().filter(|command| command.method == "session.status").map(|command| command.id)
}
