//! What went wrong with something an agent asked for, as it travels over the wire and to models: a stable code, what
//! was tried, and what to do next.

use bowline_ops::OpError;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Problem {
    pub code: String,
    pub message: String,
    #[serde(default)]
    pub hint: String,
    /// More for programs.
    #[serde(flatten)]
    pub details: Map<String, Value>,
}

impl Problem {
    pub fn new(code: &str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into(), hint: hint.into(), details: Map::new() }
    }

    pub(crate) fn cancelled(what: &str) -> Self {
        Self::new("cancelled", format!("{what} was cancelled"), "")
    }
}

impl From<OpError> for Problem {
    fn from(error: OpError) -> Self {
        let OpError { code, message, hint, details } = error;
        Self { code: code.as_str().to_owned(), message, hint, details }
    }
}
