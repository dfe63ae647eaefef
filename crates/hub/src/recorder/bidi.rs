//! The recorder's client of a browser that speaks WebDriver BiDi.
//!
//! What `attendant` is for CDP. One subscription tells of every tab, also of those that come later and from their first
//! moment, so nothing has to wait for it. Where lists of sites are to be kept, every request does: it is let go when
//! it has been looked at.

mod console;
mod events;
mod network;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bowline_wire::bidi::{self, ContextInfo, Message, Refusal};
use bowline_wire::origins::origin;
use bowline_wire::{SessionId, TargetId};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::TaskTracker;

use self::events::{Data, LogEntry, Navigation, NetworkEvent, Prompt, Text};
use self::network::{Requests, Sender};
use super::alarms::Alarms;
use super::console::Place;
use super::events::{self as cdp_events, DialogOpening};
use super::record::{Body, ConsoleRecord, Level, Origin, Seq, Source};
use super::store::TabKey;
use super::{Ask, BodyError, Recorder, network as cdp_network, now};
use crate::bidi::{BidiError, Client, Session, Who, page_info};

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

    fn created(&mut self, info: ContextInfo) {
        let top = match &info.parent {
            None => info.context.clone(),
            Some(parent) => match self.frames.get(parent) {
                Some(frame) => frame.top.clone(),
                None => return,
            },
        };
        let is_tab = info.parent.is_none();
        let (context, url) = (info.context.clone(), info.url.clone());
        self.frames.insert(context.clone(), Frame { top, parent: info.parent.clone(), url });
        if !is_tab || self.tabs.contains_key(&context) {
            return;
        }
        let mut store = self.recorder.store();
        let (tab, _) = store.open(&self.browser, &page_info(&info, String::new()), now());
        store.watched(tab);
        drop(store);
        self.tabs.insert(context.clone(), Watched { tab, document_started: None, dialog: None });
        self.recorder.nudge();
        self.ask_title(&context);
    }

    fn destroyed(&mut self, context: &str) {
        let below: Vec<String> = self
            .frames
            .iter()
            .filter(|(_, frame)| frame.parent.as_deref() == Some(context))
            .map(|(child, _)| child.clone())
            .collect();
        for child in below {
            self.destroyed(&child);
        }
        self.requests.left(&mut self.recorder.store(), context);
        self.frames.remove(context);
        if let Some(watched) = self.tabs.remove(context) {
            self.recorder.dialogs().closed(&self.browser, &TargetId::new(context));
            self.close_tab(watched.tab, "the tab was closed");
        }
    }

    fn close_tab(&mut self, tab: TabKey, reason: &str) {
        let mut store = self.recorder.store();
        self.requests.abandon(&mut store, tab, reason);
        store.close(tab, reason, now());
        drop(store);
        // No record tells of it.
        self.recorder.nudge();
    }

    fn navigated(&mut self, event: Navigation) {
        let Navigation { context, navigation, timestamp, url } = event;
        let Some(frame) = self.frames.get_mut(&context) else { return };
        frame.url.clone_from(&url);
        let mut store = self.recorder.store();
        self.requests.left(&mut store, &context);
        let Some(watched) = self.tabs.get_mut(&context) else { return };
        let begun = navigation.and_then(|navigation| self.requests.begun(&navigation));
        let started = begun.unwrap_or(timestamp);
        watched.document_started = Some(started);
        store.navigated(watched.tab, &url, started);
    }

    /// Another address for the same document.
    fn moved(&mut self, event: Navigation) {
        let Some(frame) = self.frames.get_mut(&event.context) else { return };
        frame.url.clone_from(&event.url);
        let Some(watched) = self.tabs.get(&event.context) else { return };
        self.recorder.store().change(watched.tab, |tab| tab.url = event.url);
        self.ask_title(&event.context);
    }

    fn loaded(&mut self, event: &Navigation, is_whole: bool) {
        let Some(watched) = self.tabs.get(&event.context) else { return };
        if let Some(started) = watched.document_started {
            let after = (event.timestamp - started).max(0.0);
            self.recorder.store().change(watched.tab, |tab| {
                let Some(page) = tab.pages.back_mut() else { return };
                if is_whole {
                    page.loaded = Some(after);
                } else {
                    page.content_loaded = Some(after);
                }
            });
        }
        self.ask_title(&event.context);
    }

    /// BiDi tells no titles.
    fn ask_title(&mut self, context: &str) {
        let Some(tab) = self.tabs.get(context).map(|watched| watched.tab) else { return };
        let params = json!({"expression": "document.title", "awaitPromise": false,
            "target": {"context": context, "sandbox": SANDBOX}});
        self.post("script.evaluate", &params, Some(Pending::Title(tab)));
    }

    fn titled(&self, tab: TabKey, title: &str) {
        self.recorder.store().change(tab, |tab| {
            title.clone_into(&mut tab.title);
            if let Some(page) = tab.pages.back_mut() {
                title.clone_into(&mut page.title);
            }
        });
        self.recorder.nudge();
    }

    /// Makes a record of something that happened in a context, and remembers it.
    fn add(&mut self, context: &str, make: impl FnOnce(&Place<'_>) -> ConsoleRecord) {
        let Some(frame) = self.frames.get(context) else { return };
        let Some(watched) = self.tabs.get(&frame.top) else { return };
        let origin = self.foreign(context);
        let mut store = self.recorder.store();
        let Some(tab) = store.tab(watched.tab) else { return };
        let place = Place {
            target: &frame.top,
            frame: Some(context.to_owned()),
            origin: origin.as_ref(),
            navigation: tab.navigations,
            text: self.recorder.settings.caps.text,
        };
        let record = make(&place);
        store.add_console(watched.tab, record);
    }

    /// A frame of another site speaks for itself.
    fn foreign(&self, context: &str) -> Option<Origin> {
        let frame = self.frames.get(context)?;
        let top = self.frames.get(&frame.top)?;
        let is_foreign = frame.parent.is_some() && origin(&frame.url) != origin(&top.url);
        is_foreign.then(|| Origin { kind: "iframe".to_owned(), url: frame.url.clone() })
    }

    fn logged(&mut self, entry: LogEntry) {
        let Some(context) = entry.source.context.clone() else { return };
        self.add(&context, |place| console::record(place, entry));
    }

    fn sent(&mut self, event: NetworkEvent) {
        if event.is_blocked {
            self.judge(&event);
        }
        let Some(context) = event.context.clone() else { return };
        let Some(frame) = self.frames.get(&context) else { return };
        let Some(watched) = self.tabs.get(&frame.top) else { return };
        let (tab, has_body) = (watched.tab, event.request.body_size.is_some_and(|size| size > 0.0));
        let request = event.request.request.clone();
        let mut store = self.recorder.store();
        let Some(navigation) = store.tab(tab).map(|tab| tab.navigations) else { return };
        let from =
            Sender { tab, target: &frame.top, context: &context, origin: self.foreign(&context), navigation };
        let seq = self.requests.sent(&mut store, &from, event);
        drop(store);
        if let Some(seq) = seq.filter(|_| has_body) {
            let params = json!({"dataType": "request", "request": request});
            self.post("network.getData", &params, Some(Pending::PostData(tab, seq)));
        }
    }

    /// Something is about to be fetched, or a redirect of it: only from sites that may be used.
    fn judge(&mut self, event: &NetworkEvent) {
        let request = json!({"request": event.request.request});
        let refusal =
            self.recorder.origins(&self.browser).and_then(|origins| origins.refusal(&event.request.url));
        let Some(refusal) = refusal.filter(|_| network::is_kept(&event.request)) else {
            return self.post("network.continueRequest", &request, None);
        };
        self.post("network.failRequest", &request, None);
        tracing::info!(browser = self.browser, %refusal, "a request was refused");
        if let Some(context) = &event.context {
            self.add(context, |place| {
                place.record(now(), Level::Error, Source::Log, format!("Refused by policy: {refusal}"))
            });
        }
    }

    fn opened(&mut self, event: Prompt) {
        let Some(frame) = self.frames.get(&event.context) else { return };
        let top = frame.top.clone();
        let opening =
            DialogOpening { message: event.message, kind: event.kind, default_prompt: event.default_value };
        let session = SessionId::new(event.context.as_str());
        self.recorder.dialogs().opened(&self.browser, &TargetId::new(top.as_str()), &session, &opening);
        self.last_dialog += 1;
        let number = self.last_dialog;
        if let Some(watched) = self.tabs.get_mut(&top) {
            watched.dialog = Some(OpenPrompt { number, context: event.context, opening });
        }
        if let Some(timeout) = self.dialog_timeout {
            self.alarms.set(timeout, Alarm(top, number));
        }
    }

    fn closed(&mut self, event: Prompt) {
        let Some(frame) = self.frames.get(&event.context) else { return };
        self.recorder.dialogs().closed(&self.browser, &TargetId::new(frame.top.as_str()));
        if let Some(watched) = self.tabs.get_mut(&frame.top) {
            watched.dialog = None;
        }
    }

    /// Nobody has answered a dialog for long enough; the page would hang for ever.
    fn dismiss(&mut self, tab: &str, number: u64) {
        let is_it = |prompt: &mut OpenPrompt| prompt.number == number;
        let Some(watched) = self.tabs.get_mut(tab) else { return };
        if !watched.dialog.as_mut().is_some_and(is_it) {
            return;
        }
        if let Some(rest) = self.recorder.dialogs().remaining(&self.browser, &TargetId::new(tab)) {
            return self.alarms.set(rest, Alarm(tab.to_owned(), number));
        }
        let Some(OpenPrompt { context, opening, .. }) = watched.dialog.take() else { return };
        let params = json!({"context": context, "accept": false});
        self.post("browsingContext.handleUserPrompt", &params, None);
        let seconds = self.dialog_timeout.unwrap_or_default().as_secs_f64();
        tracing::info!(browser = self.browser, kind = opening.kind, "a dialog was dismissed");
        self.add(&context, |place| super::console::dismissed(place, opening, seconds));
    }
}

fn title_of(answer: &str) -> Option<String> {
    let answer: Value = cdp_events::read(answer).ok()?;
    answer["result"]["value"].as_str().map(str::to_owned)
}
