//! Watching pages change. The page gathers its changes; whoever tells the agent takes them from here now and then.

use std::sync::Arc;
use std::time::Duration;

use bowline_wire::TargetId;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::act::Act;
use crate::agent::Agent;
use crate::driver::{DriverError, Page};
use crate::error::OpError;
use crate::request::Ops;

/// A page that is busy is asked again the next time.
const PATIENCE: Duration = Duration::from_secs(2);

input!(WatchMode { enabled: bool = "false: no longer" });

pub(super) async fn set_watch_mode(act: &Act, payload: WatchMode) -> Result<Value, OpError> {
    act.inspect("watch", json!({"on": payload.enabled})).await?;
    let tab = act.here().await?;
    let target = TargetId::new(tab["id"].as_str().unwrap_or_default());
    act.agent.watch(&act.browser, target, payload.enabled);
    Ok(json!({"watchMode": payload.enabled}))
}

/// What has changed in a tab since it was asked last.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Watched {
    pub browser: String,
    /// Its short name.
    #[serde(rename = "tabId")]
    pub tab: String,
    /// `{kind, selector, text, count}` each; `kind` is `added`, `removed`, `text`, `attributes`, or `document` when
    /// the tab has gone to another page.
    pub changes: Vec<Value>,
}

impl Ops {
    /// The changes in the tabs that an agent watches, each told once. Starts no browser, and waits for no page.
    pub async fn watched_changes(&self, agent: &Arc<Agent>) -> Vec<Watched> {
        let mut all = Vec::new();
        for (browser, target) in agent.watched() {
            let connection = agent.connection(&browser).filter(|connection| connection.has_page(&target));
            let Some(connection) = connection else {
                // The tab is gone, and with it the wish.
                agent.watch(&browser, target, false);
                continue;
            };
            let Ok(page) = connection.page(&target, None).await else { continue };
            let deadline = Instant::now() + PATIENCE;
            let Ok(changes) = page.settled(deadline, || changes_of(&page)).await else { continue };
            if !changes.is_empty() {
                all.push(Watched { tab: self.name_of_tab(&browser, &target), browser, changes });
            }
        }
        all
    }
}

async fn changes_of(page: &Page) -> Result<Vec<Value>, DriverError> {
    let main = page.main_frame().await?;
    let mut answer = page.script(&main, "changes", json!({})).await?;
    if answer["watching"] == json!(true) {
        return Ok(answer["changes"].as_array_mut().map(std::mem::take).unwrap_or_default());
    }
    // Another document, in which nobody watches yet.
    page.script(&main, "watch", json!({"on": true})).await?;
    Ok(vec![json!({"kind": "document", "selector": "document", "text": page.url(), "count": 1})])
}
