//! A console record as a line.

use anstyle::Style;
use bowline_hub::recorder::record::{ConsoleRecord, Level, Location};

use super::Rows;
use super::rows::Part;
use crate::clock;
use crate::output::{BAD, FAINT, INFO, WARN};
use crate::safe_text::{one_line, safe};

pub(crate) struct ConsoleRows;

impl Rows<ConsoleRecord> for ConsoleRows {
    fn due(&mut self, _: &ConsoleRecord) -> Option<Part> {
        Some(Part::Whole)
    }

    fn text(&self, record: &ConsoleRecord, _: Part) -> String {
        line(record, clock::now())
    }
}

/// Time, level, text, and where it was logged. Further lines of the text stand below its first.
fn line(record: &ConsoleRecord, now: i64) -> String {
    let time = clock::shown(record.timestamp, now);
    let (level, style) = level(record.level);
    let indent = " ".repeat(time.len() + level.len() + 4);
    let text = safe(&record.text);
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    let place = record.location.as_ref().map(place).unwrap_or_default();
    let mut line = format!("{FAINT}{time}{FAINT:#}  {style}{level}{style:#}  {first}{place}");
    for more in lines {
        line.push_str(&format!("\n{indent}{more}"));
    }
    if record.truncated > 0 {
        line.push_str(&format!("\n{indent}{FAINT}({} more bytes were cut off){FAINT:#}", record.truncated));
    }
    line
}

fn level(level: Level) -> (&'static str, Style) {
    match level {
        Level::Debug => ("debug", FAINT),
        Level::Log => ("log  ", Style::new()),
        Level::Info => ("info ", INFO),
        Level::Warn => ("warn ", WARN),
        Level::Error => ("error", BAD),
    }
}

/// As an editor counts lines: from one.
fn place(location: &Location) -> String {
    if location.url.is_empty() {
        return String::new();
    }
    format!("   {FAINT}{}:{}{FAINT:#}", one_line(&location.url), location.line_number + 1)
}

#[cfg(test)]
mod tests {
    use bowline_hub::recorder::record::Source;

    use super::*;

    fn record(text: &str) -> ConsoleRecord {
        ConsoleRecord {
            seq: 1,
            tab: "T".to_owned(),
            frame: None,
            origin: None,
            navigation: 0,
            timestamp: 45_296_789.4,
            level: Level::Warn,
            source: Source::Console,
            api: None,
            text: text.to_owned(),
            args: Vec::new(),
            location: None,
            stack_trace: Vec::new(),
            truncated: 0,
            historical: None,
        }
    }

    fn plain(record: &ConsoleRecord) -> String {
        anstream::adapter::strip_str(&line(record, 0)).to_string()
    }

    #[test]
    fn a_line_has_time_level_text_and_place() {
        let location = Location { url: "http://a/b.js".to_owned(), line_number: 9, ..Location::default() };
        let record = ConsoleRecord { location: Some(location), ..record("careful") };
        assert_eq!(plain(&record), "12:34:56.789Z  warn   careful   http://a/b.js:10");
    }

    #[test]
    fn further_lines_are_indented_and_cannot_steer_the_terminal() {
        let record = ConsoleRecord { truncated: 7, ..record("a\n  b\u{1b}[2J") };
        assert_eq!(
            plain(&record),
            "12:34:56.789Z  warn   a\n                        b\\x1b[2J\n                      (7 more bytes were cut off)"
        );
        assert_eq!(plain(&self::record("")), "12:34:56.789Z  warn   ");
    }
}
