//! A second session that hears the console of a page, as the recorder's does. A browser tells each of them
//! everything, so a page that is heard twice logs more slowly, whoever listens.

use anyhow::Result;
use serde_json::json;
use tokio::task::JoinSet;

use super::cdp::{self, Cdp, Page};

/// Hears until dropped.
pub struct Listener(#[expect(dead_code, reason = "held for its end")] JoinSet<()>);

impl Listener {
    pub async fn on(page: &Page, browser_url: &str) -> Result<Self> {
        let mut client = Cdp::connect(browser_url).await?;
        let params = json!({"targetId": page.target, "flatten": true});
        let attached = client.call(None, "Target.attachToTarget", params).await?;
        let session = cdp::text(&attached, "sessionId")?;
        client.call(Some(&session), "Runtime.enable", json!({})).await?;
        let mut hearing = JoinSet::new();
        hearing.spawn(async move { while client.frame().await.is_ok() {} });
        Ok(Self(hearing))
    }
}
