//! A host's configuration as text: what has to change in it, and the proof that nothing else did. Knows
//! no file, and leaves the two languages to `jsonc.rs` and `toml.rs`.

use serde_json::Value;
use thiserror::Error;

use super::entry::{self, Entry};
use super::hosts::Format;
use super::{jsonc, toml};

pub(super) enum Wish<'a> {
    Put(&'a Entry),
    Remove(&'a str),
}

impl Wish<'_> {
    fn name(&self) -> &str {
        match self {
            Self::Put(entry) => &entry.name,
            Self::Remove(name) => name,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    Added,
    /// Another one of that name was there, which is shown.
    Replaced {
        was: String,
    },
    Removed {
        was: String,
    },
    AlreadyThere,
    NotThere,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Edited {
    pub(super) text: String,
    pub(super) change: Change,
}

/// Why a text is left as it is.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(super) enum Refusal {
    #[error("{message}")]
    Syntax { line: usize, column: usize, message: String },
    #[error("{what} is not {wanted}")]
    Shape { line: usize, column: usize, what: String, wanted: &'static str },
    #[error("`{name}` is there already, and is not Bowline: {shown}")]
    Foreign { name: String, shown: String },
    #[error("`{key}` is written in a way that cannot be changed without touching the rest")]
    Unusual { key: &'static str },
}

/// A piece of the text, by its bytes, and what takes its place.
pub(super) struct Splice {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) text: String,
}

impl Splice {
    pub(super) fn insert(at: usize, text: impl Into<String>) -> Self {
        Self { start: at, end: at, text: text.into() }
    }

    pub(super) fn remove(start: usize, end: usize) -> Self {
        Self { start, end, text: String::new() }
    }
}

/// Splices do not overlap, and are given in the order of the text.
pub(super) fn spliced(text: &str, splices: &[Splice]) -> String {
    let mut new = String::with_capacity(text.len() + 256);
    let mut at = 0;
    for splice in splices {
        new.push_str(&text[at..splice.start]);
        new.push_str(&splice.text);
        at = splice.end;
    }
    new.push_str(&text[at..]);
    new
}

/// Line and column as an editor counts them.
pub(super) fn position(text: &str, at: usize) -> (usize, usize) {
    let at = (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let before = &text[..at];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (1 + before.matches('\n').count(), 1 + before[line_start..].chars().count())
}

pub(super) fn newline(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// The servers of a text, by name.
pub(super) fn servers(format: Format, text: &str) -> Result<Vec<(String, Value)>, Refusal> {
    let (_, text) = without_mark(text);
    let mut value = value(format, text)?;
    Ok(match value.get_mut(format.key()).map(Value::take) {
        Some(Value::Object(servers)) => servers.into_iter().collect(),
        _ => Vec::new(),
    })
}

/// The text as wished. With `force`, what is not ours is replaced or removed as well.
pub(super) fn edit(format: Format, text: &str, wish: &Wish<'_>, force: bool) -> Result<Edited, Refusal> {
    let (mark, text) = without_mark(text);
    let before = value(format, text)?;
    let (key, name) = (format.key(), wish.name());
    let found = before.get(key).and_then(|servers| servers.get(name));
    if let Some(found) = found
        && !entry::is_ours(found)
        && !force
    {
        return Err(Refusal::Foreign { name: name.to_owned(), shown: entry::shown(found) });
    }
    let (change, new) = match (wish, found) {
        (Wish::Put(entry), None) => (Change::Added, insert(format, text, entry)?),
        (Wish::Put(entry), Some(found)) if entry::has(found, &entry.members(format)) => {
            (Change::AlreadyThere, text.to_owned())
        }
        (Wish::Put(entry), Some(found)) => {
            let new = if entry::is_ours(found) {
                update(format, text, entry)?
            } else {
                insert(format, &remove(format, text, name)?, entry)?
            };
            (Change::Replaced { was: entry::shown(found) }, new)
        }
        (Wish::Remove(_), None) => (Change::NotThere, text.to_owned()),
        (Wish::Remove(_), Some(found)) => {
            (Change::Removed { was: entry::shown(found) }, remove(format, text, name)?)
        }
    };
    prove(format, &before, &new, wish)?;
    Ok(Edited { text: format!("{mark}{new}"), change })
}

/// Some editors of Windows put a byte order mark first.
fn without_mark(text: &str) -> (&'static str, &str) {
    match text.strip_prefix('\u{feff}') {
        Some(rest) => ("\u{feff}", rest),
        None => ("", text),
    }
}

fn value(format: Format, text: &str) -> Result<Value, Refusal> {
    match format {
        Format::Json { key, .. } => jsonc::value(text, key),
        Format::Toml { key } => toml::value(text, key),
    }
}

fn insert(format: Format, text: &str, entry: &Entry) -> Result<String, Refusal> {
    let members = entry.members(format);
    match format {
        Format::Json { key, .. } => jsonc::insert(text, key, &entry.name, &members),
        Format::Toml { key } => Ok(toml::insert(text, key, &entry.name, &members)),
    }
}

/// Sets our members of an entry; those that a person has added stay.
fn update(format: Format, text: &str, entry: &Entry) -> Result<String, Refusal> {
    let members = entry.members(format);
    match format {
        Format::Json { key, .. } => jsonc::update(text, key, &entry.name, &members),
        Format::Toml { key } => toml::update(text, key, &entry.name, &members),
    }
}

fn remove(format: Format, text: &str, name: &str) -> Result<String, Refusal> {
    match format {
        Format::Json { key, .. } => jsonc::remove(text, key, name),
        Format::Toml { key } => toml::remove(text, key, name),
    }
}

/// Reads the new text and insists that all but our entry is as before. What is written in an unusual way
/// may not allow the change; then nothing is written.
fn prove(format: Format, before: &Value, new: &str, wish: &Wish<'_>) -> Result<(), Refusal> {
    let unusual = Refusal::Unusual { key: format.key() };
    let after = value(format, new).map_err(|_| unusual.clone())?;
    let found = after.get(format.key()).and_then(|servers| servers.get(wish.name()));
    let as_wished = match wish {
        Wish::Put(entry) => found.is_some_and(|found| entry::has(found, &entry.members(format))),
        Wish::Remove(_) => found.is_none(),
    };
    let (others_before, others_after) = (others(format, before, wish), others(format, &after, wish));
    if as_wished && others_before == others_after { Ok(()) } else { Err(unusual) }
}

/// All but one entry. That there are no servers is written in more than one way.
fn others(format: Format, value: &Value, wish: &Wish<'_>) -> Value {
    let mut value = value.clone();
    if let Some(root) = value.as_object_mut() {
        if let Some(servers) = root.get_mut(format.key()).and_then(Value::as_object_mut) {
            servers.remove(wish.name());
        }
        if root.get(format.key()).and_then(Value::as_object).is_some_and(serde_json::Map::is_empty) {
            root.remove(format.key());
        }
    }
    value
}

#[cfg(test)]
mod tests;
