//! A pairing that a person has opened, from the first wait to its end. Without I/O; the time is passed in.

use bowline_wire::pairing::BrowserInfo;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::ConfirmError;

/// How a pairing ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Paired { name: String },
    Declined { reason: Option<String> },
    TimedOut,
}

/// How far a pairing is, as others are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// No extension is there.
    Waiting,
    /// Terminal and popup show the code.
    CodeShown,
    /// The person has pressed the button in the popup.
    ConfirmedByExtension,
    Paired,
    Declined,
    TimedOut,
}

/// What can be told of a pairing at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairingState {
    pub stage: Stage,
    pub code: Option<String>,
    pub browser: Option<BrowserInfo>,
    /// Whether the terminal has said yes to this code.
    pub confirmed: bool,
    /// Of the browser, once it is paired.
    pub name: Option<String>,
    /// Why it was declined, if nobody did so on purpose.
    pub reason: Option<String>,
    pub seconds_left: u64,
}

#[derive(Debug)]
pub(super) struct Open {
    wanted: Option<String>,
    until: Instant,
    visitor: Option<Visitor>,
    outcome: Option<Outcome>,
}

/// The extension that is at it.
#[derive(Debug)]
struct Visitor {
    id: u64,
    browser: BrowserInfo,
    code: Option<String>,
    by_extension: bool,
    by_terminal: bool,
}

impl Open {
    pub(super) fn new(wanted: Option<String>, until: Instant) -> Self {
        Self { wanted, until, visitor: None, outcome: None }
    }

    pub(super) fn until(&self) -> Instant {
        self.until
    }

    pub(super) fn wanted(&self) -> Option<&str> {
        self.wanted.as_deref()
    }

    pub(super) fn is_open(&self, now: Instant) -> bool {
        self.outcome.is_none() && now < self.until
    }

    /// `false` if another extension is at it.
    pub(super) fn begin(&mut self, id: u64, browser: &BrowserInfo) -> bool {
        if self.visitor.is_some() {
            return false;
        }
        let browser = browser.clone();
        self.visitor = Some(Visitor { id, browser, code: None, by_extension: false, by_terminal: false });
        true
    }

    pub(super) fn is_visit(&self, id: u64) -> bool {
        self.visitor.as_ref().is_some_and(|visitor| visitor.id == id)
    }

    pub(super) fn show(&mut self, id: u64, code: &str) {
        if let Some(visitor) = self.visit(id) {
            visitor.code = Some(code.to_owned());
        }
    }

    pub(super) fn confirmed_by_extension(&mut self, id: u64) {
        if let Some(visitor) = self.visit(id) {
            visitor.by_extension = true;
        }
    }

    /// The terminal's yes is to one code; it says nothing about a later one.
    pub(super) fn confirm(&mut self, code: &str, now: Instant) -> Result<(), ConfirmError> {
        if !self.is_open(now) {
            return Err(ConfirmError::Closed);
        }
        let visitor = self.visitor.as_mut().ok_or(ConfirmError::NoCode)?;
        match &visitor.code {
            None => Err(ConfirmError::NoCode),
            Some(shown) if shown != code => Err(ConfirmError::OtherCode),
            Some(_) => {
                visitor.by_terminal = true;
                Ok(())
            }
        }
    }

    /// `false` if it has ended already.
    pub(super) fn end(&mut self, outcome: Outcome, now: Instant) -> bool {
        if !self.is_open(now) {
            return false;
        }
        self.outcome = Some(outcome);
        true
    }

    /// What the visitor has to know: both have said yes, or it has ended otherwise.
    pub(super) fn settled(&self, id: u64, now: Instant) -> Option<Result<(), Outcome>> {
        if let Some(outcome) = &self.outcome {
            return Some(Err(outcome.clone()));
        }
        if now >= self.until {
            return Some(Err(Outcome::TimedOut));
        }
        match &self.visitor {
            Some(visitor) if visitor.id == id => {
                (visitor.by_extension && visitor.by_terminal).then_some(Ok(()))
            }
            // A new pairing was opened meanwhile; ours is over.
            _ => Some(Err(Outcome::TimedOut)),
        }
    }

    pub(super) fn finish(&mut self, id: u64, name: &str) {
        if self.is_visit(id) {
            self.outcome = Some(Outcome::Paired { name: name.to_owned() });
        }
    }

    pub(super) fn left(&mut self, id: u64) {
        if self.is_visit(id) && self.outcome.is_none() {
            self.visitor = None;
        }
    }

    pub(super) fn state(&self, now: Instant) -> PairingState {
        let shown = self.visitor.as_ref().filter(|visitor| visitor.code.is_some());
        let outcome = self.outcome.clone().or((now >= self.until).then_some(Outcome::TimedOut));
        let (stage, name, reason) = match outcome {
            Some(Outcome::Paired { name }) => (Stage::Paired, Some(name), None),
            Some(Outcome::Declined { reason }) => (Stage::Declined, None, reason),
            Some(Outcome::TimedOut) => (Stage::TimedOut, None, None),
            None => match shown {
                None => (Stage::Waiting, None, None),
                Some(visitor) if visitor.by_extension => (Stage::ConfirmedByExtension, None, None),
                Some(_) => (Stage::CodeShown, None, None),
            },
        };
        let is_under_way = matches!(stage, Stage::CodeShown | Stage::ConfirmedByExtension);
        PairingState {
            stage,
            code: shown.filter(|_| is_under_way).and_then(|visitor| visitor.code.clone()),
            browser: self.visitor.as_ref().map(|visitor| visitor.browser.clone()),
            confirmed: self.visitor.as_ref().is_some_and(|visitor| visitor.by_terminal),
            name,
            reason,
            seconds_left: self.until.saturating_duration_since(now).as_secs(),
        }
    }

    fn visit(&mut self, id: u64) -> Option<&mut Visitor> {
        self.visitor.as_mut().filter(|visitor| visitor.id == id)
    }
}
