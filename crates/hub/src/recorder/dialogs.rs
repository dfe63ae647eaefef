//! Dialogs: which are open now, and in which tabs somebody answers them.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bowline_wire::{SessionId, TargetId};
use tokio::time::Instant;

use super::events::DialogOpening;

type Place = (String, TargetId);

/// A dialog that is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenDialog {
    pub browser: String,
    pub target: TargetId,
    pub kind: String,
    pub message: String,
    pub default_prompt: String,
    /// The recorder's session that has seen it open, and can answer it.
    pub(super) session: SessionId,
    /// Tells it from others of the same words.
    pub number: u64,
}

#[derive(Default)]
pub struct Dialogs(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    cared: HashMap<Place, Instant>,
    open: BTreeMap<Place, OpenDialog>,
    last: u64,
}

impl Dialogs {
    /// Somebody works with this tab, and will answer its dialogs for so long from now on.
    pub fn care_for(&self, browser: &str, target: &TargetId, patience: Duration) {
        let now = Instant::now();
        let mut inner = self.inner();
        inner.cared.retain(|_, until| *until > now);
        inner.cared.insert((browser.to_owned(), target.clone()), now + patience);
    }

    pub fn open(&self) -> Vec<OpenDialog> {
        self.inner().open.values().cloned().collect()
    }

    /// The one that is open in a tab.
    pub fn of(&self, browser: &str, target: &TargetId) -> Option<OpenDialog> {
        self.inner().open.get(&(browser.to_owned(), target.clone())).cloned()
    }

    /// How much longer a dialog of this tab may wait.
    pub(super) fn remaining(&self, browser: &str, target: &TargetId) -> Option<Duration> {
        let until = self.inner().cared.get(&(browser.to_owned(), target.clone())).copied()?;
        until.checked_duration_since(Instant::now()).filter(|rest| !rest.is_zero())
    }

    pub(super) fn opened(
        &self,
        browser: &str,
        target: &TargetId,
        session: &SessionId,
        dialog: &DialogOpening,
    ) {
        let mut inner = self.inner();
        inner.last += 1;
        let dialog = OpenDialog {
            browser: browser.to_owned(),
            target: target.clone(),
            kind: dialog.kind.clone(),
            message: dialog.message.clone(),
            default_prompt: dialog.default_prompt.clone(),
            session: session.clone(),
            number: inner.last,
        };
        inner.open.insert((browser.to_owned(), target.clone()), dialog);
    }

    pub(super) fn closed(&self, browser: &str, target: &TargetId) {
        self.inner().open.remove(&(browser.to_owned(), target.clone()));
    }

    /// The browser is gone, and with it its dialogs.
    pub(super) fn ended(&self, browser: &str) {
        self.inner().open.retain(|(of, _), _| of != browser);
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
