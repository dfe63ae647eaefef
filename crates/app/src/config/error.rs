//! What can be wrong with a configuration, where, and what to do about it. Rendering only: the
//! layers find the problems.

use std::fmt;
use std::io;
use std::path::PathBuf;

use bowline_hub::registry::DEFAULT;

use super::keys::{ATTACH, BROWSERS, PORT};
use super::value;

/// How many problems one message lists; with more, fixing the first ones comes first anyway.
const LISTED: usize = 5;

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    #[error("cannot read the config file {}", path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{}:{line}: the config file is not UTF-8 text", path.display())]
    NotUtf8 { path: PathBuf, line: usize },
    /// Everything wrong with the file, the environment and the flags, in this order; never empty.
    #[error("{}", list(problems))]
    Invalid { problems: Vec<Problem> },
}

impl ConfigError {
    /// What to do next. Several problems carry their hints in the message itself.
    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            ConfigError::Unreadable { path, source } if source.kind() == io::ErrorKind::IsADirectory => {
                Some(format!("{} is a directory; expected a file", path.display()))
            }
            ConfigError::Unreadable { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                Some("permission denied; check the owner and mode of the file and its directory".to_owned())
            }
            ConfigError::Unreadable { source, .. } => Some(source.to_string()),
            ConfigError::NotUtf8 { .. } => Some("save the file as UTF-8".to_owned()),
            ConfigError::Invalid { problems } => match problems.as_slice() {
                [problem] => problem.fault.hint(),
                _ => None,
            },
        }
    }
}

/// One thing that is wrong.
#[derive(Debug, PartialEq)]
pub(crate) struct Problem {
    pub(super) place: Place,
    pub(super) fault: Fault,
}

/// Where it is wrong. Lines and columns count from 1, columns in characters.
#[derive(Debug, PartialEq)]
pub(super) enum Place {
    File { path: PathBuf, line: usize, column: usize },
    Environment { variable: String },
    Flag { flag: String },
}

/// What is wrong.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(super) enum Fault {
    #[error("not valid TOML: {message}")]
    Syntax { message: String },
    #[error("unknown key `{key}`")]
    UnknownKey { key: String, similar: Vec<String> },
    /// `found` is as written, `expected` completes "expected ...".
    #[error("wrong value {found} for `{key}`")]
    WrongValue { key: String, found: String, expected: String },
    /// Somebody wrote `[browser.work]` or `[port]`; `table` is the table they may have meant.
    #[error("`{key}` is not a table")]
    NotATable { key: String, table: Option<&'static str>, expected: String },
    #[error("`{name}` cannot be the name of a browser")]
    BrowserName { name: String },
    #[error("`{BROWSERS}.{browser}.{key}` cannot be combined with `{ATTACH}`")]
    LaunchesAndAttaches { browser: String, key: &'static str },
    /// It would win over `--port` and BOWLINE_PORT without anybody seeing why.
    #[error("`{BROWSERS}.{DEFAULT}.{PORT}` cannot be set")]
    PortOfDefault,
}

impl Fault {
    fn hint(&self) -> Option<String> {
        match self {
            Fault::Syntax { .. } => None,
            Fault::UnknownKey { similar, .. } => did_you_mean(similar),
            Fault::NotATable { table: Some(table), .. } => Some(format!("did you mean `{table}`?")),
            Fault::WrongValue { expected, .. } | Fault::NotATable { expected, .. } => {
                Some(format!("expected {expected}"))
            }
            Fault::BrowserName { .. } => Some(format!("expected {}", value::NAME)),
            Fault::PortOfDefault => Some(format!("the default browser has the hub's own port: set `{PORT}`")),
            Fault::LaunchesAndAttaches { .. } => Some(format!(
                "an attached browser is not launched: beside `{ATTACH}` only `{PORT}` is allowed"
            )),
        }
    }
}

/// "did you mean `a`, `b` or `c`?"
pub(super) fn did_you_mean(names: &[String]) -> Option<String> {
    let (last, others) = names.split_last()?;
    let others: Vec<_> = others.iter().map(|name| format!("`{name}`")).collect();
    let or = if others.is_empty() { "" } else { " or " };
    Some(format!("did you mean {}{or}`{last}`?", others.join(", ")))
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::File { path, line, column } => write!(f, "{}:{line}:{column}", path.display())?,
            Place::Environment { variable } => f.write_str(variable)?,
            Place::Flag { flag } => f.write_str(flag)?,
        }
        write!(f, ": {}", self.fault)
    }
}

/// A single problem leaves its hint to `ConfigError::hint`; several have theirs beside them, as a
/// hint apart would not say which one it is for.
fn list(problems: &[Problem]) -> String {
    if let [problem] = problems {
        return problem.to_string();
    }
    let mut lines: Vec<String> = problems.iter().take(LISTED).map(line_with_hint).collect();
    if problems.len() > LISTED {
        lines.push(format!("and {} more", problems.len() - LISTED));
    }
    lines.join("\n")
}

fn line_with_hint(problem: &Problem) -> String {
    match problem.fault.hint() {
        Some(hint) => format!("{problem} ({hint})"),
        None => problem.to_string(),
    }
}
