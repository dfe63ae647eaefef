//! What happens in tabs: where they go, what they log and ask for, and their dialogs.

use bowline_wire::bidi::ContextInfo;
use bowline_wire::origins::origin;
use bowline_wire::{SessionId, TargetId};
use serde_json::json;

use super::events::{LogEntry, Navigation, NetworkEvent, Prompt};
use super::network::{self, Sender};
use super::{Alarm, Attendant, Frame, OpenPrompt, Pending, SANDBOX, Watched, console};
use crate::bidi::page_info;
use crate::recorder::console::{self as records, Place};
use crate::recorder::events::DialogOpening;
use crate::recorder::now;
use crate::recorder::record::{ConsoleRecord, Level, Origin, Source};
use crate::recorder::store::TabKey;

impl Attendant {
    pub(super) fn created(&mut self, info: ContextInfo) {
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

    pub(super) fn destroyed(&mut self, context: &str) {
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

    pub(super) fn close_tab(&mut self, tab: TabKey, reason: &str) {
        let mut store = self.recorder.store();
        self.requests.abandon(&mut store, tab, reason);
        store.close(tab, reason, now());
        drop(store);
        // No record tells of it.
        self.recorder.nudge();
    }

    pub(super) fn navigated(&mut self, event: Navigation) {
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
    pub(super) fn moved(&mut self, event: Navigation) {
        let Some(frame) = self.frames.get_mut(&event.context) else { return };
        frame.url.clone_from(&event.url);
        let Some(watched) = self.tabs.get(&event.context) else { return };
        self.recorder.store().change(watched.tab, |tab| tab.url = event.url);
        self.ask_title(&event.context);
    }

    pub(super) fn loaded(&mut self, event: &Navigation, is_whole: bool) {
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

    pub(super) fn titled(&self, tab: TabKey, title: &str) {
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

    pub(super) fn logged(&mut self, entry: LogEntry) {
        let Some(context) = entry.source.context.clone() else { return };
        self.add(&context, |place| console::record(place, entry));
    }

    pub(super) fn sent(&mut self, event: NetworkEvent) {
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

    pub(super) fn opened(&mut self, event: Prompt) {
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

    pub(super) fn closed(&mut self, event: Prompt) {
        let Some(frame) = self.frames.get(&event.context) else { return };
        self.recorder.dialogs().closed(&self.browser, &TargetId::new(frame.top.as_str()));
        if let Some(watched) = self.tabs.get_mut(&frame.top) {
            watched.dialog = None;
        }
    }

    /// Nobody has answered a dialog for long enough; the page would hang for ever.
    pub(super) fn dismiss(&mut self, tab: &str, number: u64) {
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
        self.add(&context, |place| records::dismissed(place, opening, seconds));
    }
}
