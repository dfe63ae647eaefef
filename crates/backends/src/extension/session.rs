//! A client's session on a target: what it has asked for, and what it has been told.

use std::collections::HashSet;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::fetch::Interest;
use super::node::NodeId;
use super::wishes::{Rule, Wish};
use bowline_wire::relay::TabId;

pub(super) type SessionKey = Arc<str>;

/// What a session is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Browser,
    /// The `tab` target around a page, which Puppeteer asks for.
    Tab(TabId),
    Node(NodeId),
}

pub(super) struct Session {
    pub(super) place: Place,
    /// The session on which this one was announced.
    pub(super) parent: SessionKey,
    /// The client's session on the browser, or on the one page it is for.
    pub(super) root: SessionKey,
    /// The hub's own: it records, and never attaches a tab by being there.
    pub(super) is_own: bool,
    /// What the client calls itself; on its root.
    pub(super) label: String,
    /// Its person cancelled; it drives nothing until asked again. On its root.
    pub(super) is_cancelled: bool,
    pub(super) discover: Option<Filter>,
    pub(super) auto_attach: Option<AutoAttach>,
    /// The domains whose events it gets.
    pub(super) enabled: HashSet<String>,
    /// The domains it has sent commands of, for events of those that are not enabled.
    pub(super) touched: HashSet<String>,
    /// What it has set, in order, to be applied whenever the tab is attached.
    pub(super) wishes: Vec<Wish>,
    pub(super) lifecycle: bool,
    pub(super) bindings: HashSet<String>,
    pub(super) interest: Option<Interest>,
    /// Execution contexts that it was told of before the tab was attached.
    pub(super) promised: Vec<Promised>,
    /// It has been told a frame tree; later frames must be announced to it.
    pub(super) knows_frames: bool,
    /// It has sent a command that needs the tab.
    pub(super) drives: bool,
    /// When it last did.
    pub(super) last_use: Instant,
    pub(super) downloads: Option<DownloadBehavior>,
    pub(super) last_script: u32,
}

/// An execution context that a client knows under an id of ours.
#[derive(Debug, Clone)]
pub(super) struct Promised {
    pub(super) id: i64,
    pub(super) frame: String,
    pub(super) name: String,
    pub(super) is_default: bool,
    pub(super) real: Option<i64>,
}

#[derive(Debug, Clone)]
pub(super) struct AutoAttach {
    pub(super) waits: bool,
    pub(super) filter: Filter,
}

/// Chromium's target filter: the first entry that fits decides.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Filter(Vec<FilterEntry>);

#[derive(Debug, Clone, Deserialize)]
struct FilterEntry {
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    exclude: bool,
}

impl Default for Filter {
    fn default() -> Self {
        let without = |kind: &str| FilterEntry { kind: Some(kind.to_owned()), exclude: true };
        Self(vec![without("browser"), without("tab"), FilterEntry { kind: None, exclude: false }])
    }
}

impl Filter {
    pub(super) fn takes(&self, kind: &str) -> bool {
        let fits = |entry: &&FilterEntry| entry.kind.as_deref().is_none_or(|wanted| wanted == kind);
        self.0.iter().find(fits).is_some_and(|entry| !entry.exclude)
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct DownloadBehavior {
    pub(super) behavior: String,
    pub(super) download_path: Option<String>,
    pub(super) events_enabled: bool,
}

/// What has become of a wish.
pub(super) struct Kept {
    pub(super) key: String,
    /// What was there before under the same key.
    pub(super) removed: Option<Wish>,
}

const SCRIPT: &str = "script:";
const BINDING: &str = "binding:";

/// The identifier of an init script, as its client knows it.
pub(super) fn script_of(wish: &str) -> &str {
    wish.trim_start_matches(SCRIPT)
}

/// The name of a binding.
pub(super) fn binding_of(wish: &str) -> &str {
    wish.trim_start_matches(BINDING)
}

impl Session {
    pub(super) fn new(place: Place, parent: SessionKey, root: SessionKey, is_own: bool) -> Self {
        Self {
            place,
            parent,
            root,
            is_own,
            label: String::new(),
            is_cancelled: false,
            discover: None,
            auto_attach: None,
            enabled: HashSet::new(),
            touched: HashSet::new(),
            wishes: Vec::new(),
            lifecycle: false,
            bindings: HashSet::new(),
            interest: None,
            promised: Vec::new(),
            knows_frames: false,
            drives: false,
            last_use: Instant::now(),
            downloads: None,
            last_script: 0,
        }
    }

    /// Keeps what a command sets, or forgets what it takes back.
    pub(super) fn keep(&mut self, rule: Rule, method: &str, params: &str, serial: u64) -> Kept {
        let fields: Map<String, Value> = serde_json::from_str(params).unwrap_or_default();
        let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let domain = method.split('.').next().unwrap_or_default();
        let mut key = method.to_owned();
        let mut is_kept = true;
        match rule {
            Rule::Enable => drop(self.enabled.insert(domain.to_owned())),
            Rule::Disable => {
                self.enabled.remove(domain);
                key = format!("{domain}.enable");
                is_kept = false;
            }
            Rule::Set { key: setting, .. } => setting.clone_into(&mut key),
            Rule::Clear { key: setting } => {
                setting.clone_into(&mut key);
                is_kept = false;
            }
            Rule::Script => {
                self.last_script += 1;
                key = format!("{SCRIPT}{}", self.last_script);
            }
            Rule::RemoveScript => {
                key = format!("{SCRIPT}{}", text("identifier"));
                is_kept = false;
            }
            Rule::Binding => {
                self.bindings.insert(text("name"));
                key = format!("{BINDING}{}", text("name"));
            }
            Rule::RemoveBinding => {
                self.bindings.remove(&text("name"));
                key = format!("{BINDING}{}", text("name"));
                is_kept = false;
            }
            Rule::Lifecycle => self.lifecycle = fields.get("enabled").and_then(Value::as_bool) == Some(true),
            Rule::FetchEnable => self.interest = serde_json::from_str(params).ok(),
            Rule::FetchDisable => {
                self.interest = None;
                "Fetch.enable".clone_into(&mut key);
                is_kept = false;
            }
            Rule::World | Rule::FrameTree | Rule::Release => return Kept { key, removed: None },
        }
        let before = self.wishes.iter().position(|wish| wish.key == key);
        let removed = before.map(|at| self.wishes.remove(at));
        if is_kept {
            let (method, params) = (method.to_owned(), params.to_owned());
            self.wishes.push(Wish { key: key.clone(), method, params, serial, real: None });
        }
        Kept { key, removed }
    }

    pub(super) fn hears(&self, domain: &str) -> bool {
        self.enabled.contains(domain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_entry_that_fits_decides() {
        let filter: Filter = serde_json::from_str(r#"[{"type":"page","exclude":true},{}]"#).unwrap();
        assert!(filter.takes("tab") && !filter.takes("page"));
        let pages: Filter = serde_json::from_str(r#"[{"type":"page"}]"#).unwrap();
        assert!(pages.takes("page") && !pages.takes("worker"));
        assert!(Filter::default().takes("page") && !Filter::default().takes("tab"));
    }
}
