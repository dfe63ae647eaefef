//! Which tab is whose: an agent that acts on a tab has it until it leaves, or has not acted for a while.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bowline_wire::TargetId;
use tokio::time::Instant;

use crate::agent::{Agent, AgentName};

pub(crate) struct Leases {
    idle: Duration,
    leases: Mutex<HashMap<(String, TargetId), Lease>>,
}

struct Lease {
    owner: Weak<Agent>,
    name: AgentName,
    acts: Arc<Acts>,
}

/// When the last act ended. Whoever holds it, too, acts.
struct Acts(Mutex<Instant>);

/// As long as one is held, an act is under way and the lease does not end by idling.
pub(crate) struct Hold(Arc<Acts>);

impl Drop for Hold {
    fn drop(&mut self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

impl Leases {
    pub(crate) fn new(idle: Duration) -> Self {
        Self { idle, leases: Mutex::default() }
    }

    /// Takes the tab for an agent, or renews what it has; for as long as it is held, and a while after. Fails with
    /// the name of who has it.
    pub(crate) fn take(
        &self,
        browser: &str,
        target: &TargetId,
        agent: &Arc<Agent>,
    ) -> Result<Hold, AgentName> {
        let mut leases = self.leases();
        leases.retain(|_, lease| lease.holds(self.idle));
        let key = (browser.to_owned(), target.clone());
        match leases.get(&key) {
            Some(lease) if lease.name != agent.name => Err(lease.name.clone()),
            Some(lease) if lease.owner.as_ptr() == Arc::as_ptr(agent) => Ok(Hold(lease.acts.clone())),
            _ => {
                let lease = Lease::of(agent);
                let hold = Hold(lease.acts.clone());
                leases.insert(key, lease);
                Ok(hold)
            }
        }
    }

    /// Takes the tab from whoever has it.
    pub(crate) fn seize(&self, browser: &str, target: &TargetId, agent: &Arc<Agent>) {
        self.leases().insert((browser.to_owned(), target.clone()), Lease::of(agent));
    }

    /// Gives a tab back. Whether the agent had it.
    pub(crate) fn release(&self, browser: &str, target: &TargetId, agent: &Agent) -> bool {
        let mut leases = self.leases();
        let key = (browser.to_owned(), target.clone());
        let is_its = leases.get(&key).is_some_and(|lease| lease.name == agent.name);
        is_its && leases.remove(&key).is_some()
    }

    pub(crate) fn owner(&self, browser: &str, target: &TargetId) -> Option<AgentName> {
        let leases = self.leases();
        let lease = leases.get(&(browser.to_owned(), target.clone()))?;
        lease.holds(self.idle).then(|| lease.name.clone())
    }

    /// Other agents that have tabs of a browser.
    pub(crate) fn others(&self, browser: &str, agent: &Agent) -> Vec<AgentName> {
        let leases = self.leases();
        let of_browser = leases.iter().filter(|((of, _), lease)| of == browser && lease.holds(self.idle));
        let mut names: Vec<AgentName> =
            of_browser.map(|(_, lease)| lease.name.clone()).filter(|name| *name != agent.name).collect();
        names.sort();
        names.dedup();
        names
    }

    fn leases(&self) -> MutexGuard<'_, HashMap<(String, TargetId), Lease>> {
        self.leases.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lease {
    fn of(agent: &Arc<Agent>) -> Self {
        let acts = Arc::new(Acts(Mutex::new(Instant::now())));
        Self { owner: Arc::downgrade(agent), name: agent.name.clone(), acts }
    }

    fn holds(&self, idle: Duration) -> bool {
        let is_idle = || {
            let last = self.acts.0.lock().unwrap_or_else(PoisonError::into_inner);
            last.elapsed() >= idle
        };
        let is_acting = Arc::strong_count(&self.acts) > 1;
        self.owner.upgrade().is_some_and(|owner| owner.is_present()) && (is_acting || !is_idle())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::{Presence, Stay};

    fn agent(name: &str, stay: Stay) -> Arc<Agent> {
        Arc::new(Agent::new(AgentName::new(name), stay))
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_ends_with_idleness_and_with_its_owner() {
        let leases = Leases::new(Duration::from_secs(60));
        let tab = TargetId::new("T");
        let one = agent("one", Stay::Session);
        let two = agent("two", Stay::Connected);
        let hold = leases.take("b", &tab, &one).unwrap();
        assert_eq!(leases.take("b", &tab, &two).err().unwrap().as_str(), "one");
        leases.take("other", &tab, &two).unwrap();
        tokio::time::advance(Duration::from_secs(61)).await;
        assert!(leases.take("b", &tab, &two).is_err(), "its act takes long");
        drop(hold);
        tokio::time::advance(Duration::from_secs(59)).await;
        assert!(leases.take("b", &tab, &two).is_err(), "it idles from the end of its act on");
        tokio::time::advance(Duration::from_secs(2)).await;
        let presence = Presence::new(two.clone());
        leases.take("b", &tab, &two).unwrap();
        assert!(leases.take("b", &tab, &one).is_err());
        drop(presence);
        leases.take("b", &tab, &one).unwrap();
        assert!(!leases.release("b", &tab, &two));
        assert!(leases.release("b", &tab, &one));
        assert_eq!(leases.owner("b", &tab), None);
    }
}
