//! A browser that speaks WebDriver BiDi: its one session, shared by any number of clients.
//!
//! What `router` is for CDP. A client's text goes through the table, which knows whose what is, and on to the browser;
//! every text of the browser goes through it to whom it concerns.

mod caller;
mod contexts;
mod hands;
mod holds;
mod owned;
mod subscriptions;
mod table;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bowline_wire::bidi::{Refusal, Tree};
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::backend::{Link, LinkReader, LinkWriter, Outgoing};
use crate::outbox::{CloseReason, Outbox};
use crate::router::Limits;
use crate::upstream::Upstream;

pub use caller::{Caller, Listener};
pub use hands::Hands;
pub(crate) use hands::page_info;
pub use table::{ClientId, Who};
use table::{Out, Table};

/// The recorder may lag in a burst.
const OWN_BUFFER: usize = 128 << 20;

/// A command of the hub that did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum BidiError {
    #[error("the browser is gone")]
    Closed,
    #[error("{method} was not answered in {}s", after.as_secs())]
    TimedOut { method: String, after: Duration },
    #[error("{0}")]
    Refused(Refusal),
    #[error("{method}: unexpected answer: {source}")]
    Unreadable { method: String, source: serde_json::Error },
}

/// What a browser says of itself when its session begins.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Capabilities {
    pub browser_name: String,
    pub browser_version: String,
    pub user_agent: String,
    #[serde(rename = "moz:headless")]
    pub is_headless: bool,
}

#[derive(Clone)]
pub struct Session(Arc<Shared>);

struct Shared {
    inner: Mutex<Inner>,
    upstream: Upstream,
    limits: Limits,
    max_outgoing: usize,
    /// A person's own browser, whose extension plays the remote end.
    is_virtual: bool,
    /// `Some` once the link has ended, with the reason.
    ended: watch::Sender<Option<String>>,
    stop: CancellationToken,
    tasks: TaskTracker,
    born: Instant,
    /// Milliseconds after `born` at which the browser was last heard.
    heard: AtomicU64,
}

#[derive(Default)]
struct Inner {
    table: Table,
    outboxes: HashMap<ClientId, Arc<Outbox>>,
}

impl Session {
    /// Takes over the link and begins the session. The tasks end with it, or with `close`.
    pub async fn start(
        link: Link,
        limits: Limits,
        within: Duration,
    ) -> Result<(Self, Capabilities), BidiError> {
        let may_be_closed = link.may_be_closed;
        let shared = Arc::new(Shared {
            inner: Mutex::new(Inner { table: Table::new(link.is_virtual), ..Inner::default() }),
            upstream: Upstream::new(limits.browser_buffer),
            limits,
            max_outgoing: link.max_outgoing,
            is_virtual: link.is_virtual,
            ended: watch::Sender::new(None),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
            born: Instant::now(),
            heard: AtomicU64::new(0),
        });
        shared.tasks.spawn(read(shared.clone(), link.reader));
        shared.tasks.spawn(write(shared.clone(), link.writer));
        let session = Self(shared);
        let unbegun = CloseUnlessBegun(Some(session.clone()));
        let capabilities = session.begin(may_be_closed, within).await?;
        unbegun.begun();
        Ok((session, capabilities))
    }

    async fn begin(&self, may_be_closed: bool, within: Duration) -> Result<Capabilities, BidiError> {
        #[derive(Deserialize)]
        struct Begun {
            capabilities: Value,
        }
        // A dialog is left to whoever works with its page; the recorder guards it.
        let wanted =
            json!({"capabilities": {"alwaysMatch": {"unhandledPromptBehavior": {"default": "ignore"}}}});
        let Begun { capabilities } = self.call("session.new", &wanted, within).await?;
        let known = Capabilities::deserialize(&capabilities).unwrap_or_default();
        self.inner().table.begun(capabilities, may_be_closed);
        self.call::<Value>("session.subscribe", &json!({"events": ["browsingContext"]}), within).await?;
        let tree: Tree = self.call("browsingContext.getTree", &json!({}), within).await?;
        self.inner().table.plant(&tree);
        Ok(known)
    }

    /// A new client, which begins with `session.new`. One of the hub's own has its session already.
    pub fn connect(&self, who: Who) -> Result<Client, BidiError> {
        let limit = if who.is_own() { OWN_BUFFER } else { self.0.limits.client_buffer };
        let outbox = Arc::new(Outbox::new(limit));
        let mut inner = self.inner();
        if self.has_ended() {
            return Err(BidiError::Closed);
        }
        let id = inner.table.join(who);
        inner.outboxes.insert(id, outbox.clone());
        Ok(Client { session: self.clone(), id, outbox })
    }

    /// A command of the hub itself.
    pub async fn call<R: DeserializeOwned>(
        &self,
        method: &str,
        params: &Value,
        within: Duration,
    ) -> Result<R, BidiError> {
        let (done, answer) = oneshot::channel();
        {
            let mut inner = self.inner();
            if self.has_ended() {
                return Err(BidiError::Closed);
            }
            let out = inner.table.own(method, params, Some(done));
            self.0.carry_out(&mut inner, vec![out]);
        }
        let answer = match tokio::time::timeout(within, answer).await {
            Ok(Ok(answer)) => answer.map_err(BidiError::Refused)?,
            Ok(Err(_)) => return Err(BidiError::Closed),
            Err(_) => return Err(BidiError::TimedOut { method: method.to_owned(), after: within }),
        };
        serde_json::from_str(answer.get())
            .map_err(|source| BidiError::Unreadable { method: method.to_owned(), source })
    }

    pub(crate) fn is_virtual(&self) -> bool {
        self.0.is_virtual
    }

    pub fn client_count(&self) -> usize {
        self.inner().table.client_count()
    }

    /// How long the browser has been silent.
    pub fn silence(&self) -> Duration {
        self.0.born.elapsed().saturating_sub(Duration::from_millis(self.0.heard.load(Ordering::Relaxed)))
    }

    /// Whether a client has asked the browser to close: its end is then no crash.
    pub fn close_was_requested(&self) -> bool {
        self.inner().table.close_was_requested()
    }

    pub fn has_ended(&self) -> bool {
        self.0.ended.borrow().is_some()
    }

    /// Resolves when the link has ended, with the reason.
    pub async fn ended(&self) -> String {
        let mut ended = self.0.ended.subscribe();
        match ended.wait_for(Option::is_some).await {
            Ok(reason) => reason.clone().unwrap_or_default(),
            Err(_) => String::new(),
        }
    }

    /// Answers what every client still waits for, and ends its connection, with this reason, and the link.
    pub fn close(&self, reason: &str) {
        self.0.end(reason);
        {
            let mut inner = self.inner();
            let out = inner.table.give_up(reason);
            self.0.carry_out(&mut inner, out);
            for (_, outbox) in inner.outboxes.drain() {
                outbox.close(CloseReason::going_away(reason));
            }
        }
        self.0.stop.cancel();
        self.0.tasks.close();
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.inner()
    }
}

/// Ends a session that could not begin, or for which nobody waits any longer.
struct CloseUnlessBegun(Option<Session>);

impl CloseUnlessBegun {
    fn begun(mut self) {
        self.0 = None;
    }
}

impl Drop for CloseUnlessBegun {
    fn drop(&mut self) {
        if let Some(session) = &self.0 {
            session.close("the session did not begin");
        }
    }
}

/// One client's connection. Dropping it takes back what is its own.
pub struct Client {
    session: Session,
    id: ClientId,
    outbox: Arc<Outbox>,
}

impl Client {
    pub fn outbox(&self) -> Arc<Outbox> {
        self.outbox.clone()
    }

    /// Sends a text of the client. Waits while the browser is behind.
    pub async fn send(&self, text: Bytes) {
        let Ok(message) = std::str::from_utf8(&text) else { return };
        let shared = &self.session.0;
        if text.len() > shared.max_outgoing {
            let refusal =
                Refusal::new("invalid argument", format!("a message of {} bytes is too large", text.len()));
            let id = bowline_wire::bidi::Command::parse(message).ok().map(|command| command.id);
            return self.outbox.push(Bytes::from(bowline_wire::bidi::failure(id, &refusal)));
        }
        let room = shared.upstream.reserve(text.len()).await;
        self.take(message, Some(room));
    }

    /// The same without waiting, for the hub's own, which asks for little.
    pub(crate) fn post(&self, message: &str) {
        self.take(message, None);
    }

    fn take(&self, message: &str, mut room: Option<OwnedSemaphorePermit>) {
        let mut inner = self.session.inner();
        let mut out = inner.table.command(self.id, message);
        // What the client wanted is the first that goes to the browser; the room is its until it has gone.
        if let Some(at) = out.iter().position(|out| matches!(out, Out::Browser(_)))
            && let Some(room) = room.take()
            && at == 0
            && let Out::Browser(text) = out.remove(0)
        {
            self.session.0.upstream.push(Outgoing { session: None, body: Bytes::from(text) }, room);
        }
        self.session.0.carry_out(&mut inner, out);
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let mut inner = self.session.inner();
        inner.outboxes.remove(&self.id);
        let out = inner.table.leave(self.id);
        if !self.session.has_ended() {
            self.session.0.carry_out(&mut inner, out);
        }
    }
}

impl Shared {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decided and queued under one lock: the order of messages is the order of bookkeeping.
    fn carry_out(&self, inner: &mut Inner, out: Vec<Out>) {
        for out in out {
            match out {
                Out::Browser(text) => {
                    self.upstream.push_own(Outgoing { session: None, body: Bytes::from(text) });
                }
                Out::Client(client, text) => {
                    if let Some(outbox) = inner.outboxes.get(&client) {
                        outbox.push(Bytes::from(text));
                    }
                }
                Out::Bye(client) => {
                    if let Some(outbox) = inner.outboxes.remove(&client) {
                        outbox.close(CloseReason::normal("the session has ended"));
                    }
                }
            }
        }
    }

    /// The link is no more. The hub's own callers learn it now, the clients with `close`.
    fn end(&self, reason: &str) {
        let mut inner = self.inner();
        self.ended.send_if_modified(|ended| {
            let first = ended.is_none();
            ended.get_or_insert_with(|| reason.to_owned());
            first
        });
        inner.table.drop_own_calls();
    }
}

async fn read(shared: Arc<Shared>, mut reader: LinkReader) {
    let reason = loop {
        let message = tokio::select! {
            biased;
            () = shared.stop.cancelled() => return,
            message = reader.next() => message,
        };
        shared.heard.store(shared.born.elapsed().as_millis() as u64, Ordering::Relaxed);
        match message {
            Some(Ok(message)) => {
                let Ok(text) = std::str::from_utf8(&message) else { continue };
                let mut inner = shared.inner();
                let out = inner.table.message(text);
                shared.carry_out(&mut inner, out);
            }
            Some(Err(error)) => break format!("the connection to the browser broke: {error}"),
            None => break "the browser closed the connection".to_owned(),
        }
    };
    shared.end(&reason);
}

async fn write(shared: Arc<Shared>, mut writer: LinkWriter) {
    let mut batch = Vec::new();
    let work = async {
        loop {
            shared.upstream.take(&mut batch).await;
            for queued in batch.drain(..) {
                writer.feed(queued.message).await?;
            }
            writer.flush().await?;
        }
    };
    let result: std::io::Result<()> = tokio::select! {
        biased;
        () = shared.stop.cancelled() => return,
        result = work => result,
    };
    if let Err(error) = result {
        shared.end(&format!("the connection to the browser broke: {error}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_session_that_nobody_waits_for_lets_go_of_its_link() {
        let (link, mut browser) = crate::fake::link();
        let starting = Session::start(link, Limits::default(), Duration::from_secs(60));
        assert!(tokio::time::timeout(Duration::from_secs(1), starting).await.is_err(), "not answered");
        assert_eq!(browser.command().await.unwrap()["method"], "session.new");
        // Ends only when the hub's side of the link is dropped.
        assert!(
            tokio::time::timeout(Duration::from_secs(1), browser.from_hub.recv()).await.unwrap().is_none()
        );
        assert!(browser.to_hub.is_closed());
    }
}
