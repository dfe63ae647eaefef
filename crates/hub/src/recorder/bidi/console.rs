//! From a BiDi browser's log to records.

use serde_json::Value;

use super::events::LogEntry;
use crate::recorder::console::{self, Place};
use crate::recorder::events::{
    ConsoleApiCalled, EntryAdded, ExceptionDetails, ExceptionThrown, LogEntry as BrowserEntry, StackTrace,
};
use crate::recorder::preview::{self, RemoteObject};
use crate::recorder::record::ConsoleRecord;

pub(super) fn record(place: &Place<'_>, entry: LogEntry) -> ConsoleRecord {
    let text = entry.text.clone().unwrap_or_default();
    if entry.kind == "console" {
        let args = arguments(&entry, &text);
        return console::api_called(
            place,
            &ConsoleApiCalled {
                kind: cdp_name(&entry.method).to_owned(),
                args,
                execution_context_id: 0,
                timestamp: entry.timestamp,
                stack_trace: entry.stack_trace,
            },
        );
    }
    if entry.level == "error" && is_exception(&text) {
        let exception = preview::error(with_stack(text, entry.stack_trace.as_ref()));
        let details = ExceptionDetails {
            text: "Uncaught".to_owned(),
            line_number: 0,
            column_number: 0,
            url: None,
            stack_trace: entry.stack_trace,
            exception: Some(exception),
            execution_context_id: None,
        };
        let event = ExceptionThrown { timestamp: entry.timestamp, exception_details: details };
        return console::exception(place, &event);
    }
    let level = match entry.level.as_str() {
        "warn" => "warning",
        "debug" => "verbose",
        level => level,
    };
    let is_of_security = ["Cross-Origin", "Content-Security-Policy", "Content Security Policy"]
        .iter()
        .any(|start| text.starts_with(start));
    let entry = BrowserEntry {
        source: if is_of_security { "security" } else { "javascript" }.to_owned(),
        level: level.to_owned(),
        text,
        timestamp: entry.timestamp,
        url: None,
        line_number: None,
        stack_trace: entry.stack_trace,
    };
    console::entry_added(place, &EntryAdded { entry })
}

/// What CDP calls a method of the console.
fn cdp_name(method: &str) -> &str {
    match method {
        "warn" => "warning",
        "group" => "startGroup",
        "groupCollapsed" => "startGroupCollapsed",
        "groupEnd" => "endGroup",
        other => other,
    }
}

fn arguments(entry: &LogEntry, text: &str) -> Vec<RemoteObject> {
    if matches!(entry.method.as_str(), "count" | "countReset" | "timeEnd" | "timeLog") {
        // Their arguments are what was asked; what was found is in the text alone.
        return vec![preview::from_bidi(&serde_json::json!({"type": "string", "value": text}))];
    }
    let mut args: Vec<RemoteObject> = entry.args.iter().map(preview::from_bidi).collect();
    if let Some((at, words)) = only_error(&entry.args, text) {
        args[at] = preview::error(words);
    }
    args
}

/// The words of an error among the arguments, which are in the text alone: if it is the only one, what is not the
/// others' is its.
fn only_error(args: &[Value], text: &str) -> Option<(usize, String)> {
    let is_error = |arg: &&Value| arg["type"] == "error";
    if args.iter().filter(is_error).count() != 1 {
        return None;
    }
    let at = args.iter().position(|arg| arg["type"] == "error")?;
    let words = |args: &[Value]| args.iter().map(word).collect::<Option<Vec<String>>>();
    let (before, after) = (words(&args[..at])?, words(&args[at + 1..])?);
    let mut rest = text;
    for word in before {
        rest = rest.strip_prefix(word.as_str())?.strip_prefix(' ')?;
    }
    for word in after.iter().rev() {
        rest = rest.strip_suffix(word.as_str())?.strip_suffix(' ')?;
    }
    Some((at, rest.to_owned())).filter(|(_, words)| !words.is_empty())
}

/// A value as Firefox writes it in the text of a line; `None` where that is not known.
fn word(value: &Value) -> Option<String> {
    let inner = &value["value"];
    let kind = value["type"].as_str()?;
    Some(match kind {
        "string" | "bigint" => inner.as_str()?.to_owned(),
        "number" => inner.as_str().map_or_else(|| inner.to_string(), str::to_owned),
        "boolean" => inner.to_string(),
        "array" => format!("Array({})", inner.as_array()?.len()),
        "object" => format!("Object({})", inner.as_array()?.len()),
        "map" => format!("Map({})", inner.as_array()?.len()),
        "set" => format!("Set({})", inner.as_array()?.len()),
        "null" | "undefined" | "function" | "node" | "symbol" | "promise" | "window" | "typedarray" => {
            kind.to_owned()
        }
        _ => return None,
    })
}

/// Whether something was thrown: `TypeError: ...`, or a value that is no error. The browser's own complaints come the
/// same way.
fn is_exception(text: &str) -> bool {
    let name = text.split(':').next().unwrap_or_default();
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$');
    text.starts_with("uncaught exception")
        || (is_name && (name.ends_with("Error") || name.ends_with("Exception")))
}

/// As Chromium describes an error: with the places where it came from, lines and columns counted from one.
fn with_stack(mut text: String, stack: Option<&StackTrace>) -> String {
    use std::fmt::Write;
    for frame in stack.into_iter().flat_map(|stack| &stack.call_frames).take(10) {
        let place = format!("{}:{}:{}", frame.url, frame.line_number + 1, frame.column_number + 1);
        let _ = match frame.function_name.as_str() {
            "" => write!(text, "\n    at {place}"),
            name => write!(text, "\n    at {name} ({place})"),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::recorder::record::{Level, Source};

    fn made_of(entry: Value) -> ConsoleRecord {
        let place = Place { target: "t", frame: None, origin: None, navigation: 1, text: 10_000 };
        record(&place, serde_json::from_value(entry).unwrap())
    }

    fn console(method: &str, args: Value, text: &str) -> ConsoleRecord {
        made_of(json!({"type": "console", "method": method, "level": "info", "source": {"context": "c"},
            "args": args, "text": text, "timestamp": 5.0,
            "stackTrace": {"callFrames": [{"columnNumber": 9, "functionName": "f", "lineNumber": 7, "url": "u"}]}}))
    }

    #[test]
    fn lines_have_the_level_and_the_words_of_their_method() {
        let one = |text: &str| json!([{"type": "string", "value": text}]);
        let line = console("log", one("hello"), "hello");
        assert_eq!((line.level, line.source, line.text.as_str()), (Level::Log, Source::Console, "hello"));
        assert_eq!(line.location.unwrap().line_number, 7);
        assert_eq!(console("warn", one("w"), "w").level, Level::Warn);
        let assert = console("assert", one("no"), "no");
        assert_eq!((assert.level, assert.text.as_str()), (Level::Error, "Assertion failed: no"));
        assert_eq!(console("count", one("c"), "c: 1").text, "c: 1");
        assert_eq!(console("group", one("g"), "g").api.as_deref(), Some("startGroup"));
    }

    #[test]
    fn the_only_error_of_a_line_gets_its_words_back() {
        let string = |text: &str| json!({"type": "string", "value": text});
        let error = json!({"type": "error", "value": {}});
        let object = json!({"type": "object", "value": [["a", {"type": "number", "value": 1}]]});
        let line = console("error", json!([string("bad"), error, object]), "bad Error: boom Object(1)");
        assert_eq!(line.text, "bad Error: boom {a: 1}");
        let two = console("error", json!([error, error]), "Error: one Error: two");
        assert_eq!(two.text, "Error Error");
    }

    #[test]
    fn what_was_thrown_is_told_from_what_the_browser_says() {
        let entry = |level: &str, text: &str| {
            made_of(
                json!({"type": "javascript", "level": level, "source": {"context": "c"}, "text": text, "timestamp": 5.0,
                "stackTrace": {"callFrames": [{"columnNumber": 44, "functionName": "thrower", "lineNumber": 3, "url": "u"}]}}),
            )
        };
        let thrown = entry("error", "TypeError: bad");
        assert_eq!((thrown.source, thrown.level), (Source::Exception, Level::Error));
        assert_eq!(thrown.text, "Uncaught TypeError: bad\n    at thrower (u:4:45)");
        let blocked = entry("error", "Cross-Origin Request Blocked: no");
        assert_eq!((blocked.source, blocked.api.as_deref()), (Source::Log, Some("security")));
        assert_eq!(entry("warn", "old").level, Level::Warn);
    }
}
