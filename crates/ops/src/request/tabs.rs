//! The tab that a request means, and the page in it: the agent's connection, its leases.

use std::sync::{Arc, PoisonError};

use bowline_hub::Browser;
use bowline_wire::TargetId;
use serde_json::Value;
use tokio::time::Instant;

use super::Call;
use crate::driver::{Connection, Dialog, Page};
use crate::error::{Code, OpError};
use crate::registry::Access;
use crate::tab::{self, Tab};

impl Call {
    /// The agent's own connection to the browser, which is started if it does not run.
    pub(crate) async fn connection(&self) -> Result<(Arc<Browser>, Arc<Connection>), OpError> {
        let browser = self.browser()?;
        if let Some(connection) = self.agent.connection(browser.name()) {
            return Ok((browser, connection));
        }
        if browser.snapshot().place().is_none() {
            self.tell(&format!("starting browser {}", browser.name()));
        }
        let asked = Instant::now();
        let connection = Connection::open(&browser, &self.agent).await?;
        let connection = self.agent.keep(browser.name(), connection);
        self.time().reaching += asked.elapsed();
        Ok((browser, connection))
    }

    /// The tab that is meant, for looking at it.
    pub(crate) async fn tab(&self) -> Result<Tab, OpError> {
        let (browser, connection) = self.connection().await?;
        tab::choose(self, &browser, connection, self.tab_word.as_deref()).await
    }

    /// Whether nobody has named a tab.
    pub(crate) fn may_choose_tab(&self) -> bool {
        self.tab_word.is_none()
    }

    /// The tab to go somewhere in: the one that is meant, or a new one of the agent's own.
    pub(crate) async fn tab_to_go(&self, is_new: bool) -> Result<Tab, OpError> {
        let (browser, connection) = self.connection().await?;
        let name = browser.name().to_owned();
        if !is_new && self.tab_word.is_some() {
            return self.tab().await;
        }
        if !is_new && let Some(current) = self.agent.current(&name) {
            let tabs = connection.tabs().await?;
            if tabs.iter().any(|tab| tab.target == current) {
                return Ok(Tab { browser: name, target: current, connection });
            }
        }
        // A browser begins with a blank tab, which will do unless somebody else has it. One of several may be somebody's
        // who is about to use it.
        let tabs = connection.tabs().await?;
        let blank = match tabs.as_slice() {
            [only] if !is_new && only.url == "about:blank" && !connection.driver.shares(&only.target) => {
                self.lease(&name, &only.target).ok().map(|()| only.target.clone())
            }
            _ => None,
        };
        let target = match blank {
            Some(target) => target,
            None => loop {
                let target = connection.driver.create("about:blank").await?;
                // Another agent that looked for a blank tab just now may have taken it.
                if self.lease(&name, &target).is_ok() {
                    break target;
                }
            },
        };
        self.agent.set_current(&name, Some(target.clone()));
        Ok(Tab { browser: name, target, connection })
    }

    /// The page of the tab that is meant; leased to the agent if the op acts.
    pub(crate) async fn page(&self) -> Result<Arc<Page>, OpError> {
        let tab = self.tab().await?;
        self.page_of(&tab).await
    }

    pub(crate) async fn page_of(&self, tab: &Tab) -> Result<Arc<Page>, OpError> {
        if self.access != Access::Read {
            self.lease(&tab.browser, &tab.target)?;
        }
        let dialog = self.hub().recorder().dialogs().of(&tab.browser, &tab.target);
        let missed = dialog.map(|dialog| Dialog {
            kind: dialog.kind,
            message: dialog.message,
            default_prompt: dialog.default_prompt,
        });
        tab.connection.page(&tab.target, missed).await
    }

    /// Takes a tab for the agent, or says whose it is.
    pub(crate) fn lease(&self, browser: &str, target: &TargetId) -> Result<(), OpError> {
        let hold = self.leases().take(browser, target, &self.agent).map_err(|owner| {
            let tab = self.numbers().of(browser, target);
            let message = format!("{tab} is used by another agent, `{owner}`");
            let hint = format!(
                "work in a tab of your own (tabs, action `new`), or take it over (tabs, action `take`, tab `{tab}`)"
            );
            OpError::new(Code::TabLocked, message, hint).with("owner", Value::String(owner.to_string()))
        })?;
        self.holds.lock().unwrap_or_else(PoisonError::into_inner).push(hold);
        // Its dialogs are the agent's to answer, as long as the tab is its own.
        self.hub().recorder().dialogs().care_for(browser, target, self.settings().lease_idle);
        Ok(())
    }
}
