//! Connections: a tab that somebody asked for by address, however many ask for it, and how well it is.
//!
//! A connection is a name for a browser's tab and for its history. What is lost is sought again, with
//! growing pauses, a few times; then the connection has failed, and its history goes the way of a closed
//! tab's. Only browsers that somebody else runs are sought: one of ours comes back with other tabs.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use backon::BackoffBuilder;
use bowline_wire::TargetId;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use crate::backend::Spec;
use crate::browser::{Browser, Life, Place, Unanswered};
use crate::recorder::{Recorder, now};

/// How connections are looked after.
#[derive(Debug, Clone)]
pub struct Care {
    /// Between two probes.
    pub interval: Duration,
    /// The same after one that failed.
    pub suspicious_interval: Duration,
    /// How long a probe may take.
    pub probe_timeout: Duration,
    /// Tries to find a browser again.
    pub attempts: usize,
    /// The first pause between them; each is about twice the one before.
    pub backoff: Duration,
    /// A connection that nobody has used for so long is closed; zero means never.
    pub max_idle: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    Healthy,
    /// The last probe failed.
    Suspicious,
    Reconnecting,
    /// Its tab has closed.
    Closed,
    /// It was sought in vain.
    Failed,
}

impl State {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Suspicious => "suspicious",
            Self::Reconnecting => "reconnecting",
            Self::Closed => "closed",
            Self::Failed => "failed",
        }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Connection {
    pub id: String,
    pub host: String,
    pub port: u16,
    pub browser: String,
    pub target: TargetId,
    /// Milliseconds since 1970.
    pub created_at: f64,
    pub last_used: f64,
    pub state: State,
    pub last_check: Option<f64>,
    pub error_count: u32,
    pub last_error: Option<String>,
    pub reconnections: u32,
    /// When each client was last heard.
    #[serde(skip)]
    pub clients: BTreeMap<String, f64>,
    /// Those who follow now.
    #[serde(skip)]
    pub followers: usize,
    #[serde(skip)]
    pub commands: Commands,
    #[serde(skip)]
    next_check: Option<Instant>,
    /// The start of its browser at which it was last well.
    #[serde(skip)]
    start: Option<u64>,
}

/// What was executed on a connection.
#[derive(Debug, Clone, Default)]
pub struct Commands {
    pub total: u64,
    pub successful: u64,
    pub failed: u64,
    pub timed_out: u64,
    /// Milliseconds of all of them.
    pub time: f64,
}

/// A client that has not been heard for so long has gone, in milliseconds.
const CLIENT_GONE: f64 = 300_000.0;
/// Clients that are remembered of a connection.
const CLIENTS: usize = 1_000;

impl Connection {
    pub fn is_healthy(&self) -> bool {
        self.state == State::Healthy
    }

    pub fn client_count(&self) -> usize {
        let since = now() - CLIENT_GONE;
        self.clients.values().filter(|heard| **heard > since).count().max(self.followers)
    }
}

pub struct Connections {
    care: Care,
    recorder: Arc<Recorder>,
    inner: Mutex<HashMap<String, Connection>>,
}

impl Connections {
    /// Takes back those of an earlier hub, as far as their history is still there.
    pub fn new(care: Care, recorder: Arc<Recorder>) -> Self {
        let stored = recorder.stored_connections();
        let stored = stored.and_then(|text| serde_json::from_str::<Vec<Connection>>(&text).ok());
        let mut inner = HashMap::new();
        for mut connection in stored.unwrap_or_default() {
            let is_known = recorder.store().find(&connection.browser, &connection.target).is_some();
            if is_known {
                if !matches!(connection.state, State::Failed | State::Closed) {
                    connection.state = State::Reconnecting;
                }
                inner.insert(connection.id.clone(), connection);
            }
        }
        Self { care, recorder, inner: Mutex::new(inner) }
    }

    /// The connection to a tab; made if there is none. Tells whether it was made.
    pub fn open(
        &self,
        host: &str,
        port: u16,
        browser: &str,
        target: &TargetId,
    ) -> std::io::Result<(Connection, bool)> {
        self.recorder.store().hold(browser, target, true);
        let mut inner = self.inner();
        let known = inner.values_mut().find(|known| known.browser == browser && known.target == *target);
        if let Some(known) = known {
            // The history has been kept, so one that was lost is the same one, found again.
            known.last_used = now();
            known.state = State::Healthy;
            known.next_check = Some(Instant::now() + self.care.interval);
            return Ok((known.clone(), false));
        }
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
        let id = bytes.iter().fold("conn_".to_owned(), |id, byte| format!("{id}{byte:02x}"));
        let connection = Connection {
            id: id.clone(),
            host: host.to_owned(),
            port,
            browser: browser.to_owned(),
            target: target.clone(),
            created_at: now(),
            last_used: now(),
            state: State::Healthy,
            last_check: None,
            error_count: 0,
            last_error: None,
            reconnections: 0,
            clients: BTreeMap::new(),
            followers: 0,
            commands: Commands::default(),
            next_check: Some(Instant::now() + self.care.interval),
            start: None,
        };
        inner.insert(id, connection.clone());
        self.save(&inner);
        Ok((connection, true))
    }

    pub fn get(&self, id: &str) -> Option<Connection> {
        let connection = self.inner().get(id).cloned()?;
        // One whose history has gone is about to follow it.
        let is_known = self.recorder.store().find(&connection.browser, &connection.target).is_some();
        is_known.then_some(connection)
    }

    /// The connection to a tab, if there is one.
    pub fn find(&self, browser: &str, target: &TargetId) -> Option<Connection> {
        self.inner().values().find(|known| known.browser == browser && known.target == *target).cloned()
    }

    pub fn all(&self) -> Vec<Connection> {
        let mut all: Vec<Connection> = self.inner().values().cloned().collect();
        all.sort_by(|a, b| a.created_at.total_cmp(&b.created_at).then_with(|| a.id.cmp(&b.id)));
        all
    }

    /// Somebody uses it.
    pub fn used(&self, id: &str, client: Option<&str>) {
        self.change(id, |connection| {
            connection.last_used = now();
            if let Some(client) = client {
                if connection.clients.len() >= CLIENTS {
                    let since = now() - CLIENT_GONE;
                    connection.clients.retain(|_, heard| *heard > since);
                }
                connection.clients.insert(client.to_owned(), now());
            }
        });
    }

    pub fn change(&self, id: &str, change: impl FnOnce(&mut Connection)) {
        if let Some(connection) = self.inner().get_mut(id) {
            change(connection);
        }
    }

    /// Removes a connection and everything that was remembered for it, at once.
    pub fn close(&self, id: &str) -> Option<Connection> {
        let connection = {
            let mut inner = self.inner();
            let connection = inner.remove(id)?;
            self.save(&inner);
            connection
        };
        let mut store = self.recorder.store();
        if let Some(key) = store.find(&connection.browser, &connection.target).map(|tab| tab.key) {
            store.forget(key, now());
        }
        drop(store);
        self.recorder.nudge();
        Some(connection)
    }

    /// Whether a browser that was only reached for connections has lost its last with this one.
    pub fn was_last(&self, closed: &Connection) -> bool {
        let is_only_for_connections = closed.browser.starts_with(&format!("chrome-{}", closed.port));
        is_only_for_connections && !self.inner().values().any(|other| other.browser == closed.browser)
    }

    fn inner(&self) -> MutexGuard<'_, HashMap<String, Connection>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn save(&self, inner: &HashMap<String, Connection>) {
        let all: Vec<&Connection> = inner.values().collect();
        if let Ok(text) = serde_json::to_string(&all) {
            self.recorder.store_connections(text);
        }
    }

    /// Looks after all connections until told to stop. `browser` finds a browser by its name, `forget` lets
    /// go of one that was only reached for connections.
    pub async fn care(
        &self,
        stop: CancellationToken,
        browser: impl Fn(&str) -> Option<Arc<Browser>>,
        forget: impl AsyncFn(&str),
    ) {
        // Fine enough for the shorter interval, coarse enough to cost nothing.
        let shortest = self.care.interval.min(self.care.suspicious_interval);
        let tick = (shortest / 5).clamp(Duration::from_millis(20), Duration::from_secs(1));
        let mut ticks = tokio::time::interval(tick);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // A browser that takes its time must not keep the others from being looked after.
        let (mut seeking, mut probing) = (FuturesUnordered::new(), FuturesUnordered::new());
        let (mut sought, mut asked) = (BTreeSet::<String>::new(), BTreeSet::<String>::new());
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                Some(name) = seeking.next() => {
                    sought.remove(&name);
                    continue;
                }
                Some(id) = probing.next() => {
                    asked.remove(&id);
                    continue;
                }
                _ = ticks.tick() => {}
            }
            for closed in self.forget_the_forgotten() {
                if self.was_last(&closed) {
                    forget(&closed.browser).await;
                }
            }
            let mut lost: BTreeMap<String, Arc<Browser>> = BTreeMap::new();
            for connection in self.all() {
                let Some(browser) = browser(&connection.browser) else {
                    self.set_state(&connection.id, State::Closed, Some("its browser is no longer known"));
                    continue;
                };
                let id = connection.id.clone();
                if let Some(place) = self.look_after(&connection, &browser, &mut lost)
                    && asked.insert(id.clone())
                {
                    probing.push(async move {
                        self.probe(&connection, &place).await;
                        id
                    });
                }
            }
            for (name, browser) in lost {
                if sought.insert(name.clone()) {
                    seeking.push(async move {
                        self.seek(&browser).await;
                        name
                    });
                }
            }
        }
    }

    /// Connections whose history has been removed, or that nobody has used for too long.
    fn forget_the_forgotten(&self) -> Vec<Connection> {
        let mut forgotten = Vec::new();
        let max_idle = self.care.max_idle.as_secs_f64() * 1000.0;
        for connection in self.all() {
            let idle = now() - connection.last_used;
            let is_known = self.recorder.store().find(&connection.browser, &connection.target).is_some();
            if !is_known || (max_idle > 0.0 && idle > max_idle && connection.followers == 0) {
                tracing::info!(connection = connection.id, "forgotten");
                forgotten.extend(self.close(&connection.id));
            }
        }
        forgotten
    }

    /// The browser, if it is time to ask it about the connection.
    fn look_after(
        &self,
        connection: &Connection,
        browser: &Arc<Browser>,
        lost: &mut BTreeMap<String, Arc<Browser>>,
    ) -> Option<Place> {
        let id = connection.id.as_str();
        if matches!(connection.state, State::Closed | State::Failed) {
            return None;
        }
        let snapshot = browser.snapshot();
        let Some(place) = snapshot.place() else {
            let reason = snapshot.reason.unwrap_or_else(|| "the browser has ended".to_owned());
            let can_return = matches!(&snapshot.spec, Spec::Attached(spec) if spec.profile_dir.is_none());
            match snapshot.life {
                // One that is ready has just ended, and its life is about to follow.
                Life::Starting | Life::Ready => {}
                Life::Lost | Life::Absent if can_return => {
                    self.set_state(id, State::Reconnecting, Some(&reason));
                    lost.insert(browser.name().to_owned(), browser.clone());
                }
                _ => self.set_state(id, State::Closed, Some(&reason)),
            }
            return None;
        };
        let is_open = self
            .recorder
            .store()
            .find(&connection.browser, &connection.target)
            .is_some_and(|tab| tab.is_open());
        if !is_open {
            self.set_state(id, State::Closed, Some("the tab was closed"));
            return None;
        }
        match connection.start {
            Some(start) if start != snapshot.starts => self.reconnected(id, snapshot.starts),
            _ if connection.state == State::Reconnecting => self.reconnected(id, snapshot.starts),
            Some(_) => {}
            None => self.change(id, |connection| connection.start = Some(snapshot.starts)),
        }
        connection.next_check.is_none_or(|at| at <= Instant::now()).then_some(place)
    }

    async fn probe(&self, connection: &Connection, place: &Place) {
        let id = connection.id.as_str();
        match place.speech.describe(&connection.target, self.care.probe_timeout).await {
            // One that is not there is closing; the recorder will tell.
            Ok(_) => self.probed(id, None),
            // The browser is lost, which is noticed otherwise.
            Err(Unanswered::Gone) => {}
            Err(error) => self.probed(id, Some(error.to_string())),
        }
    }

    fn probed(&self, id: &str, error: Option<String>) {
        let care = &self.care;
        self.change(id, |connection| {
            connection.last_check = Some(now());
            let pause = if error.is_some() { care.suspicious_interval } else { care.interval };
            connection.next_check = Some(Instant::now() + pause);
            connection.state = if error.is_some() { State::Suspicious } else { State::Healthy };
            match error {
                Some(error) => {
                    connection.error_count += 1;
                    connection.last_error = Some(error);
                }
                None => connection.error_count = 0,
            }
        });
    }

    /// The browser is there again, and this is its so manieth start.
    fn reconnected(&self, id: &str, start: u64) {
        self.change(id, |connection| {
            let before = connection.start.replace(start);
            if connection.is_healthy() && before.is_none_or(|before| before == start) {
                // It is known already, or was made meanwhile.
                return;
            }
            tracing::info!(connection = id, "found again");
            connection.state = State::Healthy;
            connection.reconnections += 1;
            connection.error_count = 0;
            connection.last_check = Some(now());
            connection.next_check = Some(Instant::now() + self.care.interval);
        });
        self.recorder.nudge();
    }

    fn set_state(&self, id: &str, state: State, error: Option<&str>) {
        let mut changed = false;
        if matches!(state, State::Closed | State::Failed)
            && let Some(hopeless) = self.get(id)
        {
            self.recorder.store().hold(&hopeless.browser, &hopeless.target, false);
        }
        self.change(id, |connection| {
            changed = connection.state != state;
            connection.state = state;
            if let Some(error) = error.filter(|_| changed) {
                connection.error_count += 1;
                connection.last_error = Some(error.to_owned());
            }
        });
        if changed {
            tracing::info!(connection = id, state = state.as_str(), reason = error, "changed");
            self.save(&self.inner());
            self.recorder.nudge();
        }
    }

    /// Tries to reach a lost browser again. On success its tabs are what they were, and the recorder
    /// goes on with them.
    async fn seek(&self, browser: &Arc<Browser>) {
        let pauses = backon::ExponentialBuilder::default()
            .with_min_delay(self.care.backoff)
            .with_max_delay(self.care.backoff * 32)
            .with_factor(2.0)
            .with_jitter()
            .with_max_times(self.care.attempts)
            .build();
        let mut reason = String::new();
        for pause in pauses {
            tokio::time::sleep(pause).await;
            match browser.ready().await {
                Ok(_) => {
                    let start = browser.snapshot().starts;
                    for connection in self.of(browser.name()) {
                        self.reconnected(&connection.id, start);
                    }
                    return;
                }
                Err(error) => {
                    reason = error.message;
                    for connection in self.of(browser.name()) {
                        self.change(&connection.id, |connection| {
                            connection.error_count += 1;
                            connection.last_check = Some(now());
                            connection.last_error = Some(reason.clone());
                        });
                    }
                }
            }
        }
        for connection in self.of(browser.name()) {
            self.set_state(&connection.id, State::Failed, Some(&reason));
        }
    }

    /// Those of a browser that are lost with it.
    fn of(&self, browser: &str) -> Vec<Connection> {
        let is_lost = |known: &Connection| !matches!(known.state, State::Closed | State::Failed);
        self.all().into_iter().filter(|known| known.browser == browser && is_lost(known)).collect()
    }
}
