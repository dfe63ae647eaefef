//! The hub's own commands on tabs, on sessions of their own.
//!
//! What is switched on or set on such a session stays so for the next command, and disturbs neither the
//! recorder nor any client.

mod evaluate;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bowline_wire::cdp::{self, SessionRef};
use bowline_wire::{SessionId, TargetId};
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::OnceCell;
use tokio_util::task::TaskTracker;

use crate::caller::Caller;
use crate::router::{CallError, Router};

pub use crate::caller::ExecuteError;
pub use evaluate::{EvaluateError, Value as Evaluated};

#[derive(Clone)]
pub struct Hands(Arc<Shared>);

struct Shared {
    router: Router,
    tasks: TaskTracker,
    caller: OnceCell<Caller>,
    sessions: Arc<Sessions>,
}

/// The hub's own sessions on tabs.
#[derive(Default)]
struct Sessions(Mutex<HashMap<TargetId, SessionId>>);

impl Sessions {
    fn all(&self) -> MutexGuard<'_, HashMap<TargetId, SessionId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn event(&self, method: &str, message: &str) {
        if method == cdp::DETACHED_FROM_TARGET
            && let Ok(Event { params }) = serde_json::from_str::<Event>(message)
        {
            self.all().retain(|_, session| *session != params.session_id);
        }
    }
}

impl Hands {
    /// Costs nothing until the first command.
    pub fn new(router: Router, tasks: TaskTracker) -> Self {
        Self(Arc::new(Shared { router, tasks, caller: OnceCell::new(), sessions: Arc::default() }))
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
        if let Some(session) = self.0.sessions.all().get(target) {
            return Ok(session.clone());
        }
        let params = json!({"targetId": target, "flatten": true});
        let answer = self.call(None, "Target.attachToTarget", &params).await?;
        let SessionRef { session_id } =
            serde_json::from_str(answer.get()).map_err(ExecuteError::Unreadable)?;
        // Another command may have been as fast; the later session serves both.
        self.0.sessions.all().insert(target.clone(), session_id.clone());
        Ok(session_id)
    }

    async fn call(
        &self,
        session: Option<&SessionId>,
        method: &str,
        params: &(impl Serialize + ?Sized),
    ) -> Result<Box<RawValue>, ExecuteError> {
        let caller = self.0.caller.get_or_try_init(|| self.connect()).await;
        caller.map_err(|_| ExecuteError::Gone)?.call(session, method, params).await
    }

    async fn connect(&self) -> Result<Caller, CallError> {
        let client = self.0.router.connect_own().await?;
        let sessions = self.0.sessions.clone();
        let listener =
            Box::new(move |_: Option<&str>, method: &str, message: &str| sessions.event(method, message));
        Ok(Caller::new(client, &self.0.tasks, listener))
    }
}

#[derive(Deserialize)]
struct Event {
    params: SessionRef,
}
