//! The connection to the hub's `/agent`, which is made again when it is lost.
//!
//! One task owns it: calls come in through a queue, and are kept until they are answered. After a loss they are sent
//! again with the same ids. The same hub repeats the answer and not the action; a new hub knows nothing of them, so
//! there only what does no harm twice is sent again, and of the rest it is said that nobody knows.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use bowline_doors::Problem;
use bowline_doors::mcp::{Call, Caller, Newcomer};
use bowline_hub::statefile::State;
use bowline_ops::Progress;
use futures_util::future::BoxFuture;
use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_util::sync::CancellationToken;

use crate::api::NO_HUB;
use crate::commands::Context;
use crate::failure::{Failure, exit};
use crate::output::Output;
use crate::paths::Paths;

/// Calls that wait to be taken by the task; more wait in their turn.
const QUEUE: usize = 64;
/// The hub pings every 20 s. One that is silent for so long is gone, or its machine slept.
const SILENCE: Duration = Duration::from_secs(60);
/// A handshake on this machine takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);
/// Tries to reach a hub before a call is told that there is none: some 7 s in all.
const TRIES: usize = 8;
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// While nobody asks for anything, a hub that comes back is looked for this often.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
const GOODBYE: Duration = Duration::from_millis(500);
/// Answers may hold pictures.
const LARGEST: usize = 256 << 20;

type Socket = WebSocketStream<TcpStream>;

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

/// A call that is not answered yet.
struct Pending {
    id: u64,
    action: String,
    /// As it goes over the wire.
    text: String,
    is_repeatable: bool,
    /// The hub that it was sent to.
    sent_to: Option<String>,
    /// The hub has said that it does it. It says so before it begins, so what it has not said is not begun.
    is_begun: bool,
    answer: oneshot::Sender<Result<Value, Problem>>,
    progress: Option<Progress>,
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

#[derive(Deserialize)]
struct Welcome {
    instance: String,
}

/// A connection, and which hub it leads to.
struct Connected {
    socket: Socket,
    instance: String,
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
        while let Some(Some(connected)) = stop.run_until_cancelled(self.connected()).await {
            let mut socket = self.serve(connected, &stop).await;
            if stop.is_cancelled() || self.queue.is_closed() {
                // A goodbye tells the hub that nobody waits for what is under way.
                let _ = timeout(GOODBYE, socket.close(None)).await;
                return;
            }
        }
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
                // What was sent before must be asked about; what was not is simply dropped.
                if self.pending.get(&id).is_some_and(|pending| pending.sent_to.is_none()) {
                    self.settle(id, Err(Problem::new("cancelled", "it was cancelled before it began", "")));
                }
            }
        }
    }

    /// A connection to a hub. While calls wait, one is started if none runs; otherwise it is only looked for. `None`
    /// when this server ends.
    async fn connected(&mut self) -> Option<Connected> {
        loop {
            let may_start = !self.pending.is_empty() || !self.was_connected;
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
                Err(_) if !may_start && !self.pending.is_empty() => continue,
                Err(failure) => self.give_up(&failure),
            }
            // Until somebody asks for something, or a hub may have come back.
            tokio::select! {
                order = self.queue.recv() => self.note(order?),
                () = sleep(LOOK_AGAIN) => {}
            }
        }
    }

    /// Tells all who wait that there is no hub.
    fn give_up(&mut self, failure: &Failure) {
        for pending in std::mem::take(&mut self.pending).into_values() {
            let problem = match pending.sent_to {
                Some(_) if pending.is_begun && !pending.is_repeatable => outcome_unknown(&pending.action),
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
    async fn serve(&mut self, connected: Connected, stop: &CancellationToken) -> Socket {
        let Connected { mut socket, instance } = connected;
        for id in self.again(&instance) {
            if !self.send(&mut socket, id, &instance).await {
                return socket;
            }
        }
        let mut heard = Instant::now();
        loop {
            tokio::select! {
                // Looked at first: what is sent to a hub that has ended may have been done, for all that we know.
                biased;
                message = socket.next() => {
                    heard = Instant::now();
                    match message {
                        Some(Ok(Message::Text(text))) => self.take(&text),
                        Some(Ok(Message::Ping(_))) => {
                            if socket.flush().await.is_err() {
                                return socket;
                            }
                        }
                        Some(Ok(Message::Close(_)) | Err(_)) | None => return socket,
                        Some(Ok(_)) => {}
                    }
                },
                order = self.queue.recv() => match order {
                    None => return socket,
                    Some(Order::Arrive(newcomer)) => self.agent = Some(newcomer.agent_name()),
                    Some(Order::Call(pending)) => {
                        let id = pending.id;
                        self.pending.insert(id, *pending);
                        if !self.send(&mut socket, id, &instance).await {
                            return socket;
                        }
                    }
                    Some(Order::Cancel(id)) => {
                        if let Some(pending) = self.pending.get_mut(&id) {
                            // Another hub does not begin with it again.
                            pending.is_repeatable = false;
                            pending.is_begun = true;
                        }
                        let cancel = json!({"id": null, "action": "cancel", "payload": {"id": id}});
                        if socket.send(Message::text(cancel.to_string())).await.is_err() {
                            return socket;
                        }
                    }
                },
                () = tokio::time::sleep_until(heard + SILENCE) => return socket,
                () = stop.cancelled() => return socket,
            }
        }
    }

    /// The calls to send on a new connection, in their order. Those of which another hub may have done a part are
    /// answered instead.
    fn again(&mut self, instance: &str) -> Vec<u64> {
        let is_lost = |pending: &Pending| {
            let is_begun = pending.is_begun && pending.sent_to.as_deref().is_some_and(|hub| hub != instance);
            is_begun && !pending.is_repeatable
        };
        let lost: Vec<u64> =
            self.pending.values().filter(|pending| is_lost(pending)).map(|pending| pending.id).collect();
        for id in lost {
            let action = self.pending.get(&id).map(|pending| pending.action.clone()).unwrap_or_default();
            self.settle(id, Err(outcome_unknown(&action)));
        }
        let mut ids: Vec<u64> = self.pending.keys().copied().collect();
        ids.sort_unstable();
        ids
    }

    async fn send(&mut self, socket: &mut Socket, id: u64, instance: &str) -> bool {
        let Some(pending) = self.pending.get_mut(&id) else { return true };
        pending.sent_to = Some(instance.to_owned());
        socket.send(Message::text(pending.text.as_str())).await.is_ok()
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

fn outcome_unknown(action: &str) -> Problem {
    let action = action.strip_prefix("op.").unwrap_or(action);
    let message = format!("the hub ended while it did `{action}`; it is not known whether it was done");
    Problem::new("outcome_unknown", message, "look at the page before you do it again; tabs and refs are new")
}

/// Finds the hub, or starts one, and shakes hands; several times, for one may just be ending.
async fn reach(paths: Paths, output: Output, agent: String, may_start: bool) -> Result<Connected, Failure> {
    let pauses =
        ExponentialBuilder::default().with_min_delay(FIRST_PAUSE).with_max_delay(LONGEST_PAUSE).with_jitter();
    let mut pauses = pauses.with_max_times(TRIES).build();
    loop {
        let failure = match try_to_reach(&paths, output, &agent, may_start).await {
            Ok(connected) => return Ok(connected),
            Err(failure) => failure,
        };
        match pauses.next() {
            Some(pause) if may_start && failure.code == NO_HUB => sleep(pause).await,
            _ => return Err(failure),
        }
    }
}

async fn try_to_reach(
    paths: &Paths,
    output: Output,
    agent: &str,
    may_start: bool,
) -> Result<Connected, Failure> {
    let context = Context { paths: paths.clone(), output: &output, session: None };
    let state = match may_start {
        true => context.meanwhile(|context| context.hub()).await?,
        false => context
            .meanwhile(|context| context.running_hub())
            .await?
            .ok_or_else(|| Failure::new(exit::NO_HUB, NO_HUB, "no hub runs"))?,
    };
    let shaken = timeout(PATIENCE, shake_hands(&state, agent)).await;
    shaken.ok().flatten().ok_or_else(|| {
        Failure::new(exit::NO_HUB, NO_HUB, "the hub does not answer")
            .hint("try again; `bowline status` shows whether it runs")
    })
}

async fn shake_hands(state: &State, agent: &str) -> Option<Connected> {
    let mut request = format!("ws://127.0.0.1:{}/agent", state.port).into_client_request().ok()?;
    request.headers_mut().insert("Authorization", format!("Bearer {}", state.token).parse().ok()?);
    let stream = TcpStream::connect(("127.0.0.1", state.port)).await.ok()?;
    let _ = stream.set_nodelay(true);
    let config = WebSocketConfig::default()
        .read_buffer_size(8 << 10)
        .write_buffer_size(0)
        .max_message_size(Some(LARGEST))
        .max_frame_size(Some(LARGEST));
    let shaken = tokio_tungstenite::client_async_with_config(request, stream, Some(config)).await;
    let (mut socket, _) = shaken.ok()?;
    // What a model names is kept to where its host has put us; its files elsewhere are none of its business.
    // A host of the desktop puts us at the root or in the home directory, which is no place of its own.
    let here = std::env::current_dir()
        .ok()
        .filter(|here| here.parent().is_some() && Some(here) != std::env::home_dir().as_ref());
    let roots: Vec<PathBuf> = here.into_iter().collect();
    let hello =
        json!({"id": 0, "action": "hello", "payload": {"agent": agent, "roots": roots, "acks": true}});
    socket.send(Message::text(hello.to_string())).await.ok()?;
    loop {
        let Message::Text(text) = socket.next().await?.ok()? else { continue };
        let welcome: Incoming = serde_json::from_str(&text).ok()?;
        let Welcome { instance } = serde_json::from_value(welcome.result?).ok()?;
        return Some(Connected { socket, instance });
    }
}
