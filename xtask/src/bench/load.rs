//! The recorder under load: a page behind a hub that logs and fetches at even rates, and nobody else. What
//! is recorded of it, what that costs the hub, and what is left of it after a restart. Two hubs: one whose
//! bounds everything fits into, so that nothing may be missing, and one as it comes.

mod flushes;
mod records;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::json;
use tokio::time::sleep;

use super::cdp::{self, Cdp};
use super::report::{Bar, Part, Row};
use super::side::{Side, interruptible};
use super::site::Site;
use super::usage::{self, MIB};
use flushes::Flushes;
use records::Records;

/// Each per second.
const LINES: usize = 1_000;
const REQUESTS: usize = 100;

/// Bounds into which a minute of the load fits.
const ROOMY: [(&str, &str); 5] = [
    ("BOWLINE_RECORDER_MAX_CONSOLE", "100000"),
    ("BOWLINE_RECORDER_MAX_REQUESTS", "20000"),
    ("BOWLINE_RECORDER_MAX_CONSOLE_BYTES", "512MiB"),
    ("BOWLINE_RECORDER_MAX_NETWORK_BYTES", "512MiB"),
    ("BOWLINE_HISTORY_MAX_BYTES", "2GiB"),
];

const NONE: Option<Bar> = Some(Bar::AtMost(0.0));
/// Percent of one core.
const PROCESSOR: Option<Bar> = Some(Bar::AtMost(15.0));
/// MiB by which a hub may grow that keeps 4 MiB of the console and 8 MiB of requests at most.
const GROWTH: Option<Bar> = Some(Bar::AtMost(12.0));

/// After this long a hub that has nothing to do has settled, and has written everything.
const SETTLE: Duration = Duration::from_secs(2);
/// How much longer than planned a page may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A hub that may forget nothing.
pub async fn keep_all(bowline: &Path, browser: &Path, site: &Site, seconds: usize) -> Result<Part> {
    let hub = Side::hub(bowline, browser, &ROOMY).await?;
    let work = async {
        let load = Load::make(&hub, site, seconds).await?;
        let records = Records::read(&hub, &load.target).await?;
        Ok((load, records, usage::resident(hub.pid)?))
    };
    let (load, records, after_reading) = match interruptible(work).await {
        Ok(done) => done,
        Err(error) => {
            hub.stop().await?;
            return Err(error);
        }
    };
    let hub = hub.restart(bowline, browser, &ROOMY).await?;
    let again = interruptible(Records::read(&hub, &load.target)).await;
    let start = hub.start;
    hub.stop().await?;
    let again = again?;

    let (lines, requests) = (LINES * seconds, REQUESTS * seconds);
    let lost = |expected: usize, kept: usize| expected.saturating_sub(kept) as f64;
    let lost_on_disk = lost(lines, again.lines.len()) + lost(requests, again.requests.len());
    let mut rows = vec![
        Row::single("lines lost", "lines", lost(lines, records.lines.len()), NONE),
        Row::single("requests lost", "requests", lost(requests, records.requests.len()), NONE),
        Row::single("lost after a restart", "records", lost_on_disk, NONE),
    ];
    rows.extend(load.rows());
    rows.extend([
        Row::single("hub RSS after reading all", "MiB", after_reading as f64 / MIB, None),
        Row::single("start with this history", "ms", milliseconds(start), None),
    ]);
    let about = format!(
        "A page logs {LINES} lines and makes {REQUESTS} requests per second for {seconds} s, behind a hub with room\n\
         for all of it. Lost is what the REST routes do not give back at the end."
    );
    Ok(Part { title: "The recorder under load", about, sides: ["", "bowline"], rows })
}

/// A hub with the bounds that it has when nothing is said.
pub async fn keep_latest(bowline: &Path, browser: &Path, site: &Site, seconds: usize) -> Result<Part> {
    let hub = Side::hub(bowline, browser, &[]).await?;
    let work = async {
        let load = Load::make(&hub, site, seconds).await?;
        let records = Records::read(&hub, &load.target).await?;
        Ok((load, records))
    };
    let done = interruptible(work).await;
    hub.stop().await?;
    let (load, records) = done?;

    let (lines, requests) = (LINES * seconds, REQUESTS * seconds);
    for (what, kept, made) in [("lines", &records.lines, lines), ("requests", &records.requests, requests)] {
        let latest = (made - kept.len().min(made)..made).collect::<Vec<usize>>();
        ensure!(*kept == latest, "the {} {what} that were kept are not the latest of {made}", kept.len());
    }
    let unknown = |made: usize, known: u64| made.saturating_sub(known as usize) as f64;
    let mut rows = vec![
        Row::single("lines neither kept nor counted", "lines", unknown(lines, records.all_lines), NONE),
        Row::single("requests, likewise", "requests", unknown(requests, records.all_requests), NONE),
        Row::single("lines kept", "lines", records.lines.len() as f64, None),
        Row::single("requests kept", "requests", records.requests.len() as f64, None),
    ];
    rows.extend(load.rows());
    let growth = load.peak.saturating_sub(load.before) as f64 / MIB;
    rows.push(Row::single("hub RSS, growth at its peak", "MiB", growth, GROWTH));
    let about = format!("The same for {seconds} s behind a hub as it comes, which keeps the latest of it.");
    Ok(Part { title: "The recorder at its bounds", about, sides: ["", "bowline"], rows })
}

/// What making the load cost.
struct Load {
    target: String,
    /// Time on a processor, of the time that it took.
    processor: Duration,
    took: Duration,
    /// Resident memory: before the page, at most during the load, some time after it.
    before: u64,
    peak: u64,
    after: u64,
    /// Bytes to disk.
    written: u64,
    /// The longest time between two writes to the archive.
    flush_pause: Duration,
    page: PageSays,
}

#[derive(Deserialize)]
struct PageSays {
    failed: usize,
    /// The longest time between two steps, in milliseconds.
    pause: f64,
}

impl Load {
    async fn make(hub: &Side, site: &Site, seconds: usize) -> Result<Self> {
        let url = hub.browser_url().await?;
        sleep(SETTLE).await;
        let before = usage::resident(hub.pid)?;

        let mut browser = Cdp::connect(&url).await?;
        let page = format!("/load?seconds={seconds}&lines={LINES}&requests={REQUESTS}");
        let created = browser.call(None, "Target.createTarget", json!({"url": site.url(&page)})).await?;
        let target = cdp::text(&created, "targetId")?;
        // Whoever listens would be part of what is measured.
        browser.close().await;

        site.told("begun", PATIENCE).await?;
        let (start, processor, written) =
            (Instant::now(), usage::processor(hub.pid)?, usage::written(hub.pid)?);
        let mut flushes = Flushes::of(hub);
        let limit = Duration::from_secs(seconds as u64) + PATIENCE;
        let told = tokio::select! {
            told = site.told("done", limit) => told.context("the load did not end")?,
            error = flushes.watch() => return Err(error),
        };
        let (took, processor) = (start.elapsed(), usage::processor(hub.pid)?.saturating_sub(processor));
        let page: PageSays = serde_json::from_str(&told.body)?;
        ensure!(page.failed == 0, "{} requests of the page failed", page.failed);

        let peak = usage::peak(hub.pid)?;
        sleep(SETTLE).await;
        let written = usage::written(hub.pid)?.saturating_sub(written);
        let after = usage::resident(hub.pid)?;
        Ok(Self {
            target,
            processor,
            took,
            before,
            peak,
            after,
            written,
            flush_pause: flushes.longest_pause(),
            page,
        })
    }

    fn rows(&self) -> Vec<Row> {
        let took = self.took.as_secs_f64();
        let mib = |bytes: u64| bytes as f64 / MIB;
        vec![
            Row::single("hub CPU", "% of a core", self.processor.as_secs_f64() / took * 100.0, PROCESSOR),
            Row::single("hub RSS before", "MiB", mib(self.before), None),
            Row::single("hub RSS at its peak", "MiB", mib(self.peak), None),
            Row::single("hub RSS after", "MiB", mib(self.after), None),
            Row::single("written to disk", "MB/s", self.written as f64 / 1e6 / took, None),
            Row::single("longest pause between writes", "ms", milliseconds(self.flush_pause), None),
            Row::single("longest pause of the page", "ms", self.page.pause, None),
        ]
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
