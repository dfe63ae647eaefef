//! What the hub costs by itself: memory when idle, memory per idle client, and how long
//! `bowline endpoint` takes. Uses a hub of its own, because one that has worked keeps freed memory.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use futures_util::{StreamExt, TryStreamExt, stream};
use rustix::process::{Resource, Rlimit};
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::cdp::Cdp;
use super::report::{Bar, Part, Row};
use super::side::{Side, interruptible};
use super::stats;
use super::usage::{MIB, resident};

const CLIENTS: usize = 1_000;
const DIALS_AT_ONCE: usize = 16;
const LIMIT: Duration = Duration::from_secs(120);
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// After this long a hub that has nothing to do has settled.
const SETTLE: Duration = Duration::from_secs(2);

pub async fn measure(bowline: &Path, browser: &Path, quick: bool) -> Result<Part> {
    allow_many_files()?;
    let hub = Side::hub(bowline, browser, &[]).await?;
    let work = async {
        let rows = timeout(LIMIT, measure_hub(&hub, bowline, browser, quick)).await;
        rows.unwrap_or_else(|_| bail!("the hub was not measured after {} s", LIMIT.as_secs()))
    };
    let rows = interruptible(work).await;
    hub.stop().await?;
    Ok(Part {
        title: "The hub by itself",
        about: format!("Memory, {CLIENTS} clients that are idle, and `bowline endpoint` from start to exit."),
        sides: ["", "bowline"],
        rows: rows?,
    })
}

async fn measure_hub(hub: &Side, bowline: &Path, browser: &Path, quick: bool) -> Result<Vec<Row>> {
    sleep(SETTLE).await;
    let without_browser = resident(hub.pid)?;
    let url = hub.browser_url().await?;
    sleep(SETTLE).await;
    let with_browser = resident(hub.pid)?;

    let spawns = if quick { 20 } else { 50 };
    let times = endpoint_times(hub, bowline, browser, spawns).await?;

    let before = resident(hub.pid)?;
    let mut clients: Vec<Cdp> = stream::iter(0..CLIENTS)
        .map(|_| Cdp::connect(&url))
        .buffer_unordered(DIALS_AT_ONCE)
        .try_collect()
        .await
        .context("not all idle clients could connect")?;
    for client in clients.iter_mut().step_by(CLIENTS / 4) {
        let answer = timeout(ANSWER_LIMIT, client.call(None, "Browser.getVersion", json!({}))).await;
        answer.context("an idle client got no answer")?.context("an idle client was refused")?;
    }
    sleep(SETTLE).await;
    let per_client = resident(hub.pid)?.saturating_sub(before) as f64 / CLIENTS as f64;
    stream::iter(clients).for_each_concurrent(DIALS_AT_ONCE, Cdp::close).await;

    let rss = |name: &str, bytes: u64| Row::single(name, "MiB", bytes as f64 / MIB, Some(Bar::AtMost(12.0)));
    Ok(vec![
        rss("hub RSS, no browser yet", without_browser),
        rss("hub RSS, browser ready", with_browser),
        Row::single("RSS per idle client", "KiB", per_client / 1024.0, Some(Bar::AtMost(64.0))),
        Row::single("bowline endpoint, median", "ms", stats::median(&times), Some(Bar::AtMost(10.0))),
        Row::single("bowline endpoint, fastest", "ms", stats::min(&times), None),
    ])
}

/// Milliseconds from spawn to exit of `bowline endpoint`.
async fn endpoint_times(hub: &Side, bowline: &Path, browser: &Path, spawns: usize) -> Result<Vec<f64>> {
    let command = || -> Result<std::process::Command> {
        let mut command = hub.bowline(bowline, browser)?.into_std();
        command.arg("endpoint");
        Ok(command)
    };
    let output = command()?.output()?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let port = hub.port.to_string();
    ensure!(printed.contains(&port), "`bowline endpoint` printed {printed:?}, not the hub's port {port}");

    let mut times = Vec::with_capacity(spawns);
    for _ in 0..spawns {
        let mut command = command()?;
        command.stdout(Stdio::null());
        let start = Instant::now();
        // Blocking on purpose: nothing else runs here, and the runtime's own wait would be counted.
        let status = command.status()?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
        ensure!(status.success(), "`bowline endpoint` failed: {status}");
    }
    Ok(times)
}

/// Raises the limit on open files as far as allowed: a thousand clients need more than the usual one.
fn allow_many_files() -> Result<()> {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    rustix::process::setrlimit(Resource::Nofile, raised).context("cannot raise the limit on open files")
}
