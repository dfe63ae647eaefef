//! Finding the hub and shaking hands with it.

use std::path::PathBuf;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use bowline_hub::statefile::State;
use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use serde_json::json;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

use crate::api::NO_HUB;
use crate::commands::Context;
use crate::failure::{Failure, exit};
use crate::output::Output;
use crate::paths::Paths;

/// A handshake on this machine takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);
/// Tries to reach a hub before a call is told that there is none: some 7 s in all.
const TRIES: usize = 8;
pub(super) const FIRST_PAUSE: Duration = Duration::from_millis(50);
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// Answers may hold pictures.
const LARGEST: usize = 256 << 20;

pub(super) type Socket = WebSocketStream<TcpStream>;

/// A connection, and which hub it leads to.
pub(super) struct Connected {
    pub(super) socket: Socket,
    pub(super) instance: String,
}

/// The answer to `hello`.
#[derive(Deserialize)]
struct Welcome {
    result: Instance,
}

#[derive(Deserialize)]
struct Instance {
    instance: String,
}

/// Finds the hub, or starts one, and shakes hands; several times, for one may just be ending.
pub(super) async fn reach(
    paths: Paths,
    output: Output,
    agent: String,
    may_start: bool,
) -> Result<Connected, Failure> {
    let pauses =
        ExponentialBuilder::default().with_min_delay(FIRST_PAUSE).with_max_delay(LONGEST_PAUSE).with_jitter();
    let mut pauses = pauses.with_max_times(TRIES).build();
    loop {
        let failure = match try_to_reach(&paths, output, &agent, may_start).await {
            Ok(connected) => return Ok(connected),
            Err(failure) => failure,
        };
        match pauses.next() {
            Some(pause) if may_start && failure.code == NO_HUB => sleep(pause).await,
            _ => return Err(failure),
        }
    }
}

pub(super) async fn try_to_reach(
    paths: &Paths,
    output: Output,
    agent: &str,
    may_start: bool,
) -> Result<Connected, Failure> {
    let context = Context { paths: paths.clone(), output: &output, session: None };
    let state = match may_start {
        true => context.meanwhile(|context| context.hub()).await?,
        false => context
            .meanwhile(|context| context.running_hub())
            .await?
            .ok_or_else(|| Failure::new(exit::NO_HUB, NO_HUB, "no hub runs"))?,
    };
    let shaken = timeout(PATIENCE, shake_hands(&state, agent)).await;
    shaken.ok().flatten().ok_or_else(|| {
        Failure::new(exit::NO_HUB, NO_HUB, "the hub does not answer")
            .hint("try again; `bowline status` shows whether it runs")
    })
}

async fn shake_hands(state: &State, agent: &str) -> Option<Connected> {
    let mut request = format!("ws://127.0.0.1:{}/agent", state.port).into_client_request().ok()?;
    request.headers_mut().insert("Authorization", format!("Bearer {}", state.token).parse().ok()?);
    let stream = TcpStream::connect(("127.0.0.1", state.port)).await.ok()?;
    let _ = stream.set_nodelay(true);
    let config = WebSocketConfig::default()
        .read_buffer_size(8 << 10)
        .write_buffer_size(0)
        .max_message_size(Some(LARGEST))
        .max_frame_size(Some(LARGEST));
    let shaken = tokio_tungstenite::client_async_with_config(request, stream, Some(config)).await;
    let (mut socket, _) = shaken.ok()?;
    // What a model names is kept to where its host has put us; its files elsewhere are none of its business.
    // A host of the desktop puts us at the root or in the home directory, which is no place of its own.
    let here = std::env::current_dir()
        .ok()
        .filter(|here| here.parent().is_some() && Some(here) != std::env::home_dir().as_ref());
    let roots: Vec<PathBuf> = here.into_iter().collect();
    let hello =
        json!({"id": 0, "action": "hello", "payload": {"agent": agent, "roots": roots, "acks": true}});
    socket.send(Message::text(hello.to_string())).await.ok()?;
    loop {
        let Message::Text(text) = socket.next().await?.ok()? else { continue };
        let Welcome { result } = serde_json::from_str(&text).ok()?;
        return Some(Connected { socket, instance: result.instance });
    }
}
