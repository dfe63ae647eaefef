//! The commands of this checkout: `cargo xtask run`, `test`, `bench` and `layout`. This file owns the command
//! line and the exit code; each command has a file of its own.

mod bench;
mod browser;
mod install;
mod lint;
mod node;
mod python;
mod run;
mod screen;
mod steps;
mod test;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

const EXAMPLES: &str = "Examples:
  cargo xtask run                     install a browser if there is none, build, show the demo
  cargo xtask test                    install what the tests need, then run all of them
  cargo xtask test --only clippy      one part: fmt, clippy, unit, extension or e2e
  cargo xtask test --no-install       install nothing; say what is missing
  cargo xtask bench                   compare Bowline with a direct Chromium
  cargo xtask bench --quick           the same in about a minute, less exact
  cargo xtask bench extension         only this: a person's own browser, through the extension
  cargo xtask bench agents            only this: servers for agents, beside those from npm
  cargo xtask bench --update-docs     also rewrite docs/BENCHMARKS.md
  cargo xtask layout                  when the RSS of `bowline mcp` has grown: lay its code out anew

Exit codes: 0 all went well, 1 a step failed or a bar was missed, 2 wrong usage.";

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make sure a browser is there, build the release binary and run `bowline demo`
    Run(run::Args),
    /// Install what the tests need, then format check, clippy, unit, extension and end-to-end tests
    Test(test::Args),
    /// Compare Bowline with a direct Chromium, side by side in one run
    Bench(bench::Args),
    /// Write crates/app/layout.ld anew: what of the binary belongs together (needs valgrind)
    Layout,
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Run(args) => run::run(&args),
        Command::Test(args) => test::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Layout => bench::lay_out(),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("\nFAILED: {error:#}");
            ExitCode::FAILURE
        }
    }
}
