//! `bowline shutdown`.

use std::time::{Duration, Instant};

use serde_json::json;

use super::Context;
use crate::api::Api;
use crate::failure::{Failure, exit};

/// Every browser gets its time to end.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) fn run(context: &Context<'_>) -> Result<(), Failure> {
    let Some(state) = context.running_hub()? else {
        context.output.result(&json!({"was_running": false}), |_| "No hub runs.".to_owned());
        return Ok(());
    };
    context.block_on(async { Api::new(&state).shutdown().await })?;
    let begun = Instant::now();
    while context.running_hub()?.is_some_and(|now| now.pid == state.pid) {
        if begun.elapsed() > PATIENCE {
            return Err(Failure::new(
                exit::NO_HUB,
                "still_running",
                format!("the hub (pid {}) still runs", state.pid),
            )
            .hint("a browser may refuse to end; see the log"));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    context
        .output
        .result(&json!({"was_running": true, "pid": state.pid}), |_| "The hub has left.".to_owned());
    Ok(())
}
