//! A raw CDP client: one WebSocket, one message at a time, as little work per message as possible.
//! The same code talks to both sides, so what it costs is in both numbers alike.

use anyhow::{Context, Result, bail};
use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

pub struct Cdp {
    socket: WebSocketStream<TcpStream>,
    last_id: u32,
}

/// The part of a message that tells replies and events apart.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Envelope<'a> {
    pub id: Option<u32>,
    #[serde(borrow)]
    pub method: Option<&'a str>,
    #[serde(borrow)]
    pub result: Option<&'a RawValue>,
    #[serde(borrow)]
    pub error: Option<&'a RawValue>,
}

impl<'a> Envelope<'a> {
    pub fn parse(frame: &'a str) -> Result<Self> {
        serde_json::from_str(frame).with_context(|| format!("not a CDP message: {}", head(frame)))
    }
}

impl Cdp {
    pub async fn connect(url: &str) -> Result<Self> {
        let authority = url.strip_prefix("ws://").and_then(|rest| rest.split('/').next());
        let authority = authority.with_context(|| format!("not a ws:// URL: {url}"))?;
        let stream =
            TcpStream::connect(authority).await.with_context(|| format!("cannot connect to {authority}"))?;
        stream.set_nodelay(true)?;
        let (socket, _) = tokio_tungstenite::client_async_with_config(url, stream, Some(limits()))
            .await
            .with_context(|| format!("no WebSocket at {url}"))?;
        Ok(Self { socket, last_id: 0 })
    }

    /// The other end has dialled: an extension does.
    pub async fn accepted(stream: TcpStream) -> Result<Self> {
        stream.set_nodelay(true)?;
        let socket = tokio_tungstenite::accept_async_with_config(stream, Some(limits())).await?;
        Ok(Self { socket, last_id: 0 })
    }

    /// Sends a command whose parameters are JSON text already, and returns its id.
    pub async fn send(&mut self, session: Option<&str>, method: &str, params: &str) -> Result<u32> {
        self.last_id += 1;
        let id = self.last_id;
        let text = match session {
            Some(session) => {
                format!(r#"{{"id":{id},"method":"{method}","params":{params},"sessionId":"{session}"}}"#)
            }
            None => format!(r#"{{"id":{id},"method":"{method}","params":{params}}}"#),
        };
        self.socket.send(Message::text(text)).await.context("the connection broke while sending")?;
        Ok(id)
    }

    /// The next text message, unparsed.
    pub async fn frame(&mut self) -> Result<Utf8Bytes> {
        loop {
            match self.socket.next().await {
                Some(Ok(Message::Text(text))) => return Ok(text),
                Some(Ok(Message::Close(reason))) => bail!("the connection was closed: {reason:?}"),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error).context("the connection broke"),
                None => bail!("the connection ended"),
            }
        }
    }

    /// Waits for the reply to `id` and returns it whole; events meanwhile are dropped.
    pub async fn reply(&mut self, id: u32) -> Result<Utf8Bytes> {
        loop {
            let frame = self.frame().await?;
            let envelope = Envelope::parse(&frame)?;
            if envelope.id != Some(id) {
                continue;
            }
            if let Some(error) = envelope.error {
                bail!("command {id} was refused: {error}");
            }
            return Ok(frame);
        }
    }

    /// Sends a command and returns its result.
    pub async fn call(&mut self, session: Option<&str>, method: &str, params: Value) -> Result<Value> {
        let id = self.send(session, method, &params.to_string()).await?;
        let frame = self.reply(id).await.with_context(|| method.to_owned())?;
        let result = Envelope::parse(&frame)?.result.map_or("null", RawValue::get);
        Ok(serde_json::from_str(result)?)
    }

    pub async fn close(mut self) {
        // A peer that is already gone has closed it, too.
        let _ = self.socket.close(None).await;
    }
}

/// As large as anybody likes.
pub fn limits() -> WebSocketConfig {
    WebSocketConfig::default().max_message_size(None).max_frame_size(None)
}

/// A tab of our own and a session on it.
pub struct Page {
    pub cdp: Cdp,
    /// None where the connection leads to this page and nowhere else.
    pub session: Option<String>,
    pub target: String,
}

impl Page {
    /// The one page that a connection leads to.
    pub fn of(cdp: Cdp) -> Self {
        Self { cdp, session: None, target: String::new() }
    }

    pub async fn open(browser_url: &str) -> Result<Self> {
        let mut cdp = Cdp::connect(browser_url).await?;
        let created = cdp.call(None, "Target.createTarget", json!({"url": "about:blank"})).await?;
        Self::attach(cdp, text(&created, "targetId")?).await
    }

    /// A session on a tab that somebody else has opened, at this address.
    pub async fn at(browser_url: &str, address: &str) -> Result<Self> {
        let mut cdp = Cdp::connect(browser_url).await?;
        let targets = cdp.call(None, "Target.getTargets", json!({})).await?;
        let targets = targets["targetInfos"].as_array().cloned().unwrap_or_default();
        let target = targets.iter().find(|target| target["type"] == "page" && target["url"] == address);
        let target = target.with_context(|| format!("no tab is at {address}"))?;
        Self::attach(cdp, text(target, "targetId")?).await
    }

    async fn attach(mut cdp: Cdp, target: String) -> Result<Self> {
        let params = json!({"targetId": target, "flatten": true});
        let attached = cdp.call(None, "Target.attachToTarget", params).await?;
        Ok(Self { session: Some(text(&attached, "sessionId")?), cdp, target })
    }

    pub async fn send(&mut self, method: &str, params: &str) -> Result<u32> {
        self.cdp.send(self.session.as_deref(), method, params).await
    }

    pub async fn call(&mut self, method: &str, params: Value) -> Result<Value> {
        self.cdp.call(self.session.as_deref(), method, params).await
    }

    pub async fn close(mut self) -> Result<()> {
        self.cdp.call(None, "Target.closeTarget", json!({"targetId": self.target})).await?;
        self.cdp.close().await;
        Ok(())
    }
}

pub fn text(value: &Value, field: &str) -> Result<String> {
    let text = value.get(field).and_then(Value::as_str);
    text.map(str::to_owned).with_context(|| format!("no `{field}` in {value}"))
}

/// GET of a small JSON document of a CDP endpoint, such as /json/version.
pub async fn get_json(port: u16, path: &str) -> Result<Value> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    // Chromium keeps the connection open whatever it is asked, so read until the document is whole.
    while stream.read_buf(&mut answer).await? > 0 {
        let Some(start) = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n") else { continue };
        if let Ok(document) = serde_json::from_slice(&answer[start + 4..]) {
            return Ok(document);
        }
    }
    bail!("GET {path} was answered with {}", head(&String::from_utf8_lossy(&answer)));
}

fn head(text: &str) -> String {
    text.chars().take(200).collect()
}
