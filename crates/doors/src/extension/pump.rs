//! Carries frames between an extension's socket and the backend, unread, and watches over its life.

use std::time::Duration;

use bowline_hub::extensions::DoorSide;
use bowline_hub::pairing::Pulse;
use bowline_hub::router::CloseReason;
use bytes::Bytes;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};
use tokio_util::sync::CancellationToken;

use crate::pump::goodbye;
use crate::upgrade::Socket;

pub(super) const PING: &str = r#"{"method":"ping"}"#;
/// Often enough that Chrome does not put the extension's worker to sleep.
pub(super) const PING_EVERY: Duration = Duration::from_secs(5);
/// An extension of which nothing at all is heard for so long has gone.
const SILENCE: Duration = Duration::from_secs(15);
/// How long the backend may take for its last words when the hub leaves.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// Written before anything is flushed.
const BATCH: usize = 256;

/// Who may end a connection, beside its two ends.
pub(super) struct Ends<'a> {
    /// Another connection has come, or the key was given up.
    pub(super) dismissed: &'a CancellationToken,
    pub(super) shutdown: &'a CancellationToken,
}

/// Returns when the connection has ended, with the reason. `is_paired` tells whether one that was
/// dismissed may come again; `withdraw` takes it back from the backend, if that has not begun with it.
pub(super) async fn run(
    socket: Socket,
    side: DoorSide,
    pulse: &Pulse,
    ends: Ends<'_>,
    is_paired: impl Fn() -> bool,
    withdraw: impl Fn(),
) -> String {
    let Ends { dismissed, shutdown } = ends;
    let (mut sink, mut stream) = socket.split();
    let DoorSide { to_hub, from_hub } = side;
    let reason = {
        let reading = read(&mut stream, to_hub, pulse);
        let writing = write(&mut sink, from_hub, pulse);
        let leaving = async {
            shutdown.cancelled().await;
            withdraw();
            tokio::time::sleep(LAST_WORDS).await;
        };
        tokio::select! {
            reason = reading => reason,
            reason = writing => reason,
            () = leaving => Some(let_go()),
            () = dismissed.cancelled() => Some(if is_paired() {
                CloseReason { code: 4409, text: "another connection has taken its place".to_owned() }
            } else {
                CloseReason { code: 4400, text: "the pairing was forgotten".to_owned() }
            }),
        }
    };
    // Whatever else has ended with it.
    let reason = reason.map(|reason| match shutdown.is_cancelled() {
        true => CloseReason::going_away("the hub is shutting down"),
        false => reason,
    });
    let told = reason.as_ref().map_or_else(|| "it closed".to_owned(), |reason| reason.text.clone());
    goodbye(&mut sink, &mut stream, reason).await;
    told
}

/// Ends with a reason if the peer is to be told one.
async fn read(
    stream: &mut SplitStream<Socket>,
    to_hub: mpsc::Sender<Bytes>,
    pulse: &Pulse,
) -> Option<CloseReason> {
    loop {
        // Only the wait for the peer counts: what waits for the backend says nothing against it.
        let Ok(message) = timeout(SILENCE, stream.next()).await else {
            return Some(CloseReason { code: 1008, text: "nothing was heard for 15 s".to_owned() });
        };
        pulse.beat();
        match message {
            Some(Ok(Message::Text(text))) if is_pong(&text) => {}
            Some(Ok(Message::Text(text))) => {
                pulse.set_waiting(true);
                let taken = to_hub.send(Bytes::from(text)).await;
                pulse.set_waiting(false);
                if taken.is_err() {
                    return Some(let_go());
                }
            }
            Some(Ok(Message::Binary(_))) => {
                return Some(CloseReason { code: 1003, text: "binary messages are not spoken".to_owned() });
            }
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => {}
            Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
        }
    }
}

async fn write(
    sink: &mut SplitSink<Socket, Message>,
    mut from_hub: mpsc::Receiver<Bytes>,
    pulse: &Pulse,
) -> Option<CloseReason> {
    let mut pings = interval_at(Instant::now() + PING_EVERY, PING_EVERY);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut batch = Vec::new();
    loop {
        tokio::select! {
            biased;
            taken = from_hub.recv_many(&mut batch, BATCH) => {
                if taken == 0 {
                    return Some(let_go());
                }
            }
            () = pulse.asked() => batch.push(Bytes::from_static(PING.as_bytes())),
            _ = pings.tick() => batch.push(Bytes::from_static(PING.as_bytes())),
        }
        for message in batch.drain(..) {
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

/// The backend has dropped its half: the browser was stopped, or could not be driven.
fn let_go() -> CloseReason {
    CloseReason { code: 1013, text: "the hub has let go of this browser".to_owned() }
}

/// A frame that is a pong and nothing else.
pub(super) fn is_pong(text: &str) -> bool {
    #[derive(Deserialize)]
    struct Event<'a> {
        method: &'a str,
        id: Option<i64>,
    }
    // Longer than any way to write it.
    const LONGEST: usize = 64;
    text.len() <= LONGEST
        && text.contains("pong")
        && serde_json::from_str::<Event<'_>>(text)
            .is_ok_and(|event| event.method == "pong" && event.id.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_frame_that_is_a_pong_is_kept_from_the_backend() {
        for pong in [r#"{"method":"pong"}"#, r#"{ "method" : "pong", "params": {} }"#] {
            assert!(is_pong(pong), "{pong}");
        }
        for other in [
            r#"[{"method":"pong"}]"#,
            r#"{"method":"pongs"}"#,
            r#"{"id":1,"method":"pong"}"#,
            r#"{"method":"cdpEvent","params":{"method":"pong"}}"#,
            "pong",
        ] {
            assert!(!is_pong(other), "{other}");
        }
    }
}
