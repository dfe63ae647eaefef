//! What a client has still to receive, bounded.
//!
//! A client that does not read is closed at the limit, and only it. One that reads, but slower than
//! the browser talks, may lag by several times as much before the same happens: large answers arrive
//! in bursts. A single message always fits, however large.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// A reader that took nothing for this long is not reading.
const STALLED: Duration = Duration::from_millis(250);
/// How many times the limit a client that reads may lag.
const READING_FACTOR: usize = 8;
/// Taken at a time, so that the writer of a fast client does not starve its reader.
const BATCH_BYTES: usize = 256 << 10;

/// Why a client's connection is closed, as told to it in the closing frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloseReason {
    /// A WebSocket close code.
    pub code: u16,
    pub text: String,
}

impl CloseReason {
    pub fn going_away(text: impl Into<String>) -> Self {
        Self { code: 1001, text: text.into() }
    }

    pub fn too_slow(text: impl Into<String>) -> Self {
        Self { code: 1008, text: text.into() }
    }

    pub fn normal(text: impl Into<String>) -> Self {
        Self { code: 1000, text: text.into() }
    }
}

pub struct Outbox {
    limit: usize,
    inner: Mutex<Inner>,
    changed: Notify,
    overflow: CancellationToken,
    born: Instant,
    /// Milliseconds after `born` at which the client last took bytes.
    progress: AtomicU64,
}

#[derive(Default)]
struct Inner {
    queue: VecDeque<Bytes>,
    bytes: usize,
    closed: Option<CloseReason>,
}

impl Outbox {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            inner: Mutex::default(),
            changed: Notify::new(),
            overflow: CancellationToken::new(),
            born: Instant::now(),
            progress: AtomicU64::new(0),
        }
    }

    /// Queues a message, or closes the outbox when the client lags too far behind.
    pub(crate) fn push(&self, message: Bytes) {
        let mut inner = self.inner();
        if inner.closed.is_some() {
            return;
        }
        let bytes = inner.bytes + message.len();
        if inner.bytes > 0 && bytes > self.limit && (self.is_stalled() || bytes > self.limit * READING_FACTOR)
        {
            let text = format!("client does not read: {} MiB waiting", inner.bytes >> 20);
            inner.queue = VecDeque::new();
            inner.bytes = 0;
            inner.closed = Some(CloseReason::too_slow(text));
            self.overflow.cancel();
        } else {
            inner.bytes = bytes;
            inner.queue.push_back(message);
        }
        drop(inner);
        self.changed.notify_one();
    }

    /// Ends the outbox; what is queued is still delivered.
    pub(crate) fn close(&self, reason: CloseReason) {
        self.inner().closed.get_or_insert(reason);
        self.changed.notify_one();
    }

    /// Moves some messages into `batch`; waits while there are none. `Err` after the last one.
    pub async fn take(&self, batch: &mut Vec<Bytes>) -> Result<(), CloseReason> {
        loop {
            {
                let mut inner = self.inner();
                let mut taken = 0;
                while taken < BATCH_BYTES
                    && let Some(message) = inner.queue.pop_front()
                {
                    taken += message.len();
                    batch.push(message);
                }
                inner.bytes -= taken;
                if taken > 0 || !batch.is_empty() {
                    return Ok(());
                }
                if let Some(reason) = &inner.closed {
                    return Err(reason.clone());
                }
            }
            self.changed.notified().await;
        }
    }

    /// Resolves when the outbox was closed because the client lags: its socket is then stuck, and
    /// writing on would never end.
    pub async fn overflowed(&self) -> CloseReason {
        self.overflow.cancelled().await;
        let reason = self.inner().closed.clone();
        reason.unwrap_or_else(|| CloseReason::too_slow("client does not read"))
    }

    /// Tells that the client has taken bytes off its socket.
    pub fn made_progress(&self) {
        self.progress.store(self.now(), Ordering::Relaxed);
    }

    fn is_stalled(&self) -> bool {
        self.now().saturating_sub(self.progress.load(Ordering::Relaxed)) > STALLED.as_millis() as u64
    }

    fn now(&self) -> u64 {
        self.born.elapsed().as_millis() as u64
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
