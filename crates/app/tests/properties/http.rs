//! A small HTTP client that blocks: one request, one connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The code of an error.
    pub(crate) fn code(&self) -> String {
        let json = self.json().unwrap_or_default();
        json["error"]["code"].as_str().unwrap_or_default().to_owned()
    }
}

/// Sends a request and waits for the whole answer; of a stream of events only for its head.
pub(crate) fn exchange(
    port: u16,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    body: Option<&[u8]>,
) -> std::io::Result<Answer> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut head = format!("{method} {target} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if let Some(body) = body {
        head.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    head.push_str("\r\n");
    let mut message = head.into_bytes();
    message.extend_from_slice(body.unwrap_or_default());
    // A server that refuses a body may answer before it has read all of it.
    let written = stream.write_all(&message);
    let answer = read(stream);
    match (written, answer) {
        (Err(error), Err(_)) => Err(error),
        (_, answer) => answer,
    }
}

fn read(stream: TcpStream) -> std::io::Result<Answer> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| std::io::Error::other(format!("no HTTP: {line:?}")))?;
    let mut answer = Answer { status, headers: Vec::new(), body: Vec::new() };
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => {
                answer.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
            }
            None => break,
        }
    }
    if answer.header("content-type") != Some("text/event-stream") {
        match answer.header("content-length").and_then(|length| length.parse().ok()) {
            Some(length) => {
                answer.body.resize(length, 0);
                reader.read_exact(&mut answer.body)?;
            }
            None => drop(reader.read_to_end(&mut answer.body)?),
        }
    }
    Ok(answer)
}

/// Text as a part of a path or query.
pub(crate) fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
