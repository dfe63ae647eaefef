//! A client of an MCP server on the stdin and stdout of a child: one request at a time, a line each way. Never knows
//! whose server it is.

use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use super::super::side;
use super::super::usage::resident;

/// No answer takes this long unless something hangs.
const LIMIT: Duration = Duration::from_secs(60);
const END_LIMIT: Duration = Duration::from_secs(5);

/// A tool with what it is called with.
#[derive(Clone)]
pub struct Tool {
    pub name: &'static str,
    pub arguments: Value,
}

pub struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    last_id: u32,
}

/// The part of a message that tells an answer from what else a server says.
#[derive(Deserialize)]
struct Envelope {
    id: Option<Value>,
    method: Option<String>,
}

impl Server {
    /// Starts one and introduces itself; also returns the milliseconds until `initialize` was answered.
    pub async fn start(mut command: Command) -> Result<(Self, f64)> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let begun = Instant::now();
        let mut child = command.spawn().context("cannot start the server")?;
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().context("the server has no stdout")?);
        let mut server = Self { child, stdin, stdout, last_id: 0 };
        let client = json!({"name": "bench", "version": "1"});
        let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
        server.ask("initialize", &params).await?;
        let took = begun.elapsed().as_secs_f64() * 1e3;
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await?;
        Ok((server, took))
    }

    /// Calls a tool; the milliseconds that it took.
    pub async fn call(&mut self, tool: &Tool) -> Result<f64> {
        let params = json!({"name": tool.name, "arguments": tool.arguments});
        let begun = Instant::now();
        let line = self.ask("tools/call", &params).await?;
        let took = begun.elapsed().as_secs_f64() * 1e3;
        let answer: Value = serde_json::from_str(&line)?;
        let is_done = answer["result"].is_object() && answer["result"]["isError"] != true;
        ensure!(is_done, "{} was refused: {}", tool.name, line.chars().take(300).collect::<String>());
        Ok(took)
    }

    /// Bytes of the answer to `tools/list`, of all its pages.
    pub async fn listed(&mut self) -> Result<usize> {
        let (mut bytes, mut params) = (0, json!({}));
        loop {
            let line = self.ask("tools/list", &params).await?;
            bytes += line.trim_end().len();
            let answer: Value = serde_json::from_str(&line)?;
            ensure!(answer["result"]["tools"].is_array(), "the server listed no tools");
            match &answer["result"]["nextCursor"] {
                Value::String(cursor) => params = json!({"cursor": cursor}),
                _ => return Ok(bytes),
            }
        }
    }

    /// Resident memory of it and of all that it has started, in bytes.
    pub fn resident(&self) -> Result<u64> {
        let (mut sum, mut left) = (0, vec![self.child.id().context("the server has ended")?]);
        while let Some(pid) = left.pop() {
            sum += resident(pid)?;
            left.extend(side::children(pid)?);
        }
        Ok(sum)
    }

    /// Ends it as a host does: by the end of its input.
    pub async fn end(mut self) -> Result<()> {
        drop(self.stdin.take());
        if timeout(END_LIMIT, self.child.wait()).await.is_err() {
            self.child.kill().await?;
        }
        Ok(())
    }

    /// The line with the answer.
    async fn ask(&mut self, method: &str, params: &Value) -> Result<String> {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await?;
        let answered = timeout(LIMIT, self.answer(id)).await;
        answered.with_context(|| format!("{method} was not answered in time"))?
    }

    async fn send(&mut self, message: &Value) -> Result<()> {
        let stdin = self.stdin.as_mut().context("the server's input is closed")?;
        stdin.write_all(format!("{message}\n").as_bytes()).await.context("the server does not listen")
    }

    async fn answer(&mut self, id: u32) -> Result<String> {
        loop {
            let mut line = String::new();
            if self.stdout.read_line(&mut line).await? == 0 {
                bail!("the server has ended");
            }
            let Ok(envelope) = serde_json::from_str::<Envelope>(&line) else { continue };
            if envelope.method.is_none() && envelope.id == Some(json!(id)) {
                return Ok(line);
            }
        }
    }
}
