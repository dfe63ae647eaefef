//! The memory: what is known of every tab, within bounds. No I/O, and no clock of its own.
//!
//! It also notes what has changed since it was last asked (`take_changes`), so that the archive can
//! follow at its own pace: what waits to be written is never more than what is remembered.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use bowline_wire::TargetId;
use bowline_wire::cdp::TargetInfo;
use serde::{Deserialize, Serialize};

use super::archive::Count;
use super::record::{ConsoleRecord, NetworkRecord, RequestFailure, RequestState, Seq};
use super::size;

/// The bounds.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// Console records of one tab.
    pub console: usize,
    pub console_bytes: usize,
    /// Requests of one tab.
    pub requests: usize,
    pub network_bytes: usize,
    /// All tabs together; beyond it those closed first go first, then the oldest of the largest.
    pub total_bytes: usize,
    /// Milliseconds for which a closed tab is remembered.
    pub keep_closed: f64,
}

/// The number of a tab in the memory. A target's id may come back in another browser, this does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TabKey(pub u64);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    Console,
    Network,
}

/// What is remembered of one tab. Serialized without its records, which are stored on their own.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Tab {
    pub key: TabKey,
    pub browser: String,
    pub target: TargetId,
    pub kind: String,
    pub title: String,
    pub url: String,
    /// Milliseconds since 1970.
    pub opened_at: f64,
    pub closed: Option<Closed>,
    pub navigations: u32,
    pub pages: VecDeque<PageMark>,
    /// Workers that pages share, and that this page has had a part in.
    pub workers: BTreeSet<TabKey>,
    pub console_dropped: u64,
    pub network_dropped: u64,
    /// All there ever were.
    pub messages: u64,
    pub requests: u64,
    pub last_activity: f64,
    /// The latest number at each client's first look.
    pub looks: BTreeMap<String, Seq>,
    #[serde(skip)]
    pub console: VecDeque<ConsoleRecord>,
    #[serde(skip)]
    pub network: VecDeque<NetworkRecord>,
    #[serde(skip)]
    console_bytes: usize,
    #[serde(skip)]
    network_bytes: usize,
    /// Whether all that happens in it is heard from now on.
    #[serde(skip)]
    pub is_watched: bool,
    /// Whether a connection still hopes for it: its browser may only be lost for a while.
    #[serde(skip)]
    is_held: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Closed {
    pub at: f64,
    pub reason: String,
}

/// One navigation of a tab.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PageMark {
    pub navigation: u32,
    pub url: String,
    pub title: String,
    /// Milliseconds since 1970.
    pub started: f64,
    /// Milliseconds after `started`.
    pub content_loaded: Option<f64>,
    pub loaded: Option<f64>,
}

const HUB_ENDED: &str = "the hub ended";
/// Navigations that are remembered of a tab.
const PAGES: usize = 100;
/// Clients whose first look is remembered of a tab; the one that looked first is forgotten first.
const LOOKS: usize = 256;

impl Tab {
    fn new(key: TabKey, browser: &str, info: &TargetInfo, now: f64) -> Self {
        Self {
            key,
            browser: browser.to_owned(),
            target: info.target_id.clone(),
            kind: info.kind.clone(),
            title: info.title.clone(),
            url: info.url.clone(),
            opened_at: now,
            closed: None,
            navigations: 0,
            pages: VecDeque::new(),
            workers: BTreeSet::new(),
            console_dropped: 0,
            network_dropped: 0,
            messages: 0,
            requests: 0,
            last_activity: now,
            looks: BTreeMap::new(),
            console: VecDeque::new(),
            network: VecDeque::new(),
            console_bytes: 0,
            network_bytes: 0,
            is_watched: false,
            is_held: false,
        }
    }

    pub fn is_open(&self) -> bool {
        self.closed.is_none()
    }

    pub fn is_page(&self) -> bool {
        self.kind == "page"
    }

    pub fn bytes(&self) -> usize {
        self.console_bytes + self.network_bytes
    }

    /// A request by its number.
    pub fn request(&self, seq: Seq) -> Option<&NetworkRecord> {
        let at = self.network.binary_search_by_key(&seq, |record| record.seq).ok()?;
        self.network.get(at)
    }
}

/// What has changed since the last time, for the archive.
#[derive(Debug, Default)]
pub struct Changes {
    pub tabs: BTreeSet<TabKey>,
    pub removed: BTreeSet<TabKey>,
    pub records: BTreeSet<(TabKey, Kind, Seq)>,
    /// Everything up to this number has gone.
    pub evicted: BTreeMap<(TabKey, Kind), Seq>,
}

impl Changes {
    pub fn is_empty(&self) -> bool {
        self.tabs.is_empty() && self.removed.is_empty() && self.records.is_empty() && self.evicted.is_empty()
    }
}

pub struct Store {
    bounds: Bounds,
    tabs: BTreeMap<TabKey, Tab>,
    by_target: HashMap<(String, TargetId), TabKey>,
    last_seq: Seq,
    /// How many records were ever made.
    made: u64,
    last_key: u64,
    changes: Changes,
}

impl Store {
    /// An empty memory whose numbers begin after those given out before.
    pub fn new(bounds: Bounds, count: Count) -> Self {
        Self {
            bounds,
            tabs: BTreeMap::new(),
            by_target: HashMap::new(),
            last_seq: count.last_seq,
            made: count.made,
            last_key: 0,
            changes: Changes::default(),
        }
    }

    /// Takes back what an earlier hub had written. Nothing of it is open any more.
    pub fn restore(
        &mut self,
        mut tab: Tab,
        console: Vec<ConsoleRecord>,
        mut network: Vec<NetworkRecord>,
        now: f64,
    ) {
        // One that was killed could not say that it will not hear how these end.
        for record in network.iter_mut().filter(|record| !record.loading_finished) {
            record.state = RequestState::Failed;
            record.loading_finished = true;
            let error_text = HUB_ENDED.to_owned();
            record.failure = Some(RequestFailure { error_text, canceled: true, ..Default::default() });
            self.changes.records.insert((tab.key, Kind::Network, record.seq));
        }
        if tab.closed.is_none() {
            tab.closed = Some(Closed { at: now, reason: HUB_ENDED.to_owned() });
            self.changes.tabs.insert(tab.key);
        }
        tab.console_bytes = console.iter().map(size::console).sum();
        tab.network_bytes = network.iter().map(size::network).sum();
        tab.console = console.into();
        tab.network = network.into();
        self.last_key = self.last_key.max(tab.key.0);
        self.by_target.insert((tab.browser.clone(), tab.target.clone()), tab.key);
        let key = tab.key;
        self.tabs.insert(key, tab);
        self.enforce(key);
    }

    pub fn count(&self) -> Count {
        Count { last_seq: self.last_seq, made: self.made }
    }

    pub fn last_seq(&self) -> Seq {
        self.last_seq
    }

    pub fn bytes(&self) -> usize {
        self.tabs.values().map(Tab::bytes).sum()
    }

    fn next_seq(&mut self) -> Seq {
        self.last_seq += 1;
        self.last_seq
    }

    pub fn tab(&self, key: TabKey) -> Option<&Tab> {
        self.tabs.get(&key)
    }

    pub fn tabs(&self) -> impl Iterator<Item = &Tab> {
        self.tabs.values()
    }

    pub fn find(&self, browser: &str, target: &TargetId) -> Option<&Tab> {
        let key = self.by_target.get(&(browser.to_owned(), target.clone()))?;
        self.tabs.get(key)
    }

    /// A tab has appeared, or come back after the connection to its browser was lost. Tells whether it
    /// had been known.
    pub fn open(&mut self, browser: &str, info: &TargetInfo, now: f64) -> (TabKey, bool) {
        if let Some(key) = self.by_target.get(&(browser.to_owned(), info.target_id.clone())).copied()
            && let Some(tab) = self.tabs.get_mut(&key)
        {
            tab.closed = None;
            tab.is_watched = false;
            tab.title.clone_from(&info.title);
            tab.url.clone_from(&info.url);
            self.changes.tabs.insert(key);
            return (key, true);
        }
        self.last_key += 1;
        let key = TabKey(self.last_key);
        self.by_target.insert((browser.to_owned(), info.target_id.clone()), key);
        self.tabs.insert(key, Tab::new(key, browser, info, now));
        self.changes.tabs.insert(key);
        self.associate(key);
        (key, false)
    }

    /// Keeps the history of a tab for as long as it is held, even if the tab counts as closed.
    pub fn hold(&mut self, browser: &str, target: &TargetId, is_held: bool) {
        let key = self.by_target.get(&(browser.to_owned(), target.clone()));
        if let Some(tab) = key.and_then(|key| self.tabs.get_mut(key)) {
            tab.is_held = is_held;
        }
    }

    /// All that happens in a tab is heard from now on.
    pub fn watched(&mut self, key: TabKey) {
        if let Some(tab) = self.tabs.get_mut(&key) {
            tab.is_watched = true;
        }
    }

    /// Changes what is known of a tab itself.
    pub fn change(&mut self, key: TabKey, change: impl FnOnce(&mut Tab)) {
        if let Some(tab) = self.tabs.get_mut(&key) {
            change(tab);
            self.changes.tabs.insert(key);
        }
    }

    /// The main frame of a tab shows another document.
    pub fn navigated(&mut self, key: TabKey, url: &str, started: f64) {
        self.change(key, |tab| {
            tab.navigations += 1;
            tab.url = url.to_owned();
            tab.pages.push_back(PageMark {
                navigation: tab.navigations,
                url: url.to_owned(),
                title: String::new(),
                started,
                content_loaded: None,
                loaded: None,
            });
            if tab.pages.len() > PAGES {
                tab.pages.pop_front();
            }
        });
        self.associate(key);
    }

    /// Shared and service workers belong to every page of their origin.
    fn associate(&mut self, key: TabKey) {
        let Some(tab) = self.tabs.get(&key) else { return };
        let (browser, origin, is_page) = (tab.browser.clone(), origin_of(&tab.url).to_owned(), tab.is_page());
        if origin.is_empty() {
            return;
        }
        let related: Vec<TabKey> = self
            .tabs
            .values()
            .filter(|other| {
                other.is_open()
                    && other.is_page() != is_page
                    && other.browser == browser
                    && origin_of(&other.url) == origin
            })
            .map(|other| other.key)
            .collect();
        for other in related {
            let (page, worker) = if is_page { (key, other) } else { (other, key) };
            self.change(page, |page| {
                page.workers.insert(worker);
            });
        }
    }

    pub fn close(&mut self, key: TabKey, reason: &str, now: f64) {
        self.change(key, |tab| {
            tab.closed.get_or_insert_with(|| Closed { at: now, reason: reason.to_owned() });
        });
    }

    pub fn add_console(&mut self, key: TabKey, mut record: ConsoleRecord) -> Seq {
        let seq = self.next_seq();
        record.seq = seq;
        if let Some(tab) = self.tabs.get_mut(&key) {
            tab.console_bytes += size::console(&record);
            tab.messages += 1;
            self.made += 1;
            tab.last_activity = record.timestamp;
            tab.console.push_back(record);
            self.changes.records.insert((key, Kind::Console, seq));
            self.enforce(key);
        }
        seq
    }

    /// More has become known of a record that nobody has had time to read.
    pub fn improve_console(&mut self, key: TabKey, seq: Seq, improve: impl FnOnce(&mut ConsoleRecord)) {
        let Some(tab) = self.tabs.get_mut(&key) else { return };
        let Ok(at) = tab.console.binary_search_by_key(&seq, |record| record.seq) else { return };
        let before = size::console(&tab.console[at]);
        improve(&mut tab.console[at]);
        tab.console_bytes = tab.console_bytes + size::console(&tab.console[at]) - before;
        self.changes.records.insert((key, Kind::Console, seq));
        self.enforce(key);
    }

    pub fn add_network(&mut self, key: TabKey, mut record: NetworkRecord) -> Seq {
        let seq = self.next_seq();
        record.seq = seq;
        record.changed = seq;
        if let Some(tab) = self.tabs.get_mut(&key) {
            tab.network_bytes += size::network(&record);
            tab.requests += 1;
            self.made += 1;
            tab.last_activity = record.timestamp;
            tab.network.push_back(record);
            self.changes.records.insert((key, Kind::Network, seq));
            self.enforce(key);
        }
        seq
    }

    pub fn update_network(&mut self, key: TabKey, seq: Seq, update: impl FnOnce(&mut NetworkRecord)) {
        let changed = self.next_seq();
        let Some(tab) = self.tabs.get_mut(&key) else { return };
        // It may have been dropped since.
        let Ok(at) = tab.network.binary_search_by_key(&seq, |record| record.seq) else { return };
        let record = &mut tab.network[at];
        let before = size::network(record);
        update(record);
        record.changed = changed;
        tab.network_bytes = tab.network_bytes + size::network(record) - before;
        self.changes.records.insert((key, Kind::Network, seq));
        self.enforce(key);
    }

    /// Drops the oldest records of a tab until it is within its bounds, and all tabs within theirs.
    fn enforce(&mut self, key: TabKey) {
        self.enforce_own(key);
        if self.bytes() > self.bounds.total_bytes {
            self.make_room();
        }
    }

    /// Brings all tabs together within their bound: those closed first go first, then the oldest records
    /// of whichever tab has most.
    fn make_room(&mut self) {
        let mut total = self.bytes();
        for (_, key) in self.closed() {
            if total <= self.bounds.total_bytes {
                return;
            }
            total -= self.tabs.get(&key).map_or(0, Tab::bytes);
            self.remove(key);
        }
        while self.bytes() > self.bounds.total_bytes {
            let several = |tab: &&mut Tab| tab.console.len() + tab.network.len() > 1;
            let Some(tab) = self.tabs.values_mut().filter(several).max_by_key(|tab| tab.bytes()) else {
                return;
            };
            let key = tab.key;
            let first = |seq: Option<Seq>| seq.unwrap_or(Seq::MAX);
            let console = first(tab.console.front().map(|record| record.seq));
            let network = first(tab.network.front().map(|record| record.seq));
            let (kind, seq) = if console < network {
                let gone = tab.console.pop_front();
                tab.console_bytes -= gone.as_ref().map_or(0, size::console);
                tab.console_dropped += 1;
                (Kind::Console, console)
            } else {
                let gone = tab.network.pop_front();
                tab.network_bytes -= gone.as_ref().map_or(0, size::network);
                tab.network_dropped += 1;
                (Kind::Network, network)
            };
            self.changes.records.remove(&(key, kind, seq));
            self.changes.evicted.insert((key, kind), seq);
            self.changes.tabs.insert(key);
        }
    }

    fn enforce_own(&mut self, key: TabKey) {
        let Some(tab) = self.tabs.get_mut(&key) else { return };
        let bounds = &self.bounds;
        let mut gone = None;
        // The last one stays even if it alone is too large: what was just said must be readable.
        while tab.console.len() > bounds.console
            || (tab.console_bytes > bounds.console_bytes && tab.console.len() > 1)
        {
            let Some(record) = tab.console.pop_front() else { break };
            tab.console_bytes -= size::console(&record);
            tab.console_dropped += 1;
            self.changes.records.remove(&(key, Kind::Console, record.seq));
            gone = Some(record.seq);
        }
        if let Some(seq) = gone.take() {
            self.changes.evicted.insert((key, Kind::Console), seq);
            self.changes.tabs.insert(key);
        }
        while tab.network.len() > bounds.requests
            || (tab.network_bytes > bounds.network_bytes && tab.network.len() > 1)
        {
            let Some(record) = tab.network.pop_front() else { break };
            tab.network_bytes -= size::network(&record);
            tab.network_dropped += 1;
            self.changes.records.remove(&(key, Kind::Network, record.seq));
            gone = Some(record.seq);
        }
        if let Some(seq) = gone {
            self.changes.evicted.insert((key, Kind::Network), seq);
            self.changes.tabs.insert(key);
        }
    }

    /// Empties one side of a tab. Returns how many there were.
    pub fn clear(&mut self, key: TabKey, kind: Kind) -> usize {
        let latest = self.last_seq;
        let Some(tab) = self.tabs.get_mut(&key) else { return 0 };
        let count = match kind {
            Kind::Console => {
                tab.console_bytes = 0;
                tab.console_dropped = 0;
                std::mem::take(&mut tab.console).len()
            }
            Kind::Network => {
                tab.network_bytes = 0;
                tab.network_dropped = 0;
                std::mem::take(&mut tab.network).len()
            }
        };
        self.changes.records.retain(|(tab, of, _)| *tab != key || *of != kind);
        self.changes.evicted.insert((key, kind), latest);
        self.changes.tabs.insert(key);
        count
    }

    /// Forgets everything that is remembered of a tab. One that is open goes on, as if it had just appeared.
    pub fn forget(&mut self, key: TabKey, now: f64) {
        let Some(tab) = self.tabs.get(&key).filter(|tab| tab.is_open()) else {
            self.remove(key);
            return;
        };
        let (browser, navigations) = (tab.browser.clone(), tab.navigations);
        let info = TargetInfo {
            target_id: tab.target.clone(),
            kind: tab.kind.clone(),
            title: tab.title.clone(),
            url: tab.url.clone(),
            attached: true,
            parent_id: None,
            parent_frame_id: None,
            opener_id: None,
            can_access_opener: None,
        };
        for kind in [Kind::Console, Kind::Network] {
            self.clear(key, kind);
        }
        self.tabs.insert(key, Tab { navigations, ..Tab::new(key, &browser, &info, now) });
    }

    /// Forgets a tab and everything about it.
    pub fn remove(&mut self, key: TabKey) -> bool {
        let Some(tab) = self.tabs.remove(&key) else { return false };
        self.by_target.remove(&(tab.browser, tab.target));
        for other in self.tabs.values_mut() {
            if other.workers.remove(&key) {
                self.changes.tabs.insert(other.key);
            }
        }
        self.changes.tabs.remove(&key);
        self.changes.records.retain(|(tab, ..)| *tab != key);
        self.changes.evicted.retain(|(tab, _), _| *tab != key);
        self.changes.removed.insert(key);
        true
    }

    /// Forgets closed tabs whose time is over, and as many more as the bound of all together asks for.
    /// Tells whether there were any.
    pub fn sweep(&mut self, now: f64) -> bool {
        let (keep, count) = (self.bounds.keep_closed, self.tabs.len());
        for (at, key) in self.closed() {
            if now - at >= keep && !self.tabs.get(&key).is_some_and(|tab| tab.is_held) {
                self.remove(key);
            }
        }
        if self.bytes() > self.bounds.total_bytes {
            self.make_room();
        }
        self.tabs.len() < count
    }

    /// The closed tabs, those closed first first.
    fn closed(&self) -> Vec<(f64, TabKey)> {
        let mut closed: Vec<(f64, TabKey)> =
            self.tabs.values().filter_map(|tab| Some((tab.closed.as_ref()?.at, tab.key))).collect();
        closed.sort_by(|a, b| a.0.total_cmp(&b.0));
        closed
    }

    /// The number up to which this client had not looked yet: everything up to it is history to it.
    pub fn first_look(&mut self, key: TabKey, client: Option<&str>) -> Seq {
        let latest = self.last_seq;
        let (Some(client), Some(tab)) = (client, self.tabs.get_mut(&key)) else { return latest };
        if let Some(first) = tab.looks.get(client) {
            return *first;
        }
        if tab.looks.len() >= LOOKS
            && let Some(oldest) = tab.looks.iter().min_by_key(|(_, seq)| **seq).map(|(name, _)| name.clone())
        {
            tab.looks.remove(&oldest);
        }
        tab.looks.insert(client.to_owned(), latest);
        self.changes.tabs.insert(key);
        latest
    }

    pub fn take_changes(&mut self) -> Changes {
        std::mem::take(&mut self.changes)
    }

    /// After a write that failed: everything is to be written again.
    pub fn mark_all_changed(&mut self, removed: BTreeSet<TabKey>) {
        self.changes.removed.extend(removed);
        for tab in self.tabs.values() {
            self.changes.tabs.insert(tab.key);
            let first = |seq: Option<Seq>| seq.map_or(self.last_seq, |seq| seq.saturating_sub(1));
            let console = first(tab.console.front().map(|record| record.seq));
            let network = first(tab.network.front().map(|record| record.seq));
            self.changes.evicted.insert((tab.key, Kind::Console), console);
            self.changes.evicted.insert((tab.key, Kind::Network), network);
            let records = tab.console.iter().map(|record| (tab.key, Kind::Console, record.seq));
            self.changes.records.extend(records);
            let records = tab.network.iter().map(|record| (tab.key, Kind::Network, record.seq));
            self.changes.records.extend(records);
        }
    }
}

/// Scheme and authority of a URL that has both.
fn origin_of(url: &str) -> &str {
    let Some(after) = url.find("://").map(|at| at + 3) else { return "" };
    let end = url[after..].find(['/', '?', '#']).map_or(url.len(), |at| after + at);
    &url[..end]
}

#[cfg(test)]
pub(in crate::recorder) mod tests;
