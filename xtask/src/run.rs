//! `cargo xtask run`: from a machine that has only Rust to a running demo. Installs a browser if
//! there is none, builds the release binary and lets `bowline demo` do the rest: it starts a hub of
//! its own, in a temporary directory, and ends it again.

use std::ffi::OsString;
use std::process::{Command, ExitCode};

use anyhow::Result;

use crate::install::Permission;
use crate::{browser, steps};

#[derive(clap::Args)]
pub struct Args {
    /// Install nothing; say what is missing
    #[arg(long)]
    no_install: bool,

    /// Arguments for `bowline demo`
    #[arg(last = true, value_name = "ARGS")]
    demo: Vec<OsString>,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    let permission = if args.no_install { Permission::OnlyReport } else { Permission::Install };
    browser::ensure(permission)?;
    steps::step("build", steps::cargo().args(["build", "--release", "-p", "bowline"]))?;
    let bowline = steps::bowline("release")?;
    steps::step("demo", Command::new(&bowline).arg("demo").args(&args.demo))?;
    println!("\nThe binary is {}: copy it anywhere in your PATH.", bowline.display());
    println!("`bowline endpoint` starts the hub and prints the URL that your CDP client connects to.");
    println!("`bowline --help` lists the commands; README.md and docs/ explain them.");
    Ok(ExitCode::SUCCESS)
}
