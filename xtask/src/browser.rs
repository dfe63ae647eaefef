//! Finds a Chromium-family browser and a Firefox on this machine, only well enough to know whether one has
//! to be installed and which one to measure. Bowline's own detection is the thorough one.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::install::{self, Permission};

const NAMES: [&str; 12] = [
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "microsoft-edge-stable",
    "msedge",
    "chromium",
    "chromium-browser",
    "ungoogled-chromium",
    "brave-browser",
    "brave",
    "chrome-headless-shell",
];

const PLACES: [&str; 13] = [
    "/opt/google/chrome/chrome",
    "/opt/microsoft/msedge/msedge",
    "/usr/lib/chromium/chromium",
    "/snap/bin/chromium",
    "/opt/brave.com/brave/brave",
    "/var/lib/flatpak/exports/bin/org.chromium.Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Brave Browser.app/Contents/MacOS/Brave Browser",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
    r"C:\Program Files\BraveSoftware\Brave-Browser\Application\brave.exe",
];

const FIREFOX_NAMES: [&str; 2] = ["firefox-esr", "firefox"];

const FIREFOX_PLACES: [&str; 4] = [
    "/snap/bin/firefox",
    "/opt/firefox/firefox",
    "/Applications/Firefox.app/Contents/MacOS/firefox",
    r"C:\Program Files\Mozilla Firefox\firefox.exe",
];

/// The browser of this machine, installed first if there is none and `permission` allows it.
pub fn ensure(permission: Permission) -> Result<PathBuf> {
    if let Some(path) = find() {
        println!("Browser: {}", path.display());
        return Ok(path);
    }
    // Ubuntu's package of this name is a transitional one, but it is the only one there.
    let package = if install::is_ubuntu() { "chromium-browser" } else { "chromium" };
    install::packages(&[package], "no browser was found", permission)?;
    find().context("the browser was installed, but is not in any place where browsers usually are")
}

/// The same for Firefox, which the tests need beside the other.
pub fn ensure_firefox(permission: Permission) -> Result<PathBuf> {
    if let Some(path) = find_firefox() {
        println!("Firefox: {}", path.display());
        return Ok(path);
    }
    let package = if install::is_ubuntu() { "firefox" } else { "firefox-esr" };
    install::packages(&[package], "no Firefox was found", permission)?;
    find_firefox().context("Firefox was installed, but is not in any place where it usually is")
}

fn find_firefox() -> Option<PathBuf> {
    let search_path = env::var_os("PATH").unwrap_or_default();
    find_in(&search_path, &FIREFOX_NAMES, &FIREFOX_PLACES, &|path| path.is_file())
}

/// The browser that BOWLINE_BROWSER names as a path, or the first one found.
pub fn find() -> Option<PathBuf> {
    let chosen = env::var_os("BOWLINE_BROWSER").map(PathBuf::from);
    if let Some(path) = chosen.filter(|path| path.is_absolute() && path.is_file()) {
        return Some(path);
    }
    find_in(&env::var_os("PATH").unwrap_or_default(), &NAMES, &PLACES, &|path| path.is_file())
}

fn find_in(
    search_path: &OsStr,
    names: &[&str],
    places: &[&str],
    is_file: &dyn Fn(&Path) -> bool,
) -> Option<PathBuf> {
    let directories: Vec<PathBuf> = env::split_paths(search_path).collect();
    let in_path = names.iter().flat_map(|name| {
        let file = format!("{name}{}", env::consts::EXE_SUFFIX);
        directories.iter().map(move |directory| directory.join(&file))
    });
    in_path.chain(places.iter().map(PathBuf::from)).find(|path| is_file(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find_among(search_path: &str, files: &[&str]) -> Option<PathBuf> {
        let is_file = |path: &Path| files.iter().any(|file| Path::new(file) == path);
        find_in(OsStr::new(search_path), &NAMES, &PLACES, &is_file)
    }

    #[cfg(unix)]
    #[test]
    fn chrome_wins_over_chromium_wherever_they_are_in_the_path() {
        let found =
            find_among("/usr/bin:/usr/local/bin", &["/usr/bin/chromium", "/usr/local/bin/google-chrome"]);
        assert_eq!(found, Some("/usr/local/bin/google-chrome".into()));
    }

    #[cfg(unix)]
    #[test]
    fn usual_places_are_searched_when_the_path_has_none() {
        assert_eq!(find_among("/usr/bin", &["/snap/bin/chromium"]), Some("/snap/bin/chromium".into()));
        assert_eq!(find_among("/usr/bin", &["/usr/bin/firefox"]), None);
    }

    #[cfg(unix)]
    #[test]
    fn debians_firefox_is_taken_for_what_it_is() {
        let both = |path: &Path| path.starts_with("/usr/bin");
        let found = find_in(OsStr::new("/usr/bin"), &FIREFOX_NAMES, &FIREFOX_PLACES, &both);
        assert_eq!(found, Some("/usr/bin/firefox-esr".into()));
    }
}
