//! Which commands are acts, worth a line in the audit, and who drives which tab by them. The same act of the same client
//! on the same tab is written once in a while only.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use bowline_wire::bidi::Asker;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::rules;
use crate::extension::acts::{Act, without_query};

const AGAIN: Duration = Duration::from_secs(10);
/// So many are remembered; beyond it, an act may be written twice.
const MOST: usize = 1000;

#[derive(Default)]
pub(super) struct Acts {
    pub(super) new: Vec<Act>,
    latest: HashMap<(u64, String, String), Instant>,
    /// Who has done something in which tab, by the tab's context.
    drivers: BTreeMap<String, BTreeMap<u64, String>>,
    /// As it was last told to the extension.
    told: String,
}

/// An act, or what would have been one.
pub(super) struct Deed<'a> {
    pub(super) asker: &'a Asker,
    /// The tab, and where it is.
    pub(super) tab: &'a str,
    pub(super) page: &'a str,
    pub(super) method: &'a str,
    pub(super) params: &'a Value,
    pub(super) refused: Option<&'a str>,
}

/// Whether a command does something to the page or the person, rather than look.
fn is_act(method: &str, params: &Value) -> bool {
    let (module, command) = method.split_once('.').unwrap_or_default();
    match module {
        "input" | "storage" => true,
        "browsingContext" => matches!(
            command,
            "navigate"
                | "reload"
                | "traverseHistory"
                | "close"
                | "create"
                | "handleUserPrompt"
                | "print"
                | "captureScreenshot"
        ),
        "script" => match command {
            // Asked of every tab whenever somebody lists them.
            "evaluate" => !rules::is_path(params["expression"].as_str().unwrap_or_default()),
            "callFunction" | "addPreloadScript" => true,
            _ => false,
        },
        "network" => matches!(command, "provideResponse" | "failRequest"),
        _ => false,
    }
}

fn shown(name: &str) -> &str {
    if name.is_empty() { "client" } else { name }
}

impl Acts {
    pub(super) fn note(&mut self, deed: &Deed<'_>, now: Instant) {
        let Deed { asker, tab, page, method, params, refused } = *deed;
        let is_act = is_act(method, params);
        if is_act && refused.is_none() && !tab.is_empty() {
            let clients = self.drivers.entry(tab.to_owned()).or_default();
            clients.insert(asker.client, shown(&asker.name).to_owned());
        }
        if !is_act && refused.is_none() {
            return;
        }
        let to = params["url"].as_str().filter(|_| method == "browsingContext.navigate").map(without_query);
        let key = (asker.client, tab.to_owned(), method.to_owned());
        let is_recent = self.latest.get(&key).is_some_and(|last| *last + AGAIN > now);
        if is_recent && to.is_none() && refused.is_none() {
            return;
        }
        if self.latest.len() >= MOST {
            self.latest.clear();
        }
        self.latest.insert(key, now);
        self.new.push(Act {
            client: shown(&asker.name).to_owned(),
            page: without_query(page),
            method: method.to_owned(),
            to,
            refused: refused.map(str::to_owned),
        });
    }

    pub(super) fn is_driven(&self, tab: &str) -> bool {
        self.drivers.contains_key(tab)
    }

    pub(super) fn client_left(&mut self, client: u64) {
        for clients in self.drivers.values_mut() {
            clients.remove(&client);
        }
        self.drivers.retain(|_, clients| !clients.is_empty());
    }

    pub(super) fn tab_went(&mut self, tab: &str) {
        self.drivers.remove(tab);
    }

    /// Somebody has left: what was only looked at is told by nothing else.
    pub(super) fn tell_again(&mut self) {
        if self.drivers.is_empty() {
            "nothing".clone_into(&mut self.told);
        }
    }

    /// Nothing that was told is known any more on the other side.
    pub(super) fn forget_told(&mut self) {
        self.told.clear();
    }

    /// Who drives which tab, if it is not what was told last.
    pub(super) fn drivers_to_tell(&mut self) -> Option<String> {
        let tabs = self.drivers.iter().map(|(context, clients)| {
            let mut names: Vec<&String> = clients.values().collect();
            names.dedup();
            json!({"context": context, "clients": names})
        });
        let drivers = json!({"tabs": tabs.collect::<Vec<_>>()}).to_string();
        if drivers == self.told || (self.told.is_empty() && self.drivers.is_empty()) {
            return None;
        }
        self.told = drivers.clone();
        Some(drivers)
    }
}
