//! New tabs, between the command that makes one and the moment the recorder watches it.
//!
//! Chromium lets the page of a `Target.createTarget{url}` run at once, whoever wants it paused, and the
//! request for its document is over before anyone could listen. So while a recorder watches a browser,
//! such a tab is made blank, and sent to its address when the recorder is ready for it. Blank or not,
//! the answer waits for the same moment: whoever gets it may navigate. No I/O.

use std::collections::{HashMap, HashSet};

use bowline_wire::{Command, SessionId, TargetId};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::oneshot;

use super::ClientId;

pub(super) const CREATE_TARGET: &str = "Target.createTarget";

/// What happens when the recorder is ready for a new tab.
pub(super) struct Birth {
    /// Where the tab is sent.
    pub(super) url: Option<String>,
    pub(super) waiting: Waiting,
}

pub(super) enum Waiting {
    /// The answer to a client's command.
    Client { client: ClientId, answer: Bytes },
    /// The hub made the tab itself.
    Own(oneshot::Sender<()>),
}

#[derive(Default)]
pub(super) struct Births {
    /// The recorder's client, while there is one.
    recorder: Option<ClientId>,
    /// Targets that the recorder watches, and its session on each.
    watched: HashMap<TargetId, SessionId>,
    expected: HashMap<TargetId, Vec<Birth>>,
    /// Commands that sent a tab on its way.
    travels: HashSet<(SessionId, i32)>,
    last_travel: i32,
}

impl Births {
    /// A tab is sent on its way. Returns the id for the command that does it, which is none that the
    /// recorder uses.
    pub(super) fn travels(&mut self, session: &SessionId) -> i32 {
        self.last_travel = if self.last_travel >= -1 { i32::MIN } else { self.last_travel + 1 };
        self.travels.insert((session.clone(), self.last_travel));
        self.last_travel
    }

    /// Whether this answer tells that a tab has got where it was sent.
    pub(super) fn arrived(&mut self, session: &str, id: i32) -> bool {
        !self.travels.is_empty() && self.travels.remove(&(SessionId::new(session), id))
    }

    pub(super) fn watched_by(&mut self, recorder: ClientId) {
        self.recorder = Some(recorder);
    }

    pub(super) fn has_recorder(&self) -> bool {
        self.recorder.is_some()
    }

    /// The recorder's session on a target that it watches.
    pub(super) fn session_on(&self, target: &TargetId) -> Option<&SessionId> {
        self.watched.get(target)
    }

    pub(super) fn expect(&mut self, target: TargetId, birth: Birth) {
        self.expected.entry(target).or_default().push(birth);
    }

    /// The recorder is ready for a target.
    pub(super) fn watch(&mut self, target: TargetId, session: SessionId) {
        self.watched.insert(target, session);
    }

    /// What waits for a target.
    pub(super) fn take(&mut self, target: &TargetId) -> Vec<Birth> {
        self.expected.remove(target).unwrap_or_default()
    }

    pub(super) fn ended(&mut self, target: &TargetId, session: &SessionId) -> Vec<Birth> {
        if self.watched.get(target) == Some(session) {
            self.watched.remove(target);
            self.travels.retain(|(travelling, _)| travelling != session);
        }
        if self.recorder.is_some() { Vec::new() } else { self.take(target) }
    }

    /// A client has left; if it was the recorder, nothing waits any more.
    pub(super) fn left(&mut self, client: ClientId) -> Vec<(TargetId, Birth)> {
        if self.recorder != Some(client) {
            return Vec::new();
        }
        self.recorder = None;
        self.watched.clear();
        self.travels.clear();
        let expected = std::mem::take(&mut self.expected);
        expected
            .into_iter()
            .flat_map(|(target, births)| births.into_iter().map(move |birth| (target.clone(), birth)))
            .collect()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CreateParams {
    #[serde(default)]
    url: String,
    #[serde(default)]
    for_tab: bool,
    #[serde(default)]
    hidden: bool,
}

/// A `Target.createTarget` as it is sent to a browser that is being recorded: where to, and the body
/// that makes a blank tab instead. `None` for what has no request that could be missed.
pub(super) fn blank(command: &Command<'_>, tells_destination: bool) -> Option<(String, Bytes)> {
    let params = command.params?;
    let wish: CreateParams = serde_json::from_str(params).ok()?;
    if wish.for_tab || wish.hidden || !is_fetched(&wish.url) {
        return None;
    }
    let mut params: Map<String, Value> = serde_json::from_str(params).ok()?;
    params.insert("url".to_owned(), json!("about:blank"));
    if tells_destination {
        params.insert("destination".to_owned(), json!(wish.url));
    }
    let mut message = json!({"id": command.id, "method": CREATE_TARGET, "params": params});
    if let Some(session) = &command.session {
        message["sessionId"] = json!(session);
    }
    Some((wish.url, Bytes::from(message.to_string())))
}

pub(super) fn is_fetched(url: &str) -> bool {
    let scheme = url.split(':').next().unwrap_or_default();
    ["http", "https", "file"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) && url.contains(':')
}
