//! What a hub answers on its control door. Reads the token from the state file, as any program may.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::side::Side;

/// GET of a path below `/api`; returns what is in the envelope.
pub async fn get(hub: &Side, path: &str) -> Result<Value> {
    ask(hub, "GET", path, "").await
}

/// POST of a JSON document, likewise.
pub async fn post(hub: &Side, path: &str, body: &Value) -> Result<Value> {
    ask(hub, "POST", path, &body.to_string()).await
}

async fn ask(hub: &Side, method: &str, path: &str, body: &str) -> Result<Value> {
    let token = hub.token()?;
    let mut stream = TcpStream::connect(("127.0.0.1", hub.port)).await?;
    let request = format!(
        "{method} /api{path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        hub.port,
        body.len()
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").context("no HTTP answer")?;
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    ensure!(head.starts_with("HTTP/1.1 20"), "{method} /api{path} was answered with {head}");
    let mut document: Value = serde_json::from_slice(&answer[end + 4..])?;
    Ok(document["data"].take())
}
