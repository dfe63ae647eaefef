//! What events tell of a page: frames, loading, dialogs, downloads.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bowline_wire::bidi::ContextInfo;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::watch;

use crate::driver::tree::Frames;
use crate::driver::{Dialog, Frame, FrameId, PageState};

pub(super) struct State {
    root: String,
    inner: Mutex<Inner>,
    version: watch::Sender<u64>,
}

#[derive(Default)]
struct Inner {
    page: PageState,
    /// The navigation under way that somebody waits for.
    navigation: Option<String>,
    frames: Frames<()>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Prompt {
    #[serde(rename = "type")]
    kind: String,
    message: String,
    #[serde(default)]
    default_value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Download {
    #[serde(default)]
    suggested_filename: String,
}

/// Of events about navigations.
#[derive(Deserialize)]
struct Step {
    navigation: Option<String>,
    #[serde(default)]
    message: String,
}

/// Names of downloads that are remembered of a page.
const DOWNLOADS: usize = 1_000;

impl State {
    pub(super) fn new(root: &str) -> Self {
        Self { root: root.to_owned(), inner: Mutex::default(), version: watch::Sender::new(0) }
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    pub(super) fn page(&self) -> PageState {
        self.inner().page.clone()
    }

    /// The tree as it was asked for. What it was doing before nobody has told, unless events have come meanwhile.
    pub(super) fn plant(&self, tab: &ContextInfo) {
        self.change(|inner| {
            inner.plant(tab, None);
            if inner.page.documents == 0 && inner.page.hops == 0 {
                inner.page.url.clone_from(&tab.url);
                inner.page.is_dom_ready = true;
                inner.page.is_loaded = true;
            }
        });
    }

    pub(super) fn frames(&self) -> Vec<Frame> {
        self.inner().frames.list()
    }

    pub(super) fn dialog_opened(&self, dialog: Dialog) {
        self.change(|inner| {
            inner.page.dialogs += 1;
            inner.page.dialog = Some(dialog);
        });
    }

    pub(super) fn dialog_over(&self) {
        self.change(|inner| inner.page.dialog = None);
    }

    /// Nobody waits for what is being loaded: that it does not come, which may be told when the next one is begun, is no
    /// failure.
    pub(super) fn given_up(&self) {
        self.change(|inner| {
            inner.navigation = None;
            inner.page.is_leaving = false;
        });
    }

    /// Nothing more will be heard of the page.
    pub(super) fn ended(&self) {
        self.change(|inner| inner.page.is_gone = true);
    }

    pub(super) fn event(&self, method: &str, info: &ContextInfo, params: &RawValue) {
        let is_page = info.context == self.root;
        match method {
            "browsingContext.contextCreated" => self.change(|inner| inner.plant(info, None)),
            "browsingContext.contextDestroyed" => self.change(|inner| {
                inner.frames.uproot(&FrameId(info.context.clone()));
                inner.page.is_closed |= is_page;
            }),
            "browsingContext.navigationStarted" if is_page => {
                let step = serde_json::from_str::<Step>(params.get()).ok();
                self.change(|inner| {
                    inner.navigation = step.and_then(|step| step.navigation);
                    inner.page.is_leaving = true;
                });
            }
            "browsingContext.navigationCommitted" => self.change(|inner| {
                if is_page {
                    inner.frames.uproot_below(&FrameId(info.context.clone()));
                    inner.page.url.clone_from(&info.url);
                    inner.page.documents += 1;
                    inner.page.is_leaving = false;
                    inner.page.is_dom_ready = false;
                    inner.page.is_loaded = false;
                    inner.page.has_crashed = false;
                }
                inner.moved(info);
            }),
            "browsingContext.fragmentNavigated" | "browsingContext.historyUpdated" => self.change(|inner| {
                if is_page {
                    inner.page.url.clone_from(&info.url);
                    inner.page.hops += 1;
                    inner.page.is_leaving = false;
                }
                inner.moved(info);
            }),
            "browsingContext.domContentLoaded" if is_page => {
                self.change(|inner| inner.page.is_dom_ready = true);
            }
            "browsingContext.load" if is_page => self.change(|inner| {
                inner.page.is_dom_ready = true;
                inner.page.is_loaded = true;
            }),
            "browsingContext.navigationFailed" | "browsingContext.navigationAborted" if is_page => {
                let Ok(Step { navigation, message }) = serde_json::from_str(params.get()) else { return };
                self.change(|inner| {
                    if navigation.is_some() && navigation == inner.navigation {
                        inner.page.is_leaving = false;
                        inner.page.failures += 1;
                        inner.page.failure =
                            if message.is_empty() { "the page did not come".to_owned() } else { message };
                    }
                });
            }
            "browsingContext.userPromptOpened" => {
                let Ok(Prompt { kind, message, default_value }) = serde_json::from_str(params.get()) else {
                    return;
                };
                self.dialog_opened(Dialog { kind, message, default_prompt: default_value });
            }
            "browsingContext.userPromptClosed" => self.dialog_over(),
            "browsingContext.downloadWillBegin" => {
                let Ok(Download { suggested_filename }) = serde_json::from_str(params.get()) else { return };
                self.change(|inner| {
                    inner.page.is_leaving = false;
                    if inner.page.downloads.len() < DOWNLOADS {
                        inner.page.downloads.push(suggested_filename);
                    }
                });
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
    fn plant(&mut self, info: &ContextInfo, parent: Option<&str>) {
        let id = FrameId(info.context.clone());
        if self.frames.get(&id).is_none() {
            let known = self.frames.plant(id, ());
            known.parent = info.parent.as_deref().or(parent).map(|parent| FrameId(parent.to_owned()));
            known.url.clone_from(&info.url);
        }
        for child in info.children.iter().flatten() {
            self.plant(child, Some(&info.context));
        }
    }

    fn moved(&mut self, info: &ContextInfo) {
        if let Some(known) = self.frames.get_mut(&FrameId(info.context.clone())) {
            known.url.clone_from(&info.url);
        }
    }
}
