//! The hub as a whole: the browsers by name, who holds it, and when it may leave.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::auth::Token;
use crate::backend::{Backend, Protocol, Spec};
use crate::browser::{Browser, Surroundings, Timing};
use crate::connections::{Care, Connections};
use crate::extensions::Extensions;
use crate::files;
use crate::pairing::Pairings;
use crate::recorder::Recorder;
use crate::registry::{self, BadName, Record, Registry};
use crate::router::Limits;
use crate::statefile::{self, BrowserEntry, State};

/// Everything the hub needs to know from outside.
pub struct Config {
    pub token: Token,
    pub state_file: PathBuf,
    pub backend: Arc<dyn Backend>,
    /// Where the extensions of people's own browsers arrive.
    pub extensions: Extensions,
    /// Which of them may come in.
    pub pairings: Arc<Pairings>,
    /// Where to write the address of the user's own browser, if anywhere.
    pub cdp_url_file: Option<PathBuf>,
    pub timing: Timing,
    pub limits: Limits,
    pub recorder: Arc<Recorder>,
    pub care: Care,
    /// Absent means that the hub never leaves by itself.
    pub idle_timeout: Option<Duration>,
    /// Ask for the token also before throw-away browsers.
    pub require_token: bool,
    pub version: &'static str,
}

pub struct Hub {
    config: Config,
    inner: Mutex<Inner>,
    world: Surroundings,
    connections: Connections,
    holders: AtomicUsize,
    last_use: Mutex<Instant>,
}

struct Inner {
    registry: Registry,
    /// Where each browser listens now; the registry tells where it should.
    ports: BTreeMap<String, u16>,
    browsers: BTreeMap<String, Arc<Browser>>,
    port: u16,
}

#[derive(Debug, thiserror::Error)]
pub enum HubError {
    #[error(transparent)]
    BadName(#[from] BadName),
    #[error("there is no browser named `{0}`")]
    NoSuchBrowser(String),
    #[error("what is known of the browsers cannot be saved: {0}")]
    NotSaved(#[source] io::Error),
}

/// While one exists, the hub does not leave for idleness.
pub struct Hold(Arc<Hub>);

impl Hub {
    pub fn new(config: Config, registry: Registry) -> Arc<Self> {
        let world = Surroundings {
            backend: config.backend.clone(),
            timing: config.timing.clone(),
            limits: config.limits.clone(),
            recorder: config.recorder.clone(),
            shutdown: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        let connections = Connections::new(config.care.clone(), config.recorder.clone());
        Arc::new(Self {
            connections,
            config,
            inner: Mutex::new(Inner { registry, ports: BTreeMap::new(), browsers: BTreeMap::new(), port: 0 }),
            world,
            holders: AtomicUsize::new(0),
            last_use: Mutex::new(Instant::now()),
        })
    }

    pub fn token(&self) -> &Token {
        &self.config.token
    }

    pub fn version(&self) -> &'static str {
        self.config.version
    }

    pub fn recorder(&self) -> &Arc<Recorder> {
        &self.config.recorder
    }

    pub fn extensions(&self) -> &Extensions {
        &self.config.extensions
    }

    pub fn pairings(&self) -> &Arc<Pairings> {
        &self.config.pairings
    }

    pub fn connections(&self) -> &Connections {
        &self.connections
    }

    /// Whether even throw-away browsers are only for those who know the token.
    pub fn requires_token(&self) -> bool {
        self.config.require_token
    }

    /// Whether this browser's endpoint asks for the token.
    pub fn needs_token(&self, browser: &Browser) -> bool {
        self.config.require_token || browser.needs_token()
    }

    /// The browser of this name; made known if it is new, with `spec`, or what it was in earlier runs.
    pub fn define(&self, name: &str, spec: Option<Spec>) -> Result<Arc<Browser>, HubError> {
        registry::check_name(name)?;
        let mut inner = self.inner();
        if let Some(browser) = inner.browsers.get(name) {
            return Ok(browser.clone());
        }
        let mut record = match inner.registry.get(name) {
            Some(record) => record.clone(),
            None => {
                let id = registry::new_id().map_err(HubError::NotSaved)?;
                Record { port: 0, id, spec: self.world.backend.spec_named(name) }
            }
        };
        if let Some(spec) = spec {
            record.spec = spec;
        }
        inner.registry.put(name, record.clone()).map_err(HubError::NotSaved)?;
        let browser = Arc::new(Browser::new(name, record.id, record.spec, &self.world));
        inner.browsers.insert(name.to_owned(), browser.clone());
        Ok(browser)
    }

    pub fn browser(&self, name: &str) -> Result<Arc<Browser>, HubError> {
        self.inner().browsers.get(name).cloned().ok_or_else(|| HubError::NoSuchBrowser(name.to_owned()))
    }

    pub fn browsers(&self) -> Vec<Arc<Browser>> {
        self.inner().browsers.values().cloned().collect()
    }

    /// Names and ports of earlier runs.
    pub fn remembered(&self) -> Vec<(String, Record)> {
        self.inner().registry.iter().map(|(name, record)| (name.clone(), record.clone())).collect()
    }

    /// Where a browser listens; zero if it does not.
    pub fn port_of(&self, name: &str) -> u16 {
        self.inner().ports.get(name).copied().unwrap_or_default()
    }

    /// The ports to try for a browser, best first: its own from earlier runs, then the next above the
    /// hub's that belong to no other name. Zero, at the end, lets the system choose.
    pub fn port_candidates(&self, name: &str) -> Vec<u16> {
        let inner = self.inner();
        let own = inner.registry.get(name).map(|record| record.port).filter(|port| *port != 0);
        let taken: Vec<u16> = inner.registry.iter().map(|(_, record)| record.port).collect();
        let next = (1..=100).filter_map(|step| inner.port.checked_add(step).filter(|_| inner.port != 0));
        own.into_iter().chain(next.filter(|port| !taken.contains(port))).chain([0]).collect()
    }

    pub fn port(&self) -> u16 {
        self.inner().port
    }

    /// Remembers where a browser listens, and tells the commands through the state file.
    pub fn listens(&self, name: &str, port: u16) -> Result<(), HubError> {
        {
            let mut inner = self.inner();
            if name == registry::DEFAULT {
                inner.port = port;
            }
            inner.ports.insert(name.to_owned(), port);
            // A port that stands in for one that is taken today is not remembered.
            if let Some(record) = inner.registry.get(name).filter(|record| record.port == 0).cloned() {
                inner.registry.put(name, Record { port, ..record }).map_err(HubError::NotSaved)?;
            }
        }
        self.write_state()
    }

    /// Remembers what is behind a name from now on.
    pub fn remember_spec(&self, name: &str, spec: &Spec) -> Result<(), HubError> {
        {
            let mut inner = self.inner();
            if let Some(record) = inner.registry.get(name).cloned() {
                let record = Record { spec: spec.clone(), ..record };
                inner.registry.put(name, record).map_err(HubError::NotSaved)?;
            }
        }
        self.write_state()
    }

    /// Ends a browser and forgets its name and port.
    pub async fn forget(&self, name: &str) -> Result<(), HubError> {
        let browser = self.browser(name)?;
        browser.stop().await;
        browser.forgotten().cancel();
        {
            let mut inner = self.inner();
            inner.browsers.remove(name);
            inner.ports.remove(name);
            inner.registry.remove(name).map_err(HubError::NotSaved)?;
        }
        self.write_state()
    }

    pub fn write_state(&self) -> Result<(), HubError> {
        let state = {
            let inner = self.inner();
            if inner.port == 0 {
                return Ok(());
            }
            let browsers = inner.browsers.values().map(|browser| BrowserEntry {
                name: browser.name().to_owned(),
                port: inner.ports.get(browser.name()).copied().unwrap_or_default(),
                id: browser.id().to_owned(),
                needs_token: self.needs_token(browser),
                protocol: browser.speaks(),
            });
            State {
                port: inner.port,
                pid: std::process::id(),
                version: self.config.version.to_owned(),
                token: self.config.token.as_str().to_owned(),
                browsers: browsers.collect(),
            }
        };
        self.write_cdp_url(state.port).map_err(HubError::NotSaved)?;
        statefile::write(&self.config.state_file, &state).map_err(HubError::NotSaved)
    }

    /// The address of the user's own browser, for programs that look for it in a file. It is there while
    /// the hub runs and an extension is paired, in a browser that speaks CDP. The last call, with no port, holds the lock.
    fn write_cdp_url(&self, port: u16) -> io::Result<()> {
        let Some(path) = &self.config.cdp_url_file else { return Ok(()) };
        if port == 0 || !self.has_own_cdp() {
            return match std::fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        let url = format!("ws://127.0.0.1:{port}/cdp?token={}\n", self.config.token.as_str());
        files::write_private(path, url.as_bytes())
    }

    /// Whether an extension is paired in a browser that speaks CDP, as far as that is known.
    fn has_own_cdp(&self) -> bool {
        let speaks =
            |name: &str| self.browser(name).map_or_else(|_| Protocol::Cdp, |browser| browser.speaks());
        self.config.pairings.all().iter().any(|(_, paired)| speaks(&paired.name) == Protocol::Cdp)
    }

    pub fn hold(self: &Arc<Self>) -> Hold {
        self.holders.fetch_add(1, Ordering::Relaxed);
        Hold(self.clone())
    }

    /// Somebody asked something.
    pub fn touch(&self) {
        *self.last_use.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    fn is_busy(&self) -> bool {
        self.holders.load(Ordering::Relaxed) > 0
            || self.inner().browsers.values().any(|browser| browser.is_in_use())
    }

    pub fn shutdown(&self) {
        self.world.shutdown.cancel();
    }

    pub fn shutdown_token(&self) -> CancellationToken {
        self.world.shutdown.clone()
    }

    /// Runs until the hub is told to leave or has been idle for long enough, then ends every browser
    /// and removes the state file.
    pub async fn run(&self) {
        let recorder = self.config.recorder.clone();
        let ended = CancellationToken::new();
        let (life, recording) = (self.live(), recorder.run(ended.clone()));
        // The recorder writes its last when the last browser has ended.
        let life = async {
            life.await;
            ended.cancel();
        };
        let browser = |name: &str| self.browser(name).ok();
        let forget = async |name: &str| {
            // Forgotten meanwhile by somebody else is as well.
            let _ = self.forget(name).await;
        };
        let care = self.connections.care(self.shutdown_token(), browser, forget);
        tokio::join!(life, recording, care);
    }

    async fn live(&self) {
        tokio::select! {
            () = self.world.shutdown.cancelled() => {}
            () = self.idle() => tracing::info!("idle; leaving"),
        }
        self.world.shutdown.cancel();
        // First, so that no command is sent to a port that is about to close.
        {
            let mut inner = self.inner();
            inner.port = 0;
            if let Err(error) = statefile::remove(&self.config.state_file, std::process::id()) {
                tracing::warn!(%error, "the state file could not be removed");
            }
            if let Err(error) = self.write_cdp_url(0) {
                tracing::warn!(%error, "the file with the browser's address could not be removed");
            }
        }
        self.world.tasks.close();
        self.world.tasks.wait().await;
    }

    async fn idle(&self) {
        let Some(limit) = self.config.idle_timeout else { return std::future::pending().await };
        loop {
            let since = self.last_use.lock().unwrap_or_else(PoisonError::into_inner).elapsed();
            if self.is_busy() {
                self.touch();
            } else if since >= limit {
                return;
            }
            // Often enough that leaving is late by a tenth at most.
            tokio::time::sleep((limit / 10).clamp(Duration::from_millis(50), Duration::from_secs(10))).await;
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.touch();
        self.0.holders.fetch_sub(1, Ordering::Relaxed);
    }
}
