//! A tab between not attached and attached. What clients are told before is kept true afterwards: the page's
//! frame has its real id from the beginning, and execution contexts that were promised stand for real ones.

use std::time::Duration;

use bowline_wire::relay::{Attached, TabId};
use bowline_wire::reply;
use bytes::Bytes;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::frames::Frames;
use super::keep::Call;
use super::machine::{Alarm, Machine, Refusal, Then};
use super::node::{NodeId, Phase};
use super::policy;
use super::session::{Promised, SessionKey};
use super::tabs::is_debuggable;
use super::wishes::rule;

/// How long a tab that nobody drives any more keeps its debugger: a client may come back at once.
const LET_GO: Duration = Duration::from_secs(5);
/// How long commands wait for a page that does not answer what is asked at the beginning (a frozen tab).
pub(super) const SETUP: Duration = Duration::from_secs(5);

/// A tab that is driven draws and takes input as if it were in front, and the person's own tab stays there.
pub(super) const FOCUS: &str = "Emulation.setFocusEmulationEnabled";

/// An attachment that is under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attaching {
    node: NodeId,
    attachment: u32,
    /// What stands in its way may be moved once.
    is_first: bool,
}

impl Machine {
    /// Puts the debugger on a tab, if it is not there or coming, because somebody asked for something on it.
    pub(super) fn attach(&mut self, node: NodeId) {
        let is_idle = self.nodes.get(&node).is_some_and(|real| real.phase == Phase::Idle);
        if is_idle {
            let resume = std::mem::take(&mut self.policy.paused);
            self.attach_as(node, resume);
        }
    }

    /// The same without being asked; not after a cancel.
    pub(super) fn attach_unasked(&mut self, node: NodeId) {
        if !self.policy.paused {
            self.attach_as(node, false);
        }
    }

    fn attach_as(&mut self, node: NodeId, resume: bool) {
        let Some(real) =
            self.nodes.get_mut(&node).filter(|real| real.phase == Phase::Idle && real.child.is_none())
        else {
            return;
        };
        real.phase = Phase::Attaching;
        // Attaching itself, until what was kept is applied.
        real.outstanding = 1;
        real.attachment += 1;
        let (tab, attachment) = (real.tab, real.attachment);
        let url = self.tabs.get(&tab).map(|tab| tab.info.url.as_str()).unwrap_or_default();
        real.promised_url = Some(url.split('#').next().unwrap_or_default().to_owned());
        self.alarm(SETUP, Alarm::Setup(node, attachment));
        self.ask_to_attach(Attaching { node, attachment, is_first: true }, resume);
    }

    fn ask_to_attach(&mut self, attaching: Attaching, resume: bool) {
        let Some(tab) = self.nodes.get(&attaching.node).map(|real| real.tab) else { return };
        let mut params = json!({"tabId": tab, "sessionId": format!("tab-{tab}")});
        if resume {
            params["resume"] = json!(true);
        }
        self.ask("attachTab", &params.to_string(), Then::Attach(attaching));
    }

    /// The tab of an attachment that is still under way.
    fn is_current(&self, attaching: Attaching) -> Option<TabId> {
        let real = self.nodes.get(&attaching.node)?;
        let is_current =
            real.attachment == attaching.attachment && real.phase != Phase::Idle && !real.is_open;
        is_current.then_some(real.tab)
    }

    pub(super) fn tab_attached(&mut self, attaching: Attaching, result: Result<&str, Refusal>) {
        let Some(tab) = self.is_current(attaching) else { return };
        let Attaching { node, is_first, .. } = attaching;
        let again = Attaching { is_first: false, ..attaching };
        match result {
            Ok(result) => {
                let attached: Attached = serde_json::from_str(result).unwrap_or_default();
                if attached.adopted && is_first {
                    // Left over from before; what is enabled on it would not be told again.
                    self.ask("detachTab", &json!({"tabId": tab}).to_string(), Then::Ignore);
                    return self.ask_to_attach(again, false);
                }
                if let Some(real) = self.nodes.get_mut(&node) {
                    if real.target.is_empty() {
                        real.target = attached.target_id;
                    }
                    real.early = Some(Vec::new());
                }
                self.send(node, "Page.enable", "{}", Then::Ignore);
                self.send(node, "Page.getFrameTree", "{}", Then::Tree);
                self.drivers_changed = true;
            }
            // A frame of another extension in the page keeps the debugger out.
            Err(error) if is_first && error.message.contains("chrome-extension://") => {
                self.ask("freeFrames", &json!({"tabId": tab}).to_string(), Then::Freed(again));
            }
            Err(error) => self.attach_failed(node, &error.message),
        }
    }

    pub(super) fn tab_freed(&mut self, attaching: Attaching, result: Result<&str, Refusal>) {
        match result {
            _ if self.is_current(attaching).is_none() => {}
            Ok(_) => self.ask_to_attach(attaching, false),
            Err(error) => self.attach_failed(attaching.node, &error.message),
        }
    }

    fn attach_failed(&mut self, node: NodeId, why: &str) {
        let Some(real) = self.nodes.get_mut(&node).filter(|real| real.phase != Phase::Idle && !real.is_open)
        else {
            return;
        };
        if real.child.is_some() {
            // Whatever it is, it is attached, and has no frames that could be known.
            real.is_open = true;
            real.early = None;
            return self.setup_step_done(node);
        }
        if real.phase == Phase::Ready {
            // It took so long that commands were sent already.
            return self.fall_idle(node);
        }
        real.phase = Phase::Idle;
        let queue = std::mem::take(&mut real.queue);
        let url = self.tabs.get(&real.tab).map(|tab| tab.info.url.clone()).unwrap_or_default();
        let message = format!("the tab at {url} cannot be driven: {why}");
        for waiting in queue {
            if self.sessions.contains_key(&waiting.session) {
                self.out.fail(&waiting.session, waiting.id, reply::SERVER_ERROR, &message);
            }
        }
    }

    /// Gives up every attachment that is under way.
    pub(super) fn put_down(&mut self, why: &str) {
        let under_way: Vec<NodeId> = self
            .nodes
            .iter()
            .filter(|(_, real)| real.phase != Phase::Idle && !real.is_open && real.child.is_none())
            .map(|(id, _)| *id)
            .collect();
        for node in under_way {
            self.attach_failed(node, why);
        }
    }

    /// The frames are known: tell them to those who were told of the main one only, then apply what was kept.
    pub(super) fn tree_told(&mut self, node: Option<NodeId>, result: Result<&str, Refusal>) {
        let Some(node) = node else { return };
        let text = match result {
            Ok(text) => text,
            Err(error) => return self.attach_failed(node, &error.message),
        };
        let Some(real) = self.nodes.get_mut(&node).filter(|real| real.early.is_some()) else { return };
        let tree = serde_json::from_str::<&RawValue>(text).ok().and_then(Frames::read);
        real.frames = tree.unwrap_or_default();
        for (method, params) in real.early.take().unwrap_or_default() {
            if let Ok(params) = serde_json::from_str::<&RawValue>(&params) {
                match method.as_str() {
                    "Page.frameAttached" => real.frames.attached(params),
                    "Page.frameDetached" => real.frames.detached(params),
                    "Page.frameNavigated" => drop(real.frames.navigated(params)),
                    _ => real.frames.moved_within_document(params),
                }
            }
        }
        let below: Vec<(Value, Option<Value>)> = real
            .frames
            .below()
            .map(|(id, parent, body)| {
                let attached = json!({"frameId": id, "parentFrameId": parent});
                (attached, body.map(|body| json!({"frame": body, "type": "Navigation"})))
            })
            .collect();
        let sessions = real.sessions.clone();
        let main = real.frames.main_body().cloned().unwrap_or_default();
        let url = main.get("url").and_then(Value::as_str).unwrap_or_default();
        // It may have gone elsewhere while it was being attached.
        let has_moved = real.promised_url.take().is_some_and(|promised| promised != url);
        for key in &sessions {
            let Some(session) = self.sessions.get_mut(key) else { continue };
            if has_moved && !session.promised.is_empty() {
                session.promised.clear();
                if session.hears("Runtime") {
                    self.out.event(key, "Runtime.executionContextsCleared", "{}");
                }
            }
            if !session.knows_frames || !session.hears("Page") {
                continue;
            }
            if has_moved {
                let params = json!({"frame": main, "type": "Navigation"});
                self.out.event_value(key, "Page.frameNavigated", &params);
            }
            for (attached, navigated) in &below {
                self.out.event_value(key, "Page.frameAttached", attached);
                if let Some(navigated) = navigated {
                    self.out.event_value(key, "Page.frameNavigated", navigated);
                }
            }
        }
        if let Some(real) = self.nodes.get_mut(&node) {
            real.enabled.entry("Page".to_owned()).or_default();
            real.is_open = true;
        }
        self.apply_auto_attach(node);
        if self.nodes.get(&node).is_some_and(|real| real.child.is_none()) {
            self.send(node, FOCUS, r#"{"enabled":true}"#, Then::Ignore);
            self.light(node);
        }
        if policy::is_locked(&self.policy) {
            self.intercept(node, Then::Ignore);
        }
        for key in sessions {
            self.apply_wishes(node, &key);
        }
        self.setup_step_done(node);
    }

    fn apply_wishes(&mut self, node: NodeId, key: &SessionKey) {
        let Some(session) = self.sessions.get(key) else { return };
        for wish in session.wishes.clone() {
            match rule(&wish.method) {
                Some(rule) => {
                    let (method, params) = (wish.method.as_str(), wish.params.as_str());
                    self.apply(Call { node, key, id: None, rule, method, params }, &wish.key);
                }
                None => self.send(node, &wish.method, &wish.params, Then::Ignore),
            }
        }
        let Some(session) = self.sessions.get(key) else { return };
        for Promised { id, frame, name, is_default, .. } in session.promised.clone() {
            if !is_default {
                let params =
                    json!({"frameId": frame, "worldName": name, "grantUniveralAccess": true}).to_string();
                let then = Then::World { session: key.clone(), id: None, promised: Some(id) };
                self.send(node, "Page.createIsolatedWorld", &params, then);
            }
        }
    }

    /// An answer to one of the commands of the beginning has come.
    pub(super) fn setup_step_done(&mut self, node: NodeId) {
        let Some(real) = self.nodes.get_mut(&node) else { return };
        real.outstanding = real.outstanding.saturating_sub(1);
        if real.outstanding == 0 && real.phase == Phase::Attaching {
            self.now_ready(node);
        }
    }

    pub(super) fn setup_took_too_long(&mut self, node: NodeId, attachment: u32) {
        let Some(real) = self.nodes.get(&node) else { return };
        if real.phase == Phase::Attaching && real.attachment == attachment {
            tracing::debug!(tab = real.tab, "the tab does not answer at once");
            self.now_ready(node);
        }
    }

    fn now_ready(&mut self, node: NodeId) {
        let Some(real) = self.nodes.get_mut(&node) else { return };
        real.phase = Phase::Ready;
        let queue = std::mem::take(&mut real.queue);
        if let Some(tab) = self.tabs.get_mut(&real.tab) {
            tab.returns = false;
        }
        for waiting in queue {
            self.again(&waiting.session, waiting.id, &waiting.method, waiting.params.as_deref());
        }
        self.schedule_detach(node);
    }

    /// The debugger is off a tab, not by our wish.
    pub(super) fn tab_detached(&mut self, tab: TabId, reason: &str) {
        let Some(known) = self.tabs.get_mut(&tab) else { return };
        let node = known.node;
        let was_driven = self.nodes.get(&node).is_some_and(|real| {
            real.phase != Phase::Idle
                && real
                    .sessions
                    .iter()
                    .any(|key| self.sessions.get(key).is_some_and(|session| session.drives))
        });
        // A page that cannot be debugged takes the debugger off; so does a restart of the extension.
        known.returns = was_driven && matches!(reason, "target_closed" | "worker");
        self.fall_idle(node);
        if matches!(reason, "by_user" | "canceled_by_user") {
            let sessions = self.nodes.get(&node).map(|real| real.sessions.clone()).unwrap_or_default();
            for session in sessions {
                if self.sessions.get(&session).is_some_and(|session| !session.is_own) {
                    self.end_session(&session, true);
                }
            }
        }
        self.return_to(tab);
    }

    /// Attaches a tab again that was driven before it went to a page that cannot be.
    pub(super) fn return_to(&mut self, tab: TabId) {
        let Some(known) = self.tabs.get_mut(&tab) else { return };
        if known.returns && is_debuggable(&known.info.url) {
            let node = known.node;
            self.attach_unasked(node);
        }
    }

    /// The tab is as if nobody had ever attached it; clients keep what they set.
    pub(super) fn fall_idle(&mut self, node: NodeId) {
        self.remove_children(node);
        let Some(real) = self.nodes.get_mut(&node).filter(|real| real.phase != Phase::Idle) else { return };
        let gone: Vec<String> = real.frames.below().map(|(id, _, _)| id.to_owned()).collect();
        let paused = std::mem::take(&mut real.queue);
        real.forget();
        let sessions = real.sessions.clone();
        self.drop_pending(node, "the debugger was detached from the tab");
        for waiting in paused {
            let message = "the debugger was detached from the tab";
            self.out.fail(&waiting.session, waiting.id, reply::SERVER_ERROR, message);
        }
        for key in &sessions {
            let Some(session) = self.sessions.get_mut(key) else { continue };
            session.promised.clear();
            for wish in &mut session.wishes {
                wish.real = None;
            }
            if session.is_own {
                continue;
            }
            if session.hears("Page") && session.knows_frames {
                for frame in &gone {
                    let params = json!({"frameId": frame, "reason": "remove"});
                    self.out.event_value(key, "Page.frameDetached", &params);
                }
            }
            if session.hears("Runtime") {
                self.out.event(key, "Runtime.executionContextsCleared", "{}");
                self.promise_contexts(key, node);
            }
        }
        self.drivers_changed = true;
    }

    /// Takes the debugger off a tab.
    pub(super) fn let_go(&mut self, tab: TabId) {
        let Some(node) = self.tabs.get(&tab).map(|tab| tab.node) else { return };
        self.fall_idle(node);
        self.ask("detachTab", &json!({"tabId": tab}).to_string(), Then::Ignore);
    }

    /// What is to be done with the tabs when nobody is here any more.
    pub(super) fn last_words(&mut self) -> Vec<Bytes> {
        self.out.to_extension.clear();
        let attached: Vec<TabId> = self
            .tabs
            .iter()
            .filter(|(_, tab)| self.nodes.get(&tab.node).is_some_and(|real| real.phase != Phase::Idle))
            .map(|(id, _)| *id)
            .collect();
        for tab in attached {
            self.ask("detachTab", &json!({"tabId": tab}).to_string(), Then::Ignore);
        }
        std::mem::take(&mut self.out.to_extension)
    }

    /// Looks in a while whether a tab is still driven.
    pub(super) fn schedule_detach(&mut self, node: NodeId) {
        let Some(real) =
            self.nodes.get(&node).filter(|real| real.phase != Phase::Idle && real.child.is_none())
        else {
            return;
        };
        let tab = real.tab;
        self.alarm(LET_GO, Alarm::Detach(tab));
    }

    pub(super) fn detach_unused(&mut self, tab: TabId) {
        let Some(known) = self.tabs.get(&tab) else { return };
        let Some(real) = self.nodes.get(&known.node).filter(|real| real.phase == Phase::Ready) else {
            return;
        };
        let drives = |key: &SessionKey| {
            self.sessions.get(key).is_some_and(|session| {
                session.drives && (!session.is_own || session.last_use + LET_GO > self.now)
            })
        };
        let below_drives =
            self.nodes.values().any(|below| below.tab == tab && below.sessions.iter().any(drives));
        if !real.sessions.iter().any(drives) && !below_drives && !self.keeps(tab) {
            self.let_go(tab);
        }
    }

    /// A client that listens to a tab has been told what is on it, and would notice. It keeps the debugger there as
    /// long as it is connected; the recorder does not.
    fn keeps(&self, tab: TabId) -> bool {
        let on_it = self.nodes.values().filter(|real| real.tab == tab).flat_map(|real| &real.sessions);
        on_it
            .filter_map(|key| self.sessions.get(key))
            .any(|session| !session.is_own && (!session.enabled.is_empty() || session.knows_frames))
    }
}
