//! Who still waits for a new target to start.
//!
//! Chromium lets a paused target run at the first `Runtime.runIfWaitingForDebugger` of anyone. A
//! client that is still installing its init scripts would then be too late. So a release is held
//! until every session that waits on the same target has released or left.

use std::collections::HashMap;

use bowline_wire::{SessionId, TargetId};

use crate::backend::Outgoing;

#[derive(Default)]
pub(super) struct Releases {
    targets: HashMap<TargetId, Waiting>,
}

#[derive(Default)]
struct Waiting {
    /// Sessions that have not released yet.
    sessions: Vec<SessionId>,
    /// Release commands of those that have.
    held: Vec<(SessionId, Outgoing)>,
}

pub(super) enum Release {
    /// Nobody else waits: these may go to the browser now.
    Now(Vec<Outgoing>),
    Held,
}

impl Releases {
    pub(super) fn wait(&mut self, target: &TargetId, session: &SessionId) {
        self.targets.entry(target.clone()).or_default().sessions.push(session.clone());
    }

    pub(super) fn release(&mut self, target: &TargetId, session: &SessionId, command: Outgoing) -> Release {
        let Some(waiting) = self.targets.get_mut(target) else { return Release::Now(vec![command]) };
        waiting.sessions.retain(|waiting| waiting != session);
        waiting.held.push((session.clone(), command));
        if waiting.sessions.is_empty() { Release::Now(self.give_up(target)) } else { Release::Held }
    }

    /// A session has ended. What nobody waits for any more is returned.
    pub(super) fn forget(&mut self, target: &TargetId, session: &SessionId) -> Vec<Outgoing> {
        let Some(waiting) = self.targets.get_mut(target) else { return Vec::new() };
        waiting.sessions.retain(|waiting| waiting != session);
        waiting.held.retain(|(held, _)| held != session);
        if waiting.sessions.is_empty() { self.give_up(target) } else { Vec::new() }
    }

    /// Everything held for a target, whoever still waits.
    pub(super) fn give_up(&mut self, target: &TargetId) -> Vec<Outgoing> {
        let waiting = self.targets.remove(target).unwrap_or_default();
        waiting.held.into_iter().map(|(_, command)| command).collect()
    }
}
