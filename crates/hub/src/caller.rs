//! A client of a browser that asks and waits for answers, as the hub's own parts do.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bowline_wire::cdp::ErrorBody;
use bowline_wire::{BrowserMessage, SessionId, TargetId, bidi};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::router::{CdpClient, Outbox};

/// A command that has no result.
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError {
    #[error("the browser is gone")]
    Gone,
    #[error("{method} was not answered within {} ms", after.as_millis())]
    TimedOut { method: String, after: Duration },
    /// The browser's own words.
    #[error("{message}")]
    Refused { code: i32, message: String },
    /// The same of a browser that speaks BiDi.
    #[error("{0}")]
    RefusedByBidi(bidi::Refusal),
    #[error("the browser's answer could not be read: {0}")]
    Unreadable(#[source] serde_json::Error),
}

/// Hears an event: its session, its method and the whole message.
pub type Listener = Box<dyn Fn(Option<&str>, &str, &str) + Send + Sync>;

/// Leaves the browser when the last copy goes.
#[derive(Clone)]
pub struct Caller(Arc<Shared>);

struct Shared {
    client: CdpClient,
    inner: Mutex<Inner>,
    ended: CancellationToken,
}

#[derive(Default)]
struct Inner {
    last_id: i32,
    pending: HashMap<i32, oneshot::Sender<Bytes>>,
}

impl Caller {
    pub fn new(client: CdpClient, tasks: &TaskTracker, listener: Listener) -> Self {
        let outbox = client.outbox();
        let shared = Arc::new(Shared { client, inner: Mutex::default(), ended: CancellationToken::new() });
        // It must not keep alive what it waits for: the outbox closes with the router.
        tasks.spawn(listen(outbox, Arc::downgrade(&shared), listener));
        Self(shared)
    }

    /// The browser has closed this connection.
    pub fn has_ended(&self) -> bool {
        self.0.ended.is_cancelled()
    }

    /// Whether other clients work with a target.
    pub fn shares(&self, target: &TargetId) -> bool {
        self.0.client.shares(target)
    }

    /// Cancelled when the connection is over, whoever ended it.
    pub fn ended(&self) -> CancellationToken {
        self.0.ended.clone()
    }

    /// The answer to a command, as it came.
    pub async fn call(
        &self,
        session: Option<&SessionId>,
        method: &str,
        params: &(impl Serialize + ?Sized),
    ) -> Result<Box<RawValue>, ExecuteError> {
        let (done, answer) = oneshot::channel();
        let id = {
            let mut inner = self.0.inner();
            if self.has_ended() {
                return Err(ExecuteError::Gone);
            }
            inner.last_id = inner.last_id.checked_add(1).unwrap_or(1);
            let id = inner.last_id;
            inner.pending.insert(id, done);
            id
        };
        // Forgotten also when whoever asked does not wait any longer.
        let _forget = Forget { shared: &self.0, id };
        let message = serde_json::to_string(&Message { id, method, params, session });
        self.0.client.send(Bytes::from(message.map_err(ExecuteError::Unreadable)?)).await;
        let answer = answer.await.map_err(|_| ExecuteError::Gone)?;
        #[derive(Deserialize)]
        struct Answer {
            result: Option<Box<RawValue>>,
            error: Option<ErrorBody>,
        }
        let answer: Answer = serde_json::from_slice(&answer).map_err(ExecuteError::Unreadable)?;
        match (answer.result, answer.error) {
            (_, Some(error)) => Err(ExecuteError::Refused { code: error.code, message: error.message }),
            (Some(result), None) => Ok(result),
            (None, None) => RawValue::from_string("{}".to_owned()).map_err(ExecuteError::Unreadable),
        }
    }
}

#[derive(Serialize)]
struct Message<'a, P: ?Sized> {
    id: i32,
    method: &'a str,
    params: &'a P,
    #[serde(rename = "sessionId", skip_serializing_if = "Option::is_none")]
    session: Option<&'a SessionId>,
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
    id: i32,
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
            let Some(envelope) = BrowserMessage::parse(text) else { continue };
            let done = envelope.id.and_then(|id| shared.inner().pending.remove(&id));
            if let Some(done) = done {
                let _ = done.send(message.clone());
            } else if let Some(method) = envelope.method {
                listener(envelope.session, method, text);
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
