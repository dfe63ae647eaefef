//! The verbs: commands that ask for an op. Each is a row of a table, which feeds the parser, the help, the completions
//! and the op's input; what an op does with it is the hub's matter.

mod acting;
mod arg;
mod going;
mod keeping;
mod looking;
mod wish;

use std::time::Duration;

use bowline_hub::registry::{self, DEFAULT};
use clap::builder::NonEmptyStringValueParser;
use clap::{ArgMatches, Args, Command, FromArgMatches, Subcommand};
use serde_json::{Map, Value};

use super::history::timeout_in_ms;
use crate::failure::Failure;
use arg::Arg;

pub(crate) use wish::{Deliver, Wish};

/// A verb, as a row of the table.
#[derive(Debug)]
pub(crate) struct Verb {
    pub(crate) name: &'static str,
    /// What it asks for, unless `finish` thinks otherwise.
    op: &'static str,
    about: &'static str,
    /// Each a line, without the program's name.
    examples: &'static [&'static str],
    /// Each is a field of the op, or something that `finish` turns into one.
    args: &'static [Arg],
    finish: fn(&mut Wish) -> Result<(), Failure>,
}

/// In the order of the help.
const FAMILIES: [&[Verb]; 4] = [going::VERBS, looking::VERBS, acting::VERBS, keeping::VERBS];

fn all() -> impl Iterator<Item = &'static Verb> {
    FAMILIES.into_iter().flatten()
}

fn find(name: &str) -> Option<&'static Verb> {
    all().find(|verb| verb.name == name)
}

/// For verbs whose arguments are the op's fields.
fn as_it_is(_: &mut Wish) -> Result<(), Failure> {
    Ok(())
}

/// Which tab is meant, for whom, and how long it may take.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Options of all verbs")]
pub(crate) struct Whose {
    /// Name of the browser [default: default]
    #[arg(id = "whose_browser", long = "browser", value_name = "NAME")]
    pub(super) browser: Option<String>,
    /// t1, a label, an index, an id, or part of the URL or title [default: the session's current tab]
    #[arg(id = "whose_tab", long = "tab", value_name = "TAB", value_parser = NonEmptyStringValueParser::new())]
    tab: Option<String>,
    /// Who asks: a session has a current tab, refs and leases of its own [env: BOWLINE_SESSION]
    #[arg(id = "whose_session", long = "session", value_name = "NAME")]
    session: Option<String>,
    /// How long it may take, such as 500 (milliseconds) or 5s
    #[arg(id = "whose_timeout", long = "timeout", value_name = "MS", value_parser = timeout_in_ms)]
    timeout: Option<Duration>,
}

impl Whose {
    pub(crate) fn browser(&self) -> Result<&str, Failure> {
        let name = self.browser.as_deref().unwrap_or(DEFAULT);
        // Before it becomes part of a path.
        registry::check_name(name)?;
        Ok(name)
    }

    pub(crate) fn tab(&self) -> Option<&str> {
        self.tab.as_deref()
    }

    pub(crate) fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// What is not said here is taken from `others`.
    pub(crate) fn or(self, others: &Self) -> Self {
        Self {
            browser: self.browser.or_else(|| others.browser.clone()),
            tab: self.tab.or_else(|| others.tab.clone()),
            session: self.session.or_else(|| others.session.clone()),
            timeout: self.timeout.or(others.timeout),
        }
    }
}

/// A verb with its arguments.
#[derive(Debug)]
pub(crate) struct Spoken {
    verb: &'static Verb,
    input: Map<String, Value>,
    pub(crate) whose: Whose,
}

impl Spoken {
    /// What is asked for, unless its words are wrong.
    pub(crate) fn wish(&self) -> Result<Wish, Failure> {
        let mut wish =
            Wish { op: self.verb.op.to_owned(), input: self.input.clone(), deliver: Deliver::Text };
        (self.verb.finish)(&mut wish)?;
        Ok(wish)
    }
}

impl FromArgMatches for Spoken {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let Some((verb, matches)) =
            matches.subcommand().and_then(|(name, matches)| Some((find(name)?, matches)))
        else {
            return Err(clap::Error::new(clap::error::ErrorKind::MissingSubcommand));
        };
        let given = |arg: &Arg| Some((arg.field.to_owned(), arg.value(matches)?));
        let input = verb.args.iter().filter_map(given).collect();
        Ok(Self { verb, input, whose: Whose::from_arg_matches(matches)? })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Subcommand for Spoken {
    fn augment_subcommands(command: Command) -> Command {
        all().fold(command, |command, verb| {
            // The arguments of verbs that are not asked for are never made.
            command.subcommand(Command::new(verb.name).about(verb.about).defer(with_args))
        })
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        find(name).is_some()
    }
}

fn with_args(command: Command) -> Command {
    let Some(verb) = find(command.get_name()) else { return command };
    let examples: Vec<String> = verb.examples.iter().map(|example| format!("  bowline {example}")).collect();
    let command = command.after_help(format!("Examples:\n{}", examples.join("\n")));
    let command = verb.args.iter().fold(command, |command, arg| command.arg(arg.to_clap()));
    // The options come with words of their own, which are about them alone.
    Whose::augment_args(command).about(verb.about)
}

#[cfg(test)]
mod tests;
