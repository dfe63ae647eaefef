//! Single words of a preview: quoted strings, names, classes and functions.

use std::fmt::Write;

/// A longer arrow function is shown without its body.
const LONGEST_ARROW: usize = 60;

/// A string as a JavaScript literal, with the quotes that need no escaping if there are any.
pub(super) fn quoted(text: &str) -> String {
    let quote = if !text.contains('\'') {
        '\''
    } else if !text.contains('"') {
        '"'
    } else if !text.contains('`') && !text.contains("${") {
        '`'
    } else {
        '\''
    };
    let escape_quote = quote == '\'' && text.contains('\'');
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push(quote);
    for (at, c) in text.char_indices() {
        match c {
            '\\' => literal.push_str("\\\\"),
            '\'' if escape_quote => literal.push_str("\\'"),
            '\n' => literal.push_str("\\n"),
            '\r' => literal.push_str("\\r"),
            '\t' => literal.push_str("\\t"),
            '\u{8}' => literal.push_str("\\b"),
            '\u{b}' => literal.push_str("\\v"),
            '\u{c}' => literal.push_str("\\f"),
            // So that the literal can be pasted into a page.
            '<' if opens_script(&text[at..]) => literal.push_str("\\x3C"),
            c if c.is_control() => {
                let _ = write!(literal, "\\x{:02X}", u32::from(c));
            }
            c => literal.push(c),
        }
    }
    literal.push(quote);
    literal
}

fn opens_script(text: &str) -> bool {
    ["<!--", "<script", "</script"].iter().any(|start| text.starts_with(start))
}

/// A property's name; in quotes if its white space would be misread.
pub(super) fn name(name: &str) -> String {
    let at_edge = name.starts_with(char::is_whitespace) || name.ends_with(char::is_whitespace);
    if name.is_empty() || at_edge || name.contains('\n') {
        format!("\"{}\"", name.replace('\n', "↵"))
    } else {
        name.to_owned()
    }
}

/// A class's name in place of an object; of a qualified one the qualifiers are cut short.
pub(super) fn class(description: &str) -> String {
    if description == "Object" {
        return "{…}".to_owned();
    }
    match description.rsplit_once('.') {
        Some((qualifiers, last)) => {
            let mut parts: Vec<String> = qualifiers.split('.').map(trimmed).collect();
            parts.push(last.to_owned());
            parts.join(".")
        }
        None => description.to_owned(),
    }
}

/// `console` becomes `c…e`.
fn trimmed(text: &str) -> String {
    let mut chars = text.chars();
    match (text.chars().count() > 3, chars.next(), chars.next_back()) {
        (true, Some(first), Some(last)) => format!("{first}…{last}"),
        _ => text.to_owned(),
    }
}

/// `Float32Array(2)` taken apart.
pub(super) fn array_title(description: &str) -> (&str, u32) {
    let parts = description.strip_suffix(')').and_then(|rest| rest.rsplit_once('('));
    match parts.and_then(|(name, length)| Some((name, length.parse().ok()?))) {
        Some(title) => title,
        None => (description, 0),
    }
}

/// A function without its body, from its source text: `ƒ name(a, b)`.
pub(super) fn signature(source: &str) -> String {
    let source = source.trim_start();
    // A getter's source is that of a method behind the word.
    let source = source.strip_prefix("get ").or(source.strip_prefix("set ")).unwrap_or(source);
    let text = if let Some(rest) = keyword(source, "class") {
        class_head(rest)
    } else if let Some(rest) =
        keyword(source, "async").and_then(|rest| keyword(rest.trim_start(), "function"))
    {
        head("async ƒ", rest)
    } else if let Some(rest) = keyword(source, "function") {
        head("ƒ", rest)
    } else if let Some(arrow) = source.find("=>").filter(|_| !is_method(source)) {
        match source.chars().nth(LONGEST_ARROW) {
            Some(_) => format!("{} {{…}}", &source[..arrow + 2]),
            None => source.to_owned(),
        }
    } else {
        head("ƒ", source)
    };
    text.replace('\n', " ")
}

/// Whether a name stands before the parameters. An arrow function may be in the body of such a one.
fn is_method(source: &str) -> bool {
    let name = source.split('(').next().unwrap_or_default().trim();
    !name.is_empty() && name != "async" && !name.contains("=>")
}

/// What follows a word, if the word ends there.
fn keyword<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(word)?;
    (!rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$')).then_some(rest)
}

/// Name and parameters behind `prefix`, as far as they can be told from the body without a parser.
fn head(prefix: &str, rest: &str) -> String {
    let (star, rest) = match rest.trim_start().strip_prefix('*') {
        Some(rest) => ("*", rest),
        None => ("", rest),
    };
    let parameters = rest.find('(').and_then(|open| {
        let body = rest.match_indices(')').find(|(at, _)| rest[at + 1..].trim_start().starts_with('{'));
        let (close, _) = body.filter(|(close, _)| *close > open)?;
        Some((rest[..open].trim(), &rest[open..=close]))
    });
    let (name, parameters) = parameters.unwrap_or(("", "()"));
    format!("{prefix}{star} {name}{parameters}")
}

fn class_head(rest: &str) -> String {
    let head = rest.split('{').next().unwrap_or_default().trim();
    let name = head.split_whitespace().next().unwrap_or_default();
    // An anonymous class is told by its parent at least.
    let name = if name == "extends" { head } else { name };
    format!("class {name}").trim_end().to_owned()
}
