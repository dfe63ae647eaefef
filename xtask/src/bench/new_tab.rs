//! How long a new tab takes: `Target.createTarget` with an address, until it is answered and until the
//! page has loaded. The page tells the site that it has, so no session is needed that one side may have
//! to wait for.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::json;
use tokio::time::sleep;

use super::cdp::{self, Cdp};
use super::site::Site;

/// Tabs of one round.
pub const TABS: usize = 3;
const LIMIT: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(20);

/// Milliseconds until the answer and until `load`. The tab is gone when this returns.
pub async fn take(browser: &mut Cdp, site: &Site) -> Result<[f64; 2]> {
    let query = format!("tab={}", site.fresh_number());
    let params = json!({"url": site.url(&format!("/plain?{query}"))});
    let start = Instant::now();
    let created = browser.call(None, "Target.createTarget", params).await?;
    let answered = start.elapsed();
    let loaded = site.told(&query, LIMIT).await.context("a new tab did not load")?.at - start;
    let target = cdp::text(&created, "targetId")?;
    browser.call(None, "Target.closeTarget", json!({"targetId": target})).await?;
    // Closing is answered before the tab has gone, and must not slow the next one down.
    while is_there(browser, &target).await? {
        ensure!(start.elapsed() < LIMIT, "a tab did not close");
        sleep(PAUSE).await;
    }
    Ok([answered, loaded].map(|time| time.as_secs_f64() * 1e3))
}

async fn is_there(browser: &mut Cdp, target: &str) -> Result<bool> {
    let targets = browser.call(None, "Target.getTargets", json!({})).await?;
    let targets = targets["targetInfos"].as_array().context("no list of targets")?;
    Ok(targets.iter().any(|info| info["targetId"] == target))
}
