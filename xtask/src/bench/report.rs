//! The report: parts with rows, rows with their bars; as tables of at most 80 columns, as JSON and as
//! docs/BENCHMARKS.md. Knows nothing of how a row was measured.

use std::fmt::Write as _;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::machine::Machine;

/// What a row must reach.
#[derive(Clone, Copy)]
pub enum Bar {
    RatioAtMost(f64),
    RatioAtLeast(f64),
    /// A limit on the value itself, in the row's unit.
    AtMost(f64),
    /// A limit on how much more it is than what it is compared with, in the row's unit.
    MoreByAtMost(f64),
}

/// Rows that have the same to say about them.
#[derive(Serialize)]
pub struct Part {
    pub title: &'static str,
    /// What was measured and how, in lines for people.
    pub about: String,
    /// What is compared with what: the headings of a row's two values.
    pub sides: [&'static str; 2],
    pub rows: Vec<Row>,
}

#[derive(Serialize)]
pub struct Row {
    name: String,
    unit: &'static str,
    /// What the value is compared with.
    base: Option<f64>,
    value: f64,
    ratio: Option<f64>,
    bar: Option<Bar>,
    pass: Option<bool>,
}

impl Row {
    /// A row that has both sides.
    pub fn compared(
        name: impl Into<String>,
        unit: &'static str,
        base: f64,
        value: f64,
        ratio: f64,
        bar: Option<Bar>,
    ) -> Self {
        Self::new(name.into(), unit, Some(base), value, Some(ratio), bar)
    }

    /// A row that is compared with nothing.
    pub fn single(name: &str, unit: &'static str, value: f64, bar: Option<Bar>) -> Self {
        Self::new(name.into(), unit, None, value, None, bar)
    }

    fn new(
        name: String,
        unit: &'static str,
        base: Option<f64>,
        value: f64,
        ratio: Option<f64>,
        bar: Option<Bar>,
    ) -> Self {
        let ratio_or_nan = ratio.unwrap_or(f64::NAN);
        // Comparisons with NaN are false, so what could not be measured has not passed.
        let pass = bar.map(|bar| match bar {
            Bar::RatioAtMost(limit) => ratio_or_nan <= limit,
            Bar::RatioAtLeast(limit) => ratio_or_nan >= limit,
            Bar::AtMost(limit) => value <= limit,
            Bar::MoreByAtMost(limit) => value - base.unwrap_or(f64::NAN) <= limit,
        });
        Self { name, unit, base, value, ratio, bar, pass }
    }

    pub fn missed(&self) -> bool {
        self.pass == Some(false)
    }

    /// Name, base, value, ratio, bar, verdict.
    fn cells(&self) -> [String; 6] {
        [
            format!("{} ({})", self.name, self.unit),
            self.base.map_or_else(String::new, number),
            number(self.value),
            self.ratio.map_or_else(String::new, |ratio| format!("{ratio:.3}")),
            self.bar.map_or_else(String::new, Bar::shown),
            match self.pass {
                Some(true) => "pass".to_owned(),
                Some(false) => "FAIL".to_owned(),
                None => String::new(),
            },
        ]
    }
}

impl Bar {
    fn shown(self) -> String {
        match self {
            Self::RatioAtMost(limit) => format!("<= {limit:.2}"),
            Self::RatioAtLeast(limit) => format!(">= {limit:.2}"),
            Self::AtMost(limit) => format!("<= {limit:.0}"),
            Self::MoreByAtMost(limit) => format!("<= +{limit:.0}"),
        }
    }
}

impl Serialize for Bar {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (of, rule, limit) = match *self {
            Self::RatioAtMost(limit) => ("ratio", "at most", limit),
            Self::RatioAtLeast(limit) => ("ratio", "at least", limit),
            Self::AtMost(limit) => ("value", "at most", limit),
            Self::MoreByAtMost(limit) => ("difference", "at most", limit),
        };
        json!({"of": of, "rule": rule, "limit": limit}).serialize(serializer)
    }
}

impl Part {
    fn headings(&self) -> [&'static str; 6] {
        let [base, value] = self.sides;
        let ratio = if base.is_empty() { "" } else { "ratio" };
        ["measured", base, value, ratio, "bar", ""]
    }

    /// The table for the terminal.
    pub fn table(&self) -> String {
        let mut text = format!("{}\n", self.title);
        let headings = self.headings().map(str::to_owned);
        for [name, base, value, ratio, bar, verdict] in
            std::iter::once(headings).chain(self.rows.iter().map(Row::cells))
        {
            let line = format!("{name:<36}{base:>10}{value:>10}{ratio:>8}  {bar:<9}{verdict:<4}");
            let _ = writeln!(text, "{}", line.trim_end());
        }
        text
    }

    fn markdown(&self) -> String {
        let mut text = format!("\n## {}\n\n{}\n\n", self.title, self.about);
        let _ =
            writeln!(text, "| {} |\n| --- | ---: | ---: | ---: | --- | --- |", self.headings().join(" | "));
        for row in &self.rows {
            let _ = writeln!(text, "| {} |", row.cells().join(" | "));
        }
        text
    }
}

pub fn json(machine: &Machine, rounds: usize, quick: bool, parts: &[Part], samples: &Value) -> Value {
    json!({"machine": machine, "rounds": rounds, "quick": quick, "parts": parts, "samples": samples})
}

/// The whole of docs/BENCHMARKS.md.
pub fn markdown(machine: &Machine, rounds: usize, quick: bool, parts: &[Part]) -> String {
    let mut text = String::from(
        "# Benchmarks\n\nWritten by `cargo xtask bench --update-docs`; do not edit.\n\n\
         Where two are compared, both are measured in one run, alternating round by round (A B, B A, ...),\n\
         with the same browser, the same flags and the same client; both are started afresh every few rounds.\n\
         A ratio is the median over rounds of the second divided by the first (p99: of all samples together).\n\
         Below 1 is better for times, above 1 for rates.\n\n",
    );
    let _ = writeln!(text, "| machine | |\n| --- | --- |");
    for (name, value) in machine.lines() {
        let _ = writeln!(text, "| {name} | {value} |");
    }
    let kind = if quick { " (quick)" } else { "" };
    let _ = writeln!(text, "| rounds | {rounds}{kind} |");
    for part in parts {
        text += &part.markdown();
    }
    text
}

/// docs/BENCHMARKS.md with the sections of `parts` replaced, or added at its end, and the others as they are. What was
/// measured by itself says when and under which load.
pub fn merged(old: &str, machine: &Machine, rounds: usize, quick: bool, parts: &[Part]) -> String {
    let kind = if quick { ", quick" } else { "" };
    let when = format!(
        "Measured by itself on {} with {}: {rounds} rounds{kind}, load before {}.",
        machine.date, machine.browser, machine.load
    );
    let mut sections: Vec<String> = old.split("\n## ").map(str::to_owned).collect();
    for part in parts {
        let text = part.markdown().replacen(&part.about, &format!("{}\n\n{when}", part.about), 1);
        let text = text.trim_start_matches("\n## ").to_owned();
        let heading = format!("{}\n", part.title);
        match sections.iter_mut().skip(1).find(|section| section.starts_with(&heading)) {
            Some(section) => *section = text,
            None => sections.push(text),
        }
    }
    sections.join("\n## ")
}

/// Three significant digits for small numbers, none after the point for large ones.
fn number(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_fits_eighty_columns() {
        let name = "connectOverCDP, 50 tabs";
        let rows = vec![
            Row::compared(name, "ms", 123_456_789.0, 123_456_789.0, 99.999, Some(Bar::RatioAtLeast(0.95))),
            Row::single("bowline endpoint, fastest", "ms", 3.21, None),
        ];
        let part = Part { title: "x", about: String::new(), sides: ["direct", "bowline"], rows };
        assert!(part.table().lines().all(|line| line.len() <= 80), "{}", part.table());
    }

    #[test]
    fn what_could_not_be_measured_has_missed_its_bar() {
        assert!(Row::compared("x", "ms", 1.0, 1.0, f64::NAN, Some(Bar::RatioAtMost(1.1))).missed());
        assert!(Row::single("x", "MiB", f64::NAN, Some(Bar::AtMost(12.0))).missed());
        assert!(!Row::single("x", "MiB", f64::NAN, None).missed());
    }

    #[test]
    fn a_section_that_was_measured_again_is_replaced_and_the_others_stay() {
        let part = |title, value| Part {
            title,
            about: "About it.".to_owned(),
            sides: ["", "bowline"],
            rows: vec![Row::single("x", "MiB", value, None)],
        };
        let machine = Machine::describe(None);
        let old = markdown(&machine, 6, true, &[part("One", 1.0), part("Two", 2.0)]);
        let new = merged(&old, &machine, 6, true, &[part("One", 7.0), part("Three", 3.0)]);
        let titles: Vec<&str> = new.lines().filter_map(|line| line.strip_prefix("## ")).collect();
        assert_eq!(titles, ["One", "Two", "Three"]);
        assert!(new.contains("7.00") && new.contains("2.00") && !new.contains("1.00"), "{new}");
    }

    #[test]
    fn bars_hold_at_their_limit() {
        assert!(!Row::compared("x", "us", 1.0, 1.1, 1.10, Some(Bar::RatioAtMost(1.10))).missed());
        assert!(Row::compared("x", "/s", 1.0, 0.9, 0.94, Some(Bar::RatioAtLeast(0.95))).missed());
        assert!(Row::single("x", "MiB", 12.1, Some(Bar::AtMost(12.0))).missed());
        assert!(!Row::compared("x", "ms", 1.0, 11.0, 11.0, Some(Bar::MoreByAtMost(10.0))).missed());
        assert!(Row::compared("x", "ms", 1.0, 11.5, 11.5, Some(Bar::MoreByAtMost(10.0))).missed());
    }
}
