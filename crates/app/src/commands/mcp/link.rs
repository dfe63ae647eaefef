//! The connection to the hub's `/agent`, which is made again when it is lost.
//!
//! One task owns it: calls come in through a queue, and are kept until they are answered. After a loss they are sent
//! again with the same ids, though not for ever: one of them may be what breaks it. The same hub repeats the answer
//! and not the action; a new hub knows nothing of them, so there only what does no harm twice is sent again, and of
//! the rest it is said that nobody knows. What was cancelled meanwhile is called off instead.

mod pending;
mod reach;

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use bowline_doors::Problem;
use bowline_doors::mcp::{Call, Caller, Newcomer};
use futures_util::future::BoxFuture;
use futures_util::stream::SplitSink;
use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;
use crate::output::Output;
use crate::paths::Paths;
use pending::{MOST_SENDS, Pending, cancel, cancelled, lost_too_often, outcome_unknown};
use reach::{Connected, FIRST_PAUSE, LONGEST_PAUSE, Socket, reach, try_to_reach};

/// Calls that wait to be taken by the task; more wait in their turn.
const QUEUE: usize = 64;
/// The hub pings every 20 s. One that is silent for so long is gone, or its machine slept.
const SILENCE: Duration = Duration::from_secs(60);
/// A connection that lasted so long is no reason to wait before the next.
const STEADY: Duration = Duration::from_secs(1);
/// While nobody asks for anything, a hub that comes back is looked for this often.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
const GOODBYE: Duration = Duration::from_millis(500);
/// Messages on their way to the hub; while there is no room, no more calls are taken.
const OUTGOING: usize = 64;
/// A hub that does not take a message for so long is given up, and asked anew.
const UNREAD: Duration = Duration::from_secs(30);

enum Order {
    Arrive(Newcomer),
    Call(Box<Pending>),
    Cancel(u64),
}

/// The side of the link that tools see.
pub(super) struct Link {
    orders: mpsc::Sender<Order>,
    next: Mutex<u64>,
}

/// Opens a link, and gives the task that keeps it. Nothing is connected before somebody has arrived.
pub(super) fn open(
    paths: Paths,
    output: Output,
    stop: CancellationToken,
) -> (Link, impl Future<Output = ()>) {
    let (orders, queue) = mpsc::channel(QUEUE);
    let keeper = Keeper { paths, output, queue, agent: None, pending: HashMap::new(), was_connected: false };
    (Link { orders, next: Mutex::new(first_id()) }, keeper.run(stop))
}

/// The hub remembers answers by the agent's name and the id: a server of the same name must not begin with the same
/// ids as the one before it. Below 2^53, so that it is a number for everybody.
fn first_id() -> u64 {
    let bytes = bowline_hub::auth::random_bytes().unwrap_or_default();
    let random = bytes.iter().take(8).fold(0u64, |all, byte| all << 8 | u64::from(*byte));
    (random ^ u64::from(std::process::id()) << 20) >> 12
}

impl Link {
    fn next_id(&self) -> u64 {
        let mut next = self.next.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let id = *next;
        *next += 1;
        id
    }
}

impl Caller for Link {
    fn arrive(&self, newcomer: Newcomer) {
        // The queue is empty: nothing is called before.
        let _ = self.orders.try_send(Order::Arrive(newcomer));
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Result<Value, Problem>> {
        Box::pin(self.answer(call))
    }
}

impl Link {
    async fn answer(&self, call: Call) -> Result<Value, Problem> {
        let id = self.next_id();
        let mut request = json!({"id": id, "action": call.action, "payload": call.payload});
        if let Some(browser) = call.browser {
            request["browser"] = json!(browser);
        }
        let (answer, mut answered) = oneshot::channel();
        let pending = Pending {
            id,
            action: call.action,
            text: request.to_string(),
            is_repeatable: call.is_repeatable,
            sent_to: None,
            sends: 0,
            is_cancelled: false,
            is_begun: false,
            answer,
            progress: call.progress,
        };
        if self.orders.send(Order::Call(Box::new(pending))).await.is_err() {
            return Err(ended());
        }
        tokio::select! {
            answer = &mut answered => return answer.unwrap_or_else(|_| Err(ended())),
            () = call.cancel.cancelled() => {}
        }
        // The hub says how it ended: an act that was quicker is an act that was done.
        let _ = self.orders.send(Order::Cancel(id)).await;
        answered.await.unwrap_or_else(|_| Err(ended()))
    }
}

fn ended() -> Problem {
    Problem::new("gone", "this server is ending", "")
}

/// Owns the connection and the calls that are under way.
struct Keeper {
    paths: Paths,
    output: Output,
    queue: mpsc::Receiver<Order>,
    agent: Option<String>,
    pending: HashMap<u64, Pending>,
    /// Afterwards no hub is started unless somebody asks for something: the last one may have been ended on purpose.
    was_connected: bool,
}

/// What comes from the hub.
#[derive(Deserialize)]
struct Incoming {
    id: Option<u64>,
    result: Option<Value>,
    error: Option<Problem>,
    progress: Option<News>,
    #[serde(default)]
    begun: bool,
}

#[derive(Deserialize)]
struct News {
    progress: f64,
    total: Option<f64>,
    #[serde(default)]
    message: String,
}

impl Keeper {
    async fn run(mut self, stop: CancellationToken) {
        // Nothing is started for a client that only looks at the tools.
        while self.agent.is_none() {
            match stop.run_until_cancelled(self.queue.recv()).await.flatten() {
                Some(order) => self.note(order),
                None => return,
            }
        }
        let mut pause = FIRST_PAUSE;
        while let Some(Some(connected)) = stop.run_until_cancelled(self.connected()).await {
            let begun = Instant::now();
            self.serve(connected, &stop).await;
            if stop.is_cancelled() || self.queue.is_closed() {
                return;
            }
            // A hub that lets nobody stay is not asked all the time.
            pause = if begun.elapsed() > STEADY { FIRST_PAUSE } else { LONGEST_PAUSE.min(pause * 2) };
            stop.run_until_cancelled(sleep(pause)).await;
        }
        let _ = timeout(GOODBYE, self.take_leave()).await;
    }

    /// Calls off what a hub may still do for us, if the end comes while there is no connection to it.
    async fn take_leave(&mut self) {
        if self.pending.values().all(|pending| pending.sent_to.is_none()) {
            return;
        }
        let agent = self.agent.clone().unwrap_or_default();
        let Ok(mut connected) = try_to_reach(&self.paths, self.output, &agent, false).await else { return };
        for pending in self.pending.values() {
            if pending.sent_to.as_deref() == Some(&connected.instance) {
                let _ = connected.socket.send(cancel(pending.id)).await;
            }
        }
        let _ = connected.socket.close(None).await;
    }

    /// Takes an order while there is no connection.
    fn note(&mut self, order: Order) {
        match order {
            Order::Arrive(newcomer) => {
                self.agent = Some(newcomer.agent_name());
            }
            Order::Call(pending) => {
                self.pending.insert(pending.id, *pending);
            }
            Order::Cancel(id) => {
                let Some(pending) = self.pending.get_mut(&id) else { return };
                // What was sent before is called off on the next connection; what was not is simply dropped.
                pending.is_cancelled = true;
                if pending.sent_to.is_none() {
                    self.settle(id, Err(Problem::new("cancelled", "it was cancelled before it began", "")));
                }
            }
        }
    }

    /// A connection to a hub. While calls wait, one is started if none runs; otherwise it is only looked for. `None`
    /// when this server ends.
    async fn connected(&mut self) -> Option<Connected> {
        loop {
            // For what will not be asked again no hub is started.
            let may_start = self.has_wanted() || !self.was_connected;
            let (paths, output, agent) =
                (self.paths.clone(), self.output, self.agent.clone().unwrap_or_default());
            let mut connecting = std::pin::pin!(reach(paths, output, agent, may_start));
            let reached = loop {
                tokio::select! {
                    reached = &mut connecting => break reached,
                    order = self.queue.recv() => self.note(order?),
                }
            };
            self.was_connected = true;
            match reached {
                Ok(connected) => return Some(connected),
                // Somebody has asked for something meanwhile.
                Err(_) if !may_start && self.has_wanted() => continue,
                // No hub runs, so what it did is not known, and what was called off is.
                Err(failure) => self.give_up(&failure),
            }
            // Until somebody asks for something, or a hub may have come back.
            tokio::select! {
                order = self.queue.recv() => self.note(order?),
                () = sleep(LOOK_AGAIN) => {}
            }
        }
    }

    /// Whether there are calls that will be sent again.
    fn has_wanted(&self) -> bool {
        self.pending.values().any(|pending| !pending.is_cancelled && !pending.may_be_done())
    }

    /// Tells all who wait that there is no hub.
    fn give_up(&mut self, failure: &Failure) {
        for pending in std::mem::take(&mut self.pending).into_values() {
            let problem = match pending.sent_to {
                _ if pending.is_cancelled => cancelled(pending.may_be_done()),
                Some(_) if pending.may_be_done() => outcome_unknown(&pending.action),
                _ => Problem::new(
                    &failure.code,
                    failure.message.clone(),
                    failure.hint.clone().unwrap_or_default(),
                ),
            };
            let _ = pending.answer.send(Err(problem));
        }
    }

    /// Carries calls and answers until the connection or the server ends.
    async fn serve(&mut self, connected: Connected, stop: &CancellationToken) {
        let Connected { socket, instance } = connected;
        let (mut sink, mut stream) = socket.split();
        let (out, outgoing) = mpsc::channel(OUTGOING);
        let mut first = self.again(&instance).into_iter();
        let mut heard = Instant::now();
        // Beside the rest: a hub that says much before it reads must not wait for us, nor we for it.
        let mut writing = Box::pin(write(&mut sink, outgoing));
        loop {
            tokio::select! {
                // Looked at first: what is sent to a hub that has ended may have been done, for all that we know.
                biased;
                message = stream.next() => {
                    heard = Instant::now();
                    match message {
                        Some(Ok(Message::Text(text))) => self.take(&text),
                        // Sent by whoever writes. While there is no room, the hub hears of us by what is there.
                        Some(Ok(Message::Ping(payload))) => {
                            let _ = out.try_send(Message::Pong(payload));
                        }
                        Some(Ok(Message::Close(_)) | Err(_)) | None => break,
                        Some(Ok(_)) => {}
                    }
                },
                () = &mut writing => break,
                next = next(&out, &mut first, &mut self.queue) => match next {
                    None => break,
                    Some((room, Next::Message(message))) => room.send(message),
                    Some((room, Next::Order(order))) => {
                        if let Some(message) = self.obey(order, &instance) {
                            room.send(message);
                        }
                    }
                },
                () = tokio::time::sleep_until(heard + SILENCE) => break,
                () = stop.cancelled() => break,
            }
        }
        drop(writing);
        if stop.is_cancelled() || self.queue.is_closed() {
            // A goodbye tells the hub that nobody waits for what is under way.
            let _ = timeout(GOODBYE, sink.close()).await;
        }
    }

    /// What is to be sent for an order.
    fn obey(&mut self, order: Order, instance: &str) -> Option<Message> {
        match order {
            Order::Arrive(newcomer) => {
                self.agent = Some(newcomer.agent_name());
                None
            }
            Order::Call(pending) => {
                let pending = self.pending.entry(pending.id).insert_entry(*pending);
                Some(pending.into_mut().sent(instance))
            }
            Order::Cancel(id) => {
                if let Some(pending) = self.pending.get_mut(&id) {
                    pending.is_cancelled = true;
                }
                Some(cancel(id))
            }
        }
    }

    /// What to send first on a new connection, in the calls' order. Those of which another hub may have done a part,
    /// those that were cancelled and those that were lost too often are answered instead, and called off.
    fn again(&mut self, instance: &str) -> Vec<Message> {
        let mut ids: Vec<u64> = self.pending.keys().copied().collect();
        ids.sort_unstable();
        let mut messages = Vec::new();
        for id in ids {
            let Some(pending) = self.pending.get_mut(&id) else { continue };
            let is_here = pending.sent_to.as_deref() == Some(instance);
            let may_be_done = pending.may_be_done();
            let problem = if pending.is_cancelled {
                cancelled(may_be_done)
            } else if may_be_done && !is_here {
                outcome_unknown(&pending.action)
            } else if pending.sends >= MOST_SENDS {
                lost_too_often(&pending.action, may_be_done)
            } else {
                messages.push(pending.sent(instance));
                continue;
            };
            if is_here {
                messages.push(cancel(id));
            }
            self.settle(id, Err(problem));
        }
        messages
    }

    fn take(&mut self, text: &str) {
        let Ok(Incoming { id: Some(id), result, error, progress, begun }) = serde_json::from_str(text) else {
            return;
        };
        if begun {
            if let Some(pending) = self.pending.get_mut(&id) {
                pending.is_begun = true;
            }
            return;
        }
        if let Some(news) = progress {
            if let Some(progress) = self.pending.get(&id).and_then(|pending| pending.progress.as_ref()) {
                progress(news.progress, news.total, &news.message);
            }
            return;
        }
        self.settle(id, error.map_or_else(|| Ok(result.unwrap_or_default()), Err));
    }

    fn settle(&mut self, id: u64, answer: Result<Value, Problem>) {
        if let Some(pending) = self.pending.remove(&id) {
            let _ = pending.answer.send(answer);
        }
    }
}

enum Next {
    Message(Message),
    Order(Order),
}

/// What is to be sent next, once there is room for it. Nothing is lost if this is not waited for.
async fn next<'a>(
    out: &'a mpsc::Sender<Message>,
    first: &mut impl Iterator<Item = Message>,
    queue: &mut mpsc::Receiver<Order>,
) -> Option<(mpsc::Permit<'a, Message>, Next)> {
    let room = out.reserve().await.ok()?;
    match first.next() {
        Some(message) => Some((room, Next::Message(message))),
        None => queue.recv().await.map(|order| (room, Next::Order(order))),
    }
}

/// Ends when the hub cannot be written to, or does not read.
async fn write(sink: &mut SplitSink<Socket, Message>, mut outgoing: mpsc::Receiver<Message>) {
    while let Some(message) = outgoing.recv().await {
        if !matches!(timeout(UNREAD, sink.send(message)).await, Ok(Ok(()))) {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
