//! The bookkeeping of a router: clients, their sessions, and what is unanswered. No I/O.

use std::collections::HashMap;
use std::sync::Arc;

use bowline_wire::cdp::{self, AttachedToTarget, CreatedTarget, ErrorBody, SessionRef};
use bowline_wire::{BrowserMessage, Command, SessionId, TargetId, reply};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::birth::{self, Birth, Births, Waiting};
use super::release::{Hold, Release, Releases};
use super::session::{Attaches, Pending, Session, attaches, wants_flat};
use super::{ClientId, Entry};
use crate::backend::Outgoing;
use crate::outbox::{CloseReason, Outbox};

#[derive(Default)]
pub(super) struct Table {
    clients: HashMap<ClientId, Client>,
    sessions: HashMap<SessionId, Session>,
    releases: Releases,
    births: Births,
    /// Targets whose births have begun to wait, for whoever keeps the time.
    new_births: Vec<TargetId>,
    own: HashMap<i32, OwnCall>,
    last_own: i32,
    last_client: u64,
    /// The browser is one that we play, and is told where a blank tab will be sent.
    is_virtual: bool,
}

struct Client {
    outbox: Arc<Outbox>,
    root: SessionId,
    entry: Entry,
    /// One of the hub's own, which nobody counts.
    is_own: bool,
}

/// What waits for the answer to a command of the hub itself.
pub(super) enum OwnCall {
    Answer(oneshot::Sender<Bytes>),
    Attach(Newcomer),
    /// Attached to a tab only to send it somewhere.
    Navigate(String),
    Ignore,
}

/// A client whose root session is being made.
pub(super) struct Newcomer {
    pub(super) id: ClientId,
    pub(super) entry: Entry,
    pub(super) is_own: bool,
    pub(super) outbox: Arc<Outbox>,
    pub(super) done: oneshot::Sender<Result<(), ErrorBody>>,
}

pub(super) enum Decision {
    Send(Vec<Outgoing>),
    Answered,
    /// A release that waits for other clients.
    Held(Hold),
}

impl Table {
    pub(super) fn new(is_virtual: bool) -> Self {
        Self { is_virtual, ..Self::default() }
    }

    /// Whether a client other than this one and the hub's own has a session of the target.
    pub(super) fn has_others(&self, target: &TargetId, but: ClientId) -> bool {
        let is_other =
            |id: &ClientId| *id != but && self.clients.get(id).is_some_and(|client| !client.is_own);
        self.sessions
            .values()
            .any(|session| session.target.as_ref() == Some(target) && is_other(&session.client))
    }

    pub(super) fn client_count(&self) -> usize {
        self.clients.values().filter(|client| !client.is_own).count()
    }

    pub(super) fn new_client_id(&mut self) -> ClientId {
        self.last_client += 1;
        ClientId(self.last_client)
    }

    /// Ids of the hub's own commands are far from those that clients use: Chromium answers a command
    /// for a session that has just ended on the root, without a session, as it answers ours.
    pub(super) fn own_call(&mut self, call: OwnCall) -> i32 {
        self.last_own = if self.last_own >= -1 { i32::MIN } else { self.last_own + 1 };
        self.own.insert(self.last_own, call);
        self.last_own
    }

    /// Decides about a command of `client`.
    pub(super) fn command(
        &mut self,
        id: ClientId,
        command: &Command<'_>,
        body: Bytes,
        max: usize,
    ) -> Decision {
        let Some(client) = self.clients.get(&id) else { return Decision::Answered };
        let refuse = |code, message: &str| {
            let text = reply::error(Some(command.id), None, code, message);
            client.outbox.push(Bytes::from(text));
            Decision::Answered
        };
        let key = command.session.as_deref().unwrap_or(client.root.as_str());
        let is_own = |session: &Session| {
            session.client == id && (command.session.is_none() || key != client.root.as_str())
        };
        let Some((session_id, session)) =
            self.sessions.get_key_value(key).filter(|(_, session)| is_own(session))
        else {
            return refuse(reply::SESSION_NOT_FOUND, reply::SESSION_NOT_FOUND_TEXT);
        };
        if body.len() > max {
            let message = format!(
                "Message of {} bytes is larger than the {max} bytes that the browser takes",
                body.len()
            );
            return refuse(reply::SERVER_ERROR, &message);
        }
        let (session_id, target) = (session_id.clone(), session.target.clone());
        let creates = command.method == birth::CREATE_TARGET && self.births.has_recorder();
        let blank = if creates { birth::blank(command, self.is_virtual) } else { None };
        let (url, body) = match blank {
            Some((url, body)) => (Some(url), body),
            None => (None, body),
        };
        if let Some(session) = self.sessions.get_mut(key) {
            if command.method == "Target.setAutoAttach" {
                session.auto_attaches_flat = wants_flat(command.params);
            }
            let pending = session.pending.entry(command.id).or_default();
            pending.count += 1;
            pending.attaches = attaches(command);
            pending.creates = creates.then_some(url);
        }
        let session = command.session.is_none().then(|| session_id.clone());
        let outgoing = Outgoing { session, body };
        match target {
            Some(target) if command.method == cdp::RUN_IF_WAITING => {
                match self.releases.release(&target, &session_id, outgoing) {
                    Release::Now(messages) => Decision::Send(messages),
                    Release::Held(hold) => Decision::Held(hold),
                }
            }
            _ => Decision::Send(vec![outgoing]),
        }
    }

    pub(super) fn give_up_waiting(&mut self, hold: &Hold) -> Vec<Outgoing> {
        self.releases.give_up(hold)
    }

    /// Delivers a message of the browser; returns commands to send because of it.
    pub(super) fn deliver(
        &mut self,
        message: &Bytes,
        text: &str,
        envelope: &BrowserMessage<'_>,
    ) -> Vec<Outgoing> {
        let Some(session_key) = envelope.session else { return self.deliver_own(message, text, envelope) };
        let Some(session) = self.sessions.get_mut(session_key) else { return Vec::new() };
        let Some(client) = self.clients.get(&session.client) else { return Vec::new() };
        let (mut attached, mut created) = (None, None);
        if let Some(id) = envelope.id {
            let Some(pending) = session.pending.get_mut(&id) else {
                // Answered before by the hub, when the page crashed; or one of the hub's own.
                return self.arrived(session_key, id);
            };
            attached = pending.attaches.take();
            created = pending.creates.take();
            pending.count -= 1;
            if pending.count == 0 {
                session.pending.remove(&id);
            }
        }
        let delivered = if session_key == client.root.as_str() {
            envelope.without_session(message)
        } else {
            message.clone()
        };
        if let Some(url) = created
            && let Ok(Ok(target)) = read_answer::<CreatedTarget>(text.as_bytes())
        {
            let waiting = Waiting::Client { client: session.client, answer: delivered };
            return self.born(target.target_id, Birth { url, waiting });
        }
        client.outbox.push(delivered);
        match attached {
            Some(Attaches::Browser) => self.learn_from_answer(session_key, text, None),
            Some(Attaches::Target { target_id, flatten: true }) => {
                self.learn_from_answer(session_key, text, Some(target_id));
            }
            _ => {}
        }
        match envelope.method {
            Some(cdp::ATTACHED_TO_TARGET) => self.learn_from_event(session_key, text),
            Some(cdp::DETACHED_FROM_TARGET) => {
                return read_params::<SessionRef>(text)
                    .map_or_else(Vec::new, |gone| self.end_session(gone.session_id.as_str()));
            }
            Some(cdp::TARGET_CRASHED) => {
                let session = SessionId::new(session_key);
                self.answer_pending(&session, reply::SERVER_ERROR, "Target crashed");
            }
            _ => {}
        }
        Vec::new()
    }

    fn deliver_own(&mut self, message: &Bytes, text: &str, envelope: &BrowserMessage<'_>) -> Vec<Outgoing> {
        if envelope.method == Some(cdp::DETACHED_FROM_TARGET)
            && let Some(gone) = read_params::<SessionRef>(text)
        {
            return self.end_session(gone.session_id.as_str());
        }
        let Some(call) = envelope.id.and_then(|id| self.own.remove(&id)) else {
            if envelope.id.is_none() && envelope.method.is_none() {
                tracing::warn!(%text, "the browser refused a message");
            }
            return Vec::new();
        };
        match call {
            OwnCall::Ignore => Vec::new(),
            OwnCall::Answer(done) => {
                // Nobody waits any more after a time-out; the answer has no other use.
                let _ = done.send(message.clone());
                Vec::new()
            }
            OwnCall::Attach(newcomer) => self.welcome(text, newcomer),
            OwnCall::Navigate(url) => match read_answer::<SessionRef>(text.as_bytes()) {
                Ok(Ok(SessionRef { session_id })) => {
                    vec![navigate(session_id.clone(), 0, &url), self.detach(&session_id)]
                }
                // The tab has gone.
                _ => Vec::new(),
            },
        }
    }

    /// A client's root session is there.
    fn welcome(&mut self, text: &str, newcomer: Newcomer) -> Vec<Outgoing> {
        let Newcomer { id, entry, is_own, outbox, done } = newcomer;
        let root = match read_answer::<SessionRef>(text.as_bytes()) {
            Ok(Ok(answer)) => answer.session_id,
            Ok(Err(error)) => {
                let _ = done.send(Err(error));
                return Vec::new();
            }
            Err(error) => {
                let _ = done.send(Err(ErrorBody { code: reply::SERVER_ERROR, message: error.to_string() }));
                return Vec::new();
            }
        };
        if done.send(Ok(())).is_err() {
            // The client left while it was being connected.
            return vec![self.detach(&root)];
        }
        let target = match &entry {
            Entry::Browser => None,
            Entry::Page(target) => Some(target.clone()),
        };
        self.sessions.insert(root.clone(), Session::new(id, None, target));
        self.clients.insert(id, Client { outbox, root, entry, is_own });
        Vec::new()
    }

    fn detach(&mut self, session: &SessionId) -> Outgoing {
        let call = self.own_call(OwnCall::Ignore);
        let params = serde_json::json!({ "sessionId": session });
        Outgoing {
            session: None,
            body: Bytes::from(reply::command(call, "Target.detachFromTarget", &params)),
        }
    }

    /// From now on new tabs wait for this client, the recorder.
    pub(super) fn watched_by(&mut self, recorder: ClientId) {
        self.births.watched_by(recorder);
    }

    pub(super) fn is_watched(&self) -> bool {
        self.births.has_recorder()
    }

    /// A tab was made. What waits for it waits for the recorder, if that is not ready yet.
    pub(super) fn born(&mut self, target: TargetId, birth: Birth) -> Vec<Outgoing> {
        if self.births.has_recorder() && self.births.session_on(&target).is_none() {
            self.births.expect(target.clone(), birth);
            self.new_births.push(target);
            return Vec::new();
        }
        self.deliver_birth(&target, birth).into_iter().collect()
    }

    /// The recorder is ready for a target, which runs.
    pub(super) fn settle(&mut self, target: TargetId, session: SessionId) -> Vec<Outgoing> {
        self.births.watch(target.clone(), session);
        self.give_up_birth(&target)
    }

    /// What waits for a target waits no longer.
    pub(super) fn give_up_birth(&mut self, target: &TargetId) -> Vec<Outgoing> {
        let births = self.births.take(target);
        births.into_iter().filter_map(|birth| self.deliver_birth(target, birth)).collect()
    }

    pub(super) fn take_new_births(&mut self) -> Vec<TargetId> {
        std::mem::take(&mut self.new_births)
    }

    /// Sends the tab where it was meant to go, and tells whoever made it.
    fn deliver_birth(&mut self, target: &TargetId, birth: Birth) -> Option<Outgoing> {
        self.tell_born(birth.waiting);
        let url = birth.url?;
        Some(match self.births.session_on(target).cloned() {
            Some(session) => navigate(session.clone(), self.births.travels(&session), &url),
            None => {
                // The recorder never got there; the tab must all the same.
                let call = self.own_call(OwnCall::Navigate(url));
                let params = serde_json::json!({"targetId": target, "flatten": true});
                let body = Bytes::from(reply::command(call, "Target.attachToTarget", &params));
                Outgoing { session: None, body }
            }
        })
    }

    /// A tab shows what it was made for. The blank page it began with is to be no part of its history.
    fn arrived(&mut self, session: &str, id: i32) -> Vec<Outgoing> {
        if !self.births.arrived(session, id) {
            return Vec::new();
        }
        let body = reply::command(0, "Page.resetNavigationHistory", &serde_json::json!({}));
        vec![Outgoing { session: Some(SessionId::new(session)), body: Bytes::from(body) }]
    }

    fn tell_born(&mut self, waiting: Waiting) {
        match waiting {
            Waiting::Client { client, answer } => {
                if let Some(client) = self.clients.get(&client) {
                    client.outbox.push(answer);
                }
            }
            // Whoever waited may have left.
            Waiting::Own(done) => drop(done.send(())),
        }
    }

    fn learn_from_answer(&mut self, parent: &str, text: &str, target: Option<TargetId>) {
        if let Ok(Ok(child)) = read_answer::<SessionRef>(text.as_bytes()) {
            self.adopt(parent, child.session_id, target);
        }
    }

    fn learn_from_event(&mut self, parent: &str, text: &str) {
        let Some(event) = read_params::<AttachedToTarget>(text) else { return };
        let target = event.target_info.target_id;
        if !self.sessions.get(parent).is_some_and(|parent| parent.child_is_flat(&target)) {
            return;
        }
        if event.waiting_for_debugger {
            self.releases.wait(&target, &event.session_id);
        }
        self.adopt(parent, event.session_id, Some(target));
    }

    fn adopt(&mut self, parent: &str, child: SessionId, target: Option<TargetId>) {
        let Some((parent, owner)) = self.sessions.get_key_value(parent) else { return };
        let (parent, client) = (Some(parent.clone()), owner.client);
        // Known already when the event came before the answer; the event said more.
        self.sessions.entry(child).or_insert_with(|| Session::new(client, parent, target));
    }

    /// A session has ended at the browser, and those below it with it.
    fn end_session(&mut self, gone: &str) -> Vec<Outgoing> {
        let Some((gone, session)) = self.sessions.get_key_value(gone) else { return Vec::new() };
        let (gone, id) = (gone.clone(), session.client);
        let is_root = self.clients.get(&id).is_some_and(|client| client.root == gone);
        let released = self.remove_subtree(gone, reply::SESSION_NOT_FOUND, reply::SESSION_NOT_FOUND_TEXT);
        if is_root && let Some(client) = self.clients.remove(&id) {
            if matches!(client.entry, Entry::Page(_)) {
                let params = serde_json::json!({"reason": "target_closed"});
                client.outbox.push(Bytes::from(reply::event("Inspector.detached", &params)));
            }
            client.outbox.close(CloseReason::normal("target closed"));
        }
        released
    }

    fn remove_subtree(&mut self, root: SessionId, code: i32, message: &str) -> Vec<Outgoing> {
        let mut released = Vec::new();
        let mut gone = vec![root];
        while let Some(session_id) = gone.pop() {
            self.answer_pending(&session_id, code, message);
            let Some(session) = self.sessions.remove(session_id.as_str()) else { continue };
            if let Some(target) = session.target {
                released.extend(self.releases.forget(&target, &session_id));
                for birth in self.births.ended(&target, &session_id) {
                    released.extend(self.deliver_birth(&target, birth));
                }
            }
            let children =
                self.sessions.iter().filter(|(_, child)| child.parent.as_ref() == Some(&session_id));
            gone.extend(children.map(|(id, _)| id.clone()));
        }
        released
    }

    /// Answers in the browser's stead what it will never answer: Chromium is silent about commands
    /// whose target went away.
    fn answer_pending(&mut self, session_id: &SessionId, code: i32, message: &str) {
        let Some(session) = self.sessions.get_mut(session_id.as_str()) else { return };
        let Some(client) = self.clients.get(&session.client) else { return };
        let named = (client.root != *session_id).then_some(session_id.as_str());
        let mut ids: Vec<(i32, Pending)> = session.pending.drain().collect();
        ids.sort_unstable_by_key(|(id, _)| *id);
        for (id, pending) in ids {
            for _ in 0..pending.count {
                client.outbox.push(Bytes::from(reply::error(Some(id), named, code, message)));
            }
        }
    }

    /// A client has gone. Returns its root, to be detached at the browser, and what others may now send.
    pub(super) fn leave(&mut self, id: ClientId) -> (Option<SessionId>, Vec<Outgoing>) {
        let Some(client) = self.clients.remove(&id) else { return (None, Vec::new()) };
        // Whoever still listens learns that nothing more will come.
        client.outbox.close(CloseReason::normal("left"));
        let mut released = Vec::new();
        let releases = &mut self.releases;
        self.sessions.retain(|session_id, session| {
            if session.client == id
                && let Some(target) = &session.target
            {
                released.extend(releases.forget(target, session_id));
            }
            session.client != id
        });
        for (target, birth) in self.births.left(id) {
            released.extend(self.deliver_birth(&target, birth));
        }
        (Some(client.root), released)
    }

    /// The browser has gone: everything unanswered is answered, every client closed.
    pub(super) fn close_all(&mut self, reason: &str) {
        let sessions: Vec<SessionId> = self.sessions.keys().cloned().collect();
        for session in &sessions {
            self.answer_pending(session, reply::SERVER_ERROR, reason);
        }
        self.sessions.clear();
        for (_, client) in self.clients.drain() {
            client.outbox.close(CloseReason::going_away(reason));
        }
    }

    /// Dropping the senders tells the callers.
    pub(super) fn drop_own_calls(&mut self) {
        self.own.clear();
    }
}

fn navigate(session: SessionId, id: i32, url: &str) -> Outgoing {
    let params = serde_json::json!({"url": url, "transitionType": "auto_toplevel"});
    let body = Bytes::from(reply::command(id, "Page.navigate", &params));
    Outgoing { session: Some(session), body }
}

/// The result or the error of an answer.
pub(super) fn read_answer<T: for<'de> Deserialize<'de>>(
    answer: &[u8],
) -> Result<Result<T, ErrorBody>, serde_json::Error> {
    #[derive(Deserialize)]
    struct Answer<'a> {
        #[serde(borrow)]
        result: Option<&'a RawValue>,
        error: Option<ErrorBody>,
    }
    let answer: Answer<'_> = serde_json::from_slice(answer)?;
    match (answer.error, answer.result) {
        (Some(error), _) => Ok(Err(error)),
        (None, Some(result)) => serde_json::from_str(result.get()).map(Ok),
        (None, None) => serde_json::from_str("null").map(Ok),
    }
}

fn read_params<T: for<'de> Deserialize<'de>>(event: &str) -> Option<T> {
    #[derive(Deserialize)]
    struct Event<T> {
        params: T,
    }
    match serde_json::from_str::<Event<T>>(event) {
        Ok(event) => Some(event.params),
        Err(error) => {
            tracing::warn!(%error, "an event of the browser could not be read");
            None
        }
    }
}
