//! What went wrong, as a user sees it: a stable code, a message, and what to do next.

use std::io;

use bowline_hub::backend::StartError;
use bowline_hub::registry::BadName;
use clap::error::ErrorKind;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::config::ConfigError;

/// Exit codes, documented in `bowline --help`.
pub(crate) mod exit {
    pub(crate) const FAILED: u8 = 1;
    pub(crate) const USAGE: u8 = 2;
    pub(crate) const NO_BROWSER: u8 = 3;
    pub(crate) const NOT_STARTED: u8 = 4;
    pub(crate) const NO_HUB: u8 = 5;
    pub(crate) const NO_SUCH_NAME: u8 = 6;
    pub(crate) const NOTHING_MATCHED: u8 = 7;
    pub(crate) const TIMED_OUT: u8 = 8;
    pub(crate) const PAGE_THREW: u8 = 9;
    pub(crate) const NOT_EXECUTABLE: u8 = 126;
    pub(crate) const NOT_FOUND: u8 = 127;
    /// As a shell says it of what Ctrl-C has ended.
    pub(crate) const INTERRUPTED: u8 = 130;
}

#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: u8,
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// What some errors say beside that.
    pub(crate) details: Option<Box<Details>>,
}

/// Such as the tabs that could have been meant (`candidates`), or what the browser said (`cdp`).
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Details(Map<String, Value>);

impl Details {
    /// The tabs that could have been meant.
    pub(crate) fn candidates(&self) -> Vec<Candidate> {
        let tabs = self.0.get("candidates").map(Vec::<Candidate>::deserialize);
        tabs.and_then(Result::ok).unwrap_or_default()
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Candidate {
    pub(crate) index: Option<usize>,
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) url: String,
}

impl Failure {
    pub(crate) fn new(exit: u8, code: &str, message: impl Into<String>) -> Self {
        Self { exit, code: code.to_owned(), message: message.into(), hint: None, details: None }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(exit::USAGE, "usage", message)
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into()).filter(|hint| !hint.is_empty());
        self
    }

    pub(crate) fn details(mut self, details: Details) -> Self {
        self.details = (details != Details::default()).then(|| Box::new(details));
        self
    }

    /// Something on this machine did not work.
    pub(crate) fn io(what: &str, error: &io::Error) -> Self {
        Self::new(exit::FAILED, "io", format!("{what}: {error}"))
    }

    /// An error of an op, or of another request, that the hub reported with details.
    pub(crate) fn reported_with(code: &str, message: String, hint: String, details: Details) -> Self {
        let mut failure = Self::reported(code, message, hint);
        // An op says why there is no browser in a word of its own.
        if let Some(reason) = details.text("reason").filter(|_| code == "no_browser") {
            failure.exit = exit_for(reason);
        }
        failure.details(details)
    }

    /// An error that the hub reported.
    pub(crate) fn reported(code: &str, message: String, hint: String) -> Self {
        Self::new(exit_for(code), code, message).hint(hint)
    }
}

fn exit_for(code: &str) -> u8 {
    match code {
        "no_browser" => exit::NO_BROWSER,
        "no_such_browser" => exit::NO_SUCH_NAME,
        "bad_name" | "bad_request" | "bad_address" | "bad_profile" => exit::USAGE,
        "bad_input" | "bad_locator" | "no_such_op" => exit::USAGE,
        "no_such_tab" | "ambiguous_tab" | "no_such_request" => exit::NOTHING_MATCHED,
        "not_found" | "ambiguous" | "stale_ref" | "tab_closed" | "no_dialog" => exit::NOTHING_MATCHED,
        "timeout" => exit::TIMED_OUT,
        "page_threw" => exit::PAGE_THREW,
        "name_taken" | "pairing_open" | "no_pairing" | "no_code" | "wrong_code" => exit::FAILED,
        "not_saved" | "port_taken" | "cdp_error" | "bidi_error" | "body_gone" | "recorder_off"
        | "too_large" | "rate_limited" => exit::FAILED,
        "tab_locked" | "not_owner" | "not_actionable" | "dialog_open" | "navigation_failed" | "forbidden"
        | "not_supported" | "file_error" | "browser_said" | "missing" | "cancelled" => exit::FAILED,
        "unauthorized" | "shutting_down" => exit::NO_HUB,
        _ => exit::NOT_STARTED,
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        Self::reported(error.code, error.message, error.hint)
    }
}

impl From<BadName> for Failure {
    fn from(error: BadName) -> Self {
        Self::new(exit::USAGE, "bad_name", error.to_string())
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        let failure = Self::new(exit::USAGE, "bad_config", error.to_string());
        match error.hint() {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

/// Wrong usage, as `--json` tells it.
impl From<&clap::Error> for Failure {
    fn from(error: &clap::Error) -> Self {
        use ErrorKind::{DisplayHelpOnMissingArgumentOrSubcommand, MissingSubcommand};
        if matches!(error.kind(), DisplayHelpOnMissingArgumentOrSubcommand | MissingSubcommand) {
            return Self::new(exit::USAGE, "usage", "a command is missing").hint("see `bowline --help`");
        }
        // Paragraphs: what is wrong, a tip now and then, the usage, where to read more.
        let text = error.render().to_string();
        let paragraphs: Vec<String> = text
            .split("\n\n")
            .map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        let message = paragraphs.first().map_or("", String::as_str);
        let tip = paragraphs.iter().find_map(|paragraph| paragraph.strip_prefix("tip: "));
        let usage = paragraphs.iter().find(|paragraph| paragraph.starts_with("Usage: "));
        let hint = tip.or(usage.map(String::as_str)).unwrap_or("see `bowline --help`");
        Self::new(exit::USAGE, "usage", message.strip_prefix("error: ").unwrap_or(message)).hint(hint)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::Cli;

    fn usage(words: &[&str]) -> (String, String) {
        let error = Cli::try_parse_from(words).expect_err("wrong usage");
        let failure = Failure::from(&error);
        assert_eq!((failure.exit, failure.code.as_str()), (exit::USAGE, "usage"));
        (failure.message, failure.hint.expect("a hint"))
    }

    #[test]
    fn wrong_usage_has_a_message_and_a_hint_of_one_line_each() {
        let (message, hint) = usage(&["bowline", "statsu"]);
        assert_eq!(message, "unrecognized subcommand 'statsu'");
        assert!(hint.contains("'status'"), "{hint}");
        let (message, hint) = usage(&["bowline", "wrap"]);
        assert!(message.contains("COMMAND") && !message.contains('\n'), "{message}");
        assert!(hint.starts_with("Usage: bowline wrap"), "{hint}");
        for words in [["bowline"].as_slice(), &["bowline", "--json"]] {
            assert_eq!(usage(words).0, "a command is missing");
        }
    }
}
