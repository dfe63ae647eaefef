//! What a user's word or path leads to, and every way it can fail, with its message and hint.

use std::path::PathBuf;

use super::{BrowserKind, MemoryMachine};
use crate::detect::{BROWSER_VARIABLE, ChooseError, Machine, Platform, choose, kind_meant};

fn chosen(machine: &MemoryMachine, wanted: &str) -> (&'static str, String) {
    let found = choose(machine, Some(wanted)).unwrap();
    (found.kind.word(), found.path.to_string_lossy().into_owned())
}

fn refused(machine: &MemoryMachine, wanted: &str) -> ChooseError {
    choose(machine, Some(wanted)).unwrap_err()
}

fn chrome_and_chromium() -> MemoryMachine {
    MemoryMachine::linux().program("/usr/bin/chromium").program("/usr/bin/google-chrome")
}

#[test]
fn without_a_wish_the_first_in_order_of_preference_is_chosen() {
    for nothing in [None, Some(""), Some("  ")] {
        assert_eq!(choose(&chrome_and_chromium(), nothing).unwrap().kind, BrowserKind::Chrome);
    }
}

#[test]
fn a_word_or_alias_chooses_its_kind() {
    let machine = chrome_and_chromium();
    assert_eq!(chosen(&machine, "chromium").1, "/usr/bin/chromium");
    assert_eq!(chosen(&machine, "Chromium-Browser").1, "/usr/bin/chromium");
    assert_eq!(chosen(&machine, "google-chrome-stable").1, "/usr/bin/google-chrome");
}

#[test]
fn the_value_of_the_environment_variable_chooses_like_a_word_or_a_path() {
    for (value, kind) in [("chromium", "chromium"), ("/usr/bin/google-chrome", "chrome")] {
        let machine = chrome_and_chromium().env(BROWSER_VARIABLE, value);
        let wanted = Machine::env(&machine, BROWSER_VARIABLE);
        assert_eq!(choose(&machine, wanted.as_deref()).unwrap().kind.word(), kind);
    }
}

#[test]
fn a_path_is_taken_as_it_is_and_its_kind_is_guessed() {
    let machine = chrome_and_chromium()
        .program("/opt/google/chrome-beta/chrome")
        .program("/srv/builds/msedge")
        .program("/srv/builds/out")
        .link("/srv/current", "/opt/google/chrome-beta/chrome");
    for (path, kind) in [
        ("/usr/bin/chromium", "chromium"),
        ("/opt/google/chrome-beta/chrome", "chrome-beta"),
        ("/srv/current", "chrome-beta"),
        ("/srv/builds/msedge", "edge"),
        ("/srv/builds/out", "chromium"),
    ] {
        assert_eq!(chosen(&machine, path), (kind, path.to_owned()));
    }
}

#[test]
fn a_relative_path_is_made_absolute() {
    let machine =
        MemoryMachine::linux().program("/home/ann/src/out/chrome").program("/home/ann/src/my-browser");
    assert_eq!(chosen(&machine, "out/chrome"), ("chrome", "/home/ann/src/out/chrome".to_owned()));
    assert_eq!(chosen(&machine, "./out/chrome").1, "/home/ann/src/out/chrome");
    assert_eq!(chosen(&machine, "my-browser").1, "/home/ann/src/my-browser");
}

#[test]
fn a_command_in_path_is_taken_before_a_file_in_the_working_directory() {
    let machine = MemoryMachine::linux().program("/home/ann/bin/thorium").program("/home/ann/src/thorium");
    assert_eq!(chosen(&machine, "thorium"), ("chromium", "/home/ann/bin/thorium".to_owned()));
}

#[test]
fn a_word_for_a_kind_wins_over_a_file_of_that_name() {
    let machine = chrome_and_chromium().program("/home/ann/src/chrome");
    assert_eq!(chosen(&machine, "chrome").1, "/usr/bin/google-chrome");
}

#[test]
fn a_macos_bundle_leads_to_the_program_inside() {
    let program = "/Users/ann/Desktop/Google Chrome Canary.app/Contents/MacOS/Google Chrome Canary";
    let machine = MemoryMachine::macos().program(program).program("/Users/ann/src/X.app/Contents/MacOS/X");
    for bundle in
        ["/Users/ann/Desktop/Google Chrome Canary.app", "/Users/ann/Desktop/Google Chrome Canary.app/"]
    {
        assert_eq!(chosen(&machine, bundle), ("chrome-canary", program.to_owned()));
    }
    assert_eq!(chosen(&machine, "X.app").1, "/Users/ann/src/X.app/Contents/MacOS/X");
}

#[test]
fn a_windows_path_may_use_either_separator() {
    let machine = MemoryMachine::windows()
        .program(r"C:\work\out\msedge.exe")
        .program(r"C:\Users\ann\AppData\Local\Chromium\Application\chrome.exe");
    assert_eq!(chosen(&machine, "out/msedge.exe").0, "edge");
    assert_eq!(chosen(&machine, r"out\msedge.exe"), ("edge", r"C:\work\out\msedge.exe".to_owned()));
    assert_eq!(chosen(&machine, r"C:\Users\ann\AppData\Local\Chromium\Application\chrome.exe").0, "chromium");
}

#[test]
fn nothing_installed_says_how_to_install_something() {
    let error = choose(&MemoryMachine::linux(), None).unwrap_err();
    assert_eq!(error, ChooseError::NoneInstalled);
    assert_eq!(error.to_string(), "no Chromium-family browser is installed");
    assert_eq!(
        error.hint(Platform::Linux),
        "install one, for example `apt install chromium` on Debian or `dnf install chromium` on Fedora, \
         or set BOWLINE_BROWSER to the path of a Chromium-family browser"
    );
    assert!(error.hint(Platform::MacOs).contains("`brew install --cask google-chrome`"));
    assert!(error.hint(Platform::Windows).contains("`winget install Google.Chrome`"));
}

#[test]
fn a_kind_that_is_not_installed_names_what_is() {
    let error = refused(&chrome_and_chromium(), "msedge");
    assert_eq!(
        error,
        ChooseError::KindNotInstalled {
            wanted: BrowserKind::Edge,
            installed: vec![BrowserKind::Chrome, BrowserKind::Chromium]
        }
    );
    assert_eq!(error.to_string(), "browser \"edge\" is not installed");
    assert_eq!(
        error.hint(Platform::Windows),
        "choose one that is installed (chrome, chromium), or install Microsoft Edge: \
         `winget install Microsoft.Edge`, or set BOWLINE_BROWSER to the path of a Chromium-family browser"
    );
}

#[test]
fn a_kind_that_is_not_installed_is_hinted_at_for_one_and_for_no_other_browser() {
    let one = MemoryMachine::linux().program("/usr/bin/brave").program("/usr/local/bin/brave");
    let error = refused(&one, "chromium");
    assert!(
        error
            .hint(Platform::Linux)
            .starts_with("choose \"brave\", which is installed, or install Chromium: `apt")
    );
    let error = refused(&MemoryMachine::linux(), "chromium");
    assert!(error.hint(Platform::Linux).starts_with("install Chromium: `apt install chromium` on Debian"));
}

#[test]
fn every_kind_has_an_install_hint_on_every_platform() {
    for wanted in BrowserKind::ALL {
        let error = ChooseError::KindNotInstalled { wanted, installed: Vec::new() };
        for platform in [Platform::Linux, Platform::MacOs, Platform::Windows] {
            let hint = error.hint(platform);
            assert!(hint.contains('`') || hint.contains("https://"), "{hint}");
        }
    }
}

#[test]
fn a_path_that_is_no_file_is_named_in_full() {
    let machine = MemoryMachine::linux().program("/srv/browser/chrome");
    for (wanted, path) in [("/srv/browser", "/srv/browser"), ("out/chrome", "/home/ann/src/out/chrome")] {
        let error = refused(&machine, wanted);
        assert_eq!(error, ChooseError::NotAFile { path: PathBuf::from(path) });
        assert_eq!(error.to_string(), format!("browser \"{path}\" is not a file"));
        assert_eq!(
            error.hint(Platform::Linux),
            "check the path: it must name the browser's program, not a directory"
        );
        assert!(error.hint(Platform::MacOs).contains("or its .app bundle"));
    }
}

#[test]
fn a_file_that_cannot_be_executed_is_refused_with_the_command_to_change_that() {
    let machine = MemoryMachine::linux().text("/srv/chrome", "").text("/home/ann/src/notes", "");
    let error = refused(&machine, "/srv/chrome");
    assert_eq!(error, ChooseError::NotExecutable { path: PathBuf::from("/srv/chrome") });
    assert_eq!(error.to_string(), "browser \"/srv/chrome\" is not executable");
    assert_eq!(
        error.hint(Platform::Linux),
        "if this is the browser's program, make it executable: chmod +x '/srv/chrome'"
    );
    assert_eq!(error.hint(Platform::Windows), "name the browser's .exe file");
    assert!(matches!(refused(&machine, "notes"), ChooseError::NotExecutable { .. }));
}

#[test]
fn a_mistyped_word_is_answered_with_the_nearest_and_all_known_words() {
    for (wanted, meant) in [
        ("chrom", BrowserKind::Chrome),
        ("chrmoe", BrowserKind::Chrome),
        ("chromuim", BrowserKind::Chromium),
        ("bravo", BrowserKind::Brave),
        ("mseddge", BrowserKind::Edge),
        ("chrome-betta", BrowserKind::ChromeBeta),
        ("fierfox", BrowserKind::Firefox),
        ("firefox-nigthly", BrowserKind::FirefoxNightly),
    ] {
        let error = refused(&chrome_and_chromium(), wanted);
        assert_eq!(error, ChooseError::UnknownWord { wanted: wanted.to_owned(), suggestion: Some(meant) });
        assert_eq!(error.to_string(), format!("unknown browser \"{wanted}\""));
        let hint = error.hint(Platform::Linux);
        assert!(
            hint.starts_with(&format!("did you mean \"{meant}\"? known browsers: chrome, chrome-beta, "))
        );
        assert!(hint.contains("headless-shell, firefox, "), "{hint}");
        assert!(hint.ends_with("firefox-nightly; or set BOWLINE_BROWSER to the path of a browser"), "{hint}");
    }
}

#[test]
fn a_word_unlike_any_other_gets_no_suggestion() {
    for wanted in ["safari", "xyz", "e", "lynx"] {
        let error = refused(&chrome_and_chromium(), wanted);
        assert_eq!(error, ChooseError::UnknownWord { wanted: wanted.to_owned(), suggestion: None });
        assert!(error.hint(Platform::Linux).starts_with("known browsers: chrome, "));
    }
}

#[test]
fn without_a_wish_no_firefox_is_chosen() {
    let machine = MemoryMachine::linux().program("/usr/bin/firefox").program("/usr/bin/headless_shell");
    assert_eq!(choose(&machine, None).unwrap().kind, BrowserKind::HeadlessShell);
}

#[test]
fn where_only_firefox_is_installed_the_error_says_how_to_use_it() {
    let machine = MemoryMachine::linux().program("/usr/bin/firefox-esr");
    let error = choose(&machine, None).unwrap_err();
    assert_eq!(error, ChooseError::OnlyFirefox { installed: BrowserKind::FirefoxEsr });
    assert_eq!(error.to_string(), "no Chromium-family browser is installed, only Firefox ESR");
    let hint = error.hint(Platform::Linux);
    assert!(
        hint.starts_with("`bowline launch firefox-esr` launches it for clients of WebDriver BiDi"),
        "{hint}"
    );
    assert!(
        hint.contains("BOWLINE_BROWSER=firefox-esr") && hint.contains("`apt install chromium`"),
        "{hint}"
    );
}

#[test]
fn firefox_is_chosen_by_word_alias_and_path() {
    let machine = chrome_and_chromium()
        .program("/usr/bin/firefox")
        .program("/usr/bin/firefox-esr")
        .program("/opt/firefox-nightly/firefox")
        .link("/usr/bin/firefox-nightly", "/opt/firefox-nightly/firefox");
    assert_eq!(chosen(&machine, "Firefox"), ("firefox", "/usr/bin/firefox".to_owned()));
    assert_eq!(chosen(&machine, "firefox-esr"), ("firefox-esr", "/usr/bin/firefox-esr".to_owned()));
    assert_eq!(chosen(&machine, "nightly"), ("firefox-nightly", "/usr/bin/firefox-nightly".to_owned()));
    assert_eq!(chosen(&machine, "/usr/bin/firefox-esr").0, "firefox-esr");
    assert_eq!(chosen(&machine, "/opt/firefox-nightly/firefox").0, "firefox-nightly");
}

#[test]
fn the_esr_stands_in_for_firefox_and_for_nothing_else() {
    let machine = chrome_and_chromium().program("/usr/bin/firefox-esr");
    assert_eq!(chosen(&machine, "firefox"), ("firefox-esr", "/usr/bin/firefox-esr".to_owned()));
    let error = refused(&machine, "firefox-beta");
    assert_eq!(error.to_string(), "browser \"firefox-beta\" is not installed");
    assert!(error.hint(Platform::MacOs).ends_with(
        "install Firefox Beta: `brew install --cask firefox@beta`, or set BOWLINE_BROWSER to the path of a browser"
    ));
    assert!(matches!(refused(&chrome_and_chromium(), "firefox"), ChooseError::KindNotInstalled { .. }));
}

#[test]
fn a_firefox_under_another_name_is_known_by_what_lies_beside_it() {
    let machine = MemoryMachine::linux()
        .program("/opt/wolf/wolf")
        .text("/opt/wolf/application.ini", "[App]\nVersion=153.0\n")
        .link("/home/ann/bin/wolf", "/opt/wolf/wolf")
        .program("/srv/firefox-153/my-firefox");
    assert_eq!(chosen(&machine, "wolf"), ("firefox", "/home/ann/bin/wolf".to_owned()));
    assert_eq!(chosen(&machine, "/srv/firefox-153/my-firefox").0, "firefox");
}

#[test]
fn a_macos_bundle_of_firefox_has_a_program_of_another_name() {
    let program = "/Users/ann/Desktop/Firefox Nightly.app/Contents/MacOS/firefox";
    let machine = MemoryMachine::macos().program(program);
    assert_eq!(chosen(&machine, "/Users/ann/Desktop/Firefox Nightly.app").1, program);
}

#[test]
fn what_a_word_or_a_path_means_is_told_without_the_machine() {
    for (wanted, kind) in [
        ("firefox", Some(BrowserKind::Firefox)),
        ("/usr/bin/firefox-esr", Some(BrowserKind::FirefoxEsr)),
        (r"C:\Program Files\Mozilla Firefox\firefox.exe", Some(BrowserKind::Firefox)),
        ("/srv/my-firefox", Some(BrowserKind::Firefox)),
        ("chromium", Some(BrowserKind::Chromium)),
        ("/srv/out", None),
    ] {
        assert_eq!(kind_meant(wanted), kind, "{wanted}");
    }
}
