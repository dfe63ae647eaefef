//! `bowline batch`: commands in order. Verbs and `eval` share one connection to the hub; others do as they always do.

use std::process::ExitCode;

use clap::Parser;

use super::verbs::Asked;
use super::{Context, eval, run_command};
use crate::cli::{BatchArgs, Cli, Command};
use crate::failure::{Failure, exit};
use crate::line::Line;

pub(super) fn run(context: &Context<'_>, args: BatchArgs) -> Result<ExitCode, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::io("the runtime", &error))?;
    let mut batch = Batch { context, args: &args, runtime, line: None };
    let mut has_failed = false;
    for command in commands(&args) {
        let code = match command.and_then(|command| batch.one(&command)) {
            Ok(ExitCode::SUCCESS) => continue,
            // It has said why itself.
            Ok(code) => code,
            Err(failure) => {
                context.output.failure(&failure);
                ExitCode::from(failure.exit)
            }
        };
        if !args.continue_on_error {
            return Ok(code);
        }
        has_failed = true;
    }
    Ok(if has_failed { ExitCode::from(exit::FAILED) } else { ExitCode::SUCCESS })
}

/// Those given, or those on stdin; each is run before the next is read.
fn commands(args: &BatchArgs) -> Box<dyn Iterator<Item = Result<String, Failure>> + '_> {
    let is_command = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    if args.commands.is_empty() {
        // Line by line, so that stdin is free while a command runs.
        let lines = std::iter::from_fn(|| {
            let mut line = String::new();
            match std::io::stdin().read_line(&mut line) {
                Ok(0) => None,
                Ok(_) => Some(Ok(line.trim_end_matches(['\r', '\n']).to_owned())),
                Err(error) => Some(Err(Failure::io("the commands on stdin", &error))),
            }
        });
        return Box::new(lines.filter(move |line| line.as_deref().map_or(true, is_command)));
    }
    let lines = args.commands.iter().flat_map(|command| command.lines());
    Box::new(lines.filter(move |line| is_command(line)).map(|line| Ok(line.to_owned())))
}

struct Batch<'a> {
    context: &'a Context<'a>,
    args: &'a BatchArgs,
    runtime: tokio::runtime::Runtime,
    line: Option<Line>,
}

impl Batch<'_> {
    fn one(&mut self, text: &str) -> Result<ExitCode, Failure> {
        let mut command = parse(text)?;
        if let Command::Eval(args) = &mut command {
            args.inherit(&self.args.whose);
        }
        match command {
            Command::Verb(spoken) => {
                let asked = Asked::of(self.context, spoken.wish()?, &spoken.whose.or(&self.args.whose))?;
                let (runtime, line) = self.line()?;
                let data = runtime.block_on(asked.ask(line))?;
                asked.show(self.context, data)
            }
            Command::Eval(args) if args.place.is_named() => {
                let context = self.context;
                let (runtime, line) = self.line()?;
                let value = runtime.block_on(eval::ask(context, &args, line))?;
                eval::show(context, &value);
                Ok(ExitCode::SUCCESS)
            }
            Command::Batch(_) | Command::Serve(_) | Command::Wrap(_) => {
                Err(Failure::usage(format!("`{text}` cannot be a part of a batch")))
            }
            other => run_command(self.context, other),
        }
    }

    fn line(&mut self) -> Result<(&tokio::runtime::Runtime, &mut Line), Failure> {
        let line = match self.line.take() {
            Some(line) => line,
            None => Line::to(&self.context.hub()?),
        };
        Ok((&self.runtime, self.line.insert(line)))
    }
}

/// A line as a shell would take it apart, with or without the program's name.
fn parse(text: &str) -> Result<Command, Failure> {
    let Some(words) = shlex::split(text) else {
        return Err(Failure::usage(format!("a quote is not closed: {text}")));
    };
    let words = words.iter().map(String::as_str).skip_while(|word| *word == "bowline");
    let cli = Cli::try_parse_from(std::iter::once("bowline").chain(words));
    Ok(cli.map_err(|error| Failure::from(&error))?.command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_apart_as_a_shell_does() {
        for line in ["fill '#name' \"Ada L\"", "bowline fill '#name' Ada\\ L"] {
            let Command::Verb(spoken) = parse(line).unwrap() else { panic!("{line}") };
            assert_eq!(spoken.wish().unwrap().input["value"], "Ada L", "{line}");
        }
        assert_eq!(parse("fill 'x").unwrap_err().exit, exit::USAGE);
        assert_eq!(parse("knot").unwrap_err().exit, exit::USAGE);
    }
}
