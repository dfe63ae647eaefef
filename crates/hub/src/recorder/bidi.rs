//! The recorder's client of a browser that speaks WebDriver BiDi.
//!
//! What `attendant` is for CDP. One subscription tells of every tab, also of those that come later and from their first
//! moment, so nothing has to wait for it. Where lists of sites are to be kept, every request does: it is let go when
//! it has been looked at.

mod console;
mod events;
mod network;
mod pages;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bowline_wire::bidi::{self, ContextInfo, Message, Refusal};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::TaskTracker;

use self::events::{Data, Text};
use self::network::Requests;
use super::alarms::Alarms;
use super::events::{self as cdp_events, DialogOpening};
use super::record::{Body, Seq};
use super::store::TabKey;
use super::{Ask, BodyError, Recorder, network as cdp_network, now};
use crate::bidi::{BidiError, Client, Session, Who};

/// The world in which a page is asked for its title.
const SANDBOX: &str = "bowline-recorder";

/// Where pages are kept to some sites. Firefox tells nobody what a shared worker asks for, so there are none.
const NO_SHARED_WORKERS: &str = "() => { delete globalThis.SharedWorker; }";

pub(super) struct Attendant {
    recorder: Arc<Recorder>,
    browser: String,
    session: Session,
    client: Client,
    is_headed: bool,
    /// None means that dialogs are left alone.
    dialog_timeout: Option<Duration>,
    tasks: TaskTracker,
    tabs: HashMap<String, Watched>,
    frames: HashMap<String, Frame>,
    requests: Requests,
    last_id: u64,
    pending: HashMap<u64, Pending>,
    alarms: Alarms<Alarm>,
    last_dialog: u64,
    joining: Option<Joining>,
}

/// Commands that have not been answered yet, and who waits until they are.
struct Joining {
    left: usize,
    done: oneshot::Sender<Result<(), Refusal>>,
}

/// One tab, by its context.
struct Watched {
    tab: TabKey,
    /// When the current document was asked for.
    document_started: Option<f64>,
    dialog: Option<OpenPrompt>,
}

struct OpenPrompt {
    number: u64,
    /// The frame that has opened it.
    context: String,
    opening: DialogOpening,
}

/// One context, the tab's own among them.
struct Frame {
    top: String,
    parent: Option<String>,
    url: String,
}

/// What an answer is for.
enum Pending {
    /// One of the commands by which it joins, without which it is of no use.
    Joining,
    Collector,
    Title(TabKey),
    PostData(TabKey, Seq),
    Body(oneshot::Sender<Result<Body, BodyError>>),
    Answered(oneshot::Sender<bool>),
}

/// A dialog of this tab, by its number.
struct Alarm(String, u64);

impl Attendant {
    /// Joins the browser. When this returns, nothing that begins in it is missed.
    pub(super) async fn join(
        recorder: &Arc<Recorder>,
        browser: &str,
        session: &Session,
        is_headed: bool,
        asks: mpsc::Receiver<Ask>,
        tasks: &TaskTracker,
    ) -> Result<(), BidiError> {
        let settings = &recorder.settings;
        let dialog_timeout = if is_headed { settings.dialog_timeout_headed } else { settings.dialog_timeout };
        let (done, ready) = oneshot::channel();
        let mut attendant = Self {
            recorder: recorder.clone(),
            browser: browser.to_owned(),
            session: session.clone(),
            client: session.connect(Who::Own)?,
            is_headed,
            dialog_timeout,
            tasks: tasks.clone(),
            tabs: HashMap::new(),
            frames: HashMap::new(),
            requests: Requests::default(),
            last_id: 0,
            pending: HashMap::new(),
            alarms: Alarms::default(),
            last_dialog: 0,
            joining: Some(Joining { left: 0, done }),
        };
        let largest = settings.body.min(settings.body_buffer);
        let collector = json!({"dataTypes": ["request", "response"], "maxEncodedDataSize": largest});
        attendant.post("network.addDataCollector", &collector, Some(Pending::Collector));
        let subscribe = json!({"events": ["browsingContext", "log.entryAdded", "network"]});
        attendant.begin("session.subscribe", &subscribe);
        if recorder.origins(browser).is_some() {
            attendant.begin("network.addIntercept", &json!({"phases": ["beforeRequestSent"]}));
            // Nothing is taken from a person's own pages.
            if !session.is_virtual() {
                let preload = json!({"functionDeclaration": NO_SHARED_WORKERS});
                attendant.begin("script.addPreloadScript", &preload);
            }
        }
        tasks.spawn(attendant.run(asks));
        ready.await.map_err(|_| BidiError::Closed)?.map_err(BidiError::Refused)
    }

    /// A command that must be carried out before the browser is used.
    fn begin(&mut self, method: &str, params: &Value) {
        if let Some(joining) = &mut self.joining {
            joining.left += 1;
        }
        self.post(method, params, Some(Pending::Joining));
    }

    fn joined(&mut self, answer: Result<(), Refusal>) {
        let Some(joining) = &mut self.joining else { return };
        joining.left -= 1;
        if (joining.left == 0 || answer.is_err())
            && let Some(Joining { done, .. }) = self.joining.take()
        {
            // Whoever waited may have lost patience.
            let _ = done.send(answer);
        }
    }

    async fn run(mut self, mut asks: mpsc::Receiver<Ask>) {
        let outbox = self.client.outbox();
        let mut batch: Vec<Bytes> = Vec::new();
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
                () = self.alarms.next() => {
                    while let Some(Alarm(tab, number)) = self.alarms.take_due() {
                        self.dismiss(&tab, number);
                    }
                    self.recorder.publish();
                }
            }
        };
        self.end(&reason.text);
    }

    /// The connection is over, and every tab with it.
    fn end(mut self, reason: &str) {
        self.recorder.dialogs().ended(&self.browser);
        let tabs = std::mem::take(&mut self.tabs);
        for watched in tabs.values() {
            self.close_tab(watched.tab, reason);
        }
        self.recorder.publish();
        if !self.session.has_ended()
            && self.recorder.origins(&self.browser).is_some()
            && !self.session.is_virtual()
        {
            // Nobody would look at what it asks for until the next one has joined.
            tracing::warn!(
                browser = self.browser,
                reason,
                "its sites can no longer be kept to, so it is ended"
            );
            return self.session.close("the recorder fell behind, and the lists of sites could not be kept");
        }
        if !self.session.has_ended() {
            // Too far behind in a burst: what was in it is lost, the rest is not to be.
            tracing::warn!(browser = self.browser, reason, "the recorder was cut off, and joins again");
            let Self { recorder, browser, session, is_headed, tasks, .. } = self;
            tasks.clone().spawn(async move {
                if let Err(error) = recorder.attend_bidi(&browser, &session, is_headed, &tasks).await {
                    tracing::warn!(browser, %error, "no longer recorded");
                }
            });
        }
    }

    fn answer(&mut self, ask: Ask) {
        match ask {
            // Firefox would answer when it has ended, which a stream may never do.
            Ask::Body { request, done, .. } if self.requests.is_under_way(&request) => {
                let _ = done.send(Err(BodyError::Gone("the answer has not ended yet".to_owned())));
            }
            Ask::Body { request, done, .. } => {
                let params = json!({"dataType": "response", "request": request});
                self.post("network.getData", &params, Some(Pending::Body(done)));
            }
            Ask::Dialog { session, accept, text, done } => {
                let mut params = json!({"context": session, "accept": accept});
                if let Some(text) = text {
                    params["userText"] = json!(text);
                }
                let answered = Pending::Answered(done);
                self.post("browsingContext.handleUserPrompt", &params, Some(answered));
            }
            Ask::Adopt(info) => {
                let context = info.target_id.as_str();
                let Some(watched) = self.tabs.get_mut(context) else { return };
                let mut store = self.recorder.store();
                if store.tab(watched.tab).is_none() {
                    let (tab, _) = store.open(&self.browser, &info, now());
                    store.watched(tab);
                    watched.tab = tab;
                }
                drop(store);
                self.recorder.nudge();
            }
        }
    }

    fn post(&mut self, method: &str, params: &Value, pending: Option<Pending>) {
        self.last_id += 1;
        if let Some(pending) = pending {
            self.pending.insert(self.last_id, pending);
        }
        self.client.post(&bidi::command(self.last_id, method, params));
    }

    fn message(&mut self, message: &Bytes) {
        let Ok(text) = std::str::from_utf8(message) else { return };
        match Message::parse(text) {
            Some(Message::Success { id, result }) => self.answered(id, Ok(result.get())),
            Some(Message::Error { id: Some(id), error }) => self.answered(id, Err(error)),
            Some(Message::Event { method, params }) => self.event(&method, params.get()),
            _ => {}
        }
    }

    fn answered(&mut self, id: u64, answer: Result<&str, Refusal>) {
        match self.pending.remove(&id) {
            None => {}
            Some(Pending::Joining) => self.joined(answer.map(|_| ())),
            Some(Pending::Collector) => {
                if let Err(error) = answer {
                    tracing::warn!(browser = self.browser, %error, "no bodies are recorded");
                }
            }
            Some(Pending::Title(tab)) => {
                if let Ok(answer) = answer
                    && let Some(title) = title_of(answer)
                {
                    self.titled(tab, &title);
                }
            }
            Some(Pending::PostData(tab, seq)) => {
                let Ok(Ok(Data { bytes: Text::String(text) })) = answer.map(cdp_events::read) else { return };
                let (text, _) = cdp_network::cut(text, self.recorder.settings.caps.text);
                self.recorder.store().update_network(tab, seq, |record| record.post_data = Some(text));
            }
            // Whoever asked may have left.
            Some(Pending::Body(done)) => {
                let body = answer.map_err(|error| BodyError::Gone(error.message));
                let body = body.and_then(|answer| {
                    let Data { bytes } =
                        cdp_events::read(answer).map_err(|error| BodyError::Gone(error.to_string()))?;
                    let (text, is_base64) = match bytes {
                        Text::String(text) => (text, false),
                        Text::Base64(text) => (text, true),
                    };
                    Ok(super::bounded(text, is_base64, self.recorder.settings.body))
                });
                let _ = done.send(body);
            }
            Some(Pending::Answered(done)) => drop(done.send(answer.is_ok())),
        }
    }

    fn event(&mut self, method: &str, params: &str) {
        match method {
            "browsingContext.contextCreated" => self.with(params, Self::created),
            "browsingContext.contextDestroyed" => {
                self.with(params, |this, event: ContextInfo| this.destroyed(&event.context));
            }
            "browsingContext.navigationCommitted" => self.with(params, Self::navigated),
            "browsingContext.fragmentNavigated" | "browsingContext.historyUpdated" => {
                self.with(params, Self::moved);
            }
            "browsingContext.domContentLoaded" => {
                self.with(params, |this, event| this.loaded(&event, false));
            }
            "browsingContext.load" => self.with(params, |this, event| this.loaded(&event, true)),
            "browsingContext.userPromptOpened" => self.with(params, Self::opened),
            "browsingContext.userPromptClosed" => self.with(params, Self::closed),
            "log.entryAdded" => self.with(params, Self::logged),
            "network.beforeRequestSent" => self.with(params, Self::sent),
            "network.responseStarted" => self.with(params, |this, event| {
                this.requests.started(&mut this.recorder.store(), event);
            }),
            "network.responseCompleted" => self.with(params, |this, event| {
                this.requests.completed(&mut this.recorder.store(), event);
            }),
            "network.fetchError" => self.with(params, |this, event| {
                this.requests.failed(&mut this.recorder.store(), event);
            }),
            _ => {}
        }
    }

    fn with<T: for<'de> Deserialize<'de>>(&mut self, params: &str, then: impl FnOnce(&mut Self, T)) {
        match cdp_events::read(params) {
            Ok(event) => then(self, event),
            Err(error) => tracing::debug!(%error, "an event could not be read by the recorder"),
        }
    }
}

fn title_of(answer: &str) -> Option<String> {
    let answer: Value = cdp_events::read(answer).ok()?;
    answer["result"]["value"].as_str().map(str::to_owned)
}
