//! How long Playwright's `connectOverCDP` takes on a browser with some tabs. Rust makes the tabs, and
//! `xtask/bench/connect.mjs` measures inside node, so that starting node is not counted.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;
use tokio::time::{sleep, timeout};

use super::cdp::{self, Cdp};
use super::side::Side;
use crate::install::Permission;
use crate::node::Node;
use crate::steps;

pub const TABS: [usize; 3] = [1, 20, 50];
const LIMIT: Duration = Duration::from_secs(600);

/// Node.js and the directory that has playwright-core.
pub struct Client {
    node: Node,
    e2e: PathBuf,
}

impl Client {
    pub fn ensure() -> Result<Self> {
        let node = Node::ensure(Permission::OnlyReport)?;
        Ok(Self { e2e: node.ensure_packages("e2e", Permission::Install)?, node })
    }

    /// A script of `xtask/bench`, with its first argument.
    fn script(&self, name: &str) -> Command {
        let mut command = Command::from(self.node.command("node"));
        command.arg(steps::root().join("xtask").join("bench").join(name)).arg(&self.e2e);
        command.kill_on_drop(true);
        command
    }

    /// Does something while Playwright is connected to an endpoint with so many tabs. Also returns the time from the start
    /// of its process until it was.
    pub async fn while_connected<T>(
        &self,
        url: &str,
        tabs: usize,
        work: impl Future<Output = Result<T>>,
    ) -> Result<(Duration, T)> {
        let mut command = self.script("hold.mjs");
        command.arg(url).arg(tabs.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let start = Instant::now();
        let mut child = command.spawn().context("cannot start node")?;
        let mut said = String::new();
        if let Some(stdout) = child.stdout.take() {
            timeout(LIMIT, BufReader::new(stdout).read_line(&mut said)).await.context("no connection")??;
        }
        let took = start.elapsed();
        ensure!(said.trim() == "connected", "hold.mjs did not connect");
        let done = work.await;
        // The end of its input is what it waits for.
        drop(child.stdin.take());
        timeout(LIMIT, child.wait()).await.context("hold.mjs did not end")??;
        Ok((took, done?))
    }
}

/// Opens or closes tabs until there are exactly `count`.
pub async fn set_tabs(side: &Side, count: usize) -> Result<()> {
    let mut browser = Cdp::connect(&side.browser_url().await?).await?;
    loop {
        let pages = pages(&mut browser).await?;
        if pages.len() == count {
            break;
        }
        for _ in pages.len()..count {
            browser.call(None, "Target.createTarget", json!({"url": "about:blank"})).await?;
        }
        for target in pages.iter().skip(count) {
            browser.call(None, "Target.closeTarget", json!({"targetId": target})).await?;
        }
        // Closing is answered before the tab has gone. One that is still listed must not be counted
        // as a tab, so look again until nothing had to be done.
        sleep(Duration::from_millis(200)).await;
    }
    browser.close().await;
    Ok(())
}

async fn pages(browser: &mut Cdp) -> Result<Vec<String>> {
    let targets = browser.call(None, "Target.getTargets", json!({})).await?;
    let targets = targets["targetInfos"].as_array().cloned().unwrap_or_default();
    targets.iter().filter(|target| target["type"] == "page").map(|page| cdp::text(page, "targetId")).collect()
}

/// Milliseconds of each round of one side.
#[derive(Deserialize)]
pub struct Taken {
    pub times: Vec<f64>,
    /// Of the client's own process.
    pub processor: Vec<f64>,
}

/// Measures both sides, which have `tabs` tabs each, alternately.
pub async fn measure(client: &Client, urls: [String; 2], tabs: usize, rounds: usize) -> Result<[Taken; 2]> {
    let mut command = client.script("connect.mjs");
    command.args(urls).arg(rounds.to_string()).arg(tabs.to_string());
    let output = timeout(LIMIT, command.output()).await.context("connectOverCDP took too long")??;
    if !output.status.success() {
        bail!("connect.mjs failed:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    serde_json::from_slice(&output.stdout).context("connect.mjs printed no JSON")
}
