//! An agent's connection to one browser, and the pages it has worked with.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bowline_hub::Browser;
use bowline_hub::browser::ConnectError;
use bowline_hub::router::Entry;
use bowline_wire::TargetId;
use tokio::sync::OnceCell;

use super::{BrowserDriver, Dialog, Page, TabInfo, bidi, cdp};
use crate::agent::Agent;
use crate::error::{Code, OpError};

pub(crate) struct Connection {
    pub(crate) driver: Arc<dyn BrowserDriver>,
    next_ref: Arc<AtomicU64>,
    /// Each is attached to once, however many requests want it at the same time.
    pages: Mutex<HashMap<TargetId, Arc<OnceCell<Arc<Page>>>>>,
}

impl Connection {
    pub(crate) async fn open(browser: &Browser, agent: &Agent) -> Result<Arc<Self>, OpError> {
        let place = browser.ready().await.map_err(|error| not_connected(error.into()))?;
        let driver = match place.speech.bidi() {
            Ok(session) => bidi::Browser::open(session, agent.name.as_str()).await?,
            // Ops come through doors that have asked for the token.
            Err(_) => {
                let client = browser.connect_named(Entry::Browser, agent.name.as_str(), |_| true).await;
                cdp::Browser::open(client.map_err(not_connected)?).await?
            }
        };
        let next_ref = agent.next_ref.clone();
        Ok(Arc::new(Self { driver, next_ref, pages: Mutex::default() }))
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.driver.has_ended()
    }

    pub(crate) async fn tabs(&self) -> Result<Vec<TabInfo>, OpError> {
        Ok(self.driver.tabs().await?)
    }

    /// Whether the tab is one that the agent works with, and is still there.
    pub(crate) fn has_page(&self, target: &TargetId) -> bool {
        self.pages().get(target).is_some_and(|page| page.get().is_some_and(is_there))
    }

    /// The page of a tab. A dialog that is open there already would not be heard of otherwise.
    pub(crate) async fn page(&self, target: &TargetId, missed: Option<Dialog>) -> Result<Arc<Page>, OpError> {
        let page = {
            let mut pages = self.pages();
            pages.retain(|_, page| page.get().is_none_or(is_there));
            pages.entry(target.clone()).or_default().clone()
        };
        let attach = || async {
            let driver = self.driver.page(target, missed).await?;
            Ok::<_, OpError>(Arc::new(Page::new(target.clone(), driver, self.next_ref.clone())))
        };
        page.get_or_try_init(attach).await.cloned()
    }

    fn pages(&self) -> MutexGuard<'_, HashMap<TargetId, Arc<OnceCell<Arc<Page>>>>> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_there(page: &Arc<Page>) -> bool {
    page.driver.state().end().is_none()
}

fn not_connected(error: ConnectError) -> OpError {
    match error {
        ConnectError::NotStarted(error) => {
            let message = error.message.clone();
            OpError::new(Code::NoBrowser, message, error.hint.clone()).with("reason", error.code.into())
        }
        other => {
            OpError::new(Code::NoBrowser, other.to_string(), "try again; `bowline status` shows the browsers")
        }
    }
}
