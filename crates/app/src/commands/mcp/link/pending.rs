//! A call that is not answered yet, and what is said of those that never will be.

use bowline_doors::Problem;
use bowline_ops::Progress;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio_tungstenite::tungstenite::Message;

/// So often a call is sent. One that is lost each time may be what breaks the connection.
pub(super) const MOST_SENDS: u32 = 3;

/// A call that is not answered yet.
pub(super) struct Pending {
    pub(super) id: u64,
    pub(super) action: String,
    /// As it goes over the wire.
    pub(super) text: String,
    pub(super) is_repeatable: bool,
    /// The hub that it was sent to.
    pub(super) sent_to: Option<String>,
    pub(super) sends: u32,
    /// Nobody waits for it any more.
    pub(super) is_cancelled: bool,
    /// The hub has said that it does it. It says so before it begins, so what it has not said is not begun.
    pub(super) is_begun: bool,
    pub(super) answer: oneshot::Sender<Result<Value, Problem>>,
    pub(super) progress: Option<Progress>,
}

impl Pending {
    /// Counts it as sent, and gives it as it goes over the wire.
    pub(super) fn sent(&mut self, instance: &str) -> Message {
        let is_here = self.sent_to.as_deref() == Some(instance);
        self.sent_to = Some(instance.to_owned());
        self.sends += 1;
        match self.text.strip_suffix('}') {
            // A hub that has forgotten it must not begin with it again.
            Some(text) if is_here && self.may_be_done() => Message::text(format!("{text},\"begun\":true}}")),
            _ => Message::text(self.text.as_str()),
        }
    }

    /// Whether some of it may be done that must not be done twice.
    pub(super) fn may_be_done(&self) -> bool {
        self.is_begun && !self.is_repeatable
    }
}

pub(super) fn cancel(id: u64) -> Message {
    Message::text(json!({"id": null, "action": "cancel", "payload": {"id": id}}).to_string())
}

/// Of what was called off while there was no connection.
pub(super) fn cancelled(may_be_done: bool) -> Problem {
    let message = if may_be_done { "it was cancelled; a part of it may be done" } else { "it was cancelled" };
    Problem::new("cancelled", message, "")
}

pub(super) fn outcome_unknown(action: &str) -> Problem {
    let action = action.strip_prefix("op.").unwrap_or(action);
    let message = format!("the hub ended while it did `{action}`; it is not known whether it was done");
    Problem::new("outcome_unknown", message, "look at the page before you do it again; tabs and refs are new")
}

pub(super) fn lost_too_often(action: &str, may_be_done: bool) -> Problem {
    let action = action.strip_prefix("op.").unwrap_or(action);
    let lost = format!("the connection to the hub was lost {MOST_SENDS} times during `{action}`");
    if may_be_done {
        let message = format!("{lost}; it is not known whether it was done");
        return Problem::new("outcome_unknown", message, "look at the page before you do it again");
    }
    let hint = "ask for less at once; `bowline status` shows whether the hub is well";
    Problem::new("connection_lost", lost, hint)
}
