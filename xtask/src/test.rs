//! `cargo xtask test`: installs what the tests need, then runs all of them in the order in which they
//! fail fastest. Everything is built once: one profile, one target directory, one set of features.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Result, bail};
use clap::ValueEnum;

use crate::install::Permission;
use crate::lint::Linted;
use crate::node::Node;
use crate::{browser, python, screen, steps};

/// The workspace is always chosen whole and with these features, also where one binary would do:
/// a different choice would give the dependencies other features, and build them a second time.
const WORKSPACE: [&str; 3] = ["--workspace", "--features", "xtask/bench"];

#[derive(clap::Args)]
pub struct Args {
    /// Install nothing; say what is missing
    #[arg(long)]
    no_install: bool,

    /// Run only this part (may be given several times)
    #[arg(long, value_name = "PART")]
    only: Vec<Part>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// cargo fmt --check
    Fmt,
    /// cargo clippy, warnings are errors
    Clippy,
    /// Unit and integration tests of the crates
    Unit,
    /// tests/extension: types, lint, and the extension in a real browser with a scripted hub
    Extension,
    /// tests/e2e: real browsers and published clients against the binary
    E2e,
}

pub fn run(args: &Args) -> Result<ExitCode> {
    let start = Instant::now();
    let permission = if args.no_install { Permission::OnlyReport } else { Permission::Install };
    let wanted = |part| args.only.is_empty() || args.only.contains(&part);

    let (mut node, mut end_to_end, mut extension) = (None, None, None);
    if wanted(Part::Fmt) {
        ensure_component("rustfmt", "fmt", permission)?;
    }
    if wanted(Part::Clippy) {
        ensure_component("clippy", "clippy", permission)?;
    }
    if wanted(Part::Unit) || wanted(Part::Extension) || wanted(Part::E2e) {
        browser::ensure(permission)?;
    }
    if wanted(Part::Extension) || wanted(Part::E2e) {
        let found = Node::ensure(permission)?;
        // The tests of the extension use the library of tests/e2e, and so its packages.
        let e2e = found.ensure_packages("e2e", permission)?;
        screen::ensure(permission)?;
        if wanted(Part::Extension) {
            extension = Some(found.ensure_packages("extension", permission)?);
        }
        if wanted(Part::E2e) {
            let firefox = browser::ensure_firefox(permission)?;
            end_to_end = Some((e2e, python::ensure_schemathesis(permission)?, firefox));
        }
        node = Some(found);
    }

    if wanted(Part::Fmt) {
        steps::step("fmt", steps::cargo().args(["fmt", "--all", "--check"]))?;
    }
    let builds = wanted(Part::Unit) || wanted(Part::E2e);
    let mut linted = None;
    if wanted(Part::Clippy) && builds {
        // One pass for both.
        linted = Some(Linted::find()?);
    } else if wanted(Part::Clippy) {
        let mut clippy = steps::cargo();
        clippy.arg("clippy").args(WORKSPACE).args(["--all-targets", "--", "-D", "warnings"]);
        steps::step("clippy", &mut clippy)?;
    }
    if builds {
        let mut build = steps::cargo();
        build.arg("build").args(WORKSPACE);
        match &linted {
            Some(linted) => {
                build.arg("--all-targets");
                linted.apply(&mut build);
                steps::step("clippy and build", &mut build)?;
            }
            None => {
                build.args(["--bin", "bowline"]);
                if wanted(Part::Unit) {
                    build.arg("--tests");
                }
                steps::step("build", &mut build)?;
            }
        }
    }
    if wanted(Part::Unit) {
        let mut unit = unit_tests();
        if let Some(linted) = &linted {
            linted.apply(&mut unit);
        }
        steps::step("unit", &mut unit)?;
    }
    if let (Some(node), Some(directory)) = (&node, extension) {
        steps::step("extension", node.command("npm").arg("test").current_dir(directory))?;
    }
    if let (Some(node), Some((directory, schemathesis, firefox))) = (&node, end_to_end) {
        run_end_to_end(node, &directory, &schemathesis, &firefox)?;
    }
    println!("\nAll passed in {}.", steps::seconds(start.elapsed()));
    Ok(ExitCode::SUCCESS)
}

fn unit_tests() -> Command {
    let mut command = steps::cargo();
    if steps::output(steps::cargo().args(["nextest", "--version"])).is_some() {
        command.args(["nextest", "run"]);
    } else {
        println!(
            "\ncargo-nextest is not installed (cargo install cargo-nextest --locked); cargo test will do."
        );
        command.args(["test", "--lib", "--bins", "--tests"]);
    }
    command.args(WORKSPACE);
    command
}

fn run_end_to_end(node: &Node, e2e: &Path, schemathesis: &Path, firefox: &Path) -> Result<()> {
    let mut npm = node.command("npm");
    npm.arg("test").current_dir(e2e).env("BOWLINE_BIN", steps::bowline("debug")?);
    npm.env("E2E_SCHEMATHESIS", schemathesis).env("FIREFOX", firefox);
    steps::step("e2e", &mut npm)
}

/// rustup's minimal profile has neither rustfmt nor clippy.
fn ensure_component(component: &str, subcommand: &str, permission: Permission) -> Result<()> {
    if steps::output(steps::cargo().args([subcommand, "--version"])).is_some() {
        return Ok(());
    }
    let by_hand = format!("install by hand: rustup component add {component}");
    if permission == Permission::OnlyReport || steps::output_of("rustup", &["--version"]).is_none() {
        bail!("{component} is missing; {by_hand}");
    }
    println!("\nInstalling the Rust component {component}");
    steps::step(component, Command::new("rustup").args(["component", "add", component]))
}
