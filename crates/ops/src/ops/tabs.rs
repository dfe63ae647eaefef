//! Tabs: list, open, choose, close, hand over.

use std::sync::Arc;
use std::time::Duration;

use bowline_wire::TargetId;
use serde_json::{Value, json};

use crate::driver::Connection;
use crate::error::OpError;
use crate::output::Output;
use crate::registry::{Access, Op, Set};
use crate::request::Call;
use crate::tab::{self, Tab};

pub(crate) struct Tabs;

choice!(Action {
    List = "list",
    New = "new" | "create" | "open",
    Select = "select" | "focus" | "switch",
    Close = "close",
    Find = "find",
    Take = "take",
    Release = "release",
});

input!(TabsInput {
    action: Option<Action> = "list (default), new, select, close, find, take (over from another agent), release",
    tab ["index", "id", "tabId"]: Option<Value> = "t1, label, index, id, or part of URL or title",
    url: Option<String> = "for new: where to go; for find: part of the URL",
    label: Option<String> = "for new or select: your name for it",
    front: Option<bool> = "for select: show it to the person too",
    windows: Option<bool> = "",
});

impl Op for Tabs {
    type Input = TabsInput;
    const NAME: &'static str = "tabs";
    const TOOL: &'static str = "browser_tabs";
    const SET: Set = Set::Core;
    const ACCESS: Access = Access::Act;
    const ABOUT: &'static str =
        "List, open, select, close or hand over tabs. Your current tab is yours alone.";

    async fn run(call: &Call, input: TabsInput) -> Result<Output, OpError> {
        let word = match &input.tab {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.clone()),
            Some(Value::Number(number)) => Some(number.to_string()),
            Some(other) => {
                let message = format!("tabs: `tab`: expected a text or a number, not {other}");
                return Err(OpError::bad_input(message, "for example t1"));
            }
        };
        let (browser, connection) = call.connection().await?;
        let name = browser.name().to_owned();
        let action = input.action.unwrap_or(Action::List);
        let has_windows = input.windows.unwrap_or(false);
        let here = Here { call, name: &name, connection, has_windows };
        match action {
            Action::List => here.list(None).await,
            Action::Find => here.list(input.url.or(word).as_deref()).await,
            Action::New => here.open(input.url.as_deref().unwrap_or("about:blank"), input.label).await,
            Action::Select => {
                let target = here.meant(word.as_deref()).await?;
                if let Some(label) = input.label {
                    call.agent.label(&label, target.clone());
                }
                call.agent.set_current(&name, Some(target.clone()));
                if input.front.unwrap_or(false) {
                    here.connection.driver.activate(&target).await?;
                }
                here.list(None).await
            }
            Action::Close => here.close(word.as_deref()).await,
            Action::Take => {
                let target = here.meant(word.as_deref()).await?;
                call.leases().seize(&name, &target, &call.agent);
                call.agent.set_current(&name, Some(target));
                here.list(None).await
            }
            Action::Release => {
                let target = here.meant(word.as_deref()).await?;
                call.leases().release(&name, &target, &call.agent);
                here.list(None).await
            }
        }
    }
}

/// How often, and with which pause, it is looked whether a tab has closed.
const CLOSING_LOOKS: usize = 20;
const CLOSING_PAUSE: Duration = Duration::from_millis(25);

struct Here<'a> {
    call: &'a Call,
    name: &'a str,
    connection: Arc<Connection>,
    /// Whether each tab is told with its window.
    has_windows: bool,
}

impl Here<'_> {
    async fn list(&self, part: Option<&str>) -> Result<Output, OpError> {
        let tabs = self.connection.tabs().await?;
        let shown = tab::listed(self.call, self.name, &tabs);
        let mut shown: Vec<Value> = shown.as_array().cloned().unwrap_or_default();
        if self.has_windows {
            let asked = tabs.iter().map(|tab| self.connection.driver.window(&tab.target));
            let windows = futures_util::future::join_all(asked).await;
            for (shown, window) in shown.iter_mut().zip(windows) {
                // A browser that does not tell, and a tab that has just gone, have none.
                shown["window"] = json!(window.ok().flatten());
            }
        }
        if let Some(part) = part {
            let lower = part.to_lowercase();
            shown.retain(|tab| {
                ["url", "title"]
                    .iter()
                    .any(|name| tab[name].as_str().is_some_and(|text| text.to_lowercase().contains(&lower)))
            });
        }
        let lines: Vec<String> = shown.iter().map(line).collect();
        let text = if lines.is_empty() { "no tabs".to_owned() } else { lines.join("\n") };
        Ok(Output::new(json!({"tabs": shown, "browser": self.name}), text).from_page("the browser's tabs"))
    }

    async fn meant(&self, word: Option<&str>) -> Result<TargetId, OpError> {
        let tabs = self.connection.tabs().await?;
        match word {
            Some(word) => tab::find(self.call, self.name, &tabs, word),
            None => {
                let current = self.call.agent.current(self.name);
                current.filter(|target| tabs.iter().any(|tab| tab.target == *target)).ok_or_else(|| {
                    let message = "tabs: `tab` is missing, and you have no current tab";
                    OpError::bad_input(message, "name one: t1, or part of its URL")
                })
            }
        }
    }

    async fn open(&self, url: &str, label: Option<String>) -> Result<Output, OpError> {
        let url = super::navigation::address(url)?;
        self.call.permit(&url)?;
        let target = self.connection.driver.create("about:blank").await?;
        self.call.lease(self.name, &target)?;
        self.call.agent.set_current(self.name, Some(target.clone()));
        if let Some(label) = label {
            self.call.agent.label(&label, target.clone());
        }
        if url != "about:blank" {
            let tab = Tab { browser: self.name.to_owned(), target, connection: self.connection.clone() };
            super::navigation::go_to(self.call, &tab, None, &url).await?;
        }
        self.list(None).await
    }

    async fn close(&self, word: Option<&str>) -> Result<Output, OpError> {
        let target = self.meant(word).await?;
        // Somebody else's is not closed by mistake.
        self.call.lease(self.name, &target)?;
        match self.connection.driver.close(&target).await {
            Ok(()) | Err(crate::driver::DriverError::Closed) => {}
            Err(error) => return Err(error.into()),
        }
        self.call.leases().release(self.name, &target, &self.call.agent);
        // The browser says that it closes before it has. A page that asks whether it may go stays, and is told of.
        for _ in 0..CLOSING_LOOKS {
            if !self.connection.tabs().await?.iter().any(|tab| tab.target == target) {
                break;
            }
            tokio::time::sleep(CLOSING_PAUSE).await;
        }
        if self.call.agent.current(self.name) == Some(target) {
            self.call.agent.set_current(self.name, None);
        }
        self.list(None).await
    }
}

fn line(tab: &Value) -> String {
    let text = |name: &str| tab[name].as_str().unwrap_or_default().to_owned();
    let mut line = format!("{} {} {}", text("tab"), text("url"), text("title")).trim_end().to_owned();
    if tab["current"] == json!(true) {
        line.push_str(" (current)");
    }
    if let Some(label) = tab["label"].as_str() {
        line.push_str(&format!(" [{label}]"));
    }
    if let Some(owner) = tab["owner"].as_str() {
        line.push_str(&format!(" <{owner}>"));
    }
    line
}
