//! What clients are told of a tab that is not attached: a frame with its real id, and execution contexts that
//! will stand for real ones.

use bowline_wire::relay::TabId;
use serde_json::{Map, Value, json};

use super::machine::Machine;
use super::node::{NodeId, Phase};
use super::session::{Promised, SessionKey};
use super::wishes::{Rule, rule};
use bowline_wire::origins::origin;

impl Machine {
    /// A tab without debugger went somewhere, as far as the browser's own tab list tells.
    pub(super) fn idle_tab_changed(&mut self, tab: TabId, has_moved: bool, status_before: &str) {
        self.return_to(tab);
        let Some(known) = self.tabs.get(&tab) else { return };
        let (node, is_complete) = (known.node, known.info.status == "complete");
        let Some(real) = self.nodes.get(&node).filter(|real| real.phase == Phase::Idle) else { return };
        for key in real.sessions.clone() {
            let Some(session) = self.sessions.get_mut(&key) else { continue };
            if session.is_own {
                continue;
            }
            if has_moved {
                session.promised.clear();
                let hears_page = session.hears("Page") && session.knows_frames;
                if session.hears("Runtime") {
                    self.out.event(&key, "Runtime.executionContextsCleared", "{}");
                }
                if hears_page {
                    let params = json!({"frame": self.idle_frame(node), "type": "Navigation"});
                    self.out.event_value(&key, "Page.frameNavigated", &params);
                }
                if self.sessions.get(&key).is_some_and(|session| session.hears("Runtime")) {
                    self.promise_contexts(&key, node);
                }
            }
            if (has_moved || status_before != "complete") && is_complete {
                self.promise_lifecycle(&key, node);
            }
        }
    }

    /// `Page.Frame` of a tab that is not attached.
    pub(super) fn idle_frame(&self, node: NodeId) -> Value {
        let Some(real) = self.nodes.get(&node) else { return json!({}) };
        let url = self.tabs.get(&real.tab).map(|tab| tab.info.url.as_str()).unwrap_or_default();
        let (url, fragment) =
            url.split_once('#').map_or((url, None), |(url, fragment)| (url, Some(fragment)));
        let is_secure = url.starts_with("https:");
        let mut frame = json!({
            "id": real.target, "loaderId": self.idle_loader(node), "url": url, "domainAndRegistry": "",
            "securityOrigin": origin(url), "mimeType": "text/html",
            "adFrameStatus": {"adFrameType": "none"},
            "secureContextType": if is_secure { "Secure" } else { "InsecureScheme" },
            "crossOriginIsolatedContextType": "NotIsolated", "gatedAPIFeatures": [],
        });
        if let Some(fragment) = fragment {
            frame["urlFragment"] = json!(format!("#{fragment}"));
        }
        frame
    }

    /// A loader's id that changes with the address, as long as the browser's own is not known.
    fn idle_loader(&self, node: NodeId) -> String {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        if let Some(real) = self.nodes.get(&node) {
            real.target.hash(&mut hasher);
            self.tabs.get(&real.tab).map(|tab| &tab.info.url).hash(&mut hasher);
        }
        format!("{:016X}{:016X}", self.salt, hasher.finish())
    }

    /// Tells a session of the execution contexts that a tab has, before it is attached: after a navigation also
    /// those of its own worlds.
    pub(super) fn promise_contexts(&mut self, key: &SessionKey, node: NodeId) {
        let Some(session) = self.sessions.get(key) else { return };
        let Some(frame) = self.nodes.get(&node).map(|real| real.target.clone()) else { return };
        let mut worlds = vec![(String::new(), true)];
        for wish in &session.wishes {
            if matches!(rule(&wish.method), Some(Rule::Script)) {
                let params: Map<String, Value> = serde_json::from_str(&wish.params).unwrap_or_default();
                let name = params.get("worldName").and_then(Value::as_str).filter(|name| !name.is_empty());
                worlds.extend(name.map(|name| (name.to_owned(), false)));
            }
        }
        for (name, is_default) in worlds {
            self.promise(key, node, &frame, &name, is_default);
        }
    }

    /// A session begins to listen to a tab that is not attached.
    pub(super) fn tell_promised(&mut self, key: &SessionKey, node: NodeId) {
        let Some(session) = self.sessions.get(key).filter(|session| !session.is_own) else { return };
        for Promised { id, frame, name, is_default, .. } in session.promised.clone() {
            let params = self.promised_context(node, id, &frame, &name, is_default);
            self.out.event_value(key, "Runtime.executionContextCreated", &params);
        }
        if let Some(frame) = self.nodes.get(&node).map(|real| real.target.clone()) {
            self.promise(key, node, &frame, "", true);
        }
    }

    /// One context; the same one again if it is promised already.
    pub(super) fn promise(
        &mut self,
        key: &SessionKey,
        node: NodeId,
        frame: &str,
        name: &str,
        is_default: bool,
    ) -> i64 {
        let next = self.next_context();
        let Some(session) = self.sessions.get_mut(key) else { return next };
        let same =
            |known: &&Promised| known.frame == frame && known.name == name && known.is_default == is_default;
        if let Some(known) = session.promised.iter().find(same) {
            return known.id;
        }
        let (frame, name) = (frame.to_owned(), name.to_owned());
        let is_heard = session.hears("Runtime");
        session.promised.push(Promised {
            id: next,
            frame: frame.clone(),
            name: name.clone(),
            is_default,
            real: None,
        });
        if is_heard {
            let params = self.promised_context(node, next, &frame, &name, is_default);
            self.out.event_value(key, "Runtime.executionContextCreated", &params);
        }
        next
    }

    fn promised_context(&self, node: NodeId, id: i64, frame: &str, name: &str, is_default: bool) -> Value {
        let tab = self.nodes.get(&node).and_then(|real| self.tabs.get(&real.tab));
        let url = tab.map(|tab| tab.info.url.as_str()).unwrap_or_default();
        let kind = if is_default { "default" } else { "isolated" };
        json!({"context": {
            "id": id, "origin": origin(url), "name": name, "uniqueId": format!("{id}.{id}"),
            "auxData": {"isDefault": is_default, "type": kind, "frameId": frame},
        }})
    }

    /// Tells a session how far the page of a tab has got, before it is attached.
    pub(super) fn promise_lifecycle(&mut self, key: &SessionKey, node: NodeId) {
        if !self.sessions.get(key).is_some_and(|session| session.lifecycle) {
            return;
        }
        let Some(real) = self.nodes.get(&node) else { return };
        let is_complete = self.tabs.get(&real.tab).is_some_and(|tab| tab.info.status == "complete");
        let (frame, loader) = (real.target.clone(), self.idle_loader(node));
        let names: &[&str] = if is_complete {
            &["commit", "DOMContentLoaded", "load", "networkAlmostIdle", "networkIdle"]
        } else {
            &["commit"]
        };
        for name in names {
            let params = json!({"frameId": frame, "loaderId": loader, "name": name, "timestamp": 0.0});
            self.out.event_value(key, "Page.lifecycleEvent", &params);
        }
    }
}
