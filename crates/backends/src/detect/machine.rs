//! The file system and the environment as a parameter, so that detection for all three platforms is
//! tested on any one of them. Owns how paths are written on each platform and the real machine. It
//! never knows what a browser is.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::subprocess;

/// How long a program may take to say its version.
const VERSION_LIMIT: Duration = Duration::from_secs(2);

/// The platforms whose habits differ. The BSDs and other Unixes keep browsers where Linux does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Platform {
    Linux,
    MacOs,
    Windows,
}

impl Platform {
    /// The platform this program was built for.
    pub const fn current() -> Self {
        if cfg!(windows) {
            Self::Windows
        } else if cfg!(target_os = "macos") {
            Self::MacOs
        } else {
            Self::Linux
        }
    }

    /// Joins with this platform's separator. `Path::join` would use the one of the machine that runs
    /// the test. `rest` is written with `/` everywhere.
    pub(crate) fn join(self, base: &str, rest: &str) -> String {
        match self {
            Self::Windows => format!("{}\\{}", base.trim_end_matches(['\\', '/']), rest.replace('/', "\\")),
            Self::Linux | Self::MacOs => format!("{}/{rest}", base.trim_end_matches('/')),
        }
    }

    /// The last component, or the whole path if it has no separator. A path that is not Unicode has no
    /// name we could know, so it gives "".
    pub(crate) fn file_name(self, path: &Path) -> &str {
        let text = path.to_str().unwrap_or_default();
        self.split(text).map_or(text, |(_, name)| name)
    }

    /// What stands before the last separator.
    pub(crate) fn parent(self, path: &Path) -> Option<&str> {
        self.split(path.to_str()?).map(|(parent, _)| parent)
    }

    /// Whether a word is written as a path rather than as a name.
    pub(crate) fn has_separator(self, word: &str) -> bool {
        self.split(word).is_some()
    }

    fn split(self, text: &str) -> Option<(&str, &str)> {
        match self {
            Self::Windows => text.rsplit_once(['\\', '/']),
            Self::Linux | Self::MacOs => text.rsplit_once('/'),
        }
    }
}

/// What detection asks of a machine. `Sync`, because versions are asked for in parallel.
pub trait Machine: Sync {
    fn platform(&self) -> Platform;

    /// An environment variable; one that is empty or not Unicode counts as not set.
    fn env(&self, name: &str) -> Option<String>;

    /// The first executable of this name in `PATH`, as an absolute path.
    fn find_in_path(&self, name: &str) -> Option<PathBuf>;

    /// Whether this is a file, after following links.
    fn is_file(&self, path: &Path) -> bool;

    /// Whether this is a file that the current user may execute.
    fn is_executable(&self, path: &Path) -> bool;

    /// The path with every link resolved, or none if it leads nowhere.
    fn canonical(&self, path: &Path) -> Option<PathBuf>;

    /// A relative path made absolute against the working directory, links untouched.
    fn absolute(&self, path: &Path) -> PathBuf;

    /// The whole text of a regular file, or none if it is missing, not Unicode or longer than `limit`.
    fn read_text(&self, path: &Path, limit: usize) -> Option<String>;

    /// The names in a directory; empty if it cannot be read.
    fn list_dir(&self, path: &Path) -> Vec<String>;

    /// What `PROGRAM --version` prints, or none if it does not start or prints nothing in time. It
    /// never hangs.
    fn version_output(&self, program: &Path) -> Option<String>;
}

/// The machine this program runs on.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThisMachine;

impl Machine for ThisMachine {
    fn platform(&self) -> Platform {
        Platform::current()
    }

    fn env(&self, name: &str) -> Option<String> {
        std::env::var(name).ok().filter(|value| !value.is_empty())
    }

    fn find_in_path(&self, name: &str) -> Option<PathBuf> {
        // An empty entry in PATH makes the answer relative to the working directory.
        which::which(name).ok().map(|found| self.absolute(&found))
    }

    fn is_file(&self, path: &Path) -> bool {
        path.is_file()
    }

    fn is_executable(&self, path: &Path) -> bool {
        // For an absolute path `which` searches nothing; it asks the system whether this user may
        // execute the file, which permission bits alone do not say.
        path.is_file() && which::which_global(self.absolute(path)).is_ok()
    }

    fn canonical(&self, path: &Path) -> Option<PathBuf> {
        path.canonicalize().ok()
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
    }

    fn read_text(&self, path: &Path, limit: usize) -> Option<String> {
        // Opening a named pipe would wait for a writer, so only regular files are opened.
        if !path.is_file() {
            return None;
        }
        let mut bytes = Vec::new();
        let one_more = u64::try_from(limit).ok()?.saturating_add(1);
        File::open(path).ok()?.take(one_more).read_to_end(&mut bytes).ok()?;
        if bytes.len() > limit {
            return None;
        }
        String::from_utf8(bytes).ok()
    }

    fn list_dir(&self, path: &Path) -> Vec<String> {
        let Ok(entries) = path.read_dir() else { return Vec::new() };
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }

    fn version_output(&self, program: &Path) -> Option<String> {
        subprocess::output_within(program, &["--version"], VERSION_LIMIT)
    }
}
