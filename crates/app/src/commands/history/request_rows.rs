//! A request as a line, and when it is due: in a list at once, while following when it is done.

use std::collections::BTreeMap;

use anstyle::Style;
use bowline_hub::recorder::record::{NetworkRecord, RequestFailure, RequestState, Seq};

use super::Rows;
use super::amounts::{duration, size};
use super::request_details::{details, messages};
use super::rows::Part;
use crate::cli::NetworkArgs;
use crate::clock;
use crate::output::{BAD, FAINT, GOOD, INFO, WARN};
use crate::safe_text::one_line;

/// How many requests that were shown are remembered, so that none is shown twice. Of more than that the
/// oldest are forgotten; they are done, and the hub speaks of them no more.
const REMEMBERED: usize = 10_000;

pub(crate) struct RequestRows {
    following: bool,
    verbose: bool,
    /// How many messages of each were shown.
    shown: BTreeMap<Seq, u64>,
}

impl RequestRows {
    pub(crate) fn new(args: &NetworkArgs) -> Self {
        Self { following: args.list.follow, verbose: args.verbose, shown: BTreeMap::new() }
    }
}

impl Rows<NetworkRecord> for RequestRows {
    fn due(&mut self, record: &NetworkRecord) -> Option<Part> {
        if !self.following {
            return Some(Part::Whole);
        }
        let messages = record.messages_dropped + record.messages.len() as u64;
        let part = match self.shown.get(&record.seq) {
            Some(before) if self.verbose && *before < messages => Part::MessagesFrom(*before),
            Some(_) => return None,
            None if is_done(record) || is_open_stream(record) => Part::Whole,
            None => return None,
        };
        self.shown.insert(record.seq, messages);
        if self.shown.len() > REMEMBERED {
            self.shown.pop_first();
        }
        Some(part)
    }

    fn text(&self, record: &NetworkRecord, part: Part) -> String {
        match part {
            Part::MessagesFrom(first) => {
                let head = format!("{FAINT}#{}{FAINT:#}  {}", record.seq, one_line(&record.url));
                [vec![head], messages(record, first, clock::now())].concat().join("\n")
            }
            Part::Whole => {
                let mut lines = vec![line(record, clock::now())];
                lines.extend(details(record, self.verbose, clock::now()));
                lines.join("\n")
            }
        }
    }
}

fn is_done(record: &NetworkRecord) -> bool {
    record.loading_finished || matches!(record.state, RequestState::Finished | RequestState::Failed)
}

/// A WebSocket or an event stream that is open; it may stay so for hours.
fn is_open_stream(record: &NetworkRecord) -> bool {
    let is_stream = matches!(record.resource_type.as_str(), "WebSocket" | "EventSource")
        || record.mime_type == "text/event-stream";
    is_stream && record.state == RequestState::Receiving
}

fn line(record: &NetworkRecord, now: i64) -> String {
    let (status, style) = status(record);
    let seq = format!("#{}", record.seq);
    let time = clock::shown(record.timestamp, now);
    let kind = record.resource_type.to_lowercase();
    let took = record.duration.map_or_else(|| "-".to_owned(), duration);
    let mut line = format!(
        "{FAINT}{seq:<6} {time}{FAINT:#}  {:<6} {style}{status:<4}{style:#} {kind:<10} {:>9} {took:>7}  {}",
        one_line(&record.method),
        amount(record),
        one_line(&record.url)
    );
    if let Some(failure) = &record.failure {
        line.push_str(&format!("  {BAD}{}{BAD:#}", one_line(&why(failure))));
    }
    if let Some(url) = &record.redirected_to {
        line.push_str(&format!("  -> {}", one_line(url)));
    }
    line
}

fn status(record: &NetworkRecord) -> (String, Style) {
    match (record.status, &record.failure) {
        // An answer may have come before it failed.
        (None, Some(_)) => ("ERR".to_owned(), BAD),
        (None, None) if is_done(record) => ("-".to_owned(), FAINT),
        (None, None) => ("...".to_owned(), FAINT),
        (Some(status), failure) => {
            let style = match status {
                _ if failure.is_some() => BAD,
                200..=299 => GOOD,
                300..=399 => INFO,
                400..=499 => WARN,
                500.. => BAD,
                _ => Style::new(),
            };
            (status.to_string(), style)
        }
    }
}

/// Bytes that came over the network, or what saved them.
fn amount(record: &NetworkRecord) -> String {
    match (&record.from_cache, record.transfer_size.or(record.body_size)) {
        (Some(cache), _) => format!("({cache})"),
        (None, Some(bytes)) => size(bytes),
        (None, None) => "-".to_owned(),
    }
}

fn why(failure: &RequestFailure) -> String {
    let mut why = failure.error_text.clone();
    for more in [&failure.blocked_reason, &failure.cors_error].into_iter().flatten() {
        why.push_str(&format!(" ({more})"));
    }
    if failure.canceled && !why.to_lowercase().contains("cancel") {
        why.push_str(" (canceled)");
    }
    why.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use bowline_hub::recorder::record::{Direction, StreamMessage};

    use super::*;

    fn record() -> NetworkRecord {
        NetworkRecord {
            seq: 12,
            timestamp: 45_296_789.0,
            method: "GET".to_owned(),
            url: "http://a/b".to_owned(),
            resource_type: "Fetch".to_owned(),
            ..NetworkRecord::default()
        }
    }

    fn plain(record: &NetworkRecord) -> String {
        anstream::adapter::strip_str(&line(record, 0)).to_string()
    }

    fn rows(verbose: bool) -> RequestRows {
        RequestRows { following: true, verbose, shown: BTreeMap::new() }
    }

    #[test]
    fn a_line_tells_how_it_went() {
        let done = NetworkRecord {
            status: Some(200),
            state: RequestState::Finished,
            transfer_size: Some(1_234),
            duration: Some(34.2),
            ..record()
        };
        assert_eq!(
            plain(&done),
            "#12    12:34:56.789Z  GET    200  fetch         1.2 kB   34 ms  http://a/b"
        );
        let cached = NetworkRecord { from_cache: Some("memory".to_owned()), ..done };
        assert_eq!(
            plain(&cached),
            "#12    12:34:56.789Z  GET    200  fetch       (memory)   34 ms  http://a/b"
        );
        assert_eq!(
            plain(&record()),
            "#12    12:34:56.789Z  GET    ...  fetch              -       -  http://a/b"
        );
    }

    #[test]
    fn failures_and_redirects_say_why_and_where_to() {
        let failure = RequestFailure {
            error_text: "net::ERR_FAILED".to_owned(),
            cors_error: Some("MissingAllowOriginHeader".to_owned()),
            ..RequestFailure::default()
        };
        let failed = NetworkRecord { failure: Some(failure), state: RequestState::Failed, ..record() };
        assert!(plain(&failed).contains(" ERR "));
        assert!(plain(&failed).ends_with("http://a/b  net::ERR_FAILED (MissingAllowOriginHeader)"));
        let redirected =
            NetworkRecord { status: Some(302), redirected_to: Some("http://c/".to_owned()), ..record() };
        assert!(plain(&redirected).ends_with("http://a/b  -> http://c/"));
    }

    #[test]
    fn a_followed_request_is_shown_once_when_it_is_done() {
        let mut rows = rows(true);
        assert_eq!(rows.due(&record()), None);
        let finished = NetworkRecord { state: RequestState::Finished, ..record() };
        assert_eq!(rows.due(&finished), Some(Part::Whole));
        assert_eq!(rows.due(&finished), None);
    }

    #[test]
    fn a_stream_is_shown_when_it_opens_and_its_messages_as_they_come() {
        let message = StreamMessage {
            timestamp: 0.0,
            direction: Direction::Sent,
            kind: "text".to_owned(),
            data: "x".to_owned(),
            truncated: 0,
        };
        let open = NetworkRecord {
            resource_type: "WebSocket".to_owned(),
            state: RequestState::Receiving,
            ..record()
        };
        // One message was dropped, two are there.
        let later =
            NetworkRecord { messages: vec![message.clone(), message], messages_dropped: 1, ..open.clone() };
        let mut rows_of_all = rows(true);
        assert_eq!(rows_of_all.due(&open), Some(Part::Whole));
        assert_eq!(rows_of_all.due(&open), None);
        assert_eq!(rows_of_all.due(&later), Some(Part::MessagesFrom(0)));
        assert_eq!(rows_of_all.due(&later), None);
        let mut quiet = rows(false);
        assert_eq!(quiet.due(&open), Some(Part::Whole));
        assert_eq!(quiet.due(&later), None);
    }
}
