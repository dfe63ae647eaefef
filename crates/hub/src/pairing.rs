//! Which installations of the extension may come in: their keys, the pairing that a person has opened,
//! and who is connected now.
//!
//! Knows nothing of sockets. The door speaks the handshake and asks here at each step.

mod guests;
mod keys;
mod open;

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bowline_wire::pairing::{BrowserInfo, Key, RefusalCode};
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::Instant;

pub use guests::{Guest, Pulse};
pub use keys::Paired;
pub use open::{Outcome, PairingState, Stage};

use guests::Guests;
use keys::Keys;
use open::Open;

/// How long a pairing stays open.
pub const OPEN_FOR: Duration = Duration::from_secs(120);

/// Why an extension was not let in, for the person who wonders.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refusal {
    pub code: RefusalCode,
    pub message: String,
    /// Milliseconds since 1970.
    pub at: u64,
}

/// Why an extension cannot pair now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotNow {
    /// Nobody has opened a pairing.
    Closed,
    /// Another extension is at it.
    Busy,
}

/// Why there is nothing to confirm.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfirmError {
    #[error("no pairing is open")]
    Closed,
    #[error("no extension shows a code yet")]
    NoCode,
    #[error("the extension shows another code")]
    OtherCode,
}

#[derive(Debug, Default)]
pub struct Pairings {
    inner: Mutex<Inner>,
    /// Counts what has happened to the open pairing.
    changes: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Inner {
    keys: Keys,
    open: Option<Open>,
    guests: Guests,
    visits: u64,
    /// The last refusal of one that has no key here.
    stranger: Option<Refusal>,
}

impl Pairings {
    /// Reads the keys of earlier runs. A damaged file is set aside, not overwritten.
    pub fn load(path: &Path) -> io::Result<Arc<Self>> {
        let inner = Inner { keys: Keys::load(path)?, ..Inner::default() };
        Ok(Arc::new(Self { inner: Mutex::new(inner), ..Self::default() }))
    }

    /// Name and key of an installation.
    pub fn key_of(&self, instance: &str) -> Option<(String, Key)> {
        self.inner().keys.get(instance).map(|paired| (paired.name.clone(), paired.key.clone()))
    }

    /// Every installation that is paired, with its id; in the order of their names.
    pub fn all(&self) -> Vec<(String, Paired)> {
        let inner = self.inner();
        let paired = inner.keys.iter().map(|(instance, paired)| (instance.clone(), paired.clone()));
        let mut paired: Vec<_> = paired.collect();
        paired.sort_by(|(_, one), (_, other)| one.name.cmp(&other.name));
        paired
    }

    /// The installation behind a name.
    pub fn instance_of(&self, name: &str) -> Option<String> {
        let inner = self.inner();
        inner.keys.iter().find(|(_, paired)| paired.name == name).map(|(instance, _)| instance.clone())
    }

    /// Remembers a key. One that the installation had before is of no use any more.
    pub fn store(&self, instance: &str, name: &str, key: Key, browser: BrowserInfo) -> io::Result<()> {
        let now = now();
        let paired = Paired {
            name: name.to_owned(),
            key,
            browser,
            version: String::new(),
            paired_at: now,
            last_seen: now,
            refusal: None,
        };
        self.inner().keys.put(instance, paired)
    }

    /// It stands under another name from now on.
    pub fn rename(&self, instance: &str, name: &str) -> io::Result<()> {
        self.inner().keys.change(instance, |paired| paired.name = name.to_owned())
    }

    /// It is, or was until now, connected.
    pub fn seen(&self, instance: &str, version: &str, browser: &BrowserInfo) -> io::Result<()> {
        self.inner().keys.change(instance, |paired| {
            paired.last_seen = now();
            paired.version = version.to_owned();
            paired.browser = browser.clone();
            paired.refusal = None;
        })
    }

    /// Gives up an installation's key and ends its connection.
    pub fn forget(&self, instance: &str) -> io::Result<()> {
        let mut inner = self.inner();
        inner.guests.dismiss(instance);
        inner.keys.remove(instance)
    }

    /// Notes why one was turned away; `false` if the last time was for the same reason.
    pub fn refused(&self, instance: &str, code: RefusalCode, message: &str) -> bool {
        let refusal = Refusal { code, message: message.to_owned(), at: now() };
        let mut inner = self.inner();
        let inner = &mut *inner;
        let noted = inner.keys.refusal(instance).unwrap_or(&mut inner.stranger);
        let before = noted.replace(refusal);
        before.is_none_or(|before| before.code != code)
    }

    /// Why the last one without a key was turned away.
    pub fn stranger(&self) -> Option<Refusal> {
        self.inner().stranger.clone()
    }

    /// An installation that has proved itself is here. One that was connected before gives way.
    pub fn enter(&self, instance: &str, guest: Guest) -> u64 {
        self.inner().guests.enter(instance, guest)
    }

    /// The connection of this ticket has ended.
    pub fn leave(&self, instance: &str, ticket: u64) {
        self.inner().guests.leave(instance, ticket);
    }

    pub fn guest(&self, instance: &str) -> Option<Guest> {
        self.inner().guests.get(instance).cloned()
    }

    /// Whether a connection of this installation gives a sign of life within the time.
    pub async fn is_alive(&self, instance: &str, within: Duration) -> bool {
        let Some(guest) = self.guest(instance) else { return false };
        guest.pulse.answers(within).await
    }

    /// Opens a pairing; `false` if one is open already.
    pub fn open(&self, wanted: Option<String>, within: Duration) -> bool {
        let mut inner = self.inner();
        let now = Instant::now();
        if inner.open.as_ref().is_some_and(|open| open.is_open(now)) {
            return false;
        }
        inner.open = Some(Open::new(wanted, now + within.min(OPEN_FOR)));
        drop(inner);
        self.changed();
        true
    }

    /// How the last pairing stands; `None` if there was none.
    pub fn state(&self) -> Option<PairingState> {
        self.inner().open.as_ref().map(|open| open.state(Instant::now()))
    }

    /// The person at the terminal has compared this code and says yes.
    pub fn confirm(&self, code: &str) -> Result<(), ConfirmError> {
        let confirmed = match &mut self.inner().open {
            Some(open) => open.confirm(code, Instant::now()),
            None => Err(ConfirmError::Closed),
        };
        self.changed();
        confirmed
    }

    /// The person says no, or does not wait any longer; `false` if no pairing is open.
    pub fn decline(&self) -> bool {
        let declined = match &mut self.inner().open {
            Some(open) => open.end(Outcome::Declined { reason: None }, Instant::now()),
            None => false,
        };
        self.changed();
        declined
    }

    /// An extension without a key is there, and uses the open pairing until its visit is dropped.
    pub fn visit(self: &Arc<Self>, instance: &str, browser: &BrowserInfo) -> Result<Visit, NotNow> {
        let mut inner = self.inner();
        let inner = &mut *inner;
        let open = inner.open.as_mut().filter(|open| open.is_open(Instant::now())).ok_or(NotNow::Closed)?;
        inner.visits += 1;
        if !open.begin(inner.visits, browser) {
            return Err(NotNow::Busy);
        }
        self.changed();
        let (id, until, wanted) = (inner.visits, open.until(), open.wanted().map(str::to_owned));
        Ok(Visit { pairings: self.clone(), id, until, wanted, instance: instance.to_owned() })
    }

    fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One extension's use of the open pairing. Dropped before its end, it leaves the pairing to the next.
pub struct Visit {
    pairings: Arc<Pairings>,
    id: u64,
    until: Instant,
    wanted: Option<String>,
    instance: String,
}

impl Visit {
    pub fn until(&self) -> Instant {
        self.until
    }

    /// The name that the person asked for.
    pub fn wanted(&self) -> Option<&str> {
        self.wanted.as_deref()
    }

    /// Both sides can show the code now.
    pub fn show(&self, code: &str) {
        self.change(|open, id| open.show(id, code));
    }

    /// The person has pressed the button in the popup.
    pub fn confirmed(&self) {
        self.change(|open, id| open.confirmed_by_extension(id));
    }

    /// The pairing went wrong in a way that must not be tried again unseen.
    pub fn fail(&self, reason: &str) {
        self.change(|open, id| {
            if open.is_visit(id) {
                open.end(Outcome::Declined { reason: Some(reason.to_owned()) }, Instant::now());
            }
        });
    }

    /// Returns when both sides have said yes, or with what came instead.
    pub async fn settled(&self) -> Result<(), Outcome> {
        let mut changes = self.pairings.changes.subscribe();
        loop {
            let now = Instant::now();
            let settled = match &self.pairings.inner().open {
                Some(open) => open.settled(self.id, now),
                None => Some(Err(Outcome::Declined { reason: None })),
            };
            if let Some(settled) = settled {
                return settled;
            }
            tokio::select! {
                _ = changes.changed() => {}
                () = tokio::time::sleep_until(self.until) => {}
            }
        }
    }

    /// The key is kept from now on.
    pub fn finish(&self, name: &str, key: Key, browser: BrowserInfo) -> io::Result<()> {
        self.pairings.store(&self.instance, name, key, browser)?;
        self.change(|open, id| open.finish(id, name));
        Ok(())
    }

    fn change(&self, change: impl FnOnce(&mut Open, u64)) {
        if let Some(open) = &mut self.pairings.inner().open {
            change(open, self.id);
        }
        self.pairings.changed();
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.change(|open, id| open.left(id));
    }
}

/// A name for a new browser: the one asked for, or after its product; with a number if that is taken.
pub fn choose_name(product: &str, wanted: Option<&str>, is_taken: impl Fn(&str) -> bool) -> String {
    let product = product.to_ascii_lowercase();
    let kind =
        ["edge", "brave", "chromium", "chrome", "firefox"].into_iter().find(|kind| product.contains(kind));
    let base = wanted.or(kind).unwrap_or("browser");
    let numbered = (2..).map(|number| format!("{base}-{number}"));
    let mut names = std::iter::once(base.to_owned()).chain(numbered);
    names.find(|name| !is_taken(name)).unwrap_or_else(|| base.to_owned())
}

/// Milliseconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_millis() as u64)
}

#[cfg(test)]
mod tests;
