//! What a command prints: its result on stdout, everything else on stderr; with `--json` one document.

use std::fmt::Display;
use std::io::Write;

use anstyle::{AnsiColor, Style};
use comfy_table::{ContentArrangement, Table, presets};
use serde::Serialize;
use serde_json::{Value, json};

use crate::failure::Failure;

pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default();
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
            self.line(json!({"success": true, "data": data}));
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
            self.line(json!({"success": false, "data": data, "error": error(failure)}));
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
            self.line(json!({"success": false, "error": error(failure)}));
            return;
        }
        self.note(format!("{BAD}error:{BAD:#} {}", failure.message));
        if let Some(hint) = &failure.hint {
            self.note(format!("{FAINT} hint:{FAINT:#} {hint}"));
        }
    }

    /// One line of the result.
    pub(crate) fn line(self, text: impl Display) {
        // A reader that has gone (`| head`) is no reason to fail.
        let _ = writeln!(anstream::stdout(), "{text}");
    }

    /// One line for the person who waits.
    pub(crate) fn note(self, text: impl Display) {
        let _ = writeln!(anstream::stderr(), "{text}");
    }
}

fn error(failure: &Failure) -> Value {
    json!({"code": failure.code, "message": failure.message, "hint": failure.hint})
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
