//! What a command prints: its result on stdout, everything else on stderr; with `--json` one document.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use comfy_table::{ContentArrangement, Table, presets};
use serde::Serialize;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::safe_text::{one_line, safe};

pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default();
pub(crate) const INFO: Style = AnsiColor::Cyan.on_default();
pub(crate) const FAINT: Style = Style::new().dimmed();

#[derive(Clone, Copy)]
pub(crate) struct Output {
    json: bool,
}

impl Output {
    pub(crate) fn new(json: bool) -> Self {
        Self { json }
    }

    pub(crate) fn is_json(self) -> bool {
        self.json
    }

    /// The result: as JSON, or as the text that `human` makes of it.
    pub(crate) fn result<T: Serialize>(self, data: &T, human: impl FnOnce(&T) -> String) {
        if self.json {
            self.document(&Document { data: Some(data), error: None, success: true });
        } else {
            self.text(&human(data));
        }
    }

    /// A result that is a failure all the same, with all there is to say about it.
    pub(crate) fn failed_result<T: Serialize>(
        self,
        data: &T,
        failure: &Failure,
        human: impl FnOnce(&T) -> String,
    ) {
        if self.json {
            self.document(&Document { data: Some(data), error: Some(error(failure)), success: false });
        } else {
            self.text(&human(data));
        }
    }

    fn text(self, text: &str) {
        if !text.is_empty() {
            self.line(text);
        }
    }

    pub(crate) fn failure(self, failure: &Failure) {
        if self.json {
            self.document(&Document::<()> { data: None, error: Some(error(failure)), success: false });
            return;
        }
        self.note(format!("{BAD}error:{BAD:#} {}", safe(&failure.message)));
        for tab in failure.details.iter().flat_map(|details| details.candidates()) {
            let index = tab.index.map_or_else(|| "-".to_owned(), |index| index.to_string());
            let id = tab.id.get(..8).unwrap_or(&tab.id);
            self.note(format!("  {index:>3}  {id}  {}  {}", one_line(&tab.title), one_line(&tab.url)));
        }
        if let Some(hint) = &failure.hint {
            self.note(format!("{FAINT} hint:{FAINT:#} {hint}"));
        }
    }

    fn document(self, document: &impl Serialize) {
        // As with `line`.
        let _ = self.try_json(document);
    }

    /// One line of JSON. Control characters that JSON takes as they are would be lost on their way into a
    /// pipe, and obeyed by a terminal.
    pub(crate) fn try_json(self, document: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_string(document)?;
        if !text.contains(is_loose_control) {
            return self.try_line(text);
        }
        let mut safe = String::with_capacity(text.len() + 16);
        for c in text.chars() {
            if is_loose_control(c) {
                safe.push_str(&format!("\\u{:04x}", u32::from(c)));
            } else {
                safe.push(c);
            }
        }
        self.try_line(safe)
    }

    /// One line of the result.
    pub(crate) fn line(self, text: impl Display) {
        // A reader that has gone (`| head`) is no reason to fail.
        let _ = self.try_line(text);
    }

    /// One line of a result that does not end by itself: an error means that nobody reads it any more.
    pub(crate) fn try_line(self, text: impl Display) -> io::Result<()> {
        writeln!(anstream::stdout(), "{text}")
    }

    /// Bytes that are the result, unchanged.
    pub(crate) fn raw(self, bytes: &[u8]) {
        let mut stdout = io::stdout().lock();
        let _ = stdout.write_all(bytes).and_then(|()| stdout.flush());
    }

    /// Whether a person sees the result at once.
    pub(crate) fn is_terminal(self) -> bool {
        io::stdout().is_terminal()
    }

    /// One line for the person who waits.
    pub(crate) fn note(self, text: impl Display) {
        let _ = writeln!(anstream::stderr(), "{text}");
    }

    /// One line for the person who waits, about something that went on as it should.
    pub(crate) fn faint(self, text: impl Display) {
        self.note(format!("{FAINT}{text}{FAINT:#}"));
    }
}

/// What `--json` prints. Not through a `Value`: a browser's own answer stays as it is.
#[derive(Serialize)]
struct Document<'a, T> {
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
    success: bool,
}

/// Those below are written as escapes in any case.
fn is_loose_control(c: char) -> bool {
    matches!(c, '\u{7f}'..='\u{9f}')
}

fn error(failure: &Failure) -> Value {
    let mut error = json!({"code": failure.code, "message": failure.message, "hint": failure.hint});
    if let Some(Value::Object(details)) = failure.details.as_ref().map(|details| json!(details))
        && let Value::Object(error) = &mut error
    {
        error.extend(details);
    }
    error
}

/// Returns when whoever read our stdout has gone; never for a file or a terminal that stays.
#[cfg(unix)]
pub(crate) async fn nobody_reads() {
    use rustix::event::{PollFd, PollFlags, poll};
    let wait = tokio::task::spawn_blocking(|| {
        let stdout = io::stdout();
        // Asked for nothing, it reports errors and hang-ups alone.
        let mut watched = [PollFd::new(&stdout, PollFlags::empty())];
        while poll(&mut watched, None).is_err_and(|error| error == rustix::io::Errno::INTR) {}
    });
    let _ = wait.await;
}

#[cfg(not(unix))]
pub(crate) async fn nobody_reads() {
    std::future::pending().await
}

/// Columns of the terminal that stdout is. A pipe or file has none: programs want whole lines.
fn terminal_width() -> Option<u16> {
    #[cfg(unix)]
    return rustix::termios::tcgetwinsize(std::io::stdout())
        .ok()
        .map(|size| size.ws_col)
        .filter(|width| *width > 20);
    #[cfg(not(unix))]
    return None;
}

/// A table without lines, as wide as the terminal allows.
pub(crate) fn table(header: &[&str], rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(header.to_vec());
    if let Some(width) = terminal_width() {
        table.set_width(width);
    }
    for row in rows {
        table.add_row(row);
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    let text = table.to_string();
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}
