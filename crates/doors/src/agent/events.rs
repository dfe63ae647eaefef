//! What an agent is told without asking: tabs, console, requests, dialogs, and changes of pages that it watches.
//!
//! There is no queue of events behind this: what happened is read from where it is kept, from the last look on, so an
//! agent that reads slowly gets it later and together.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bowline_hub::recorder::record::Seq;
use bowline_hub::recorder::redact;
use bowline_wire::TargetId;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Desk;
use super::answers::Text;
use super::visitor::Visitor;

/// Between two looks.
const LOOK: Duration = Duration::from_millis(100);
/// Records that are told after one look; the rest comes after the next.
const AT_ONCE: usize = 500;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Tabs,
    Console,
    Network,
    Dialogs,
    /// Of pages that `setWatchMode` has switched on.
    Dom,
}

/// What an agent wants to be told.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wish {
    pub(super) events: BTreeSet<Kind>,
    /// Only of this browser.
    #[serde(default)]
    pub(super) browser: Option<String>,
}

impl Wish {
    fn wants(&self, browser: &str) -> bool {
        self.browser.as_deref().is_none_or(|wanted| wanted == browser)
    }
}

/// How far an agent has been told.
struct Told {
    desk: Arc<Desk>,
    visitor: Arc<Visitor>,
    wish: Wish,
    console: Seq,
    network: Seq,
    /// Address and title of each open tab.
    tabs: BTreeMap<(String, TargetId), (String, String)>,
    dialogs: u64,
}

/// Tells until the agent leaves, or wishes for something else.
pub(super) async fn tell(
    desk: Arc<Desk>,
    visitor: Arc<Visitor>,
    wish: Wish,
    out: mpsc::Sender<Text>,
    stop: CancellationToken,
) {
    let latest = desk.hub().recorder().store().last_seq();
    let mut told =
        Told { desk, visitor, wish, console: latest, network: latest, tabs: BTreeMap::new(), dialogs: 0 };
    // What is there is no news.
    let _ = told.tabs();
    let _ = told.dialogs();
    while stop.run_until_cancelled(tokio::time::sleep(LOOK)).await.is_some() {
        for event in told.news().await {
            // Waits for room: an agent that does not read is not told more meanwhile.
            if out.send(event.to_string().into()).await.is_err() {
                return;
            }
        }
    }
}

impl Told {
    async fn news(&mut self) -> Vec<Value> {
        let mut news = Vec::new();
        for kind in self.wish.events.clone() {
            match kind {
                Kind::Tabs => news.extend(self.tabs()),
                Kind::Console => news.extend(self.console()),
                Kind::Network => news.extend(self.network()),
                Kind::Dialogs => news.extend(self.dialogs()),
                Kind::Dom => news.extend(self.changes().await),
            }
        }
        news
    }

    fn event(&self, kind: &str, browser: &str, target: &TargetId, data: &Value) -> Value {
        let tab = self.desk.ops.name_of_tab(browser, target);
        json!({"event": kind, "browser": browser, "tab": tab, "data": data})
    }

    fn tabs(&mut self) -> Vec<Value> {
        let now: BTreeMap<(String, TargetId), (String, String)> = {
            let store = self.desk.hub().recorder().store();
            let open =
                store.tabs().filter(|tab| tab.is_open() && tab.is_page() && self.wish.wants(&tab.browser));
            open.map(|tab| ((tab.browser.clone(), tab.target.clone()), (tab.url.clone(), tab.title.clone())))
                .collect()
        };
        let before = std::mem::replace(&mut self.tabs, now);
        let mut news = Vec::new();
        for (place, page) in &self.tabs {
            let what = match before.get(place) {
                None => "opened",
                Some(known) if known != page => "changed",
                Some(_) => continue,
            };
            let data = json!({"what": what, "id": place.1, "url": page.0, "title": page.1});
            news.push(self.event("tabs", &place.0, &place.1, &data));
        }
        for place in before.keys().filter(|place| !self.tabs.contains_key(*place)) {
            news.push(self.event("tabs", &place.0, &place.1, &json!({"what": "closed", "id": place.1})));
        }
        news
    }

    fn console(&mut self) -> Vec<Value> {
        let mut records = Vec::new();
        {
            let store = self.desk.hub().recorder().store();
            for tab in store.tabs().filter(|tab| self.wish.wants(&tab.browser)) {
                let new = tab.console.iter().rev().take_while(|record| record.seq > self.console);
                records.extend(new.map(|record| (tab.browser.clone(), tab.target.clone(), record.clone())));
            }
        }
        records.sort_by_key(|(_, _, record)| record.seq);
        records.truncate(AT_ONCE);
        self.console = records.last().map_or(self.console, |(_, _, record)| record.seq);
        records
            .iter()
            .map(|(browser, target, record)| self.event("console", browser, target, &json!(record)))
            .collect()
    }

    fn network(&mut self) -> Vec<Value> {
        let mut records = Vec::new();
        {
            let store = self.desk.hub().recorder().store();
            for tab in store.tabs().filter(|tab| self.wish.wants(&tab.browser)) {
                let new = tab.network.iter().filter(|record| record.changed > self.network);
                records.extend(new.map(|record| (tab.browser.clone(), tab.target.clone(), record.clone())));
            }
        }
        records.sort_by_key(|(_, _, record)| record.changed);
        records.truncate(AT_ONCE);
        self.network = records.last().map_or(self.network, |(_, _, record)| record.changed);
        records.iter_mut().for_each(|(_, _, record)| redact::redact(record));
        records
            .iter()
            .map(|(browser, target, record)| self.event("network", browser, target, &json!(record)))
            .collect()
    }

    fn dialogs(&mut self) -> Vec<Value> {
        let open = self.desk.hub().recorder().dialogs().open();
        let new: Vec<_> = open
            .iter()
            .filter(|dialog| dialog.number > self.dialogs && self.wish.wants(&dialog.browser))
            .map(|dialog| {
                let data = json!({"kind": dialog.kind, "message": dialog.message});
                self.event("dialogs", &dialog.browser, &dialog.target, &data)
            })
            .collect();
        self.dialogs = open.iter().map(|dialog| dialog.number).max().unwrap_or(0).max(self.dialogs);
        new
    }

    async fn changes(&self) -> Vec<Value> {
        let watched = self.desk.ops.watched_changes(self.visitor.agent()).await;
        let wanted = watched.into_iter().filter(|watched| self.wish.wants(&watched.browser));
        wanted
            .map(|watched| {
                json!({"event": "dom", "browser": watched.browser, "tab": watched.tab, "data": {"changes": watched.changes}})
            })
            .collect()
    }
}
