//! Schemathesis, which asks the REST API whatever its description allows: found, or installed from PyPI into
//! an environment of its own in the target directory.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::install::{self, Permission};
use crate::steps;

/// Pinned: a newer one asks other questions.
const PACKAGE: &str = "schemathesis==4.32.5";

/// The path of `schemathesis`, installed first if it is missing or another version.
pub fn ensure_schemathesis(permission: Permission) -> Result<PathBuf> {
    let directory = steps::target_dir()?.join("tools").join("python");
    let (program, stamp) = (bin(&directory, "schemathesis"), directory.join(".installed"));
    if program.is_file() && fs::read_to_string(&stamp).is_ok_and(|installed| installed == PACKAGE) {
        return Ok(program);
    }
    if permission == Permission::OnlyReport {
        bail!(
            "{PACKAGE} is missing, and --no-install was given.\nInstall by hand:\n  \
             python3 -m venv {0} && {1} install {PACKAGE} && printf %s {PACKAGE} > {2}",
            directory.display(),
            bin(&directory, "pip").display(),
            stamp.display(),
        );
    }
    println!("\nInstalling {PACKAGE} from PyPI into {}", directory.display());
    make_environment(&directory, permission)?;
    let mut pip = Command::new(bin(&directory, "python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGE]);
    steps::step("schemathesis", &mut pip)?;
    fs::write(&stamp, PACKAGE).context("cannot write the stamp beside schemathesis")?;
    Ok(program)
}

fn make_environment(directory: &Path, permission: Permission) -> Result<()> {
    let make = || Command::new("python3").args(["-m", "venv", "--clear"]).arg(directory).status();
    if make().is_ok_and(|status| status.success()) {
        return Ok(());
    }
    // Debian has the module in a package of its own.
    install::packages(
        &["python3", "python3-venv"],
        "the end-to-end tests need Python with venv",
        permission,
    )?;
    let status = make().context("cannot run python3")?;
    if !status.success() {
        bail!("python3 -m venv {} ({status})", directory.display());
    }
    Ok(())
}

fn bin(directory: &Path, program: &str) -> PathBuf {
    directory.join(if cfg!(windows) { "Scripts" } else { "bin" }).join(program)
}
