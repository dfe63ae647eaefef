//! The recorder's client of one browser: attaches to everything before it runs, and hands what it hears
//! to the memory.
//!
//! One task owns it. Order matters in two places. A new target is released, and reported as watched, only
//! when it has answered the last of the commands that make it talk; whoever may navigate it waits for
//! that. And a message is in the memory before anyone is told that there is news.

mod page;
mod targets;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bowline_wire::cdp::{self, SessionRef, TargetInfo};
use bowline_wire::{BrowserMessage, SessionId, TargetId};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::TaskTracker;

use super::alarms::Alarms;
use super::events::{self, DialogOpening};
use super::network::Requests;
use super::preview::RemoteObject;
use super::record::{Body, Origin, Seq};
use super::store::TabKey;
use super::{Ask, BodyError, Recorder, bounded};
use crate::router::{CallError, CdpClient, Router};

/// What of a browser is watched. Parts of its own surface (`browser_ui`, `tab`) are not.
pub(super) const AT_ROOT: [&str; 5] =
    ["page", "iframe", "service_worker", "shared_worker", "background_page"];
/// What is watched below a page. Workers that pages share are watched at the root. A service worker is
/// attached to here all the same, because only this keeps its script from being fetched too early.
const BELOW: [&str; 3] = ["iframe", "worker", SERVICE_WORKER];
const SERVICE_WORKER: &str = "service_worker";

/// A target that does not answer must not be kept from running for longer.
pub(super) const SETUP: Duration = Duration::from_secs(2);
/// How long objects that a page logged are kept alive on our account.
const RELEASE: Duration = Duration::from_secs(10);

pub(super) struct Attendant {
    recorder: Arc<Recorder>,
    browser: String,
    router: Router,
    client: CdpClient,
    is_headed: bool,
    /// None means that dialogs are left alone.
    dialog_timeout: Option<Duration>,
    tasks: TaskTracker,
    sessions: HashMap<SessionId, Watched>,
    /// Second sessions on service workers, which wait until the first is ready.
    guards: Vec<(TargetId, SessionId)>,
    requests: Requests,
    last_id: i32,
    pending: HashMap<i32, Pending>,
    expansions: usize,
    alarms: Alarms<Alarm>,
    last_dialog: u64,
    /// Told when the tabs that there were in the beginning have said what they remember.
    caught_up: Option<oneshot::Sender<()>>,
}

/// One target that is being watched.
struct Watched {
    target: TargetId,
    tab: TabKey,
    /// The session whose end is the end of the tab.
    is_tab: bool,
    is_page: bool,
    /// For a part of a tab that is not the page itself.
    origin: Option<Origin>,
    waiting: bool,
    is_ready: bool,
    /// Whether the tab had been known before: it then tells again what is known already.
    repeats: bool,
    frames: HashMap<i64, String>,
    /// When the current document was asked for, on the browser's clock in seconds.
    document_started: Option<f64>,
    dialog: Option<(u64, DialogOpening)>,
    logged_objects: bool,
}

/// What an answer is for.
enum Pending {
    Root(oneshot::Sender<()>),
    Setup(SessionId),
    Running(TargetId, SessionId),
    Info,
    Expansion { tab: TabKey, seq: Seq, argument: usize, object: Box<RemoteObject> },
    Body(oneshot::Sender<Result<Body, BodyError>>),
    Answered(oneshot::Sender<bool>),
}

enum Alarm {
    Setup(SessionId),
    Guard(SessionId),
    Dialog(SessionId, u64),
    Release,
}

impl Attendant {
    /// Joins the browser. When this returns, nothing that begins in it is missed, and what its tabs
    /// remember of before is known.
    pub(super) async fn join(
        recorder: &Arc<Recorder>,
        browser: &str,
        router: &Router,
        is_headed: bool,
        asks: mpsc::Receiver<Ask>,
        tasks: &TaskTracker,
    ) -> Result<(), CallError> {
        let client = router.connect_own().await?;
        router.watched_by(&client);
        let settings = &recorder.settings;
        let dialog_timeout = if is_headed { settings.dialog_timeout_headed } else { settings.dialog_timeout };
        let mut attendant = Self {
            recorder: recorder.clone(),
            browser: browser.to_owned(),
            router: router.clone(),
            client,
            is_headed,
            dialog_timeout,
            tasks: tasks.clone(),
            sessions: HashMap::new(),
            guards: Vec::new(),
            requests: Requests::new(recorder.settings.caps.clone()),
            last_id: 0,
            pending: HashMap::new(),
            expansions: 0,
            alarms: Alarms::default(),
            last_dialog: 0,
            caught_up: None,
        };
        let (joined, ready) = oneshot::channel();
        let discover = json!({"discover": true, "filter": filter(&AT_ROOT)});
        attendant.post(None, "Target.setDiscoverTargets", discover, None);
        attendant.post(None, "Target.setAutoAttach", auto_attach(&AT_ROOT), Some(Pending::Root(joined)));
        attendant.alarms.set(RELEASE, Alarm::Release);
        tasks.spawn(attendant.run(asks));
        ready.await.map_err(|_| CallError::Closed)
    }

    async fn run(mut self, mut asks: mpsc::Receiver<Ask>) {
        let outbox = self.client.outbox();
        let mut batch = Vec::new();
        let reason = loop {
            tokio::select! {
                taken = outbox.take(&mut batch) => match taken {
                    Ok(()) => {
                        for message in batch.drain(..) {
                            self.message(&message);
                        }
                        self.recorder.publish();
                        // A browser that never stops talking must not keep the others from being served.
                        tokio::task::yield_now().await;
                    }
                    Err(reason) => break reason,
                },
                Some(ask) = asks.recv() => self.answer(ask),
                () = self.alarms.next() => self.ring(),
            }
        };
        self.end(&reason.text);
    }

    /// The connection is over, and every tab with it.
    fn end(mut self, reason: &str) {
        self.recorder.dialogs().ended(&self.browser);
        let sessions = std::mem::take(&mut self.sessions);
        for watched in sessions.values().filter(|watched| watched.is_tab) {
            self.close_tab(watched.tab, reason);
        }
        self.recorder.publish();
        if !self.router.has_ended() {
            // Too far behind in a burst: what was in it is lost, the rest is not to be.
            tracing::warn!(browser = self.browser, reason, "the recorder was cut off, and joins again");
            let Self { recorder, browser, router, is_headed, tasks, .. } = self;
            tasks.clone().spawn(async move {
                if let Err(error) = recorder.attend(&browser, &router, is_headed, &tasks).await {
                    tracing::warn!(browser, %error, "no longer recorded");
                }
            });
        }
    }

    fn answer(&mut self, ask: Ask) {
        match ask {
            Ask::Body { session, request, done } => {
                let params = json!({ "requestId": request });
                self.post(Some(&session), "Network.getResponseBody", params, Some(Pending::Body(done)));
            }
            Ask::Dialog { session, accept, text, done } => {
                let mut params = json!({ "accept": accept });
                if let Some(text) = text {
                    params["promptText"] = json!(text);
                }
                let answered = Pending::Answered(done);
                self.post(Some(&session), "Page.handleJavaScriptDialog", params, Some(answered));
            }
            Ask::Adopt(info) => self.adopt(&info),
        }
    }

    fn post(&mut self, session: Option<&SessionId>, method: &str, params: Value, pending: Option<Pending>) {
        self.last_id = self.last_id.checked_add(1).unwrap_or(1);
        let mut message = json!({"id": self.last_id, "method": method, "params": params});
        if let Some(session) = session {
            message["sessionId"] = json!(session);
        }
        if let Some(pending) = pending {
            self.pending.insert(self.last_id, pending);
        }
        self.client.post(&message.to_string());
    }

    fn ring(&mut self) {
        while let Some(alarm) = self.alarms.take_due() {
            match alarm {
                Alarm::Setup(session) => self.ready(&session),
                Alarm::Guard(session) => {
                    let late = self.guards.iter().find(|(_, guard)| *guard == session);
                    if let Some(target) = late.map(|(target, _)| target.clone()) {
                        self.release_guards(|guarded| *guarded == target);
                    }
                }
                Alarm::Dialog(session, number) => self.dismiss(&session, number),
                Alarm::Release => {
                    self.release_objects();
                    self.alarms.set(RELEASE, Alarm::Release);
                }
            }
        }
        self.recorder.publish();
    }

    fn message(&mut self, message: &Bytes) {
        let Ok(text) = std::str::from_utf8(message) else { return };
        let Some(envelope) = BrowserMessage::parse(text) else { return };
        if let Some(id) = envelope.id {
            return self.answered(id, message);
        }
        let (Some(method), Some(params)) = (envelope.method, params_of(text)) else { return };
        match method {
            cdp::ATTACHED_TO_TARGET => {
                self.with(params, |this, event| this.attached(envelope.session, event));
            }
            cdp::DETACHED_FROM_TARGET => {
                self.with(params, |this, event: SessionRef| this.detached(&event.session_id));
            }
            "Target.targetInfoChanged" => {
                self.with(params, |this, event: Changed| this.info_changed(&event.target_info));
            }
            _ => {
                if let Some(session) = envelope.session.map(SessionId::new) {
                    self.session_event(&session, method, params);
                }
            }
        }
    }

    fn with<T: for<'de> Deserialize<'de>>(&mut self, params: &str, then: impl FnOnce(&mut Self, T)) {
        match events::read(params) {
            Ok(event) => then(self, event),
            Err(error) => tracing::debug!(%error, "an event could not be read by the recorder"),
        }
    }

    fn answered(&mut self, id: i32, message: &Bytes) {
        match self.pending.remove(&id) {
            None => {}
            // Whoever asked may have left.
            Some(Pending::Root(joined)) => {
                self.caught_up = Some(joined);
                self.tell_caught_up();
            }
            Some(Pending::Body(done)) => drop(done.send(read_body(message, self.recorder.settings.body))),
            Some(Pending::Answered(done)) => {
                let answer = serde_json::from_slice::<Value>(message);
                let _ = done.send(answer.is_ok_and(|answer| answer.get("error").is_none()));
            }
            Some(Pending::Setup(session)) => self.ready(&session),
            Some(Pending::Running(target, session)) => self.router.settle(target, session),
            Some(Pending::Info) => {
                if let Ok(answer) = serde_json::from_slice::<InfoAnswer>(message) {
                    self.info_changed(&answer.result.target_info);
                }
            }
            Some(Pending::Expansion { tab, seq, argument, object }) => {
                self.expansions -= 1;
                self.expanded(tab, seq, argument, &object, message);
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Changed {
    target_info: TargetInfo,
}

#[derive(Deserialize)]
struct InfoAnswer {
    result: Changed,
}

fn auto_attach(kinds: &[&str]) -> Value {
    json!({"autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true, "filter": filter(kinds)})
}

fn filter(kinds: &[&str]) -> Value {
    kinds.iter().map(|kind| json!({"type": kind})).collect()
}

fn params_of(event: &str) -> Option<&str> {
    #[derive(Deserialize)]
    struct Event<'a> {
        #[serde(borrow)]
        params: &'a RawValue,
    }
    serde_json::from_str::<Event<'_>>(event).ok().map(|event| event.params.get())
}

fn read_body(answer: &Bytes, limit: usize) -> Result<Body, BodyError> {
    #[derive(Deserialize)]
    struct Answer {
        result: Option<Found>,
        error: Option<Value>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Found {
        body: String,
        base64_encoded: bool,
    }
    let answer: Answer =
        serde_json::from_slice(answer).map_err(|error| BodyError::Gone(error.to_string()))?;
    let Some(Found { body, base64_encoded }) = answer.result else {
        let message = answer.error.map(|error| error["message"].as_str().unwrap_or("?").to_owned());
        return Err(BodyError::Gone(message.unwrap_or_default()));
    };
    Ok(bounded(body, base64_encoded, limit))
}
