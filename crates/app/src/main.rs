//! The `bowline` binary: arguments in, one command run, an exit code out.

mod api;
mod cli;
mod commands;
mod config;
mod failure;
mod find_hub;
mod output;
mod paths;
mod port_holder;
mod serve;
mod tiny_cdp;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::Cli;
use crate::output::Output;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let output = Output::new(cli.json);
    match commands::run(cli, &output) {
        Ok(code) => code,
        Err(failure) => {
            output.failure(&failure);
            ExitCode::from(failure.exit)
        }
    }
}
