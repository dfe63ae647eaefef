//! Which console records are wanted, as a query for the hub.

use bowline_hub::recorder::record::Level;
use regex::Regex;

use super::Query;
use crate::cli::ConsoleArgs;
use crate::clock;

pub(crate) struct ConsoleFilter {
    level: Option<Level>,
    text: Option<Regex>,
    /// Milliseconds since 1970.
    start: Option<i64>,
    after: Option<u64>,
    max: Option<u32>,
}

impl ConsoleFilter {
    pub(crate) fn of(args: &ConsoleArgs) -> Self {
        Self {
            level: args.level,
            text: args.grep.clone(),
            start: args.list.since.and_then(|since| since.start(clock::now())),
            after: args.list.since.and_then(|since| since.record()),
            max: args.list.max,
        }
    }

    /// Whether there may be records that it leaves out, so that finding none means something.
    pub(crate) fn is_narrow(&self) -> bool {
        self.level.is_some() || self.text.is_some() || self.start.is_some() || self.after.is_some()
    }

    pub(crate) fn query(&self) -> Query {
        let mut query = Query::default();
        if let Some(level) = self.level {
            query.set_list("types", &and_worse(level));
        }
        query.set_if_some("textPattern", self.text.as_ref());
        query.set_if_some("startTime", self.start);
        query.set_if_some("since", self.after);
        query.set_if_some("max", self.max);
        query
    }
}

fn and_worse(level: Level) -> Vec<&'static str> {
    let levels = [
        (Level::Debug, "debug"),
        (Level::Log, "log"),
        (Level::Info, "info"),
        (Level::Warn, "warn"),
        (Level::Error, "error"),
    ];
    levels.into_iter().filter(|(other, _)| *other >= level).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    fn filter(words: &[&str]) -> ConsoleFilter {
        let words = [&["bowline", "console"], words].concat();
        let Command::Console(args) = Cli::try_parse_from(words).unwrap().command else { panic!("console") };
        ConsoleFilter::of(&args)
    }

    #[test]
    fn a_level_stands_for_itself_and_worse() {
        let query = filter(&["--level", "info", "--grep", "a|b", "-n", "5"]).query().to_string();
        assert_eq!(query, "?types=info%2Cwarn%2Cerror&textPattern=a%7Cb&max=5");
        assert_eq!(filter(&["--level", "error"]).query().to_string(), "?types=error");
    }

    #[test]
    fn only_what_selects_is_narrow() {
        assert!(!filter(&["-n", "3", "-f"]).is_narrow());
        assert!(filter(&["--since", "#7"]).is_narrow());
        assert_eq!(filter(&["--since", "#7"]).query().to_string(), "?since=7");
        assert_eq!(filter(&["--since", "1970-01-01T00:00:01Z"]).query().to_string(), "?startTime=1000");
    }
}
