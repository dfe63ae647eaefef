//! The floor: a browser with an extension that does nothing but pass messages between chrome.debugger and a
//! WebSocket (`xtask/bench/echo`). It opens two: one that ends in the client that measures, and one that ends in a
//! bare relay, a thread that copies frames between the extension and the client, as any relay must.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use serde_json::json;
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;

use crate::bench::cdp::{Cdp, Page, limits};
use crate::bench::measures::{IN_FLIGHT, Scale};
use crate::bench::side::{self, Side};
use crate::steps;

const LIMIT: Duration = Duration::from_secs(30);

pub struct Floor {
    /// The browser.
    pub side: Side,
    /// A tab at the other end of the extension's own socket.
    pub echo: Page,
    /// A tab behind the bare relay.
    pub relayed: Page,
    _extension: TempDir,
}

/// What the worker measured by itself.
#[derive(Deserialize)]
pub struct Alone {
    /// Microseconds.
    pub latency: f64,
    /// Per second, both.
    pub throughput: f64,
    pub events: f64,
}

impl Floor {
    pub async fn start(browser: &Path) -> Result<Self> {
        let echo = TcpListener::bind(("127.0.0.1", 0)).await?;
        let relay = std::net::TcpListener::bind(("127.0.0.1", 0))?;
        let relay_url = format!("ws://{}/", relay.local_addr()?);
        let sockets = json!([format!("ws://{}/", echo.local_addr()?), relay_url]);

        let extension = tempfile::Builder::new().prefix("bowline-bench-echo-").tempdir()?;
        let source = steps::root().join("xtask").join("bench").join("echo");
        for file in ["manifest.json", "background.js"] {
            fs::copy(source.join(file), extension.path().join(file))
                .with_context(|| format!("cannot copy {file} of the echo extension"))?;
        }
        fs::write(extension.path().join("sockets.json"), sockets.to_string())?;
        // It ends when either of its two connections does; the browser's does with the browser.
        thread::Builder::new().name("bare-relay".to_owned()).spawn(move || relay_frames(relay))?;

        let side = Side::direct(browser, &side::flags_with_extension(extension.path())).await?;
        let pages = async {
            let (stream, _) = echo.accept().await?;
            let echo = Page::of(Cdp::accepted(stream).await?);
            let mut relayed = Page::of(Cdp::connect(&relay_url).await?);
            relayed.call("Runtime.evaluate", json!({"expression": "1"})).await?;
            anyhow::Ok((echo, relayed))
        };
        match timeout(LIMIT, pages).await {
            Ok(Ok((echo, relayed))) => Ok(Self { side, echo, relayed, _extension: extension }),
            failed => {
                side.stop().await?;
                match failed {
                    Ok(Err(error)) => Err(error.context("the echo extension")),
                    _ => bail!("the echo extension did not connect within {} s", LIMIT.as_secs()),
                }
            }
        }
    }

    /// Lets the worker measure chrome.debugger without any socket.
    pub async fn measure_alone(&mut self, scale: Scale) -> Result<Alone> {
        let params = json!({
            "evaluations": scale.evaluations,
            "commands": scale.commands,
            "inFlight": IN_FLIGHT,
            "events": scale.events,
        });
        Ok(serde_json::from_value(self.echo.call("Floor.measure", params).await?)?)
    }

    pub async fn stop(self) -> Result<()> {
        self.side.stop().await
    }
}

/// Takes the extension's connection, then a client's, and copies frames as they are.
fn relay_frames(listener: std::net::TcpListener) {
    let work = async {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let (mut extension, mut client) = (accept(&listener).await?, accept(&listener).await?);
        loop {
            tokio::select! {
                Some(message) = extension.next() => client.send(message?).await?,
                Some(message) = client.next() => extension.send(message?).await?,
                else => return anyhow::Ok(()),
            }
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    // Both ends go away in any order when a heat is over; the client tells if it is too early.
    let _ = runtime.map(|runtime| runtime.block_on(work));
}

async fn accept(listener: &TcpListener) -> Result<WebSocketStream<TcpStream>> {
    let (stream, _) = listener.accept().await?;
    stream.set_nodelay(true)?;
    Ok(tokio_tungstenite::accept_async_with_config(stream, Some(limits())).await?)
}
