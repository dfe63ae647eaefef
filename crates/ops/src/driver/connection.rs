//! An agent's connection to one browser, and the pages it has worked with.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bowline_hub::Browser;
use bowline_hub::browser::ConnectError;
use bowline_hub::router::Entry;
use bowline_wire::TargetId;

use super::{BrowserDriver, Page, TabInfo, cdp};
use crate::agent::Agent;
use crate::error::{Code, OpError};

pub(crate) struct Connection {
    pub(crate) driver: Arc<dyn BrowserDriver>,
    next_ref: Arc<AtomicU64>,
    pages: Mutex<HashMap<TargetId, Arc<Page>>>,
    /// So that two requests at once do not attach twice.
    attaching: tokio::sync::Mutex<()>,
}

impl Connection {
    pub(crate) async fn open(browser: &Browser, agent: &Agent) -> Result<Arc<Self>, OpError> {
        // Ops come through doors that have asked for the token.
        let client = browser
            .connect_named(Entry::Browser, agent.name.as_str(), |_| true)
            .await
            .map_err(not_connected)?;
        let driver = cdp::Browser::open(client).await?;
        let next_ref = agent.next_ref.clone();
        Ok(Arc::new(Self {
            driver,
            next_ref,
            pages: Mutex::default(),
            attaching: tokio::sync::Mutex::default(),
        }))
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.driver.has_ended()
    }

    pub(crate) async fn tabs(&self) -> Result<Vec<TabInfo>, OpError> {
        Ok(self.driver.tabs().await?)
    }

    /// Whether the tab is one that the agent works with, and is still there.
    pub(crate) fn has_page(&self, target: &TargetId) -> bool {
        self.pages().get(target).is_some_and(|page| !page.driver.state().is_closed)
    }

    pub(crate) async fn page(&self, target: &TargetId) -> Result<Arc<Page>, OpError> {
        if let Some(page) = self.known(target) {
            return Ok(page);
        }
        let _turn = self.attaching.lock().await;
        if let Some(page) = self.known(target) {
            return Ok(page);
        }
        let page =
            Arc::new(Page::new(target.clone(), self.driver.page(target).await?, self.next_ref.clone()));
        let mut pages = self.pages();
        pages.retain(|_, page| !page.driver.state().is_closed);
        pages.insert(target.clone(), page.clone());
        Ok(page)
    }

    fn known(&self, target: &TargetId) -> Option<Arc<Page>> {
        self.pages().get(target).filter(|page| !page.driver.state().is_closed).cloned()
    }

    fn pages(&self) -> MutexGuard<'_, HashMap<TargetId, Arc<Page>>> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
