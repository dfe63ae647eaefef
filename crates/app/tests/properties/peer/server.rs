//! The scripted Chrome's sockets: a thread of its own with everything in it.

use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use futures_util::{SinkExt, StreamExt};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::Door;
use super::cdp::State;

type Shared = Arc<Mutex<State>>;

pub(super) fn start() -> (u16, Shared, oneshot::Sender<()>, JoinHandle<()>) {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    listener.set_nonblocking(true).expect("a socket");
    let port = listener.local_addr().expect("an address").port();
    let state: Shared = Arc::default();
    let (stop, stopped) = oneshot::channel();
    let shared = state.clone();
    let thread = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let listener = TcpListener::from_std(listener).expect("a socket");
            tokio::select! {
                _ = stopped => {}
                () = accept(listener, port, shared) => {}
            }
        });
    });
    (port, state, stop, thread)
}

async fn accept(listener: TcpListener, port: u16, state: Shared) {
    while let Ok((stream, _)) = listener.accept().await {
        let door = {
            let mut state = state.lock().expect("nothing panics with it");
            state.turned_away += usize::from(state.door != Door::Open);
            state.door
        };
        if door != Door::Slammed {
            tokio::spawn(serve(stream, port, state.clone()));
        }
    }
}

async fn serve(mut stream: TcpStream, port: u16, state: Shared) {
    let _ = stream.set_nodelay(true);
    let Some(head) = read_head(&mut stream).await else { return };
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    let door = state.lock().expect("nothing panics with it").door;
    let key = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("sec-websocket-key").then(|| value.trim().to_owned())
    });
    match (door, key) {
        (Door::Open, Some(key)) => {
            let accept = derive_accept_key(key.as_bytes());
            let answer = format!(
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
            );
            if stream.write_all(answer.as_bytes()).await.is_ok() {
                speak(stream, state).await;
            }
        }
        (Door::Open | Door::NoSocket, None) => {
            let body = match path.as_str() {
                "/json/version" => version(port),
                "/json/list" | "/json" => state.lock().expect("nothing panics with it").list(),
                _ => return answer(&mut stream, "404 Not Found", "").await,
            };
            answer(&mut stream, "200 OK", &body).await;
        }
        _ => answer(&mut stream, "500 Internal Server Error", "").await,
    }
}

async fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    String::from_utf8(head).ok()
}

async fn answer(stream: &mut TcpStream, status: &str, body: &str) {
    let length = body.len();
    let text = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    let _ = stream.write_all(text.as_bytes()).await;
}

fn version(port: u16) -> String {
    json!({
        "Browser": "Peer/1.0",
        "Protocol-Version": "1.3",
        "webSocketDebuggerUrl": format!("ws://127.0.0.1:{port}/devtools/browser/peer"),
    })
    .to_string()
}

/// One WebSocket. It ends when the other side leaves, or when the state lets go of its sender.
async fn speak(stream: TcpStream, state: Shared) {
    let (mut sink, mut incoming) = WebSocketStream::from_raw_socket(stream, Role::Server, None).await.split();
    // A test says no more than it means to, so nothing bounds this but the test.
    let (sender, mut outgoing) = mpsc::unbounded_channel::<String>();
    let link = state.lock().expect("nothing panics with it").welcome(sender);
    loop {
        tokio::select! {
            text = outgoing.recv() => {
                let Some(text) = text else { return };
                let mut sent = sink.feed(Message::text(text)).await;
                while sent.is_ok() && let Ok(text) = outgoing.try_recv() {
                    sent = sink.feed(Message::text(text)).await;
                }
                if sent.is_err() || sink.flush().await.is_err() {
                    break;
                }
            }
            message = incoming.next() => match message {
                Some(Ok(Message::Text(text))) => {
                    let late = state.lock().expect("nothing panics with it").command(link, &text);
                    if let Some((after, sender, text)) = late {
                        tokio::spawn(async move {
                            tokio::time::sleep(after).await;
                            // The link may be gone by then.
                            let _ = sender.send(text);
                        });
                    }
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => break,
                Some(Ok(_)) => {}
            },
        }
    }
    state.lock().expect("nothing panics with it").goodbye(link);
}
