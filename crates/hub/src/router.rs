//! Many CDP clients on one link to a browser.
//!
//! Each client gets a session of its own at the browser (its root) and is from then on told apart by
//! session ids alone; ids of commands need no rewriting, because Chromium answers per session. The
//! router owns who owns which session, what is still unanswered, and who waits for a new target to
//! start. It never looks into a message further than that.

mod birth;
mod client;
mod release;
mod session;
mod table;
mod vigil;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bowline_wire::cdp::CreatedTarget;
use bowline_wire::reply;
use bowline_wire::{BrowserMessage, SessionId, TargetId};
use bytes::Bytes;
use futures_util::{FutureExt, SinkExt, StreamExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::backend::{Link, LinkReader, LinkWriter, Outgoing};

pub use crate::outbox::{CloseReason, Outbox};
use crate::upstream::Upstream;
use birth::{Birth, Waiting};
pub use client::{CdpClient, ClientId};
use table::{Newcomer, OwnCall, Table};
use vigil::{Burst, Pacer};

/// Bounds that keep one client from harming the others.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Backlog at which a client that does not read is closed.
    pub client_buffer: usize,
    /// Bytes on their way to the browser, of all clients together; beyond it clients wait.
    pub browser_buffer: usize,
    /// How long a target is held for a client that does not release it.
    pub longest_hold: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { client_buffer: 32 << 20, browser_buffer: 64 << 20, longest_hold: Duration::from_secs(3) }
    }
}

/// How long a browser may take to follow a client's `Browser.close`.
const CLOSING: Duration = Duration::from_secs(10);

/// The recorder shares the router's thread, so it lags only in a burst; this is room for one.
const OWN_BUFFER: usize = 128 << 20;

/// Which session a client's root is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    Browser,
    Page(TargetId),
}

/// A command of the hub that did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    #[error("the browser is gone")]
    Closed,
    #[error("{method} was not answered in {}s", after.as_secs())]
    TimedOut { method: &'static str, after: Duration },
    #[error("{method}: {message}")]
    Refused { method: &'static str, code: i32, message: String },
    #[error("{method}: unexpected answer: {source}")]
    Unreadable { method: &'static str, source: serde_json::Error },
}

#[derive(Clone)]
pub struct Router(Arc<Shared>);

struct Shared {
    table: Mutex<Table>,
    upstream: Upstream,
    limits: Limits,
    max_outgoing: usize,
    /// `Some` once the link has ended, with the reason. From then on nothing new begins.
    ended: watch::Sender<Option<String>>,
    stop: CancellationToken,
    tasks: TaskTracker,
    born: Instant,
    /// Milliseconds after `born` at which the browser was last heard.
    heard: AtomicU64,
    /// The same for the last command of a client.
    last_command: AtomicU64,
    /// Milliseconds after `born` at which a client asked the browser to close; zero if none has.
    close_requested: AtomicU64,
    may_be_closed: bool,
    is_virtual: bool,
}

impl Router {
    /// Takes over the link. The tasks end with it, or with `close`.
    pub fn start(link: Link, limits: Limits) -> Self {
        let shared = Arc::new(Shared {
            table: Mutex::new(Table::new(link.is_virtual)),
            upstream: Upstream::new(limits.browser_buffer),
            limits,
            max_outgoing: link.max_outgoing,
            ended: watch::Sender::new(None),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
            born: Instant::now(),
            heard: AtomicU64::new(0),
            last_command: AtomicU64::new(0),
            close_requested: AtomicU64::new(0),
            may_be_closed: link.may_be_closed,
            is_virtual: link.is_virtual,
        });
        shared.tasks.spawn(read(shared.clone(), link.reader));
        shared.tasks.spawn(vigil::keep(shared.clone()));
        shared.tasks.spawn(write(shared.clone(), link.writer));
        Self(shared)
    }

    /// A new client. Its root session exists at the browser when this returns.
    pub async fn connect(&self, entry: Entry) -> Result<CdpClient, CallError> {
        self.connect_as(entry, false, "").await
    }

    /// A new client that calls itself something.
    pub async fn connect_named(&self, entry: Entry, label: &str) -> Result<CdpClient, CallError> {
        self.connect_as(entry, false, label).await
    }

    /// A client of the hub itself, which is not counted and may lag further.
    pub async fn connect_own(&self) -> Result<CdpClient, CallError> {
        self.connect_as(Entry::Browser, true, "").await
    }

    async fn connect_as(&self, entry: Entry, is_own: bool, label: &str) -> Result<CdpClient, CallError> {
        let (done, answer) = oneshot::channel();
        let limit = if is_own { OWN_BUFFER } else { self.0.limits.client_buffer };
        let outbox = Arc::new(Outbox::new(limit));
        let (method, params) = match &entry {
            Entry::Browser if self.0.is_virtual => {
                ("Target.attachToBrowserTarget", serde_json::json!({"own": is_own, "client": label}))
            }
            Entry::Browser => ("Target.attachToBrowserTarget", serde_json::json!({})),
            Entry::Page(target) => {
                ("Target.attachToTarget", serde_json::json!({"targetId": target, "flatten": true}))
            }
        };
        // Made before it is known to the table: dropped here or anywhere later, it leaves.
        let id = self.table().new_client_id();
        let client = CdpClient::new(self.clone(), id, outbox.clone());
        self.send_own(method, &params, OwnCall::Attach(Newcomer { id, entry, is_own, outbox, done }));
        match answer.await {
            Ok(Ok(())) => Ok(client),
            Ok(Err(error)) => Err(CallError::Refused { method, code: error.code, message: error.message }),
            Err(_) => Err(CallError::Closed),
        }
    }

    /// A command of the hub on the browser's root session.
    pub async fn call<R: DeserializeOwned>(
        &self,
        method: &'static str,
        params: impl Serialize,
        within: Duration,
    ) -> Result<R, CallError> {
        let (done, answer) = oneshot::channel();
        self.send_own(method, &params, OwnCall::Answer(done));
        let text = match tokio::time::timeout(within, answer).await {
            Ok(Ok(text)) => text,
            Ok(Err(_)) => return Err(CallError::Closed),
            Err(_) => return Err(CallError::TimedOut { method, after: within }),
        };
        match table::read_answer(&text) {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(error)) => Err(CallError::Refused { method, code: error.code, message: error.message }),
            Err(source) => Err(CallError::Unreadable { method, source }),
        }
    }

    /// From now on new tabs wait until this client, the recorder, is ready for them.
    pub fn watched_by(&self, recorder: &CdpClient) {
        self.table().watched_by(recorder.id());
    }

    /// The recorder is ready for a target, with this session of its own.
    pub fn settle(&self, target: TargetId, session: SessionId) {
        let mut table = self.table();
        for command in table.settle(target, session) {
            self.0.upstream.push_own(command);
        }
    }

    /// Makes a tab for the hub itself and sends it to `url`. Nothing of it is lost to the recorder.
    pub async fn create_target(
        &self,
        url: &str,
        for_tab: bool,
        within: Duration,
    ) -> Result<CreatedTarget, CallError> {
        let waits = !for_tab && birth::is_fetched(url) && self.table().is_watched();
        let first = if waits { "about:blank" } else { url };
        let mut params = serde_json::json!({"url": first, "forTab": for_tab});
        if waits && self.0.is_virtual {
            params["destination"] = serde_json::json!(url);
        }
        let created: CreatedTarget = self.call(birth::CREATE_TARGET, params, within).await?;
        if waits {
            let (done, ready) = oneshot::channel();
            let birth = Birth { url: Some(url.to_owned()), waiting: Waiting::Own(done) };
            {
                let mut table = self.table();
                for command in table.born(created.target_id.clone(), birth) {
                    self.0.upstream.push_own(command);
                }
            }
            self.0.keep_time_of_births();
            // An error means that the browser has gone; the next command tells.
            let _ = ready.await;
        }
        Ok(created)
    }

    fn send_own(&self, method: &str, params: &impl Serialize, call: OwnCall) {
        // The id is taken and the command queued under one lock, so that no call is missed at the end.
        let mut table = self.table();
        if self.0.ended.borrow().is_some() {
            return;
        }
        let id = table.own_call(call);
        let body = Bytes::from(reply::command(id, method, params));
        self.0.upstream.push_own(Outgoing { session: None, body });
    }

    pub fn client_count(&self) -> usize {
        self.table().client_count()
    }

    /// How long the browser has been silent.
    pub fn silence(&self) -> Duration {
        let heard = Duration::from_millis(self.0.heard.load(Ordering::Relaxed));
        self.0.born.elapsed().saturating_sub(heard)
    }

    /// Whether a client has just asked the browser to close: its end is then no crash.
    pub fn close_was_requested(&self) -> bool {
        let asked = self.0.close_requested.load(Ordering::Relaxed);
        asked > 0 && self.0.now().saturating_sub(asked) < CLOSING.as_millis() as u64
    }

    pub fn has_ended(&self) -> bool {
        self.0.ended.borrow().is_some()
    }

    /// Resolves when the link has ended, with the reason. The clients are still there, waiting: whoever
    /// knows better why it ended tells them with `close`.
    pub async fn ended(&self) -> String {
        let mut ended = self.0.ended.subscribe();
        match ended.wait_for(Option::is_some).await {
            Ok(reason) => reason.clone().unwrap_or_default(),
            Err(_) => String::new(),
        }
    }

    /// Answers everything that is still unanswered, closes every client with `reason`, ends the link.
    pub fn close(&self, reason: &str) {
        self.0.close(reason);
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.table()
    }
}

impl Shared {
    fn now(&self) -> u64 {
        self.born.elapsed().as_millis() as u64
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A recorder that does not get ready must not keep a client from its new tab for ever.
    fn keep_time_of_births(self: &Arc<Self>) {
        for target in self.table().take_new_births() {
            let shared = self.clone();
            self.tasks.spawn(async move {
                tokio::select! {
                    () = shared.stop.cancelled() => {}
                    () = tokio::time::sleep(shared.limits.longest_hold) => {
                        for command in shared.table().give_up_birth(&target) {
                            shared.upstream.push_own(command);
                        }
                    }
                }
            });
        }
    }

    /// The link is no more. The hub's own callers learn it now, the clients with `close`.
    fn end(&self, reason: &str) {
        let mut table = self.table();
        self.ended.send_if_modified(|ended| {
            let first = ended.is_none();
            ended.get_or_insert_with(|| reason.to_owned());
            first
        });
        table.drop_own_calls();
    }

    fn close(&self, reason: &str) {
        self.end(reason);
        self.table().close_all(reason);
        self.stop.cancel();
        self.tasks.close();
    }
}

async fn read(shared: Arc<Shared>, mut reader: LinkReader) {
    let mut pacer = Pacer::new();
    let reason = loop {
        let first = tokio::select! {
            biased;
            () = shared.stop.cancelled() => return,
            first = reader.next() => first,
        };
        shared.heard.store(shared.now(), Ordering::Relaxed);
        // Everything that is there already is one burst.
        let (mut burst, mut next) = (Burst::default(), Some(first));
        let end = loop {
            match next {
                Some(Some(Ok(message))) => {
                    burst.messages += 1;
                    burst.bytes += message.len();
                    burst.has_answer |= deliver(&shared, &message);
                    next = reader.next().now_or_never();
                }
                Some(Some(Err(error))) => {
                    break Some(format!("the connection to the browser broke: {error}"));
                }
                Some(None) => break Some("the browser closed the connection".to_owned()),
                None => break None,
            }
        };
        if let Some(reason) = end {
            break reason;
        }
        let last_command = Duration::from_millis(shared.now() - shared.last_command.load(Ordering::Relaxed));
        if let Some(pause) = pacer.after(&burst, last_command) {
            tokio::time::sleep(pause).await;
        } else {
            // A browser that never stops talking must not keep the others from being served.
            tokio::task::yield_now().await;
        }
    };
    shared.end(&reason);
}

/// Passes a message on. Tells whether it answers a command.
fn deliver(shared: &Arc<Shared>, message: &Bytes) -> bool {
    let Ok(text) = std::str::from_utf8(message) else {
        tracing::warn!("the browser sent a message that is not UTF-8; dropped");
        return false;
    };
    let Some(envelope) = BrowserMessage::parse(text) else {
        tracing::warn!(bytes = text.len(), "the browser sent a message that is not CDP; dropped");
        return false;
    };
    for command in shared.table().deliver(message, text, &envelope) {
        shared.upstream.push_own(command);
    }
    if envelope.id.is_some() {
        shared.keep_time_of_births();
    }
    envelope.id.is_some()
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
mod tests;
