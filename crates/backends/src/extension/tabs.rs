//! The tabs: what the extension tells of them, which of them clients may see, and how those are announced.

use std::collections::HashSet;

use bowline_wire::relay::{
    self, Mode, Policy, TabCreated, TabDetached, TabId, TabRef, TabReplaced, TabUpdated,
};
use serde_json::{Value, json};

use super::machine::{Machine, Then};
use super::node::{Node, NodeId, Phase};
use super::policy;
use super::session::{Place, SessionKey};

/// The browser context of every tab. Chrome never lists the default one, but every target names it.
pub(super) const CONTEXT: &str = "B0B0B0B0B0B0B0B0B0B0B0B0B0B0B0B0";

pub(super) struct Tab {
    pub(super) info: relay::Tab,
    pub(super) node: NodeId,
    /// Clients have been told of it.
    pub(super) is_announced: bool,
    /// A client made it, or a page that a client drives.
    pub(super) is_agents: bool,
    pub(super) opener: Option<String>,
    pub(super) can_access_opener: bool,
    /// It was driven when it went to a page that cannot be; to be attached again when it comes back.
    pub(super) returns: bool,
    /// Where a blank one is on its way to, if that is known.
    pub(super) bound_for: Option<String>,
}

/// Pages that the browser lets no extension debug.
pub(super) fn is_debuggable(url: &str) -> bool {
    let scheme = url.split(':').next().unwrap_or_default().to_ascii_lowercase();
    if url.starts_with("https://chromewebstore.google.com/")
        || url.starts_with("https://chrome.google.com/webstore")
    {
        return false;
    }
    url.is_empty()
        || matches!(scheme.as_str(), "http" | "https" | "file" | "about" | "data" | "blob" | "filesystem")
}

/// The id of the `tab` target around a page: every digit turned round, so that it is another id and can be
/// turned back.
pub(super) fn around(target: &str) -> String {
    let turn = |c: char| c.to_digit(16).and_then(|digit| char::from_digit(15 - digit, 16)).unwrap_or(c);
    target.chars().map(|c| turn(c).to_ascii_uppercase()).collect()
}

impl Machine {
    /// An event of the extension.
    pub(super) fn told(&mut self, method: &str, params: &str) {
        macro_rules! read {
            () => {
                match serde_json::from_str(params) {
                    Ok(params) => params,
                    Err(error) => {
                        tracing::warn!(%error, method, "an event of the extension cannot be read; dropped");
                        return;
                    }
                }
            };
        }
        match method {
            "cdpEvent" => {
                let event: relay::CdpEvent<'_> = read!();
                let node = match event.child_session_id.as_deref() {
                    Some(child) => self.children.get(child).copied(),
                    None => self.tabs.get(&event.tab_id).map(|tab| tab.node),
                };
                if let Some(node) = node {
                    let params = event.params.map_or("{}", serde_json::value::RawValue::get);
                    self.page_event(node, &event.method, params);
                }
            }
            "state" => self.take_state(read!()),
            "policy" => {
                let was_read_only = self.policy.read_only;
                let policy: Policy = read!();
                self.policy = Policy { sites: std::mem::take(&mut self.policy.sites), ..policy };
                if self.policy.read_only && !was_read_only {
                    self.take_hands_off();
                }
                self.refresh_all();
                self.hide_children();
                self.watch_documents();
            }
            "tabCreated" => {
                let TabCreated { tab, opener } = read!();
                let bound_for = opener.as_ref().map(|opener| opener.url.clone());
                let opener = opener.map(|opener| opener.tab_id).or(tab.opener_tab_id);
                self.tab_came(tab, opener, bound_for);
            }
            "tabUpdated" => self.tab_updated(read!()),
            "tabRemoved" => {
                let TabRef { tab_id } = read!();
                self.tab_went(tab_id);
            }
            "tabReplaced" => {
                let TabReplaced { tab_id, replaced, target_id } = read!();
                self.tab_replaced(tab_id, replaced, target_id);
            }
            "tabDetached" => {
                let TabDetached { tab_id, reason } = read!();
                self.tab_detached(tab_id, &reason);
            }
            "canceled" => self.cancelled(),
            "resumed" => self.resumed(),
            "pong" => {}
            other => {
                tracing::debug!(method = other, "an event of the extension that this version does not know")
            }
        }
    }

    /// All there is: at the beginning, and after the extension's worker was restarted.
    fn take_state(&mut self, state: relay::State) {
        self.policy = Policy { sites: std::mem::take(&mut self.policy.sites), ..state.policy };
        if state.dropped > 0 {
            tracing::warn!(
                events = state.dropped,
                "the extension had no room for events while it was not connected"
            );
        }
        let is_first = !std::mem::replace(&mut self.is_known, true);
        let present: HashSet<TabId> = state.tabs.iter().map(|tab| tab.tab_id).collect();
        let gone: Vec<TabId> = self.tabs.keys().filter(|tab| !present.contains(tab)).copied().collect();
        for tab in gone {
            self.tab_went(tab);
        }
        for tab in state.tabs {
            let (id, attached) = (tab.tab_id, tab.attached);
            match self.tabs.get(&id) {
                Some(known) => {
                    let node = known.node;
                    let was_attached = self.nodes.get(&node).is_some_and(|node| node.phase != Phase::Idle);
                    self.tab_updated(TabUpdated {
                        tab_id: id,
                        target_id: Some(tab.target_id.clone()),
                        url: Some(tab.url.clone()),
                        title: Some(tab.title.clone()),
                        status: Some(tab.status.clone()),
                        chosen: Some(tab.chosen),
                        discarded: Some(tab.discarded),
                        ..TabUpdated::default()
                    });
                    if was_attached && attached && state.dropped > 0 {
                        // What it was told may be wrong by now; begun anew, everything is told again.
                        self.ask("detachTab", &json!({"tabId": id}).to_string(), Then::Ignore);
                    }
                    if !was_attached && attached {
                        self.ask("detachTab", &json!({"tabId": id}).to_string(), Then::Ignore);
                    }
                    if was_attached && (!attached || state.dropped > 0) {
                        self.tab_detached(id, "worker");
                    }
                }
                None => {
                    let opener = tab.opener_tab_id.filter(|_| !is_first);
                    self.tab_came(tab, opener, None);
                    if attached {
                        // Of an earlier hub; nobody here knows what was set on it.
                        self.ask("detachTab", &json!({"tabId": id}).to_string(), Then::Ignore);
                    }
                }
            }
        }
        self.tell_drivers();
    }

    pub(super) fn tab_came(&mut self, tab: relay::Tab, opener: Option<TabId>, bound_for: Option<String>) {
        // Made by a command whose answer came first.
        if self.tabs.contains_key(&tab.tab_id) {
            return;
        }
        let id = tab.tab_id;
        let node = self.new_node(Node::new(id, &tab.target_id));
        let from = opener.and_then(|opener| self.tabs.get(&opener));
        let is_driven =
            from.is_some_and(|from| self.nodes.get(&from.node).is_some_and(|node| node.phase != Phase::Idle));
        let opener = from.filter(|_| is_driven).map(|from| from.info.target_id.clone());
        let tab = Tab {
            info: tab,
            node,
            is_announced: false,
            is_agents: is_driven,
            can_access_opener: opener.is_some(),
            opener,
            returns: false,
            bound_for,
        };
        self.tabs.insert(id, tab);
        self.refresh(id);
        if is_driven && self.tabs.get(&id).is_some_and(|tab| tab.is_announced) {
            // As much as possible of what a popup does at its beginning is to be seen.
            self.attach_unasked(node);
        }
    }

    pub(super) fn tab_updated(&mut self, change: TabUpdated) {
        let Some(tab) = self.tabs.get_mut(&change.tab_id) else { return };
        let node = tab.node;
        let before = (tab.info.url.clone(), tab.info.title.clone(), tab.info.status.clone());
        if let Some(target) =
            change.target_id.filter(|target| !target.is_empty() && *target != tab.info.target_id)
        {
            let had_one = !tab.info.target_id.is_empty();
            if had_one && tab.is_announced {
                self.retract(change.tab_id);
            }
            if let Some(tab) = self.tabs.get_mut(&change.tab_id) {
                tab.info.target_id.clone_from(&target);
            }
            if let Some(node) = self.nodes.get_mut(&node) {
                node.target = target;
            }
        }
        let Some(tab) = self.tabs.get_mut(&change.tab_id) else { return };
        if change.url.as_deref().is_some_and(|url| !policy::is_blank(url)) {
            tab.bound_for = None;
        }
        let info = &mut tab.info;
        let set = |field: &mut String, value: Option<String>| {
            if let Some(value) = value {
                *field = value;
            }
        };
        set(&mut info.url, change.url);
        set(&mut info.title, change.title);
        set(&mut info.status, change.status);
        info.window_id = change.window_id.unwrap_or(info.window_id);
        info.index = change.index.unwrap_or(info.index);
        info.active = change.active.unwrap_or(info.active);
        info.discarded = change.discarded.unwrap_or(info.discarded);
        info.frozen = change.frozen.unwrap_or(info.frozen);
        info.chosen = change.chosen.unwrap_or(info.chosen);
        let after = (info.url.clone(), info.title.clone(), info.status.clone());
        let was_announced = tab.is_announced;
        if change.active.is_some() {
            self.light(node);
        }
        self.refresh(change.tab_id);
        if before == after || !was_announced {
            return;
        }
        if before.0 != after.0 || before.1 != after.1 {
            self.info_changed(change.tab_id);
        }
        if self.nodes.get(&node).is_some_and(|node| node.phase == Phase::Idle) {
            self.idle_tab_changed(change.tab_id, before.0 != after.0, &before.2);
        }
    }

    pub(super) fn tab_went(&mut self, id: TabId) {
        self.retract(id);
        let Some(tab) = self.tabs.remove(&id) else { return };
        self.remove_children(tab.node);
        self.drop_pending(tab.node, "Target closed");
        self.nodes.remove(&tab.node);
        self.drivers_changed = true;
    }

    /// The browser has put another page in the place of a tab: it has a new number.
    fn tab_replaced(&mut self, new: TabId, old: TabId, target: String) {
        self.tabs.remove(&new);
        let Some(mut tab) = self.tabs.remove(&old) else { return };
        let node = tab.node;
        tab.info.tab_id = new;
        self.tabs.insert(new, tab);
        if let Some(node) = self.nodes.get_mut(&node) {
            node.tab = new;
        }
        for session in self.sessions.values_mut() {
            if session.place == Place::Tab(old) {
                session.place = Place::Tab(new);
            }
        }
        self.fall_idle(node);
        self.tab_updated(TabUpdated { tab_id: new, target_id: Some(target), ..TabUpdated::default() });
    }

    /// The person lets agents only read from now on: what they have set up to act is gone.
    fn take_hands_off(&mut self) {
        for session in self.sessions.values_mut() {
            session.interest = None;
            session.bindings.clear();
            let policy = &self.policy;
            session.wishes.retain(|wish| {
                policy::refused_command(policy, "", &wish.method, Some(&wish.params)).is_none()
            });
        }
        let attached: Vec<TabId> = self
            .tabs
            .iter()
            .filter(|(_, tab)| self.nodes.get(&tab.node).is_some_and(|node| node.phase != Phase::Idle))
            .map(|(id, _)| *id)
            .collect();
        for tab in attached {
            self.let_go(tab);
        }
    }

    pub(super) fn refresh_all(&mut self) {
        let ids: Vec<TabId> = self.tabs.keys().copied().collect();
        for id in ids {
            self.refresh(id);
        }
    }

    /// Announces or retracts a tab, if what clients may see has changed.
    pub(super) fn refresh(&mut self, id: TabId) {
        let Some(tab) = self.tabs.get(&id) else { return };
        let info = &tab.info;
        // A tab that clients know stays, also on a page that cannot be driven: it may come back.
        let is_suitable =
            !info.target_id.is_empty() && !info.incognito && (tab.is_announced || is_debuggable(&info.url));
        let is_chosen = self.policy.mode == Mode::Auto || info.chosen || tab.is_agents;
        let url = tab.bound_for.as_deref().filter(|_| policy::is_blank(&info.url)).unwrap_or(&info.url);
        let is_allowed = policy::allows_page(&self.policy, url, tab.is_agents);
        match (is_suitable && is_chosen && is_allowed, tab.is_announced) {
            (true, false) => self.announce(id),
            (false, true) => self.retract(id),
            _ => {}
        }
    }

    pub(super) fn page_info(&self, tab: &Tab) -> Value {
        let attached = self.nodes.get(&tab.node).is_some_and(|node| !node.sessions.is_empty());
        let mut info = json!({
            "targetId": tab.info.target_id, "type": "page", "title": tab.info.title, "url": tab.info.url,
            "attached": attached, "canAccessOpener": tab.can_access_opener, "browserContextId": CONTEXT,
        });
        if let Some(opener) = &tab.opener {
            info["openerId"] = json!(opener);
        }
        info
    }

    pub(super) fn tab_info(&self, tab: &Tab) -> Value {
        let mut info = self.page_info(tab);
        info["targetId"] = json!(around(&tab.info.target_id));
        info["type"] = json!("tab");
        info
    }

    /// `TargetInfo` of a frame or worker.
    pub(super) fn node_info(&self, node: &Node) -> Value {
        if node.child.is_none() {
            return self.tabs.get(&node.tab).map(|tab| self.page_info(tab)).unwrap_or_default();
        }
        let mut info = Value::Object(node.info.clone());
        info["attached"] = json!(true);
        info["browserContextId"] = json!(CONTEXT);
        info
    }

    /// Every target that clients may see.
    pub(super) fn all_targets(&self) -> Vec<Value> {
        let mut all = Vec::new();
        for tab in self.tabs.values().filter(|tab| tab.is_announced) {
            all.push(self.tab_info(tab));
            all.push(self.page_info(tab));
        }
        let mut below: Vec<(&NodeId, &Node)> =
            self.nodes.iter().filter(|(_, node)| node.child.is_some()).collect();
        below.sort_unstable_by_key(|(id, _)| **id);
        let visible = below.into_iter().filter(|(_, node)| self.may_see(node));
        all.extend(visible.map(|(_, node)| self.node_info(node)));
        all
    }

    pub(super) fn tab_of_target(&self, target: &str) -> Option<(TabId, bool)> {
        let visible = self.tabs.iter().filter(|(_, tab)| tab.is_announced);
        let other = around(target);
        visible
            .map(|(id, tab)| (*id, tab.info.target_id.as_str()))
            .find(|(_, known)| *known == target || *known == other)
            .map(|(id, known)| (id, known != target))
    }

    /// Tells those who discover targets.
    pub(super) fn tell_discoverers(&mut self, method: &str, info: &Value, params: &Value) {
        let kind = info["type"].as_str().unwrap_or_default();
        for (key, session) in &self.sessions {
            if session.discover.as_ref().is_some_and(|filter| filter.takes(kind)) {
                self.out.event_value(key, method, params);
            }
        }
    }

    fn announce(&mut self, id: TabId) {
        let Some(tab) = self.tabs.get_mut(&id) else { return };
        tab.is_announced = true;
        let Some(tab) = self.tabs.get(&id) else { return };
        for info in [self.tab_info(tab), self.page_info(tab)] {
            self.tell_discoverers("Target.targetCreated", &info, &json!({"targetInfo": info}));
        }
        let roots = self.keys(|session| session.place == Place::Browser && session.auto_attach.is_some());
        for root in roots {
            self.auto_attach_tab(&root, id);
        }
    }

    /// Sessions that fit, oldest first.
    pub(super) fn keys(&self, fits: impl Fn(&super::session::Session) -> bool) -> Vec<SessionKey> {
        let mut keys: Vec<SessionKey> =
            self.sessions.iter().filter(|(_, session)| fits(session)).map(|(key, _)| key.clone()).collect();
        keys.sort_unstable();
        keys
    }

    /// Clients see the tab no more.
    pub(super) fn retract(&mut self, id: TabId) {
        let Some(tab) = self.tabs.get_mut(&id).filter(|tab| tab.is_announced) else { return };
        tab.is_announced = false;
        let (target, node) = (tab.info.target_id.clone(), tab.node);
        let sessions = self.nodes.get(&node).map(|node| node.sessions.clone()).unwrap_or_default();
        for session in sessions {
            self.end_session(&session, true);
        }
        for session in self.keys(|session| session.place == Place::Tab(id)) {
            self.end_session(&session, true);
        }
        for (kind, target) in [("page", target.clone()), ("tab", around(&target))] {
            let params = json!({"targetId": target});
            self.tell_discoverers("Target.targetDestroyed", &json!({"type": kind}), &params);
        }
        if self.nodes.get(&node).is_some_and(|node| node.phase != Phase::Idle) {
            self.let_go(id);
        }
    }

    pub(super) fn info_changed(&mut self, id: TabId) {
        let Some(tab) = self.tabs.get(&id).filter(|tab| tab.is_announced) else { return };
        for info in [self.tab_info(tab), self.page_info(tab)] {
            self.tell_discoverers("Target.targetInfoChanged", &info, &json!({"targetInfo": info}));
        }
    }

    /// Tells the extension who drives which tab, if that has changed.
    pub(super) fn tell_drivers(&mut self) {
        self.drivers_changed = false;
        let mut tabs = Vec::new();
        for (id, tab) in &self.tabs {
            let Some(node) = self.nodes.get(&tab.node).filter(|node| node.phase != Phase::Idle) else {
                continue;
            };
            let mut clients: Vec<&str> = Vec::new();
            for key in &node.sessions {
                let Some(session) = self.sessions.get(key).filter(|session| session.drives) else { continue };
                let label = self.sessions.get(&session.root).map_or("", |root| root.label.as_str());
                let label =
                    if label.is_empty() { if session.is_own { "bowline" } else { "client" } } else { label };
                if !clients.contains(&label) {
                    clients.push(label);
                }
            }
            tabs.push(json!({"tabId": id, "clients": clients}));
        }
        let params = json!({"tabs": tabs}).to_string();
        if params != self.told_drivers {
            self.out.ask(None, "drivers", &params);
            self.told_drivers = params;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tab_around_a_page_has_an_id_of_its_own() {
        let page = "0123456789ABCDEF0123456789ABCDEF";
        assert_eq!(around(page), "FEDCBA9876543210FEDCBA9876543210");
        assert_eq!(around(&around(page)), page);
    }

    #[test]
    fn some_pages_are_the_browsers_own() {
        assert!(is_debuggable("https://example.com/") && is_debuggable("about:blank"));
        assert!(!is_debuggable("chrome://settings") && !is_debuggable("chrome-extension://abc/x.html"));
        assert!(!is_debuggable("https://chromewebstore.google.com/detail/x"));
    }
}
