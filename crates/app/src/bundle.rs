//! The browser extension that is embedded in this binary, for each kind of browser: its ids, and putting it where a
//! browser can load it from. Knows nothing of hubs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::config::Config;
use crate::zip;

type Files = &'static [(&'static str, &'static [u8])];

/// Every file of each package by its path in it. Empty in a build without the extension.
static PACKAGES: &[(&str, Files)] = include!(concat!(env!("OUT_DIR"), "/extension_files.rs"));

const MANIFEST: &str = "manifest.json";
/// Beside the extension's own files: what wrote them.
const NOTE: &str = "bowline-install.json";

/// The native messaging host's name, which the extension asks for.
pub(crate) const NATIVE_HOST: &str = "dev.bowline.hub";

/// For which browsers the extension is put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Package {
    /// Chrome, and all that is made of Chromium.
    Chrome,
    Firefox,
    /// As source for Apple's converter.
    Safari,
}

impl Package {
    fn name(self) -> &'static str {
        match self {
            Self::Chrome => "chrome",
            Self::Firefox => "firefox",
            Self::Safari => "safari",
        }
    }

    fn files(self) -> Files {
        PACKAGES.iter().find(|(name, _)| *name == self.name()).map_or(&[], |(_, files)| files)
    }

    fn file(self, name: &str) -> Option<&'static [u8]> {
        self.files().iter().find(|(known, _)| *known == name).map(|(_, content)| *content)
    }

    pub(crate) fn is_embedded(self) -> bool {
        !self.files().is_empty()
    }

    /// The extension's own version.
    pub(crate) fn version(self) -> Option<String> {
        version_in(self.file(MANIFEST)?)
    }

    /// The id that a browser knows it by: from the key in the manifest, or, in Firefox, as it is written there.
    pub(crate) fn id(self) -> Option<String> {
        #[derive(Deserialize)]
        struct Manifest {
            browser_specific_settings: Settings,
        }
        #[derive(Deserialize)]
        struct Settings {
            gecko: Gecko,
        }
        #[derive(Deserialize)]
        struct Gecko {
            id: String,
        }
        let manifest = self.file(MANIFEST)?;
        match self {
            Self::Chrome | Self::Safari => bowline_wire::pairing::id_of_manifest(manifest),
            Self::Firefox => {
                let Manifest { browser_specific_settings } = serde_json::from_slice(manifest).ok()?;
                Some(browser_specific_settings.gecko.id)
            }
        }
    }

    /// All of it in one file, as Firefox installs it.
    pub(crate) fn archive(self) -> Vec<u8> {
        zip::archive(self.files().iter().copied())
    }
}

/// The extensions of Chromium that may connect: ours, and those that the user has named.
pub(crate) fn accepted_ids(config: &Config) -> Vec<String> {
    Package::Chrome.id().into_iter().chain(config.extension_ids.iter().cloned()).collect()
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
pub(crate) fn installation(package: Package, dir: &Path) -> Installation {
    let files = package.files();
    let same =
        |(name, content): &(&str, &[u8])| fs::read(dir.join(name)).is_ok_and(|found| found == *content);
    let state = match fs::metadata(dir) {
        Err(_) => Installed::Missing,
        Ok(_) if package.is_embedded() && files.iter().all(same) && count(dir) == files.len() + 1 => {
            Installed::Current
        }
        Ok(_) => Installed::Different,
    };
    let version = fs::read(dir.join(MANIFEST)).ok().and_then(|manifest| version_in(&manifest));
    Installation { path: dir.to_owned(), state, version }
}

/// Writes the extension to `dir` as a whole: a browser sees the old files or the new ones.
pub(crate) fn install(package: Package, dir: &Path) -> io::Result<Change> {
    let before = installation(package, dir);
    if before.state == Installed::Current {
        return Ok(Change::Unchanged);
    }
    let aside = |what: &str| {
        let name = dir.file_name().unwrap_or_default().to_string_lossy();
        dir.with_file_name(format!(".{name}.{what}.{}", std::process::id()))
    };
    let new = aside("new");
    let written = write_all(package, &new).and_then(|()| replace(&new, dir, &aside("old")));
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

fn write_all(package: Package, dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    for (name, content) in package.files() {
        let path = dir.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, content)?;
    }
    let note = serde_json::json!({"bowline": env!("CARGO_PKG_VERSION"), "extension": package.version()});
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
        let installation = |dir: &Path| installation(Package::Chrome, dir);
        let install = |dir: &Path| install(Package::Chrome, dir);
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("extension");
        assert_eq!(installation(&dir).state, Installed::Missing);
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("stale.js"), "old").unwrap();
        assert_eq!(installation(&dir).state, Installed::Different);
        assert_eq!(install(&dir).unwrap(), Change::Updated { from: None });
        assert!(!dir.join("stale.js").exists());
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1, "nothing is left beside it");
        if Package::Chrome.is_embedded() {
            assert_eq!(install(&dir).unwrap(), Change::Unchanged);
            fs::write(dir.join(MANIFEST), "{}").unwrap();
            assert_eq!(installation(&dir).state, Installed::Different);
        }
    }

    #[test]
    fn each_package_has_its_own_manifest_and_no_others() {
        for package in [Package::Chrome, Package::Firefox, Package::Safari] {
            let files = package.files();
            if files.is_empty() {
                continue;
            }
            let manifests = files.iter().filter(|(name, _)| name.ends_with(MANIFEST)).count();
            assert_eq!((manifests, package.version().is_some()), (1, true), "{package:?}");
            assert!(!files.iter().any(|(name, _)| *name == "packages.json"), "{package:?}");
        }
    }
}
