//! An action under way: for whom, in which browser and tab, and how it calls ops.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use super::browsers;
use super::target::{Common, by_id, by_url};
use crate::agent::Agent;
use crate::error::{Code, OpError};
use crate::output::Output;
use crate::page::{Element, written};
use crate::request::{Ops, Request};

/// A selector that fits several elements means the first of them, as `querySelector` does; visible ones are first.
const FIRST: &str = " >> nth=0";

/// An element that was found: its ref, and the page script's description of it.
pub(super) struct Found {
    pub(super) name: String,
    pub(super) about: Value,
}

impl Found {
    pub(super) fn text(&self, member: &str) -> &str {
        self.about[member].as_str().unwrap_or_default()
    }

    /// As results show an element.
    pub(super) fn shown(&self) -> Value {
        json!({"ref": self.name, "selector": self.about["selector"], "tagName": self.about["tag"],
            "text": self.about["text"], "rect": self.about["rect"], "visible": self.about["visible"]})
    }
}

pub(super) struct Act {
    pub(super) ops: Ops,
    pub(super) agent: Arc<Agent>,
    pub(super) browser: String,
    common: Common,
    cancel: CancellationToken,
    /// The id of the tab that the payload names, once it was looked for.
    meant: OnceCell<Option<String>>,
}

impl Act {
    pub(super) fn new(
        ops: &Ops,
        agent: &Arc<Agent>,
        browser: Option<&str>,
        common: Common,
        cancel: CancellationToken,
    ) -> Result<Self, OpError> {
        let browser = browsers::meant(ops.hub(), agent, common.browser.as_deref().or(browser))?;
        Ok(Self { ops: ops.clone(), agent: agent.clone(), browser, common, cancel, meant: OnceCell::new() })
    }

    /// How long the caller is willing to wait.
    pub(super) fn patience(&self, otherwise: u64) -> u64 {
        self.common.timeout.unwrap_or(otherwise)
    }

    /// Runs an op in the tab that is meant.
    pub(super) async fn op(&self, op: &str, input: Value) -> Result<Output, OpError> {
        let tab = self.tab().await?.map(str::to_owned);
        self.run(op, input, tab).await
    }

    /// The same, for its data.
    pub(super) async fn data(&self, op: &str, input: Value) -> Result<Value, OpError> {
        Ok(self.op(op, input).await?.data)
    }

    /// Asks the page script through the op `inspect`.
    pub(super) async fn inspect(&self, what: &str, query: Value) -> Result<Value, OpError> {
        self.data("inspect", json!({"what": what, "query": query})).await
    }

    /// The same about an element.
    pub(super) async fn inspect_of(&self, what: &str, target: &str, query: Value) -> Result<Value, OpError> {
        self.data("inspect", json!({"what": what, "target": target, "query": query})).await
    }

    /// The tabs of the browser.
    pub(super) async fn tabs(&self, input: Value) -> Result<Vec<Value>, OpError> {
        let output = self.run("tabs", input, None).await?;
        Ok(output.data["tabs"].as_array().cloned().unwrap_or_default())
    }

    async fn run(&self, op: &str, input: Value, tab: Option<String>) -> Result<Output, OpError> {
        let mut input = match input {
            Value::Object(members) => members,
            _ => Map::new(),
        };
        // What an action leaves open is not told to the op.
        input.retain(|_, value| !value.is_null());
        if let Some(timeout) = self.common.timeout {
            input.entry("timeout").or_insert(json!(timeout));
        }
        let request = Request {
            agent: self.agent.clone(),
            op: op.to_owned(),
            input,
            browser: Some(self.browser.clone()),
            tab,
            cancel: self.cancel.clone(),
            progress: None,
        };
        self.ops.call(request).await
    }

    /// The id of the tab that the payload names; none if it is the agent's current one.
    pub(super) async fn tab(&self) -> Result<Option<&str>, OpError> {
        self.meant.get_or_try_init(|| self.choose()).await.map(Option::as_deref)
    }

    async fn choose(&self) -> Result<Option<String>, OpError> {
        let Common { tab_id, url, .. } = &self.common;
        if tab_id.is_none() && url.is_none() {
            return Ok(None);
        }
        let tabs = self.tabs(json!({})).await?;
        let chosen = match (tab_id, url) {
            (Some(word), _) => by_id(&tabs, word),
            (None, Some(part)) => by_url(&tabs, part),
            (None, None) => return Ok(None),
        };
        chosen
            .map(|tab| tab["id"].as_str().map(str::to_owned))
            .map_err(|error| error.with("tabs", json!(tabs)))
    }

    /// The tab that is meant, as the op `tabs` shows it. An agent that has none yet gets one.
    pub(super) async fn here(&self) -> Result<Value, OpError> {
        let meant = self.tab().await?;
        for is_last in [false, true] {
            let tabs = self.tabs(json!({"windows": true})).await?;
            let found = tabs.into_iter().find(|tab| match meant {
                Some(id) => tab["id"] == json!(id),
                None => tab["current"] == json!(true),
            });
            if let Some(tab) = found {
                return Ok(tab);
            }
            if !is_last {
                // Any look at a page makes one the current tab, or says why there is none.
                self.op("get", json!({"what": "url"})).await?;
            }
        }
        Err(OpError::new(Code::TabClosed, "the tab was closed", "choose another one: getTabs lists them"))
    }

    /// The element that is meant, waited for.
    pub(super) async fn element(&self, selector: &Element) -> Result<Found, OpError> {
        self.described(&first(selector)).await
    }

    pub(super) async fn described(&self, target: &str) -> Result<Found, OpError> {
        let data = self.data("get", json!({"what": "describe", "target": target})).await?;
        let name = data["ref"].as_str().unwrap_or_default().to_owned();
        Ok(Found { name, about: data["value"].clone() })
    }

    /// The element that is meant, if it is there now, and how many there are.
    pub(super) async fn peek(&self, selector: &Element) -> Result<Option<(Found, u64)>, OpError> {
        match selector {
            Element::Ref { .. } => match self.element(selector).await {
                Ok(found) => Ok(Some((found, 1))),
                Err(error) if error.code == Code::StaleRef => Ok(None),
                Err(error) => Err(error),
            },
            Element::Locator(locator) => {
                let data = self.data("find", json!({"target": locator, "max": 1})).await?;
                let Some(name) = data["matches"][0]["ref"].as_str() else { return Ok(None) };
                let total = data["total"].as_u64().unwrap_or(1);
                Ok(Some((self.described(name).await?, total)))
            }
        }
    }
}

/// An element as callers write it.
pub(super) fn text(selector: &Element) -> String {
    match selector {
        Element::Ref { frame, number } => written(*frame, *number),
        Element::Locator(locator) => locator.clone(),
    }
}

/// The same for ops, where it must mean one.
pub(super) fn first(selector: &Element) -> String {
    match selector {
        Element::Ref { .. } => text(selector),
        Element::Locator(locator) => format!("{locator}{FIRST}"),
    }
}

/// Text for a locator, quoted.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Callers do not know what was added to their selectors.
pub(super) fn in_words_of_callers(mut error: OpError) -> OpError {
    error.message = error.message.replace(FIRST, "");
    error
}

/// The members of an object that a result has.
pub(super) fn only(value: &Value, names: &[&str]) -> Value {
    let member = |name: &&str| ((*name).to_owned(), value.get(*name).cloned().unwrap_or(Value::Null));
    Value::Object(names.iter().map(member).collect())
}
