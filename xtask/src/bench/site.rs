//! The web site that the measured pages come from: on loopback, in this process. It serves a page, one with 5,000
//! elements, a small document and a page that makes load, and passes on what pages tell it. Never knows who measures what.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// What the load page fetches; about as long as the answers of an API.
const SMALL: &str = r#"{"id": 1, "name": "a small document", "tags": ["one", "two", "three"], "ok": true}"#;
/// A page that says so when it has loaded.
const PLAIN: &str = "<!doctype html><title>plain</title><link rel=\"icon\" href=\"data:,\">\
    <script>addEventListener('load', () => fetch('/told' + location.search, {method: 'POST'}))</script>\
    <p>A page with a title, a line of text and nothing else.";
const LOAD: &str = include_str!("../../bench/load.html");
/// Each has five elements: `li`, `a`, `label`, `input`, `span`.
const ENTRIES: usize = 1_000;

/// What a page told: the query with which it did, the body, and when that arrived.
pub struct Told {
    pub query: String,
    pub body: String,
    pub at: Instant,
}

pub struct Site {
    port: u16,
    told: Mutex<mpsc::Receiver<Told>>,
    last_number: AtomicU32,
    /// Ends with the site, and its connections with it.
    _serving: JoinSet<()>,
}

impl Site {
    pub async fn open() -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        // A page that tells more than anybody waits for is made to wait for its answer.
        let (tell, told) = mpsc::channel(64);
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                while connections.try_join_next().is_some() {}
                let tell = tell.clone();
                connections.spawn(async move {
                    // A browser that has been stopped leaves its connections in any state.
                    let _ = serve(stream, &tell).await;
                });
            }
        });
        Ok(Self { port, told: Mutex::new(told), last_number: AtomicU32::new(0), _serving: serving })
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// A number that no other page has, to tell it by.
    pub fn fresh_number(&self) -> u32 {
        self.last_number.fetch_add(1, Ordering::Relaxed)
    }

    /// Waits until a page tells something with this query; what others tell meanwhile is dropped.
    pub async fn told(&self, query: &str, within: Duration) -> Result<Told> {
        let mut told = self.told.lock().await;
        let wait = async {
            loop {
                let told = told.recv().await.context("the site has ended")?;
                if told.query == query {
                    return Ok(told);
                }
            }
        };
        timeout(within, wait).await.with_context(|| format!("no page told `{query}` in time"))?
    }
}

async fn serve(mut stream: TcpStream, tell: &mpsc::Sender<Told>) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = Vec::new();
    loop {
        let head = loop {
            if let Some(end) = buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                break String::from_utf8_lossy(&buffer.drain(..end + 4).collect::<Vec<u8>>()).into_owned();
            }
            if stream.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
        };
        let at = Instant::now();
        let length = head.lines().filter_map(|line| line.split_once(':'));
        let length = length.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
        let length = length.filter_map(|(_, value)| value.trim().parse().ok()).next().unwrap_or(0);
        while buffer.len() < length {
            if stream.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
        }
        let body = String::from_utf8_lossy(&buffer.drain(..length).collect::<Vec<u8>>()).into_owned();
        let target = head.split(' ').nth(1).unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let (kind, answer) = match path {
            "/plain" => ("text/html", PLAIN.to_owned()),
            "/many" => ("text/html", many()),
            "/load" => ("text/html", LOAD.to_owned()),
            "/small" => ("application/json", SMALL.to_owned()),
            _ => ("text/plain", String::new()),
        };
        let length = answer.len();
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nCache-Control: no-store\r\n\r\n{answer}"
        );
        if path == "/told" {
            tell.send(Told { query: query.to_owned(), body, at }).await?;
        }
        stream.write_all(answer.as_bytes()).await?;
    }
}

/// A list such as search results or settings are: links, boxes to tick, words.
fn many() -> String {
    let entry = |number: usize| {
        format!(
            "<li><a href=\"#{number}\">Entry {number}</a> <label><input type=\"checkbox\"> pick</label> \
             <span>{} words</span></li>\n",
            number * 7
        )
    };
    let entries: String = (0..ENTRIES).map(entry).collect();
    format!(
        "<!doctype html><title>many</title><link rel=\"icon\" href=\"data:,\"><h1>Many</h1><ul>{entries}</ul>"
    )
}
