//! A browser's version, learned the way each platform allows. It never decides which browser to use.

use std::path::Path;

use super::kind::BrowserKind;
use super::machine::{Machine, Platform};

/// Chrome's own Info.plist is about 15 kB.
const LARGEST_PLIST: usize = 256 * 1024;
/// Firefox's is below 1 kB.
const LARGEST_INI: usize = 64 * 1024;

pub(super) fn version_of(machine: &dyn Machine, kind: BrowserKind, path: &Path) -> Option<String> {
    match machine.platform() {
        Platform::Linux => ask(machine, path),
        Platform::MacOs => from_bundle(machine, path).or_else(|| ask(machine, path)),
        Platform::Windows if kind.is_firefox() => from_ini(machine, path),
        // On Windows `chrome.exe --version` opens a window, so it is never run.
        Platform::Windows => from_directory(machine, path),
    }
}

fn ask(machine: &dyn Machine, path: &Path) -> Option<String> {
    first_version(&machine.version_output(path)?).map(str::to_owned)
}

/// `Chromium 156.0.8078.79 built on Debian` gives `156.0.8078.79`, `Mozilla Firefox 153.7.0esr` gives
/// `153.7.0esr`.
fn first_version(output: &str) -> Option<&str> {
    output.split_whitespace().find(|word| word.contains('.') && is_version(word))
}

/// Firefox writes its channel behind the numbers: `153.7.0esr`, `154.0b3`, `155.0a1`.
fn is_version(word: &str) -> bool {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_digit());
    let numbers = ["esr", "b", "a"].iter().find_map(|channel| digits.strip_suffix(channel)).unwrap_or(word);
    parts(numbers).is_some()
}

/// For `X.app/Contents/MacOS/X` the answer is in `X.app/Contents/Info.plist`.
fn from_bundle(machine: &dyn Machine, path: &Path) -> Option<String> {
    let platform = machine.platform();
    let (contents, directory) = platform.parent(path)?.rsplit_once('/')?;
    if directory != "MacOS" {
        return None;
    }
    let plist = machine.read_text(Path::new(&platform.join(contents, "Info.plist")), LARGEST_PLIST)?;
    let (_, after_key) = plist.split_once("<key>CFBundleShortVersionString</key>")?;
    let (value, _) = after_key.trim_start().strip_prefix("<string>")?.split_once("</string>")?;
    Some(value.trim().to_owned()).filter(|version| is_version(version))
}

/// Beside `chrome.exe` is a directory per version. Two of them mean an update that waits for a
/// restart: while `new_chrome.exe` is there, `chrome.exe` is still the older one.
fn from_directory(machine: &dyn Machine, path: &Path) -> Option<String> {
    let platform = machine.platform();
    let names = machine.list_dir(Path::new(platform.parent(path)?));
    let waiting = format!("new_{}", platform.file_name(path));
    let update_waits = names.iter().any(|name| name.eq_ignore_ascii_case(&waiting));
    let versions = names.iter().filter(|name| parts(name).is_some_and(|parts| parts.len() == 4));
    let key = |name: &&String| parts(name);
    if update_waits { versions.min_by_key(key) } else { versions.max_by_key(key) }.cloned()
}

/// Beside `firefox.exe` is an `application.ini` with a line `Version=153.0`.
fn from_ini(machine: &dyn Machine, path: &Path) -> Option<String> {
    let platform = machine.platform();
    let file = platform.join(platform.parent(path)?, "application.ini");
    let text = machine.read_text(Path::new(&file), LARGEST_INI)?;
    let version = text.lines().find_map(|line| line.trim().strip_prefix("Version="))?.trim();
    is_version(version).then(|| version.to_owned())
}

/// The numbers of a dotted version, so that 99 sorts before 100.
fn parts(text: &str) -> Option<Vec<u32>> {
    text.split('.')
        .map(|part| part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok()).flatten())
        .collect()
}
