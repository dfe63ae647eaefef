//! Frames of other sites and workers: sessions below a tab's. The browser has one of each; every client that
//! attaches to what is below gets its own.

use bowline_wire::TargetId;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::attach::SETUP;
use super::machine::{Alarm, Machine, Then};
use super::node::{Node, NodeId, Phase};
use super::policy;
use super::session::{Place, SessionKey};

const SERVICE_WORKER: &str = "service_worker";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Came {
    session_id: String,
    target_info: Map<String, Value>,
    #[serde(default)]
    waiting_for_debugger: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Went {
    session_id: String,
}

impl Machine {
    pub(super) fn child_event(&mut self, parent: NodeId, method: &str, params: &str) {
        match method {
            "Target.attachedToTarget" => match serde_json::from_str(params) {
                Ok(came) => self.child_came(parent, came),
                Err(error) => tracing::warn!(%error, "a target of the browser cannot be read; dropped"),
            },
            "Target.detachedFromTarget" => {
                if let Ok(Went { session_id }) = serde_json::from_str(params)
                    && let Some(node) = self.children.get(&session_id).copied()
                {
                    self.remove_child(node);
                }
            }
            "Target.targetInfoChanged" => {
                #[derive(Deserialize)]
                #[serde(rename_all = "camelCase")]
                struct Changed {
                    target_info: Map<String, Value>,
                }
                let Ok(Changed { target_info }) = serde_json::from_str(params) else { return };
                let id = target_info.get("targetId").and_then(Value::as_str).unwrap_or_default();
                let below = self.nodes.values_mut().find(|node| node.child.is_some() && node.target == id);
                if let Some(node) = below {
                    node.info = target_info;
                    self.hide_children();
                }
            }
            _ => {}
        }
    }

    fn child_came(&mut self, parent: NodeId, came: Came) {
        let Came { session_id, target_info, waiting_for_debugger } = came;
        let text = |name: &str| target_info.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (target, kind) = (text("targetId"), text("type"));
        let Some(above) = self.nodes.get(&parent) else { return };
        let mut node = Node::new(above.tab, &target);
        node.child = Some(session_id.clone());
        node.parent = Some(parent);
        node.kind.clone_from(&kind);
        node.info = target_info;
        node.is_held = waiting_for_debugger;
        let has_page = matches!(kind.as_str(), "iframe" | "page");
        node.phase = if has_page { Phase::Attaching } else { Phase::Ready };
        node.is_open = !has_page;
        node.outstanding = 1;
        node.early = has_page.then(Vec::new);
        let info = {
            let mut info = Value::Object(node.info.clone());
            info["browserContextId"] = json!(super::tabs::CONTEXT);
            info
        };
        let node = self.new_node(node);
        self.children.insert(session_id, node);
        self.tell_discoverers("Target.targetCreated", &info, &json!({"targetInfo": info}));
        let is_allowed = self.nodes.get(&node).is_some_and(|real| self.may_see(real));
        let takers: Vec<(SessionKey, bool)> = self
            .on_node(parent)
            .filter(|_| is_allowed)
            .filter_map(|(key, session)| {
                let auto = session.auto_attach.as_ref().filter(|auto| auto.filter.takes(&kind))?;
                Some((key.clone(), auto.waits && waiting_for_debugger))
            })
            .collect();
        for (key, waits) in takers {
            self.open_session(&key, Place::Node(node), &info, waits);
        }
        self.offer_at_root(node);
        if has_page {
            self.alarm(SETUP, Alarm::Setup(node, 0));
            self.send(node, "Page.enable", "{}", Then::Ignore);
            self.send(node, "Page.getFrameTree", "{}", Then::Tree);
        }
        self.release_if_nobody_waits(node);
    }

    /// A service worker is no page's own: clients know it at the browser, once however many pages it serves.
    fn offer_at_root(&mut self, node: NodeId) {
        let Some(real) =
            self.nodes.get(&node).filter(|real| real.kind == SERVICE_WORKER && self.may_see(real))
        else {
            return;
        };
        let (target, is_held, info) = (real.target.clone(), real.is_held, self.node_info(real));
        let roots = self.keys(|session| {
            session.place == Place::Browser
                && session.auto_attach.as_ref().is_some_and(|auto| auto.filter.takes(SERVICE_WORKER))
        });
        for root in roots {
            let is_there = self.sessions.values().any(|session| {
                session.parent == root
                    && matches!(session.place, Place::Node(at) if self.nodes.get(&at).is_some_and(|at| at.target == target))
            });
            let waits = self
                .sessions
                .get(&root)
                .and_then(|root| root.auto_attach.as_ref())
                .is_some_and(|auto| auto.waits);
            if !is_there {
                self.open_session(&root, Place::Node(node), &info, waits && is_held);
            }
        }
    }

    /// The service workers that are there, for a client that has just come.
    pub(super) fn offer_workers(&mut self) {
        let mut workers: Vec<NodeId> =
            self.nodes.iter().filter(|(_, real)| real.kind == SERVICE_WORKER).map(|(id, _)| *id).collect();
        workers.sort_unstable();
        for worker in workers {
            self.offer_at_root(worker);
        }
    }

    /// Whether clients may see what is below a tab: what is embedded from elsewhere is for agents no more than a tab
    /// with it.
    pub(super) fn may_see(&self, node: &Node) -> bool {
        let url = node.info.get("url").and_then(Value::as_str).unwrap_or_default();
        !policy::is_locked(&self.policy) || policy::allows_page(&self.policy, url, true)
    }

    /// Ends the sessions on what clients may no longer see.
    pub(super) fn hide_children(&mut self) {
        let hidden: Vec<SessionKey> = self
            .nodes
            .values()
            .filter(|node| node.child.is_some() && !self.may_see(node))
            .flat_map(|node| node.sessions.clone())
            .collect();
        for session in hidden {
            self.end_session(&session, true);
        }
    }

    fn release_if_nobody_waits(&mut self, node: NodeId) {
        let Some(real) = self.nodes.get_mut(&node) else { return };
        if real.is_held && real.waiting.is_empty() {
            real.is_held = false;
            self.send(node, "Runtime.runIfWaitingForDebugger", "{}", Then::Ignore);
        }
    }

    /// A session wants to be attached to what is below it, or no longer.
    pub(super) fn auto_attach_below(&mut self, key: &SessionKey, node: NodeId, id: i32) {
        let auto = self.sessions.get(key).and_then(|session| session.auto_attach.clone());
        match auto {
            Some(auto) => {
                let below: Vec<(NodeId, Value)> = self
                    .nodes
                    .iter()
                    .filter(|(_, child)| {
                        child.parent == Some(node) && auto.filter.takes(&child.kind) && self.may_see(child)
                    })
                    .map(|(id, child)| (*id, self.node_info(child)))
                    .collect();
                for (child, info) in below {
                    let is_there = self
                        .on_node(child)
                        .any(|(_, session)| session.parent == *key && session.place == Place::Node(child));
                    if !is_there {
                        self.open_session(key, Place::Node(child), &info, false);
                    }
                }
            }
            None => {
                for child in self.keys(|session| session.parent == *key) {
                    self.end_session(&child, true);
                }
            }
        }
        self.apply_auto_attach(node);
        self.out.reply(key, id, "{}");
    }

    /// Lets the browser attach to what is below, as all clients together want it.
    pub(super) fn apply_auto_attach(&mut self, node: NodeId) {
        let mut wanted = None;
        for (_, session) in self.on_node(node) {
            if let Some(auto) = &session.auto_attach {
                wanted = Some(wanted.unwrap_or(false) || auto.waits);
            }
        }
        let Some(real) = self.nodes.get_mut(&node).filter(|real| real.is_open) else { return };
        if real.auto_attach == wanted {
            return;
        }
        real.auto_attach = wanted;
        let params = json!({
            "autoAttach": wanted.is_some(), "waitForDebuggerOnStart": wanted.unwrap_or(false), "flatten": true,
        });
        self.send(node, "Target.setAutoAttach", &params.to_string(), Then::Ignore);
    }

    pub(super) fn remove_children(&mut self, parent: NodeId) {
        let below: Vec<NodeId> =
            self.nodes.iter().filter(|(_, node)| node.parent == Some(parent)).map(|(id, _)| *id).collect();
        for child in below {
            self.remove_child(child);
        }
    }

    fn remove_child(&mut self, node: NodeId) {
        self.remove_children(node);
        let Some(real) = self.nodes.get_mut(&node) else { return };
        // Nothing is undone in what is no more.
        real.phase = Phase::Idle;
        let (sessions, target) = (real.sessions.clone(), TargetId::new(real.target.as_str()));
        if let Some(child) = real.child.clone() {
            self.children.remove(&child);
        }
        let kind = json!({"type": real.kind});
        for session in sessions {
            self.end_session(&session, true);
        }
        self.drop_pending(node, "Target closed");
        let was_worker = kind["type"] == SERVICE_WORKER;
        self.nodes.remove(&node);
        if was_worker {
            // Another page may have it too.
            self.offer_workers();
        }
        self.tell_discoverers("Target.targetDestroyed", &kind, &json!({"targetId": target}));
    }
}
