//! The kinds of browser we know by name: the word a user writes, the name a person reads, and the
//! other names a kind goes by. It never knows where a browser is installed.

use std::fmt;
use std::str::FromStr;

use bowline_hub::backend::Protocol;
use serde::{Serialize, Serializer};

/// A browser of the Chromium family, or a Firefox. The order of the variants is the order of preference:
/// each vendor's stable release, then its pre-releases, then the next vendor. Those that speak CDP come
/// first: it is what most clients ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BrowserKind {
    Chrome,
    ChromeBeta,
    ChromeDev,
    ChromeCanary,
    Edge,
    EdgeBeta,
    EdgeDev,
    EdgeCanary,
    Chromium,
    Brave,
    BraveBeta,
    BraveNightly,
    UngoogledChromium,
    HeadlessShell,
    Firefox,
    FirefoxEsr,
    FirefoxBeta,
    FirefoxDev,
    FirefoxNightly,
}

impl BrowserKind {
    /// Every kind, in order of preference.
    pub const ALL: [BrowserKind; 19] = [
        Self::Chrome,
        Self::ChromeBeta,
        Self::ChromeDev,
        Self::ChromeCanary,
        Self::Edge,
        Self::EdgeBeta,
        Self::EdgeDev,
        Self::EdgeCanary,
        Self::Chromium,
        Self::Brave,
        Self::BraveBeta,
        Self::BraveNightly,
        Self::UngoogledChromium,
        Self::HeadlessShell,
        Self::Firefox,
        Self::FirefoxEsr,
        Self::FirefoxBeta,
        Self::FirefoxDev,
        Self::FirefoxNightly,
    ];

    /// What a browser of this kind is spoken to in.
    pub fn protocol(self) -> Protocol {
        match self {
            Self::Firefox
            | Self::FirefoxEsr
            | Self::FirefoxBeta
            | Self::FirefoxDev
            | Self::FirefoxNightly => Protocol::Bidi,
            _ => Protocol::Cdp,
        }
    }

    /// The kind that a browser of ours stands for by its name alone. Whoever asks for the endpoint of a
    /// `firefox` wants one that speaks as Firefox does; the others are reached alike, so that it takes a
    /// `bowline launch KIND` to insist on one.
    pub fn named(name: &str) -> Option<Self> {
        name.parse().ok().filter(|kind: &Self| kind.is_firefox())
    }

    pub fn is_firefox(self) -> bool {
        self.protocol() == Protocol::Bidi
    }

    /// The stable word for this kind in configuration, output and arguments.
    pub fn word(self) -> &'static str {
        match self {
            Self::Chrome => "chrome",
            Self::ChromeBeta => "chrome-beta",
            Self::ChromeDev => "chrome-dev",
            Self::ChromeCanary => "chrome-canary",
            Self::Edge => "edge",
            Self::EdgeBeta => "edge-beta",
            Self::EdgeDev => "edge-dev",
            Self::EdgeCanary => "edge-canary",
            Self::Chromium => "chromium",
            Self::Brave => "brave",
            Self::BraveBeta => "brave-beta",
            Self::BraveNightly => "brave-nightly",
            Self::UngoogledChromium => "ungoogled-chromium",
            Self::HeadlessShell => "headless-shell",
            Self::Firefox => "firefox",
            Self::FirefoxEsr => "firefox-esr",
            Self::FirefoxBeta => "firefox-beta",
            Self::FirefoxDev => "firefox-dev",
            Self::FirefoxNightly => "firefox-nightly",
        }
    }

    /// What a person calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chrome => "Google Chrome",
            Self::ChromeBeta => "Google Chrome Beta",
            Self::ChromeDev => "Google Chrome Dev",
            Self::ChromeCanary => "Google Chrome Canary",
            Self::Edge => "Microsoft Edge",
            Self::EdgeBeta => "Microsoft Edge Beta",
            Self::EdgeDev => "Microsoft Edge Dev",
            Self::EdgeCanary => "Microsoft Edge Canary",
            Self::Chromium => "Chromium",
            Self::Brave => "Brave",
            Self::BraveBeta => "Brave Beta",
            Self::BraveNightly => "Brave Nightly",
            Self::UngoogledChromium => "ungoogled-chromium",
            Self::HeadlessShell => "Chrome Headless Shell",
            Self::Firefox => "Firefox",
            Self::FirefoxEsr => "Firefox ESR",
            Self::FirefoxBeta => "Firefox Beta",
            Self::FirefoxDev => "Firefox Developer Edition",
            Self::FirefoxNightly => "Firefox Nightly",
        }
    }

    /// Other spellings: commands, Playwright's channels, bundles and binaries, all in the form that
    /// `normal` gives.
    fn aliases(self) -> &'static [&'static str] {
        match self {
            Self::Chrome => {
                &["google-chrome", "google-chrome-stable", "chrome-stable", "google-chrome-for-testing"]
            }
            Self::ChromeBeta => &["google-chrome-beta"],
            Self::ChromeDev => &["google-chrome-dev", "google-chrome-unstable", "chrome-unstable"],
            Self::ChromeCanary => &["google-chrome-canary", "canary"],
            Self::Edge => &["msedge", "ms-edge", "microsoft-edge", "microsoft-edge-stable"],
            Self::EdgeBeta => &["msedge-beta", "microsoft-edge-beta"],
            Self::EdgeDev => &["msedge-dev", "microsoft-edge-dev"],
            Self::EdgeCanary => &["msedge-canary", "microsoft-edge-canary"],
            Self::Chromium => &["chromium-browser"],
            Self::Brave => &["brave-browser", "brave-browser-stable"],
            Self::BraveBeta => &["brave-browser-beta"],
            Self::BraveNightly => &["brave-browser-nightly"],
            Self::UngoogledChromium => &["ungoogled", "ungoogled-chromium-browser"],
            Self::HeadlessShell => &["chrome-headless-shell", "chromium-headless-shell"],
            Self::Firefox => &["mozilla-firefox", "firefox-stable", "firefox-release", "firefox-bin"],
            Self::FirefoxEsr => &["mozilla-firefox-esr"],
            Self::FirefoxBeta => &["mozilla-firefox-beta"],
            Self::FirefoxDev => &["firefox-developer-edition", "firefox-devedition", "firefox-aurora"],
            Self::FirefoxNightly => &["firefox-trunk", "nightly"],
        }
    }

    /// The Flatpak application ids of this kind, which are also the names of their exported commands.
    pub(super) fn flatpak_ids(self) -> &'static [&'static str] {
        match self {
            Self::Chrome => &["com.google.Chrome"],
            Self::ChromeDev => &["com.google.ChromeDev"],
            Self::Edge => &["com.microsoft.Edge"],
            Self::EdgeDev => &["com.microsoft.EdgeDev"],
            Self::Chromium => &["org.chromium.Chromium"],
            Self::Brave => &["com.brave.Browser"],
            Self::UngoogledChromium => {
                &["io.github.ungoogled_software.ungoogled_chromium", "com.github.Eloston.UngoogledChromium"]
            }
            Self::Firefox => &["org.mozilla.firefox"],
            _ => &[],
        }
    }

    /// The kind that a file name gives away, if it does: `google-chrome-beta`, `msedge.exe`,
    /// `Brave Browser`, `com.google.Chrome`.
    pub fn of_file_name(name: &str) -> Option<Self> {
        let by_id = Self::ALL.into_iter().find(|kind| kind.flatpak_ids().contains(&name));
        by_id.or_else(|| without_exe(name).parse().ok())
    }

    /// The kind closest to a mistyped word, if one is close enough to be worth naming.
    pub(super) fn nearest(word: &str) -> Option<Self> {
        let word = normal(word);
        let spellings =
            Self::ALL.into_iter().flat_map(|kind| kind.spellings().map(move |spelling| (kind, spelling)));
        // Short words are close to everything, so the allowance grows with the length.
        let allowed = (word.chars().count() / 3).min(2);
        spellings
            .map(|(kind, spelling)| (distance(&word, spelling), kind))
            .filter(|(distance, _)| *distance <= allowed)
            .min()
            .map(|(_, kind)| kind)
    }

    fn spellings(self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.word()).chain(self.aliases().iter().copied())
    }
}

/// Names of binaries that say less than the directory they are in: every Chrome channel, and Chromium
/// on Windows, is a `chrome`, and every Firefox as Mozilla packs it is a `firefox`.
pub(super) fn is_shared_file_name(name: &str) -> bool {
    matches!(without_exe(name), "chrome" | "msedge" | "brave" | "firefox" | "firefox-bin")
}

fn without_exe(name: &str) -> &str {
    let at = name.len().saturating_sub(".exe".len());
    match name.split_at_checked(at) {
        Some((stem, extension)) if extension.eq_ignore_ascii_case(".exe") => stem,
        _ => name,
    }
}

fn normal(word: &str) -> String {
    word.trim().to_lowercase().replace([' ', '_'], "-")
}

/// Levenshtein's distance, one row at a time.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, l) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, r) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(l != *r);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}

impl fmt::Display for BrowserKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

impl FromStr for BrowserKind {
    type Err = UnknownKind;

    fn from_str(word: &str) -> Result<Self, UnknownKind> {
        let wanted = normal(word);
        Self::ALL
            .into_iter()
            .find(|kind| kind.spellings().any(|spelling| spelling == wanted))
            .ok_or_else(|| UnknownKind { word: word.to_owned() })
    }
}

impl Serialize for BrowserKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

/// A word that names no kind of browser we know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown browser \"{word}\"")]
pub struct UnknownKind {
    pub word: String,
}
