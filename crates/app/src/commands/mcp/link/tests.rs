//! The link against a hub that breaks off, keeps silent, or does not read, as the tests want it.

use std::fs::File;

use bowline_hub::files;
use bowline_hub::statefile::{self, State};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::*;

/// As much as no socket takes without being read.
const MUCH: usize = 12 << 20;

/// The other side: it is found as a hub is, and does what it is told to.
struct FakeHub {
    listener: TcpListener,
    paths: Paths,
    _directory: TempDir,
    /// Held by a hub that lives.
    _lock: File,
}

impl FakeHub {
    async fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let paths = Paths {
            runtime: at("run"),
            temporary: at("tmp"),
            config_file: at("config.toml"),
            state: at("state"),
            data: at("data"),
            cache: at("cache"),
        };
        files::private_dir(&paths.runtime).unwrap();
        let lock = files::open_private(&paths.hub_lock()).unwrap();
        lock.lock().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state =
            State { port, pid: 1, version: String::new(), token: "token".to_owned(), browsers: Vec::new() };
        statefile::write(&paths.state_file(), &state).unwrap();
        Self { listener, paths, _directory: directory, _lock: lock }
    }

    /// The next connection, which is not greeted yet.
    async fn knocked(&self) -> Peer {
        let (stream, _) = self.listener.accept().await.unwrap();
        let mut peer = Peer(tokio_tungstenite::accept_async(stream).await.unwrap());
        assert_eq!(peer.heard().await["action"], "hello");
        peer
    }

    async fn accept(&self, instance: &str) -> Peer {
        let mut peer = self.knocked().await;
        peer.greet(instance).await;
        peer
    }
}

struct Peer(Socket);

impl Peer {
    async fn greet(&mut self, instance: &str) {
        self.say(&json!({"id": 0, "result": {"instance": instance}})).await;
    }

    async fn heard(&mut self) -> Value {
        loop {
            if let Message::Text(text) = self.0.next().await.expect("a message").expect("a connection") {
                return serde_json::from_str(&text).unwrap();
            }
        }
    }

    async fn say(&mut self, message: &Value) {
        self.0.send(Message::text(message.to_string())).await.unwrap();
    }
}

/// A link with its task.
struct Side {
    link: std::sync::Arc<Link>,
    stop: CancellationToken,
    keeping: JoinHandle<()>,
}

impl Side {
    fn of(hub: &FakeHub) -> Self {
        let stop = CancellationToken::new();
        let (link, keep) = open(hub.paths.clone(), Output::new(true), stop.clone());
        let newcomer =
            Newcomer { client: "test".to_owned(), session: None, browser: None, is_connected: true };
        link.arrive(newcomer);
        Self { link: link.into(), stop, keeping: tokio::spawn(keep) }
    }

    fn call(
        &self,
        action: &str,
        is_repeatable: bool,
    ) -> (CancellationToken, JoinHandle<Result<Value, Problem>>) {
        self.call_with(action, is_repeatable, Value::Null)
    }

    fn call_with(
        &self,
        action: &str,
        is_repeatable: bool,
        payload: Value,
    ) -> (CancellationToken, JoinHandle<Result<Value, Problem>>) {
        let cancel = CancellationToken::new();
        let call = Call {
            action: action.to_owned(),
            payload,
            browser: None,
            is_repeatable,
            cancel: cancel.clone(),
            progress: None,
        };
        let link = self.link.clone();
        (cancel, tokio::spawn(async move { link.call(call).await }))
    }
}

/// Lets all tasks of this thread do what they can do now.
async fn settle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

fn code(answer: Result<Value, Problem>) -> String {
    answer.expect_err("a problem").code
}

#[tokio::test]
async fn what_is_cancelled_while_there_is_no_connection_is_called_off_on_the_next() {
    let hub = FakeHub::start().await;
    let side = Side::of(&hub);
    let mut first = hub.accept("one").await;
    let (cancel, answer) = side.call("op.click", false);
    let id = first.heard().await["id"].clone();
    first.say(&json!({"id": id, "begun": true})).await;
    drop(first);
    let mut second = hub.knocked().await;
    cancel.cancel();
    settle().await;
    second.greet("one").await;
    let heard = second.heard().await;
    assert_eq!((&heard["action"], &heard["payload"]["id"]), (&json!("cancel"), &id));
    assert_eq!(code(answer.await.unwrap()), "cancelled");
    let _next = side.call("op.fill", false);
    assert_eq!(second.heard().await["action"], "op.fill", "and it is not sent again");
}

#[tokio::test]
async fn what_is_cancelled_meanwhile_is_not_begun_by_a_new_hub() {
    let hub = FakeHub::start().await;
    let side = Side::of(&hub);
    let mut first = hub.accept("one").await;
    let (cancel, answer) = side.call("op.wait", true);
    first.heard().await;
    drop(first);
    let mut second = hub.knocked().await;
    cancel.cancel();
    settle().await;
    second.greet("two").await;
    assert_eq!(code(answer.await.unwrap()), "cancelled");
    let _next = side.call("op.fill", false);
    assert_eq!(second.heard().await["action"], "op.fill");
}

#[tokio::test]
async fn a_call_that_breaks_the_connection_each_time_is_given_up() {
    for (is_repeatable, expected) in [(true, "connection_lost"), (false, "outcome_unknown")] {
        let hub = FakeHub::start().await;
        let side = Side::of(&hub);
        let (_, answer) = side.call("op.click", is_repeatable);
        for time in 0..MOST_SENDS {
            let mut peer = hub.accept("one").await;
            let heard = peer.heard().await;
            assert_eq!(heard["action"], "op.click");
            // The hub is told that it must not begin again with what it may have forgotten.
            assert_eq!(heard["begun"] == true, time > 0 && !is_repeatable);
            peer.say(&json!({"id": heard["id"], "begun": true})).await;
        }
        let mut last = hub.accept("one").await;
        assert_eq!(last.heard().await["action"], "cancel");
        assert_eq!(code(answer.await.unwrap()), expected);
    }
}

#[tokio::test]
async fn a_goodbye_without_a_connection_calls_off_what_is_under_way() {
    let hub = FakeHub::start().await;
    let side = Side::of(&hub);
    let mut first = hub.accept("one").await;
    let (_, _answer) = side.call("op.click", false);
    let id = first.heard().await["id"].clone();
    drop(first);
    let _unanswered = hub.knocked().await;
    side.stop.cancel();
    let mut last = hub.accept("one").await;
    let heard = last.heard().await;
    assert_eq!((&heard["action"], &heard["payload"]["id"]), (&json!("cancel"), &id));
    side.keeping.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_hub_that_does_not_read_is_given_up() {
    let hub = FakeHub::start().await;
    let side = Side::of(&hub);
    let _mute = hub.accept("one").await;
    let (_, _answer) = side.call_with("op.click", false, json!("x".repeat(MUCH)));
    // It is asked anew, while the first connection still stands.
    let _second = hub.knocked().await;
}

#[tokio::test]
async fn both_sides_may_say_much_at_once() {
    let hub = FakeHub::start().await;
    let side = Side::of(&hub);
    let mut peer = hub.accept("one").await;
    let (_, answer) = side.call("op.snapshot", true);
    let id = peer.heard().await["id"].clone();
    let (_, _other) = side.call_with("op.click", false, json!("x".repeat(MUCH)));
    // It does not read before it has said all.
    peer.say(&json!({"id": id, "result": "y".repeat(MUCH)})).await;
    assert_eq!(answer.await.unwrap().unwrap().as_str().map(str::len), Some(MUCH));
    assert_eq!(peer.heard().await["action"], "op.click");
}
