//! The words for kinds of browser.

use bowline_hub::backend::Protocol;

use super::BrowserKind;

#[test]
fn every_word_reads_back_as_its_kind() {
    for kind in BrowserKind::ALL {
        assert_eq!(kind.to_string().parse(), Ok(kind));
        assert_eq!(kind.name().parse(), Ok(kind));
    }
}

#[test]
fn the_listed_order_is_the_order_of_the_variants() {
    assert!(BrowserKind::ALL.is_sorted());
}

#[test]
fn common_aliases_and_spellings_are_understood() {
    let aliases = [
        ("google-chrome", BrowserKind::Chrome),
        ("google-chrome-stable", BrowserKind::Chrome),
        ("Google Chrome", BrowserKind::Chrome),
        (" CHROME ", BrowserKind::Chrome),
        ("google-chrome-unstable", BrowserKind::ChromeDev),
        ("canary", BrowserKind::ChromeCanary),
        ("msedge", BrowserKind::Edge),
        ("microsoft-edge", BrowserKind::Edge),
        ("msedge-dev", BrowserKind::EdgeDev),
        ("chromium-browser", BrowserKind::Chromium),
        ("brave-browser", BrowserKind::Brave),
        ("ungoogled_chromium", BrowserKind::UngoogledChromium),
        ("chrome-headless-shell", BrowserKind::HeadlessShell),
        ("headless_shell", BrowserKind::HeadlessShell),
        ("Mozilla Firefox", BrowserKind::Firefox),
        ("firefox_esr", BrowserKind::FirefoxEsr),
        ("firefox-devedition", BrowserKind::FirefoxDev),
        ("firefox-developer-edition", BrowserKind::FirefoxDev),
        ("firefox-trunk", BrowserKind::FirefoxNightly),
    ];
    for (alias, kind) in aliases {
        assert_eq!(alias.parse(), Ok(kind), "{alias}");
    }
}

#[test]
fn no_spelling_belongs_to_two_kinds() {
    for kind in BrowserKind::ALL {
        for spelling in [kind.word(), kind.name()] {
            assert_eq!(BrowserKind::nearest(spelling), Some(kind));
        }
    }
}

#[test]
fn an_unknown_word_is_named_in_the_error() {
    let error = "netscape".parse::<BrowserKind>().unwrap_err();
    assert_eq!(error.to_string(), "unknown browser \"netscape\"");
}

#[test]
fn a_kind_is_serialised_as_its_word() {
    assert_eq!(serde_json::to_string(&BrowserKind::HeadlessShell).unwrap(), "\"headless-shell\"");
}

#[test]
fn file_names_give_their_kind_away() {
    let names = [
        ("google-chrome-beta", Some(BrowserKind::ChromeBeta)),
        ("msedge.exe", Some(BrowserKind::Edge)),
        ("Chrome.EXE", Some(BrowserKind::Chrome)),
        ("Brave Browser Nightly", Some(BrowserKind::BraveNightly)),
        ("com.google.Chrome", Some(BrowserKind::Chrome)),
        ("org.mozilla.firefox", Some(BrowserKind::Firefox)),
        ("firefox.exe", Some(BrowserKind::Firefox)),
        ("firefox-bin", Some(BrowserKind::Firefox)),
        ("ünïcode", None),
        ("", None),
    ];
    for (name, kind) in names {
        assert_eq!(BrowserKind::of_file_name(name), kind, "{name}");
    }
}

#[test]
fn firefox_speaks_bidi_and_all_others_cdp() {
    for kind in BrowserKind::ALL {
        let expected = if kind.word().starts_with("firefox") { Protocol::Bidi } else { Protocol::Cdp };
        assert_eq!(kind.protocol(), expected, "{kind}");
    }
}

#[test]
fn only_a_firefox_is_meant_by_a_name_alone() {
    assert_eq!(BrowserKind::named("firefox"), Some(BrowserKind::Firefox));
    assert_eq!(BrowserKind::named("firefox-esr"), Some(BrowserKind::FirefoxEsr));
    for name in ["chrome", "edge", "work", "default"] {
        assert_eq!(BrowserKind::named(name), None, "{name}");
    }
}
