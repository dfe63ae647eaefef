//! The extensions that are connected now, one connection of each installation.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use bowline_wire::pairing::BrowserInfo;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

/// A connection that has proved itself.
#[derive(Debug, Clone)]
pub struct Guest {
    pub since: SystemTime,
    /// The extension's own version.
    pub version: String,
    pub browser: BrowserInfo,
    pub pulse: Arc<Pulse>,
    /// Cancelled when another connection takes its place, or its key is given up.
    pub dismissed: CancellationToken,
}

/// Whether the other end of a connection still lives.
#[derive(Debug, Default)]
pub struct Pulse {
    asked: Notify,
    heard: watch::Sender<u64>,
    /// What it sent is waiting for us, so nothing can be said against it.
    waits_for_us: AtomicBool,
}

impl Pulse {
    /// Something came from the other end.
    pub fn beat(&self) {
        self.heard.send_modify(|count| *count += 1);
    }

    pub fn set_waiting(&self, waits: bool) {
        self.waits_for_us.store(waits, Ordering::Relaxed);
    }

    /// Returns when somebody wants a sign of life.
    pub async fn asked(&self) {
        self.asked.notified().await;
    }

    /// Whether anything comes within the time.
    pub async fn answers(&self, within: Duration) -> bool {
        let mut heard = self.heard.subscribe();
        self.asked.notify_one();
        let beat = tokio::time::timeout(within, heard.changed()).await;
        matches!(beat, Ok(Ok(()))) || self.waits_for_us.load(Ordering::Relaxed)
    }
}

#[derive(Debug, Default)]
pub(super) struct Guests {
    present: HashMap<String, (u64, Guest)>,
    tickets: u64,
}

impl Guests {
    pub(super) fn enter(&mut self, instance: &str, guest: Guest) -> u64 {
        self.tickets += 1;
        if let Some((_, old)) = self.present.insert(instance.to_owned(), (self.tickets, guest)) {
            old.dismissed.cancel();
        }
        self.tickets
    }

    /// One that has given way takes nobody else with it.
    pub(super) fn leave(&mut self, instance: &str, ticket: u64) {
        if self.present.get(instance).is_some_and(|(present, _)| *present == ticket) {
            self.present.remove(instance);
        }
    }

    pub(super) fn dismiss(&mut self, instance: &str) {
        if let Some((_, guest)) = self.present.remove(instance) {
            guest.dismissed.cancel();
        }
    }

    pub(super) fn get(&self, instance: &str) -> Option<&Guest> {
        self.present.get(instance).map(|(_, guest)| guest)
    }
}
