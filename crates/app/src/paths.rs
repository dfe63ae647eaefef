//! Where Bowline keeps things. Read from the environment once, and passed on.

use std::env;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;

use crate::bundle::Package;
use crate::failure::{Failure, exit};

#[derive(Debug, Clone)]
pub(crate) struct Paths {
    /// State file, locks: gone after a reboot.
    pub(crate) runtime: PathBuf,
    /// Temporary profiles; apart from `runtime`, which may be a small file system in memory.
    pub(crate) temporary: PathBuf,
    pub(crate) config_file: PathBuf,
    /// Token, names and ports, log.
    pub(crate) state: PathBuf,
    /// Kept profiles.
    pub(crate) data: PathBuf,
    pub(crate) cache: PathBuf,
}

impl Paths {
    pub(crate) fn from_environment() -> Result<Self, Failure> {
        let base = etcetera::choose_base_strategy().map_err(|error| {
            Failure::new(exit::FAILED, "no_home", format!("no home directory: {error}")).hint("set HOME")
        })?;
        let temp_dir = temp_dir()?.join(format!("bowline-{}", user_id()));
        let runtime = own("BOWLINE_RUNTIME_DIR")?
            .or_else(|| set("XDG_RUNTIME_DIR").filter(|dir| dir.is_absolute()).map(|dir| dir.join("bowline")))
            .unwrap_or_else(|| temp_dir.clone());
        let data = own("BOWLINE_DATA_DIR")?.unwrap_or_else(|| base.data_dir().join("bowline"));
        let state = own("BOWLINE_STATE_DIR")?
            .or_else(|| base.state_dir().map(|dir| dir.join("bowline")))
            .unwrap_or_else(|| data.join("state"));
        let config_file =
            own("BOWLINE_CONFIG")?.unwrap_or_else(|| base.config_dir().join("bowline").join("config.toml"));
        let temporary = temp_dir.join("profiles");
        Ok(Self { runtime, temporary, config_file, state, data, cache: base.cache_dir().join("bowline") })
    }

    pub(crate) fn state_file(&self) -> PathBuf {
        self.runtime.join("state.json")
    }

    /// Locked by the hub for as long as it lives.
    pub(crate) fn hub_lock(&self) -> PathBuf {
        self.runtime.join("hub.lock")
    }

    /// Locked by the command that is just starting a hub.
    pub(crate) fn start_lock(&self) -> PathBuf {
        self.runtime.join("start.lock")
    }

    pub(crate) fn log_file(&self) -> PathBuf {
        self.state.join("hub.log")
    }

    pub(crate) fn profiles(&self) -> PathBuf {
        self.data.join("profiles")
    }

    /// What a browser loads the extension from.
    pub(crate) fn extension(&self, package: Package) -> PathBuf {
        self.data.join(match package {
            Package::Chrome => "extension",
            Package::Firefox => "extension-firefox",
            Package::Safari => "extension-safari",
        })
    }

    /// The same in one file, for Firefox.
    pub(crate) fn extension_archive(&self) -> PathBuf {
        self.data.join("bowline.xpi")
    }
}

/// The system's directory for temporary files.
pub(crate) fn temp_dir() -> Result<PathBuf, Failure> {
    absolute(&env::temp_dir())
}

fn set(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn own(variable: &str) -> Result<Option<PathBuf>, Failure> {
    set(variable).map(|path| absolute(&path)).transpose()
}

/// The hub changes its directory, so a path that is relative to ours is made whole first.
fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| Failure::io(&path.display().to_string(), &error))
}

/// A path as a person would write it.
pub(crate) fn shown(path: &Path) -> String {
    let home = env::var_os("HOME").map(PathBuf::from);
    match home.as_ref().and_then(|home| path.strip_prefix(home).ok()) {
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}

fn user_id() -> String {
    #[cfg(unix)]
    return rustix::process::geteuid().as_raw().to_string();
    #[cfg(not(unix))]
    return env::var("USERNAME").unwrap_or_else(|_| "user".to_owned());
}
