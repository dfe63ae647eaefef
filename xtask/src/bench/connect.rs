//! How long Playwright's `connectOverCDP` takes on a browser with some tabs. Rust makes the tabs, and
//! `xtask/bench/connect.mjs` measures inside node, so that starting node is not counted.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::json;
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
        Ok(Self { e2e: node.ensure_packages(Permission::Install)?, node })
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

/// Measures both sides, which have `tabs` tabs each, alternately. Returns the milliseconds of each.
pub async fn measure(
    client: &Client,
    sides: [&Side; 2],
    tabs: usize,
    rounds: usize,
) -> Result<[Vec<f64>; 2]> {
    let mut command = Command::from(client.node.command("node"));
    command.arg(steps::root().join("xtask").join("bench").join("connect.mjs")).arg(&client.e2e);
    command.args(sides.map(Side::http_url)).arg(rounds.to_string()).arg(tabs.to_string());
    command.kill_on_drop(true);
    let output = timeout(LIMIT, command.output()).await.context("connectOverCDP took too long")??;
    if !output.status.success() {
        bail!("connect.mjs failed:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    serde_json::from_slice(&output.stdout).context("connect.mjs printed no JSON")
}
