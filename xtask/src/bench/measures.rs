//! What is measured over one WebSocket, each once per round and side: latency, throughput, events,
//! payload. Each takes a page and returns samples; it never knows which side the page is on.

use std::time::Instant;

use anyhow::{Result, bail, ensure};
use serde_json::{Value, json};

use super::cdp::{Envelope, Page};

const SMALL: &str = r#"{"expression":"1+1","returnByValue":true}"#;
pub const IN_FLIGHT: usize = 64;
/// Five megabytes, as MB/s are counted in millions.
const PAYLOAD: usize = 5_000_000;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Measure {
    /// Microseconds of each of a row of evaluations, one after the other.
    Latency,
    /// Commands per second with 64 in flight.
    Throughput,
    /// Console events per second, from the command that causes them to the last of them.
    Events,
    /// MB/s of a large result.
    PayloadOut,
    /// MB/s of a large expression.
    PayloadIn,
}

/// How much is done per round.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    pub evaluations: usize,
    pub commands: usize,
    pub events: usize,
    pub payloads: usize,
}

impl Scale {
    pub const FULL: Self = Self { evaluations: 1_000, commands: 4_000, events: 20_000, payloads: 4 };
    pub const QUICK: Self = Self { evaluations: 500, commands: 4_000, events: 20_000, payloads: 2 };
    pub const WARM_UP: Self = Self { evaluations: 500, commands: 2_000, events: 2_000, payloads: 1 };
}

impl Measure {
    pub const ALL: [Self; 5] =
        [Self::Latency, Self::Throughput, Self::Events, Self::PayloadOut, Self::PayloadIn];

    /// How often it is measured per round. What is short and varies much takes more turns.
    pub fn turns(self) -> usize {
        if self == Self::Throughput { 4 } else { 1 }
    }

    pub async fn take(self, page: &mut Page, scale: Scale) -> Result<Vec<f64>> {
        match self {
            Self::Latency => latencies(page, scale.evaluations).await,
            Self::Throughput => Ok(vec![throughput(page, scale.commands).await?]),
            Self::Events => Ok(vec![events(page, scale.events).await?]),
            Self::PayloadOut => payloads_out(page, scale.payloads).await,
            Self::PayloadIn => payloads_in(page, scale.payloads).await,
        }
    }
}

async fn latencies(page: &mut Page, count: usize) -> Result<Vec<f64>> {
    let mut samples = Vec::with_capacity(count);
    for _ in 0..count {
        let start = Instant::now();
        let id = page.send("Runtime.evaluate", SMALL).await?;
        page.cdp.reply(id).await?;
        samples.push(start.elapsed().as_secs_f64() * 1e6);
    }
    Ok(samples)
}

async fn throughput(page: &mut Page, count: usize) -> Result<f64> {
    let start = Instant::now();
    let (mut sent, mut answered) = (0, 0);
    while sent < IN_FLIGHT.min(count) {
        page.send("Runtime.evaluate", SMALL).await?;
        sent += 1;
    }
    while answered < count {
        let frame = page.cdp.frame().await?;
        let envelope = Envelope::parse(&frame)?;
        if envelope.id.is_none() {
            continue;
        }
        ensure!(envelope.result.is_some(), "an evaluation was refused: {frame}");
        answered += 1;
        if sent < count {
            page.send("Runtime.evaluate", SMALL).await?;
            sent += 1;
        }
    }
    Ok(count as f64 / start.elapsed().as_secs_f64())
}

async fn events(page: &mut Page, count: usize) -> Result<f64> {
    page.call("Runtime.enable", json!({})).await?;
    let expression = format!("for (let i = 0; i < {count}; i++) console.log(i)");
    let params = json!({"expression": expression}).to_string();
    let start = Instant::now();
    page.send("Runtime.evaluate", &params).await?;
    let mut seen = 0;
    while seen < count {
        let frame = page.cdp.frame().await?;
        if Envelope::parse(&frame)?.method == Some("Runtime.consoleAPICalled") {
            seen += 1;
        }
    }
    let took = start.elapsed();
    // Disabled and emptied, so that the next round starts as this one did.
    page.call("Runtime.discardConsoleEntries", json!({})).await?;
    page.call("Runtime.disable", json!({})).await?;
    Ok(count as f64 / took.as_secs_f64())
}

async fn payloads_out(page: &mut Page, count: usize) -> Result<Vec<f64>> {
    let params = json!({"expression": format!("'x'.repeat({PAYLOAD})"), "returnByValue": true}).to_string();
    let mut samples = Vec::with_capacity(count);
    for _ in 0..count {
        let start = Instant::now();
        page.send("Runtime.evaluate", &params).await?;
        let frame = page.cdp.frame().await?;
        let took = start.elapsed();
        ensure!(frame.len() > PAYLOAD, "expected {PAYLOAD} bytes, got {}", frame.len());
        samples.push(megabytes_per_second(took));
    }
    Ok(samples)
}

async fn payloads_in(page: &mut Page, count: usize) -> Result<Vec<f64>> {
    let expression = format!("'{}'.length", "x".repeat(PAYLOAD));
    let params = json!({"expression": expression, "returnByValue": true}).to_string();
    let mut samples = Vec::with_capacity(count);
    for _ in 0..count {
        let start = Instant::now();
        page.send("Runtime.evaluate", &params).await?;
        let frame = page.cdp.frame().await?;
        let took = start.elapsed();
        let reply: Value = serde_json::from_str(&frame)?;
        if reply["result"]["result"]["value"] != json!(PAYLOAD) {
            bail!("the expression did not arrive whole: {frame}");
        }
        samples.push(megabytes_per_second(took));
    }
    Ok(samples)
}

fn megabytes_per_second(took: std::time::Duration) -> f64 {
    PAYLOAD as f64 / 1e6 / took.as_secs_f64()
}
