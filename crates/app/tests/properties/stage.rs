//! One hub and one scripted Chrome that most properties play on, and what they say there.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use proptest::test_runner::TestCaseError;
use serde_json::{Value, json};

use crate::hub::{Connected, Home, Hub};
use crate::peer::Peer;
use crate::runner::{SOON, until};

/// A Chrome that a hub watches. One tab of it stays open throughout: what is said there comes after all
/// that was said before, in whichever tab, so when the hub has it, it has everything.
pub(crate) struct Watched {
    pub(crate) peer: Peer,
    anchor: Connected,
    last: AtomicU64,
}

impl Watched {
    pub(crate) fn by(hub: &Hub) -> Self {
        let peer = Peer::start();
        let tab = peer.open_tab();
        let anchor = hub.connect(&peer, &tab).expect("a connection");
        Self { peer, anchor, last: AtomicU64::new(0) }
    }

    /// The name that the hub gave it.
    pub(crate) fn browser(&self) -> &str {
        &self.anchor.browser
    }

    pub(crate) fn anchor(&self) -> &Connected {
        &self.anchor
    }

    /// A new tab, connected to.
    pub(crate) fn tab(&self, hub: &Hub) -> Result<Connected, TestCaseError> {
        let tab = self.peer.open_tab();
        hub.connect(&self.peer, &tab)
    }

    /// Waits until the hub has taken in all that was said.
    pub(crate) fn settle(&self, hub: &Hub) -> Result<(), TestCaseError> {
        let mark = format!("mark {}", self.last.fetch_add(1, Ordering::Relaxed));
        self.peer.emit(&self.anchor.tab, "Runtime.consoleAPICalled", logged("log", &[string(&mark)]));
        let path = format!("/api/console/{}?max=1", self.anchor.id);
        until("what was said is known", SOON, || {
            let data = hub.data(&path).ok()?;
            (data["messages"][0]["text"] == mark.as_str()).then_some(())
        })
    }
}

/// A hub and the Chrome that it watches.
pub(crate) struct Stage {
    pub(crate) hub: Hub,
    pub(crate) chrome: Watched,
}

impl Stage {
    pub(crate) fn new(home: Home) -> Self {
        let hub = Hub::start(home);
        let chrome = Watched::by(&hub);
        Self { hub, chrome }
    }

    pub(crate) fn tab(&self) -> Result<Connected, TestCaseError> {
        self.chrome.tab(&self.hub)
    }

    pub(crate) fn settle(&self) -> Result<(), TestCaseError> {
        self.chrome.settle(&self.hub)
    }

    pub(crate) fn log(&self, tab: &str, text: &str) {
        self.chrome.peer.emit(tab, "Runtime.consoleAPICalled", logged("log", &[string(text)]));
    }

    /// Leaves nothing of a tab for the next case.
    pub(crate) fn clean_up(&self, tab: &Connected) -> Result<(), TestCaseError> {
        self.hub.delete(&format!("/api/connection/{}", tab.id))?;
        self.chrome.peer.close_tab(&tab.tab);
        Ok(())
    }
}

/// Milliseconds since 1970, and never the same twice: Chrome's clock is finer than two calls are apart.
pub(crate) fn now() -> f64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_micros() as u64);
    let later = |last: u64| Some(now.max(last + 1));
    let last = LAST.fetch_update(Ordering::Relaxed, Ordering::Relaxed, later).unwrap_or(now);
    now.max(last + 1) as f64 / 1000.0
}

pub(crate) fn string(text: &str) -> Value {
    json!({"type": "string", "value": text})
}

/// Parameters of `Runtime.consoleAPICalled`.
pub(crate) fn logged(kind: &str, args: &[Value]) -> Value {
    json!({"type": kind, "args": args, "executionContextId": 1, "timestamp": now()})
}

/// Parameters of `Network.requestWillBeSent` for a request of which nothing else matters.
pub(crate) fn sent(id: &str, url: &str) -> Value {
    json!({
        "requestId": id, "loaderId": "L", "documentURL": url,
        "request": {"url": url, "method": "GET", "headers": {}},
        "timestamp": 1.0, "wallTime": now() / 1000.0, "initiator": {"type": "other"}, "type": "Fetch",
    })
}

/// The texts of a console history, in order.
pub(crate) fn texts(history: &Value) -> Vec<String> {
    let messages = history["messages"].as_array().into_iter().flatten();
    messages.map(|message| message["text"].as_str().unwrap_or_default().to_owned()).collect()
}
