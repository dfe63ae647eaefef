//! A scripted browser for the tests of this crate: speaks enough CDP to be routed to.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{sink, stream};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use crate::backend::{Backend, Exit, Link, Outgoing, Process, Protocol, Spec, StartError, Started};
use crate::recorder::store::Bounds;
use crate::recorder::{Caps, Settings};

/// Settings of a recorder that watches nothing and writes nothing.
pub(crate) fn quiet_recorder() -> Settings {
    Settings {
        sites: Default::default(),
        enabled: false,
        exceptions: HashMap::new(),
        bounds: Bounds {
            console: 1000,
            console_bytes: 4 << 20,
            requests: 500,
            network_bytes: 8 << 20,
            total_bytes: 64 << 20,
            keep_closed: 3_600_000.0,
        },
        caps: Caps { messages: 500, text: 64 << 10 },
        body: 10 << 20,
        body_buffer: 32 << 20,
        dialog_timeout: None,
        dialog_timeout_headed: None,
        directory: None,
    }
}

/// The browser's side of a link.
pub(crate) struct FakeBrowser {
    pub(crate) from_hub: mpsc::Receiver<Value>,
    pub(crate) to_hub: mpsc::Sender<Bytes>,
    sessions: usize,
}

/// A link whose other end is the test's.
pub(crate) fn link() -> (Link, FakeBrowser) {
    let (to_browser, from_hub) = mpsc::channel::<Value>(1024);
    let (to_hub, from_browser) = mpsc::channel::<Bytes>(1024);
    let reader = stream::unfold(from_browser, |mut messages| async {
        messages.recv().await.map(|message| (Ok(message), messages))
    });
    let writer = sink::unfold(to_browser, |to_browser, message: Outgoing| async move {
        let text = [message.head().as_bytes(), &message.body[1..]].concat();
        let message = serde_json::from_slice(&text).expect("the hub sends JSON");
        to_browser.send(message).await.map_err(std::io::Error::other)?;
        Ok(to_browser)
    });
    let link = Link {
        reader: Box::pin(reader),
        writer: Box::pin(writer),
        max_outgoing: 1 << 20,
        may_be_closed: true,
        is_virtual: false,
    };
    (link, FakeBrowser { from_hub, to_hub, sessions: 0 })
}

impl FakeBrowser {
    pub(crate) async fn send(&self, message: Value) {
        self.to_hub.send(Bytes::from(message.to_string())).await.expect("the hub listens");
    }

    /// The next command that is not one of the hub's own; those are answered on the way.
    pub(crate) async fn command(&mut self) -> Option<Value> {
        while let Some(command) = self.from_hub.recv().await {
            match command["method"].as_str().unwrap_or_default() {
                _ if command.get("sessionId").is_some() => return Some(command),
                "Target.attachToBrowserTarget" | "Target.attachToTarget" => {
                    self.sessions += 1;
                    let session = format!("ROOT{}", self.sessions);
                    self.send(json!({"id": command["id"], "result": {"sessionId": session}})).await;
                }
                "Browser.getVersion" => {
                    let version = json!({"protocolVersion": "1.3", "product": "Fake/1", "revision": "@0", "userAgent": "Fake", "jsVersion": "1"});
                    self.send(json!({"id": command["id"], "result": version})).await;
                }
                _ => return Some(command),
            }
        }
        None
    }

    async fn hang_after_a_client(mut self) {
        while self.sessions == 0 {
            tokio::select! {
                _ = self.command() => {}
                // Whatever was asked has been answered by now.
                () = tokio::time::sleep(std::time::Duration::from_millis(1)) => {}
            }
        }
        std::future::pending::<()>().await;
    }

    /// Answers every command with the session it came on and the parameters it had.
    pub(crate) async fn echo(mut self) {
        while let Some(command) = self.command().await {
            let Some(session) = command.get("sessionId") else { continue };
            let result = json!({"session": session, "params": command["params"]});
            self.send(json!({"id": command["id"], "result": result, "sessionId": session})).await;
        }
    }
}

/// A backend of fake browsers, which the test can kill, hang or keep from starting.
#[derive(Default)]
pub(crate) struct FakeBackend {
    pub(crate) starts: AtomicUsize,
    pub(crate) cleaned: Arc<AtomicUsize>,
    /// What becomes of the browsers to be started.
    pub(crate) plan: Mutex<Plan>,
    processes: Mutex<HashMap<usize, watch::Sender<Option<Exit>>>>,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Plan {
    #[default]
    Echo,
    /// Starts, and never says a word.
    Mute,
    /// Gets ready and lets one client in, then stops as on SIGSTOP.
    Hang,
    /// Exits before it is ready.
    Exit,
}

impl FakeBackend {
    pub(crate) fn kill_last(&self) {
        let last = self.starts.load(Ordering::SeqCst);
        let exit = Exit { code: None, signal: Some(9), stderr: String::new() };
        self.processes.lock().unwrap()[&last].send_replace(Some(exit));
    }
}

impl Backend for FakeBackend {
    fn start<'a>(&'a self, _: &'a str, _: &'a Spec) -> BoxFuture<'a, Result<Started, StartError>> {
        Box::pin(async move {
            let number = self.starts.fetch_add(1, Ordering::SeqCst) + 1;
            let (link, browser) = link();
            let plan = *self.plan.lock().unwrap();
            let early = Exit { code: Some(1), signal: None, stderr: "no".to_owned() };
            let (exit, watched) = watch::channel((plan == Plan::Exit).then_some(early));
            let mut ended = watched.clone();
            tokio::spawn(async move {
                let work = async {
                    match plan {
                        Plan::Echo => browser.echo().await,
                        Plan::Hang => browser.hang_after_a_client().await,
                        // The link stays open, as it does when a process is stopped.
                        Plan::Mute | Plan::Exit => {
                            let _kept = browser;
                            std::future::pending::<()>().await;
                        }
                    }
                };
                tokio::select! {
                    () = work => {}
                    _ = ended.wait_for(Option::is_some) => {}
                }
            });
            self.processes.lock().unwrap().insert(number, exit.clone());
            let process = FakeProcess { exit, watched, cleaned: self.cleaned.clone() };
            Ok(Started { link, protocol: Protocol::Cdp, process: Some(Box::new(process)) })
        })
    }

    fn check<'a>(&'a self, spec: &'a Spec) -> BoxFuture<'a, Result<(), StartError>> {
        Box::pin(async move {
            match spec {
                Spec::Launched(spec) if spec.browser.as_deref() == Some("nowhere") => {
                    Err(StartError { code: "no_browser", message: String::new(), hint: String::new() })
                }
                _ => Ok(()),
            }
        })
    }

    fn is_headed(&self, _: &Spec) -> bool {
        false
    }

    fn speaks(&self, _: &Spec) -> Protocol {
        Protocol::Cdp
    }

    fn protocol<'a>(&'a self, _: &'a Spec, _: &'a str) -> BoxFuture<'a, Result<Bytes, StartError>> {
        Box::pin(async { Ok(Bytes::from_static(b"{}")) })
    }
}

struct FakeProcess {
    exit: watch::Sender<Option<Exit>>,
    watched: watch::Receiver<Option<Exit>>,
    cleaned: Arc<AtomicUsize>,
}

impl Process for FakeProcess {
    fn pid(&self) -> u32 {
        1
    }

    fn exited(&mut self) -> BoxFuture<'_, Exit> {
        Box::pin(async {
            let exit = self.watched.wait_for(Option::is_some).await.expect("we hold the sender");
            exit.clone().expect("it was waited for")
        })
    }

    fn terminate(&mut self) {
        self.exit.send_if_modified(|exit| {
            exit.get_or_insert(Exit { code: Some(0), signal: None, stderr: String::new() });
            true
        });
    }

    fn kill(&mut self) {
        self.terminate();
    }

    fn clean_up(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.cleaned.fetch_add(1, Ordering::SeqCst);
        })
    }

    fn last_words(&self) -> String {
        "fake words".to_owned()
    }

    fn explain(&self, exit: &Exit) -> StartError {
        StartError { code: "exited_at_once", message: format!("it {exit}"), hint: String::new() }
    }
}
