//! `Target.*` of every session, as Chromium answers it: discovery, attaching, and new tabs.

use bowline_wire::relay::TabId;
use bowline_wire::reply;
use serde::Deserialize;
use serde_json::{Value, json};

use super::machine::{INVALID_PARAMS, Machine, Then};
use super::node::{Node, NodeId, Phase};
use super::out::LINK;
use super::policy;
use super::session::{AutoAttach, Filter, Place, Session, SessionKey};
use super::tabs::{CONTEXT, around};

/// The browser's own target.
const BROWSER: &str = "B0000000000000000000000000000000";

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Params {
    discover: bool,
    auto_attach: bool,
    wait_for_debugger_on_start: bool,
    filter: Option<Filter>,
    target_id: Option<String>,
    session_id: Option<String>,
    /// Of the hub's router: one of its own clients, and what it calls itself.
    own: bool,
    client: String,
}

impl Machine {
    pub(super) fn target_command(
        &mut self,
        session: &SessionKey,
        place: Place,
        id: i32,
        method: &str,
        params: Option<&str>,
    ) {
        let wish: Params = match serde_json::from_str(params.unwrap_or("{}")) {
            Ok(wish) => wish,
            Err(error) => {
                return self.out.fail(session, id, INVALID_PARAMS, &format!("Invalid parameters: {error}"));
            }
        };
        match method {
            "Target.setDiscoverTargets" => self.discover(session, id, wish),
            "Target.setAutoAttach" => self.set_auto_attach(session, place, id, wish),
            "Target.getTargets" => {
                let filter = wish.filter.unwrap_or_default();
                let takes = |info: &Value| filter.takes(info["type"].as_str().unwrap_or_default());
                let all: Vec<Value> = self.all_targets().into_iter().filter(takes).collect();
                self.out.reply_value(session, id, &json!({"targetInfos": all}));
            }
            "Target.getTargetInfo" => self.target_info(session, place, id, wish.target_id),
            "Target.attachToTarget" => self.attach_to_target(session, id, wish.target_id),
            "Target.attachToBrowserTarget" => {
                let key = self.new_session_key();
                let is_new_client = session.as_ref() == LINK;
                let (root, is_own) = match self.sessions.get(session) {
                    Some(parent) if !is_new_client => (parent.root.clone(), parent.is_own),
                    _ => (key.clone(), wish.own),
                };
                let mut new = Session::new(Place::Browser, session.clone(), root, is_own);
                new.label = wish.client;
                self.sessions.insert(key.clone(), new);
                self.out.reply_value(session, id, &json!({"sessionId": *key}));
            }
            "Target.detachFromTarget" => match self.own_session(session, wish.session_id.as_deref()) {
                Some(gone) => {
                    self.end_session(&gone, true);
                    self.out.reply(session, id, "{}");
                }
                None => self.out.fail(session, id, INVALID_PARAMS, "No session with given id"),
            },
            "Target.createTarget" => self.create_target(session, id, params),
            "Target.closeTarget" => match self.known(wish.target_id.as_deref()) {
                Some((tab, _)) if !self.policy.read_only => {
                    self.note(session, Some(tab), method, params, None);
                    let then = Then::Done { session: session.clone(), id, result: r#"{"success":true}"# };
                    self.ask("closeTab", &json!({"tabId": tab}).to_string(), then);
                }
                Some(_) => self.refuse_reading(session, id, method),
                None => self.no_target(session, id),
            },
            "Target.activateTarget" => match self.known(wish.target_id.as_deref()) {
                Some((tab, _)) => {
                    let then = Then::Done { session: session.clone(), id, result: "{}" };
                    self.ask("activateTab", &json!({"tabId": tab}).to_string(), then);
                }
                None => self.no_target(session, id),
            },
            // Chrome never lists the default one, and there is no other.
            "Target.getBrowserContexts" => {
                self.out.reply_value(session, id, &json!({"browserContextIds": [], "defaultBrowserContextId": CONTEXT}));
            }
            "Target.setRemoteLocations" => self.out.reply(session, id, "{}"),
            "Target.createBrowserContext" | "Target.disposeBrowserContext" => self.out.fail(
                session,
                id,
                reply::SERVER_ERROR,
                "Not possible in the person's own browser: an extension cannot make or dispose of browser contexts. Use the default context, or a launched browser.",
            ),
            _ => self.not_found(session, id, method),
        }
    }

    fn refuse_reading(&mut self, session: &str, id: i32, method: &str) {
        if let Some(reason) =
            policy::refused_command(&self.policy, "", &method.replace("Target.", "Page."), None)
        {
            self.out.fail(session, id, reply::SERVER_ERROR, &reason);
        }
    }

    pub(super) fn no_target(&mut self, session: &str, id: i32) {
        self.out.fail(session, id, INVALID_PARAMS, "No target with given id found");
    }

    /// A session that `caller` may end: one of its own client's. The hub may end any.
    fn own_session(&self, caller: &SessionKey, named: Option<&str>) -> Option<SessionKey> {
        let (key, session) = self.sessions.get_key_value(named?).filter(|(key, _)| key.as_ref() != LINK)?;
        let of_caller = &self.sessions.get(caller)?.root;
        let may = caller.as_ref() == LINK || (session.root == *of_caller && key != of_caller);
        may.then(|| key.clone())
    }

    fn known(&self, target: Option<&str>) -> Option<(TabId, bool)> {
        self.tab_of_target(target?)
    }

    fn discover(&mut self, session: &SessionKey, id: i32, wish: Params) {
        let filter = wish.filter.unwrap_or_default();
        let before = self
            .sessions
            .get_mut(session)
            .and_then(|own| std::mem::replace(&mut own.discover, wish.discover.then(|| filter.clone())));
        if wish.discover {
            for info in self.all_targets() {
                let kind = info["type"].as_str().unwrap_or_default();
                let is_news = !before.as_ref().is_some_and(|before| before.takes(kind));
                if filter.takes(kind) && is_news {
                    self.out.event_value(session, "Target.targetCreated", &json!({"targetInfo": info}));
                }
            }
        }
        self.out.reply(session, id, "{}");
    }

    fn set_auto_attach(&mut self, session: &SessionKey, place: Place, id: i32, wish: Params) {
        let auto = wish.auto_attach.then(|| AutoAttach {
            waits: wish.wait_for_debugger_on_start,
            filter: wish.filter.unwrap_or_default(),
        });
        let Some(own) = self.sessions.get_mut(session) else { return };
        own.auto_attach.clone_from(&auto);
        match (place, auto) {
            (Place::Browser, Some(_)) => {
                let tabs: Vec<TabId> =
                    self.tabs.iter().filter(|(_, tab)| tab.is_announced).map(|(id, _)| *id).collect();
                for tab in tabs {
                    self.auto_attach_tab(session, tab);
                }
                self.offer_workers();
            }
            (Place::Tab(tab), Some(auto)) if auto.filter.takes("page") => self.auto_attach_page(session, tab),
            (Place::Node(node), _) => return self.auto_attach_below(session, node, id),
            (_, None) => {
                for child in self.keys(|child| child.parent == *session && child.place != Place::Browser) {
                    self.end_session(&child, true);
                }
            }
            _ => {}
        }
        self.out.reply(session, id, "{}");
    }

    /// Attaches a root that wishes so to a tab: to its page, or to the tab around it.
    pub(super) fn auto_attach_tab(&mut self, root: &SessionKey, tab: TabId) {
        let Some((own, target)) = self.sessions.get(root).zip(self.tabs.get(&tab)) else { return };
        let Some(auto) = &own.auto_attach else { return };
        let is_cancelled = self.sessions.get(&own.root).is_some_and(|root| root.is_cancelled);
        if is_cancelled && !target.info.chosen {
            return;
        }
        let (takes_tab, takes_page) = (auto.filter.takes("tab"), auto.filter.takes("page"));
        if takes_tab {
            let is_there = |child: &Session| child.parent == *root && child.place == Place::Tab(tab);
            if !self.sessions.values().any(is_there) {
                let info = self.tab_info(target);
                self.open_session(root, Place::Tab(tab), &info, false);
            }
        }
        if takes_page {
            self.auto_attach_page(root, tab);
        }
    }

    fn auto_attach_page(&mut self, parent: &SessionKey, tab: TabId) {
        let Some(target) = self.tabs.get(&tab) else { return };
        let place = Place::Node(target.node);
        if self.sessions.values().any(|child| child.parent == *parent && child.place == place) {
            return;
        }
        let info = self.page_info(target);
        self.open_session(parent, place, &info, false);
    }

    /// A new session of a client, announced on `parent`.
    pub(super) fn open_session(
        &mut self,
        parent: &SessionKey,
        place: Place,
        info: &Value,
        waits: bool,
    ) -> SessionKey {
        let key = self.new_session_key();
        let (root, is_own) = match self.sessions.get(parent) {
            Some(above) if parent.as_ref() != LINK => (above.root.clone(), above.is_own),
            _ => (key.clone(), false),
        };
        self.sessions.insert(key.clone(), Session::new(place, parent.clone(), root, is_own));
        if let Place::Node(node) = place
            && let Some(node) = self.nodes.get_mut(&node)
        {
            node.sessions.push(key.clone());
            if waits {
                node.waiting.insert(key.clone());
            }
        }
        let mut info = info.clone();
        info["attached"] = json!(true);
        let params = json!({"sessionId": *key, "targetInfo": info, "waitingForDebugger": waits});
        self.out.event_value(parent, "Target.attachedToTarget", &params);
        key
    }

    fn attach_to_target(&mut self, session: &SessionKey, id: i32, target: Option<String>) {
        let Some(target) = target else { return self.no_target(session, id) };
        if target == BROWSER {
            let (root, is_own) = self
                .sessions
                .get(session)
                .map_or((session.clone(), false), |own| (own.root.clone(), own.is_own));
            let key = self.new_session_key();
            self.sessions.insert(key.clone(), Session::new(Place::Browser, session.clone(), root, is_own));
            return self.out.reply_value(session, id, &json!({"sessionId": *key}));
        }
        let found = match self.tab_of_target(&target) {
            Some((tab, is_around)) => self.tabs.get(&tab).map(|known| match is_around {
                true => (Place::Tab(tab), self.tab_info(known)),
                false => (Place::Node(known.node), self.page_info(known)),
            }),
            None => {
                let fits = |node: &Node| node.child.is_some() && node.target == target && self.may_see(node);
                let below = self.nodes.iter().find(|(_, node)| fits(node));
                below.map(|(id, node)| (Place::Node(*id), self.node_info(node)))
            }
        };
        let Some((place, info)) = found else { return self.no_target(session, id) };
        let key = self.open_session(session, place, &info, false);
        self.out.reply_value(session, id, &json!({"sessionId": *key}));
    }

    fn target_info(&mut self, session: &SessionKey, place: Place, id: i32, target: Option<String>) {
        let info = match (target, place) {
            (None, Place::Node(node)) => self.nodes.get(&node).map(|node| self.node_info(node)),
            (None, Place::Tab(tab)) => self.tabs.get(&tab).map(|tab| self.tab_info(tab)),
            (None, Place::Browser) => Some(browser_target()),
            (Some(target), _) if target == BROWSER => Some(browser_target()),
            (Some(target), _) => {
                self.all_targets().into_iter().find(|info| info["targetId"].as_str() == Some(target.as_str()))
            }
        };
        match info {
            Some(info) => self.out.reply_value(session, id, &json!({"targetInfo": info})),
            None => self.no_target(session, id),
        }
    }

    /// A session ends, and those below it; what it had set is undone.
    pub(super) fn end_session(&mut self, key: &SessionKey, is_told: bool) {
        for child in self.keys(|child| child.parent == *key) {
            if child != *key {
                self.end_session(&child, false);
            }
        }
        let Some(session) = self.sessions.remove(key) else { return };
        let target = match session.place {
            Place::Browser => BROWSER.to_owned(),
            Place::Tab(tab) => self.tabs.get(&tab).map(|tab| around(&tab.info.target_id)).unwrap_or_default(),
            Place::Node(node) => self.nodes.get(&node).map(|node| node.target.clone()).unwrap_or_default(),
        };
        if is_told && (self.sessions.contains_key(&session.parent)) {
            let params = json!({"sessionId": **key, "targetId": target});
            self.out.event_value(&session.parent, "Target.detachedFromTarget", &params);
        }
        if let Place::Node(node) = session.place {
            self.left(key, node, session);
        }
    }

    /// Sends a command of the browser's session to some page, where the browser takes it too.
    pub(super) fn on_any_tab(&mut self, session: &SessionKey, id: i32, method: &str, params: Option<&str>) {
        let checked = match policy::readable(&self.policy, method, params) {
            Ok(checked) => checked,
            Err(reason) => return self.out.fail(session, id, INVALID_PARAMS, &reason),
        };
        let params = checked.as_deref().or(params);
        let refused = policy::refused_command(&self.policy, "", method, params);
        let refused = refused.or_else(|| self.cancelled_text(session));
        self.note(session, None, method, params, refused.as_deref());
        if let Some(reason) = refused {
            return self.out.fail(session, id, reply::SERVER_ERROR, &reason);
        }
        let root = self.sessions.get(session).map(|own| own.root.clone());
        let is_mine = |node: NodeId| {
            self.nodes.get(&node).is_some_and(|node| {
                node.sessions
                    .iter()
                    .any(|key| self.sessions.get(key).is_some_and(|own| Some(&own.root) == root.as_ref()))
            })
        };
        // A trace ends where it began, and its stream is read there.
        let is_traced = |node: NodeId| {
            !method.starts_with("Storage.")
                && self.nodes.get(&node).is_some_and(|node| node.tracing.as_ref() == Some(session))
        };
        // A page shows its own process in a trace, so the client's newest is taken, though it be still attaching; the rest
        // is the same on every page, and goes where nothing has to be waited for.
        let is_trace = method == "Tracing.start";
        let rank = |tab: &super::tabs::Tab| {
            let phase = self.nodes.get(&tab.node).map_or(Phase::Idle, |node| node.phase);
            let is_at_hand = phase == Phase::Ready || (is_trace && phase != Phase::Idle);
            (is_traced(tab.node), is_at_hand, is_mine(tab.node), tab.is_agents, tab.info.tab_id)
        };
        let suitable =
            self.tabs.values().filter(|tab| tab.is_announced && super::tabs::is_debuggable(&tab.info.url));
        let Some(node) = suitable.max_by_key(|tab| rank(tab)).map(|tab| tab.node) else {
            let message =
                format!("{method} needs a tab that can be driven, and there is none: open a page first");
            return self.out.fail(session, id, reply::SERVER_ERROR, &message);
        };
        // There is but one context, and a page does not take its name.
        let params =
            params.map(|params| match serde_json::from_str::<serde_json::Map<String, Value>>(params) {
                Ok(mut map) => {
                    map.remove("browserContextId");
                    Value::Object(map).to_string()
                }
                Err(_) => params.to_owned(),
            });
        if self.nodes.get(&node).is_some_and(|node| node.phase == Phase::Ready) {
            let session = session.clone();
            let then = if method == "Tracing.start" {
                Then::Traced { session, id }
            } else {
                Then::Answer { session, id }
            };
            self.send(node, method, params.as_deref().unwrap_or("{}"), then);
        } else {
            let waiting =
                super::node::Queued { session: session.clone(), id, method: method.to_owned(), params };
            if let Some(node) = self.nodes.get_mut(&node) {
                node.queue.push_back(waiting);
            }
            self.attach(node);
        }
    }
}

fn browser_target() -> Value {
    json!({"targetId": BROWSER, "type": "browser", "title": "", "url": "", "attached": true, "canAccessOpener": false})
}
