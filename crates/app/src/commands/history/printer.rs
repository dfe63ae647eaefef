//! Prints records one after the other, and says where history ends and what is missing.

use std::io;

use super::rows::{Part, Record, Rows};
use super::{History, Labels};
use crate::cli::ListArgs;
use crate::output::Output;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    /// One JSON document with everything.
    Document,
    /// One JSON record per line.
    Lines,
}

impl Format {
    pub(crate) fn of(args: &ListArgs, output: Output) -> Self {
        match (args.ndjson, output.is_json()) {
            (true, _) => Self::Lines,
            // A stream has no end, so it cannot be one document.
            (false, true) if args.follow => Self::Lines,
            (false, true) => Self::Document,
            (false, false) => Self::Text,
        }
    }
}

pub(crate) struct Printer {
    output: Output,
    format: Format,
    pub(crate) labels: Labels,
    /// Whether the line between history and what is new was printed.
    divided: bool,
}

impl Printer {
    pub(crate) fn new(output: Output, format: Format, labels: Labels) -> Self {
        Self { output, format, labels, divided: false }
    }

    pub(crate) fn is_text(&self) -> bool {
        self.format == Format::Text
    }

    /// Prints what is due of a record. An error means that nobody reads any more.
    pub(crate) fn record<R: Record>(&mut self, record: &R, rows: &mut impl Rows<R>) -> io::Result<()> {
        let Some(part) = rows.due(record) else { return Ok(()) };
        if record.historical() == Some(false) {
            self.divide();
        }
        self.print(record, rows, part)
    }

    fn print<R: Record>(&self, record: &R, rows: &impl Rows<R>, part: Part) -> io::Result<()> {
        if !self.is_text() {
            return self.output.try_json(record);
        }
        let prefix = self.labels.prefix(record.tab());
        // Further lines keep their distance from the first.
        let text = rows.text(record, part).replace('\n', &format!("\n{}", " ".repeat(prefix.len())));
        self.output.try_line(format!("{prefix}{text}"))
    }

    /// Says once that what follows is new.
    pub(crate) fn divide(&mut self) {
        if self.is_text() && !self.divided {
            self.output.faint("--- new ---");
        }
        self.divided = true;
    }

    /// Says what is missing at the beginning.
    pub(crate) fn missing(&self, dropped: u64, lost: u64) {
        if dropped > 0 {
            self.output.faint(format!("({dropped} older records were dropped)"));
        }
        if lost > 0 {
            self.output.faint(format!("({lost} records were lost when a hub was killed)"));
        }
    }

    /// Says why there is nothing.
    pub(crate) fn nothing<H: History>(&self, is_narrow: bool) {
        if is_narrow {
            self.output.faint(format!("(no {} match)", H::WHAT));
        } else {
            self.output.faint(format!("(no {} yet)", H::WHAT));
        }
    }

    pub(crate) fn note(&self, text: impl std::fmt::Display) {
        self.output.faint(format!("({text})"));
    }
}
