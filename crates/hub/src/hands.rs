//! The hub's own commands on tabs, on sessions of their own.
//!
//! What is switched on or set on such a session stays so for the next command, and disturbs neither the
//! recorder nor any client.

mod evaluate;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bowline_wire::cdp::{self, ErrorBody, SessionRef};
use bowline_wire::{BrowserMessage, SessionId, TargetId};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::{OnceCell, oneshot};
use tokio_util::task::TaskTracker;

use crate::router::{CallError, CdpClient, Outbox, Router};

pub use evaluate::{EvaluateError, Value as Evaluated};

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
    #[error("the browser's answer could not be read: {0}")]
    Unreadable(#[source] serde_json::Error),
}

#[derive(Clone)]
pub struct Hands(Arc<Shared>);

struct Shared {
    router: Router,
    tasks: TaskTracker,
    client: OnceCell<CdpClient>,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    last_id: i32,
    pending: HashMap<i32, oneshot::Sender<Bytes>>,
    sessions: HashMap<TargetId, SessionId>,
}

impl Hands {
    /// Costs nothing until the first command.
    pub fn new(router: Router, tasks: TaskTracker) -> Self {
        Self(Arc::new(Shared { router, tasks, client: OnceCell::new(), inner: Mutex::default() }))
    }

    /// Runs a command on a tab, or on the browser itself, and gives the result as it came. The parameters
    /// go as they came, too.
    pub async fn execute(
        &self,
        target: Option<&TargetId>,
        method: &str,
        params: Option<&RawValue>,
        within: Duration,
    ) -> Result<Box<RawValue>, ExecuteError> {
        let work = async {
            let session = match target {
                Some(target) => Some(self.session_on(target).await?),
                None => None,
            };
            match params {
                Some(params) => self.call(session.as_ref(), method, params).await,
                None => self.call(session.as_ref(), method, &json!({})).await,
            }
        };
        match tokio::time::timeout(within, work).await {
            Ok(result) => result,
            Err(_) => Err(ExecuteError::TimedOut { method: method.to_owned(), after: within }),
        }
    }

    async fn session_on(&self, target: &TargetId) -> Result<SessionId, ExecuteError> {
        if let Some(session) = self.0.inner().sessions.get(target) {
            return Ok(session.clone());
        }
        let params = json!({"targetId": target, "flatten": true});
        let answer = self.call(None, "Target.attachToTarget", &params).await?;
        let SessionRef { session_id } =
            serde_json::from_str(answer.get()).map_err(ExecuteError::Unreadable)?;
        // Another command may have been as fast; the later session serves both.
        self.0.inner().sessions.insert(target.clone(), session_id.clone());
        Ok(session_id)
    }

    async fn call(
        &self,
        session: Option<&SessionId>,
        method: &str,
        params: &(impl Serialize + ?Sized),
    ) -> Result<Box<RawValue>, ExecuteError> {
        let client =
            self.0.client.get_or_try_init(|| self.connect()).await.map_err(|_| ExecuteError::Gone)?;
        let (done, answer) = oneshot::channel();
        let id = {
            let mut inner = self.0.inner();
            inner.last_id = inner.last_id.checked_add(1).unwrap_or(1);
            let id = inner.last_id;
            inner.pending.insert(id, done);
            id
        };
        // Forgotten also when whoever asked does not wait any longer.
        let _forget = Forget { shared: &self.0, id };
        let message = serde_json::to_string(&Message { id, method, params, session });
        client.send(Bytes::from(message.map_err(ExecuteError::Unreadable)?)).await;
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

    async fn connect(&self) -> Result<CdpClient, CallError> {
        let client = self.0.router.connect_own().await?;
        // It must not keep alive what it waits for: the outbox closes with the router.
        self.0.tasks.spawn(listen(client.outbox(), Arc::downgrade(&self.0)));
        Ok(client)
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

struct Forget<'a> {
    shared: &'a Shared,
    id: i32,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.shared.inner().pending.remove(&self.id);
    }
}

async fn listen(outbox: Arc<Outbox>, shared: std::sync::Weak<Shared>) {
    let mut batch = Vec::new();
    while outbox.take(&mut batch).await.is_ok() {
        let Some(shared) = shared.upgrade() else { return };
        let mut inner = shared.inner();
        for message in batch.drain(..) {
            let Ok(text) = std::str::from_utf8(&message) else { continue };
            let Some(envelope) = BrowserMessage::parse(text) else { continue };
            if let Some(done) = envelope.id.and_then(|id| inner.pending.remove(&id)) {
                let _ = done.send(message.clone());
            } else if envelope.method == Some(cdp::DETACHED_FROM_TARGET)
                && let Ok(Event { params }) = serde_json::from_str::<Event>(text)
            {
                inner.sessions.retain(|_, session| *session != params.session_id);
            }
        }
    }
    if let Some(shared) = shared.upgrade() {
        // Whoever waits learns that nothing more will come.
        shared.inner().pending.clear();
    }
}

#[derive(Deserialize)]
struct Event {
    params: SessionRef,
}
