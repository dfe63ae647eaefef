//! A link over one WebSocket: to a Chromium's `/devtools/browser/ID`, or to a Firefox's `/session`.

use std::io;
use std::time::Duration;

use bowline_hub::backend::{Link, Outgoing};
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt, future};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{self, Message, Utf8Bytes};

/// Chromium closes a socket at a message beyond 100 MB.
const LARGEST_TO_BROWSER: usize = 100_000_000 - (64 << 10);
const LARGEST_FROM_BROWSER: usize = 512 << 20;

/// The whole URL is not told: it may have a secret in it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DialError {
    #[error("nothing listens at {address}: {source}")]
    Unreachable { address: String, source: io::Error },
    #[error("{address} did not answer within {}s", after.as_secs())]
    TimedOut { address: String, after: Duration },
    #[error("{address} refused the connection: {source}")]
    Refused { address: String, source: Box<tungstenite::Error> },
}

/// Connects to `url`. The handshake may wait for a person's consent, so the caller says how long.
pub(crate) async fn dial(url: &str, within: Duration) -> Result<Link, DialError> {
    let address = authority(url);
    let stream = TcpStream::connect(&address)
        .await
        .map_err(|source| DialError::Unreachable { address: address.clone(), source })?;
    // A command must not wait for the answer to the one before.
    let _ = stream.set_nodelay(true);
    let config = WebSocketConfig::default()
        .max_message_size(Some(LARGEST_FROM_BROWSER))
        .max_frame_size(Some(LARGEST_FROM_BROWSER));
    let handshake = tokio_tungstenite::client_async_with_config(url, stream, Some(config));
    let (socket, _) = tokio::time::timeout(within, handshake)
        .await
        .map_err(|_| DialError::TimedOut { address: address.clone(), after: within })?
        .map_err(|source| DialError::Refused { address: address.clone(), source: Box::new(source) })?;
    let (sink, stream) = socket.split();
    let reader = stream.filter_map(|message| {
        future::ready(match message {
            Ok(Message::Text(text)) => Some(Ok(Bytes::from(text))),
            Ok(_) => None,
            Err(error) => Some(Err(io::Error::other(error))),
        })
    });
    let writer =
        sink.sink_map_err(io::Error::other).with(|message: Outgoing| future::ready(encode(&message)));
    Ok(Link {
        reader: Box::pin(reader),
        writer: Box::pin(writer),
        max_outgoing: LARGEST_TO_BROWSER,
        may_be_closed: false,
        is_virtual: false,
    })
}

fn encode(message: &Outgoing) -> io::Result<Message> {
    let body = match message.session {
        None => message.body.clone(),
        Some(_) => {
            let mut text = Vec::with_capacity(message.len());
            text.extend_from_slice(message.head().as_bytes());
            text.extend_from_slice(&message.body[1..]);
            text.into()
        }
    };
    Utf8Bytes::try_from(body).map(Message::Text).map_err(io::Error::other)
}

/// The `host:port` of a URL.
pub(crate) fn authority(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?']).next().unwrap_or(rest).to_owned()
}
