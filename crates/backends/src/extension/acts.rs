//! Which commands are acts, worth a line in the audit. The same act of the same client on the same tab is
//! written once in a while only.

use std::collections::HashMap;
use std::time::Duration;

use bowline_wire::relay::TabId;
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::machine::Machine;
use super::session::SessionKey;

const AGAIN: Duration = Duration::from_secs(10);
/// So many are remembered; beyond it, an act may be written twice.
const MOST: usize = 1000;

/// A line for the audit.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Act {
    pub(super) client: String,
    pub(super) page: String,
    pub(super) method: String,
    pub(super) to: Option<String>,
    pub(super) refused: Option<String>,
}

#[derive(Default)]
pub(super) struct Acts {
    pub(super) new: Vec<Act>,
    latest: HashMap<(SessionKey, TabId, String), Instant>,
}

/// Whether a command does something to the page or the person, rather than look.
fn is_act(method: &str) -> bool {
    let (domain, command) = method.split_once('.').unwrap_or_default();
    match domain {
        "Input" => command.starts_with("dispatch") || command == "insertText",
        "Page" => matches!(
            command,
            "navigate"
                | "reload"
                | "navigateToHistoryEntry"
                | "close"
                | "handleJavaScriptDialog"
                | "printToPDF"
                | "captureScreenshot"
        ),
        "Runtime" => matches!(command, "evaluate" | "callFunctionOn" | "runScript"),
        "Storage" | "Network" => {
            command.contains("Cookie") || command == "loadNetworkResource" || command.starts_with("clear")
        }
        "DOM" => {
            command == "setFileInputFiles" || command.starts_with("set") || command.starts_with("remove")
        }
        "Target" => matches!(command, "createTarget" | "closeTarget"),
        "Fetch" => command == "fulfillRequest",
        _ => false,
    }
}

/// An address without what may hold secrets.
pub(super) fn without_query(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = url.split_once("://").map_or(("", url), |(scheme, rest)| (scheme, rest));
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or_default();
    let separator = if scheme.is_empty() { "" } else { "://" };
    format!("{scheme}{separator}{host}{path}").chars().take(200).collect()
}

impl Machine {
    /// Notes an act, or that it was refused.
    pub(super) fn note(
        &mut self,
        session: &SessionKey,
        tab: Option<TabId>,
        method: &str,
        params: Option<&str>,
        refused: Option<&str>,
    ) {
        if refused.is_none() && !is_act(method) {
            return;
        }
        let Some(own) = self.sessions.get(session) else { return };
        let root = own.root.clone();
        let to = if matches!(method, "Page.navigate" | "Target.createTarget") {
            let fields: Map<String, Value> =
                params.and_then(|params| serde_json::from_str(params).ok()).unwrap_or_default();
            let url = fields.get("destination").or(fields.get("url")).and_then(Value::as_str);
            url.map(without_query)
        } else {
            None
        };
        let key = (root.clone(), tab.unwrap_or_default(), method.to_owned());
        let is_recent = self.acts.latest.get(&key).is_some_and(|last| *last + AGAIN > self.now);
        if is_recent && to.is_none() && refused.is_none() {
            return;
        }
        if self.acts.latest.len() >= MOST {
            self.acts.latest.clear();
        }
        self.acts.latest.insert(key, self.now);
        let label = self.sessions.get(&root).map_or("", |root| root.label.as_str());
        let client = if label.is_empty() { if own.is_own { "bowline" } else { "client" } } else { label };
        let page = tab.and_then(|tab| self.tabs.get(&tab)).map(|tab| without_query(&tab.info.url));
        self.acts.new.push(Act {
            client: client.to_owned(),
            page: page.unwrap_or_default(),
            method: method.to_owned(),
            to,
            refused: refused.map(str::to_owned),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_is_no_act() {
        for method in [
            "Page.navigate",
            "Input.dispatchKeyEvent",
            "Storage.getCookies",
            "DOM.setFileInputFiles",
            "Target.createTarget",
        ] {
            assert!(is_act(method), "{method}");
        }
        for method in ["Page.enable", "DOM.getDocument", "Network.enable", "Runtime.getProperties"] {
            assert!(!is_act(method), "{method}");
        }
        assert_eq!(without_query("https://a.test/x?token=1#y"), "https://a.test/x");
        assert_eq!(without_query("https://me:secret@a.test/x"), "https://a.test/x");
        assert_eq!(without_query("about:blank"), "about:blank");
    }
}
