//! Who asks: an agent with a name, a current tab in each browser, and connections of its own to them.
//!
//! A connection that an agent arrives through (MCP, the agents' WebSocket) is its presence. Commands have none: they
//! say a session's name each time, and what belongs to it stays for a while after the last one.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bowline_wire::TargetId;
use tokio::time::Instant;

use crate::driver::Connection;
use crate::execute::Seat;

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AgentName(String);

impl AgentName {
    /// Longer names are cut: they are told to others, and in the user's browser.
    const MAX: usize = 60;

    pub fn new(name: &str) -> Self {
        let name: String = name.trim().chars().filter(|c| !c.is_control()).take(Self::MAX).collect();
        Self(if name.is_empty() { "default".to_owned() } else { name })
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AgentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How long an agent stays without a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stay {
    /// It arrives through a connection, and may come back when that was lost.
    Connected,
    /// It is a name that commands say.
    Session,
}

impl Stay {
    /// How long it is remembered.
    fn memory(self) -> Duration {
        match self {
            Self::Connected => Duration::from_secs(60),
            Self::Session => Duration::from_secs(15 * 60),
        }
    }
}

pub struct Agent {
    pub(crate) name: AgentName,
    stay: Stay,
    /// The next free ref, in whichever tab.
    pub(crate) next_ref: Arc<AtomicU64>,
    inner: Mutex<Inner>,
}

struct Inner {
    presences: usize,
    last_word: Instant,
    /// Its tab in each browser.
    current: HashMap<String, TargetId>,
    /// Its own names for tabs.
    labels: HashMap<String, TargetId>,
    connections: HashMap<String, Arc<Connection>>,
    /// The directories whose files it may name; none means all.
    roots: Option<Vec<PathBuf>>,
    /// Its code with each browser.
    seats: HashMap<String, Arc<Seat>>,
    /// The browser that it means when it names none.
    default_browser: Option<String>,
    /// Tabs whose changes it wants to be told, by browser.
    watched: BTreeSet<(String, TargetId)>,
}

impl Agent {
    pub(crate) fn new(name: AgentName, stay: Stay) -> Self {
        let inner = Inner {
            presences: 0,
            last_word: Instant::now(),
            current: HashMap::new(),
            labels: HashMap::new(),
            connections: HashMap::new(),
            roots: None,
            seats: HashMap::new(),
            default_browser: None,
            watched: BTreeSet::new(),
        };
        Self { name, stay, next_ref: Arc::new(AtomicU64::new(1)), inner: Mutex::new(inner) }
    }

    /// From now on it may name files below these directories alone. Who has a shell of its own, as commands have, need
    /// not be confined.
    pub fn confine(&self, roots: Vec<PathBuf>) {
        self.inner().roots = Some(roots.iter().map(|root| crate::request::real_path(root)).collect());
    }

    /// The first of its directories, which paths that are not whole begin at.
    pub(crate) fn base(&self) -> Option<PathBuf> {
        self.inner().roots.as_ref().and_then(|roots| roots.first().cloned())
    }

    pub(crate) fn is_confined(&self) -> bool {
        self.inner().roots.is_some()
    }

    pub(crate) fn may_name(&self, path: &Path) -> bool {
        let inner = self.inner();
        inner.roots.as_ref().is_none_or(|roots| roots.iter().any(|root| path.starts_with(root)))
    }

    pub(crate) fn heard(&self) {
        self.inner().last_word = Instant::now();
    }

    /// Whether nothing more is to be expected of it.
    pub(crate) fn has_left(&self) -> bool {
        let inner = self.inner();
        inner.presences == 0 && inner.last_word.elapsed() > self.stay.memory()
    }

    /// Whether it is there, so that what is leased to it stays so.
    pub(crate) fn is_present(&self) -> bool {
        self.stay == Stay::Session || self.inner().presences > 0
    }

    pub(crate) fn current(&self, browser: &str) -> Option<TargetId> {
        self.inner().current.get(browser).cloned()
    }

    pub(crate) fn set_current(&self, browser: &str, target: Option<TargetId>) {
        let mut inner = self.inner();
        match target {
            Some(target) => inner.current.insert(browser.to_owned(), target),
            None => inner.current.remove(browser),
        };
    }

    pub(crate) fn label(&self, label: &str, target: TargetId) {
        self.inner().labels.insert(label.to_owned(), target);
    }

    pub(crate) fn labelled(&self, label: &str) -> Option<TargetId> {
        self.inner().labels.get(label).cloned()
    }

    pub(crate) fn label_of(&self, target: &TargetId) -> Option<String> {
        self.inner().labels.iter().find(|(_, of)| *of == target).map(|(label, _)| label.clone())
    }

    /// Its connection to a browser, if it has one that still works.
    pub(crate) fn connection(&self, browser: &str) -> Option<Arc<Connection>> {
        let mut inner = self.inner();
        if inner.connections.get(browser).is_some_and(|connection| connection.has_ended()) {
            inner.connections.remove(browser);
        }
        inner.connections.get(browser).cloned()
    }

    /// Keeps a connection; of two that were made at once, the first.
    pub(crate) fn keep(&self, browser: &str, connection: Arc<Connection>) -> Arc<Connection> {
        let mut inner = self.inner();
        match inner.connections.get(browser).filter(|known| !known.has_ended()) {
            Some(known) => known.clone(),
            None => {
                inner.connections.insert(browser.to_owned(), connection.clone());
                connection
            }
        }
    }

    /// Where its code runs with a browser.
    pub(crate) fn seat(&self, browser: &str) -> Arc<Seat> {
        self.inner().seats.entry(browser.to_owned()).or_default().clone()
    }

    pub(crate) fn default_browser(&self) -> Option<String> {
        self.inner().default_browser.clone()
    }

    pub(crate) fn set_default_browser(&self, name: &str) {
        self.inner().default_browser = Some(name.to_owned());
    }

    pub(crate) fn watch(&self, browser: &str, target: TargetId, on: bool) {
        let mut inner = self.inner();
        match on {
            true => inner.watched.insert((browser.to_owned(), target)),
            false => inner.watched.remove(&(browser.to_owned(), target)),
        };
    }

    pub(crate) fn watched(&self) -> Vec<(String, TargetId)> {
        self.inner().watched.iter().cloned().collect()
    }

    /// Whether it wants to be told of changes in any tab.
    pub fn is_watching(&self) -> bool {
        !self.inner().watched.is_empty()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// While one exists, its agent is there.
pub struct Presence(Arc<Agent>);

impl Presence {
    pub(crate) fn new(agent: Arc<Agent>) -> Self {
        agent.inner().presences += 1;
        Self(agent)
    }

    pub fn name(&self) -> &AgentName {
        &self.0.name
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        let mut inner = self.0.inner();
        inner.presences -= 1;
        inner.last_word = Instant::now();
    }
}
