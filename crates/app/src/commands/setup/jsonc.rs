//! JSON with comments and trailing commas, changed as text: only the bytes of one member are written or
//! taken out, so that all others stay.

use jsonc_parser::ast::{self, Object, ObjectProp};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions};
use serde_json::{Map, Value};

use super::document::{Refusal, Splice, newline, position, spliced};
use super::entry::Members;

/// What is written for a level, where the text does not show it.
const USUAL_INDENT: &str = "  ";

/// The text as a value; one without any is an empty object. Refused unless the servers, if there are any,
/// are in an object below `key`.
pub(super) fn value(text: &str, key: &str) -> Result<Value, Refusal> {
    let Some(root) = parse(text)? else { return Ok(Value::Object(Map::new())) };
    servers(text, object(text, &root, "the file")?, key)?;
    Ok(plain(&root))
}

/// Adds an entry to the servers, and the servers to the root if there are none.
pub(super) fn insert(text: &str, key: &str, name: &str, members: &Members) -> Result<String, Refusal> {
    let entry = Node::Object(members.iter().map(|(name, value)| (*name, Node::Plain(value))).collect());
    let servers_node = Node::Object(vec![(name, entry)]);
    let Some(root) = parse(text)? else {
        let end = newline(text);
        let document = Node::Object(vec![(key, servers_node)]).render("", USUAL_INDENT, end, true);
        let comments = text.trim_end();
        let gap = if comments.is_empty() { "" } else { end };
        return Ok(format!("{comments}{gap}{document}{end}"));
    };
    let root = object(text, &root, "the file")?;
    match servers(text, root, key)? {
        Some(servers) => Ok(add(text, root, servers, name, &servers_node.into_first())),
        None => Ok(add(text, root, root, key, &servers_node)),
    }
}

/// Sets these members of an entry.
pub(super) fn update(text: &str, key: &str, name: &str, members: &Members) -> Result<String, Refusal> {
    let mut text = text.to_owned();
    // One after another: each change moves what follows.
    for (member, value) in members {
        let Some(root) = parse(&text)? else { break };
        let root = object(&text, &root, "the file")?;
        let Some(servers) = servers(&text, root, key)? else { break };
        let Some(entry) = last(servers, name) else { break };
        let entry = object(&text, &entry.value, &format!("`{name}`"))?;
        let new = match last(entry, member) {
            Some(found) if plain(&found.value) == *value => continue,
            Some(found) => {
                let range = found.value.range();
                let rendered = Node::Plain(value).render("", "", "", false);
                spliced(&text, &[Splice { start: range.start, end: range.end, text: rendered }])
            }
            None => add(&text, root, entry, member, &Node::Plain(value)),
        };
        text = new;
    }
    Ok(text)
}

/// Takes an entry out; if it is there twice, both.
pub(super) fn remove(text: &str, key: &str, name: &str) -> Result<String, Refusal> {
    let mut text = text.to_owned();
    loop {
        let splices = {
            let Some(root) = parse(&text)? else { return Ok(text) };
            let Some(servers) = servers(&text, object(&text, &root, "the file")?, key)? else {
                return Ok(text);
            };
            let Some(at) = servers.properties.iter().rposition(|prop| prop.name.as_str() == name) else {
                return Ok(text);
            };
            take_out(&text, servers, at)
        };
        text = spliced(&text, &splices);
    }
}

/// Comments and trailing commas, which hosts accept, and nothing else that is not JSON.
fn parse(text: &str) -> Result<Option<ast::Value<'_>>, Refusal> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    match jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &options) {
        Ok(parsed) => Ok(parsed.value),
        Err(error) => {
            let (line, column) = position(text, error.range().start);
            let message = error.kind().to_string();
            let mut letters = message.chars();
            let first = letters.next().map(|first| first.to_lowercase().to_string()).unwrap_or_default();
            Err(Refusal::Syntax { line, column, message: format!("{first}{}", letters.as_str()) })
        }
    }
}

fn object<'a, 'v>(text: &str, value: &'v ast::Value<'a>, what: &str) -> Result<&'v Object<'a>, Refusal> {
    value.as_object().ok_or_else(|| {
        let (line, column) = position(text, value.range().start);
        Refusal::Shape { line, column, what: what.to_owned(), wanted: "an object" }
    })
}

fn servers<'a, 'v>(text: &str, root: &'v Object<'a>, key: &str) -> Result<Option<&'v Object<'a>>, Refusal> {
    last(root, key).map(|prop| object(text, &prop.value, &format!("`{key}`"))).transpose()
}

/// Of members with one name, all parsers that hosts use take the last.
fn last<'a, 'v>(object: &'v Object<'a>, name: &str) -> Option<&'v ObjectProp<'a>> {
    object.properties.iter().rev().find(|prop| prop.name.as_str() == name)
}

fn plain(value: &ast::Value<'_>) -> Value {
    match value {
        ast::Value::StringLit(text) => Value::String(text.value.clone().into_owned()),
        ast::Value::NumberLit(number) => {
            serde_json::from_str(number.value).unwrap_or_else(|_| Value::String(number.value.to_owned()))
        }
        ast::Value::BooleanLit(boolean) => Value::Bool(boolean.value),
        ast::Value::Object(object) => Value::Object(
            object
                .properties
                .iter()
                .map(|prop| (prop.name.as_str().to_owned(), plain(&prop.value)))
                .collect(),
        ),
        ast::Value::Array(array) => Value::Array(array.elements.iter().map(plain).collect()),
        ast::Value::NullKeyword(_) => Value::Null,
    }
}

/// What is written. A `Value` would sort the members.
enum Node<'a> {
    Plain(&'a Value),
    Object(Vec<(&'a str, Node<'a>)>),
}

impl<'a> Node<'a> {
    /// The value of an object's first member.
    fn into_first(self) -> Self {
        match self {
            Self::Object(members) => {
                members.into_iter().next().map_or(Self::Plain(&Value::Null), |(_, node)| node)
            }
            plain @ Self::Plain(_) => plain,
        }
    }

    fn render(&self, indent: &str, unit: &str, newline: &str, lines: bool) -> String {
        match self {
            Self::Plain(Value::Array(items)) => {
                let items: Vec<String> = items.iter().map(Value::to_string).collect();
                format!("[{}]", items.join(", "))
            }
            Self::Plain(value) => value.to_string(),
            Self::Object(members) => {
                let inner = format!("{indent}{unit}");
                let members: Vec<String> = members
                    .iter()
                    .map(|(name, node)| {
                        format!("{}: {}", quoted(name), node.render(&inner, unit, newline, lines))
                    })
                    .collect();
                if lines {
                    let members = members.join(&format!(",{newline}{inner}"));
                    format!("{{{newline}{inner}{members}{newline}{indent}}}")
                } else {
                    format!("{{{}}}", members.join(", "))
                }
            }
        }
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Adds a member at the end of an object, in the manner of its other members.
fn add(text: &str, root: &Object<'_>, object: &Object<'_>, name: &str, node: &Node<'_>) -> String {
    let (end, unit) = (newline(text), unit(text, root));
    let member =
        |indent: &str, lines: bool| format!("{}: {}", quoted(name), node.render(indent, unit, end, lines));
    let Some(last) = object.properties.last() else {
        return fill(text, root, object, unit, member);
    };
    let after_last = last.range.end;
    let next = skip_trivia(text, after_last);
    let comma = text[next..].starts_with(',');
    let anchor = if comma { next + 1 } else { after_last };
    let (at, new) = match own_line(text, last.range.start) {
        Some((_, indent)) => {
            let tail = if comma { "," } else { "" };
            (end_of_line(text, anchor), format!("{end}{indent}{}{tail}", member(indent, true)))
        }
        None if comma => (anchor, format!(" {},", member("", false))),
        None => (anchor, format!(" {}", member("", false))),
    };
    let mut splices = Vec::new();
    if !comma {
        splices.push(Splice::insert(after_last, ","));
    }
    splices.push(Splice::insert(at, new));
    spliced(text, &splices)
}

/// Adds the first member of an object, below the comments that may be in it.
fn fill(
    text: &str,
    root: &Object<'_>,
    object: &Object<'_>,
    unit: &str,
    member: impl Fn(&str, bool) -> String,
) -> String {
    let (start, close) = (object.range.start + 1, object.range.end - 1);
    let inner = text[start..close].trim_end();
    let is_root = object.range.start == root.range.start;
    let new = if inner.is_empty() && !is_root && !text.trim().contains('\n') {
        member("", false)
    } else {
        let (end, base) = (newline(text), line_indent(text, object.range.start));
        let indent = format!("{base}{unit}");
        format!("{end}{indent}{}{end}{base}", member(&indent, true))
    };
    spliced(text, &[Splice { start: start + inner.len(), end: close, text: new }])
}

/// What has to go so that a member does, with its comma. Comments stay.
fn take_out(text: &str, object: &Object<'_>, at: usize) -> Vec<Splice> {
    let range = object.properties[at].range;
    let next = skip_trivia(text, range.end);
    // A comment may stand between the member and its comma.
    let (to, mut splices) = match text[next..].starts_with(',') {
        true if text[range.end..next].trim().is_empty() => (next + 1, Vec::new()),
        true => (range.end, vec![Splice::remove(next, next + 1)]),
        false => (range.end, Vec::new()),
    };
    let last = to == range.end && splices.is_empty();
    let mut from = range.start;
    let before =
        at.checked_sub(1).map_or(object.range.start + 1, |before| object.properties[before].range.end);
    let rest = text[to..].trim_start_matches([' ', '\t']);
    match own_line(text, range.start) {
        Some((line_end, _)) => {
            // A brace must not come to stand behind a comment.
            let line = text[before.min(line_end)..line_end].rsplit('\n').next().unwrap_or_default();
            let brace_fits = at > 0 && !line.contains("//");
            if rest.starts_with(['\n', '\r']) || rest.starts_with('}') && brace_fits {
                from = line_end;
            }
        }
        // On one line, the blank before it goes with it.
        None => from = text[..from].trim_end_matches([' ', '\t']).len(),
    }
    if object.properties.len() == 1 {
        let (start, close) = (object.range.start + 1, object.range.end - 1);
        if text[start..range.start].trim().is_empty() && text[to..close].trim().is_empty() {
            return vec![Splice::remove(start, close)];
        }
    }
    splices.insert(0, Splice::remove(from, to));
    if last && at > 0 {
        // Now the one before is the last, and its comma would be one too many.
        let comma = skip_trivia(text, before);
        splices.insert(0, Splice::remove(comma, comma + 1));
    }
    splices
}

/// If only blanks stand before `at` on its line: where the line before ends, and the blanks.
fn own_line(text: &str, at: usize) -> Option<(usize, &str)> {
    let before = text[..at].trim_end_matches([' ', '\t']);
    let line_end = before.strip_suffix('\n')?;
    Some((line_end.strip_suffix('\r').unwrap_or(line_end).len(), &text[before.len()..at]))
}

/// The blanks that the line of `at` begins with.
fn line_indent(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let line = &text[start..at];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// How much further in a level is, as the first member of the text shows.
fn unit<'t>(text: &'t str, root: &Object<'_>) -> &'t str {
    let indent = root.properties.first().and_then(|first| own_line(text, first.range.start));
    indent.map(|(_, indent)| indent).filter(|indent| !indent.is_empty()).unwrap_or(USUAL_INDENT)
}

/// Past blanks, ends of lines and comments.
fn skip_trivia(text: &str, mut at: usize) -> usize {
    loop {
        let rest = &text[at..];
        let trimmed = rest.trim_start();
        at += rest.len() - trimmed.len();
        if trimmed.starts_with("//") {
            at += trimmed.find('\n').unwrap_or(trimmed.len());
        } else if trimmed.starts_with("/*") {
            at += trimmed.find("*/").map_or(trimmed.len(), |end| end + 2);
        } else {
            return at;
        }
    }
}

/// Past the comments that stand on the same line, which belong to what is before them.
fn end_of_line(text: &str, mut at: usize) -> usize {
    loop {
        let trimmed = text[at..].trim_start_matches([' ', '\t']);
        let start = text.len() - trimmed.len();
        if trimmed.starts_with("//") {
            let line = trimmed.find('\n').map_or(trimmed, |newline| &trimmed[..newline]);
            return start + line.trim_end_matches('\r').len();
        }
        if !trimmed.starts_with("/*") {
            return at;
        }
        at = start + trimmed.find("*/").map_or(trimmed.len(), |close| close + 2);
    }
}
