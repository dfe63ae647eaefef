//! `bowline eval`: the value of an expression in a page. One request to the hub, so that it is quick.

use std::io::{IsTerminal, Read};
use std::path::Path;

use bowline_doors::history::model::{EvaluateRequest, Evaluated};

use super::Context;
use super::history::Place;
use crate::api::Api;
use crate::cli::EvalArgs;
use crate::failure::Failure;
use crate::line::Line;
use crate::safe_text::safe;

pub(super) fn run(context: &Context<'_>, args: &EvalArgs) -> Result<(), Failure> {
    let (tab, request) = request(args)?;
    let mut place = Place::of(&args.place, tab)?;
    let session = context.session(args.session.as_deref())?;
    let way = place.way(context)?;
    let value: Evaluated = context.block_on(async {
        let path = place.scope(&Api::new(way.state())).await?.tab_path("evaluate");
        Line::to(way.state()).post(&path, session, &request, args.timeout).await
    })?;
    show(context, &value);
    Ok(())
}

/// The same over a line that is open, for a browser that the hub knows by name.
pub(super) async fn ask(
    context: &Context<'_>,
    args: &EvalArgs,
    line: &mut Line,
) -> Result<Evaluated, Failure> {
    let (tab, request) = request(args)?;
    let path = Place::of(&args.place, tab)?.named().tab_path("evaluate");
    line.post(&path, context.session(args.session.as_deref())?, &request, args.timeout).await
}

/// The tab, if one is named, and what is to be evaluated there.
fn request(args: &EvalArgs) -> Result<(Option<&str>, EvaluateRequest), Failure> {
    let (tab, source) = parse(&args.words, args.file.as_deref(), std::io::stdin().is_terminal())?;
    let tab = tab.or(args.tab.as_deref());
    let expression = source.read()?;
    if expression.trim().is_empty() {
        return Err(missing());
    }
    let timeout = args.timeout.and_then(|time| u64::try_from(time.as_millis()).ok());
    Ok((tab, EvaluateRequest { expression, timeout }))
}

pub(super) fn show(context: &Context<'_>, value: &Evaluated) {
    if context.output.is_json() {
        context.output.result(value, |_| String::new());
        return;
    }
    let text = text(value);
    if context.output.is_terminal() {
        context.output.line(safe(text));
    } else {
        // As it is: it may be meant for another program.
        context.output.raw(format!("{text}\n").as_bytes());
    }
}

/// A string without quotes, anything else as a console shows it.
fn text(value: &Evaluated) -> &str {
    value.value.as_ref().and_then(|value| value.as_str()).unwrap_or(&value.text)
}

/// Where the expression is.
#[derive(Debug, PartialEq, Eq)]
enum Source<'a> {
    Given(&'a str),
    Stdin,
    File(&'a Path),
}

/// One word is the expression, two are the tab and the expression.
fn parse<'a>(
    words: &'a [String],
    file: Option<&'a Path>,
    stdin_is_terminal: bool,
) -> Result<(Option<&'a str>, Source<'a>), Failure> {
    let given = |word: &'a str| if word == "-" { Source::Stdin } else { Source::Given(word) };
    let (tab, source) = match (words, file) {
        ([], Some(file)) => (None, Source::File(file)),
        ([tab], Some(file)) => (Some(tab.as_str()), Source::File(file)),
        (_, Some(_)) => return Err(Failure::usage("with --file only a tab can be given")),
        ([], None) if stdin_is_terminal => return Err(missing()),
        ([], None) => (None, Source::Stdin),
        ([expression], None) => (None, given(expression)),
        ([tab, expression, ..], None) => (Some(tab.as_str()), given(expression)),
    };
    if tab == Some("") {
        return Err(Failure::usage("the name of the tab is empty"));
    }
    Ok((tab, source))
}

fn missing() -> Failure {
    Failure::usage("an expression is missing").hint("such as bowline eval 'document.title'")
}

impl Source<'_> {
    fn read(self) -> Result<String, Failure> {
        match self {
            Self::Given(expression) => Ok(expression.to_owned()),
            Self::File(path) => std::fs::read_to_string(path)
                .map_err(|error| Failure::io(&path.display().to_string(), &error)),
            Self::Stdin => {
                let mut text = String::new();
                std::io::stdin()
                    .read_to_string(&mut text)
                    .map_err(|error| Failure::io("the expression on stdin", &error))?;
                Ok(text)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use serde_json::{Value, json};

    use super::*;
    use crate::cli::{Cli, Command};

    fn words(words: &[&str]) -> EvalArgs {
        let words = [&["bowline", "eval"], words].concat();
        let Command::Eval(args) = Cli::try_parse_from(words).unwrap().command else { panic!("eval") };
        args
    }

    #[test]
    fn one_word_is_the_expression_and_two_are_tab_and_expression() {
        for (given, tab, source) in [
            (vec!["1+1"], None, Source::Given("1+1")),
            (vec!["2", "1+1"], Some("2"), Source::Given("1+1")),
            (vec!["-"], None, Source::Stdin),
            (vec!["2", "-"], Some("2"), Source::Stdin),
            (vec!["-1"], None, Source::Given("-1")),
            (vec!["--", "-x"], None, Source::Given("-x")),
            (vec!["--file", "a.js"], None, Source::File(Path::new("a.js"))),
            (vec!["2", "--file", "a.js"], Some("2"), Source::File(Path::new("a.js"))),
            (vec![], None, Source::Stdin),
        ] {
            let args = words(&given);
            let parsed = parse(&args.words, args.file.as_deref(), false).unwrap();
            assert_eq!(parsed, (tab, source), "{given:?}");
        }
    }

    #[test]
    fn wrong_words_are_wrong_usage() {
        for given in [vec!["1", "2", "--file", "a.js"], vec!["", "1"]] {
            let args = words(&given);
            assert!(parse(&args.words, args.file.as_deref(), false).is_err(), "{given:?}");
        }
        assert!(parse(&[], None, true).is_err());
        assert!(Cli::try_parse_from(["bowline", "eval", "1", "2", "3"]).is_err());
        for timeout in ["0", "11m", "soon"] {
            assert!(Cli::try_parse_from(["bowline", "eval", "1", "--timeout", timeout]).is_err());
        }
    }

    #[test]
    fn strings_are_printed_without_quotes() {
        let evaluated = |value: Option<Value>, text: &str| Evaluated {
            kind: String::new(),
            subtype: None,
            value,
            text: text.to_owned(),
            tab: String::new(),
            execution_time: 0.0,
        };
        assert_eq!(text(&evaluated(Some(json!("a\"b")), "'a\"b'")), "a\"b");
        assert_eq!(text(&evaluated(Some(json!({"a": 1})), "{a: 1}")), "{a: 1}");
        assert_eq!(text(&evaluated(None, "undefined")), "undefined");
    }
}
