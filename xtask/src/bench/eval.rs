//! `bowline eval 1+1` from the shell, against the same evaluation over a CDP connection that is open
//! already. Hub and browser run, so the difference is the process, its request and the hub's part in it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use tokio::time::timeout;

use super::cdp::Page;
use super::report::{Bar, Part, Row};
use super::side::{Side, interruptible};
use super::stats;

const RUNS: usize = 50;
const WARM_UP: usize = 3;
const LIMIT: Duration = Duration::from_secs(60);
/// What the hub asks of the browser for an expression from the shell.
const PARAMS: &str = r#"{"expression":"1+1","replMode":true,"awaitPromise":true,"generatePreview":true,"userGesture":true,"objectGroup":"bench","allowUnsafeEvalBlockedByCSP":true,"timeout":30000}"#;

pub async fn measure(bowline: &Path, browser: &Path) -> Result<Part> {
    let hub = Side::hub(bowline, browser, &[]).await?;
    let work = async {
        let times = timeout(LIMIT, measure_hub(&hub, bowline, browser)).await;
        times.unwrap_or_else(|_| bail!("eval was not measured after {} s", LIMIT.as_secs()))
    };
    let times = interruptible(work).await;
    hub.stop().await?;
    let [raw, eval] = times?;
    let row = |name: &str, of: fn(&[f64]) -> f64, bar| {
        Row::compared(name, "ms", of(&raw), of(&eval), of(&eval) / of(&raw), bar)
    };
    let p95 = |samples: &[f64]| stats::percentile(samples, 95.0);
    Ok(Part {
        title: "One evaluation from the shell",
        about: format!(
            "`bowline eval 1+1` from start to exit with hub and browser running, against the same evaluation\n\
             over an open WebSocket to the hub: {RUNS} of each, alternately. The bar is on the difference."
        ),
        sides: ["CDP", "eval"],
        rows: vec![
            row("eval 1+1, median", stats::median, Some(Bar::MoreByAtMost(10.0))),
            row("eval 1+1, p95", p95, None),
        ],
    })
}

/// Milliseconds of each.
async fn measure_hub(hub: &Side, bowline: &Path, browser: &Path) -> Result<[Vec<f64>; 2]> {
    let mut page = Page::open(&hub.browser_url().await?).await?;
    let command = || -> Result<Command> {
        let mut command = hub.bowline(bowline, browser)?.into_std();
        command.args(["eval", "1+1"]);
        Ok(command)
    };
    let printed = command()?.output()?.stdout;
    ensure!(printed == b"2\n", "`bowline eval 1+1` printed {:?}", String::from_utf8_lossy(&printed));

    let [mut raw, mut eval] = [Vec::new(), Vec::new()];
    for run in 0..WARM_UP + RUNS {
        let start = Instant::now();
        let id = page.send("Runtime.evaluate", PARAMS).await?;
        page.cdp.reply(id).await?;
        let raw_time = start.elapsed();

        let mut command = command()?;
        command.stdout(Stdio::null());
        let start = Instant::now();
        // Blocking on purpose: nothing else runs here, and the runtime's own wait would be counted.
        let status = command.status()?;
        let eval_time = start.elapsed();
        ensure!(status.success(), "`bowline eval` failed: {status}");
        if run >= WARM_UP {
            raw.push(raw_time.as_secs_f64() * 1e3);
            eval.push(eval_time.as_secs_f64() * 1e3);
        }
    }
    page.close().await?;
    Ok([raw, eval])
}
