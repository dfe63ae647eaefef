//! A browser that speaks CDP: its tabs, and who hears which event.

mod emulation;
mod input;
mod page;
mod picture;
mod script;
mod state;
mod world;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bowline_hub::caller::{Caller, ExecuteError};
use bowline_hub::router::CdpClient;
use bowline_wire::cdp::{CreatedTarget, SessionRef, TargetInfo, TargetInfos};
use bowline_wire::{SessionId, TargetId};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio_util::task::TaskTracker;

use super::opened::Opened;
use super::{Answer, BrowserDriver, Dialog, Driver, DriverError, TabInfo};
use state::State;

/// For commands that ask the browser alone, which answers at once or not at all.
const BROWSER_PATIENCE: Duration = Duration::from_secs(15);

pub(crate) struct Browser {
    caller: Caller,
    hall: Arc<Hall>,
}

/// What events are about.
#[derive(Default)]
struct Hall(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    /// Pages by their sessions, and by those of their frames of other sites.
    pages: HashMap<String, Arc<State>>,
    opened: Opened,
}

impl Browser {
    pub(crate) async fn open(client: CdpClient) -> Result<Arc<dyn BrowserDriver>, DriverError> {
        let hall = Arc::new(Hall::default());
        let listener = {
            let hall = hall.clone();
            Box::new(move |session: Option<&str>, method: &str, message: &str| {
                hall.event(session, method, message)
            })
        };
        let caller = Caller::new(client, &TaskTracker::new(), listener);
        let (ended, pages) = (caller.ended(), hall.clone());
        tokio::spawn(async move {
            ended.cancelled().await;
            pages.end();
        });
        let browser = Self { caller, hall };
        browser.ask("Target.setDiscoverTargets", json!({"discover": true})).await?;
        Ok(Arc::new(browser))
    }

    async fn ask(&self, method: &str, params: Value) -> Result<Value, DriverError> {
        match tokio::time::timeout(BROWSER_PATIENCE, self.caller.call(None, method, &params)).await {
            Ok(answer) => read(answer),
            Err(_) => Err(DriverError::TimedOut(BROWSER_PATIENCE)),
        }
    }
}

/// The answer to a command, as a type.
fn read<T: DeserializeOwned>(
    answer: Result<Box<serde_json::value::RawValue>, ExecuteError>,
) -> Result<T, DriverError> {
    let answer = answer.map_err(|error| match error {
        ExecuteError::Gone => DriverError::Gone,
        ExecuteError::TimedOut { after, .. } => DriverError::TimedOut(after),
        ExecuteError::Refused { message, .. } => refused(message),
        ExecuteError::RefusedByBidi(refusal) => DriverError::Refused(refusal.to_string()),
        ExecuteError::Unreadable(error) => DriverError::Refused(error.to_string()),
    })?;
    serde_json::from_str(answer.get()).map_err(|error| DriverError::Refused(error.to_string()))
}

/// What the browser's words mean.
fn refused(message: String) -> DriverError {
    const NAVIGATED: [&str; 8] = [
        "Cannot find context",
        "Could not find object with given id",
        "Execution context was destroyed",
        "Inspected target navigated or closed",
        "No frame with given id",
        "No frame for given id found",
        "uniqueContextId not found",
        "Cannot find execution context",
    ];
    const CLOSED: [&str; 4] =
        ["Session with given id", "No target with given id", "Target closed", "was detached"];
    if NAVIGATED.iter().any(|words| message.contains(words)) {
        DriverError::Navigated
    } else if message.contains("crashed") {
        DriverError::Crashed
    } else if CLOSED.iter().any(|words| message.contains(words)) {
        DriverError::Closed
    } else {
        DriverError::Refused(message)
    }
}

impl BrowserDriver for Browser {
    fn has_ended(&self) -> bool {
        self.caller.has_ended()
    }

    fn tabs(&self) -> Answer<'_, Vec<TabInfo>> {
        Box::pin(async {
            let found = self.ask("Target.getTargets", json!({})).await?;
            let found: TargetInfos =
                serde_json::from_value(found).map_err(|error| DriverError::Refused(error.to_string()))?;
            let mut tabs: Vec<TabInfo> =
                found.target_infos.into_iter().filter(|info| info.kind == "page").map(tab_info).collect();
            // Chromium lists the newest first.
            tabs.reverse();
            Ok(tabs)
        })
    }

    fn create<'a>(&'a self, url: &'a str) -> Answer<'a, TargetId> {
        Box::pin(async move {
            let made = self.ask("Target.createTarget", json!({"url": url, "background": true})).await?;
            let made: CreatedTarget =
                serde_json::from_value(made).map_err(|error| DriverError::Refused(error.to_string()))?;
            Ok(made.target_id)
        })
    }

    fn close<'a>(&'a self, target: &'a TargetId) -> Answer<'a, ()> {
        Box::pin(async move {
            self.ask("Target.closeTarget", json!({"targetId": target})).await?;
            Ok(())
        })
    }

    fn shares(&self, target: &TargetId) -> bool {
        self.caller.shares(target)
    }

    fn activate<'a>(&'a self, target: &'a TargetId) -> Answer<'a, ()> {
        Box::pin(async move {
            self.ask("Target.activateTarget", json!({"targetId": target})).await?;
            Ok(())
        })
    }

    fn window<'a>(&'a self, target: &'a TargetId) -> Answer<'a, Option<i64>> {
        Box::pin(async move {
            let answer = self.ask("Browser.getWindowForTarget", json!({"targetId": target})).await?;
            Ok(answer["windowId"].as_i64())
        })
    }

    fn opened_count(&self) -> usize {
        self.hall.inner().opened.count()
    }

    fn opened_since(&self, count: usize) -> Vec<TabInfo> {
        self.hall.inner().opened.since(count)
    }

    fn page<'a>(&'a self, target: &'a TargetId, missed: Option<Dialog>) -> Answer<'a, Arc<dyn Driver>> {
        Box::pin(async move {
            let params = json!({"targetId": target, "flatten": true});
            let attached = self.ask("Target.attachToTarget", params).await?;
            let SessionRef { session_id } =
                serde_json::from_value(attached).map_err(|error| DriverError::Refused(error.to_string()))?;
            let state = Arc::new(State::new(session_id.clone()));
            if let Some(dialog) = missed {
                state.missed(dialog);
            }
            self.hall.inner().pages.insert(session_id.to_string(), state.clone());
            let page: Arc<dyn Driver> = page::Page::open(self.caller.clone(), session_id, state).await?;
            Ok(page)
        })
    }
}

fn tab_info(info: TargetInfo) -> TabInfo {
    TabInfo { target: info.target_id, url: info.url, title: info.title, opener: info.opener_id }
}

#[derive(Deserialize)]
struct Event<P> {
    params: P,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Attached {
    session_id: SessionId,
    target_info: TargetInfo,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Created {
    target_info: TargetInfo,
}

impl Hall {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection is over: whoever waits for a page is told.
    fn end(&self) {
        for page in self.inner().pages.drain().map(|(_, page)| page) {
            page.ended();
        }
    }

    fn event(&self, session: Option<&str>, method: &str, message: &str) {
        let mut inner = self.inner();
        let page = session.and_then(|session| inner.pages.get(session)).cloned();
        match (method, session, page) {
            ("Target.targetCreated", None, _) => {
                if let Ok(Event { params: Created { target_info } }) = serde_json::from_str(message)
                    && target_info.kind == "page"
                    && target_info.opener_id.is_some()
                {
                    inner.opened.push(tab_info(target_info));
                }
            }
            ("Target.attachedToTarget", Some(parent), Some(page)) => {
                if let Ok(Event { params }) = serde_json::from_str::<Event<Attached>>(message) {
                    inner.pages.insert(params.session_id.to_string(), page.clone());
                    page.child_attached(parent, params.session_id, &params.target_info);
                }
            }
            ("Target.detachedFromTarget", _, _) => {
                if let Ok(Event { params }) = serde_json::from_str::<Event<SessionRef>>(message)
                    && let Some(page) = inner.pages.remove(params.session_id.as_str())
                {
                    page.session_ended(params.session_id.as_str());
                }
            }
            (method, Some(session), Some(page)) => page.event(session, method, message),
            _ => {}
        }
    }
}
