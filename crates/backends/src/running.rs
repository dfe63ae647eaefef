//! Browsers that already run with remote debugging on, found through the `DevToolsActivePort` file in
//! the usual profile directories. Owns where those directories are and how the file reads. It never
//! opens a connection.
//!
//! The file survives the browser's exit, so what is found here is a claim and not a fact: the port may
//! be closed, or belong to another program by now. The caller connects and checks who answers before
//! it believes the claim or shows it to a user.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::detect::{BrowserKind, Machine, Platform};

/// The file is a port and a path of about 60 characters; anything much longer is something else.
const LARGEST_FILE: usize = 1024;

/// What a `DevToolsActivePort` file says about a browser, which may no longer run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunningBrowser {
    pub kind: BrowserKind,
    /// The user data directory that holds the file.
    pub profile_dir: PathBuf,
    /// On the loopback interface.
    pub port: u16,
    /// `/devtools/browser/ID`. Needed where the user switched debugging on for a running profile,
    /// because such a Chrome does not answer on /json.
    pub ws_path: Option<String>,
}

/// Every usual profile directory with a well-formed `DevToolsActivePort`, in order of preference. The
/// caller checks the port: the file survives the browser.
pub fn find_running(machine: &dyn Machine) -> Vec<RunningBrowser> {
    usual_profile_dirs(machine)
        .into_iter()
        .filter_map(|(kind, profile_dir)| {
            let (port, ws_path) = read_active_port(machine, &profile_dir)?;
            Some(RunningBrowser { kind, profile_dir, port, ws_path })
        })
        .collect()
}

/// Where each kind keeps its user data unless it was told otherwise, in order of preference, whether
/// the directory exists or not. The headless shell has no usual one.
pub fn usual_profile_dirs(machine: &dyn Machine) -> Vec<(BrowserKind, PathBuf)> {
    let mut directories = match machine.platform() {
        Platform::Linux => on_linux(machine),
        Platform::MacOs => below(machine, "HOME", "Library/Application Support", &MACOS),
        Platform::Windows => below(machine, "LOCALAPPDATA", "", &WINDOWS),
    };
    // A stable sort: a kind's native directory stays before its sandboxed ones.
    directories.sort_by_key(|(kind, _)| *kind);
    directories.into_iter().map(|(kind, directory)| (kind, directory.into())).collect()
}

/// Port and path of the browser that uses a profile, or did when it last ran.
pub(crate) fn read_active_port(machine: &dyn Machine, profile_dir: &Path) -> Option<(u16, Option<String>)> {
    let file = machine.platform().join(profile_dir.to_str()?, "DevToolsActivePort");
    parse_active_port(&machine.read_text(Path::new(&file), LARGEST_FILE)?)
}

/// The first line is the port, the second the path. The browser writes the file in one go, but old
/// ones wrote no path.
fn parse_active_port(text: &str) -> Option<(u16, Option<String>)> {
    let mut lines = text.lines().map(str::trim);
    let port = lines.next().filter(|line| line.bytes().all(|byte| byte.is_ascii_digit()))?;
    let port = port.parse().ok().filter(|port| *port != 0)?;
    match lines.next().filter(|line| !line.is_empty()) {
        None => Some((port, None)),
        Some(path) if is_browser_path(path) => Some((port, Some(path.to_owned()))),
        // Half a truth is not used: whoever wrote this was not a browser.
        Some(_) => None,
    }
}

/// The path goes into an HTTP request line, so only what a browser writes is let through.
fn is_browser_path(path: &str) -> bool {
    path.strip_prefix("/devtools/browser/").is_some_and(|id| {
        !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    })
}

type Directory = (BrowserKind, &'static str);

/// Below the configuration directory. ungoogled-chromium uses Chromium's.
const LINUX: [Directory; 12] = [
    (BrowserKind::Chrome, "google-chrome"),
    (BrowserKind::ChromeBeta, "google-chrome-beta"),
    (BrowserKind::ChromeDev, "google-chrome-unstable"),
    (BrowserKind::ChromeCanary, "google-chrome-canary"),
    (BrowserKind::Edge, "microsoft-edge"),
    (BrowserKind::EdgeBeta, "microsoft-edge-beta"),
    (BrowserKind::EdgeDev, "microsoft-edge-dev"),
    (BrowserKind::EdgeCanary, "microsoft-edge-canary"),
    (BrowserKind::Chromium, "chromium"),
    (BrowserKind::Brave, "BraveSoftware/Brave-Browser"),
    (BrowserKind::BraveBeta, "BraveSoftware/Brave-Browser-Beta"),
    (BrowserKind::BraveNightly, "BraveSoftware/Brave-Browser-Nightly"),
];

/// Below the home directory: Snap and Flatpak give each application a home of its own.
const LINUX_SANDBOXED: [Directory; 10] = [
    (BrowserKind::Chrome, ".var/app/com.google.Chrome/config/google-chrome"),
    (BrowserKind::ChromeDev, ".var/app/com.google.ChromeDev/config/google-chrome-unstable"),
    (BrowserKind::Edge, ".var/app/com.microsoft.Edge/config/microsoft-edge"),
    (BrowserKind::EdgeDev, ".var/app/com.microsoft.EdgeDev/config/microsoft-edge-dev"),
    (BrowserKind::Chromium, "snap/chromium/common/chromium"),
    (BrowserKind::Chromium, ".var/app/org.chromium.Chromium/config/chromium"),
    (BrowserKind::Brave, "snap/brave/current/.config/BraveSoftware/Brave-Browser"),
    (BrowserKind::Brave, ".var/app/com.brave.Browser/config/BraveSoftware/Brave-Browser"),
    (
        BrowserKind::UngoogledChromium,
        ".var/app/io.github.ungoogled_software.ungoogled_chromium/config/chromium",
    ),
    (BrowserKind::UngoogledChromium, ".var/app/com.github.Eloston.UngoogledChromium/config/chromium"),
];

/// Below ~/Library/Application Support.
const MACOS: [Directory; 12] = [
    (BrowserKind::Chrome, "Google/Chrome"),
    (BrowserKind::ChromeBeta, "Google/Chrome Beta"),
    (BrowserKind::ChromeDev, "Google/Chrome Dev"),
    (BrowserKind::ChromeCanary, "Google/Chrome Canary"),
    (BrowserKind::Edge, "Microsoft Edge"),
    (BrowserKind::EdgeBeta, "Microsoft Edge Beta"),
    (BrowserKind::EdgeDev, "Microsoft Edge Dev"),
    (BrowserKind::EdgeCanary, "Microsoft Edge Canary"),
    (BrowserKind::Chromium, "Chromium"),
    (BrowserKind::Brave, "BraveSoftware/Brave-Browser"),
    (BrowserKind::BraveBeta, "BraveSoftware/Brave-Browser-Beta"),
    (BrowserKind::BraveNightly, "BraveSoftware/Brave-Browser-Nightly"),
];

/// Below %LOCALAPPDATA%.
const WINDOWS: [Directory; 12] = [
    (BrowserKind::Chrome, "Google/Chrome/User Data"),
    (BrowserKind::ChromeBeta, "Google/Chrome Beta/User Data"),
    (BrowserKind::ChromeDev, "Google/Chrome Dev/User Data"),
    (BrowserKind::ChromeCanary, "Google/Chrome SxS/User Data"),
    (BrowserKind::Edge, "Microsoft/Edge/User Data"),
    (BrowserKind::EdgeBeta, "Microsoft/Edge Beta/User Data"),
    (BrowserKind::EdgeDev, "Microsoft/Edge Dev/User Data"),
    (BrowserKind::EdgeCanary, "Microsoft/Edge SxS/User Data"),
    (BrowserKind::Chromium, "Chromium/User Data"),
    (BrowserKind::Brave, "BraveSoftware/Brave-Browser/User Data"),
    (BrowserKind::BraveBeta, "BraveSoftware/Brave-Browser-Beta/User Data"),
    (BrowserKind::BraveNightly, "BraveSoftware/Brave-Browser-Nightly/User Data"),
];

/// Chromium's own rule: CHROME_CONFIG_HOME, then XDG_CONFIG_HOME, then ~/.config. Only the first that
/// is set counts, so a user who moved the configuration away is not taken back to the old one.
fn on_linux(machine: &dyn Machine) -> Vec<(BrowserKind, String)> {
    let home = below(machine, "HOME", ".config", &LINUX);
    let native = ["CHROME_CONFIG_HOME", "XDG_CONFIG_HOME"]
        .iter()
        .map(|variable| below(machine, variable, "", &LINUX))
        .find(|directories| !directories.is_empty())
        .unwrap_or(home);
    native.into_iter().chain(below(machine, "HOME", "", &LINUX_SANDBOXED)).collect()
}

/// The directories below a variable's value; none if the variable is not set.
fn below(
    machine: &dyn Machine,
    variable: &str,
    middle: &str,
    table: &[Directory],
) -> Vec<(BrowserKind, String)> {
    let platform = machine.platform();
    let Some(base) = machine.env(variable) else { return Vec::new() };
    let base = if middle.is_empty() { base } else { platform.join(&base, middle) };
    table.iter().map(|(kind, rest)| (*kind, platform.join(&base, rest))).collect()
}
