//! What went wrong with something an agent asked for, as it travels over the wire and to models: a stable code, what
//! was tried, and what to do next.

use axum::http::StatusCode;
use bowline_ops::{Code, OpError};
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

/// The status of an op's error, wherever ops are asked for over HTTP.
pub(crate) fn status(code: Code) -> StatusCode {
    match code {
        Code::BadInput => StatusCode::BAD_REQUEST,
        Code::NoSuchOp | Code::NoSuchTab | Code::NoSuchBrowser | Code::NotFound => StatusCode::NOT_FOUND,
        Code::TabLocked | Code::Ambiguous | Code::StaleRef | Code::NotActionable | Code::DialogOpen => {
            StatusCode::CONFLICT
        }
        Code::Timeout => StatusCode::REQUEST_TIMEOUT,
        Code::Refused => StatusCode::FORBIDDEN,
        Code::NotSupported => StatusCode::NOT_IMPLEMENTED,
        Code::Gone | Code::NoBrowser => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    }
}
