//! The whole line of a console call: its format string, if it begins with one, and what follows.
//!
//! Chromium converts the arguments of `%s`, `%d`, `%i` and `%f` before it sends them, but leaves the
//! substitution to whoever shows the line. Conversions here are for browsers that do not.

use serde_json::Value;

use super::{RemoteObject, text, words};

pub(super) fn line(args: &[RemoteObject]) -> String {
    let Some((first, rest)) = args.split_first() else { return String::new() };
    let (mut line, rest) =
        if first.kind == "string" { formatted(&text(first), rest) } else { (text(first), rest) };
    for argument in rest {
        line.push(' ');
        line.push_str(&text(argument));
    }
    line
}

/// The text with its specifiers replaced, and the arguments that none of them took.
fn formatted<'a>(format: &str, mut args: &'a [RemoteObject]) -> (String, &'a [RemoteObject]) {
    if !format.contains('%') {
        return (format.to_owned(), args);
    }
    let mut line = String::with_capacity(format.len());
    // The text still to read, its next character last: what replaces %s or %d is read again, as the
    // Console Standard has it, so that `'%s', '%d', 5` is `5`.
    let mut pending: Vec<char> = format.chars().rev().collect();
    while let Some(c) = pending.pop() {
        if c != '%' {
            line.push(c);
            continue;
        }
        let specifier = pending.last().copied();
        if specifier == Some('%') {
            pending.pop();
            line.push('%');
            continue;
        }
        let (Some(specifier), Some((argument, rest))) = (specifier, args.split_first()) else {
            line.push('%');
            continue;
        };
        match specifier {
            's' => replace(&mut pending, &text(argument)),
            'd' | 'i' => replace(&mut pending, &integer(argument)),
            'f' => replace(&mut pending, &float(argument)),
            'o' if argument.kind == "string" => {
                pending.pop();
                line.push_str(&words::quoted(&text(argument)));
            }
            'o' | 'O' => {
                pending.pop();
                line.push_str(&text(argument));
            }
            // A style, which plain text has none of.
            'c' => {
                pending.pop();
            }
            _ => {
                line.push('%');
                continue;
            }
        }
        args = rest;
    }
    (line, args)
}

/// Puts `text` in place of the specifier's letter.
fn replace(pending: &mut Vec<char>, text: &str) {
    pending.pop();
    pending.extend(text.chars().rev());
}

fn integer(argument: &RemoteObject) -> String {
    match &argument.value {
        Some(Value::Number(number)) => match number.as_f64() {
            // Adding zero turns -0 into 0, which is how JavaScript writes it.
            Some(number) if number.fract() != 0.0 => (number.trunc() + 0.0).to_string(),
            _ => text(argument),
        },
        Some(Value::String(string)) => number_or_nan(leading_number(string, false)),
        _ if argument.kind == "bigint" => text(argument).trim_end_matches('n').to_owned(),
        _ => match argument.unserializable_value.as_deref() {
            Some("-0") => "0".to_owned(),
            _ => "NaN".to_owned(),
        },
    }
}

fn float(argument: &RemoteObject) -> String {
    match &argument.value {
        Some(Value::Number(_)) => text(argument),
        Some(Value::String(string)) => number_or_nan(leading_number(string, true)),
        _ if argument.kind == "bigint" => text(argument).trim_end_matches('n').to_owned(),
        _ => match argument.unserializable_value.as_deref() {
            Some("-0") => "0".to_owned(),
            Some(number) => number.to_owned(),
            None => "NaN".to_owned(),
        },
    }
}

fn number_or_nan(number: Option<f64>) -> String {
    number.map_or_else(|| "NaN".to_owned(), |number| (number + 0.0).to_string())
}

/// The number that a text begins with, as `parseInt` and `parseFloat` read it.
fn leading_number(text: &str, fraction: bool) -> Option<f64> {
    let text = text.trim_start();
    let digits = |from: usize| from + text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let sign = usize::from(text.starts_with(['+', '-']));
    let mut end = digits(sign);
    if fraction {
        if text[end..].starts_with('.') && (end > sign || digits(end + 1) > end + 1) {
            end = digits(end + 1);
        }
        if end > sign && text[end..].starts_with(['e', 'E']) {
            let exponent = end + 1 + usize::from(text[end + 1..].starts_with(['+', '-']));
            if digits(exponent) > exponent {
                end = digits(exponent);
            }
        }
    }
    text[..end].parse().ok()
}
