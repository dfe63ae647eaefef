//! The ops, a file for each family.

pub(crate) mod act;
pub(crate) mod emulation;
pub(crate) mod execute;
pub(crate) mod fields;
pub(crate) mod history;
pub(crate) mod lifecycle;
pub(crate) mod look;
pub(crate) mod navigation;
pub(crate) mod picture;
pub(crate) mod script;
pub(crate) mod storage;
pub(crate) mod tabs;
pub(crate) mod trace;
pub(crate) mod wait;

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::driver::Page;
use crate::error::OpError;
use crate::output::Output;
use crate::page::{Located, Observed};
use crate::request::Call;
use crate::tab::Tab;

/// An act under way: the tab is the agent's, and nobody else of its own requests acts there meanwhile.
pub(crate) struct Acting<'a> {
    call: &'a Call,
    tab: Tab,
    pub(crate) page: Arc<Page>,
    pub(crate) deadline: Instant,
    observed: Option<Observed>,
    _turn: tokio::sync::OwnedMutexGuard<()>,
}

impl<'a> Acting<'a> {
    pub(crate) async fn begin(call: &'a Call) -> Result<Self, OpError> {
        let tab = call.tab().await?;
        let page = call.page_of(&tab).await?;
        let turn = tokio::time::timeout_at(call.action_deadline(), page.turn.clone().lock_owned()).await;
        let Ok(turn) = turn else { return Err(page.no_answer()) };
        let observed = Some(Observed::begin(call, &tab, &page));
        let deadline = call.action_deadline();
        Ok(Self { call, tab, page, deadline, observed, _turn: turn })
    }

    /// The lease lasts from the last act on.
    pub(crate) fn renew(&self) {
        let _ = self.call.lease(&self.tab.browser, &self.tab.target);
    }

    /// What was done, and what has changed by it.
    pub(crate) async fn done(
        mut self,
        what: &str,
        located: Option<&Located>,
        mut data: Value,
    ) -> Result<Output, OpError> {
        let mut text = what.to_owned();
        if !data.is_object() {
            data = json!({ "result": data });
        }
        if let Some(located) = located {
            data["ref"] = json!(located.name);
            text = match self.page.shown_line(located) {
                Some(line) => format!("{what} {line}"),
                None => format!("{what} {}", located.name),
            };
        }
        let output = Output::new(data, text).from_page(&self.page.url());
        Ok(match self.observed.take() {
            Some(observed) => observed.finish(self.call, &self.page, output).await,
            None => output,
        })
    }
}
