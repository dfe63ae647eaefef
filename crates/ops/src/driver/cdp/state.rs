//! What events tell of a page: frames and their sessions, loading, dialogs, downloads.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bowline_wire::SessionId;
use bowline_wire::cdp::TargetInfo;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::watch;

use crate::driver::tree::Frames;
use crate::driver::{Dialog, Frame, FrameId, PageState};

pub(super) struct State {
    /// The page's own session; frames of other sites have others.
    session: SessionId,
    inner: Mutex<Inner>,
    version: watch::Sender<u64>,
}

#[derive(Default)]
struct Inner {
    page: PageState,
    main: Option<FrameId>,
    /// With the session that each is reached through.
    frames: Frames<SessionId>,
    /// Sessions of frames that have not been asked for theirs yet.
    unprepared: Vec<SessionId>,
    /// Those that have been asked, and are waited for.
    preparing: HashSet<SessionId>,
    /// A trace that was ended, to be read.
    trace: Option<String>,
    /// What is being dragged.
    dragged: Option<Value>,
}

#[derive(Deserialize)]
struct Event<P> {
    params: P,
}

/// A frame as the browser describes it.
#[derive(Deserialize, Clone)]
#[serde(rename_all = "camelCase")]
pub(super) struct FrameInfo {
    id: FrameId,
    parent_id: Option<FrameId>,
    #[serde(default)]
    url: String,
    #[serde(default)]
    url_fragment: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FrameTree {
    frame: FrameInfo,
    #[serde(default)]
    child_frames: Vec<FrameTree>,
}

#[derive(Deserialize)]
struct Navigated {
    frame: FrameInfo,
    #[serde(default, rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfFrame {
    frame_id: FrameId,
    #[serde(default)]
    parent_frame_id: Option<FrameId>,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    url: String,
    #[serde(default)]
    navigation_type: String,
    #[serde(default)]
    disposition: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DialogOpening {
    #[serde(rename = "type")]
    kind: String,
    message: String,
    #[serde(default)]
    default_prompt: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Download {
    #[serde(default)]
    suggested_filename: String,
}

#[derive(Deserialize)]
struct Dragged {
    data: Value,
}

#[derive(Deserialize)]
struct Traced {
    stream: Option<String>,
}

/// Names of downloads that are remembered of a page.
const DOWNLOADS: usize = 1_000;

impl State {
    pub(super) fn new(session: SessionId) -> Self {
        Self { session, inner: Mutex::default(), version: watch::Sender::new(0) }
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    pub(super) fn page(&self) -> PageState {
        self.inner().page.clone()
    }

    pub(super) fn dialog_count(&self) -> u64 {
        self.inner().page.dialogs
    }

    pub(super) fn has_dialog(&self) -> bool {
        self.inner().page.dialog.is_some()
    }

    pub(super) fn dialog_answered(&self) {
        self.change(|inner| inner.page.dialog = None);
    }

    pub(super) fn main(&self) -> Option<FrameId> {
        self.inner().main.clone()
    }

    pub(super) fn take_dragged(&self) -> Option<Value> {
        self.inner().dragged.take()
    }

    /// Waits for a trace that was ended.
    pub(super) async fn trace_stream(&self) -> Option<String> {
        let mut changes = self.changes();
        loop {
            {
                let mut inner = self.inner();
                if let Some(stream) = inner.trace.take() {
                    return Some(stream);
                }
                if inner.page.is_gone || inner.page.is_closed {
                    return None;
                }
            }
            changes.changed().await.ok()?;
        }
    }

    /// The session that a frame is reached through.
    pub(super) fn session_of(&self, frame: &FrameId) -> Option<SessionId> {
        self.inner().frames.get(frame).map(|known| known.way.clone())
    }

    pub(super) fn frames(&self) -> Vec<Frame> {
        self.inner().frames.list()
    }

    /// Sessions of frames that are to be asked for their own frames.
    pub(super) fn take_unprepared(&self) -> Vec<SessionId> {
        let mut inner = self.inner();
        let sessions = std::mem::take(&mut inner.unprepared);
        inner.preparing.extend(sessions.iter().cloned());
        sessions
    }

    pub(super) fn is_preparing(&self) -> bool {
        !self.inner().preparing.is_empty()
    }

    /// They are too slow; what they tell later is heard all the same.
    pub(super) fn stop_waiting(&self) {
        self.inner().preparing.clear();
    }

    /// A session has told its frames, or went away.
    pub(super) fn prepared(&self, session: &SessionId, tree: Option<&FrameTree>) {
        self.change(|inner| {
            inner.preparing.remove(session);
            if let Some(tree) = tree {
                inner.plant(session, tree, false);
            }
        });
    }

    /// It did not tell; it may be asked again.
    pub(super) fn not_prepared(&self, session: SessionId) {
        self.change(|inner| {
            inner.preparing.remove(&session);
            if inner.frames.has(|way| *way == session) {
                inner.unprepared.push(session);
            }
        });
    }

    pub(super) fn forget_trace(&self) {
        self.inner().trace = None;
    }

    /// A dialog that was open before anybody listened here.
    pub(super) fn missed(&self, dialog: Dialog) {
        self.change(|inner| {
            inner.page.dialogs += 1;
            inner.page.dialog = Some(dialog);
        });
    }

    /// Nothing more will be heard of the page: the connection to its browser is over.
    pub(super) fn ended(&self) {
        self.change(|inner| inner.page.is_gone = true);
    }

    /// The frames of a session, as asked for.
    pub(super) fn tree(&self, session: &SessionId, tree: &FrameTree) {
        let is_page = *session == self.session;
        self.change(|inner| inner.plant(session, tree, is_page));
    }

    pub(super) fn loaded(&self) {
        self.change(|inner| {
            inner.page.is_dom_ready = true;
            inner.page.is_loaded = true;
        });
    }

    pub(super) fn child_attached(&self, _parent: &str, session: SessionId, info: &TargetInfo) {
        if info.kind != "iframe" {
            return;
        }
        self.change(|inner| {
            let id = FrameId(info.target_id.to_string());
            let parent = info.parent_frame_id.as_ref().map(|parent| FrameId(parent.to_string()));
            let known = inner.frames.plant(id, session.clone());
            known.parent = known.parent.take().or(parent);
            known.url = info.url.clone();
            known.way = session.clone();
            inner.unprepared.push(session);
        });
    }

    pub(super) fn session_ended(&self, session: &str) {
        let is_page = self.session.as_str() == session;
        self.change(|inner| {
            if is_page {
                inner.page.is_closed = true;
            }
            inner.frames.retain(|way| way.as_str() != session);
            inner.unprepared.retain(|child| child.as_str() != session);
            inner.preparing.retain(|child| child.as_str() != session);
        });
    }

    pub(super) fn event(&self, session: &str, method: &str, message: &str) {
        let is_page = self.session.as_str() == session;
        match method {
            "Page.frameAttached" => {
                let Ok(Event { params }) = serde_json::from_str::<Event<OfFrame>>(message) else { return };
                self.change(|inner| {
                    let known = inner.frames.plant(params.frame_id, SessionId::new(session));
                    known.parent = params.parent_frame_id;
                });
            }
            "Page.frameDetached" => {
                let Ok(Event { params }) = serde_json::from_str::<Event<OfFrame>>(message) else { return };
                // One that moves to another process stays, under another session.
                if params.reason != "swap" {
                    self.change(|inner| inner.frames.uproot(&params.frame_id));
                }
            }
            "Page.frameNavigated" => {
                let Ok(Event { params: Navigated { frame, kind } }) = serde_json::from_str(message) else {
                    return;
                };
                // A page that was kept whole does not load again.
                let is_whole = kind == "BackForwardCacheRestore" && frame.parent_id.is_none() && is_page;
                self.change(|inner| {
                    inner.navigated(&SessionId::new(session), frame, is_page);
                    if is_whole {
                        inner.page.is_dom_ready = true;
                        inner.page.is_loaded = true;
                    }
                });
            }
            "Page.navigatedWithinDocument" => {
                let Ok(Event { params }) = serde_json::from_str::<Event<OfFrame>>(message) else { return };
                self.change(|inner| {
                    if inner.main.as_ref() == Some(&params.frame_id) {
                        inner.page.url = params.url.clone();
                        inner.page.hops += 1;
                    }
                    if let Some(known) = inner.frames.get_mut(&params.frame_id) {
                        known.url = params.url;
                    }
                });
            }
            "Page.frameStartedNavigating" | "Page.frameRequestedNavigation" => {
                let Ok(Event { params }) = serde_json::from_str::<Event<OfFrame>>(message) else { return };
                let stays = params.navigation_type == "sameDocument"
                    || (method == "Page.frameRequestedNavigation" && params.disposition != "currentTab");
                self.change(|inner| {
                    if !stays && inner.main.as_ref() == Some(&params.frame_id) {
                        inner.page.is_leaving = true;
                    }
                });
            }
            "Page.frameStoppedLoading" | "Page.frameClearedScheduledNavigation" => {
                let Ok(Event { params }) = serde_json::from_str::<Event<OfFrame>>(message) else { return };
                self.change(|inner| {
                    if method == "Page.frameStoppedLoading" && inner.main.as_ref() == Some(&params.frame_id) {
                        inner.page.is_leaving = false;
                        inner.page.is_loaded = true;
                        inner.page.is_dom_ready = true;
                    }
                });
            }
            "Page.domContentEventFired" if is_page => self.change(|inner| inner.page.is_dom_ready = true),
            "Page.loadEventFired" if is_page => self.loaded(),
            "Page.javascriptDialogOpening" => {
                let Ok(Event { params }) = serde_json::from_str::<Event<DialogOpening>>(message) else {
                    return;
                };
                let DialogOpening { kind, message, default_prompt } = params;
                self.change(|inner| {
                    inner.page.dialogs += 1;
                    inner.page.dialog = Some(Dialog { kind, message, default_prompt });
                });
            }
            "Page.javascriptDialogClosed" => self.dialog_answered(),
            "Page.downloadWillBegin" => {
                let Ok(Event { params }) = serde_json::from_str::<Event<Download>>(message) else { return };
                self.change(|inner| {
                    inner.page.is_leaving = false;
                    if inner.page.downloads.len() < DOWNLOADS {
                        inner.page.downloads.push(params.suggested_filename);
                    }
                });
            }
            "Input.dragIntercepted" => {
                let Ok(Event { params }) = serde_json::from_str::<Event<Dragged>>(message) else { return };
                self.change(|inner| inner.dragged = Some(params.data));
            }
            "Tracing.tracingComplete" if is_page => {
                let Ok(Event { params }) = serde_json::from_str::<Event<Traced>>(message) else { return };
                self.change(|inner| inner.trace = params.stream);
            }
            "Inspector.targetCrashed" if is_page => self.change(|inner| inner.page.has_crashed = true),
            "Inspector.targetReloadedAfterCrash" if is_page => {
                self.change(|inner| inner.page.has_crashed = false);
            }
            _ => {}
        }
    }

    fn change(&self, change: impl FnOnce(&mut Inner)) {
        change(&mut self.inner());
        self.version.send_modify(|version| *version += 1);
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn navigated(&mut self, session: &SessionId, frame: FrameInfo, is_page: bool) {
        let url = format!("{}{}", frame.url, frame.url_fragment);
        if is_page && frame.parent_id.is_none() {
            if let Some(main) = self.main.replace(frame.id.clone()).filter(|main| *main != frame.id) {
                self.frames.uproot(&main);
            }
            self.page.url = url.clone();
            self.page.documents += 1;
            self.page.is_leaving = false;
            self.page.is_dom_ready = false;
            self.page.is_loaded = false;
            self.page.has_crashed = false;
        }
        self.frames.uproot_below(&frame.id);
        let known = self.frames.plant(frame.id, session.clone());
        // The root of a child session does not know its parent.
        known.parent = frame.parent_id.or(known.parent.take());
        known.url = url;
        known.way = session.clone();
    }

    fn plant(&mut self, session: &SessionId, tree: &FrameTree, is_page: bool) {
        let FrameInfo { id, parent_id, url, url_fragment } = tree.frame.clone();
        let known = self.frames.plant(id.clone(), session.clone());
        known.parent = parent_id.or(known.parent.take());
        known.url = format!("{url}{url_fragment}");
        known.way = session.clone();
        if is_page && known.parent.is_none() {
            self.page.url = known.url.clone();
            self.main = Some(id);
        }
        for child in &tree.child_frames {
            self.plant(session, child, is_page);
        }
    }
}
