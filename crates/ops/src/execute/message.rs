//! The lines between us and the runner: JSON, one message each. Ours begin with nothing, its with a key.

use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The first line: all that the runner must know, and the runner itself. What is secret is here, and neither in the
/// process's arguments nor in its environment.
#[derive(Serialize)]
pub(super) struct Hello<'a> {
    /// Begins every line that is meant for us.
    pub(super) key: &'a str,
    pub(super) source: &'a str,
    pub(super) endpoint: &'a str,
    pub(super) token: &'a str,
    /// In whose name it connects.
    pub(super) agent: &'a str,
    /// Where Playwright is looked for first.
    pub(super) configured: Option<&'a Path>,
    /// The agent's own directory, whose packages its code may use.
    pub(super) project: Option<&'a Path>,
    /// Where files go that the code names without a directory.
    pub(super) files: &'a Path,
}

/// What we ask of the runner.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Order<'a> {
    Run {
        code: &'a str,
        target: &'a str,
        /// Milliseconds that are left.
        timeout: u64,
    },
    /// To an `Ask` of this number.
    Answer {
        answer: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        ok: Option<Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<Value>,
    },
}

/// What the runner says.
#[derive(Debug, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum Said {
    Ready {
        node: String,
        playwright: String,
    },
    OldNode {
        version: String,
    },
    /// No Playwright in any of these places.
    Missing {
        looked: Vec<String>,
    },
    /// Playwright is there, and cannot be loaded.
    Broken {
        file: String,
        message: String,
    },
    Log(Log),
    /// The code wants an op.
    Ask {
        id: u64,
        op: String,
        input: Map<String, Value>,
    },
    Done(Done),
    Threw(Threw),
    /// Playwright does not see the tab.
    NoPage,
    /// Playwright could not connect to the browser.
    Unconnected {
        message: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Log {
    /// The console's `log`, `info`, `warn`, `error`, `debug` or `trace`; or `stdout` or `stderr`.
    pub(crate) level: String,
    pub(crate) text: String,
}

/// How code has ended that did not throw.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Done {
    /// What JSON can hold.
    #[serde(default, deserialize_with = "present")]
    pub(crate) value: Option<Value>,
    /// What it cannot, in words.
    pub(crate) text: Option<String>,
    pub(crate) image: Option<Image>,
    #[serde(default)]
    pub(crate) cut: bool,
    /// The page's address at the end.
    pub(crate) url: String,
    /// Lines of the log beyond what is kept.
    pub(crate) dropped: u64,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Image {
    pub(crate) mime: String,
    /// Base64.
    pub(crate) data: String,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Threw {
    pub(crate) message: String,
    /// Lines of the stack that are in the code.
    #[serde(default)]
    pub(crate) stack: String,
    #[serde(default)]
    pub(crate) is_syntax: bool,
    pub(crate) url: String,
}

/// `null` is a value, too.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
