//! `cargo xtask bench`: Bowline against a direct Chromium, interleaved in one run. This file owns the
//! arguments and builds what is measured; the measuring itself is behind the feature `bench`, and
//! always in release, so that the client is not what is slow.

#[cfg(feature = "bench")]
mod agents;
#[cfg(feature = "bench")]
mod cdp;
#[cfg(feature = "bench")]
mod connect;
#[cfg(feature = "bench")]
mod contest;
#[cfg(feature = "bench")]
mod eval;
#[cfg(feature = "bench")]
mod extension;
#[cfg(feature = "bench")]
mod footprint;
#[cfg(feature = "bench")]
mod heat;
#[cfg(feature = "bench")]
mod layout;
#[cfg(feature = "bench")]
mod listener;
#[cfg(feature = "bench")]
mod load;
#[cfg(feature = "bench")]
mod machine;
#[cfg(feature = "bench")]
mod measures;
#[cfg(feature = "bench")]
mod new_tab;
#[cfg(feature = "bench")]
mod report;
#[cfg(feature = "bench")]
mod rest;
#[cfg(feature = "bench")]
mod side;
#[cfg(feature = "bench")]
mod site;
#[cfg(feature = "bench")]
mod stats;
#[cfg(feature = "bench")]
mod usage;

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::steps;

#[derive(clap::Args)]
pub struct Args {
    /// Fewer and shorter rounds: about three minutes, less exact
    #[arg(long)]
    quick: bool,

    /// Rounds per measurement, each measures both sides once [default: 20, quick: 6]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: Option<u16>,

    /// Where the JSON report goes [default: bench.json in the target directory]
    #[arg(long, value_name = "FILE.json")]
    out: Option<PathBuf>,

    /// Also rewrite docs/BENCHMARKS.md, or the sections of what is measured
    #[arg(long, conflicts_with_all = ["self_check", "no_connect"])]
    update_docs: bool,

    /// Leave Playwright's connectOverCDP out: no Node.js is needed then
    #[arg(long)]
    no_connect: bool,

    /// Run a direct Chromium on both sides: every ratio must be near 1.0
    #[arg(long)]
    self_check: bool,

    /// Measure only this; several may be given. --update-docs then rewrites its sections alone
    #[arg(value_enum, value_name = "WHAT", conflicts_with = "self_check")]
    topics: Vec<Topic>,

    /// The same as an option; may be given several times
    #[arg(long, value_enum, value_name = "WHAT", conflicts_with = "self_check")]
    only: Vec<Topic>,
}

/// What can be measured by itself.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Topic {
    /// What the hub costs by itself
    Hub,
    /// `bowline eval` from the shell
    Eval,
    /// The recorder under load
    Load,
    /// Bowline against a direct Chromium
    Contest,
    /// A hub that records against one that does not
    Recording,
    /// A person's own browser through the extension, against the floor of chrome.debugger
    Extension,
    /// `bowline mcp` for agents, beside the servers that npm has
    Agents,
}

impl Args {
    /// What was asked for; everything, if nothing was.
    #[cfg(feature = "bench")]
    fn chosen(&self) -> Vec<Topic> {
        self.topics.iter().chain(&self.only).copied().collect()
    }
}

/// Measures if this is the release build with the feature; builds that and hands over if not.
pub fn run(args: &Args) -> Result<ExitCode> {
    #[cfg(feature = "bench")]
    if !cfg!(debug_assertions) {
        return contest::run(args);
    }
    if !args.self_check {
        steps::step("build", steps::cargo().args(["build", "--release", "-p", "bowline"]))?;
        let bare = ["build", "--release", "-p", "xtask", "--features", "bench", "--bin", "bare"];
        steps::step("build", steps::cargo().args(bare))?;
    }
    let mut measuring = steps::cargo();
    measuring.args(["run", "--release", "-p", "xtask", "--features", "bench", "--"]);
    measuring.args(env::args_os().skip(1)).current_dir(env::current_dir()?);
    println!("\n==> bench");
    let status = measuring.status().context("cannot run cargo")?;
    // The run has said itself what went wrong.
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Writes the layout of the binary's code; needs what measures, too.
pub fn lay_out() -> Result<ExitCode> {
    #[cfg(feature = "bench")]
    {
        layout::run()?;
        Ok(ExitCode::SUCCESS)
    }
    #[cfg(not(feature = "bench"))]
    {
        let mut writing = steps::cargo();
        writing.args(["run", "-p", "xtask", "--features", "bench", "--", "layout"]);
        let status = writing.status().context("cannot run cargo")?;
        Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
