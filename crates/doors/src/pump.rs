//! Carries messages between a client's WebSocket and its place at the browser, until either ends.

use std::sync::Arc;
use std::time::Duration;

use bowline_hub::bidi;
use bowline_hub::router::{CdpClient, CloseReason, Outbox};
use bytes::Bytes;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use tokio_tungstenite::tungstenite::error::CapacityError;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};

use crate::upgrade::Socket;

/// A peer that does not read its closing frame for so long is cut off.
const GOODBYE: Duration = Duration::from_secs(2);
/// The longest text that fits a closing frame.
const LONGEST_REASON: usize = 123;

/// A client's place at a browser, whatever is spoken there.
pub(crate) trait Seated: Send + Sync {
    fn outbox(&self) -> Arc<Outbox>;
    fn send(&self, text: Bytes) -> impl Future<Output = ()> + Send;
}

impl Seated for CdpClient {
    fn outbox(&self) -> Arc<Outbox> {
        self.outbox()
    }

    async fn send(&self, text: Bytes) {
        self.send(text).await;
    }
}

impl Seated for bidi::Client {
    fn outbox(&self) -> Arc<Outbox> {
        self.outbox()
    }

    async fn send(&self, text: Bytes) {
        self.send(text).await;
    }
}

pub(crate) async fn run(socket: Socket, client: impl Seated) {
    let (mut sink, mut stream) = socket.split();
    let outbox = client.outbox();
    let reason = {
        let reading = read(&mut stream, &client);
        let writing = write(&mut sink, &client);
        tokio::pin!(reading, writing);
        tokio::select! {
            reason = &mut reading => reason,
            reason = &mut writing => reason,
            reason = outbox.overflowed() => Some(reason),
        }
    };
    // Leaving the browser comes first: the peer may take its time.
    drop(client);
    goodbye(&mut sink, &mut stream, reason).await;
}

/// Closes a socket: with a reason if the peer is to be told one, and not for ever.
pub(crate) async fn goodbye(
    sink: &mut SplitSink<Socket, Message>,
    stream: &mut SplitStream<Socket>,
    reason: Option<CloseReason>,
) {
    let goodbye = async {
        match reason {
            Some(reason) => {
                let _ = sink.send(Message::Close(Some(frame(&reason)))).await;
                while let Some(Ok(_)) = stream.next().await {}
            }
            // The answer to the peer's closing frame is still to be written.
            None => {
                let _ = sink.close().await;
            }
        }
    };
    let _ = tokio::time::timeout(GOODBYE, goodbye).await;
}

/// Ends with a reason if the peer is to be told one.
async fn read(stream: &mut SplitStream<Socket>, client: &impl Seated) -> Option<CloseReason> {
    while let Some(message) = stream.next().await {
        match message {
            Ok(Message::Text(text)) => client.send(Bytes::from(text)).await,
            Ok(Message::Binary(_)) => {
                // Chromium closes the connection too.
                return Some(CloseReason {
                    code: 1003,
                    text: "binary messages are not understood".to_owned(),
                });
            }
            Ok(Message::Close(_)) => return None,
            Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => {}
            Err(Error::Capacity(CapacityError::MessageTooLong { size, max_size })) => {
                let text = format!("message of {size} bytes is larger than {max_size}");
                return Some(CloseReason { code: 1009, text });
            }
            Err(Error::Utf8(_)) => {
                return Some(CloseReason { code: 1007, text: "text that is not UTF-8".to_owned() });
            }
            Err(Error::Protocol(error)) => return Some(CloseReason { code: 1002, text: error.to_string() }),
            Err(_) => return None,
        }
    }
    None
}

async fn write(sink: &mut SplitSink<Socket, Message>, client: &impl Seated) -> Option<CloseReason> {
    let outbox = client.outbox();
    let mut batch = Vec::new();
    loop {
        if let Err(reason) = outbox.take(&mut batch).await {
            return Some(reason);
        }
        for message in batch.drain(..) {
            // Checked to be UTF-8 when it was read from the browser.
            let Ok(text) = Utf8Bytes::try_from(message) else { continue };
            if sink.feed(Message::Text(text)).await.is_err() {
                return None;
            }
        }
        if sink.flush().await.is_err() {
            return None;
        }
    }
}

pub(crate) fn frame(reason: &CloseReason) -> CloseFrame {
    let mut end = reason.text.len().min(LONGEST_REASON);
    while !reason.text.is_char_boundary(end) {
        end -= 1;
    }
    CloseFrame { code: CloseCode::from(reason.code), reason: Utf8Bytes::from(&reason.text[..end]) }
}
