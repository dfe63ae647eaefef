//! A history that goes on: records as server-sent events.
//!
//! A follower has no queue of its own. It is told that there is news, and reads what it has not seen from
//! the memory; whoever is too slow misses what the memory has dropped, and is told how much that was.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use bowline_hub::Hub;
use bowline_hub::hub::Hold;
use bowline_hub::recorder::filter::{ConsoleFilter, NetworkFilter};
use bowline_hub::recorder::record::Seq;
use bowline_hub::recorder::redact;
use bowline_hub::recorder::store::TabKey;
use serde_json::json;
use tokio::sync::watch;

use super::scope::Scope;

/// What has gathered in this time is sent together.
const GATHER: Duration = Duration::from_millis(20);
/// Records read from the memory at a time.
const CHUNK: usize = 256;

pub(crate) enum What {
    Console(ConsoleFilter),
    Network { filter: NetworkFilter, reveal: bool },
}

struct Follower {
    hub: Arc<Hub>,
    scope: Scope,
    what: What,
    client: Option<String>,
    last: Seq,
    /// Everything up to this is history.
    ready_at: Seq,
    is_ready: bool,
    /// How many records of each tab have gone by: those dropped before it came, and those it has read.
    passed: HashMap<TabKey, u64>,
    state: Option<(String, Option<String>)>,
    news: watch::Receiver<Seq>,
    queue: VecDeque<Event>,
    has_ended: bool,
    _hold: Hold,
    _counted: Option<Counted>,
}

/// What is new, and how much of it went before it could be read.
struct News {
    events: Vec<(Seq, Event)>,
    missed: u64,
    passed: HashMap<TabKey, u64>,
}

/// A follower of a connection counts as its client.
struct Counted {
    hub: Arc<Hub>,
    id: String,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.hub.connections().change(&self.id, |connection| connection.followers -= 1);
    }
}

pub(crate) fn follow(
    hub: Arc<Hub>,
    scope: Scope,
    what: What,
    since: Seq,
    client: Option<String>,
) -> Response {
    let news = hub.recorder().news();
    let ready_at = hub.recorder().store().last_seq();
    let counted = scope.connection().map(|id| {
        hub.connections().change(id, |connection| connection.followers += 1);
        Counted { hub: hub.clone(), id: id.to_owned() }
    });
    let mut follower = Follower {
        _hold: hub.hold(),
        _counted: counted,
        hub,
        scope,
        what,
        client,
        last: since,
        ready_at,
        is_ready: false,
        passed: HashMap::new(),
        state: None,
        news,
        queue: VecDeque::new(),
        has_ended: false,
    };
    let dropped = follower.dropped_before();
    follower.state = follower.state_now();
    let lost = follower.hub.recorder().lost();
    if dropped > 0 || lost > 0 {
        let missing = json!({"dropped": dropped, "lost": lost});
        follower.queue.push_back(event("dropped", &missing));
    }
    follower.skip_to_latest();
    let shutdown = follower.hub.shutdown_token();
    let events = futures_util::stream::unfold((follower, shutdown), |(mut follower, shutdown)| async {
        let event = tokio::select! {
            () = shutdown.cancelled() => None,
            event = follower.next() => event,
        };
        event.map(|event| (Ok::<Event, Infallible>(event), (follower, shutdown)))
    });
    Sse::new(events).keep_alive(KeepAlive::default()).into_response()
}

impl Follower {
    /// Of the history, only the latest may be wanted; what comes is wanted in any case.
    fn skip_to_latest(&mut self) {
        let (max, mut numbers) = match &self.what {
            What::Console(filter) => {
                let Some(max) = filter.max else { return };
                let store = self.hub.recorder().store();
                let tabs = self.scope.keys(&store).into_iter().filter_map(|key| store.tab(key));
                let fitting = tabs.flat_map(|tab| tab.console.iter()).filter(|record| filter.matches(record));
                (max, fitting.map(|record| record.seq).collect::<Vec<Seq>>())
            }
            What::Network { filter, .. } => {
                let Some(max) = filter.max else { return };
                let store = self.hub.recorder().store();
                let tabs = self.scope.keys(&store).into_iter().filter_map(|key| store.tab(key));
                let fitting = tabs.flat_map(|tab| tab.network.iter()).filter(|record| filter.matches(record));
                (max, fitting.map(|record| record.changed).collect())
            }
        };
        numbers.sort_unstable();
        if let Some(last_skipped) = numbers.len().checked_sub(max + 1).map(|at| numbers[at]) {
            self.last = self.last.max(last_skipped);
        }
    }

    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Some(event);
            }
            if self.has_ended {
                return None;
            }
            self.gather();
            if !self.queue.is_empty() {
                continue;
            }
            if !self.is_ready {
                self.is_ready = true;
                return Some(event("ready", &json!({ "latest": self.last.max(self.ready_at) })));
            }
            // An error means that the hub is leaving; the shutdown ends the stream.
            if self.news.changed().await.is_err() {
                return None;
            }
            tokio::time::sleep(GATHER).await;
            self.news.mark_unchanged();
        }
    }

    /// Moves what is new into the queue.
    fn gather(&mut self) {
        self.gather_state();
        let News { events, missed, passed } = match &self.what {
            What::Console(filter) => self.console(filter),
            What::Network { filter, reveal } => self.network(filter, *reveal),
        };
        if missed > 0 {
            self.queue.push_back(event("dropped", &json!({ "dropped": missed })));
        }
        self.passed = passed;
        if let Some((seq, _)) = events.last() {
            self.last = *seq;
        }
        self.queue.extend(events.into_iter().map(|(_, event)| event));
    }

    fn missed(&self, key: TabKey, dropped: u64) -> u64 {
        dropped.saturating_sub(self.passed.get(&key).copied().unwrap_or_default())
    }

    fn console(&self, filter: &ConsoleFilter) -> News {
        let mut store = self.hub.recorder().store();
        let keys = self.scope.keys(&store);
        let looks: Vec<(TabKey, Seq)> =
            keys.into_iter().map(|key| (key, self.first_look(&mut store, key))).collect();
        let (mut found, mut missed) = (Vec::new(), 0);
        for &(key, look) in &looks {
            let Some(tab) = store.tab(key) else { continue };
            missed += self.missed(key, tab.console_dropped);
            let start = tab.console.partition_point(|record| record.seq <= self.last);
            let fitting = tab.console.range(start..).filter(|record| filter.matches(record));
            found.extend(fitting.take(CHUNK).map(|record| (record, look)));
        }
        found.sort_by_key(|(record, _)| record.seq);
        found.truncate(CHUNK);
        // Without a whole chunk there was no more to read.
        let read = found.get(CHUNK - 1).map_or(Seq::MAX, |(record, _)| record.seq);
        let tabs = looks.iter().filter_map(|(key, _)| store.tab(*key));
        let passed = tabs.map(|tab| {
            (tab.key, tab.console_dropped + tab.console.partition_point(|record| record.seq <= read) as u64)
        });
        let passed = passed.collect();
        let events = found.into_iter().map(|(record, look)| {
            let mut record = record.clone();
            record.historical = Some(record.seq <= look);
            (record.seq, event("console", &record).id(record.seq.to_string()))
        });
        News { events: events.collect(), missed, passed }
    }

    fn network(&self, filter: &NetworkFilter, reveal: bool) -> News {
        let mut store = self.hub.recorder().store();
        let keys = self.scope.keys(&store);
        let looks: Vec<(TabKey, Seq)> =
            keys.into_iter().map(|key| (key, self.first_look(&mut store, key))).collect();
        let (mut found, mut missed) = (Vec::new(), 0);
        for &(key, look) in &looks {
            let Some(tab) = store.tab(key) else { continue };
            missed += self.missed(key, tab.network_dropped);
            let fitting =
                tab.network.iter().filter(|record| record.changed > self.last && filter.matches(record));
            found.extend(fitting.map(|record| (record, look)));
        }
        found.sort_by_key(|(record, _)| record.changed);
        found.truncate(CHUNK);
        let read = found.get(CHUNK - 1).map_or(Seq::MAX, |(record, _)| record.changed);
        let tabs = looks.iter().filter_map(|(key, _)| store.tab(*key));
        let passed = tabs.map(|tab| {
            (tab.key, tab.network_dropped + tab.network.partition_point(|record| record.seq <= read) as u64)
        });
        let passed = passed.collect();
        let events = found.into_iter().map(|(record, look)| {
            let mut record = record.clone();
            record.historical = Some(record.seq <= look);
            if !reveal {
                redact::redact(&mut record);
            }
            (record.changed, event("request", &record).id(record.changed.to_string()))
        });
        News { events: events.collect(), missed, passed }
    }

    /// Without a name, the moment at which it began to follow is the first look.
    fn first_look(&self, store: &mut bowline_hub::recorder::store::Store, key: TabKey) -> Seq {
        match &self.client {
            Some(client) => store.first_look(key, Some(client)),
            None => self.ready_at,
        }
    }

    /// What was dropped before it came. Notes it, so that it is told once.
    fn dropped_before(&mut self) -> u64 {
        let store = self.hub.recorder().store();
        let keys = self.scope.keys(&store);
        let mut passed = HashMap::new();
        let mut dropped = 0;
        for tab in keys.into_iter().filter_map(|key| store.tab(key)) {
            let (first, gone) = match self.what {
                What::Console(_) => (tab.console.front().map(|record| record.seq), tab.console_dropped),
                What::Network { .. } => (tab.network.front().map(|record| record.seq), tab.network_dropped),
            };
            passed.insert(tab.key, gone);
            // Only where everything that is left is new to it can something new have been dropped.
            if first.is_none_or(|first| first > self.last) {
                dropped += gone;
            }
        }
        drop(store);
        self.passed = passed;
        dropped
    }

    /// How the tab or connection is; nothing for a whole browser, whose tabs come and go.
    fn state_now(&self) -> Option<(String, Option<String>)> {
        if let Some(id) = self.scope.connection() {
            let connection = self.hub.connections().get(id);
            return Some(match connection {
                Some(connection) => {
                    let state = if connection.is_healthy() { "recording" } else { connection.state.as_str() };
                    (state.to_owned(), connection.last_error.filter(|_| state != "recording"))
                }
                None => ("closed".to_owned(), Some("the connection was closed".to_owned())),
            });
        }
        let store = self.hub.recorder().store();
        match (&self.scope, self.scope.tab(&store)) {
            (Scope::Browser(_), _) => None,
            (_, None) => Some(("closed".to_owned(), Some("its history was removed".to_owned()))),
            (_, Some(tab)) => Some(match &tab.closed {
                None => ("recording".to_owned(), None),
                Some(closed) => ("closed".to_owned(), Some(closed.reason.clone())),
            }),
        }
    }

    fn gather_state(&mut self) {
        let state = self.state_now();
        if state == self.state {
            return;
        }
        if let Some((state, reason)) = &state {
            self.queue.push_back(event("state", &json!({"state": state, "reason": reason})));
        }
        let is_gone = {
            let store = self.hub.recorder().store();
            !matches!(self.scope, Scope::Browser(_)) && self.scope.tab(&store).is_none()
        };
        self.has_ended = is_gone || matches!(&state, Some((state, _)) if state == "failed");
        self.state = state;
    }
}

fn event(name: &str, data: &impl serde::Serialize) -> Event {
    // Records are plain structs; what cannot be written would be a defect of ours, and is left out.
    Event::default().event(name).json_data(data).unwrap_or_default()
}
