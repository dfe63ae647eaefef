//! The `bowline` binary: arguments in, one command run, an exit code out.

mod address;
mod api;
mod bundle;
mod cli;
mod clock;
mod commands;
mod config;
mod failure;
mod find_hub;
mod http;
mod job;
mod line;
mod output;
mod own_hub;
mod paths;
mod port_holder;
mod safe_text;
mod serve;
mod signals;
mod sse;
mod standby;
mod tiny_cdp;
mod zip;

use std::process::ExitCode;

use crate::cli::Cli;
use crate::failure::Failure;
use crate::output::Output;

fn main() -> ExitCode {
    let cli = match Cli::read() {
        Ok(cli) => cli,
        Err(error) => return not_parsed(&error),
    };
    let output = Output::new(cli.json);
    match commands::run(cli, &output) {
        Ok(code) => code,
        Err(failure) => {
            output.failure(&failure);
            ExitCode::from(failure.exit)
        }
    }
}

/// Help and version go where they always go; so does wrong usage, unless JSON was asked for.
fn not_parsed(error: &clap::Error) -> ExitCode {
    let wants_json = std::env::args_os().take_while(|word| word != "--").any(|word| word == "--json");
    if !(error.use_stderr() && wants_json) {
        error.exit();
    }
    let failure = Failure::from(error);
    Output::new(true).failure(&failure);
    ExitCode::from(failure.exit)
}
