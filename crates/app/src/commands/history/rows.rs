//! What console records and requests have in common for whoever lists them.

use bowline_doors::history::model::{ConsoleHistory, Extent, NetworkHistory};
use bowline_hub::recorder::record::{ConsoleRecord, NetworkRecord};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub(crate) trait Record: Serialize + DeserializeOwned {
    fn tab(&self) -> &str;
    /// Whether it happened before this client first looked; `None` where nobody knows.
    fn historical(&self) -> Option<bool>;
}

/// An answer of the hub with records of one kind.
pub(crate) trait History: Serialize + DeserializeOwned {
    type Record: Record;
    /// The last part of the path.
    const ROUTE: &'static str;
    /// The name of its events in a stream.
    const EVENT: &'static str;
    /// What a person calls its records.
    const WHAT: &'static str;

    fn records(&self) -> &[Self::Record];
    fn extent(&self) -> &Extent;
}

/// How records of one kind are shown.
pub(crate) trait Rows<R> {
    /// What of a record is to be shown now, given what was shown before; `None` if nothing is.
    fn due(&mut self, record: &R) -> Option<Part>;

    fn text(&self, record: &R, part: Part) -> String;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Whole,
    /// Of a stream that was shown before: its messages from this one on, counted from its beginning.
    MessagesFrom(u64),
}

impl Record for ConsoleRecord {
    fn tab(&self) -> &str {
        &self.tab
    }

    fn historical(&self) -> Option<bool> {
        self.historical
    }
}

impl Record for NetworkRecord {
    fn tab(&self) -> &str {
        &self.tab
    }

    fn historical(&self) -> Option<bool> {
        self.historical
    }
}

impl History for ConsoleHistory {
    type Record = ConsoleRecord;
    const ROUTE: &'static str = "console";
    const EVENT: &'static str = "console";
    const WHAT: &'static str = "console records";

    fn records(&self) -> &[ConsoleRecord] {
        &self.messages
    }

    fn extent(&self) -> &Extent {
        &self.extent
    }
}

impl History for NetworkHistory {
    type Record = NetworkRecord;
    const ROUTE: &'static str = "network";
    const EVENT: &'static str = "request";
    const WHAT: &'static str = "requests";

    fn records(&self) -> &[NetworkRecord] {
        &self.requests
    }

    fn extent(&self) -> &Extent {
        &self.extent
    }
}
