//! When the hub's thread sleeps between messages, and when it does not.
//!
//! **Vigil.** Most commands are answered within some hundred microseconds. To put the thread to sleep
//! meanwhile and have it woken costs a good part of that again (measured: a sequential evaluate took
//! 450 us with sleeping and 320 us without). So after each command of a client the runtime goes on
//! asking for input for a moment, and each time lets whoever else wants the processor go first. With
//! many commands in flight nobody waits for a single one, and it is left out. An idle hub sleeps.
//!
//! **Pacing.** The browser wakes us for every event that it writes. In a flood of events each would be
//! read, passed on and slept after by itself, on processors that the page needs. So in a flood the
//! reader pauses for a millisecond and takes what has gathered. Whoever has just sent a command is not
//! made to wait.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::Instant;

use super::Shared;

/// Longer than a quick command takes; short enough that one that is slow costs nothing to speak of.
const WINDOW: Duration = Duration::from_micros(500);
/// More commands than this within a window are not sent one after the other.
const SEQUENTIAL: u64 = 4;
/// How long many commands in flight keep the vigil away.
const REST: Duration = Duration::from_millis(5);

pub(super) async fn keep(shared: Arc<Shared>) {
    loop {
        tokio::select! {
            () = shared.stop.cancelled() => return,
            () = shared.upstream.commanded.notified() => {}
        }
        // The machine's own clock: that of a test may stand still while this goes round.
        let (begun, before) = (std::time::Instant::now(), shared.upstream.commands.load(Ordering::Relaxed));
        while begun.elapsed() < WINDOW {
            if shared.upstream.commands.load(Ordering::Relaxed) - before > SEQUENTIAL {
                tokio::time::sleep(REST).await;
                break;
            }
            // The runtime looks for input in between, and comes back here if there is none.
            tokio::task::yield_now().await;
            std::thread::yield_now();
        }
    }
}

/// Bursts closer together than this may be a flood.
const CLOSE: Duration = Duration::from_micros(300);
/// So many close bursts in a row are one.
const MANY: u32 = 16;
const PAUSE: Duration = Duration::from_millis(1);
/// Who has sent a command so lately is waiting for its answer.
const RECENT: Duration = Duration::from_millis(20);
/// A burst of this many bytes fills the pipe before a pause is over.
const LARGE: usize = 128 << 10;

/// Decides when the reader pauses. A burst is what could be read without waiting.
#[derive(Debug)]
pub(super) struct Pacer {
    last: Instant,
    close: u32,
}

impl Pacer {
    pub(super) fn new() -> Self {
        Self { last: Instant::now(), close: 0 }
    }

    /// Told of each burst; the pause before the next, if there is to be one.
    pub(super) fn after(&mut self, burst: &Burst, last_command: Duration) -> Option<Duration> {
        let now = Instant::now();
        // After a pause, what has gathered tells whether the flood goes on.
        let is_close = if self.close >= MANY { burst.messages > 1 } else { now - self.last < CLOSE };
        self.last = now;
        if burst.has_answer || burst.bytes > LARGE || last_command < RECENT || !is_close {
            self.close = 0;
            return None;
        }
        self.close = (self.close + 1).min(MANY);
        (self.close >= MANY).then_some(PAUSE)
    }
}

#[derive(Debug, Default)]
pub(super) struct Burst {
    pub(super) messages: usize,
    pub(super) bytes: usize,
    /// Whether a command was answered.
    pub(super) has_answer: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG_AGO: Duration = Duration::from_secs(1);

    fn event() -> Burst {
        Burst { messages: 1, bytes: 300, has_answer: false }
    }

    async fn flood(pacer: &mut Pacer) -> u32 {
        for burst in 1.. {
            if pacer.after(&event(), LONG_AGO).is_some() || burst > 100 {
                return burst;
            }
            tokio::time::advance(Duration::from_micros(50)).await;
        }
        0
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_of_events_is_taken_in_bursts_until_it_ends() {
        let mut pacer = Pacer::new();
        assert_eq!(flood(&mut pacer).await, MANY);
        tokio::time::advance(PAUSE).await;
        assert_eq!(pacer.after(&Burst { messages: 20, ..event() }, LONG_AGO), Some(PAUSE));
        tokio::time::advance(PAUSE).await;
        assert_eq!(pacer.after(&event(), LONG_AGO), None, "nothing has gathered");
    }

    #[tokio::test(start_paused = true)]
    async fn answers_and_those_who_wait_for_one_are_not_delayed() {
        let mut pacer = Pacer::new();
        flood(&mut pacer).await;
        assert_eq!(pacer.after(&Burst { messages: 5, has_answer: true, ..event() }, LONG_AGO), None);
        flood(&mut pacer).await;
        assert_eq!(pacer.after(&Burst { messages: 5, ..event() }, Duration::from_millis(1)), None);
        flood(&mut pacer).await;
        assert_eq!(pacer.after(&Burst { messages: 5, bytes: LARGE * 2, ..event() }, LONG_AGO), None);
    }

    #[tokio::test(start_paused = true)]
    async fn events_now_and_then_are_passed_on_at_once() {
        let mut pacer = Pacer::new();
        for _ in 0..100 {
            assert_eq!(pacer.after(&event(), LONG_AGO), None);
            tokio::time::advance(Duration::from_millis(1)).await;
        }
    }
}
