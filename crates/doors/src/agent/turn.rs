//! Waiting for one's turn at a browser that takes one client at a time (`cdp.client_mode`).

use std::time::Duration;

use bowline_ops::Progress;
use tokio::time::{Instant, sleep};

use super::visitor::Visitor;
use crate::problem::Problem;

/// How long one waits for the others.
const PATIENCE: Duration = Duration::from_secs(30);
/// Between two looks; up to as much again at random, so that those who wait do not come at once.
const PAUSE: Duration = Duration::from_millis(200);

/// Returns when the agent has the browser's only place, or where there is one for everybody.
pub(super) async fn take(
    visitor: &Visitor,
    browser: &str,
    progress: Option<&Progress>,
) -> Result<(), Problem> {
    let begun = Instant::now();
    loop {
        let Err(occupant) = visitor.take_seat(browser) else { return Ok(()) };
        let waited = begun.elapsed();
        if waited > PATIENCE {
            let message =
                format!("{occupant} drives `{browser}`, and did not leave within {} s", PATIENCE.as_secs());
            let hint = "try again later, or let several in with `cdp.client_mode = \"multi-client\"` and `bowline shutdown`";
            return Err(Problem::new("browser_busy", message, hint));
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
