//! When the archive was written, by the times that the file system notes.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Error};
use tokio::time::sleep;

use crate::bench::side::Side;

/// Much shorter than the pause between two flushes.
const PERIOD: Duration = Duration::from_millis(20);

pub(super) struct Flushes {
    /// Every transaction is in here first.
    log: PathBuf,
    /// When it was written before the load, which is no part of any pause.
    begun: Option<SystemTime>,
    last: Option<SystemTime>,
    longest_pause: Duration,
}

impl Flushes {
    pub(super) fn of(hub: &Side) -> Self {
        let log = hub.kept("history.db-wal");
        let begun = fs::metadata(&log).and_then(|file| file.modified()).ok();
        Self { log, begun, last: None, longest_pause: Duration::ZERO }
    }

    /// Watches until dropped; returns only what went wrong.
    pub(super) async fn watch(&mut self) -> Error {
        loop {
            sleep(PERIOD).await;
            let changed = fs::metadata(&self.log).and_then(|file| file.modified());
            match changed.with_context(|| format!("cannot watch {}", self.log.display())) {
                Ok(changed) => self.note(changed),
                Err(error) => return error,
            }
        }
    }

    fn note(&mut self, changed: SystemTime) {
        if self.begun == Some(changed) {
            return;
        }
        if let Some(last) = self.last {
            // The clock may be set back; that is no pause.
            self.longest_pause = self.longest_pause.max(changed.duration_since(last).unwrap_or_default());
        }
        self.last = Some(changed);
    }

    pub(super) fn longest_pause(&self) -> Duration {
        self.longest_pause
    }
}
