//! Waiting for one's turn at a browser that takes one client at a time (`cdp.client_mode`).

use std::time::Duration;

use bowline_ops::Progress;
use tokio::time::{Instant, sleep};

use crate::problem::Problem;
use crate::slot::Occupant;

/// The code of who has waited in vain.
pub(crate) const BUSY: &str = "browser_busy";

/// How long one waits for the others.
const PATIENCE: Duration = Duration::from_secs(30);
/// Between two looks; up to as much again at random, so that those who wait do not come at once.
const PAUSE: Duration = Duration::from_millis(200);

/// What `seat` gives as soon as it gives something: who comes to a place that is taken waits.
pub(crate) async fn take<T>(
    browser: &str,
    progress: Option<&Progress>,
    seat: impl Fn() -> Result<T, Occupant>,
) -> Result<T, Problem> {
    let begun = Instant::now();
    loop {
        let occupant = match seat() {
            Ok(seat) => return Ok(seat),
            Err(occupant) => occupant,
        };
        let waited = begun.elapsed();
        if waited > PATIENCE {
            let message =
                format!("{occupant} drives `{browser}`, and did not leave within {} s", PATIENCE.as_secs());
            let hint = "try again later, or let several in with `cdp.client_mode = \"multi-client\"` and `bowline shutdown`";
            return Err(Problem::new(BUSY, message, hint));
        }
        if let Some(progress) = progress {
            let words = format!("waiting for `{browser}`, which {occupant} drives");
            progress(waited.as_secs_f64(), Some(PATIENCE.as_secs_f64()), &words);
        }
        sleep(PAUSE + PAUSE.mul_f64(random_fraction())).await;
    }
}

/// From 0 to 1.
fn random_fraction() -> f64 {
    let random = bowline_hub::auth::random_bytes().map_or(128, |bytes| bytes[0]);
    f64::from(random) / 255.0
}
