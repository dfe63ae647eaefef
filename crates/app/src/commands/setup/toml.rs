//! TOML, changed as text: an entry is a table at the end of the file, and only its own lines are written
//! or taken out. What is written otherwise is refused by the proof in `document.rs`, or here.

use std::ops::Range;

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::document::{Refusal, Splice, newline, position, spliced};
use super::entry::Members;

/// The text as a value. Refused unless the servers, if there are any, are in a table.
pub(super) fn value(text: &str, key: &'static str) -> Result<Value, Refusal> {
    let root = parse(text)?;
    if let Some(servers) = root.get(key)
        && !matches!(servers.get_ref(), DeValue::Table(_))
    {
        let (line, column) = position(text, servers.span().start);
        return Err(Refusal::Shape { line, column, what: format!("`{key}`"), wanted: "a table" });
    }
    toml::from_str(text).map_err(|_| Refusal::Unusual { key })
}

/// Adds an entry at the end.
pub(super) fn insert(text: &str, key: &str, name: &str, members: &Members) -> String {
    let end = newline(text);
    let lines: String = members.iter().map(|(name, value)| format!("{}{end}", line(name, value))).collect();
    let entry = format!("[{key}.{name}]{end}{lines}");
    if text.trim().is_empty() {
        return entry;
    }
    let gap = if text.ends_with('\n') { end.to_owned() } else { format!("{end}{end}") };
    format!("{text}{gap}{entry}")
}

/// Sets these members of an entry.
pub(super) fn update(
    text: &str,
    key: &'static str,
    name: &str,
    members: &Members,
) -> Result<String, Refusal> {
    let mut text = text.to_owned();
    // One after another: each change moves what follows.
    for (member, value) in members {
        let splice = {
            let root = parse(&text)?;
            let entry = entry(&root, key, name).ok_or(Refusal::Unusual { key })?.1;
            match entry.get_ref().get(*member) {
                Some(found) => {
                    let Range { start, end } = found.span();
                    Splice { start, end, text: rendered(value) }
                }
                None => missing(&text, entry, members, member, value).ok_or(Refusal::Unusual { key })?,
            }
        };
        text = spliced(&text, &[splice]);
    }
    Ok(text)
}

/// Takes an entry out, with the tables below it. Comments between them go too, those around them stay.
pub(super) fn remove(text: &str, key: &'static str, name: &str) -> Result<String, Refusal> {
    let root = parse(text)?;
    let Some((named, entry)) = entry(&root, key, name) else { return Ok(text.to_owned()) };
    let last = last_end(entry).max(named.end);
    let mut start = text[..named.start].rfind('\n').map_or(0, |newline| newline + 1);
    let mut end = text[last..].find('\n').map_or(text.len(), |newline| last + newline + 1);
    // Of the empty lines around it one goes with it.
    let (before, after) = (&text[..start], &text[end..]);
    let empty_after = after.strip_prefix("\r\n").or_else(|| after.strip_prefix('\n'));
    let up_to = before.strip_suffix("\r\n").or_else(|| before.strip_suffix('\n')).unwrap_or(before);
    match empty_after {
        Some(rest) if before.is_empty() => end = text.len() - rest.len(),
        _ if (after.is_empty() || empty_after.is_some()) && up_to.ends_with('\n') => start = up_to.len(),
        _ => {}
    }
    Ok(spliced(text, &[Splice::remove(start, end)]))
}

fn parse(text: &str) -> Result<DeTable<'_>, Refusal> {
    DeTable::parse(text).map(Spanned::into_inner).map_err(|error| {
        let (line, column) = position(text, error.span().map_or(0, |span| span.start));
        Refusal::Syntax { line, column, message: error.message().to_owned() }
    })
}

/// Where the name of an entry stands, and the entry.
fn entry<'t, 'i>(
    root: &'t DeTable<'i>,
    key: &str,
    name: &str,
) -> Option<(Range<usize>, &'t Spanned<DeValue<'i>>)> {
    let DeValue::Table(servers) = root.get(key)?.get_ref() else { return None };
    let (named, entry) = servers.iter().find(|(known, _)| known.get_ref().as_ref() == name)?;
    Some((named.span(), entry))
}

/// A member that an entry does not have yet, after one of ours that it has.
fn missing(
    text: &str,
    entry: &Spanned<DeValue<'_>>,
    members: &Members,
    member: &str,
    value: &Value,
) -> Option<Splice> {
    let sibling = members.iter().find_map(|(name, _)| entry.get_ref().get(*name))?.span();
    let new = line(member, value);
    if text[entry.span().start..].starts_with('{') {
        return Some(Splice::insert(sibling.end, format!(", {new}")));
    }
    let start = text[..sibling.start].rfind('\n').map_or(0, |newline| newline + 1);
    let indent = &text[start..start + text[start..].len() - text[start..].trim_start().len()];
    let rest = &text[sibling.end..];
    let at =
        sibling.end + rest.find('\n').map_or(rest, |newline| &rest[..newline]).trim_end_matches('\r').len();
    Some(Splice::insert(at, format!("{}{indent}{new}", newline(text))))
}

/// Where the last value below this one ends. The span of a table with a header is that of the header.
fn last_end(value: &Spanned<DeValue<'_>>) -> usize {
    let below = match value.get_ref() {
        DeValue::Table(table) => {
            table.iter().map(|(name, value)| last_end(value).max(name.span().end)).max().unwrap_or(0)
        }
        DeValue::Array(items) => items.iter().map(last_end).max().unwrap_or(0),
        _ => 0,
    };
    below.max(value.span().end)
}

fn line(name: &str, value: &Value) -> String {
    format!("{name} = {}", rendered(value))
}

/// Strings and lists of them are written in TOML as they are in JSON.
fn rendered(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(Value::to_string).collect();
            format!("[{}]", items.join(", "))
        }
        value => value.to_string(),
    }
}
