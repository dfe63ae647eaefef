//! The phases of a request, cut as Chrome's export cuts them: without gaps, so that they add up.

use serde_json::{Value, json};

use crate::recorder::record::{NetworkRecord, Timing};

/// Milliseconds; -1 for a phase that did not happen or is not known.
#[derive(Debug, PartialEq)]
pub(super) struct Timings {
    pub(super) blocked: f64,
    pub(super) dns: f64,
    /// With `ssl`.
    pub(super) connect: f64,
    pub(super) ssl: f64,
    /// These three are never -1: the format wants them.
    pub(super) send: f64,
    pub(super) wait: f64,
    pub(super) receive: f64,
}

impl Timings {
    pub(super) fn of(record: &NetworkRecord) -> Self {
        let duration = record.duration.filter(|duration| duration.is_finite() && *duration >= 0.0);
        match &record.timing {
            Some(timing) => Self::cut(timing, duration),
            None => Self::whole(duration, record.status.is_some()),
        }
    }

    /// From cache, from a service worker or failed: there are no phases. Without an answer it never got
    /// beyond the first one.
    fn whole(duration: Option<f64>, answered: bool) -> Self {
        let nothing =
            Self { blocked: -1.0, dns: -1.0, connect: -1.0, ssl: -1.0, send: 0.0, wait: 0.0, receive: 0.0 };
        match duration.map(rounded) {
            Some(wait) if answered => Self { wait, ..nothing },
            Some(blocked) => Self { blocked, ..nothing },
            None => nothing,
        }
    }

    fn cut(timing: &Timing, duration: Option<f64>) -> Self {
        // Each phase begins where the one before it ended, whatever lay between them. The browser's
        // numbers may overlap (QUIC sends before it is connected): then the later phase is empty.
        let mut reached = 0.0;
        let mut phase = |end: f64| {
            let took = (end - reached).max(0.0);
            reached = end.max(reached);
            rounded(took)
        };
        let happened = |time: f64| time.is_finite() && time >= 0.0;
        let starts = [timing.dns_start, timing.connect_start, timing.send_start].into_iter();
        let start = starts.filter(|time| happened(*time)).reduce(f64::min);

        let blocked = start.map_or(-1.0, &mut phase);
        let dns = if happened(timing.dns_end) { phase(timing.dns_end) } else { -1.0 };
        let connect = if happened(timing.connect_end) { phase(timing.connect_end) } else { -1.0 };
        let ssl = if happened(timing.ssl_start) && timing.ssl_end > 0.0 {
            rounded((timing.ssl_end - timing.ssl_start).max(0.0))
        } else {
            -1.0
        };
        let send = if happened(timing.send_end) { phase(timing.send_end) } else { 0.0 };
        // Browsers that do not tell when the headers came leave all the rest to waiting.
        let headers = Some(timing.receive_headers_end).filter(|time| time.is_finite() && *time > 0.0);
        let wait = headers.or(duration).map_or(0.0, &mut phase);
        let receive = duration.map_or(0.0, &mut phase);
        Self { blocked, dns, connect, ssl, send, wait, receive }
    }

    /// TLS is part of connecting and not counted again.
    pub(super) fn total(&self) -> f64 {
        let phases = [self.blocked, self.dns, self.connect, self.send, self.wait, self.receive];
        rounded(phases.into_iter().map(|phase| phase.max(0.0)).sum())
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "blocked": number(self.blocked),
            "dns": number(self.dns),
            "connect": number(self.connect),
            "ssl": number(self.ssl),
            "send": number(self.send),
            "wait": number(self.wait),
            "receive": number(self.receive),
        })
    }
}

/// Without a decimal point where it has none: `-1`, as everybody else writes it.
pub(super) fn number(milliseconds: f64) -> Value {
    let rounded = rounded(milliseconds);
    let whole = rounded.fract() == 0.0 && rounded.abs() < 1e15;
    if whole { json!(rounded as i64) } else { json!(rounded) }
}

/// To a microsecond, which hides what floating point makes of a difference.
fn rounded(milliseconds: f64) -> f64 {
    if milliseconds.is_finite() { (milliseconds * 1000.0).round() / 1000.0 } else { 0.0 }
}
