//! What the scripted Chrome has and how it answers: tabs, sessions, commands and events. No I/O.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

use super::Door;

#[derive(Debug, Clone)]
pub(crate) struct Tab {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) title: String,
    pub(crate) url: String,
    /// What it has logged: method and parameters.
    pub(crate) past: Vec<(String, String)>,
}

impl Tab {
    pub(crate) fn page(id: &str, title: &str, url: &str) -> Self {
        let (id, title, url) = (id.to_owned(), title.to_owned(), url.to_owned());
        Self { id, kind: "page".to_owned(), title, url, past: Vec::new() }
    }
}

/// The answer to a command.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// A result, as it is to be sent.
    Result(String),
    Error {
        code: i32,
        message: String,
    },
    Never,
    Late(Duration, String),
}

/// A command that came.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// The tab it was for; none for the browser itself.
    pub(crate) tab: Option<String>,
    pub(crate) method: String,
    /// As they came.
    pub(crate) params: String,
}

pub(super) struct State {
    tabs: Vec<Tab>,
    links: BTreeMap<u64, UnboundedSender<String>>,
    sessions: HashMap<String, Session>,
    last: u64,
    pub(super) links_so_far: usize,
    pub(super) turned_away: usize,
    pub(super) door: Door,
    pub(super) is_silent: bool,
    pub(super) script: HashMap<String, Reply>,
    pub(super) bodies: HashMap<String, (String, bool)>,
    pub(super) seen: Vec<Seen>,
}

struct Session {
    link: u64,
    parent: Option<String>,
    /// None for the browser itself.
    tab: Option<String>,
    enabled: BTreeSet<String>,
    auto_attach: Option<AutoAttach>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
struct AutoAttach {
    auto_attach: bool,
    wait_for_debugger_on_start: bool,
}

#[derive(Deserialize)]
struct Command<'a> {
    id: i64,
    method: String,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(rename = "sessionId")]
    session: Option<String>,
}

/// An answer that is to be sent after a while.
pub(super) type Late = (Duration, UnboundedSender<String>, String);

const NO_SESSION: &str = "Session with given id not found.";
const NO_TARGET: &str = "No target with given id found";

impl Default for State {
    fn default() -> Self {
        Self {
            tabs: Vec::new(),
            links: BTreeMap::new(),
            sessions: HashMap::new(),
            last: 0,
            links_so_far: 0,
            turned_away: 0,
            door: Door::Open,
            is_silent: false,
            script: HashMap::new(),
            bodies: HashMap::new(),
            seen: Vec::new(),
        }
    }
}

impl State {
    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    pub(super) fn welcome(&mut self, sender: UnboundedSender<String>) -> u64 {
        let link = self.next();
        self.links.insert(link, sender);
        self.links_so_far += 1;
        link
    }

    pub(super) fn goodbye(&mut self, link: u64) {
        self.links.remove(&link);
        self.sessions.retain(|_, session| session.link != link);
    }

    pub(super) fn drop_links(&mut self) {
        self.links.clear();
        self.sessions.clear();
    }

    /// As `/json/list` tells: the latest first.
    pub(super) fn list(&self) -> String {
        let tab = |tab: &Tab| json!({"id": tab.id, "type": tab.kind, "title": tab.title, "url": tab.url});
        self.tabs.iter().rev().map(tab).collect::<Value>().to_string()
    }

    pub(super) fn open_new(&mut self) -> String {
        // Of all browsers of a test: they may be the same hub's.
        static LAST: AtomicU64 = AtomicU64::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        let id = format!("{number:04X}{:028X}", number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        self.open(Tab::page(&id, &format!("Page {number}"), &format!("http://page{number}.test/")));
        id
    }

    pub(super) fn open(&mut self, tab: Tab) {
        let id = tab.id.clone();
        self.tabs.push(tab);
        let watchers: Vec<(String, bool)> = self
            .sessions
            .iter()
            .filter(|(_, session)| session.tab.is_none())
            .filter_map(|(name, session)| Some((name.clone(), session.auto_attach?)))
            .filter(|(_, wish)| wish.auto_attach)
            .map(|(name, wish)| (name, wish.wait_for_debugger_on_start))
            .collect();
        for (watcher, waits) in watchers {
            self.attach(&watcher, &id, waits);
        }
    }

    pub(super) fn close(&mut self, id: &str) {
        self.tabs.retain(|tab| tab.id != id);
        let gone: Vec<String> = self
            .sessions
            .iter()
            .filter(|(_, session)| session.tab.as_deref() == Some(id))
            .map(|(name, _)| name.clone())
            .collect();
        for name in gone {
            let Some(session) = self.sessions.remove(&name) else { continue };
            let params = json!({"sessionId": name, "targetId": id});
            self.tell(
                session.link,
                session.parent.as_deref(),
                "Target.detachedFromTarget",
                &params.to_string(),
            );
        }
    }

    pub(super) fn is_watched(&self, tab: &str) -> bool {
        let on_tab = |session: &&Session| session.tab.as_deref() == Some(tab);
        self.sessions.values().filter(on_tab).any(|session| session.enabled.contains("Network"))
    }

    pub(super) fn emit(&mut self, tab: &str, method: &str, params: &str) {
        let is_logged =
            matches!(method, "Runtime.consoleAPICalled" | "Runtime.exceptionThrown" | "Log.entryAdded");
        if is_logged && let Some(tab) = self.tabs.iter_mut().find(|known| known.id == tab) {
            tab.past.push((method.to_owned(), params.to_owned()));
        }
        let domain = method.split('.').next().unwrap_or_default();
        for (name, session) in &self.sessions {
            if session.tab.as_deref() == Some(tab) && session.enabled.contains(domain) {
                self.tell(session.link, Some(name), method, params);
            }
        }
    }

    fn tell(&self, link: u64, session: Option<&str>, method: &str, params: &str) {
        let session = session.map(|session| format!(",\"sessionId\":\"{session}\"")).unwrap_or_default();
        self.send(link, format!("{{\"method\":\"{method}\",\"params\":{params}{session}}}"));
    }

    fn send(&self, link: u64, text: String) {
        if let Some(link) = self.links.get(&link) {
            // It may just have ended.
            let _ = link.send(text);
        }
    }

    /// A session on a tab, told to the session that it hangs below.
    fn attach(&mut self, parent: &str, tab: &str, waits: bool) -> Option<String> {
        let link = self.sessions.get(parent)?.link;
        self.attach_on(link, Some(parent), tab, waits)
    }

    fn attach_on(&mut self, link: u64, parent: Option<&str>, tab: &str, waits: bool) -> Option<String> {
        let info = self.info(tab)?;
        let name = self.add_session(link, parent, Some(tab));
        let params = json!({"sessionId": name, "targetInfo": info, "waitingForDebugger": waits});
        self.tell(link, parent, "Target.attachedToTarget", &params.to_string());
        Some(name)
    }

    fn add_session(&mut self, link: u64, parent: Option<&str>, tab: Option<&str>) -> String {
        let name = format!("{:032X}", self.next());
        let session = Session {
            link,
            parent: parent.map(str::to_owned),
            tab: tab.map(str::to_owned),
            enabled: BTreeSet::new(),
            auto_attach: None,
        };
        self.sessions.insert(name.clone(), session);
        name
    }

    fn info(&self, id: &str) -> Option<Value> {
        let Tab { id, kind, title, url, .. } = self.tabs.iter().find(|tab| tab.id == id)?;
        Some(json!({"targetId": id, "type": kind, "title": title, "url": url, "attached": true}))
    }

    /// Takes in a command and answers it, unless the answer is to come later.
    pub(super) fn command(&mut self, link: u64, text: &str) -> Option<Late> {
        let command: Command<'_> = serde_json::from_str(text).expect("the hub sends commands");
        let session = command.session.clone();
        let reply = match session.as_ref().map(|name| self.sessions.get(name)) {
            Some(None) => {
                let id = command.id;
                let error = json!({"code": -32001, "message": NO_SESSION});
                self.send(link, format!("{{\"id\":{id},\"error\":{error}}}"));
                return None;
            }
            found => {
                let tab = found.flatten().and_then(|session| session.tab.clone());
                let params = command.params.map_or("{}", RawValue::get).to_owned();
                self.seen.push(Seen { tab: tab.clone(), method: command.method.clone(), params });
                if self.is_silent {
                    return None;
                }
                match self.script.get(&command.method) {
                    Some(reply) => reply.clone(),
                    None => self.answer(link, session.as_deref(), tab.as_deref(), &command),
                }
            }
        };
        let ending = session.map(|session| format!(",\"sessionId\":\"{session}\"")).unwrap_or_default();
        let id = command.id;
        let result = |result: &str| format!("{{\"id\":{id},\"result\":{result}{ending}}}");
        match reply {
            Reply::Never => {}
            Reply::Result(text) => self.send(link, result(&text)),
            Reply::Error { code, message } => {
                let error = json!({"code": code, "message": message});
                self.send(link, format!("{{\"id\":{id},\"error\":{error}{ending}}}"));
            }
            Reply::Late(after, text) => {
                let sender = self.links.get(&link)?.clone();
                return Some((after, sender, result(&text)));
            }
        }
        None
    }

    fn answer(
        &mut self,
        link: u64,
        session: Option<&str>,
        tab: Option<&str>,
        command: &Command<'_>,
    ) -> Reply {
        let params: Value = command
            .params
            .and_then(|params| serde_json::from_str(params.get()).ok())
            .unwrap_or_else(|| json!({}));
        let result = |value: Value| Reply::Result(value.to_string());
        let error = |code, message: &str| Reply::Error { code, message: message.to_owned() };
        let text = |name: &str| params[name].as_str().unwrap_or_default().to_owned();
        match command.method.as_str() {
            "Browser.getVersion" => result(json!({
                "protocolVersion": "1.3", "product": "Peer/1.0", "revision": "@1",
                "userAgent": "Mozilla/5.0 HeadlessPeer/1.0", "jsVersion": "1.0",
            })),
            "Target.attachToBrowserTarget" => {
                result(json!({"sessionId": self.add_session(link, session, None)}))
            }
            "Target.attachToTarget" => match self.attach_on(link, session, &text("targetId"), false) {
                Some(name) => result(json!({ "sessionId": name })),
                None => error(-32602, NO_TARGET),
            },
            "Target.detachFromTarget" => {
                self.end(&text("sessionId"));
                result(json!({}))
            }
            "Target.getTargetInfo" => match self.info(&text("targetId")) {
                Some(info) => result(json!({ "targetInfo": info })),
                None => error(-32602, NO_TARGET),
            },
            "Target.getTargets" => {
                let infos: Vec<Value> = self.tabs.iter().filter_map(|tab| self.info(&tab.id)).collect();
                result(json!({ "targetInfos": infos }))
            }
            "Target.setAutoAttach" => {
                if let Some(session) = session.filter(|_| tab.is_none()) {
                    self.auto_attach(session, serde_json::from_value(params).ok());
                }
                result(json!({}))
            }
            "Page.enable" | "Runtime.enable" | "Log.enable" | "Network.enable" => {
                self.enable(session, tab, command.method.trim_end_matches(".enable"));
                result(json!({}))
            }
            "Network.getResponseBody" => match self.bodies.get(&text("requestId")) {
                Some((body, base64)) => result(json!({"body": body, "base64Encoded": base64})),
                None => error(-32000, "No resource with given identifier found"),
            },
            "Runtime.evaluate" => {
                result(json!({"result": {"type": "number", "value": 2, "description": "2"}}))
            }
            "Target.setDiscoverTargets"
            | "Runtime.runIfWaitingForDebugger"
            | "Runtime.releaseObjectGroup"
            | "Page.handleJavaScriptDialog" => result(json!({})),
            other => error(-32601, &format!("'{other}' wasn't found")),
        }
    }

    /// What is there already is told of before the answer.
    fn auto_attach(&mut self, session: &str, wish: Option<AutoAttach>) {
        if let Some(session) = self.sessions.get_mut(session) {
            session.auto_attach = wish;
        }
        if wish.is_some_and(|wish| wish.auto_attach) {
            let tabs: Vec<String> = self.tabs.iter().map(|tab| tab.id.clone()).collect();
            for tab in tabs {
                self.attach(session, &tab, false);
            }
        }
    }

    /// What was logged before is told of before the answer.
    fn enable(&mut self, session: Option<&str>, tab: Option<&str>, domain: &str) {
        let Some(name) = session else { return };
        let Some(session) = self.sessions.get_mut(name) else { return };
        let (is_new, link) = (session.enabled.insert(domain.to_owned()), session.link);
        let past = self.tabs.iter().find(|known| Some(known.id.as_str()) == tab).map(|tab| &tab.past);
        for (method, params) in past.into_iter().flatten().filter(|_| is_new) {
            if method.split('.').next() == Some(domain) {
                self.tell(link, Some(name), method, params);
            }
        }
    }

    fn end(&mut self, name: &str) {
        self.sessions.remove(name);
        let below: Vec<String> = self
            .sessions
            .iter()
            .filter(|(_, session)| session.parent.as_deref() == Some(name))
            .map(|(name, _)| name.clone())
            .collect();
        for name in below {
            self.end(&name);
        }
    }
}
