//! `cargo xtask run`: from a machine that has only Rust to a running hub. Installs a browser if there is
//! none, builds the release binary, starts the hub, and runs `bowline demo`, which uses a hub of its
//! own beside it, in a temporary directory, so that its crash harms nobody.

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
    steps::step("hub", Command::new(&bowline).arg("status"))?;
    steps::step("demo", Command::new(&bowline).arg("demo").args(&args.demo))?;
    println!("\nThe binary is {}: copy it anywhere in your PATH.", bowline.display());
    println!("`bowline endpoint` prints the URL that your CDP client connects to; the hub leaves when idle.");
    println!("`bowline --help` lists the commands; README.md and docs/ explain them.");
    Ok(ExitCode::SUCCESS)
}
