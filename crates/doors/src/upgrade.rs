//! The WebSocket handshake, up to a socket that carries messages.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::Response;
use bowline_hub::router::Outbox;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

/// Read at a time. Small, because every idle client has one.
const READ_BUFFER: usize = 16 << 10;
/// Flushed when so much is waiting, even if more follows at once.
const WRITE_BUFFER: usize = 64 << 10;

pub(crate) type Socket = WebSocketStream<Watched>;

/// A checked request to upgrade.
pub(crate) struct Handshake {
    accept: String,
    protocol: Option<String>,
    on_upgrade: OnUpgrade,
    /// What the client calls itself, as far as it says.
    pub(crate) client: String,
}

impl Handshake {
    /// `None` if the request does not ask for a WebSocket.
    pub(crate) fn of(request: &mut axum::extract::Request) -> Option<Self> {
        let headers = request.headers();
        let names = |name, word: &str| {
            headers
                .get_all(name)
                .iter()
                .filter_map(|value| value.to_str().ok())
                .any(|value| value.split(',').any(|part| part.trim().eq_ignore_ascii_case(word)))
        };
        let wanted = request.method() == Method::GET
            && names(header::UPGRADE, "websocket")
            && names(header::CONNECTION, "upgrade")
            && headers.get(header::SEC_WEBSOCKET_VERSION).is_some_and(|version| version == "13");
        let accept = derive_accept_key(headers.get(header::SEC_WEBSOCKET_KEY).filter(|_| wanted)?.as_bytes());
        let protocol = chosen_protocol(headers);
        let client = headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok()).map(client_of);
        let client = client.unwrap_or_default();
        let on_upgrade = request.extensions_mut().remove::<OnUpgrade>()?;
        Some(Self { accept, protocol, on_upgrade, client })
    }

    /// The 101 answer, and what becomes the socket once it was sent.
    pub(crate) fn accept(self) -> (Response, OnUpgrade) {
        let mut response = Response::builder()
            .status(StatusCode::SWITCHING_PROTOCOLS)
            .header(header::UPGRADE, "websocket")
            .header(header::CONNECTION, "Upgrade")
            .header(header::SEC_WEBSOCKET_ACCEPT, self.accept);
        if let Some(protocol) = self.protocol {
            response = response.header(header::SEC_WEBSOCKET_PROTOCOL, protocol);
        }
        let response = response.body(Body::empty()).unwrap_or_else(|_| Response::new(Body::empty()));
        (response, self.on_upgrade)
    }
}

/// The first product of a User-Agent, if it tells one client from another: `Playwright/1.5 (...)` is `Playwright 1.5`.
fn client_of(agent: &str) -> String {
    let product = agent.split([' ', '(']).next().unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/@".contains(c);
    match product {
        "Mozilla/5.0" | "node" => String::new(),
        product if product.chars().all(is_plain) => {
            product.chars().take(40).collect::<String>().replace('/', " ")
        }
        _ => String::new(),
    }
}

/// A client that offers subprotocols fails unless one is chosen; the one that carries the token last.
fn chosen_protocol(headers: &HeaderMap) -> Option<String> {
    let offered = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL);
    let offered: Vec<&str> = offered
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .collect();
    let plain = offered.iter().find(|protocol| !protocol.starts_with("bowline.token."));
    plain.or(offered.first()).map(|protocol| (*protocol).to_owned())
}

/// Turns an upgraded connection into a socket that tells `outbox` when its peer takes bytes.
pub(crate) async fn socket(
    on_upgrade: OnUpgrade,
    max_message: usize,
    outbox: Option<Arc<Outbox>>,
) -> Result<Socket, hyper::Error> {
    let upgraded = on_upgrade.await?;
    let config = WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER)
        .write_buffer_size(WRITE_BUFFER)
        .max_message_size(Some(max_message))
        .max_frame_size(Some(max_message));
    let (io, early) = match upgraded.downcast::<TokioIo<TcpStream>>() {
        Ok(parts) => (Io::Tcp(parts.io.into_inner()), parts.read_buf.to_vec()),
        Err(upgraded) => (Io::Other(TokioIo::new(upgraded)), Vec::new()),
    };
    let watched = Watched { io, outbox, allowance: None };
    Ok(WebSocketStream::from_partially_read(watched, early, Role::Server, Some(config)).await)
}

/// A stream that notes each successful write, and may be read up to a limit only.
pub(crate) struct Watched {
    io: Io,
    outbox: Option<Arc<Outbox>>,
    /// Bytes that may still be read; absent means all.
    allowance: Option<usize>,
}

impl Watched {
    /// No more than this is taken from the peer, in all.
    pub(crate) fn limit(&mut self, bytes: usize) {
        self.allowance = Some(bytes);
    }

    pub(crate) fn lift_limit(&mut self) {
        self.allowance = None;
    }
}

enum Io {
    /// What it is under our own listener, without the layers in between.
    Tcp(TcpStream),
    Other(TokioIo<hyper::upgrade::Upgraded>),
}

impl AsyncRead for Watched {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.allowance == Some(0) {
            return Poll::Ready(Err(io::Error::other("more than may be sent")));
        }
        let before = buf.filled().len();
        let result = match &mut this.io {
            Io::Tcp(io) => Pin::new(io).poll_read(cx, buf),
            Io::Other(io) => Pin::new(io).poll_read(cx, buf),
        };
        if let Some(allowance) = &mut this.allowance {
            *allowance = allowance.saturating_sub(buf.filled().len() - before);
        }
        result
    }
}

impl AsyncWrite for Watched {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let result = match &mut this.io {
            Io::Tcp(io) => Pin::new(io).poll_write(cx, buf),
            Io::Other(io) => Pin::new(io).poll_write(cx, buf),
        };
        if let (Poll::Ready(Ok(1..)), Some(outbox)) = (&result, &this.outbox) {
            outbox.made_progress();
        }
        result
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().io {
            Io::Tcp(io) => Pin::new(io).poll_flush(cx),
            Io::Other(io) => Pin::new(io).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().io {
            Io::Tcp(io) => Pin::new(io).poll_shutdown(cx),
            Io::Other(io) => Pin::new(io).poll_shutdown(cx),
        }
    }
}
