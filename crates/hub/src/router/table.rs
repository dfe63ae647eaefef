//! The bookkeeping of a router: clients, their sessions, and what is unanswered. No I/O.

use std::collections::HashMap;
use std::sync::Arc;

use bowline_wire::cdp::{self, AttachedToTarget, ErrorBody, SessionRef};
use bowline_wire::{BrowserMessage, Command, SessionId, TargetId, reply};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::outbox::{CloseReason, Outbox};
use super::release::{Hold, Release, Releases};
use super::session::{Attaches, Pending, Session, attaches, wants_flat};
use super::{ClientId, Entry};
use crate::backend::Outgoing;

#[derive(Default)]
pub(super) struct Table {
    clients: HashMap<ClientId, Client>,
    sessions: HashMap<SessionId, Session>,
    releases: Releases,
    own: HashMap<i32, OwnCall>,
    last_own: i32,
    last_client: u64,
}

struct Client {
    outbox: Arc<Outbox>,
    root: SessionId,
    entry: Entry,
}

/// What waits for the answer to a command of the hub itself.
pub(super) enum OwnCall {
    Answer(oneshot::Sender<Bytes>),
    Attach { id: ClientId, entry: Entry, outbox: Arc<Outbox>, done: oneshot::Sender<Result<(), ErrorBody>> },
    Ignore,
}

pub(super) enum Decision {
    Send(Vec<Outgoing>),
    Answered,
    /// A release that waits for other clients.
    Held(Hold),
}

impl Table {
    pub(super) fn client_count(&self) -> usize {
        self.clients.len()
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
        if let Some(session) = self.sessions.get_mut(key) {
            if command.method == "Target.setAutoAttach" {
                session.auto_attaches_flat = wants_flat(command.params);
            }
            let pending = session.pending.entry(command.id).or_default();
            pending.count += 1;
            pending.attaches = attaches(command);
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
        let mut attached = None;
        if let Some(id) = envelope.id {
            let Some(pending) = session.pending.get_mut(&id) else {
                // Answered before by the hub, when the page crashed.
                return Vec::new();
            };
            attached = pending.attaches.take();
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
            OwnCall::Attach { id, entry, outbox, done } => {
                self.welcome(text, id, Client { outbox, root: SessionId::new(""), entry }, done)
            }
        }
    }

    /// A client's root session is there. `client` has still to learn its name.
    fn welcome(
        &mut self,
        text: &str,
        id: ClientId,
        client: Client,
        done: oneshot::Sender<Result<(), ErrorBody>>,
    ) -> Vec<Outgoing> {
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
            let call = self.own_call(OwnCall::Ignore);
            let params = serde_json::json!({ "sessionId": root });
            let body = Bytes::from(reply::command(call, "Target.detachFromTarget", &params));
            return vec![Outgoing { session: None, body }];
        }
        let target = match &client.entry {
            Entry::Browser => None,
            Entry::Page(target) => Some(target.clone()),
        };
        self.sessions.insert(root.clone(), Session::new(id, None, target));
        self.clients.insert(id, Client { root, ..client });
        Vec::new()
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
