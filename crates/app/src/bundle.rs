//! The browser extension that is embedded in this binary: its id, and putting it where a browser can
//! load it from. Knows nothing of hubs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::config::Config;

/// Every file of the extension by its path in it. Empty in a build without one.
static FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/extension_files.rs"));

const MANIFEST: &str = "manifest.json";
/// Beside the extension's own files: what wrote them.
const NOTE: &str = "bowline-install.json";

/// The native messaging host's name, which the extension asks for.
pub(crate) const NATIVE_HOST: &str = "dev.bowline.hub";

/// The id that a browser gives to our extension, from the key in its manifest.
pub(crate) fn own_id() -> Option<String> {
    bowline_wire::pairing::id_of_manifest(file(MANIFEST)?)
}

/// The extensions that may connect: ours, and those that the user has named.
pub(crate) fn accepted_ids(config: &Config) -> Vec<String> {
    own_id().into_iter().chain(config.extension_ids.iter().cloned()).collect()
}

/// The extension's own version.
pub(crate) fn version() -> Option<String> {
    version_in(file(MANIFEST)?)
}

pub(crate) fn is_embedded() -> bool {
    !FILES.is_empty()
}

fn file(name: &str) -> Option<&'static [u8]> {
    FILES.iter().find(|(known, _)| *known == name).map(|(_, content)| *content)
}

fn version_in(manifest: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Manifest {
        version: String,
    }
    serde_json::from_slice::<Manifest>(manifest).ok().map(|manifest| manifest.version)
}

/// What is in the directory that a browser loads the extension from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Installed {
    Missing,
    /// Exactly what this binary has.
    Current,
    /// Something else: of another version, or changed.
    Different,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Installation {
    pub(crate) path: PathBuf,
    pub(crate) state: Installed,
    /// The version that lies there.
    pub(crate) version: Option<String>,
}

/// What `install` has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    New,
    Updated { from: Option<String> },
    Unchanged,
}

/// Looks at what lies in `dir`.
pub(crate) fn installation(dir: &Path) -> Installation {
    let same =
        |(name, content): &(&str, &[u8])| fs::read(dir.join(name)).is_ok_and(|found| found == *content);
    let state = match fs::metadata(dir) {
        Err(_) => Installed::Missing,
        Ok(_) if is_embedded() && FILES.iter().all(same) && count(dir) == FILES.len() + 1 => {
            Installed::Current
        }
        Ok(_) => Installed::Different,
    };
    let version = fs::read(dir.join(MANIFEST)).ok().and_then(|manifest| version_in(&manifest));
    Installation { path: dir.to_owned(), state, version }
}

/// Writes the extension to `dir` as a whole: a browser sees the old files or the new ones.
pub(crate) fn install(dir: &Path) -> io::Result<Change> {
    let before = installation(dir);
    if before.state == Installed::Current {
        return Ok(Change::Unchanged);
    }
    let aside = |what: &str| {
        let name = dir.file_name().unwrap_or_default().to_string_lossy();
        dir.with_file_name(format!(".{name}.{what}.{}", std::process::id()))
    };
    let new = aside("new");
    let written = write_all(&new).and_then(|()| replace(&new, dir, &aside("old")));
    // What was there before, or the half that was written.
    for left in [new, aside("old")] {
        let _ = fs::remove_dir_all(left);
    }
    written?;
    Ok(match before.state {
        Installed::Missing => Change::New,
        _ => Change::Updated { from: before.version },
    })
}

fn write_all(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    for (name, content) in FILES {
        let path = dir.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, content)?;
    }
    let note = serde_json::json!({"bowline": env!("CARGO_PKG_VERSION"), "extension": version()});
    fs::write(dir.join(NOTE), format!("{note}\n"))
}

/// Puts `new` in the place of `dir`, and what was there to `old` or `new`.
fn replace(new: &Path, dir: &Path, old: &Path) -> io::Result<()> {
    if fs::symlink_metadata(dir).is_err() {
        return fs::rename(new, dir);
    }
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        if renameat_with(CWD, new, CWD, dir, RenameFlags::EXCHANGE).is_ok() {
            return Ok(());
        }
    }
    // A file system that cannot exchange them has neither for a moment.
    fs::rename(dir, old)?;
    fs::rename(new, dir)
}

/// Files in a directory and below.
fn count(dir: &Path) -> usize {
    let Ok(entries) = fs::read_dir(dir) else { return 0 };
    entries
        .filter_map(Result::ok)
        .map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => count(&entry.path()),
            _ => 1,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installing_twice_changes_nothing_and_a_changed_file_is_mended() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("extension");
        assert_eq!(installation(&dir).state, Installed::Missing);
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("stale.js"), "old").unwrap();
        assert_eq!(installation(&dir).state, Installed::Different);
        assert_eq!(install(&dir).unwrap(), Change::Updated { from: None });
        assert!(!dir.join("stale.js").exists());
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1, "nothing is left beside it");
        if is_embedded() {
            assert_eq!(install(&dir).unwrap(), Change::Unchanged);
            fs::write(dir.join(MANIFEST), "{}").unwrap();
            assert_eq!(installation(&dir).state, Installed::Different);
        }
    }
}
