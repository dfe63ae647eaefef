//! A person's own browser: one with Bowline's extension in it, and a hub that it is paired with. The extension is a
//! copy with a preset beside its manifest, because nobody is there to press its buttons.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::sleep;

use crate::bench::cdp::{self, Cdp};
use crate::bench::rest;
use crate::bench::side::{self, Side};
use crate::steps;

const LIMIT: Duration = Duration::from_secs(30);
/// 32 hexadecimal digits; each hub here has one extension only.
const INSTANCE: &str = "b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0";

pub struct Own {
    pub hub: Side,
    /// The browser, with a port of its own besides, for looking into the worker and making tabs.
    pub browser: Side,
    /// The path of its endpoint at the hub.
    prefix: String,
    _extension: TempDir,
}

impl Own {
    pub async fn start(bowline: &Path, browser: &Path) -> Result<Self> {
        let hub = Side::hub(bowline, browser, &[]).await?;
        match Self::pair_and_launch(&hub, browser).await {
            Ok((browser, prefix, extension)) => Ok(Self { hub, browser, prefix, _extension: extension }),
            Err(error) => {
                hub.stop().await?;
                Err(error)
            }
        }
    }

    async fn pair_and_launch(hub: &Side, browser: &Path) -> Result<(Side, String, TempDir)> {
        let who = json!({"name": "Chromium", "version": "1", "userAgent": ""});
        let paired =
            rest::post(hub, "/extensions/native", &json!({"instance": INSTANCE, "browser": who})).await?;
        let name = cdp::text(&paired, "name")?;
        let preset = json!({"hub": hub.http_url(), "instance": INSTANCE, "key": cdp::text(&paired, "key")?});

        let extension = tempfile::Builder::new().prefix("bowline-bench-extension-").tempdir()?;
        copy_all(&steps::root().join("extension"), extension.path()).context("cannot copy the extension")?;
        fs::write(extension.path().join("preset.json"), preset.to_string())?;
        let browser = Side::direct(browser, &side::flags_with_extension(extension.path())).await?;
        if let Err(error) = wait_until_ready(hub, &name).await {
            browser.stop().await?;
            return Err(error);
        }
        Ok((browser, format!("/t/{}/b/{name}", hub.token()?), extension))
    }

    /// What clients connect to.
    pub fn endpoint(&self) -> String {
        format!("{}{}", self.hub.http_url(), self.prefix)
    }

    pub async fn browser_url(&self) -> Result<String> {
        let version = cdp::get_json(self.hub.port, &format!("{}/json/version", self.prefix)).await?;
        cdp::text(&version, "webSocketDebuggerUrl")
    }

    /// Waits until the hub has heard of all tabs.
    pub async fn has_tabs(&self, count: usize) -> Result<()> {
        let start = Instant::now();
        loop {
            let list = cdp::get_json(self.hub.port, &format!("{}/json/list", self.prefix)).await?;
            let known = list.as_array().into_iter().flatten().filter(|one| one["type"] == "page").count();
            if known == count {
                return Ok(());
            }
            ensure!(start.elapsed() < LIMIT, "the hub knows {known} tabs of {count}");
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// How many tabs have a debugger, as the worker of the extension sees it.
    pub async fn attached(&self) -> Result<usize> {
        let mut browser = Cdp::connect(&self.browser.browser_url().await?).await?;
        let targets = browser.call(None, "Target.getTargets", json!({})).await?;
        let mut targets = targets["targetInfos"].as_array().into_iter().flatten();
        let worker =
            targets.find(|one| one["type"] == "service_worker").context("the worker does not run")?;
        let params = json!({"targetId": worker["targetId"], "flatten": true});
        let session = cdp::text(&browser.call(None, "Target.attachToTarget", params).await?, "sessionId")?;
        let expression = "chrome.debugger.getTargets().then((all) => all.filter((one) => one.tabId && one.attached).length)";
        let params = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let answer: Value = browser.call(Some(&session), "Runtime.evaluate", params).await?;
        browser.close().await;
        let count = answer["result"]["value"].as_u64();
        Ok(count.with_context(|| format!("the worker answered {answer}"))? as usize)
    }

    /// Waits until no tab has a debugger any more.
    pub async fn lets_go(&self) -> Result<()> {
        let start = Instant::now();
        while self.attached().await? > 0 {
            ensure!(start.elapsed() < LIMIT, "a tab stays attached although nobody drives it");
            sleep(Duration::from_millis(100)).await;
        }
        Ok(())
    }

    pub async fn stop(self) -> Result<()> {
        self.browser.stop().await?;
        self.hub.stop().await
    }
}

async fn wait_until_ready(hub: &Side, name: &str) -> Result<()> {
    let start = Instant::now();
    while start.elapsed() < LIMIT {
        let status = rest::get(hub, "/status").await?;
        let mut browsers = status["browsers"].as_array().into_iter().flatten();
        if browsers.any(|browser| browser["name"] == name && browser["state"] == "ready") {
            return Ok(());
        }
        sleep(Duration::from_millis(50)).await;
    }
    bail!("the extension did not connect within {} s", LIMIT.as_secs())
}

fn copy_all(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_all(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
