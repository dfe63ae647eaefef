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
    last_number: u64,
}

#[derive(Default)]
struct Waiting {
    /// Sessions that have not released yet.
    sessions: Vec<SessionId>,
    /// Release commands of those that have.
    held: Vec<(SessionId, Outgoing)>,
    number: u64,
}

/// One wait for a target. A target's id may come back, a hold does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hold {
    target: TargetId,
    number: u64,
}

pub(super) enum Release {
    /// Nobody else waits: these may go to the browser now.
    Now(Vec<Outgoing>),
    Held(Hold),
}

impl Releases {
    pub(super) fn wait(&mut self, target: &TargetId, session: &SessionId) {
        let waiting = self.targets.entry(target.clone()).or_default();
        if waiting.number == 0 {
            self.last_number += 1;
            waiting.number = self.last_number;
        }
        waiting.sessions.push(session.clone());
    }

    pub(super) fn release(&mut self, target: &TargetId, session: &SessionId, command: Outgoing) -> Release {
        let Some(waiting) = self.targets.get_mut(target) else { return Release::Now(vec![command]) };
        waiting.sessions.retain(|waiting| waiting != session);
        waiting.held.push((session.clone(), command));
        if waiting.sessions.is_empty() {
            return Release::Now(self.take(target));
        }
        Release::Held(Hold { target: target.clone(), number: waiting.number })
    }

    /// A session has ended. What nobody waits for any more is returned.
    pub(super) fn forget(&mut self, target: &TargetId, session: &SessionId) -> Vec<Outgoing> {
        let Some(waiting) = self.targets.get_mut(target) else { return Vec::new() };
        waiting.sessions.retain(|waiting| waiting != session);
        waiting.held.retain(|(held, _)| held != session);
        if waiting.sessions.is_empty() { self.take(target) } else { Vec::new() }
    }

    /// Everything that a hold still keeps, whoever still waits.
    pub(super) fn give_up(&mut self, hold: &Hold) -> Vec<Outgoing> {
        let same = self.targets.get(&hold.target).is_some_and(|waiting| waiting.number == hold.number);
        if same { self.take(&hold.target) } else { Vec::new() }
    }

    fn take(&mut self, target: &TargetId) -> Vec<Outgoing> {
        let waiting = self.targets.remove(target).unwrap_or_default();
        waiting.held.into_iter().map(|(_, command)| command).collect()
    }
}
