//! Which records somebody wants to see. Conditions that are not given hold for every record.

use std::str::FromStr;

use regex::{Regex, RegexBuilder};

use super::record::{ConsoleRecord, Level, NetworkRecord, RequestState, Seq, Source};

/// What a compiled pattern may take, in bytes: patterns come from clients, and a few characters such as
/// `(x{999}){999}` would take all memory.
const LARGEST_PATTERN: usize = 1 << 20;

#[derive(Debug, Clone, Default)]
pub struct ConsoleFilter {
    /// Any of these; all if there are none.
    pub types: Vec<Level>,
    /// Found anywhere in the line.
    pub text: Option<Regex>,
    pub source: Option<Source>,
    /// Milliseconds since 1970; both ends count.
    pub start: Option<f64>,
    pub end: Option<f64>,
    /// Only records with a later number.
    pub since: Option<Seq>,
    /// The caller's to apply, by `keep_latest`.
    pub max: Option<usize>,
}

impl ConsoleFilter {
    pub fn matches(&self, record: &ConsoleRecord) -> bool {
        self.since.is_none_or(|since| record.seq > since)
            && any_of(&self.types, |level| *level == record.level)
            && self.source.is_none_or(|source| source == record.source)
            && within(self.start, self.end, record.timestamp)
            // Last, as it takes longest.
            && self.text.as_ref().is_none_or(|text| text.is_match(&record.text))
    }
}

#[derive(Debug, Clone, Default)]
pub struct NetworkFilter {
    /// Any of these, in any case; all if there are none.
    pub methods: Vec<String>,
    /// Any of these. A request without an answer has no status and fits none.
    pub statuses: Vec<StatusMatch>,
    /// Found anywhere in the address.
    pub url: Option<Regex>,
    /// Any of these, in any case.
    pub resource_types: Vec<String>,
    /// Requests that got no whole answer, beside those of `statuses` if there are any. One that was answered
    /// with an error did not fail.
    pub failed: bool,
    /// Milliseconds since 1970; both ends count.
    pub start: Option<f64>,
    pub end: Option<f64>,
    /// Only records that changed later.
    pub since: Option<Seq>,
    /// The caller's to apply, by `keep_latest`.
    pub max: Option<usize>,
}

impl NetworkFilter {
    pub fn matches(&self, record: &NetworkRecord) -> bool {
        self.since.is_none_or(|since| record.changed > since)
            && any_of(&self.methods, |method| method.eq_ignore_ascii_case(&record.method))
            && any_of(&self.resource_types, |kind| kind.eq_ignore_ascii_case(&record.resource_type))
            && self.fits_outcome(record)
            && within(self.start, self.end, record.timestamp)
            && self.url.as_ref().is_none_or(|url| url.is_match(&record.url))
    }
}

impl NetworkFilter {
    /// A status that is wanted, or a failure if those are wanted; whichever of the two was asked for.
    fn fits_outcome(&self, record: &NetworkRecord) -> bool {
        let failed = record.state == RequestState::Failed || record.failure.is_some();
        let fits = |wanted: &StatusMatch| record.status.is_some_and(|status| wanted.includes(status));
        match (self.failed, self.statuses.is_empty()) {
            (false, true) => true,
            (true, true) => failed,
            (wants_failed, false) => (wants_failed && failed) || self.statuses.iter().any(fits),
        }
    }
}

/// `404`, `4xx` or `400-499`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatusMatch {
    first: u16,
    last: u16,
}

impl StatusMatch {
    pub fn includes(self, status: u16) -> bool {
        (self.first..=self.last).contains(&status)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no status; write 404, 4xx or 400-499")]
pub struct BadStatus(String);

impl FromStr for StatusMatch {
    type Err = BadStatus;

    fn from_str(text: &str) -> Result<Self, BadStatus> {
        let range = match text.trim().split_once('-') {
            Some((first, last)) => code(first.trim()).zip(code(last.trim())),
            None => code(text.trim()).map(|status| (status, status)).or_else(|| class(text.trim())),
        };
        match range {
            Some((first, last)) if first <= last => Ok(Self { first, last }),
            _ => Err(BadStatus(abbreviated(text))),
        }
    }
}

fn code(text: &str) -> Option<u16> {
    let digits = text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

fn class(text: &str) -> Option<(u16, u16)> {
    let digit = text.strip_suffix("xx").or(text.strip_suffix("XX"))?;
    let first = code(&format!("{digit}00")).filter(|first| *first >= 100)?;
    Some((first, first + 99))
}

/// Why a text is no pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{pattern:?} is no usable regular expression: {why}")]
pub struct BadPattern {
    pattern: String,
    why: String,
}

/// Compiles a client's pattern, within bounds.
pub fn pattern(text: &str) -> Result<Regex, BadPattern> {
    RegexBuilder::new(text).size_limit(LARGEST_PATTERN).build().map_err(|error| {
        let why = match error {
            regex::Error::CompiledTooBig(_) => "it takes too much memory".to_owned(),
            // The error draws the pattern and an arrow; its last line has the words.
            error => {
                let drawing = error.to_string();
                let words = drawing.lines().last().unwrap_or_default().trim();
                words.strip_prefix("error: ").unwrap_or(words).to_owned()
            }
        };
        BadPattern { pattern: abbreviated(text), why }
    })
}

/// The latest records, of a list that ends with them.
pub fn keep_latest<T>(mut records: Vec<T>, max: Option<usize>) -> Vec<T> {
    let surplus = max.map_or(0, |max| records.len().saturating_sub(max));
    records.drain(..surplus);
    records
}

fn any_of<T>(wanted: &[T], fits: impl Fn(&T) -> bool) -> bool {
    wanted.is_empty() || wanted.iter().any(fits)
}

fn within(start: Option<f64>, end: Option<f64>, time: f64) -> bool {
    start.is_none_or(|start| time >= start) && end.is_none_or(|end| time <= end)
}

/// Enough of a client's text to recognise it in a message.
fn abbreviated(text: &str) -> String {
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
