//! What a tab logged and fetched, as resources: `bowline://BROWSER/TAB/console` and `.../network`.
//!
//! They are read from the recorder; no browser is started for them.

use bowline_hub::Hub;
use bowline_hub::recorder::record::{ConsoleRecord, NetworkRecord};
use bowline_hub::recorder::redact;
use rmcp::model::{Resource, ResourceTemplate};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::history::scope;
use crate::problem::Problem;

/// The actions that list and read them.
pub(crate) const LIST: &str = "resources";
pub(crate) const READ: &str = "resource";

const SCHEME: &str = "bowline://";
/// The latest so many of a tab are shown.
const MOST: usize = 500;
/// Of one line.
const LONGEST: usize = 1_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Console,
    Network,
}

impl Kind {
    const ALL: [Self; 2] = [Self::Console, Self::Network];

    fn as_str(self) -> &'static str {
        match self {
            Self::Console => "console",
            Self::Network => "network",
        }
    }

    fn about(self) -> &'static str {
        match self {
            Self::Console => "What the tab logged, and the errors it threw",
            Self::Network => "The requests of the tab: method, status, type, time, address",
        }
    }
}

/// A tab as it is listed.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Listed {
    browser: String,
    id: String,
    index: Option<usize>,
    url: String,
}

/// The open tabs of all browsers that are recorded.
pub(crate) async fn list(hub: &Hub) -> Value {
    let mut tabs = Vec::new();
    for browser in hub.browsers() {
        scope::refresh(hub, browser.name(), "").await;
        for tab in scope::listed(&hub.recorder().store(), browser.name(), false) {
            let url = tab.url.chars().filter(|c| !c.is_control()).take(200).collect();
            tabs.push(Listed { browser: tab.browser, id: tab.id, index: tab.index, url });
        }
    }
    json!(tabs)
}

/// The text of one, in the form of an op's output.
pub(crate) async fn read(hub: &Hub, payload: &Value) -> Result<Value, Problem> {
    let uri = payload["uri"].as_str().unwrap_or_default();
    let Some((browser, tab, kind)) = parse(uri) else { return Err(no_such(uri)) };
    let found = scope::of_tab(hub, &browser, &tab).await;
    let found = found.map_err(|failure| Problem::new(failure.code(), failure.message(), failure.hint()))?;
    let store = hub.recorder().store();
    let Some(tab) = found.tab(&store) else { return Err(no_such(uri)) };
    let (lines, total): (Vec<String>, usize) = match kind {
        Kind::Console => {
            let total = tab.console.len();
            (tab.console.iter().skip(total.saturating_sub(MOST)).map(console_line).collect(), total)
        }
        Kind::Network => {
            let total = tab.network.len();
            let latest = tab.network.iter().skip(total.saturating_sub(MOST)).cloned();
            let redacted = latest.map(|mut record| {
                redact::redact(&mut record);
                record
            });
            (redacted.map(|record| network_line(&record)).collect(), total)
        }
    };
    let mut text = lines.join("\n");
    if lines.is_empty() {
        text = "(nothing yet)".to_owned();
    } else if lines.len() < total {
        text = format!("(the latest {} of {total})\n{text}", lines.len());
    }
    let url = tab.pages.back().map(|page| page.url.clone()).unwrap_or_default();
    Ok(json!({"text": text, "page": url}))
}

fn console_line(record: &ConsoleRecord) -> String {
    let level = json!(record.level);
    let level = level.as_str().unwrap_or_default();
    let place = record.location.as_ref().filter(|place| !place.url.is_empty());
    let place = place.map(|place| format!(" ({}:{})", place.url, place.line_number + 1)).unwrap_or_default();
    format!("#{} {level} {}{place}", record.seq, cut(&record.text))
}

fn network_line(record: &NetworkRecord) -> String {
    let state = match (&record.failure, record.status) {
        (Some(failure), _) => {
            format!("failed ({})", json!(failure)["errorText"].as_str().unwrap_or("no answer"))
        }
        (None, Some(status)) => status.to_string(),
        (None, None) => "pending".to_owned(),
    };
    let time = record.duration.map(|time| format!(" {time:.0} ms")).unwrap_or_default();
    format!("#{} {} {state} {}{time} {}", record.seq, record.method, record.resource_type, cut(&record.url))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

fn no_such(uri: &str) -> Problem {
    let hint = "resources/list names them: bowline://BROWSER/TAB/console and /network";
    Problem::new("no_such_resource", format!("there is no resource `{uri}`"), hint)
}

fn parse(uri: &str) -> Option<(String, String, Kind)> {
    let mut parts = uri.strip_prefix(SCHEME)?.split('/');
    let (browser, tab, kind) = (parts.next()?, parts.next()?, parts.next()?);
    let kind = Kind::ALL.into_iter().find(|known| known.as_str() == kind)?;
    let is_whole = parts.next().is_none() && !browser.is_empty() && !tab.is_empty();
    is_whole.then(|| (browser.to_owned(), tab.to_owned(), kind))
}

pub(super) fn uri(browser: &str, tab: &str, kind: &str) -> String {
    format!("{SCHEME}{browser}/{tab}/{kind}")
}

/// As MCP lists them.
pub(super) fn listed(tabs: Vec<Listed>) -> Vec<Resource> {
    let of_tab = |tab: Listed| {
        Kind::ALL.map(|kind| {
            let number = tab.index.map_or_else(|| "-".to_owned(), |index| index.to_string());
            let name = format!("{} of tab {number} of {}", kind.as_str(), tab.browser);
            Resource::new(uri(&tab.browser, &tab.id, kind.as_str()), name)
                .with_description(format!("{}: {}", kind.about(), tab.url))
                .with_mime_type("text/plain")
        })
    };
    tabs.into_iter().flat_map(of_tab).collect()
}

pub(super) fn templates() -> Vec<ResourceTemplate> {
    let template = |kind: Kind| {
        let about = format!("{}. `tab`: id, index, part of URL or title, or `current`", kind.about());
        ResourceTemplate::new(format!("{SCHEME}{{browser}}/{{tab}}/{}", kind.as_str()), kind.as_str())
            .with_description(about)
            .with_mime_type("text/plain")
    };
    Kind::ALL.map(template).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_addresses_of_ours_are_taken() {
        let parsed = parse("bowline://work/current/console");
        assert_eq!(parsed, Some(("work".to_owned(), "current".to_owned(), Kind::Console)));
        for uri in [
            "",
            "bowline://work/1",
            "bowline://work/1/body",
            "bowline://work/1/console/2",
            "bowline:///1/console",
            "file:///etc/passwd",
        ] {
            assert_eq!(parse(uri), None, "{uri}");
        }
        assert!(parse(&uri("work", "AB", "network")).is_some());
    }
}
