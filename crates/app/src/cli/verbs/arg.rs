//! An argument of a verb, and the value that it gives a field.

use clap::builder::PossibleValuesParser;
use clap::{ArgAction, ArgMatches, value_parser};
use serde_json::{Value, json};

#[derive(Debug, Clone, Copy)]
pub(super) struct Arg {
    pub(super) field: &'static str,
    /// As the help calls its value; an option's own name otherwise.
    name: &'static str,
    help: &'static str,
    shape: Shape,
    kind: Kind,
    short: Option<char>,
}

#[derive(Debug, Clone, Copy)]
enum Shape {
    Word,
    OptionalWord,
    /// At least so many, at most so many.
    Words(usize, usize),
    Option(&'static str),
    /// May be given several times.
    Options(&'static str),
    Switch(&'static str),
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Text,
    Number,
    OneOf(&'static [&'static str]),
}

const fn arg(field: &'static str, name: &'static str, help: &'static str, shape: Shape) -> Arg {
    Arg { field, name, help, shape, kind: Kind::Text, short: None }
}

/// A word that must be there.
pub(super) const fn word(field: &'static str, name: &'static str, help: &'static str) -> Arg {
    arg(field, name, help, Shape::Word)
}

pub(super) const fn optional(field: &'static str, name: &'static str, help: &'static str) -> Arg {
    arg(field, name, help, Shape::OptionalWord)
}

/// So many words, from `least` to `most`.
pub(super) const fn words(
    field: &'static str,
    name: &'static str,
    least: usize,
    most: usize,
    help: &'static str,
) -> Arg {
    arg(field, name, help, Shape::Words(least, most))
}

pub(super) const fn option(
    field: &'static str,
    long: &'static str,
    name: &'static str,
    help: &'static str,
) -> Arg {
    arg(field, name, help, Shape::Option(long))
}

pub(super) const fn options(
    field: &'static str,
    long: &'static str,
    name: &'static str,
    help: &'static str,
) -> Arg {
    arg(field, name, help, Shape::Options(long))
}

pub(super) const fn switch(field: &'static str, long: &'static str, help: &'static str) -> Arg {
    arg(field, "", help, Shape::Switch(long))
}

impl Arg {
    pub(super) const fn short(mut self, letter: char) -> Self {
        self.short = Some(letter);
        self
    }

    pub(super) const fn number(mut self) -> Self {
        self.kind = Kind::Number;
        self
    }

    pub(super) const fn one_of(mut self, words: &'static [&'static str]) -> Self {
        self.kind = Kind::OneOf(words);
        self
    }

    pub(super) fn to_clap(self) -> clap::Arg {
        let mut arg = clap::Arg::new(self.field).help(self.help);
        if let Some(letter) = self.short {
            arg = arg.short(letter);
        }
        if let Shape::Switch(long) = self.shape {
            return arg.long(long).action(ArgAction::SetTrue);
        }
        // Numbers below zero are values too.
        arg = arg.value_name(self.name).allow_negative_numbers(true);
        arg = match self.kind {
            Kind::Text => arg,
            Kind::Number => arg.value_parser(value_parser!(u64)),
            Kind::OneOf(words) => arg.value_parser(PossibleValuesParser::new(words)),
        };
        match self.shape {
            Shape::Word => arg.required(true),
            Shape::OptionalWord | Shape::Switch(_) => arg,
            Shape::Words(least, most) => arg.num_args(least..=most).required(least > 0),
            Shape::Option(long) => arg.long(long),
            Shape::Options(long) => arg.long(long).action(ArgAction::Append),
        }
    }

    /// The field's value, if it was given.
    pub(super) fn value(self, matches: &ArgMatches) -> Option<Value> {
        match (self.shape, self.kind) {
            (Shape::Switch(_), _) => matches.get_flag(self.field).then_some(json!(true)),
            (Shape::Words(..) | Shape::Options(_), _) => {
                let words = matches.get_many::<String>(self.field)?;
                Some(words.map(|word| json!(word)).collect())
            }
            (_, Kind::Number) => matches.get_one::<u64>(self.field).map(|number| json!(number)),
            (_, Kind::Text | Kind::OneOf(_)) => matches.get_one::<String>(self.field).map(|text| json!(text)),
        }
    }
}
