//! What clients set on a page: kept for a tab that is not attached, applied when it is, undone when they leave.
//! The rules for several clients are in `wishes.rs`.

use bowline_wire::reply;
use serde::Deserialize;
use serde_json::json;

use super::attach::FOCUS;
use super::machine::{Machine, Refusal, Then};
use super::node::{Enabled, NodeId, Phase};
use super::page::domain_of;
use super::session::{Session, SessionKey, binding_of, script_of};
use super::wishes::{self, Merge, Rule, Wish, rule};

/// A command that sets something.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) node: NodeId,
    pub(super) key: &'a SessionKey,
    /// Absent when nobody waits: it was answered before the tab was attached.
    pub(super) id: Option<i32>,
    pub(super) rule: Rule,
    pub(super) method: &'a str,
    pub(super) params: &'a str,
}

impl Call<'_> {
    fn then(&self) -> Then {
        match self.id {
            Some(id) => Then::Answer { session: self.key.clone(), id },
            None => Then::Ignore,
        }
    }
}

impl Machine {
    /// A command that sets something: kept, and applied if the page is attached.
    pub(super) fn wish(&mut self, call: Call<'_>) {
        let is_ready = self.nodes.get(&call.node).is_some_and(|real| real.phase == Phase::Ready);
        let serial = self.next_serial();
        let Some(session) = self.sessions.get_mut(call.key) else { return };
        let kept = session.keep(call.rule, call.method, call.params, serial);
        if !is_ready {
            return self.answer_idle(call, &kept.key);
        }
        if call.rule != Rule::RemoveScript {
            return self.apply(call, &kept.key);
        }
        match (kept.removed.and_then(|wish| wish.real), call.id) {
            (Some(real), Some(id)) => {
                let then = Then::Done { session: call.key.clone(), id, result: "{}" };
                self.send(call.node, call.method, &json!({"identifier": real}).to_string(), then);
            }
            (None, Some(id)) => self.out.fail(call.key, id, reply::SERVER_ERROR, "Script not found"),
            (_, None) => {}
        }
    }

    /// Answers a wish for a tab that is not attached.
    fn answer_idle(&mut self, call: Call<'_>, wish: &str) {
        let Call { node, key, method, params, .. } = call;
        let Some(id) = call.id else { return };
        match call.rule {
            Rule::Enable if method == "Runtime.enable" => self.tell_promised(key, node),
            Rule::Script => return self.out.reply_value(key, id, &json!({"identifier": script_of(wish)})),
            Rule::World => {
                #[derive(Default, Deserialize)]
                #[serde(rename_all = "camelCase", default)]
                struct World {
                    frame_id: String,
                    world_name: String,
                }
                let world: World = serde_json::from_str(params).unwrap_or_default();
                let target = self.nodes.get(&node).map(|real| real.target.clone()).unwrap_or_default();
                if world.frame_id != target {
                    return self.act(node, key, id, method, Some(params));
                }
                let context = self.promise(key, node, &target, &world.world_name, false);
                return self.out.reply_value(key, id, &json!({"executionContextId": context}));
            }
            Rule::FrameTree => {
                if let Some(session) = self.sessions.get_mut(key) {
                    session.knows_frames = true;
                }
                let frame = self.idle_frame(node);
                return self.out.reply_value(key, id, &json!({"frameTree": {"frame": frame}}));
            }
            Rule::Lifecycle => self.promise_lifecycle(key, node),
            _ => {}
        }
        self.out.reply(key, id, "{}");
    }

    /// Applies a wish to a page that is attached.
    pub(super) fn apply(&mut self, call: Call<'_>, wish: &str) {
        let Call { node, key, id, method, params, .. } = call;
        let then = call.then();
        match call.rule {
            Rule::Enable => self.enable(node, key, domain_of(method), id),
            Rule::Disable => self.disable(node, key, domain_of(method), id),
            Rule::Set { key: setting, merge } => self.set(node, setting, merge, None, then),
            Rule::Clear { key: setting } => {
                let merge = match rule(setting) {
                    Some(Rule::Set { merge, .. }) => merge,
                    _ => Merge::Last(None),
                };
                self.set(node, setting, merge, Some((method, params)), then);
            }
            Rule::Script => {
                self.send(
                    node,
                    method,
                    params,
                    Then::Script { session: key.clone(), key: wish.to_owned(), id },
                );
            }
            Rule::Binding => {
                let mapped = self.with_real_context(node, key, method, Some(params));
                self.send(node, method, mapped.as_deref().unwrap_or(params), then);
            }
            Rule::RemoveBinding => {
                if self.on_node(node).any(|(_, session)| session.bindings.contains(binding_of(wish))) {
                    return self.done(key, id);
                }
                self.send(node, method, params, then);
            }
            Rule::World => {
                self.send(node, method, params, Then::World { session: key.clone(), id, promised: None })
            }
            Rule::FrameTree => {
                if let Some(session) = self.sessions.get_mut(key) {
                    session.knows_frames = true;
                }
                let Some(real) = self.nodes.get(&node) else { return };
                if real.frames.is_empty() {
                    return self.send(node, method, params, then);
                }
                let tree = json!({"frameTree": real.frames.tree()});
                if let Some(id) = id {
                    self.out.reply_value(key, id, &tree);
                }
            }
            Rule::Lifecycle => self.lifecycle(node, key, id),
            Rule::Release => {
                let Some(real) = self.nodes.get_mut(&node) else { return };
                real.waiting.remove(key);
                if std::mem::take(&mut real.is_held) {
                    self.send(node, method, "{}", then);
                } else {
                    self.done(key, id);
                }
            }
            Rule::FetchEnable => self.intercept(node, then),
            Rule::FetchDisable => {
                self.give_up_requests(node, key);
                self.intercept(node, then);
            }
            Rule::RemoveScript => self.done(key, id),
        }
    }

    fn done(&mut self, key: &SessionKey, answer: Option<i32>) {
        if let Some(id) = answer {
            self.out.reply(key, id, "{}");
        }
    }

    /// The sessions on a node.
    pub(super) fn on_node(&self, node: NodeId) -> impl Iterator<Item = (&SessionKey, &Session)> {
        let sessions = self.nodes.get(&node).map(|real| real.sessions.as_slice()).unwrap_or_default();
        sessions.iter().filter_map(|key| Some((key, self.sessions.get(key)?)))
    }

    fn enable(&mut self, node: NodeId, key: &SessionKey, domain: &str, answer: Option<i32>) {
        let name = format!("{domain}.enable");
        let all: Vec<&str> = self
            .on_node(node)
            .flat_map(|(_, session)| session.wishes.iter())
            .filter(|wish| wish.key == name)
            .map(|wish| wish.params.as_str())
            .collect();
        let params = wishes::merged_enable(&all);
        let Some(real) = self.nodes.get_mut(&node) else { return };
        match real.enabled.get(domain) {
            Some(known) if known.params == params || (known.params.is_empty() && params == "{}") => {
                let result = known.result.clone();
                if let Some(id) = answer {
                    self.replay(node, key, domain);
                    self.out.reply(key, id, result.as_deref().unwrap_or("{}"));
                }
            }
            known => {
                let is_more = known.is_some();
                let result = known.and_then(|known| known.result.clone());
                real.enabled.insert(domain.to_owned(), Enabled { params: params.clone(), result });
                if is_more && answer.is_some() {
                    self.replay(node, key, domain);
                }
                let session = answer.map(|id| (key.clone(), id));
                self.send(node, &name, &params, Then::Enabled { session, domain: domain.to_owned() });
            }
        }
    }

    pub(super) fn domain_enabled(
        &mut self,
        node: Option<NodeId>,
        session: Option<(SessionKey, i32)>,
        domain: &str,
        result: Result<&str, Refusal>,
    ) {
        let Some(real) = node.and_then(|node| self.nodes.get_mut(&node)) else { return };
        match result {
            Ok(result) => {
                if let Some(enabled) = real.enabled.get_mut(domain) {
                    enabled.result = Some(result.to_owned());
                }
                if let Some((key, id)) = session {
                    self.out.reply(&key, id, result);
                }
            }
            Err(error) => {
                real.enabled.remove(domain);
                let is_attached = real.phase != Phase::Idle;
                if let Some((key, id)) = session {
                    if let Some(session) = self.sessions.get_mut(&key).filter(|_| is_attached) {
                        session.enabled.remove(domain);
                        session.wishes.retain(|wish| wish.key != format!("{domain}.enable"));
                    }
                    self.out.fail_raw(&key, id, &error.raw);
                }
            }
        }
    }

    fn disable(&mut self, node: NodeId, key: &SessionKey, domain: &str, answer: Option<i32>) {
        // The hub itself follows the frames.
        let is_needed = domain == "Page" || self.on_node(node).any(|(_, session)| session.hears(domain));
        let was_on = self.nodes.get_mut(&node).is_some_and(|real| real.enabled.contains_key(domain));
        if is_needed {
            return self.done(key, answer);
        }
        if let Some(real) = self.nodes.get_mut(&node) {
            real.enabled.remove(domain);
            real.memory.remove(domain);
            if domain == "Runtime" {
                real.contexts.clear();
            }
        }
        let then = match answer {
            Some(id) => Then::Answer { session: key.clone(), id },
            None => Then::Ignore,
        };
        if was_on || answer.is_some() {
            self.send(node, &format!("{domain}.disable"), "{}", then);
        }
    }

    /// What Chromium tells whoever enables a domain, for one who comes when it is on already.
    fn replay(&mut self, node: NodeId, key: &SessionKey, domain: &str) {
        let Some(real) = self.nodes.get(&node) else { return };
        if domain == "Runtime" {
            let promised =
                self.sessions.get(key).map(|session| session.promised.as_slice()).unwrap_or_default();
            for context in &real.contexts {
                if !promised.iter().any(|known| known.real == Some(context.id)) {
                    self.out.event(key, "Runtime.executionContextCreated", &context.params);
                }
            }
        }
        for (method, params) in real.memory.get(domain).into_iter().flat_map(|memory| memory.iter()) {
            self.out.event(key, method, params);
        }
    }

    /// Sends a setting as all clients' wishes make it. `clear` is the client's own command to take it back.
    fn set(&mut self, node: NodeId, setting: &str, merge: Merge, clear: Option<(&str, &str)>, then: Then) {
        let mut all: Vec<&Wish> = self
            .on_node(node)
            .flat_map(|(_, session)| session.wishes.iter())
            .filter(|wish| wish.key == setting)
            .collect();
        all.sort_unstable_by_key(|wish| wish.serial);
        let command = match (all.is_empty(), clear) {
            (true, Some((method, params))) => Some((method.to_owned(), params.to_owned())),
            (true, None) => wishes::reset(setting, merge),
            (false, _) => wishes::merged(merge, &all),
        };
        let is_gone = all.is_empty();
        if setting == FOCUS && self.nodes.get(&node).is_some_and(|real| real.child.is_none()) {
            return self.finish(then);
        }
        let Some((method, params)) = command else { return self.finish(then) };
        let Some(real) = self.nodes.get_mut(&node) else { return };
        let is_settled = merge == Merge::First && real.settings.contains_key(setting);
        if is_settled || real.settings.get(setting) == Some(&params) {
            return self.finish(then);
        }
        if is_gone {
            real.settings.remove(setting);
        } else {
            real.settings.insert(setting.to_owned(), params.clone());
        }
        self.send(node, &method, &params, then);
    }

    /// Answers what needs no command after all.
    fn finish(&mut self, then: Then) {
        if let Then::Answer { session, id } = then {
            self.out.reply(&session, id, "{}");
        }
    }

    pub(super) fn script_added(
        &mut self,
        key: &SessionKey,
        wish: &str,
        answer: Option<i32>,
        result: Result<&str, Refusal>,
    ) {
        #[derive(Deserialize)]
        struct Added {
            identifier: String,
        }
        match result {
            Ok(result) => {
                let real = serde_json::from_str::<Added>(result).ok().map(|added| added.identifier);
                let session = self.sessions.get_mut(key);
                if let Some(kept) =
                    session.and_then(|session| session.wishes.iter_mut().find(|kept| kept.key == wish))
                {
                    kept.real = real;
                }
                if let Some(id) = answer {
                    let identifier = script_of(wish);
                    self.out.reply_value(key, id, &json!({"identifier": identifier}));
                }
            }
            Err(error) => {
                if let Some(id) = answer {
                    self.out.fail_raw(key, id, &error.raw);
                }
            }
        }
    }

    pub(super) fn world_made(
        &mut self,
        key: &SessionKey,
        answer: Option<i32>,
        promised: Option<i64>,
        result: Result<&str, Refusal>,
    ) {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Made {
            execution_context_id: i64,
        }
        let made = result.as_ref().ok().and_then(|result| serde_json::from_str::<Made>(result).ok());
        if let Some((promised, made)) = promised.zip(made)
            && let Some(session) = self.sessions.get_mut(key)
        {
            // The event may have come already, or not at all: a world of that name was there.
            let known =
                session.promised.iter_mut().find(|known| known.id == promised && known.real.is_none());
            if let Some(known) = known {
                known.real = Some(made.execution_context_id);
            }
        }
        match (answer, result) {
            (Some(id), Ok(result)) => self.out.reply(key, id, result),
            (Some(id), Err(error)) => self.out.fail_raw(key, id, &error.raw),
            (None, _) => {}
        }
    }

    fn lifecycle(&mut self, node: NodeId, key: &SessionKey, answer: Option<i32>) {
        let wants = self.sessions.get(key).is_some_and(|session| session.lifecycle);
        let Some(real) = self.nodes.get_mut(&node) else { return };
        if wants && !std::mem::replace(&mut real.lifecycle_on, true) {
            let then = match answer {
                Some(id) => Then::Answer { session: key.clone(), id },
                None => Then::Ignore,
            };
            return self.send(node, "Page.setLifecycleEventsEnabled", r#"{"enabled":true}"#, then);
        }
        if wants && answer.is_some() {
            for event in &real.lifecycle {
                self.out.event(key, "Page.lifecycleEvent", &event.params);
            }
        }
        self.done(key, answer);
    }

    /// A session has left a node: what it had set is undone, and nothing else.
    pub(super) fn left(&mut self, key: &SessionKey, node: NodeId, session: Session) {
        let Some(real) = self.nodes.get_mut(&node) else { return };
        real.sessions.retain(|known| known != key);
        real.waiting.remove(key);
        real.queue.retain(|waiting| waiting.session != *key);
        let is_casting = real.casting.take_if(|owner| owner == key).is_some();
        let is_tracing = real.tracing.take_if(|owner| owner == key).is_some();
        let is_forgotten = real.is_held && real.waiting.is_empty();
        real.is_held &= !is_forgotten;
        self.drivers_changed = true;
        if self.nodes.get(&node).is_none_or(|real| real.phase == Phase::Idle) {
            return;
        }
        if is_forgotten {
            self.send(node, "Runtime.runIfWaitingForDebugger", "{}", Then::Ignore);
        }
        if is_casting {
            self.send(node, "Page.stopScreencast", "{}", Then::Ignore);
            self.light(node);
        }
        if is_tracing {
            self.send(node, "Tracing.end", "{}", Then::Ignore);
        }
        self.give_up_requests(node, key);
        for wish in &session.wishes {
            match rule(&wish.method) {
                Some(Rule::Set { key: setting, merge }) => self.set(node, setting, merge, None, Then::Ignore),
                Some(Rule::Script) => {
                    if let Some(real) = &wish.real {
                        let params = json!({"identifier": real}).to_string();
                        self.send(node, "Page.removeScriptToEvaluateOnNewDocument", &params, Then::Ignore);
                    }
                }
                Some(Rule::Binding) => {
                    let name = binding_of(&wish.key);
                    if !self.on_node(node).any(|(_, other)| other.bindings.contains(name)) {
                        let params = json!({"name": name}).to_string();
                        self.send(node, "Runtime.removeBinding", &params, Then::Ignore);
                    }
                }
                _ => {}
            }
        }
        if session.interest.is_some() {
            self.intercept(node, Then::Ignore);
        }
        for domain in &session.enabled {
            self.disable(node, key, domain, None);
        }
        self.apply_auto_attach(node);
        let top = self.nodes.get(&node).and_then(|real| self.tabs.get(&real.tab)).map(|tab| tab.node);
        if let Some(top) = top {
            self.schedule_detach(top);
        }
    }
}
