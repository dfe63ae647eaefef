//! One server for agents, with a Chromium of its own that all of its measurements use: Bowline, behind a hub that is
//! attached to that Chromium, or a peer that is connected to it. What a raw client of the same Chromium takes is
//! measured right beside it.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use serde_json::json;
use tokio::process::Command;

use super::super::cdp::Page;
use super::super::side::{self, Side};
use super::peers::Peer;
use super::server::{Server, Tool};
use crate::node::Node;

/// As `bowline eval` and its like say it.
const EVALUATE: &str = r#"{"expression":"1+1","returnByValue":true}"#;
/// Nothing of a snapshot is left out.
const WHOLE: usize = 10_000_000;

enum Who<'a> {
    Bowline { hub: Box<Side>, bowline: &'a Path, browser: &'a Path },
    Peer { peer: &'a Peer, node: &'a Node, program: PathBuf },
}

pub struct Contender<'a> {
    who: Who<'a>,
    chromium: Side,
    /// A server that stays, and a raw client of the tab that it has opened.
    session: Option<(Server, Page)>,
}

impl<'a> Contender<'a> {
    pub async fn bowline(bowline: &'a Path, browser: &'a Path) -> Result<Self> {
        let chromium = Side::direct(browser, &side::usual_flags()).await?;
        let hub = Box::new(Side::hub(bowline, browser, &[]).await?);
        let mut attach = hub.bowline(bowline, browser)?;
        let status = attach.args(["attach", &chromium.http_url()]).stdout(Stdio::null()).status().await?;
        ensure!(status.success(), "`bowline attach` failed: {status}");
        Ok(Self { who: Who::Bowline { hub, bowline, browser }, chromium, session: None })
    }

    pub async fn peer(peer: &'a Peer, node: &'a Node, browser: &Path) -> Result<Self> {
        let program = peer.ensure(node)?;
        let chromium = Side::direct(browser, &side::usual_flags()).await?;
        Ok(Self { who: Who::Peer { peer, node, program }, chromium, session: None })
    }

    pub fn name(&self) -> &'static str {
        match &self.who {
            Who::Bowline { .. } => "bowline",
            Who::Peer { peer, .. } => peer.name,
        }
    }

    pub fn is_bowline(&self) -> bool {
        matches!(self.who, Who::Bowline { .. })
    }

    /// Name and version of its browser.
    pub async fn product(&self) -> Result<String> {
        self.chromium.product().await
    }

    /// Starts a server; also returns the milliseconds until it was there.
    pub async fn start(&self) -> Result<(Server, f64)> {
        let command = match &self.who {
            Who::Bowline { .. } => self.program(&["mcp"])?,
            Who::Peer { peer, .. } => {
                let args = peer.server_args(&self.chromium.http_url());
                self.program(&args.iter().map(String::as_str).collect::<Vec<_>>())?
            }
        };
        Server::start(command).await
    }

    pub fn evaluation(&self) -> Tool {
        match &self.who {
            Who::Bowline { .. } => Tool { name: "browser_evaluate", arguments: json!({"expression": "1+1"}) },
            Who::Peer { peer, .. } => (peer.evaluate)(),
        }
    }

    fn opening(&self, address: &str) -> Tool {
        match &self.who {
            Who::Bowline { .. } => Tool { name: "browser_navigate", arguments: json!({"url": address}) },
            Who::Peer { peer, .. } => (peer.open)(address),
        }
    }

    fn snapshot(&self) -> Tool {
        match &self.who {
            Who::Bowline { .. } => Tool { name: "browser_snapshot", arguments: json!({"max_chars": WHOLE}) },
            Who::Peer { peer, .. } => (peer.snapshot)(),
        }
    }

    /// Opens a page in a session that stays, with a raw client of the same tab beside it.
    pub async fn open(&mut self, address: &str) -> Result<()> {
        let (mut server, _) = self.start().await?;
        server.call(&self.opening(address)).await?;
        let page = Page::at(&self.chromium.browser_url().await?, address).await?;
        self.session = Some((server, page));
        Ok(())
    }

    /// Opens the page anew, in the same tab.
    pub async fn reopen(&mut self, address: &str) -> Result<()> {
        let opening = self.opening(address);
        self.server()?.call(&opening).await?;
        Ok(())
    }

    /// Milliseconds of an evaluation: raw, and by the server.
    pub async fn evaluate(&mut self) -> Result<[f64; 2]> {
        let raw = self.raw("Runtime.evaluate", EVALUATE).await?;
        let tool = self.evaluation();
        Ok([raw, self.server()?.call(&tool).await?])
    }

    /// Milliseconds of looking at the whole page.
    pub async fn look(&mut self) -> Result<f64> {
        let tool = self.snapshot();
        self.server()?.call(&tool).await
    }

    /// The same by a raw client.
    pub async fn look_raw(&mut self) -> Result<f64> {
        self.raw("Accessibility.getFullAXTree", "{}").await
    }

    async fn raw(&mut self, method: &str, params: &str) -> Result<f64> {
        let (_, page) = self.session.as_mut().context("no page is open")?;
        let begun = Instant::now();
        let id = page.send(method, params).await?;
        page.cdp.reply(id).await?;
        Ok(begun.elapsed().as_secs_f64() * 1e3)
    }

    fn server(&mut self) -> Result<&mut Server> {
        self.session.as_mut().map(|(server, _)| server).context("no page is open")
    }

    pub fn has_shell(&self) -> bool {
        match &self.who {
            Who::Bowline { .. } => true,
            Who::Peer { peer, .. } => peer.shell.is_some(),
        }
    }

    /// Milliseconds of an evaluation by a process of its own: one that does nothing else, and the contender's.
    pub fn shell(&self, bare: &Path) -> Result<[f64; 2]> {
        let (_, page) = self.session.as_ref().context("no page is open")?;
        let mut bare = std::process::Command::new(bare);
        bare.arg(format!("ws://127.0.0.1:{}/devtools/page/{}", self.chromium.port, page.target))
            .stderr(Stdio::null());
        let own = match &self.who {
            Who::Bowline { .. } => self.program(&["eval", "1+1"])?,
            Who::Peer { peer, .. } => self.program(peer.shell.context("it has no command line")?)?,
        };
        Ok([run(bare)?, run(own.into_std())?])
    }

    /// Ends all of it.
    pub async fn stop(mut self) -> Result<()> {
        if let Some((server, page)) = self.session.take() {
            page.cdp.close().await;
            server.end().await?;
        }
        if let Who::Peer { peer: Peer { goodbye: Some(words), .. }, .. } = &self.who {
            self.program(words)?.stdout(Stdio::null()).status().await?;
        }
        if let Who::Bowline { hub, .. } = self.who {
            hub.stop().await?;
        }
        self.chromium.stop().await
    }

    fn program(&self, words: &[&str]) -> Result<Command> {
        let mut command = match &self.who {
            Who::Bowline { hub, bowline, browser } => hub.bowline(bowline, browser)?,
            Who::Peer { peer, node, program } => {
                self.chromium.command(peer.command(node, program, &self.chromium.http_url()))?
            }
        };
        command.args(words);
        Ok(command)
    }
}

/// Milliseconds from start to exit.
fn run(mut command: std::process::Command) -> Result<f64> {
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let begun = Instant::now();
    // Blocking on purpose: nothing else runs here, and the runtime's own wait would be counted.
    let output = command.output()?;
    let took = begun.elapsed().as_secs_f64() * 1e3;
    let printed = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success() && printed.trim() == "2", "an evaluation of 1+1 printed {printed:?}");
    Ok(took)
}
