//! One session of a client: its place in the tree, what is unanswered, and whether what appears below it
//! is flat. No I/O.

use std::collections::HashMap;

use bowline_wire::{Command, SessionId, TargetId};
use serde::Deserialize;

use super::ClientId;

/// A session and who owns it.
pub(super) struct Session {
    pub(super) client: ClientId,
    pub(super) parent: Option<SessionId>,
    pub(super) target: Option<TargetId>,
    /// Unanswered commands by id. A client may use an id twice; Chromium answers twice.
    pub(super) pending: HashMap<i32, Pending>,
    /// Whether what attaches by itself below this session is a flat session, as it last asked for.
    pub(super) auto_attaches_flat: bool,
}

impl Session {
    pub(super) fn new(client: ClientId, parent: Option<SessionId>, target: Option<TargetId>) -> Self {
        Self { client, parent, target, pending: HashMap::new(), auto_attaches_flat: true }
    }

    /// Whether a session for `target` that has just appeared below this one is flat. Others are spoken
    /// to through their parent, and their ids mean nothing in an envelope.
    pub(super) fn child_is_flat(&self, target: &TargetId) -> bool {
        let asked = self.pending.values().find_map(|pending| match &pending.attaches {
            Some(Attaches::Target { target_id, flatten }) if target_id == target => Some(*flatten),
            _ => None,
        });
        asked.unwrap_or(self.auto_attaches_flat)
    }
}

#[derive(Default)]
pub(super) struct Pending {
    pub(super) count: u32,
    /// The answer names a new session of the same client.
    pub(super) attaches: Option<Attaches>,
    /// The answer names a new tab, which is to be sent to this address.
    pub(super) creates: Option<Option<String>>,
}

pub(super) enum Attaches {
    Browser,
    Target { target_id: TargetId, flatten: bool },
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct AttachParams {
    target_id: Option<TargetId>,
    flatten: bool,
}

fn attach_params(params: Option<&str>) -> AttachParams {
    params.and_then(|params| serde_json::from_str(params).ok()).unwrap_or_default()
}

pub(super) fn wants_flat(params: Option<&str>) -> bool {
    attach_params(params).flatten
}

pub(super) fn attaches(command: &Command<'_>) -> Option<Attaches> {
    match &*command.method {
        "Target.attachToBrowserTarget" => Some(Attaches::Browser),
        "Target.attachToTarget" => {
            let AttachParams { target_id, flatten } = attach_params(command.params);
            target_id.map(|target_id| Attaches::Target { target_id, flatten })
        }
        _ => None,
    }
}
