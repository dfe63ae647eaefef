//! What went wrong with an op: a stable code, what was tried, and what to do next.

use serde_json::{Map, Value, json};

/// Codes are part of the interface: programs compare them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Code {
    BadInput,
    NoSuchOp,
    NoSuchTab,
    NoSuchBrowser,
    /// The browser could not be had.
    NoBrowser,
    TabLocked,
    TabClosed,
    /// No element fits.
    NotFound,
    /// Several do.
    Ambiguous,
    StaleRef,
    BadLocator,
    /// The element is there, and cannot be acted on.
    NotActionable,
    Timeout,
    Cancelled,
    /// A dialog is open, and the page does nothing until it is answered.
    DialogOpen,
    NoDialog,
    NavigationFailed,
    PageThrew,
    Refused,
    NotSupported,
    FileError,
    /// The browser's own words.
    BrowserSaid,
    /// Something that this machine lacks.
    Missing,
    NotOwner,
    /// The connection to the browser is gone.
    Gone,
    RecorderOff,
}

impl Code {
    pub const ALL: [Self; 26] = [
        Self::BadInput,
        Self::NoSuchOp,
        Self::NoSuchTab,
        Self::NoSuchBrowser,
        Self::NoBrowser,
        Self::TabLocked,
        Self::TabClosed,
        Self::NotFound,
        Self::Ambiguous,
        Self::StaleRef,
        Self::BadLocator,
        Self::NotActionable,
        Self::Timeout,
        Self::Cancelled,
        Self::DialogOpen,
        Self::NoDialog,
        Self::NavigationFailed,
        Self::PageThrew,
        Self::Refused,
        Self::NotSupported,
        Self::FileError,
        Self::BrowserSaid,
        Self::Missing,
        Self::NotOwner,
        Self::Gone,
        Self::RecorderOff,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::BadInput => "bad_input",
            Self::NoSuchOp => "no_such_op",
            Self::NoSuchTab => "no_such_tab",
            Self::NoSuchBrowser => "no_such_browser",
            Self::NoBrowser => "no_browser",
            Self::TabLocked => "tab_locked",
            Self::TabClosed => "tab_closed",
            Self::NotFound => "not_found",
            Self::Ambiguous => "ambiguous",
            Self::StaleRef => "stale_ref",
            Self::BadLocator => "bad_locator",
            Self::NotActionable => "not_actionable",
            Self::Timeout => "timeout",
            Self::Cancelled => "cancelled",
            Self::DialogOpen => "dialog_open",
            Self::NoDialog => "no_dialog",
            Self::NavigationFailed => "navigation_failed",
            Self::PageThrew => "page_threw",
            Self::Refused => "forbidden",
            Self::NotSupported => "not_supported",
            Self::FileError => "file_error",
            Self::BrowserSaid => "browser_said",
            Self::Missing => "missing",
            Self::NotOwner => "not_owner",
            Self::Gone => "gone",
            Self::RecorderOff => "recorder_off",
        }
    }
}

#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct OpError {
    pub code: Code,
    pub message: String,
    /// What to do next.
    pub hint: String,
    /// More for programs.
    pub details: Map<String, Value>,
}

impl OpError {
    pub fn new(code: Code, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: hint.into(), details: Map::new() }
    }

    pub fn bad_input(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(Code::BadInput, message, hint)
    }

    #[must_use]
    pub fn with(mut self, name: &str, value: Value) -> Self {
        self.details.insert(name.to_owned(), value);
        self
    }

    /// `{code, message, hint, ...details}`.
    pub fn to_json(&self) -> Value {
        let mut error = json!({"code": self.code.as_str(), "message": self.message, "hint": self.hint});
        for (name, value) in &self.details {
            error[name] = value.clone();
        }
        error
    }
}
