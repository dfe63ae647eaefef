//! Where each kind of browser is usually installed, as data, for Linux, macOS and Windows. Owns the
//! lists and nothing else: it never looks whether anything is there.

use std::path::PathBuf;

use super::kind::BrowserKind;
use super::machine::{Machine, Platform};

/// The places to look for one kind, best first.
pub(super) fn usual_places(machine: &dyn Machine, kind: BrowserKind) -> Vec<PathBuf> {
    let places = match machine.platform() {
        Platform::Linux => on_linux(machine, kind),
        Platform::MacOs => on_macos(machine, kind),
        Platform::Windows => on_windows(machine, kind),
    };
    places.into_iter().map(PathBuf::from).collect()
}

/// The commands of one kind, best first. Also what to look for in `PATH`, on every platform.
pub(super) fn names_in_path(kind: BrowserKind) -> &'static [&'static str] {
    match kind {
        // The name that says "stable" comes first, because the shorter one can be an alternative that
        // leads to the beta.
        BrowserKind::Chrome => &["google-chrome-stable", "google-chrome", "chrome"],
        BrowserKind::ChromeBeta => &["google-chrome-beta"],
        BrowserKind::ChromeDev => &["google-chrome-unstable"],
        BrowserKind::ChromeCanary => &["google-chrome-canary"],
        BrowserKind::Edge => &["microsoft-edge-stable", "microsoft-edge", "msedge"],
        BrowserKind::EdgeBeta => &["microsoft-edge-beta"],
        BrowserKind::EdgeDev => &["microsoft-edge-dev"],
        BrowserKind::EdgeCanary => &["microsoft-edge-canary"],
        BrowserKind::Chromium => &["chromium", "chromium-browser"],
        BrowserKind::Brave => &["brave-browser-stable", "brave-browser", "brave"],
        BrowserKind::BraveBeta => &["brave-browser-beta"],
        BrowserKind::BraveNightly => &["brave-browser-nightly"],
        BrowserKind::UngoogledChromium => &["ungoogled-chromium"],
        BrowserKind::HeadlessShell => {
            &["chrome-headless-shell", "chromium-headless-shell", "headless-shell", "headless_shell"]
        }
        BrowserKind::Firefox => &["firefox"],
        BrowserKind::FirefoxEsr => &["firefox-esr"],
        BrowserKind::FirefoxBeta => &["firefox-beta"],
        // Mozilla's own packages, then Arch's.
        BrowserKind::FirefoxDev => &["firefox-devedition", "firefox-developer-edition"],
        BrowserKind::FirefoxNightly => &["firefox-nightly", "firefox-trunk"],
    }
}

/// Distribution packages first. Snap and Flatpak come last, because their sandbox hides parts of the
/// file system, such as a profile directory in /tmp, from the browser.
fn on_linux(machine: &dyn Machine, kind: BrowserKind) -> Vec<String> {
    let platform = Platform::Linux;
    let mut places = Vec::new();
    // What an administrator put into /usr/local is meant to win over the distribution's.
    for directory in ["/usr/local/bin", "/usr/bin"] {
        places.extend(names_in_path(kind).iter().map(|name| platform.join(directory, name)));
    }
    let snap = match kind {
        BrowserKind::Chromium => Some("chromium"),
        BrowserKind::Brave => Some("brave"),
        BrowserKind::Firefox => Some("firefox"),
        _ => None,
    };
    for directory in ["/snap/bin", "/var/lib/snapd/snap/bin"] {
        places.extend(snap.map(|name| platform.join(directory, name)));
    }
    let home = machine.env("HOME");
    let user_data = machine.env("XDG_DATA_HOME").or(home.map(|home| platform.join(&home, ".local/share")));
    for data in std::iter::once("/var/lib".to_owned()).chain(user_data) {
        let exports = platform.join(&data, "flatpak/exports/bin");
        places.extend(kind.flatpak_ids().iter().map(|id| platform.join(&exports, id)));
    }
    places
}

/// Where the vendors' own packages unpack on Linux, for systems without the command in /usr/bin. To be
/// asked only when the usual places are empty: on some distributions that command is a script, and
/// nothing but its text would tell that both are one installation.
pub(super) fn vendor_places(platform: Platform, kind: BrowserKind) -> &'static [&'static str] {
    if platform != Platform::Linux {
        return &[];
    }
    match kind {
        BrowserKind::Chrome => &["/opt/google/chrome/chrome"],
        BrowserKind::ChromeBeta => &["/opt/google/chrome-beta/chrome"],
        BrowserKind::ChromeDev => &["/opt/google/chrome-unstable/chrome"],
        BrowserKind::ChromeCanary => &["/opt/google/chrome-canary/chrome"],
        BrowserKind::Edge => &["/opt/microsoft/msedge/msedge"],
        BrowserKind::EdgeBeta => &["/opt/microsoft/msedge-beta/msedge"],
        BrowserKind::EdgeDev => &["/opt/microsoft/msedge-dev/msedge"],
        BrowserKind::EdgeCanary => &["/opt/microsoft/msedge-canary/msedge"],
        // Distributions keep the binary behind a script in /usr/bin that adds their flags.
        BrowserKind::Chromium => &[],
        BrowserKind::Brave => &["/opt/brave.com/brave/brave", "/opt/brave-bin/brave"],
        BrowserKind::BraveBeta => &["/opt/brave.com/brave-beta/brave"],
        BrowserKind::BraveNightly => &["/opt/brave.com/brave-nightly/brave"],
        BrowserKind::UngoogledChromium => &["/opt/ungoogled-chromium/chrome"],
        BrowserKind::HeadlessShell => {
            &["/opt/chrome-headless-shell/chrome-headless-shell", "/headless-shell/headless-shell"]
        }
        // Mozilla's archive, unpacked where its instructions say.
        BrowserKind::Firefox => &["/opt/firefox/firefox", "/usr/lib/firefox/firefox"],
        BrowserKind::FirefoxEsr => &["/opt/firefox-esr/firefox", "/usr/lib/firefox-esr/firefox-esr"],
        BrowserKind::FirefoxBeta => &["/opt/firefox-beta/firefox"],
        BrowserKind::FirefoxDev => &["/opt/firefox-developer-edition/firefox", "/opt/firefox-dev/firefox"],
        BrowserKind::FirefoxNightly => &["/opt/firefox-nightly/firefox"],
    }
}

/// The name of the bundle is also the name of the binary inside, except in Firefox's. ungoogled-chromium
/// calls its bundle `Chromium.app` and is met as such; Firefox's beta and ESR are `Firefox.app`.
fn on_macos(machine: &dyn Machine, kind: BrowserKind) -> Vec<String> {
    let bundle = match kind {
        BrowserKind::Brave => "Brave Browser",
        BrowserKind::BraveBeta => "Brave Browser Beta",
        BrowserKind::BraveNightly => "Brave Browser Nightly",
        BrowserKind::UngoogledChromium
        | BrowserKind::HeadlessShell
        | BrowserKind::FirefoxEsr
        | BrowserKind::FirefoxBeta => return Vec::new(),
        other => other.name(),
    };
    let inside = format!("Applications/{bundle}.app/Contents/MacOS/{}", binary_in(bundle));
    let home = machine.env("HOME").map(|home| Platform::MacOs.join(&home, &inside));
    std::iter::once(Platform::MacOs.join("/", &inside)).chain(home).collect()
}

/// What the program inside a macOS bundle is called.
pub(super) fn binary_in(bundle: &str) -> &str {
    if bundle.starts_with("Firefox") { "firefox" } else { bundle }
}

/// Installed for everybody, by a 32-bit installer, or for one user. A Firefox beta or ESR may be in the
/// directory of the stable one, and is then met as such.
fn on_windows(machine: &dyn Machine, kind: BrowserKind) -> Vec<String> {
    let inside = match kind {
        BrowserKind::Chrome => "Google/Chrome/Application/chrome.exe",
        BrowserKind::ChromeBeta => "Google/Chrome Beta/Application/chrome.exe",
        BrowserKind::ChromeDev => "Google/Chrome Dev/Application/chrome.exe",
        BrowserKind::ChromeCanary => "Google/Chrome SxS/Application/chrome.exe",
        BrowserKind::Edge => "Microsoft/Edge/Application/msedge.exe",
        BrowserKind::EdgeBeta => "Microsoft/Edge Beta/Application/msedge.exe",
        BrowserKind::EdgeDev => "Microsoft/Edge Dev/Application/msedge.exe",
        BrowserKind::EdgeCanary => "Microsoft/Edge SxS/Application/msedge.exe",
        BrowserKind::Chromium => "Chromium/Application/chrome.exe",
        BrowserKind::Brave => "BraveSoftware/Brave-Browser/Application/brave.exe",
        BrowserKind::BraveBeta => "BraveSoftware/Brave-Browser-Beta/Application/brave.exe",
        BrowserKind::BraveNightly => "BraveSoftware/Brave-Browser-Nightly/Application/brave.exe",
        // Its installer uses Chromium's directory; only the package manager Scoop gives it its own.
        BrowserKind::UngoogledChromium => {
            let home = machine.env("USERPROFILE");
            let inside = "scoop/apps/ungoogled-chromium/current/chrome.exe";
            return home.iter().map(|home| Platform::Windows.join(home, inside)).collect();
        }
        BrowserKind::HeadlessShell => return Vec::new(),
        BrowserKind::Firefox => "Mozilla Firefox/firefox.exe",
        BrowserKind::FirefoxEsr => "Mozilla Firefox ESR/firefox.exe",
        BrowserKind::FirefoxBeta => "Mozilla Firefox Beta/firefox.exe",
        BrowserKind::FirefoxDev => "Firefox Developer Edition/firefox.exe",
        BrowserKind::FirefoxNightly => "Firefox Nightly/firefox.exe",
    };
    ["PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA"]
        .iter()
        .filter_map(|variable| machine.env(variable))
        .map(|base| Platform::Windows.join(&base, inside))
        .collect()
}
