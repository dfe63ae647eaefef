//! From the browser's console events to records.

use super::events::{ConsoleApiCalled, DialogOpening, EntryAdded, ExceptionThrown, StackTrace};
use super::network::cut;
use super::now;
use super::preview::{self, RemoteObject};
use super::record::{ConsoleRecord, Level, Location, Origin, Source};

/// What a record needs to know beside the event.
pub(super) struct Place<'a> {
    pub(super) target: &'a str,
    pub(super) frame: Option<String>,
    pub(super) origin: Option<&'a Origin>,
    pub(super) navigation: u32,
    /// Bytes of one line.
    pub(super) text: usize,
}

impl Place<'_> {
    pub(super) fn record(&self, timestamp: f64, level: Level, source: Source, text: String) -> ConsoleRecord {
        let (text, truncated) = cut(text, self.text);
        ConsoleRecord {
            seq: 0,
            tab: self.target.to_owned(),
            frame: self.frame.clone(),
            origin: self.origin.cloned(),
            navigation: self.navigation,
            timestamp,
            level,
            source,
            api: None,
            text,
            args: Vec::new(),
            location: None,
            stack_trace: Vec::new(),
            truncated,
            historical: None,
        }
    }
}

pub(super) fn api_called(place: &Place<'_>, event: &ConsoleApiCalled) -> ConsoleRecord {
    let level = match event.kind.as_str() {
        "error" | "assert" => Level::Error,
        "warning" => Level::Warn,
        "info" => Level::Info,
        "debug" => Level::Debug,
        _ => Level::Log,
    };
    let api = match event.kind.as_str() {
        "log" | "error" | "warning" | "info" | "debug" => None,
        other => Some(other.to_owned()),
    };
    let text = preview::line(&event.args);
    let text = match event.kind.as_str() {
        "assert" if text.is_empty() => "Assertion failed".to_owned(),
        "assert" => format!("Assertion failed: {text}"),
        "clear" => "Console was cleared".to_owned(),
        _ => text,
    };
    let mut record = place.record(event.timestamp, level, Source::Console, text);
    record.api = api;
    // A single text says everything already, and most lines are one.
    if !matches!(event.args.as_slice(), [only] if only.kind == "string") {
        record.args = event.args.iter().map(|arg| shortened(preview::argument(arg), place.text)).collect();
    }
    let mut stack = frames(event.stack_trace.as_ref());
    record.location = stack.first().cloned();
    // Only where it was asked for, or where something went wrong; elsewhere the place says enough.
    if level < Level::Warn && event.kind != "trace" {
        stack.clear();
    }
    record.stack_trace = stack;
    record
}

fn shortened(mut argument: super::record::Argument, limit: usize) -> super::record::Argument {
    let (text, gone) = cut(argument.text, limit);
    argument.text = text;
    if gone > 0 {
        // The value would be as long as what was cut.
        argument.value = None;
    }
    argument
}

pub(super) fn exception(place: &Place<'_>, event: &ExceptionThrown) -> ConsoleRecord {
    let details = &event.exception_details;
    let what = details.exception.as_ref().map(|exception| preview::line(std::slice::from_ref(exception)));
    let text = match what {
        Some(what) if details.text.is_empty() => what,
        Some(what) => format!("{} {what}", details.text),
        None => details.text.clone(),
    };
    let mut record = place.record(event.timestamp, Level::Error, Source::Exception, text);
    let args = details.exception.iter().map(preview::argument);
    record.args = args.map(|argument| shortened(argument, place.text)).collect();
    record.stack_trace = frames(details.stack_trace.as_ref());
    record.location = record.stack_trace.first().cloned().or_else(|| {
        Some(Location {
            function_name: String::new(),
            url: details.url.clone()?,
            line_number: details.line_number,
            column_number: details.column_number,
        })
    });
    record
}

pub(super) fn entry_added(place: &Place<'_>, event: &EntryAdded) -> ConsoleRecord {
    let entry = &event.entry;
    let level = match entry.level.as_str() {
        "verbose" => Level::Debug,
        "warning" => Level::Warn,
        "error" => Level::Error,
        _ => Level::Info,
    };
    let mut record = place.record(entry.timestamp, level, Source::Log, entry.text.clone());
    record.api = Some(entry.source.clone());
    record.stack_trace = frames(entry.stack_trace.as_ref());
    record.location = record.stack_trace.first().cloned().or_else(|| {
        Some(Location {
            function_name: String::new(),
            url: entry.url.clone()?,
            line_number: entry.line_number.unwrap_or_default(),
            column_number: 0,
        })
    });
    record
}

/// A dialog that nobody has answered, and that was therefore dismissed.
pub(super) fn dismissed(place: &Place<'_>, dialog: DialogOpening, seconds: f64) -> ConsoleRecord {
    let text = format!("{} dismissed after {seconds}s without an answer: {}", dialog.kind, dialog.message);
    let mut record = place.record(now(), Level::Warn, Source::Dialog, text);
    record.api = Some(dialog.kind);
    record
}

/// Objects among the arguments whose own objects the preview does not show: which argument, and by
/// what id the browser knows it.
pub(super) fn with_hidden_depth(args: &[RemoteObject]) -> impl Iterator<Item = (usize, &RemoteObject, &str)> {
    args.iter().enumerate().filter_map(|(at, arg)| {
        let id = arg.object_id.as_deref()?;
        let preview = arg.preview.as_ref()?;
        let plain = matches!(arg.subtype.as_deref(), None | Some("array"));
        let deep = preview.properties.iter().any(|property| {
            property.kind == "object"
                && !matches!(property.subtype.as_deref(), Some("null" | "node" | "error"))
        });
        (plain && deep).then_some((at, arg, id))
    })
}

/// A stack deeper than this tells nothing more.
const DEEPEST: usize = 50;

fn frames(stack: Option<&StackTrace>) -> Vec<Location> {
    let frames = stack.map(|stack| stack.call_frames.as_slice()).unwrap_or_default();
    frames.iter().take(DEEPEST).cloned().collect()
}
