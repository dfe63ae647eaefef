//! Clippy as the compiler of a build, so that linting and building are one pass and nothing is compiled twice:
//! `cargo clippy` is `cargo check` with clippy-driver in rustc's place, and `cargo build` takes it there as well.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::steps;

/// How cargo-clippy hands `-D warnings` to clippy-driver.
const ARGS: (&str, &str) = ("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__");
/// What clippy warns of and rustc does not.
const FAULTY: &str = "pub fn faulty(x: u8) -> u8 {\n    return x;\n}\n";

pub struct Linted {
    driver: PathBuf,
}

impl Linted {
    /// The driver of the toolchain that builds, once it has shown that a warning is an error to it.
    pub fn find() -> Result<Self> {
        let sysroot =
            steps::output(Command::new("rustc").args(["--print", "sysroot"]).current_dir(steps::root()));
        let sysroot = sysroot.context("rustc does not say where it lives")?;
        let driver = format!("clippy-driver{}", std::env::consts::EXE_SUFFIX);
        let linted = Self { driver: PathBuf::from(sysroot).join("bin").join(driver) };
        linted.fails_where_it_must()?;
        Ok(linted)
    }

    /// Builds with it from now on; every cargo that shares the result needs the same.
    pub fn apply(&self, command: &mut Command) {
        command.env("RUSTC_WORKSPACE_WRAPPER", &self.driver).env(ARGS.0, ARGS.1);
    }

    /// How the arguments arrive is between Clippy's own two programs; a change must not go unnoticed.
    fn fails_where_it_must(&self) -> Result<()> {
        let directory = steps::target_dir()?.join("lint");
        std::fs::create_dir_all(&directory)?;
        let source = directory.join("faulty.rs");
        std::fs::write(&source, FAULTY)?;
        let compile = |denies: bool| {
            let mut command = Command::new(&self.driver);
            command
                .arg(&source)
                .args(["--crate-type", "lib", "--emit", "metadata", "--out-dir"])
                .arg(&directory);
            if denies {
                command.env(ARGS.0, ARGS.1);
            } else {
                command.env_remove(ARGS.0);
            }
            let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
            status.with_context(|| format!("cannot run {}", self.driver.display()))
        };
        if !compile(false)?.success() || compile(true)?.success() {
            bail!("clippy-driver no longer makes errors of warnings by {}; see xtask/src/lint.rs", ARGS.0);
        }
        Ok(())
    }
}
