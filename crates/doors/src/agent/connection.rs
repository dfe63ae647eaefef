//! One agent's WebSocket, from the upgrade to its end.

use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bowline_hub::router::CloseReason;
use bowline_ops::Progress;
use futures_util::stream::SplitStream;
use futures_util::{Sink, SinkExt, StreamExt};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use tokio_tungstenite::tungstenite::{self, Bytes, Message, Utf8Bytes};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::answers::{Begun, Text, Ticket};
use super::events::{self, Wish};
use super::visitor::{Arrival, Visitor, Work, input_of};
use super::{Desk, actions, random_name};
use crate::problem::Problem;
use crate::pump::goodbye;
use crate::upgrade::Socket;

const PING_EVERY: Duration = Duration::from_secs(20);
/// An agent of which nothing at all is heard for so long has gone.
const SILENCE: Duration = Duration::from_secs(60);
/// Messages on their way to the agent. Answers wait for room; news of progress does not, and is dropped.
const QUEUE: usize = 256;
/// An agent that does not take a message for so long is cut off: what waits for it must not wait for ever.
const UNREAD: Duration = Duration::from_secs(30);
/// What one agent may have under way at once. More is refused, so that `cancel` is always read.
const MOST_UNDER_WAY: usize = 256;

#[derive(Deserialize)]
struct Incoming<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    action: String,
    #[serde(default)]
    payload: Value,
    #[serde(default)]
    browser: Option<String>,
    /// It was sent before, and said to be begun: it is not begun again.
    #[serde(default)]
    begun: bool,
}

/// How a connection ended.
enum End {
    /// The agent said goodbye: what it has under way is of no use to anybody.
    Left,
    /// It may come back and ask for its answers.
    Lost(Option<CloseReason>),
}

pub(super) async fn attend(desk: Arc<Desk>, socket: Socket, browser: Option<String>) {
    let (mut sink, mut stream) = socket.split();
    let (out, queue) = mpsc::channel(QUEUE);
    let name = format!("agent-{}", random_name::<4>());
    let visitor =
        Visitor::arrive(&desk, Arrival { name: &name, browser: browser.clone(), is_connected: true });
    let mut desk_of_one = Connection {
        desk: desk.clone(),
        visitor,
        browser,
        out,
        under_way: Arc::default(),
        acks: false,
        events: None,
    };
    let shutdown = desk.hub().shutdown_token();
    let end = tokio::select! {
        end = read(&mut stream, &mut desk_of_one) => end,
        end = write(&mut sink, queue) => end,
        () = shutdown.cancelled() => End::Lost(Some(CloseReason::going_away("the hub is shutting down"))),
    };
    let reason = match end {
        End::Left => {
            desk_of_one.cancel_all();
            None
        }
        End::Lost(reason) => reason,
    };
    drop(desk_of_one);
    goodbye(&mut sink, &mut stream, reason).await;
}

async fn read(stream: &mut SplitStream<Socket>, connection: &mut Connection) -> End {
    loop {
        let Ok(message) = timeout(SILENCE, stream.next()).await else {
            let text = format!("nothing was heard for {} s", SILENCE.as_secs());
            return End::Lost(Some(CloseReason { code: 1008, text }));
        };
        match message {
            Some(Ok(Message::Text(text))) => connection.take(&text).await,
            Some(Ok(Message::Binary(_))) => {
                return End::Lost(Some(CloseReason {
                    code: 1003,
                    text: "binary messages are not spoken".to_owned(),
                }));
            }
            Some(Ok(Message::Close(_))) => return End::Left,
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
            Some(Err(_)) | None => return End::Lost(None),
        }
    }
}

/// Where messages go.
trait Out: Sink<Message, Error = tungstenite::Error> {}
impl<S: Sink<Message, Error = tungstenite::Error>> Out for S {}

async fn write(sink: &mut (impl Out + Unpin), mut queue: mpsc::Receiver<Text>) -> End {
    let mut pings = interval_at(Instant::now() + PING_EVERY, PING_EVERY);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let sent = tokio::select! {
            text = queue.recv() => {
                let Some(text) = text else { return End::Lost(None) };
                all(sink, text, &mut queue).await
            }
            _ = pings.tick() => taken(sink.send(Message::Ping(Bytes::new()))).await,
        };
        if let Err(end) = sent {
            return end;
        }
    }
}

/// Sends a text and what waits behind it.
async fn all(
    sink: &mut (impl Out + Unpin),
    first: Text,
    queue: &mut mpsc::Receiver<Text>,
) -> Result<(), End> {
    taken(sink.feed(message(&first))).await?;
    while let Ok(text) = queue.try_recv() {
        taken(sink.feed(message(&text))).await?;
    }
    taken(sink.flush()).await
}

/// Waits for the agent to take something, but not for ever.
async fn taken(sending: impl Future<Output = Result<(), tungstenite::Error>>) -> Result<(), End> {
    match timeout(UNREAD, sending).await {
        Ok(sent) => sent.map_err(|_| End::Lost(None)),
        Err(_) => {
            let text = format!("nothing was read for {} s", UNREAD.as_secs());
            Err(End::Lost(Some(CloseReason { code: 1008, text })))
        }
    }
}

fn message(text: &str) -> Message {
    Message::Text(Utf8Bytes::from(text))
}

/// Whether an id counts to what is under way.
enum Noted {
    New,
    Known,
    Full,
}

fn gone(id: &str, message: &str) -> Text {
    answer(id, Err(Problem::new("answer_gone", message, "look at the page to see where it stands")))
}

fn too_many(id: &str) -> Text {
    let message = format!("{MOST_UNDER_WAY} actions are under way already");
    answer(id, Err(Problem::new("too_many", message, "wait for some of them")))
}

struct Connection {
    desk: Arc<Desk>,
    visitor: Arc<Visitor>,
    /// As its path said.
    browser: Option<String>,
    out: mpsc::Sender<Text>,
    under_way: Arc<Mutex<HashSet<String>>>,
    /// Whether it wants to know that something is begun.
    acks: bool,
    /// While it is told of events.
    events: Option<DropGuard>,
}

impl Connection {
    async fn take(&mut self, text: &str) {
        let incoming: Incoming<'_> = match serde_json::from_str(text) {
            Ok(incoming) => incoming,
            Err(error) => {
                let hint = "send {\"id\": 1, \"action\": \"...\", \"payload\": {}}";
                let problem = Problem::new("bad_request", format!("this is no request: {error}"), hint);
                return self.say(&answer("null", Err(problem))).await;
            }
        };
        let id = incoming.id.get();
        match incoming.action.as_str() {
            "hello" => {
                let result = self.hello(incoming.payload);
                self.say(&answer(id, result)).await;
            }
            "subscribe" => {
                let result = self.subscribe(incoming.payload);
                self.say(&answer(id, result)).await;
            }
            "ping" => self.say(&answer(id, Ok(json!({})))).await,
            "cancel" => {
                let result = self.cancel(incoming.payload);
                self.say(&answer(id, result)).await;
            }
            _ => self.begin(incoming).await,
        }
    }

    /// From now on the agent has the name it says.
    fn hello(&mut self, payload: Value) -> Result<Value, Problem> {
        let input = input_of(payload)?;
        if let Some(name) = input.get("agent").and_then(Value::as_str) {
            let arrival = Arrival { name, browser: self.browser.clone(), is_connected: true };
            self.visitor = Visitor::arrive(&self.desk, arrival);
        }
        self.acks = input.get("acks") == Some(&Value::Bool(true));
        if let Some(roots) = input.get("roots") {
            let roots: Vec<PathBuf> = serde_json::from_value(roots.clone()).map_err(|error| {
                Problem::new("bad_input", format!("`roots`: {error}"), "give a list of directories")
            })?;
            self.visitor.confine(roots);
        }
        Ok(json!({
            "agent": self.visitor.name().as_str(),
            "instance": self.desk.instance,
            "version": self.desk.hub().version(),
        }))
    }

    /// From now on the agent is told of these events, and of no others.
    fn subscribe(&mut self, payload: Value) -> Result<Value, Problem> {
        let wish: Wish = serde_json::from_value(payload).map_err(|error| {
            let hint = "for example {\"events\": [\"tabs\", \"console\", \"network\", \"dialogs\", \"dom\"]}; an empty list ends it";
            Problem::new("bad_input", format!("subscribe: `payload`: {error}"), hint)
        })?;
        let told = json!({"events": wish.events.len()});
        let stop = CancellationToken::new();
        // Dropping the guard of the last wish ends it.
        self.events = Some(stop.clone().drop_guard());
        if !wish.events.is_empty() {
            let telling = events::tell(self.desk.clone(), self.visitor.clone(), wish, self.out.clone(), stop);
            self.desk.tasks.spawn(telling);
        }
        Ok(told)
    }

    fn cancel(&self, payload: Value) -> Result<Value, Problem> {
        let input = input_of(payload)?;
        let Some(id) = input.get("id") else {
            return Err(Problem::new("bad_input", "cancel: `id` is missing", "name the request to call off"));
        };
        Ok(json!({"cancelled": self.desk.answers.cancel(self.visitor.name(), &id.to_string())}))
    }

    async fn begin(&self, incoming: Incoming<'_>) {
        let Incoming { id, action, payload, browser, begun } = incoming;
        let id = id.get();
        let what = in_short(&action, &payload, browser.as_deref());
        let ticket = match self.desk.answers.begin(self.visitor.name(), id, what) {
            Begun::New(ticket) if !begun => ticket,
            Begun::Done(text) => return self.say(&text).await,
            Begun::Taken => {
                let problem = Problem::new(
                    "id_reused",
                    "something else was asked under this id",
                    "give every request an id of its own; only the same request may be sent again with its id",
                );
                return self.say(&answer(id, Err(problem))).await;
            }
            Begun::New(_) => {
                return self
                    .say(&gone(id, "this was begun before, and what became of it is no longer known"))
                    .await;
            }
            Begun::Forgotten => {
                return self.say(&gone(id, "this was done, but its answer is no longer known")).await;
            }
            Begun::Running(told) => return self.take_over(id, told).await,
        };
        match self.note(id) {
            Noted::New | Noted::Known => {}
            Noted::Full => return self.say(&too_many(id)).await,
        }
        if self.acks {
            // On its way before anything is done, so that who loses the connection without it may ask again.
            self.say(&format!("{{\"id\":{id},\"begun\":true}}").into()).await;
        }
        let work = Work {
            action,
            payload,
            browser,
            cancel: ticket.cancel.clone(),
            progress: Some(progress_of(id.to_owned(), self.out.clone())),
        };
        self.desk.tasks.spawn(run(
            self.visitor.clone(),
            work,
            ticket,
            id.to_owned(),
            self.out.clone(),
            self.under_way.clone(),
        ));
    }

    /// What another connection of the same agent has begun is this one's from now on, also to be called off with it.
    async fn take_over(&self, id: &str, mut told: watch::Receiver<Option<Text>>) {
        match self.note(id) {
            Noted::New => {}
            // Its answer comes over this connection already.
            Noted::Known => return,
            Noted::Full => return self.say(&too_many(id)).await,
        }
        let (id, out, under_way) = (id.to_owned(), self.out.clone(), self.under_way.clone());
        self.desk.tasks.spawn(async move {
            // Whoever asked may have gone meanwhile.
            let text = tokio::select! {
                text = told.wait_for(Option::is_some) => text.ok().and_then(|text| text.clone()),
                () = out.closed() => None,
            };
            under_way.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
            if let Some(text) = text {
                let _ = out.send(text).await;
            }
        });
    }

    fn note(&self, id: &str) -> Noted {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        if under_way.contains(id) {
            return Noted::Known;
        }
        if under_way.len() >= MOST_UNDER_WAY {
            return Noted::Full;
        }
        under_way.insert(id.to_owned());
        Noted::New
    }

    fn cancel_all(&self) {
        for id in self.under_way.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            self.desk.answers.cancel(self.visitor.name(), id);
        }
    }

    async fn say(&self, text: &Text) {
        let _ = self.out.send(text.clone()).await;
    }
}

async fn run(
    visitor: Arc<Visitor>,
    work: Work,
    ticket: Ticket,
    id: String,
    out: mpsc::Sender<Text>,
    under_way: Arc<Mutex<HashSet<String>>>,
) {
    // The connection's own task writes meanwhile.
    tokio::task::yield_now().await;
    let only_looks = actions::only_looks(&work.action);
    let ended = visitor.desk().hub().shutdown_token();
    let done = tokio::select! {
        done = visitor.work(work) => done,
        // Nothing is remembered of it: whether it was done is for the agent to find out.
        () = ended.cancelled() => return,
    };
    let text = answer(&id, done);
    ticket.done(text.clone(), only_looks);
    under_way.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
    let _ = out.send(text).await;
}

fn progress_of(id: String, out: mpsc::Sender<Text>) -> Progress {
    Arc::new(move |progress, total, words| {
        let news = json!({"progress": progress, "total": total, "message": words});
        let _ = out.try_send(format!("{{\"id\":{id},\"progress\":{news}}}").into());
    })
}

/// Tells a request from another with the same id.
fn in_short(action: &str, payload: &Value, browser: Option<&str>) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    (action, payload.to_string(), browser).hash(&mut hasher);
    hasher.finish()
}

/// `id` is JSON already.
fn answer(id: &str, done: Result<Value, Problem>) -> Text {
    match done {
        Ok(result) => format!("{{\"id\":{id},\"result\":{result}}}").into(),
        Err(problem) => format!("{{\"id\":{id},\"error\":{}}}", json!(problem)).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_agent_that_does_not_read_is_cut_off_and_keeps_nobody_waiting() {
        let (out, queue) = mpsc::channel(1);
        let unread = futures_util::sink::unfold((), async |(), _: Message| {
            std::future::pending::<Result<(), tungstenite::Error>>().await
        });
        let mut unread = Box::pin(unread);
        let waits = tokio::spawn(async move {
            for _ in 0..3 {
                if out.send("answer".into()).await.is_err() {
                    return;
                }
            }
            panic!("all was taken");
        });
        let End::Lost(Some(reason)) = write(&mut unread, queue).await else { panic!("no reason") };
        assert_eq!((reason.code, reason.text.as_str()), (1008, "nothing was read for 30 s"));
        waits.await.unwrap();
    }
}
