//! A machine in memory for tests: any platform, any files, any environment. It never touches the real
//! one, so a test means the same wherever it runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::machine::{Machine, Platform};

pub(crate) struct MemoryMachine {
    platform: Platform,
    working_dir: &'static str,
    env: BTreeMap<String, String>,
    programs: BTreeSet<String>,
    texts: BTreeMap<String, String>,
    links: BTreeMap<String, String>,
    versions: BTreeMap<String, String>,
    pub(crate) programs_run: AtomicUsize,
}

impl MemoryMachine {
    pub(crate) fn linux() -> Self {
        Self::new(Platform::Linux, "/home/ann/src")
            .env("HOME", "/home/ann")
            .env("PATH", "/usr/bin:/home/ann/bin")
    }

    pub(crate) fn macos() -> Self {
        Self::new(Platform::MacOs, "/Users/ann/src")
            .env("HOME", "/Users/ann")
            .env("PATH", "/usr/bin:/opt/homebrew/bin")
    }

    pub(crate) fn windows() -> Self {
        Self::new(Platform::Windows, r"C:\work")
            .env("PROGRAMFILES", r"C:\Program Files")
            .env("PROGRAMFILES(X86)", r"C:\Program Files (x86)")
            .env("LOCALAPPDATA", r"C:\Users\ann\AppData\Local")
            .env("USERPROFILE", r"C:\Users\ann")
            .env("PATH", r"C:\Windows;C:\tools")
    }

    fn new(platform: Platform, working_dir: &'static str) -> Self {
        Self {
            platform,
            working_dir,
            env: BTreeMap::new(),
            programs: BTreeSet::new(),
            texts: BTreeMap::new(),
            links: BTreeMap::new(),
            versions: BTreeMap::new(),
            programs_run: AtomicUsize::new(0),
        }
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.to_owned(), value.to_owned());
        self
    }

    pub(crate) fn without_env(mut self) -> Self {
        self.env.clear();
        self
    }

    /// A file that can be executed.
    pub(crate) fn program(mut self, path: &str) -> Self {
        self.programs.insert(path.to_owned());
        self
    }

    /// A program that answers `--version` with this.
    pub(crate) fn program_saying(mut self, path: &str, version: &str) -> Self {
        self.versions.insert(path.to_owned(), version.to_owned());
        self.program(path)
    }

    /// A text file, executable only if it is also a `program`.
    pub(crate) fn text(mut self, path: &str, text: &str) -> Self {
        self.texts.insert(path.to_owned(), text.to_owned());
        self
    }

    pub(crate) fn link(mut self, path: &str, target: &str) -> Self {
        self.links.insert(path.to_owned(), target.to_owned());
        self
    }

    /// The file behind a path: absolute, links followed.
    fn resolve(&self, path: &Path) -> String {
        let mut path = self.absolute(path).to_string_lossy().into_owned();
        while let Some(target) = self.links.get(&path) {
            path.clone_from(target);
        }
        path
    }
}

impl Machine for MemoryMachine {
    fn platform(&self) -> Platform {
        self.platform
    }

    fn env(&self, name: &str) -> Option<String> {
        self.env.get(name).cloned()
    }

    fn find_in_path(&self, name: &str) -> Option<PathBuf> {
        let (separator, extension) =
            if self.platform == Platform::Windows { (';', ".exe") } else { (':', "") };
        let file = format!("{name}{extension}");
        let path = self.env.get("PATH")?;
        let mut candidates =
            path.split(separator).map(|directory| PathBuf::from(self.platform.join(directory, &file)));
        candidates.find(|candidate| self.is_executable(candidate))
    }

    fn is_file(&self, path: &Path) -> bool {
        let path = self.resolve(path);
        self.programs.contains(&path) || self.texts.contains_key(&path)
    }

    fn is_executable(&self, path: &Path) -> bool {
        self.programs.contains(&self.resolve(path))
    }

    fn canonical(&self, path: &Path) -> Option<PathBuf> {
        self.is_file(path).then(|| self.resolve(path).into())
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        let text = path.to_string_lossy();
        let is_absolute = match self.platform {
            Platform::Windows => text.get(1..3) == Some(r":\"),
            Platform::Linux | Platform::MacOs => text.starts_with('/'),
        };
        let within = text.trim_start_matches("./");
        if is_absolute { path.to_owned() } else { self.platform.join(self.working_dir, within).into() }
    }

    fn read_text(&self, path: &Path, limit: usize) -> Option<String> {
        self.texts.get(&self.resolve(path)).filter(|text| text.len() <= limit).cloned()
    }

    fn list_dir(&self, path: &Path) -> Vec<String> {
        let prefix = self.platform.join(&path.to_string_lossy(), "");
        let inside =
            self.programs.iter().chain(self.texts.keys()).filter_map(|file| file.strip_prefix(&prefix));
        let first = |rest: &str| rest.split(['/', '\\']).next().map(str::to_owned);
        inside.filter_map(first).collect::<BTreeSet<_>>().into_iter().collect()
    }

    fn version_output(&self, program: &Path) -> Option<String> {
        self.programs_run.fetch_add(1, Ordering::Relaxed);
        self.versions.get(&self.resolve(program)).cloned()
    }
}
