//! The queue of messages on their way to the browser.
//!
//! Clients take from a budget of bytes first, and wait in turn when it is used up: that holds back the
//! client that floods, and bounds memory when the browser does not read. The hub's own few commands
//! (one or two per client) never wait, so that leaving and probing work even then.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use crate::backend::Outgoing;

/// Budget is counted in these, so that it fits a semaphore's permits.
const UNIT: usize = 1024;

pub(crate) struct Upstream {
    queue: Mutex<VecDeque<Queued>>,
    arrived: Notify,
    /// Told of each command of a client.
    pub(crate) commanded: Notify,
    /// How many there were.
    pub(crate) commands: AtomicU64,
    budget: Arc<Semaphore>,
    units: u32,
}

pub(crate) struct Queued {
    pub(crate) message: Outgoing,
    /// Given back when the message has been handed to the link.
    _budget: Option<OwnedSemaphorePermit>,
}

impl Upstream {
    pub(crate) fn new(bytes: usize) -> Self {
        let units = u32::try_from(bytes / UNIT).unwrap_or(u32::MAX).max(1);
        let budget = Arc::new(Semaphore::new(units as usize));
        Self {
            queue: Mutex::default(),
            arrived: Notify::new(),
            commanded: Notify::new(),
            commands: AtomicU64::new(0),
            budget,
            units,
        }
    }

    /// Waits for room for a message of `bytes`. One larger than the whole budget takes all of it.
    pub(crate) async fn reserve(&self, bytes: usize) -> OwnedSemaphorePermit {
        let units = u32::try_from(bytes / UNIT + 1).unwrap_or(u32::MAX).min(self.units);
        self.budget.clone().acquire_many_owned(units).await.expect("the budget is never closed")
    }

    pub(crate) fn push(&self, message: Outgoing, budget: OwnedSemaphorePermit) {
        self.enqueue(Queued { message, _budget: Some(budget) });
        self.commands.fetch_add(1, Ordering::Relaxed);
        self.commanded.notify_one();
    }

    pub(crate) fn push_own(&self, message: Outgoing) {
        self.enqueue(Queued { message, _budget: None });
    }

    fn enqueue(&self, queued: Queued) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).push_back(queued);
        self.arrived.notify_one();
    }

    /// Moves all that is queued into `batch`; waits while there is nothing.
    pub(crate) async fn take(&self, batch: &mut Vec<Queued>) {
        loop {
            batch.extend(self.queue.lock().unwrap_or_else(PoisonError::into_inner).drain(..));
            if !batch.is_empty() {
                return;
            }
            self.arrived.notified().await;
        }
    }
}
