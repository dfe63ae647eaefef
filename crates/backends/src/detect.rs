//! Which browsers are installed on this machine, and which of them a user means. Owns
//! the list, its order and its duplicates. It never launches a browser to browse (at most `--version`)
//! and never reads configuration: what the user wanted is passed in.
//!
//! Three questions, from cheap to dear: `choose` finds the one to launch, `detect_paths` lists what is
//! there, `detect` also asks each for its version, which on Linux starts a process per browser.

mod choice;
mod hint;
mod kind;
mod locations;
mod machine;
#[cfg(test)]
pub(crate) mod memory;
mod subprocess;
#[cfg(test)]
mod tests;
mod version;

use std::path::{Path, PathBuf};

use serde::Serialize;

pub use choice::{BROWSER_VARIABLE, ChooseError, choose, kind_meant};
pub use kind::{BrowserKind, UnknownKind};
pub use machine::{Machine, Platform, ThisMachine};

use locations::{names_in_path, usual_places, vendor_places};

/// A browser that can be launched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Installed {
    pub kind: BrowserKind,
    /// What a person calls it, such as "Google Chrome".
    pub name: String,
    /// Only known after `detect` or `with_version`.
    pub version: Option<String>,
    /// Absolute, and as the user would write it: symbolic links are not resolved.
    pub path: PathBuf,
}

impl Installed {
    fn at(kind: BrowserKind, path: PathBuf) -> Self {
        Self { kind, name: kind.name().to_owned(), version: None, path }
    }

    /// Looks up the version, which may start the browser with `--version` and take up to two seconds.
    pub fn with_version(mut self, machine: &dyn Machine) -> Self {
        self.version = version::version_of(machine, self.kind, &self.path);
        self
    }
}

/// Every installed browser in order of preference, with its version where it can be learned.
pub fn detect(machine: &dyn Machine) -> Vec<Installed> {
    // All are asked at once, so that one which hangs costs its own time limit and nobody else's.
    std::thread::scope(|scope| {
        let asked: Vec<_> = detect_paths(machine)
            .into_iter()
            .map(|browser| {
                let fallback = browser.clone();
                (scope.spawn(move || browser.with_version(machine)), fallback)
            })
            .collect();
        asked.into_iter().map(|(asked, fallback)| asked.join().unwrap_or(fallback)).collect()
    })
}

/// Every installed browser in order of preference, without versions: file look-ups only.
pub fn detect_paths(machine: &dyn Machine) -> Vec<Installed> {
    let mut found: Vec<Found> = Vec::new();
    for kind in BrowserKind::ALL {
        let look_at = |path| look(machine, kind, path);
        let before = found.len();
        found.extend(usual_places(machine, kind).into_iter().filter_map(look_at));
        // The other sources are asked one after the other and only while nothing was found: what they
        // hold beside a usual place is nearly always another door to the very same browser.
        if found.len() == before {
            let places = vendor_places(machine.platform(), kind).iter();
            found.extend(places.map(PathBuf::from).filter_map(look_at));
        }
        if found.len() == before {
            let names = names_in_path(kind).iter();
            found.extend(names.filter_map(|name| machine.find_in_path(name)).filter_map(look_at));
        }
    }
    // A stable sort keeps the order of the places within a kind. A browser that was met under another
    // kind's name comes after the ones met under their own.
    found.sort_by_key(|found| (found.kind, found.met_as_other));
    let mut listed: Vec<Found> = Vec::new();
    for found in found {
        if !listed.iter().any(|earlier| earlier.same_installation(&found)) {
            listed.push(found);
        }
    }
    listed.into_iter().map(|found| Installed::at(found.kind, found.path)).collect()
}

/// A place that held an executable, and the file that it leads to.
struct Found {
    kind: BrowserKind,
    met_as_other: bool,
    path: PathBuf,
    real: PathBuf,
    real_dir: String,
}

impl Found {
    /// One installation often has several doors: links to one file, or two commands of one kind side
    /// by side in a directory, such as `chromium` and `chromium-browser`.
    fn same_installation(&self, other: &Found) -> bool {
        self.real == other.real || (self.kind == other.kind && self.real_dir == other.real_dir)
    }
}

fn look(machine: &dyn Machine, kind: BrowserKind, path: PathBuf) -> Option<Found> {
    if !machine.is_executable(&path) || is_stub(machine, &path) {
        return None;
    }
    let real = real_file(machine, &path);
    let platform = machine.platform();
    // Debian's alternatives point `google-chrome` at the beta where only the beta is installed, so the
    // real file's name decides, except for binaries whose name several kinds share.
    let real_name = platform.file_name(&real);
    let real_kind = if kind::is_shared_file_name(real_name) {
        kind
    } else {
        BrowserKind::of_file_name(real_name).unwrap_or(kind)
    };
    let real_dir = platform.parent(&real).unwrap_or_default().to_owned();
    Some(Found { kind: real_kind, met_as_other: real_kind != kind, path, real, real_dir })
}

/// The file a path leads to. Every command of every snap is a link to the one `snap` program, which
/// tells them apart by the name it was called with, so those stand for themselves.
fn real_file(machine: &dyn Machine, path: &Path) -> PathBuf {
    match machine.canonical(path) {
        Some(real) if machine.platform().file_name(&real) != "snap" => real,
        _ => path.to_owned(),
    }
}

/// Ubuntu's /usr/bin/chromium-browser and /usr/bin/firefox are scripts that hand over to the snap, or,
/// without the snap, print how to install it. Debian's /usr/bin/firefox hands over to the ESR. They are
/// never browsers of their own.
fn is_stub(machine: &dyn Machine, path: &Path) -> bool {
    let hands_over_to: &[&str] = match machine.platform().file_name(path) {
        "chromium-browser" => &["/snap/bin/chromium"],
        "firefox" => &["/snap/bin/firefox", "exec firefox-esr"],
        _ => return false,
    };
    machine.platform() == Platform::Linux
        && machine
            .read_text(path, 16 * 1024)
            .is_some_and(|script| hands_over_to.iter().any(|other| script.contains(other)))
}
