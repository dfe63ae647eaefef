//! What an act has brought about: another address, new tabs, dialogs, downloads, errors in the console.

use std::sync::Arc;
use std::time::Duration;

use bowline_hub::recorder::record::Level;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::Page;
use crate::driver::{Connection, DriverError, PageState};
use crate::output::Output;
use crate::request::Call;
use crate::tab::Tab;

/// How long an act waits for a document that it has led to.
const NAVIGATION: Duration = Duration::from_secs(5);
/// For a page to say something after an act; one that is busy is not waited for.
const BREATH: Duration = Duration::from_millis(500);
/// Errors that are told at once; `console` has them all.
const ERRORS: usize = 5;

/// How things were before an act.
pub(crate) struct Observed {
    browser: String,
    connection: Arc<Connection>,
    before: PageState,
    opened: usize,
    last_record: u64,
}

impl Observed {
    pub(crate) fn begin(call: &Call, tab: &Tab, page: &Page) -> Self {
        let opened = tab.connection.driver.opened_count();
        Self {
            browser: tab.browser.clone(),
            connection: tab.connection.clone(),
            before: page.driver.state(),
            opened,
            last_record: call.hub().recorder().store().last_seq(),
        }
    }

    /// Lets the act have its effect, and tells it.
    pub(crate) async fn finish(self, call: &Call, page: &Page, mut output: Output) -> Output {
        self.settle(page, call.action_deadline()).await;
        let after = page.driver.state();
        let mut facts = json!({});
        let mut lines = Vec::new();
        if after.url != self.before.url || after.documents != self.before.documents {
            facts["url"] = json!(after.url);
            lines.push(format!("The page is now {}", after.url));
        }
        let opened = self.connection.driver.opened_since(self.opened);
        let mut tabs = Vec::new();
        for tab in opened.iter().filter(|tab| tab.opener.as_ref() == Some(&page.target)) {
            let name = call.numbers().of(&self.browser, &tab.target);
            lines.push(format!("A new tab opened: {name} {}", tab.url));
            tabs.push(json!({"tab": name, "id": tab.target, "url": tab.url}));
        }
        if !tabs.is_empty() {
            facts["new_tabs"] = Value::Array(tabs);
        }
        if let Some(dialog) = &after.dialog {
            let line =
                format!("A dialog is open: {} \"{}\". Answer it with dialog.", dialog.kind, dialog.message);
            lines.push(line);
            facts["dialog"] =
                json!({"kind": dialog.kind, "message": dialog.message, "default": dialog.default_prompt});
        }
        let downloads: Vec<&String> = after.downloads.iter().skip(self.before.downloads.len()).collect();
        if !downloads.is_empty() {
            for name in &downloads {
                lines.push(format!("A download has begun: {name}"));
            }
            facts["downloads"] = json!(downloads);
        }
        let errors = self.errors(call, page);
        if !errors.is_empty() {
            for error in &errors {
                lines.push(format!("Console error: {error}"));
            }
            facts["console_errors"] = json!(errors);
        }
        if after.is_closed {
            lines.push("The tab is closed".to_owned());
            facts["closed"] = json!(true);
        }
        output.data["changes"] = facts;
        output.changes = lines;
        output
    }

    async fn settle(&self, page: &Page, deadline: Instant) {
        // An answer of the page comes after what the act made it do.
        let heard = tokio::time::timeout(BREATH, page.driver.title()).await;
        let is_quiet = matches!(heard, Ok(Ok(_))) && !page.driver.state().is_leaving;
        if is_quiet || matches!(heard, Ok(Err(DriverError::DialogOpen | DriverError::Closed))) {
            return;
        }
        let until = deadline.min(Instant::now() + NAVIGATION);
        let mut changes = page.driver.changes();
        loop {
            let state = page.driver.state();
            let is_there = !state.is_leaving && state.is_dom_ready;
            if is_there || state.dialog.is_some() || state.end().is_some() || state.has_crashed {
                return;
            }
            if !matches!(tokio::time::timeout_at(until, changes.changed()).await, Ok(Ok(()))) {
                return;
            }
        }
    }

    fn errors(&self, call: &Call, page: &Page) -> Vec<String> {
        let store = call.hub().recorder().store();
        let Some(tab) = store.find(&self.browser, &page.target) else { return Vec::new() };
        let new = tab.console.iter().rev().take_while(|record| record.seq > self.last_record);
        let mut errors: Vec<String> = new
            .filter(|record| record.level == Level::Error)
            .take(ERRORS)
            .map(|record| record.text.chars().take(300).collect())
            .collect();
        errors.reverse();
        errors
    }
}
