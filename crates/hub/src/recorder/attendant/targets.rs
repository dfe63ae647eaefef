//! Targets that come and go: each is made to talk, then released, then reported as watched.

use std::collections::HashMap;

use bowline_wire::cdp::{self, AttachedToTarget, TargetInfo};
use bowline_wire::{SessionId, TargetId, origins};
use serde_json::{Value, json};

use super::{Alarm, Attendant, BELOW, Pending, SERVICE_WORKER, SETUP, Watched, auto_attach};
use crate::recorder::now;
use crate::recorder::record::Origin;
use crate::recorder::store::TabKey;

impl Attendant {
    pub(super) fn adopt(&mut self, info: &TargetInfo) {
        let on_it = |watched: &&Watched| watched.is_tab && watched.target == info.target_id;
        let Some((forgotten, is_ready)) =
            self.sessions.values().find(on_it).map(|watched| (watched.tab, watched.is_ready))
        else {
            return;
        };
        let mut store = self.recorder.store();
        if store.tab(forgotten).is_some() {
            return;
        }
        let (tab, _) = store.open(&self.browser, info, now());
        if is_ready {
            store.watched(tab);
        }
        drop(store);
        for watched in self.sessions.values_mut().filter(|watched| watched.tab == forgotten) {
            watched.tab = tab;
        }
        self.recorder.nudge();
    }

    pub(super) fn attached(&mut self, parent: Option<&str>, event: AttachedToTarget) {
        let AttachedToTarget { session_id: session, target_info: info, waiting_for_debugger: waiting } =
            event;
        if info.kind == SERVICE_WORKER && parent.is_some() {
            return self.guard(info.target_id, session);
        }
        let is_noopener = info.is_opened_without_opener();
        let above = parent.and_then(|parent| self.sessions.get(parent));
        let (tab, is_tab, repeats, origin) = match above {
            Some(above) => {
                let origin = Origin { kind: info.kind.clone(), url: info.url.clone() };
                (above.tab, false, above.repeats, Some(origin))
            }
            None => {
                let (tab, known) = self.recorder.store().open(&self.browser, &info, now());
                let origin =
                    (info.kind != "page").then(|| Origin { kind: info.kind.clone(), url: info.url.clone() });
                (tab, true, known, origin)
            }
        };
        let watched = Watched {
            target: info.target_id,
            tab,
            is_tab,
            is_page: info.kind == "page" && is_tab,
            origin,
            waiting,
            is_ready: false,
            repeats,
            frames: HashMap::new(),
            document_started: None,
            dialog: None,
            logged_objects: false,
        };
        let has_page = matches!(info.kind.as_str(), "page" | "iframe" | "background_page");
        // Neither has a process to answer from before something is fetched for it, and that waits for us.
        let is_mute = info.kind == SERVICE_WORKER || (waiting && is_noopener);
        self.sessions.insert(session.clone(), watched);
        // Workers that belong to one page ask through it.
        let asks = has_page || matches!(info.kind.as_str(), "shared_worker" | SERVICE_WORKER);
        if has_page {
            self.post(Some(&session), "Page.enable", json!({}), None);
        }
        if asks && self.recorder.origins(&self.browser).is_some() {
            let pattern = |kind| json!({"urlPattern": "*", "resourceType": kind, "requestStage": "Request"});
            let patterns: Vec<Value> = origins::KEPT.into_iter().map(pattern).collect();
            self.post(Some(&session), "Fetch.enable", json!({ "patterns": patterns }), None);
        }
        self.post(Some(&session), "Target.setAutoAttach", auto_attach(&BELOW), None);
        self.post(Some(&session), "Runtime.enable", json!({}), None);
        self.post(Some(&session), "Log.enable", json!({}), None);
        let settings = &self.recorder.settings;
        let network = json!({
            "enableDurableMessages": true,
            "maxTotalBufferSize": settings.body_buffer,
            "maxResourceBufferSize": settings.body_buffer.min(settings.body),
            "maxPostDataSize": settings.caps.text,
        });
        if is_mute {
            // The browser keeps the commands for it in this order.
            self.post(Some(&session), "Network.enable", network, None);
            return self.ready(&session);
        }
        // The last: its answer means that all of them are in force.
        self.post(Some(&session), "Network.enable", network, Some(Pending::Setup(session.clone())));
        self.alarms.set(SETUP, Alarm::Setup(session));
    }

    /// A target tells everything from now on; let it run, and tell those who wait for it.
    pub(super) fn ready(&mut self, session: &SessionId) {
        let Some(watched) = self.sessions.get_mut(session) else { return };
        watched.repeats = false;
        watched.is_ready = true;
        if watched.is_tab {
            self.recorder.store().watched(watched.tab);
            self.recorder.nudge();
        }
        self.tell_caught_up();
        let Some(watched) = self.sessions.get_mut(session) else { return };
        let (waiting, target) = (std::mem::take(&mut watched.waiting), watched.target.clone());
        self.release_guards(|guarded| *guarded == target);
        if waiting {
            // A page that is left while it is held never ends, and its tab cannot be closed. So whoever
            // may navigate it waits until it runs.
            let running = Pending::Running(target, session.clone());
            self.post(Some(session), cdp::RUN_IF_WAITING, json!({}), Some(running));
        } else {
            self.router.settle(target, session.clone());
        }
    }

    pub(super) fn tell_caught_up(&mut self) {
        if self.sessions.values().all(|watched| watched.is_ready)
            && let Some(caught_up) = self.caught_up.take()
        {
            // Whoever waited may have lost patience.
            let _ = caught_up.send(());
        }
    }

    /// A service worker that a page has begun waits for its first session, which is the one at the root.
    pub(super) fn guard(&mut self, target: TargetId, session: SessionId) {
        let is_ready = self.sessions.values().any(|watched| watched.target == target && watched.is_ready);
        self.guards.push((target.clone(), session.clone()));
        if is_ready {
            self.release_guards(|guarded| *guarded == target);
        } else {
            self.alarms.set(SETUP, Alarm::Guard(session));
        }
    }

    pub(super) fn release_guards(&mut self, fits: impl Fn(&TargetId) -> bool) {
        let (released, waiting) = std::mem::take(&mut self.guards).into_iter().partition(|(at, _)| fits(at));
        self.guards = waiting;
        let released: Vec<(TargetId, SessionId)> = released;
        for (_, session) in released {
            self.post(Some(&session), cdp::RUN_IF_WAITING, json!({}), None);
            self.post(None, "Target.detachFromTarget", json!({ "sessionId": session }), None);
        }
    }

    pub(super) fn detached(&mut self, session: &SessionId) {
        self.guards.retain(|(_, guard)| guard != session);
        self.tell_dialog(session, None);
        let Some(watched) = self.sessions.remove(session) else { return };
        if watched.is_tab {
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

    pub(super) fn info_changed(&mut self, info: &TargetInfo) {
        let mut store = self.recorder.store();
        let Some(key) = store.find(&self.browser, &info.target_id).map(|tab| tab.key) else { return };
        store.change(key, |tab| {
            tab.title.clone_from(&info.title);
            tab.url.clone_from(&info.url);
            if let Some(page) = tab.pages.back_mut() {
                page.title.clone_from(&info.title);
            }
        });
    }
}
