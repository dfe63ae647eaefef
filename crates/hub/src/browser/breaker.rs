//! When to try again after a browser died: back-off, and a breaker when it dies at once repeatedly.

use std::time::Duration;

use tokio::time::Instant;

/// A browser that lived shorter than this after it was ready died at once.
const QUICK: Duration = Duration::from_secs(5);
const FIRST_DELAY: Duration = Duration::from_millis(250);
const LONGEST_DELAY: Duration = Duration::from_secs(8);

#[derive(Debug)]
pub(super) struct Breaker {
    max_quick_deaths: u32,
    cooldown: Duration,
    quick_deaths: u32,
    last_death: Option<Instant>,
}

pub(super) enum Verdict {
    /// Start after this long.
    After(Duration),
    /// Do not start; it may be tried again in so long.
    Open { deaths: u32, remaining: Duration },
}

impl Breaker {
    pub(super) fn new(max_quick_deaths: u32, cooldown: Duration) -> Self {
        Self { max_quick_deaths: max_quick_deaths.max(1), cooldown, quick_deaths: 0, last_death: None }
    }

    /// A browser ended by itself, `lived` after it was ready (zero if it never was).
    pub(super) fn died(&mut self, lived: Duration) {
        self.quick_deaths = if lived < QUICK { self.quick_deaths + 1 } else { 0 };
        self.last_death = Some(Instant::now());
    }

    /// A user asks by hand: what happened before no longer counts.
    pub(super) fn reset(&mut self) {
        self.quick_deaths = 0;
    }

    pub(super) fn verdict(&mut self) -> Verdict {
        let since = self.last_death.map_or(Duration::MAX, |death| death.elapsed());
        if self.quick_deaths >= self.max_quick_deaths {
            if since < self.cooldown {
                return Verdict::Open { deaths: self.quick_deaths, remaining: self.cooldown - since };
            }
            // One try; if it dies at once too, the breaker opens again.
            self.quick_deaths = self.max_quick_deaths - 1;
            return Verdict::After(Duration::ZERO);
        }
        // One death may be chance; whoever connects next is not kept waiting for it.
        let Some(repeated) = self.quick_deaths.checked_sub(2) else { return Verdict::After(Duration::ZERO) };
        let delay = FIRST_DELAY.saturating_mul(1 << repeated.min(10)).min(LONGEST_DELAY);
        Verdict::After(delay.saturating_sub(since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delay(breaker: &mut Breaker) -> Option<Duration> {
        match breaker.verdict() {
            Verdict::After(delay) => Some(delay),
            Verdict::Open { .. } => None,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn delays_grow_until_the_breaker_opens_and_one_try_follows_the_cooldown() {
        let mut breaker = Breaker::new(4, Duration::from_secs(60));
        assert_eq!(delay(&mut breaker), Some(Duration::ZERO));
        breaker.died(Duration::ZERO);
        assert_eq!(delay(&mut breaker), Some(Duration::ZERO), "the first may be chance");
        breaker.died(Duration::ZERO);
        assert_eq!(delay(&mut breaker), Some(FIRST_DELAY));
        breaker.died(Duration::from_secs(1));
        assert_eq!(delay(&mut breaker), Some(FIRST_DELAY * 2));
        breaker.died(Duration::ZERO);
        assert_eq!(delay(&mut breaker), None);
        tokio::time::advance(Duration::from_secs(61)).await;
        assert_eq!(delay(&mut breaker), Some(Duration::ZERO));
        breaker.died(Duration::ZERO);
        assert_eq!(delay(&mut breaker), None, "it opens again after one more");
        breaker.reset();
        assert_eq!(delay(&mut breaker), Some(Duration::ZERO));
    }

    #[tokio::test(start_paused = true)]
    async fn a_long_life_forgives_earlier_deaths() {
        let mut breaker = Breaker::new(2, Duration::from_secs(60));
        breaker.died(Duration::ZERO);
        breaker.died(Duration::from_secs(3600));
        assert_eq!(delay(&mut breaker), Some(Duration::ZERO));
    }
}
