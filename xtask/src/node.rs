//! Node.js and the node packages of the tests: found, or installed where that is allowed. Debian 12
//! packages a Node.js that is too old; there a newer one comes through npm into the target directory.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::install::{self, Permission};
use crate::steps;

const OLDEST: u32 = 20;
/// The major version fetched where Debian's own is older than `OLDEST`.
const FETCHED: u32 = 22;

/// A usable Node.js: how to run `node` and `npm` with it.
pub struct Node {
    /// PATH with the directory of the right `node` in front, if it is not the system's.
    path: OsString,
}

impl Node {
    /// Finds Node.js and npm, installing them first if need be.
    pub fn ensure(permission: Permission) -> Result<Self> {
        if let Some(node) = Self::find()? {
            return Ok(node);
        }
        let because = format!(
            "the tests of the extension and the end-to-end tests need Node.js {OLDEST} or later and npm"
        );
        let packaged = match permission {
            Permission::Install => install::candidate_version("nodejs"),
            Permission::OnlyReport => None,
        };
        install::packages(&missing_packages(), &because, permission)?;
        if packaged.as_deref().and_then(major).is_some_and(|major| major < OLDEST) {
            fetch_newer()?;
        }
        Self::find()?.with_context(|| format!("{because}: install it from https://nodejs.org"))
    }

    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("PATH", &self.path);
        command
    }

    /// `npm ci` in the directory `suite` of tests, only if package-lock.json has changed since the last time.
    pub fn ensure_packages(&self, suite: &str, permission: Permission) -> Result<PathBuf> {
        let directory = steps::root().join("tests").join(suite);
        let lock = fs::read(directory.join("package-lock.json")).with_context(|| {
            format!("tests/{suite}/package-lock.json is missing: there is nothing to install for")
        })?;
        // npm deletes node_modules first, so a failed installation leaves no stamp behind.
        let stamp = directory.join("node_modules").join(".installed-package-lock.json");
        if fs::read(&stamp).is_ok_and(|installed| installed == lock) {
            return Ok(directory);
        }
        if permission == Permission::OnlyReport {
            if is_installed_by_hand(&directory) {
                return Ok(directory);
            }
            bail!(
                "tests/{suite}/node_modules is missing or older than package-lock.json, and --no-install was given.\n\
                 Install by hand:\n  cd tests/{suite} && PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 PUPPETEER_SKIP_DOWNLOAD=1 npm ci"
            );
        }
        println!("\nInstalling the node packages of tests/{suite} into tests/{suite}/node_modules");
        let mut npm = self.command("npm");
        npm.args(["ci", "--no-audit", "--no-fund"]).current_dir(&directory);
        // The tests use the installed browser; these packages would download their own.
        npm.env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1").env("PUPPETEER_SKIP_DOWNLOAD", "1");
        steps::step("node packages", &mut npm)?;
        fs::write(&stamp, lock)
            .with_context(|| format!("cannot write the stamp into tests/{suite}/node_modules"))?;
        Ok(directory)
    }

    /// Installs a package by itself into a directory. What comes with scripts of its own must do without them.
    #[cfg(feature = "bench")]
    pub fn install_into(&self, directory: &Path, package: &str) -> Result<()> {
        println!("\nInstalling the node package {package} into {}", directory.display());
        fs::create_dir_all(directory)?;
        let mut npm = self.command("npm");
        npm.args(["install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"]);
        npm.arg(directory).arg(package);
        steps::step("node package", &mut npm)
    }

    fn find() -> Result<Option<Self>> {
        let path = env::var_os("PATH").unwrap_or_default();
        let fetched = fetched_bin()?;
        let with_fetched = env::join_paths(std::iter::once(fetched).chain(env::split_paths(&path)))?;
        let candidates = [path, with_fetched].into_iter().map(|path| Self { path });
        Ok(candidates.into_iter().find(Self::is_usable))
    }

    fn is_usable(&self) -> bool {
        let version = steps::output(self.command("node").arg("--version"));
        version.as_deref().and_then(major).is_some_and(|major| major >= OLDEST)
            && steps::output(self.command("npm").arg("--version")).is_some()
    }
}

/// npm notes what it has installed; an installation that is older than the lock file is for another one.
fn is_installed_by_hand(suite: &Path) -> bool {
    let changed = |path: PathBuf| fs::metadata(path).and_then(|file| file.modified());
    let installed = changed(suite.join("node_modules").join(".package-lock.json"));
    let locked = changed(suite.join("package-lock.json"));
    matches!((installed, locked), (Ok(installed), Ok(locked)) if installed >= locked)
}

fn missing_packages() -> Vec<&'static str> {
    let has = |program| steps::output_of(program, &["--version"]).is_some();
    let wanted = [("node", "nodejs"), ("npm", "npm")];
    // A Node.js that is there but too old is asked for again: a newer one may be in the lists.
    wanted
        .into_iter()
        .filter(|(program, _)| *program == "node" || !has(program))
        .map(|(_, name)| name)
        .collect()
}

fn tools_dir() -> Result<PathBuf> {
    Ok(steps::target_dir()?.join("tools").join("node"))
}

fn fetched_package() -> String {
    let arch = if env::consts::ARCH == "aarch64" { "arm64" } else { "x64" };
    format!("node-linux-{arch}")
}

fn fetched_bin() -> Result<PathBuf> {
    Ok(tools_dir()?.join("node_modules").join(fetched_package()).join("bin"))
}

fn fetch_newer() -> Result<()> {
    let (directory, package) = (tools_dir()?, format!("{}@{FETCHED}", fetched_package()));
    println!("\nThis system packages an old Node.js; installing {package} into {}", directory.display());
    fs::create_dir_all(&directory)?;
    install_into(&directory, &package).context("Node.js: install it by hand from https://nodejs.org")
}

fn install_into(directory: &Path, package: &str) -> Result<()> {
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-save", "--no-audit", "--no-fund", "--prefix"]).arg(directory).arg(package);
    steps::step("Node.js", &mut npm)?;
    if !fetched_bin()?.join("node").is_file() {
        bail!("{package} was installed, but holds no bin/node");
    }
    Ok(())
}

/// The major number of "v20.20.2" or "20.19.2+dfsg-1".
fn major(version: &str) -> Option<u32> {
    version.trim_start_matches('v').split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn major_is_read_from_node_and_from_debian_versions() {
        assert_eq!(major("v20.20.2"), Some(20));
        assert_eq!(major("18.20.4+dfsg-1~deb12u1"), Some(18));
        assert_eq!(major("nothing"), None);
    }
}
