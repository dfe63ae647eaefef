//! What to do next when no browser could be chosen: a sentence for a person, with the command that
//! fits their platform. It never decides anything.

use super::choice::{BROWSER_VARIABLE, ChooseError};
use super::kind::BrowserKind;
use super::machine::Platform;

impl ChooseError {
    /// The next step, in words for the given platform.
    pub fn hint(&self, platform: Platform) -> String {
        let or_path = format!("or set {BROWSER_VARIABLE} to the path of a Chromium-family browser");
        let or_any_path = format!("or set {BROWSER_VARIABLE} to the path of a browser");
        match self {
            Self::NoneInstalled => format!("install one, for example {}, {or_path}", install_any(platform)),
            Self::OnlyFirefox { installed } => format!(
                "`bowline launch {installed}` launches it for clients of WebDriver BiDi, and {BROWSER_VARIABLE}={installed} \
                 makes it the browser that is launched where none is named; for clients of CDP install another, for \
                 example {}",
                install_any(platform)
            ),
            Self::KindNotInstalled { wanted, installed } => {
                let instead = match installed.as_slice() {
                    [] => String::new(),
                    [one] => format!("choose \"{one}\", which is installed, or "),
                    several => format!("choose one that is installed ({}), or ", words(several)),
                };
                let or_path = if wanted.is_firefox() { or_any_path } else { or_path };
                format!("{instead}install {}: {}, {or_path}", wanted.name(), install(*wanted, platform))
            }
            Self::NotAFile { .. } => {
                let bundle = if platform == Platform::MacOs { " or its .app bundle" } else { "" };
                format!("check the path: it must name the browser's program{bundle}, not a directory")
            }
            Self::NotExecutable { path } => match platform {
                Platform::Windows => "name the browser's .exe file".to_owned(),
                Platform::Linux | Platform::MacOs => format!(
                    "if this is the browser's program, make it executable: chmod +x '{}'",
                    path.display()
                ),
            },
            Self::UnknownWord { suggestion, .. } => {
                let meant = suggestion.map(|kind| format!("did you mean \"{kind}\"? ")).unwrap_or_default();
                format!("{meant}known browsers: {}; {or_any_path}", words(&BrowserKind::ALL))
            }
        }
    }
}

fn words(kinds: &[BrowserKind]) -> String {
    kinds.iter().map(|kind| kind.word()).collect::<Vec<_>>().join(", ")
}

/// The shortest way to have any browser at all.
fn install_any(platform: Platform) -> String {
    match platform {
        Platform::Linux => "`apt install chromium` on Debian or `dnf install chromium` on Fedora".to_owned(),
        Platform::MacOs | Platform::Windows => install(BrowserKind::Chrome, platform),
    }
}

fn install(kind: BrowserKind, platform: Platform) -> String {
    // No package manager of macOS or Windows has it; Puppeteer's installer runs everywhere.
    if kind == BrowserKind::HeadlessShell && platform != Platform::Linux {
        return "`npx @puppeteer/browsers install chrome-headless-shell@stable`".to_owned();
    }
    match platform {
        Platform::Linux => from_linux(kind).to_owned(),
        Platform::MacOs => format!("`brew install --cask {}`", cask(kind)),
        Platform::Windows => format!("`winget install {}`", winget(kind)),
    }
}

/// Only Chromium and Firefox are in the distributions; the vendors' pages have the packages of the others.
fn from_linux(kind: BrowserKind) -> &'static str {
    match kind {
        BrowserKind::Chrome => "https://www.google.com/chrome/",
        BrowserKind::ChromeBeta => "https://www.google.com/chrome/beta/",
        BrowserKind::ChromeDev => "https://www.google.com/chrome/dev/",
        BrowserKind::ChromeCanary => "https://www.google.com/chrome/canary/",
        BrowserKind::Edge => "https://www.microsoft.com/edge/download",
        BrowserKind::EdgeBeta | BrowserKind::EdgeDev | BrowserKind::EdgeCanary => {
            "https://www.microsoft.com/edge/download/insider"
        }
        BrowserKind::Chromium => "`apt install chromium` on Debian or `dnf install chromium` on Fedora",
        BrowserKind::Brave => "https://brave.com/linux/",
        BrowserKind::BraveBeta => "https://brave.com/download-beta/",
        BrowserKind::BraveNightly => "https://brave.com/download-nightly/",
        BrowserKind::UngoogledChromium => {
            "`flatpak install flathub io.github.ungoogled_software.ungoogled_chromium`"
        }
        BrowserKind::HeadlessShell => "`apt install chromium-headless-shell` on Debian",
        BrowserKind::Firefox => "`dnf install firefox` on Fedora or `apt install firefox-esr` on Debian",
        BrowserKind::FirefoxEsr => "`apt install firefox-esr` on Debian",
        BrowserKind::FirefoxBeta => "https://www.mozilla.org/firefox/channel/desktop/#beta",
        BrowserKind::FirefoxDev => "https://www.mozilla.org/firefox/developer/",
        BrowserKind::FirefoxNightly => "https://www.mozilla.org/firefox/channel/desktop/#nightly",
    }
}

fn cask(kind: BrowserKind) -> &'static str {
    match kind {
        BrowserKind::Chrome => "google-chrome",
        BrowserKind::ChromeBeta => "google-chrome@beta",
        BrowserKind::ChromeDev => "google-chrome@dev",
        BrowserKind::ChromeCanary => "google-chrome@canary",
        BrowserKind::Edge => "microsoft-edge",
        BrowserKind::EdgeBeta => "microsoft-edge@beta",
        BrowserKind::EdgeDev => "microsoft-edge@dev",
        BrowserKind::EdgeCanary => "microsoft-edge@canary",
        BrowserKind::Brave => "brave-browser",
        BrowserKind::BraveBeta => "brave-browser@beta",
        BrowserKind::BraveNightly => "brave-browser@nightly",
        BrowserKind::UngoogledChromium => "ungoogled-chromium",
        BrowserKind::Chromium | BrowserKind::HeadlessShell => "chromium",
        BrowserKind::Firefox => "firefox",
        BrowserKind::FirefoxEsr => "firefox@esr",
        BrowserKind::FirefoxBeta => "firefox@beta",
        BrowserKind::FirefoxDev => "firefox@developer-edition",
        BrowserKind::FirefoxNightly => "firefox@nightly",
    }
}

fn winget(kind: BrowserKind) -> &'static str {
    match kind {
        BrowserKind::Chrome => "Google.Chrome",
        BrowserKind::ChromeBeta => "Google.Chrome.Beta",
        BrowserKind::ChromeDev => "Google.Chrome.Dev",
        BrowserKind::ChromeCanary => "Google.Chrome.Canary",
        BrowserKind::Edge => "Microsoft.Edge",
        BrowserKind::EdgeBeta => "Microsoft.Edge.Beta",
        BrowserKind::EdgeDev => "Microsoft.Edge.Dev",
        BrowserKind::EdgeCanary => "Microsoft.Edge.Canary",
        BrowserKind::Brave => "Brave.Brave",
        BrowserKind::BraveBeta => "Brave.Brave.Beta",
        BrowserKind::BraveNightly => "Brave.Brave.Nightly",
        BrowserKind::UngoogledChromium => "eloston.ungoogled-chromium",
        BrowserKind::Chromium | BrowserKind::HeadlessShell => "Hibbiki.Chromium",
        BrowserKind::Firefox => "Mozilla.Firefox",
        BrowserKind::FirefoxEsr => "Mozilla.Firefox.ESR",
        BrowserKind::FirefoxBeta => "Mozilla.Firefox.Beta",
        BrowserKind::FirefoxDev => "Mozilla.Firefox.DeveloperEdition",
        BrowserKind::FirefoxNightly => "Mozilla.Firefox.Nightly",
    }
}
