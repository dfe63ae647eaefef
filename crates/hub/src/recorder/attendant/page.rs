//! What happens in a target: console, navigation, requests and dialogs.

use std::time::Duration;

use std::collections::BTreeMap;

use bowline_wire::SessionId;
use bowline_wire::cdp;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;

use super::{Alarm, Attendant, Pending};
use crate::recorder::console::{self, Place};
use crate::recorder::events::{
    ConsoleApiCalled, ContextCreated, ContextDestroyed, DialogOpening, EntryAdded, ExceptionThrown,
    FrameNavigated, PageEvent, RequestPaused,
};
use crate::recorder::network::Sender;
use crate::recorder::now;
use crate::recorder::preview::{self, RemoteObject};
use crate::recorder::record::{ConsoleRecord, Level, Seq, Source};
use crate::recorder::store::TabKey;

/// Questions about logged objects that are open at once; further objects are shown less deep.
const EXPANSIONS: usize = 32;

impl Attendant {
    pub(super) fn session_event(&mut self, session: &SessionId, method: &str, params: &str) {
        if method.starts_with("Network.") {
            return self.network_event(session, method, params);
        }
        match method {
            "Runtime.consoleAPICalled" => self.with(params, |this, event| this.console(session, &event)),
            "Runtime.exceptionThrown" => self.with(params, |this, event: ExceptionThrown| {
                let context = event.exception_details.execution_context_id.unwrap_or_default();
                this.add(session, context, |place| console::exception(place, &event));
            }),
            "Log.entryAdded" => self.with(params, |this, event: EntryAdded| {
                // What a worker logs is told here too; the worker's own session has told it.
                if event.entry.source == "worker" {
                    return;
                }
                this.add(session, 0, |place| console::entry_added(place, &event));
            }),
            "Runtime.executionContextCreated" => self.with(params, |this, event: ContextCreated| {
                let frame = event.context.aux_data.and_then(|data| data.frame_id);
                if let (Some(watched), Some(frame)) = (this.sessions.get_mut(session), frame) {
                    watched.frames.insert(event.context.id, frame);
                }
            }),
            "Runtime.executionContextDestroyed" => self.with(params, |this, event: ContextDestroyed| {
                if let Some(watched) = this.sessions.get_mut(session) {
                    watched.frames.remove(&event.execution_context_id);
                }
            }),
            "Runtime.executionContextsCleared" => {
                if let Some(watched) = self.sessions.get_mut(session) {
                    watched.frames.clear();
                }
            }
            "Page.frameNavigated" => self.with(params, |this, event| this.navigated(session, &event)),
            "Page.domContentEventFired" | "Page.loadEventFired" => {
                self.with(params, |this, event: PageEvent| this.page_event(session, method, event.timestamp));
            }
            "Fetch.requestPaused" => {
                self.with(params, |this, event: RequestPaused| this.paused(session, &event))
            }
            "Page.javascriptDialogOpening" => self.with(params, |this, event| this.opened(session, event)),
            "Page.javascriptDialogClosed" => {
                if let Some(watched) = self.sessions.get_mut(session) {
                    watched.dialog = None;
                }
                self.tell_dialog(session, None);
            }
            cdp::TARGET_CRASHED => self.add(session, 0, |place| {
                place.record(now(), Level::Error, Source::Crash, "the page crashed".to_owned())
            }),
            _ => {}
        }
    }

    /// Makes a record and remembers it. `None` if it is known already.
    pub(super) fn add_record(
        &mut self,
        session: &SessionId,
        context: i64,
        make: impl FnOnce(&Place<'_>) -> ConsoleRecord,
    ) -> Option<(TabKey, Seq)> {
        let watched = self.sessions.get(session)?;
        let mut store = self.recorder.store();
        let tab = store.tab(watched.tab)?;
        let place = Place {
            target: tab.target.as_str(),
            frame: watched.frames.get(&context).cloned().or_else(|| {
                // A frame's target has the frame's id.
                watched.is_page.then(|| watched.target.to_string())
            }),
            origin: watched.origin.as_ref(),
            navigation: tab.navigations,
            text: self.recorder.settings.caps.text,
        };
        let record = make(&place);
        let is_known = |known: &ConsoleRecord| {
            known.timestamp == record.timestamp
                && known.source == record.source
                && known.level == record.level
        };
        if watched.repeats && tab.console.iter().any(is_known) {
            return None;
        }
        let seq = store.add_console(watched.tab, record);
        Some((watched.tab, seq))
    }

    pub(super) fn add(
        &mut self,
        session: &SessionId,
        context: i64,
        make: impl FnOnce(&Place<'_>) -> ConsoleRecord,
    ) {
        self.add_record(session, context, make);
    }

    pub(super) fn console(&mut self, session: &SessionId, event: &ConsoleApiCalled) {
        let added =
            self.add_record(session, event.execution_context_id, |place| console::api_called(place, event));
        if event.args.iter().any(|arg| arg.object_id.is_some())
            && let Some(watched) = self.sessions.get_mut(session)
        {
            watched.logged_objects = true;
        }
        let Some((tab, seq)) = added else { return };
        for (argument, object, id) in console::with_hidden_depth(&event.args) {
            if self.expansions >= EXPANSIONS {
                break;
            }
            self.expansions += 1;
            let params = json!({"objectId": id, "ownProperties": true, "generatePreview": true});
            let object = Box::new(object.clone());
            let pending = Pending::Expansion { tab, seq, argument, object };
            self.post(Some(session), "Runtime.getProperties", params, Some(pending));
        }
    }

    /// The properties of a logged object are there: show it one level deeper.
    pub(super) fn expanded(
        &mut self,
        tab: TabKey,
        seq: Seq,
        argument: usize,
        object: &RemoteObject,
        answer: &Bytes,
    ) {
        #[derive(Deserialize)]
        struct Answer {
            result: Option<Properties>,
        }
        #[derive(Deserialize)]
        struct Properties {
            result: Vec<Property>,
        }
        #[derive(Deserialize)]
        struct Property {
            name: String,
            value: Option<RemoteObject>,
        }
        let Ok(Answer { result: Some(properties) }) = serde_json::from_slice::<Answer>(answer) else {
            return;
        };
        let nested: BTreeMap<String, String> = properties
            .result
            .into_iter()
            .filter_map(|property| Some((property.name, property.value?)))
            .filter(|(_, value)| value.kind == "object" && value.preview.is_some())
            .map(|(name, value)| (name, preview::argument(&value).text))
            .collect();
        let deeper = preview::with_properties(object, &nested);
        let limit = self.recorder.settings.caps.text;
        self.recorder.store().improve_console(tab, seq, |record| {
            let Some(argument) = record.args.get_mut(argument) else { return };
            if record.text.len() + deeper.len() <= limit {
                record.text = record.text.replacen(&argument.text, &deeper, 1);
                argument.text = deeper;
            }
        });
    }

    /// What a page logged would otherwise live for as long as the page, because we have seen it.
    pub(super) fn release_objects(&mut self) {
        let holding: Vec<SessionId> = self
            .sessions
            .iter_mut()
            .filter_map(|(session, watched)| {
                std::mem::take(&mut watched.logged_objects).then(|| session.clone())
            })
            .collect();
        for session in holding {
            self.post(Some(&session), "Runtime.releaseObjectGroup", json!({"objectGroup": "console"}), None);
        }
    }

    pub(super) fn navigated(&mut self, session: &SessionId, event: &FrameNavigated) {
        let Some(watched) = self.sessions.get_mut(session) else { return };
        if let Some(origin) = watched.origin.as_mut().filter(|_| event.frame.id == watched.target.as_str()) {
            // A frame has no address yet when it is attached to.
            origin.url.clone_from(&event.frame.url);
        }
        if !watched.is_page || event.frame.parent_id.is_some() {
            return;
        }
        let begun = self.requests.begun(&event.frame.loader_id);
        watched.document_started = begun.map(|(clock, _)| clock);
        let started = begun.map_or_else(now, |(_, time)| time);
        self.recorder.store().navigated(watched.tab, &event.frame.url, started);
    }

    pub(super) fn page_event(&mut self, session: &SessionId, method: &str, timestamp: f64) {
        let Some(watched) = self.sessions.get(session).filter(|watched| watched.is_page) else { return };
        let params = json!({ "targetId": watched.target });
        // Chromium tells of a change of address, but not of the title that came with it.
        self.post(None, "Target.getTargetInfo", params, Some(Pending::Info));
        let Some(watched) = self.sessions.get(session) else { return };
        let Some(started) = watched.document_started else { return };
        let after = ((timestamp - started) * 1000.0).max(0.0);
        self.recorder.store().change(watched.tab, |tab| {
            let Some(page) = tab.pages.back_mut() else { return };
            if method == "Page.loadEventFired" {
                page.loaded = Some(after);
            } else {
                page.content_loaded = Some(after);
            }
        });
    }

    pub(super) fn network_event(&mut self, session: &SessionId, method: &str, params: &str) {
        let Some(watched) = self.sessions.get(session) else { return };
        let mut store = self.recorder.store();
        let Some(tab) = store.tab(watched.tab) else { return };
        let (target, navigation) = (tab.target.clone(), tab.navigations);
        let from = Sender {
            tab: watched.tab,
            target: target.as_str(),
            session,
            origin: watched.origin.as_ref(),
            navigation,
            is_page: watched.is_page,
        };
        self.requests.event(&mut store, &from, method, params);
    }

    /// Makes it known that a dialog of this session's tab has opened, or is over.
    pub(super) fn tell_dialog(&self, session: &SessionId, dialog: Option<&DialogOpening>) {
        let target = self
            .sessions
            .get(session)
            .and_then(|watched| self.recorder.store().tab(watched.tab).map(|tab| tab.target.clone()));
        let Some(target) = target else { return };
        match dialog {
            Some(dialog) => {
                self.recorder.dialogs().opened(&self.browser, &target, session, dialog);
            }
            None => self.recorder.dialogs().closed(&self.browser, &target),
        }
    }

    pub(super) fn opened(&mut self, session: &SessionId, event: DialogOpening) {
        self.tell_dialog(session, Some(&event));
        let Some(timeout) = self.dialog_timeout else { return };
        self.last_dialog += 1;
        let number = self.last_dialog;
        if let Some(watched) = self.sessions.get_mut(session) {
            watched.dialog = Some((number, event));
            self.alarms.set(timeout, Alarm::Dialog(session.clone(), number));
        }
    }

    /// Something is about to be fetched, or a redirect of it: only from sites that may be used.
    fn paused(&mut self, session: &SessionId, event: &RequestPaused) {
        let refusal =
            self.recorder.origins(&self.browser).and_then(|origins| origins.refusal(&event.request.url));
        let Some(refusal) = refusal else {
            return self.post(
                Some(session),
                "Fetch.continueRequest",
                json!({"requestId": event.request_id}),
                None,
            );
        };
        let failed = json!({"requestId": event.request_id, "errorReason": "BlockedByClient"});
        self.post(Some(session), "Fetch.failRequest", failed, None);
        tracing::info!(browser = self.browser, %refusal, "a request was refused");
        self.add(session, 0, |place| {
            place.record(now(), Level::Error, Source::Log, format!("Refused by policy: {refusal}"))
        });
    }

    /// How much longer a dialog is left to whoever works with its tab.
    fn care_for(&self, session: &SessionId, number: u64) -> Option<Duration> {
        let watched = self.sessions.get(session)?;
        watched.dialog.as_ref().filter(|(open, _)| *open == number)?;
        let target = self.recorder.store().tab(watched.tab)?.target.clone();
        self.recorder.dialogs().remaining(&self.browser, &target)
    }

    /// Nobody has answered a dialog for long enough; the page would hang for ever.
    pub(super) fn dismiss(&mut self, session: &SessionId, number: u64) {
        if let Some(rest) = self.care_for(session, number) {
            return self.alarms.set(rest, Alarm::Dialog(session.clone(), number));
        }
        let Some(watched) = self.sessions.get_mut(session) else { return };
        let Some((_, dialog)) = watched.dialog.take_if(|(open, _)| *open == number) else { return };
        let seconds = self.dialog_timeout.unwrap_or_default().as_secs_f64();
        self.post(Some(session), "Page.handleJavaScriptDialog", json!({"accept": false}), None);
        tracing::info!(browser = self.browser, kind = dialog.kind, "a dialog was dismissed");
        self.add(session, 0, |place| console::dismissed(place, dialog, seconds));
    }
}
