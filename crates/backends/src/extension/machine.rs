//! The virtual browser: plays Chromium's browser endpoint, for any number of clients, on top of an extension
//! that has one debugger per tab and none for the browser.
//!
//! All state, no I/O and no clock of its own: messages go in, messages come out. The sessions of clients are
//! here (`session.rs`), what they are on (`node.rs`), the tabs, and what the extension has been asked.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use bowline_hub::backend::Outgoing;
use bowline_hub::extensions::Visitor;
use bowline_wire::cdp::ErrorBody;
use bowline_wire::relay::{self, Policy, TabId};
use bowline_wire::{Command, reply};
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::acts::Acts;
use super::attach::Attaching;
use super::downloads::{Copy, Downloads};
use super::node::{Node, NodeId, Phase};
use super::out::{LINK, Out};
use super::page::Undrawn;
use super::policy;
use super::session::{Place, Session, SessionKey};
use super::tabs::Tab;

/// A command that was asked of a worker that is no more.
const LOST: &str = "the extension was restarted before it answered; the command may have been carried out";
const NOT_FOUND: i32 = -32601;
pub(super) const INVALID_PARAMS: i32 = -32602;

pub(super) struct Machine {
    pub(super) out: Out,
    pub(super) visitor: Visitor,
    pub(super) policy: Policy,
    pub(super) tabs: BTreeMap<TabId, Tab>,
    pub(super) nodes: HashMap<NodeId, Node>,
    /// Nodes below tabs, by the browser's session ids.
    pub(super) children: HashMap<String, NodeId>,
    pub(super) sessions: HashMap<SessionKey, Session>,
    pub(super) downloads: Downloads,
    pub(super) acts: Acts,
    /// Files that somebody else is to copy.
    pub(super) copies: Vec<Copy>,
    /// Milliseconds since 1970.
    pub(super) wall_clock: u64,
    pending: HashMap<u64, Pending>,
    alarms: BTreeMap<(Instant, u64), Alarm>,
    last_request: u64,
    last_node: u32,
    last_session: u64,
    last_serial: u64,
    last_context: i64,
    last_alarm: u64,
    pub(super) now: Instant,
    /// Tells this browser's ids from another's.
    pub(super) salt: u64,
    /// The state has been told at least once.
    pub(super) is_known: bool,
    /// Who drives which tab, as it was last told.
    pub(super) told_drivers: String,
    pub(super) drivers_changed: bool,
}

struct Pending {
    node: Option<NodeId>,
    is_setup: bool,
    then: Then,
}

/// What an answer of the extension is for.
pub(super) enum Then {
    Ignore,
    Answer {
        session: SessionKey,
        id: i32,
    },
    /// A script that was made to read.
    Read {
        session: SessionKey,
        id: i32,
    },
    /// Who began a trace has it when the browser has agreed.
    Traced {
        session: SessionKey,
        id: i32,
    },
    /// Answered with this, whatever the extension's result is.
    Done {
        session: SessionKey,
        id: i32,
        result: &'static str,
    },
    Enabled {
        session: Option<(SessionKey, i32)>,
        domain: String,
    },
    Script {
        session: SessionKey,
        key: String,
        id: Option<i32>,
    },
    World {
        session: SessionKey,
        id: Option<i32>,
        promised: Option<i64>,
    },
    Tree,
    Attach(Attaching),
    Freed(Attaching),
    Create {
        session: SessionKey,
        id: i32,
        for_tab: bool,
    },
    Window {
        session: SessionKey,
        id: i32,
        with_id: bool,
    },
    Download(String),
}

/// What is done later.
#[derive(Debug)]
pub(super) enum Alarm {
    /// Nobody drives this tab any more; let go.
    Detach(TabId),
    /// A tab that does not answer what is asked at the beginning.
    Setup(NodeId, u32),
    Download(String),
    /// A request may be waiting for the page to draw.
    Redraw(Undrawn),
}

/// What an error of the extension says, as CDP's code and message.
pub(super) struct Refusal {
    pub(super) raw: String,
    pub(super) message: String,
}

impl Refusal {
    fn read(error: &RawValue) -> Self {
        let text = serde_json::from_str::<String>(error.get()).unwrap_or_else(|_| error.get().to_owned());
        // chrome.debugger gives the browser's own error as JSON in a string.
        if let Ok(ErrorBody { message, .. }) = serde_json::from_str::<ErrorBody>(&text) {
            return Self { raw: text, message };
        }
        let raw = serde_json::json!({"code": reply::SERVER_ERROR, "message": text}).to_string();
        Self { raw, message: text }
    }
}

impl Machine {
    pub(super) fn new(visitor: Visitor, now: Instant, salt: u64) -> Self {
        let link: SessionKey = Arc::from(LINK);
        let root = Session::new(Place::Browser, link.clone(), link.clone(), true);
        Self {
            out: Out::default(),
            visitor,
            policy: Policy::default(),
            tabs: BTreeMap::new(),
            nodes: HashMap::new(),
            children: HashMap::new(),
            sessions: HashMap::from([(link, root)]),
            downloads: Downloads::default(),
            acts: Acts::default(),
            copies: Vec::new(),
            wall_clock: 0,
            pending: HashMap::new(),
            alarms: BTreeMap::new(),
            last_request: 0,
            last_node: 0,
            last_session: 0,
            last_serial: 0,
            last_context: 1_000_000_000,
            last_alarm: 0,
            now,
            salt,
            is_known: false,
            told_drivers: String::new(),
            drivers_changed: false,
        }
    }

    /// A message of the router: of a client, or of the hub itself.
    pub(super) fn command(&mut self, message: &Outgoing) {
        let Ok(text) = std::str::from_utf8(&message.body) else { return };
        let Ok(command) = Command::parse(text) else {
            tracing::warn!("a command that cannot be read; dropped");
            return;
        };
        let named = command.session.as_deref().or(message.session.as_ref().map(|session| session.as_str()));
        let Some((key, session)) = self.sessions.get_key_value(named.unwrap_or(LINK)) else {
            // Ended while the command was under way; Chromium answers it on the root.
            self.out.fail(LINK, command.id, reply::SESSION_NOT_FOUND, reply::SESSION_NOT_FOUND_TEXT);
            return;
        };
        let (key, place) = (key.clone(), session.place);
        // Chromium's own reader takes more than JSON.parse does, which reads it next.
        if let Some(Err(error)) = command.params.map(serde_json::from_str::<&RawValue>) {
            return self.out.fail(&key, command.id, reply::PARSE_ERROR, &format!("JSON: {error}"));
        }
        self.dispatch(&key, place, command.id, &command.method, command.params);
    }

    fn dispatch(&mut self, session: &SessionKey, place: Place, id: i32, method: &str, params: Option<&str>) {
        let domain = method.split('.').next().unwrap_or_default();
        match (domain, place) {
            ("Target", _) => self.target_command(session, place, id, method, params),
            ("Browser", _) => self.browser_command(session, place, id, method, params),
            (_, Place::Node(node)) => self.page_command(session, node, id, method, params),
            (_, Place::Tab(_)) if method == "Runtime.runIfWaitingForDebugger" => {
                self.out.reply(session, id, "{}");
            }
            ("Storage" | "IO" | "Tracing", Place::Browser) => {
                self.on_any_tab(session, id, method, params);
            }
            _ => self.not_found(session, id, method),
        }
    }

    /// Runs again what waited.
    pub(super) fn again(&mut self, session: &SessionKey, id: i32, method: &str, params: Option<&str>) {
        let Some(place) = self.sessions.get(session).map(|session| session.place) else { return };
        self.dispatch(session, place, id, method, params);
    }

    pub(super) fn not_found(&mut self, session: &str, id: i32, method: &str) {
        self.out.fail(session, id, NOT_FOUND, &format!("'{method}' wasn't found"));
    }

    /// A frame of the extension.
    pub(super) fn frame(&mut self, text: &str) {
        let messages = match relay::read_frame(text) {
            Ok(messages) => messages,
            Err(error) => {
                tracing::warn!(%error, "a message of the extension cannot be read; dropped");
                return;
            }
        };
        for message in messages {
            match (message.id, message.method) {
                (Some(id), _) => {
                    let result = match message.error {
                        Some(error) => Err(Refusal::read(error)),
                        None => Ok(message.result.map_or("{}", RawValue::get)),
                    };
                    self.answered(id, result);
                }
                (None, Some(method)) => self.told(&method, message.params.map_or("{}", RawValue::get)),
                (None, None) => {}
            }
        }
    }

    fn answered(&mut self, id: u64, result: Result<&str, Refusal>) {
        let Some(Pending { node, is_setup, then }) = self.pending.remove(&id) else { return };
        match then {
            Then::Answer { session, id } => match result {
                Ok(result) => self.out.reply(&session, id, result),
                Err(error) => self.out.fail_raw(&session, id, &error.raw),
            },
            Then::Done { session, id, result: done } => match result {
                Ok(_) => self.out.reply(&session, id, done),
                Err(error) => self.out.fail_raw(&session, id, &error.raw),
            },
            Then::Read { session, id } => match result {
                Ok(result) => {
                    let refused = policy::refused_effect(result);
                    self.out.reply(&session, id, refused.as_deref().unwrap_or(result));
                }
                Err(error) => self.out.fail_raw(&session, id, &error.raw),
            },
            Then::Traced { session, id } => match result {
                Ok(result) => {
                    if let Some(node) = node.and_then(|node| self.nodes.get_mut(&node)) {
                        node.tracing = Some(session.clone());
                    }
                    self.out.reply(&session, id, result);
                }
                Err(error) => self.out.fail_raw(&session, id, &error.raw),
            },
            Then::Ignore => {}
            Then::Enabled { session, domain } => self.domain_enabled(node, session, &domain, result),
            Then::Script { session, key, id } => self.script_added(&session, &key, id, result),
            Then::World { session, id, promised } => self.world_made(&session, id, promised, result),
            Then::Tree => self.tree_told(node, result),
            Then::Attach(attaching) => self.tab_attached(attaching, result),
            Then::Freed(attaching) => self.tab_freed(attaching, result),
            Then::Create { session, id, for_tab } => self.tab_made(&session, id, for_tab, result),
            Then::Window { session, id, with_id } => self.window_told(&session, id, with_id, result),
            Then::Download(guid) => self.download_found(&guid, result),
        }
        if is_setup && let Some(node) = node {
            self.setup_step_done(node);
        }
    }

    /// The extension's connection has ended; what it was asked will not be answered.
    pub(super) fn relay_lost(&mut self) {
        self.put_down(LOST);
        // An answer may lead to another command, which nobody hears either.
        while !self.pending.is_empty() {
            let mut lost: Vec<u64> = self.pending.keys().copied().collect();
            lost.sort_unstable();
            for id in lost {
                let raw = serde_json::json!({"code": reply::SERVER_ERROR, "message": LOST}).to_string();
                self.answered(id, Err(Refusal { raw, message: LOST.to_owned() }));
            }
        }
        self.told_drivers.clear();
    }

    /// Asks the extension something.
    pub(super) fn ask(&mut self, method: &str, params: &str, then: Then) {
        let id = self.expect(None, false, then);
        self.out.ask(Some(id), method, params);
    }

    /// Sends a CDP command to the browser.
    pub(super) fn send(&mut self, node: NodeId, method: &str, params: &str, then: Then) {
        let Some(real) = self.nodes.get_mut(&node) else { return };
        let is_setup = real.phase == Phase::Attaching;
        if is_setup {
            real.outstanding += 1;
        }
        let (tab, child) = (real.tab, real.child.clone());
        let id = self.expect(Some(node), is_setup, then);
        self.out.cdp(id, tab, child.as_deref(), method, params);
    }

    /// The request that was made last, and whether one is still under way.
    pub(super) fn latest_request(&self) -> u64 {
        self.last_request
    }

    pub(super) fn is_under_way(&self, request: u64) -> bool {
        self.pending.contains_key(&request)
    }

    fn expect(&mut self, node: Option<NodeId>, is_setup: bool, then: Then) -> u64 {
        self.last_request += 1;
        self.pending.insert(self.last_request, Pending { node, is_setup, then });
        self.last_request
    }

    /// Whether a client still waits for something on this node.
    pub(super) fn drop_pending(&mut self, node: NodeId, reason: &str) {
        let ids: Vec<u64> = self
            .pending
            .iter()
            .filter(|(_, pending)| pending.node == Some(node))
            .map(|(id, _)| *id)
            .collect();
        let raw = serde_json::json!({"code": reply::SERVER_ERROR, "message": reason}).to_string();
        for id in ids {
            self.answered(id, Err(Refusal { raw: raw.clone(), message: reason.to_owned() }));
        }
    }

    pub(super) fn new_node(&mut self, node: Node) -> NodeId {
        self.last_node += 1;
        let id = NodeId(self.last_node);
        self.nodes.insert(id, node);
        id
    }

    /// 32 hexadecimal digits, as Chromium's.
    pub(super) fn new_session_key(&mut self) -> SessionKey {
        self.last_session += 1;
        Arc::from(format!("{:016X}{:016X}", self.salt, self.last_session))
    }

    pub(super) fn next_serial(&mut self) -> u64 {
        self.last_serial += 1;
        self.last_serial
    }

    /// An id for an execution context that is no browser's.
    pub(super) fn next_context(&mut self) -> i64 {
        self.last_context += 1;
        self.last_context
    }

    pub(super) fn alarm(&mut self, after: Duration, alarm: Alarm) {
        self.last_alarm += 1;
        self.alarms.insert((self.now + after, self.last_alarm), alarm);
    }

    pub(super) fn next_alarm(&self) -> Option<Instant> {
        self.alarms.keys().next().map(|(at, _)| *at)
    }

    /// Does what is due.
    pub(super) fn ring(&mut self) {
        while let Some(entry) = self.alarms.first_entry() {
            if entry.key().0 > self.now {
                break;
            }
            match entry.remove() {
                Alarm::Detach(tab) => self.detach_unused(tab),
                Alarm::Setup(node, attachment) => self.setup_took_too_long(node, attachment),
                Alarm::Download(guid) => self.look_for_download(&guid),
                Alarm::Redraw(undrawn) => self.redraw(undrawn),
            }
        }
    }
}
