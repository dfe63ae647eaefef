//! The user's own browsers: connections that their extension opened, between the door that lets one in
//! and the backend that drives the browser with it.
//!
//! Everything here has proved itself; who may come in is the door's business.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;

use tokio::sync::{mpsc, watch};

use crate::audit::Audit;
use crate::backend::Protocol;

/// Frames under way in one direction. A side that does not keep up makes the other one wait.
const FRAMES: usize = 256;

/// What an extension tells of its browser when it connects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Visitor {
    /// Which installation it is: one per profile.
    pub instance: String,
    /// `Chrome`, `Microsoft Edge`, `Chromium`...
    pub browser: String,
    pub browser_version: String,
    pub user_agent: String,
    /// The extension's own version.
    pub version: String,
    pub speaks: Protocol,
}

/// An open connection to an extension, message by message. Either side ends it by dropping its half.
#[derive(Debug)]
pub struct Relay {
    pub visitor: Visitor,
    /// Frames of the extension, each one JSON object or an array of them.
    pub incoming: mpsc::Receiver<Bytes>,
    pub outgoing: mpsc::Sender<Bytes>,
}

/// The door's half of a relay.
#[derive(Debug)]
pub struct DoorSide {
    pub to_hub: mpsc::Sender<Bytes>,
    pub from_hub: mpsc::Receiver<Bytes>,
}

impl Relay {
    /// Both halves of a new connection.
    pub fn pair(visitor: Visitor) -> (Self, DoorSide) {
        let (to_hub, incoming) = mpsc::channel(FRAMES);
        let (outgoing, from_hub) = mpsc::channel(FRAMES);
        (Self { visitor, incoming, outgoing }, DoorSide { to_hub, from_hub })
    }
}

/// Connections by instance, each until its browser takes it.
#[derive(Debug, Clone, Default)]
pub struct Extensions(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<HashMap<String, Relay>>,
    arrivals: watch::Sender<u64>,
    audit: Audit,
}

impl Extensions {
    /// What agents do is written down there.
    pub fn with_audit(audit: Audit) -> Self {
        Self(Arc::new(Shared { audit, ..Shared::default() }))
    }

    pub fn audit(&self) -> &Audit {
        &self.0.audit
    }

    /// An extension that has proved itself is there. One that waited under the same instance is dropped.
    pub fn arrive(&self, relay: Relay) {
        self.waiting().insert(relay.visitor.instance.clone(), relay);
        self.0.arrivals.send_modify(|count| *count += 1);
    }

    /// The connection of this instance, when it is there; `None` if it does not come within the time.
    pub async fn take(&self, instance: &str, within: Duration) -> Option<Relay> {
        let mut arrivals = self.0.arrivals.subscribe();
        let arrived = async {
            loop {
                let relay = self.waiting().remove(instance);
                if let Some(relay) = relay.filter(|relay| !relay.outgoing.is_closed()) {
                    return Some(relay);
                }
                arrivals.changed().await.ok()?;
            }
        };
        tokio::time::timeout(within, arrived).await.ok().flatten()
    }

    /// A connection that nobody has taken yet is not to be taken any more.
    pub fn withdraw(&self, instance: &str) {
        self.waiting().remove(instance);
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<String, Relay>> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visitor(instance: &str) -> Visitor {
        Visitor { instance: instance.to_owned(), ..Visitor::default() }
    }

    #[tokio::test(start_paused = true)]
    async fn a_browser_waits_for_its_own_extension() {
        let extensions = Extensions::default();
        let (other, _other_door) = Relay::pair(visitor("other"));
        extensions.arrive(other);
        assert!(extensions.take("mine", Duration::from_secs(1)).await.is_none());
        let (mine, _door) = Relay::pair(visitor("mine"));
        let waiting = extensions.clone();
        let taking = tokio::spawn(async move { waiting.take("mine", Duration::from_secs(1)).await });
        tokio::task::yield_now().await;
        extensions.arrive(mine);
        assert_eq!(taking.await.unwrap().map(|relay| relay.visitor.instance).as_deref(), Some("mine"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_ended_meanwhile_is_not_handed_out() {
        let extensions = Extensions::default();
        let (relay, door) = Relay::pair(visitor("mine"));
        extensions.arrive(relay);
        drop(door);
        assert!(extensions.take("mine", Duration::from_secs(1)).await.is_none());
    }
}
