//! The recorder: what every tab logged and fetched, also from before anyone asked.
//!
//! It is one more client of each browser (`attendant`). What it hears is kept in memory within bounds
//! (`store`), which whoever asks reads, and follows onto the disk (`archive`) a moment later, so that a
//! hub that was killed loses at most that moment.

mod alarms;
pub mod archive;
mod attendant;
mod bidi;
mod console;
mod dialogs;
mod events;
pub mod filter;
pub mod har;
mod network;
mod preview;
pub mod record;
pub mod redact;
mod size;
pub mod store;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bowline_wire::cdp::TargetInfo;
use bowline_wire::origins::{Origins, Sites};
use bowline_wire::{SessionId, TargetId};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::bidi::{self as bidi_session, BidiError};
use crate::browser::Speech;
use crate::router::{CallError, Router};

pub use dialogs::{Dialogs, OpenDialog};
pub use events::read as read_json;
pub use network::Caps;
pub(crate) use preview::{RemoteObject, argument as preview_of, from_bidi};

use archive::{Archive, ArchiveError, Batch, Count, Counter};
use attendant::Attendant;
use record::{Body, Seq};
use store::{Bounds, Changes, Kind, Store, Tab};

/// How often what is new is written: at most this much, and the time of a write, is lost to a kill.
const FLUSH: Duration = Duration::from_millis(250);
/// How often it is tried again after a write that failed.
const RETRY: Duration = Duration::from_secs(10);
/// How often closed tabs are looked through.
const SWEEP: Duration = Duration::from_secs(1);
/// How long a browser may take to give a body.
const BODY: Duration = Duration::from_secs(30);
/// How long it may take to close a dialog.
const DIALOG: Duration = Duration::from_secs(5);

#[derive(Debug, Clone)]
pub struct Settings {
    /// For browsers of which nothing else is said.
    pub enabled: bool,
    /// Browsers of which something else is said.
    pub exceptions: HashMap<String, bool>,
    pub bounds: Bounds,
    pub caps: Caps,
    /// Bytes of one body.
    pub body: usize,
    /// Bytes of bodies that the browser keeps for each tab.
    pub body_buffer: usize,
    /// After which an unanswered dialog is dismissed; None leaves it.
    pub dialog_timeout: Option<Duration>,
    /// The same where a person may be looking at it.
    pub dialog_timeout_headed: Option<Duration>,
    /// Sites that may be used; the recorder is on every page before it begins, so it sees to that.
    pub sites: Sites,
    /// Where the history is kept; None keeps it in memory alone.
    pub directory: Option<PathBuf>,
}

/// Where the history is kept at the moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Durability {
    Disk,
    /// As configured.
    Memory,
    /// The disk does not take it, for this reason; it is tried again now and then.
    Degraded(String),
}

pub struct Recorder {
    settings: Settings,
    store: Mutex<Store>,
    counter: Mutex<Option<Counter>>,
    archive: Option<Archive>,
    durability: Mutex<Durability>,
    /// Records that an earlier hub had given a number and not written.
    lost: u64,
    latest: watch::Sender<Seq>,
    attendants: Mutex<HashMap<String, mpsc::Sender<Ask>>>,
    connections: Mutex<Connections>,
    dialogs: Dialogs,
}

/// The connections of the doors, in their own words; kept here because they are part of the history.
#[derive(Default)]
struct Connections {
    text: Option<String>,
    changed: bool,
}

/// What may be asked of whoever watches a browser.
enum Ask {
    /// The body of a request's answer, of the session that knows it.
    Body { session: SessionId, request: String, done: oneshot::Sender<Result<Body, BodyError>> },
    /// To answer a dialog; whether that was taken.
    Dialog { session: SessionId, accept: bool, text: Option<String>, done: oneshot::Sender<bool> },
    /// To remember a tab again that was forgotten although it is open.
    Adopt(TargetInfo),
}

/// Why there is no body.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    #[error("the browser no longer has it: {0}")]
    Gone(String),
    #[error("the browser did not give it within {}s", BODY.as_secs())]
    TimedOut,
}

impl Recorder {
    /// Opens the history. Whatever is wrong with the disk, there is a recorder; it says so in the log
    /// and in its state.
    pub fn open(settings: Settings) -> Arc<Self> {
        let mut durability = Durability::Memory;
        let (mut archive, mut left, mut counter, mut counted) =
            (None, archive::Left::default(), None, Count::default());
        if let Some(directory) = &settings.directory {
            let opened = Counter::open(&directory.join("history.count"))
                .map_err(ArchiveError::Io)
                .and_then(|counter| Ok((counter, Archive::open(&directory.join("history.db"))?)));
            match opened {
                Ok(((file, last), (opened, found))) => {
                    (counter, counted) = (Some(file), last);
                    (archive, left, durability) = (Some(opened), found, Durability::Disk);
                }
                Err(error) => {
                    tracing::warn!(%error, "the history cannot be read or written; it is kept in memory alone");
                    durability = Durability::Degraded(error.to_string());
                }
            }
        }
        if let Some(aside) = &left.set_aside {
            tracing::warn!(path = %aside.display(), "a damaged history was set aside");
        }
        if left.unreadable > 0 {
            tracing::warn!(records = left.unreadable, "records of the history could not be read");
        }
        let lost = counted.made.saturating_sub(left.made);
        if lost > 0 {
            tracing::warn!(records = lost, "the last hub was killed before it had written these");
        }
        let last_seq = counted.last_seq.max(left.last_seq).max(first_seq_without_disk(counter.is_none()));
        let count = Count { last_seq, made: counted.made.max(left.made) };
        let mut store = Store::new(settings.bounds.clone(), count);
        for (tab, console, network) in left.tabs {
            store.restore(tab, console, network, now());
        }
        store.sweep(now());
        Arc::new(Self {
            settings,
            store: Mutex::new(store),
            counter: Mutex::new(counter),
            archive,
            durability: Mutex::new(durability),
            lost,
            latest: watch::Sender::new(last_seq),
            attendants: Mutex::default(),
            connections: Mutex::new(Connections { text: left.connections, changed: false }),
            dialogs: Dialogs::default(),
        })
    }

    /// The sites of a browser that may be used.
    pub fn origins(&self, browser: &str) -> Option<&Origins> {
        Some(self.settings.sites.of(browser)).filter(|origins| !origins.is_empty())
    }

    /// Dialogs that are open, and whose somebody answers.
    pub fn dialogs(&self) -> &Dialogs {
        &self.dialogs
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Whether a browser of this name is recorded.
    pub fn records(&self, browser: &str) -> bool {
        self.settings.exceptions.get(browser).copied().unwrap_or(self.settings.enabled)
    }

    pub fn durability(&self) -> Durability {
        self.durability.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// The memory. Never held across an await.
    pub fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Told of every change, by the latest number.
    pub fn news(&self) -> watch::Receiver<Seq> {
        self.latest.subscribe()
    }

    /// Tells everybody who follows that there is news. The numbers are noted on disk first, so that no
    /// number that anybody has seen is given out again.
    pub(crate) fn publish(&self) {
        let count = self.store().count();
        let latest = count.last_seq;
        let mut counter = self.counter.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = counter.as_mut()
            && let Err(error) = file.store(count)
        {
            tracing::warn!(%error, "the history's counter cannot be written");
            *counter = None;
        }
        drop(counter);
        self.latest.send_if_modified(|seen| std::mem::replace(seen, latest) != latest);
    }

    /// Tells those who follow although no record is new: a tab or connection has changed.
    pub fn nudge(&self) {
        self.latest.send_modify(|_| {});
    }

    /// Watches a browser from now on, until its router ends.
    pub async fn attend(
        self: &Arc<Self>,
        browser: &str,
        router: &Router,
        is_headed: bool,
        tasks: &TaskTracker,
    ) -> Result<(), CallError> {
        // Bodies that are asked for at once; more wait their turn.
        let (asks, receiver) = mpsc::channel(16);
        Attendant::join(self, browser, router, is_headed, receiver, tasks).await?;
        self.attendants().insert(browser.to_owned(), asks);
        Ok(())
    }

    /// The same of a browser that speaks BiDi.
    pub async fn attend_bidi(
        self: &Arc<Self>,
        browser: &str,
        session: &bidi_session::Session,
        is_headed: bool,
        tasks: &TaskTracker,
    ) -> Result<(), BidiError> {
        let (asks, receiver) = mpsc::channel(16);
        bidi::Attendant::join(self, browser, session, is_headed, receiver, tasks).await?;
        self.attendants().insert(browser.to_owned(), asks);
        Ok(())
    }

    /// Waits until what happens in a tab is heard: one that the browser has, or all that are open. A tab
    /// that does not answer is not waited for any longer than the attendant does.
    pub async fn watches(&self, browser: &str, speech: &Speech, target: Option<&TargetId>) {
        if let Some(target) = target
            && !self.store().find(browser, target).is_some_and(Tab::is_open)
        {
            let Some(info) = speech.describe(target, attendant::SETUP).await.ok().flatten() else { return };
            if !attendant::AT_ROOT.contains(&info.kind.as_str()) {
                return;
            }
            // It was forgotten with its last connection, or is so new that it is only just coming.
            self.ask(browser, Ask::Adopt(info)).await;
        }
        let mut news = self.news();
        let heard = || {
            let store = self.store();
            match target {
                Some(target) => {
                    store.find(browser, target).is_some_and(|tab| tab.is_open() && tab.is_watched)
                }
                None => {
                    let mut open = store.tabs().filter(|tab| tab.browser == browser && tab.is_open());
                    open.all(|tab| tab.is_watched)
                }
            }
        };
        let wait = async { while !heard() && news.changed().await.is_ok() {} };
        // What is not heard by then is not waited for.
        let _ = tokio::time::timeout(attendant::SETUP, wait).await;
    }

    fn attendants(&self) -> MutexGuard<'_, HashMap<String, mpsc::Sender<Ask>>> {
        self.attendants.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The body of a request's answer, from the browser that still has it.
    pub async fn body(&self, browser: &str, session: &SessionId, request: &str) -> Result<Body, BodyError> {
        let gone = |why: &str| BodyError::Gone(why.to_owned());
        let (done, answer) = oneshot::channel();
        let ask = Ask::Body { session: session.clone(), request: request.to_owned(), done };
        self.ask(browser, ask).await.ok_or_else(|| gone("it has ended"))?;
        let answer = tokio::time::timeout(BODY, answer).await.map_err(|_| BodyError::TimedOut)?;
        answer.map_err(|_| gone("the tab has closed"))?
    }

    /// Answers a dialog that a tab showed before whoever answers it came. Whether the browser has taken the answer.
    pub async fn answer_dialog(&self, dialog: &OpenDialog, accept: bool, text: Option<&str>) -> bool {
        let (done, answer) = oneshot::channel();
        let ask =
            Ask::Dialog { session: dialog.session.clone(), accept, text: text.map(str::to_owned), done };
        if self.ask(&dialog.browser, ask).await.is_none() {
            return false;
        }
        matches!(tokio::time::timeout(DIALOG, answer).await, Ok(Ok(true)))
    }

    /// Asks whoever watches a browser; `None` if nobody does.
    async fn ask(&self, browser: &str, ask: Ask) -> Option<()> {
        let asks = self.attendants().get(browser).cloned()?;
        asks.send(ask).await.ok()
    }

    /// What the doors have stored of their connections.
    pub fn stored_connections(&self) -> Option<String> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner).text.clone()
    }

    pub fn store_connections(&self, text: String) {
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        connections.changed = true;
        connections.text = Some(text);
    }

    /// Writes what is new, and forgets what is old, until told to stop; then writes the rest.
    pub async fn run(&self, stop: CancellationToken) {
        let mut last_sweep = tokio::time::Instant::now();
        let mut pause = FLUSH;
        loop {
            let stopped = tokio::select! {
                () = stop.cancelled() => true,
                () = tokio::time::sleep(pause) => false,
            };
            if last_sweep.elapsed() >= SWEEP {
                last_sweep = tokio::time::Instant::now();
                let has_removed = self.store().sweep(now());
                if has_removed {
                    self.nudge();
                }
            }
            pause = if self.flush().await { FLUSH } else { RETRY };
            if stopped {
                return;
            }
        }
    }

    /// Writes what has changed. Tells whether the disk took it.
    pub async fn flush(&self) -> bool {
        let Some(archive) = &self.archive else { return true };
        let (batch, removed) = {
            let mut store = self.store();
            let changes = store.take_changes();
            let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
            if changes.is_empty() && !connections.changed {
                return true;
            }
            let removed = changes.removed.clone();
            let mut batch = batch(&store, changes);
            if std::mem::take(&mut connections.changed) {
                batch.connections.clone_from(&connections.text);
            }
            (batch, removed)
        };
        let result = archive.write(batch).await;
        let mut durability = self.durability.lock().unwrap_or_else(PoisonError::into_inner);
        match result {
            Ok(()) => {
                if *durability != Durability::Disk {
                    tracing::info!("the history is written again");
                    *durability = Durability::Disk;
                }
                true
            }
            Err(error) => {
                if *durability == Durability::Disk {
                    tracing::warn!(%error, "the history cannot be written; it is kept in memory for now");
                }
                *durability = Durability::Degraded(error.to_string());
                self.connections.lock().unwrap_or_else(PoisonError::into_inner).changed = true;
                self.store().mark_all_changed(removed);
                false
            }
        }
    }
}

/// Without a disk that remembers, numbers begin where no earlier hub can have come.
fn first_seq_without_disk(is_missing: bool) -> Seq {
    if is_missing { now() as u64 } else { 0 }
}

fn batch(store: &Store, changes: Changes) -> Batch {
    let record = |(key, kind, seq): (store::TabKey, Kind, Seq)| {
        let tab = store.tab(key)?;
        let text = match kind {
            Kind::Console => {
                let at = tab.console.binary_search_by_key(&seq, |record| record.seq).ok()?;
                serde_json::to_string(&tab.console[at]).ok()?
            }
            Kind::Network => {
                let mut record = tab.request(seq)?.clone();
                // Nobody's secrets on disk.
                redact::redact(&mut record);
                serde_json::to_string(&record).ok()?
            }
        };
        Some((seq, key, kind, text))
    };
    let tab = |key: store::TabKey| Some((key, serde_json::to_string(store.tab(key)?).ok()?));
    Batch {
        tabs: changes.tabs.into_iter().filter_map(tab).collect(),
        removed: changes.removed.into_iter().collect(),
        records: changes.records.into_iter().filter_map(record).collect(),
        evicted: changes.evicted.into_iter().map(|((key, kind), seq)| (key, kind, seq)).collect(),
        connections: None,
        last_seq: store.last_seq(),
        made: store.count().made,
    }
}

/// As much of a body as is given out.
fn bounded(body: String, base64_encoded: bool, limit: usize) -> Body {
    // Of base64, four characters are three bytes; cut between such groups.
    let size = if base64_encoded {
        let padding = body.bytes().rev().take_while(|byte| *byte == b'=').count();
        (body.len() / 4 * 3).saturating_sub(padding)
    } else {
        body.len()
    };
    let most = if base64_encoded { limit / 3 * 4 } else { limit };
    let (body, gone) = network::cut(body, most);
    Body { body, base64_encoded, size: size as u64, truncated: gone > 0 }
}

/// Milliseconds since 1970.
pub fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |elapsed| elapsed.as_secs_f64() * 1000.0)
}
