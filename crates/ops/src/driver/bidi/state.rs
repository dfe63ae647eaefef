//! What events tell of a page: frames, loading, dialogs, downloads.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bowline_wire::bidi::ContextInfo;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::watch;

use crate::driver::{Dialog, Frame, FrameId, PageState};

pub(super) struct State {
    root: String,
    inner: Mutex<Inner>,
    version: watch::Sender<u64>,
}

#[derive(Default)]
struct Inner {
    page: PageState,
    frames: HashMap<String, Known>,
    order: u64,
}

struct Known {
    parent: Option<String>,
    url: String,
    order: u64,
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

#[derive(Deserialize)]
struct Failure {
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

    /// The tree as it was asked for. What it was doing before nobody has told.
    pub(super) fn plant(&self, tab: &ContextInfo) {
        self.change(|inner| {
            inner.plant(tab, None);
            inner.page.url.clone_from(&tab.url);
            inner.page.is_dom_ready = true;
            inner.page.is_loaded = true;
        });
    }

    pub(super) fn frames(&self) -> Vec<Frame> {
        let inner = self.inner();
        let mut known: Vec<(&String, &Known)> = inner.frames.iter().collect();
        known.sort_by_key(|(_, known)| known.order);
        let mut frames = Vec::new();
        let mut waiting = std::collections::VecDeque::from([None]);
        while let Some(parent) = waiting.pop_front() {
            for (id, known) in known.iter().filter(|(_, known)| known.parent == parent) {
                let parent = known.parent.clone().map(FrameId);
                frames.push(Frame { id: FrameId((*id).clone()), parent, url: known.url.clone() });
                waiting.push_back(Some((*id).clone()));
            }
        }
        frames
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

    /// Nothing more will be heard of the page.
    pub(super) fn ended(&self) {
        self.change(|inner| inner.page.is_gone = true);
    }

    pub(super) fn event(&self, method: &str, info: &ContextInfo, params: &RawValue) {
        let is_page = info.context == self.root;
        match method {
            "browsingContext.contextCreated" => self.change(|inner| inner.plant(info, None)),
            "browsingContext.contextDestroyed" => self.change(|inner| {
                inner.uproot(&info.context);
                inner.page.is_closed |= is_page;
            }),
            "browsingContext.navigationStarted" if is_page => {
                self.change(|inner| inner.page.is_leaving = true)
            }
            "browsingContext.navigationCommitted" => self.change(|inner| {
                if is_page {
                    let frames: Vec<String> = inner.children_of(&info.context);
                    for frame in frames {
                        inner.uproot(&frame);
                    }
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
                let why = serde_json::from_str::<Failure>(params.get()).map(|failure| failure.message);
                self.change(|inner| {
                    inner.page.is_leaving = false;
                    inner.page.failures += 1;
                    inner.page.failure = why.unwrap_or_default();
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
        self.order += 1;
        let known = Known {
            parent: info.parent.clone().or(parent.map(str::to_owned)),
            url: info.url.clone(),
            order: self.order,
        };
        self.frames.entry(info.context.clone()).or_insert(known);
        for child in info.children.iter().flatten() {
            self.plant(child, Some(&info.context));
        }
    }

    fn moved(&mut self, info: &ContextInfo) {
        if let Some(known) = self.frames.get_mut(&info.context) {
            known.url.clone_from(&info.url);
        }
    }

    fn children_of(&self, context: &str) -> Vec<String> {
        let children = self.frames.iter().filter(|(_, known)| known.parent.as_deref() == Some(context));
        children.map(|(id, _)| id.clone()).collect()
    }

    fn uproot(&mut self, context: &str) {
        for child in self.children_of(context) {
            self.uproot(&child);
        }
        self.frames.remove(context);
    }
}
