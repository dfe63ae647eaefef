//! Installs Debian packages, and says so before it does. Where it may not, the error says what to
//! install by hand. Never asks a question.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::steps;

/// Whether anything may be installed at all.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Permission {
    Install,
    /// The user said --no-install.
    OnlyReport,
}

/// Installs `packages` with apt-get. `because` completes the sentence that the user reads first.
pub fn packages(packages: &[&str], because: &str, permission: Permission) -> Result<()> {
    let list = packages.join(" ");
    if permission == Permission::OnlyReport {
        bail!("{because}, and --no-install was given.\n{}", by_hand(packages));
    }
    let Some(prefix) = privilege() else {
        bail!("{because}, and it cannot be installed from here.\n{}", by_hand(packages));
    };
    println!("\nInstalling with apt-get, because {because}: {list}");
    let missing_candidate = packages.iter().any(|package| candidate(package).is_none());
    if missing_candidate {
        steps::step("update of the package lists", &mut apt(prefix, &["update"]))?;
    }
    let mut install = vec!["install", "-y", "--no-install-recommends"];
    install.extend(packages);
    let first = steps::step("installation", &mut apt(prefix, &install));
    if first.is_err() && !missing_candidate {
        // Old package lists name versions that the mirror has already replaced.
        steps::step("update of the package lists", &mut apt(prefix, &["update"]))?;
        return steps::step("installation", &mut apt(prefix, &install)).with_context(|| by_hand(packages));
    }
    first.with_context(|| by_hand(packages))
}

/// The version that apt-get would install, with its lists refreshed first if it knows none.
pub fn candidate_version(package: &str) -> Option<String> {
    if let Some(version) = candidate(package) {
        return Some(version);
    }
    steps::step("update of the package lists", &mut apt(privilege()?, &["update"])).ok()?;
    candidate(package)
}

pub fn is_ubuntu() -> bool {
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    release.lines().any(|line| line == "ID=ubuntu")
}

fn candidate(package: &str) -> Option<String> {
    let policy = steps::output(Command::new("apt-cache").args(["policy", package]).env("LC_ALL", "C"))?;
    parse_candidate(&policy)
}

fn parse_candidate(policy: &str) -> Option<String> {
    let version = policy.lines().find_map(|line| line.trim().strip_prefix("Candidate: "))?;
    (version != "(none)").then(|| version.to_owned())
}

/// What stands before apt-get: nothing for root, sudo where it needs no password. None where
/// neither holds, or where there is no apt-get.
fn privilege() -> Option<&'static [&'static str]> {
    steps::output_of("apt-get", &["--version"])?;
    if steps::output_of("id", &["-u"])? == "0" {
        return Some(&[]);
    }
    steps::output_of("sudo", &["-n", "true"]).map(|_| ["sudo", "-n"].as_slice())
}

fn apt(prefix: &[&str], args: &[&str]) -> Command {
    // Through env, because sudo does not pass our own environment on.
    let words = prefix.iter().chain(&["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]).chain(args);
    let words: Vec<&str> = words.copied().collect();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    command
}

fn by_hand(packages: &[&str]) -> String {
    let list = packages.join(" ");
    let mut text = format!("Install by hand, on Debian or Ubuntu:\n  sudo apt-get install {list}");
    if packages.iter().any(|package| package.starts_with("chromium")) {
        text += "\nElsewhere: Google Chrome, Edge, Chromium or Brave, from their makers or by\n  \
                 sudo dnf install chromium | sudo pacman -S chromium | brew install --cask chromium\n\
                 A browser in an unusual place: BOWLINE_BROWSER=/path/to/it";
    }
    if packages.iter().any(|package| package.starts_with("firefox")) {
        text += "\nElsewhere: Firefox, from https://www.mozilla.org/firefox or by\n  \
                 sudo dnf install firefox | sudo pacman -S firefox | brew install --cask firefox";
    }
    if packages.contains(&"nodejs") || packages.contains(&"npm") {
        text += "\nElsewhere: Node.js 20 or later with npm, from https://nodejs.org";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidate_is_read_from_apt_cache_policy() {
        let known = "nodejs:\n  Installed: (none)\n  Candidate: 20.19.2+dfsg-1\n  Version table:\n";
        assert_eq!(parse_candidate(known).as_deref(), Some("20.19.2+dfsg-1"));
        assert_eq!(parse_candidate("x:\n  Installed: (none)\n  Candidate: (none)\n"), None);
        assert_eq!(parse_candidate(""), None);
    }
}
