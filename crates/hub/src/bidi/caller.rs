//! A client of a browser that speaks BiDi, which asks and waits for answers, as the hub's own parts do.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bowline_wire::bidi::{self, Message, Refusal};
use bytes::Bytes;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::{BidiError, Client, Session, Who};
use crate::outbox::Outbox;

/// Hears an event: its method and its parameters.
pub type Listener = Box<dyn Fn(&str, &RawValue) + Send + Sync>;

/// Leaves the browser when the last copy goes.
#[derive(Clone)]
pub struct Caller(Arc<Shared>);

struct Shared {
    client: Client,
    inner: Mutex<Inner>,
    ended: CancellationToken,
}

type Answer = Result<Box<RawValue>, Refusal>;

#[derive(Default)]
struct Inner {
    last_id: u64,
    pending: HashMap<u64, oneshot::Sender<Answer>>,
}

impl Caller {
    /// Joins the browser with a session of its own.
    pub async fn begin(
        session: &Session,
        name: &str,
        tasks: &TaskTracker,
        listener: Listener,
    ) -> Result<Self, BidiError> {
        let caller = Self::new(session.connect(Who::Agent(name.to_owned()))?, tasks, listener);
        caller.call("session.new", &json!({"capabilities": {}})).await?;
        Ok(caller)
    }

    /// The same for the hub itself, which nobody counts and from whom nothing is hidden.
    pub(super) fn own(session: &Session, tasks: &TaskTracker, listener: Listener) -> Result<Self, BidiError> {
        Ok(Self::new(session.connect(Who::Hands)?, tasks, listener))
    }

    fn new(client: Client, tasks: &TaskTracker, listener: Listener) -> Self {
        let outbox = client.outbox();
        let shared = Arc::new(Shared { client, inner: Mutex::default(), ended: CancellationToken::new() });
        // It must not keep alive what it waits for: the outbox closes with the session.
        tasks.spawn(listen(outbox, Arc::downgrade(&shared), listener));
        Self(shared)
    }

    pub fn has_ended(&self) -> bool {
        self.0.ended.is_cancelled()
    }

    /// Cancelled when the connection is over, whoever ended it.
    pub fn ended(&self) -> CancellationToken {
        self.0.ended.clone()
    }

    /// The result of a command, as it came.
    pub async fn call(&self, method: &str, params: &Value) -> Result<Box<RawValue>, BidiError> {
        let (done, answer) = oneshot::channel();
        let id = {
            let mut inner = self.0.inner();
            if self.has_ended() {
                return Err(BidiError::Closed);
            }
            inner.last_id += 1;
            let id = inner.last_id;
            inner.pending.insert(id, done);
            id
        };
        // Forgotten also when whoever asked does not wait any longer.
        let _forget = Forget { shared: &self.0, id };
        self.0.client.send(Bytes::from(bidi::command(id, method, params))).await;
        answer.await.map_err(|_| BidiError::Closed)?.map_err(BidiError::Refused)
    }
}

impl Shared {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.ended.cancel();
    }
}

struct Forget<'a> {
    shared: &'a Shared,
    id: u64,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.shared.inner().pending.remove(&self.id);
    }
}

async fn listen(outbox: Arc<Outbox>, shared: Weak<Shared>, listener: Listener) {
    let mut batch = Vec::new();
    while outbox.take(&mut batch).await.is_ok() {
        let Some(shared) = shared.upgrade() else { return };
        for message in batch.drain(..) {
            let Ok(text) = std::str::from_utf8(&message) else { continue };
            let (id, answer) = match Message::parse(text) {
                Some(Message::Success { id, result }) => (id, Ok(result.to_owned())),
                Some(Message::Error { id: Some(id), error }) => (id, Err(error)),
                Some(Message::Event { method, params }) => {
                    listener(&method, params);
                    continue;
                }
                _ => continue,
            };
            let done = shared.inner().pending.remove(&id);
            if let Some(done) = done {
                let _ = done.send(answer);
            }
        }
    }
    if let Some(shared) = shared.upgrade() {
        // Whoever waits learns that nothing more will come.
        let mut inner = shared.inner();
        shared.ended.cancel();
        inner.pending.clear();
    }
}
