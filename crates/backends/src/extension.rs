//! The browser that a person uses, through the extension in it. One in Firefox speaks BiDi by itself: see `bidi.rs`.
//!
//! In Chromium the extension has one debugger per tab and none for the browser. So the hub plays the browser: a virtual
//! one (`machine.rs`) stands between the router, which takes it for a Chromium, and the extension. This file
//! is its shell: it moves messages, keeps the time, and waits for an extension that is gone for a moment.

mod acts;
mod attach;
mod bidi;
mod browser;
mod cancel;
mod children;
mod create;
mod downloads;
mod events;
mod fetch;
mod frames;
mod keep;
mod machine;
mod node;
mod out;
mod page;
mod policy;
mod promise;
mod requests;
mod session;
mod tabs;
mod targets;
mod wishes;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bowline_hub::audit::Act;
use bowline_hub::backend::{ExtensionSpec, Link, Outgoing, Protocol, StartError, Started};
use bowline_hub::extensions::{Extensions, Relay};
use bowline_wire::Command;
use bowline_wire::origins::Origins;
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::Instant;
use tokio_util::sync::PollSender;
use tokio_util::task::TaskTracker;

use downloads::Copy;
use machine::Machine;

/// An extension without a hub is woken every 30 s to look for one.
const PATIENCE: Duration = Duration::from_secs(35);
/// How long clients are kept while the extension is gone: its worker may have been killed.
const GONE: Duration = Duration::from_secs(40);
/// How long the extension may take to tell what there is.
const FIRST_STATE: Duration = Duration::from_secs(10);
/// Commands and answers under way between router and virtual browser. A full queue makes the other wait.
const MESSAGES: usize = 1024;
/// Downloads that are copied at a time.
const COPIES: usize = 4;
/// A message that is larger than this is not taken by Chromium either.
const LARGEST: usize = 100_000_000 - (64 << 10);

pub(crate) async fn start(
    extensions: &Extensions,
    name: &str,
    spec: &ExtensionSpec,
    sites: &Origins,
    tasks: &TaskTracker,
) -> Result<Started, StartError> {
    let Some(mut relay) = extensions.take(&spec.instance, PATIENCE).await else { return Err(not_there()) };
    if relay.visitor.speaks == Protocol::Bidi {
        return bidi::start(extensions, name, relay, sites, tasks).await;
    }
    let salt = u64::from_str_radix(spec.instance.get(..16).unwrap_or("0"), 16).unwrap_or_default();
    let mut machine = Machine::new(relay.visitor.clone(), Instant::now(), salt);
    machine.policy.sites = sites.clone();
    // Before anyone asks, the tabs are known.
    let known = tokio::time::timeout(FIRST_STATE, async {
        while !machine.is_known {
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
    let (extensions, name, instance) = (extensions.clone(), name.to_owned(), spec.instance.clone());
    let (tasks, copying) = (tasks.clone(), Arc::new(Semaphore::new(COPIES)));
    let shell =
        Shell { extensions, name, instance, machine, commands, messages, tasks: tasks.clone(), copying };
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
    Ok(Started { link, protocol: Protocol::Cdp, process: None })
}

struct Shell {
    extensions: Extensions,
    name: String,
    instance: String,
    machine: Machine,
    commands: mpsc::Receiver<Outgoing>,
    messages: mpsc::Sender<Bytes>,
    tasks: TaskTracker,
    copying: Arc<Semaphore>,
}

enum Happened {
    Command(Option<Outgoing>),
    Frame(Option<Bytes>),
    Copied(Option<(Copy, bool)>),
    Alarm,
}

impl Shell {
    /// Runs until the router lets go, or the extension stays away.
    async fn run(mut self, relay: Relay) {
        let mut relay = relay;
        let (copied, mut copies) = mpsc::channel(16);
        loop {
            if self.flush(&relay, &copied).await.is_err() {
                return self.leave(&relay);
            }
            let alarm = self.machine.next_alarm();
            let happened = tokio::select! {
                biased;
                frame = relay.incoming.recv() => Happened::Frame(frame),
                command = self.commands.recv() => Happened::Command(command),
                copy = copies.recv() => Happened::Copied(copy),
                () = sleep_until(alarm) => Happened::Alarm,
            };
            self.machine.now = Instant::now();
            match happened {
                Happened::Command(Some(command)) => {
                    tracing::trace!(session = ?command.session, message = %Text(&command.body), "from a client");
                    self.machine.command(&command);
                    while let Ok(command) = self.commands.try_recv() {
                        tracing::trace!(session = ?command.session, message = %Text(&command.body), "from a client");
                        self.machine.command(&command);
                    }
                }
                Happened::Command(None) => return self.leave(&relay),
                Happened::Frame(Some(frame)) => {
                    self.take(&frame);
                    // What is there already is answered together, but not for ever.
                    for _ in 0..64 {
                        let Ok(frame) = relay.incoming.try_recv() else { break };
                        self.take(&frame);
                    }
                }
                Happened::Frame(None) => {
                    self.machine.relay_lost();
                    let Some(new) = self.wait_for_extension().await else { return };
                    relay = new;
                }
                Happened::Copied(Some((copy, is_made))) => self.machine.copied(&copy, is_made),
                Happened::Copied(None) => {}
                Happened::Alarm => self.machine.ring(),
            }
        }
    }

    /// Takes the debuggers off: nobody knows what was set on them any more.
    fn leave(&mut self, relay: &Relay) {
        for message in self.machine.last_words() {
            // There is no time for one that does not read.
            let _ = relay.outgoing.try_send(message);
        }
    }

    fn take(&mut self, frame: &Bytes) {
        match std::str::from_utf8(frame) {
            Ok(text) => {
                tracing::trace!(message = text, "from the extension");
                self.machine.wall_clock = wall_clock();
                self.machine.frame(text);
            }
            Err(_) => tracing::warn!("the extension sent a message that is not UTF-8; dropped"),
        }
    }

    /// Hands out what the machine has to say. Fails if nobody listens any more.
    async fn flush(&mut self, relay: &Relay, copied: &mpsc::Sender<(Copy, bool)>) -> Result<(), ()> {
        if self.machine.drivers_changed {
            self.machine.tell_drivers();
        }
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
        for message in self.machine.out.to_extension.drain(..) {
            tracing::trace!(message = %Text(&message), "to the extension");
            // An error means that the extension has gone, which is noticed when nothing comes.
            let _ = relay.outgoing.send(message).await;
        }
        for message in self.machine.out.to_clients.drain(..) {
            tracing::trace!(message = %Text(&message), "to a client");
            self.messages.send(message).await.map_err(|_| ())?;
        }
        for copy in self.machine.copies.drain(..) {
            let (copied, turns) = (copied.clone(), self.copying.clone());
            self.tasks.spawn(async move {
                let _turn = turns.acquire_owned().await;
                let made = make_copy(&copy).await;
                // Nobody is told if nobody is there.
                let _ = copied.send((copy, made)).await;
            });
        }
        Ok(())
    }

    /// The extension's worker may come back. What clients send meanwhile waits; that the browser is there is
    /// said all the same. Returns with the tabs known anew.
    async fn wait_for_extension(&mut self) -> Option<Relay> {
        self.machine.is_known = false;
        let deadline = Instant::now() + GONE;
        let mut held = VecDeque::new();
        let (extensions, instance) = (self.extensions.clone(), self.instance.clone());
        let mut relay: Option<Relay> = None;
        while !self.machine.is_known {
            for message in self.machine.out.to_clients.drain(..) {
                self.messages.send(message).await.ok()?;
            }
            self.machine.out.to_extension.clear();
            tokio::select! {
                arrived = extensions.take(&instance, GONE), if relay.is_none() => relay = Some(arrived?),
                frame = next_frame(&mut relay) => match frame {
                    Some(frame) => self.take(&frame),
                    // Gone again.
                    None => relay = None,
                },
                command = self.commands.recv(), if held.len() < MESSAGES => {
                    let command = command?;
                    if is_probe(&command) {
                        self.machine.command(&command);
                    } else {
                        held.push_back(command);
                    }
                }
                () = self.messages.closed() => return None,
                () = tokio::time::sleep_until(deadline) => return None,
            }
        }
        self.machine.now = Instant::now();
        for command in held {
            self.machine.command(&command);
        }
        relay
    }
}

async fn next_frame(relay: &mut Option<Relay>) -> Option<Bytes> {
    match relay {
        Some(relay) => relay.incoming.recv().await,
        None => std::future::pending().await,
    }
}

/// Whether the hub asks if the browser is alive.
fn is_probe(command: &Outgoing) -> bool {
    std::str::from_utf8(&command.body)
        .ok()
        .and_then(|text| Command::parse(text).ok())
        .is_some_and(|command| command.session.is_none() && command.method == "Browser.getVersion")
}

/// A message in the log.
struct Text<'a>(&'a Bytes);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(self.0))
    }
}

async fn make_copy(copy: &Copy) -> bool {
    let (from, to) = (copy.from.clone(), copy.to.clone());
    let made = tokio::task::spawn_blocking(move || {
        if let Some(directory) = to.parent() {
            std::fs::create_dir_all(directory)?;
        }
        std::fs::copy(from, to).map(|_| ())
    });
    match made.await.unwrap_or_else(|error| Err(io::Error::other(error))) {
        Ok(()) => true,
        Err(error) => {
            tracing::warn!(%error, "a download could not be copied");
            false
        }
    }
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

fn wall_clock() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

fn not_there() -> StartError {
    StartError {
        code: "extension_not_connected",
        message: format!("the extension did not connect within {}s", PATIENCE.as_secs()),
        hint: "open the browser and look at the extension's popup; `bowline extension status` tells what is known"
            .to_owned(),
    }
}

/// A browser tells its protocol over a debugging port only.
pub(crate) fn no_protocol() -> StartError {
    StartError {
        code: "no_protocol",
        message: "this browser's protocol description cannot be had through its extension".to_owned(),
        hint: "ask a launched browser for it".to_owned(),
    }
}
