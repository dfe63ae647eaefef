//! What is to be done later by whoever watches a browser.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

pub(super) struct Alarms<T> {
    set: BTreeMap<(Instant, u64), T>,
    last: u64,
}

impl<T> Default for Alarms<T> {
    fn default() -> Self {
        Self { set: BTreeMap::new(), last: 0 }
    }
}

impl<T> Alarms<T> {
    pub(super) fn set(&mut self, after: Duration, alarm: T) {
        self.last += 1;
        self.set.insert((Instant::now() + after, self.last), alarm);
    }

    /// One whose time has come, the earliest first.
    pub(super) fn take_due(&mut self) -> Option<T> {
        let entry = self.set.first_entry().filter(|entry| entry.key().0 <= Instant::now())?;
        Some(entry.remove())
    }

    /// Resolves when there is one to take. Borrows nothing, so that others may be set meanwhile.
    pub(super) fn next(&self) -> impl Future<Output = ()> + use<T> {
        let at = self.set.first_key_value().map(|((at, _), _)| *at);
        async move {
            match at {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        }
    }
}
