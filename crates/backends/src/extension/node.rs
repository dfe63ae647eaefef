//! One real session of the browser: a tab's page, or a frame or worker below it. All clients' sessions on it
//! share it, so what they must not notice of each other is kept here.

use std::collections::{HashMap, HashSet, VecDeque};

use bowline_wire::relay::TabId;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::fetch::Journeys;
use super::frames::Frames;
use super::session::SessionKey;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct NodeId(pub(super) u32);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// No debugger is on it; what clients set is kept.
    Idle,
    /// The debugger is coming, and what was kept is being applied. Commands wait.
    Attaching,
    Ready,
}

pub(super) struct Node {
    pub(super) tab: TabId,
    /// The browser's id of a session below the tab's.
    pub(super) child: Option<String>,
    pub(super) parent: Option<NodeId>,
    pub(super) target: String,
    pub(super) kind: String,
    /// `TargetInfo` of what is below a tab.
    pub(super) info: Map<String, Value>,
    pub(super) phase: Phase,
    /// Where clients were told that it is, while it was not attached.
    pub(super) promised_url: Option<String>,
    /// The debugger is on it and its frames are known.
    pub(super) is_open: bool,
    /// Commands of the setup that are not answered yet.
    pub(super) outstanding: usize,
    /// Which attachment this is, so that a late alarm of an earlier one does nothing.
    pub(super) attachment: u32,
    pub(super) sessions: Vec<SessionKey>,
    pub(super) queue: VecDeque<Queued>,
    pub(super) frames: Frames,
    /// Events of frames since the tree was asked for, which its answer may not know.
    pub(super) early: Option<Vec<(String, String)>>,
    pub(super) contexts: Vec<Context>,
    pub(super) lifecycle: Vec<Lifecycle>,
    pub(super) memory: HashMap<String, Memory>,
    /// What is enabled at the browser, with which parameters, and what it answered.
    pub(super) enabled: HashMap<String, Enabled>,
    /// Settings as they were last sent.
    pub(super) settings: HashMap<String, String>,
    pub(super) lifecycle_on: bool,
    /// Whether children are attached to, and wait.
    pub(super) auto_attach: Option<bool>,
    pub(super) journeys: Journeys,
    pub(super) intercepts: Option<String>,
    /// It waits for the debugger: for these sessions.
    pub(super) is_held: bool,
    pub(super) waiting: HashSet<SessionKey>,
    /// Requests to other sites than the page's.
    pub(super) foreign: VecDeque<String>,
    /// Who has a trace or a screencast running.
    pub(super) tracing: Option<SessionKey>,
    pub(super) casting: Option<SessionKey>,
    /// The hub has it drawn although it is behind another tab.
    pub(super) is_lit: bool,
}

pub(super) struct Queued {
    pub(super) session: SessionKey,
    pub(super) id: i32,
    pub(super) method: String,
    pub(super) params: Option<String>,
}

#[derive(Debug, Default, Clone)]
pub(super) struct Enabled {
    pub(super) params: String,
    pub(super) result: Option<String>,
}

#[derive(Debug)]
pub(super) struct Context {
    pub(super) id: i64,
    pub(super) frame: String,
    pub(super) name: String,
    pub(super) is_default: bool,
    pub(super) params: String,
}

#[derive(Deserialize)]
struct ContextCreated {
    context: ContextBody,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ContextBody {
    id: i64,
    #[serde(default)]
    name: String,
    #[serde(default)]
    aux_data: AuxData,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AuxData {
    is_default: bool,
    frame_id: String,
}

impl Context {
    pub(super) fn read(params: &str) -> Option<Self> {
        let ContextCreated { context } = serde_json::from_str(params).ok()?;
        Some(Self {
            id: context.id,
            frame: context.aux_data.frame_id,
            name: context.name,
            is_default: context.aux_data.is_default,
            params: params.to_owned(),
        })
    }
}

#[derive(Debug)]
pub(super) struct Lifecycle {
    pub(super) frame: String,
    pub(super) loader: String,
    pub(super) name: String,
    pub(super) params: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LifecycleEvent {
    frame_id: String,
    #[serde(default)]
    loader_id: String,
    name: String,
}

impl Lifecycle {
    pub(super) fn read(params: &str) -> Option<Self> {
        let event: LifecycleEvent = serde_json::from_str(params).ok()?;
        let LifecycleEvent { frame_id: frame, loader_id: loader, name } = event;
        Some(Self { frame, loader, name, params: params.to_owned() })
    }
}

/// Events that Chromium repeats for whoever enables their domain later, as far as there is room.
#[derive(Debug, Default)]
pub(super) struct Memory {
    events: VecDeque<(&'static str, String)>,
    bytes: usize,
}

const MOST_EVENTS: usize = 1000;
const MOST_BYTES: usize = 2 << 20;

impl Memory {
    pub(super) fn add(&mut self, method: &'static str, params: &str) {
        self.bytes += params.len();
        self.events.push_back((method, params.to_owned()));
        while self.events.len() > MOST_EVENTS || self.bytes > MOST_BYTES {
            let Some((_, oldest)) = self.events.pop_front() else { break };
            self.bytes -= oldest.len();
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.events.iter().map(|(method, params)| (*method, params.as_str()))
    }

    pub(super) fn forget(&mut self, is_gone: impl Fn(&str) -> bool) {
        self.events.retain(|(_, params)| !is_gone(params));
        self.bytes = self.events.iter().map(|(_, params)| params.len()).sum();
    }
}

/// The events that are repeated, by name.
pub(super) fn is_remembered(method: &str) -> Option<&'static str> {
    const REMEMBERED: [&str; 6] = [
        "Runtime.consoleAPICalled",
        "Runtime.exceptionThrown",
        "Log.entryAdded",
        "Audits.issueAdded",
        "Debugger.scriptParsed",
        "CSS.styleSheetAdded",
    ];
    REMEMBERED.into_iter().find(|known| *known == method)
}

impl Node {
    pub(super) fn new(tab: TabId, target: &str) -> Self {
        Self {
            tab,
            child: None,
            parent: None,
            target: target.to_owned(),
            kind: "page".to_owned(),
            info: Map::new(),
            phase: Phase::Idle,
            promised_url: None,
            is_open: false,
            outstanding: 0,
            attachment: 0,
            sessions: Vec::new(),
            queue: VecDeque::new(),
            frames: Frames::default(),
            early: None,
            contexts: Vec::new(),
            lifecycle: Vec::new(),
            memory: HashMap::new(),
            enabled: HashMap::new(),
            settings: HashMap::new(),
            lifecycle_on: false,
            auto_attach: None,
            journeys: Journeys::default(),
            intercepts: None,
            is_held: false,
            waiting: HashSet::new(),
            foreign: VecDeque::new(),
            tracing: None,
            casting: None,
            is_lit: false,
        }
    }

    /// Forgets all that came from the browser: the debugger is off.
    pub(super) fn forget(&mut self) {
        let sessions = std::mem::take(&mut self.sessions);
        let queue = std::mem::take(&mut self.queue);
        let fresh = Self::new(self.tab, &self.target);
        let attachment = self.attachment;
        *self = Self { sessions, queue, attachment, ..fresh };
    }

    /// The loader of the document before is history.
    pub(super) fn new_document(&mut self, frame: &str, loader: &str) {
        self.lifecycle.retain(|event| event.frame == frame && event.loader == loader);
    }

    /// Frames that are no more have no life.
    pub(super) fn forget_lifecycles(&mut self) {
        let frames = &self.frames;
        self.lifecycle.retain(|event| frames.has(&event.frame));
    }
}
