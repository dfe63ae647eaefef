//! Bundles on macOS, and versions out of their property lists.

use std::sync::atomic::Ordering;

use super::{MemoryMachine, listed, row};
use crate::detect::detect;

const CHROME: &str = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome";
const PLIST: &str = "/Applications/Google Chrome.app/Contents/Info.plist";

#[test]
fn bundles_of_everybody_and_of_the_user_are_found_in_order() {
    let machine = MemoryMachine::macos()
        .program("/Users/ann/Applications/Brave Browser.app/Contents/MacOS/Brave Browser")
        .program("/Applications/Brave Browser Nightly.app/Contents/MacOS/Brave Browser Nightly")
        .program("/Applications/Chromium.app/Contents/MacOS/Chromium")
        .program("/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge")
        .program("/Applications/Microsoft Edge Dev.app/Contents/MacOS/Microsoft Edge Dev")
        .program("/Users/ann/Applications/Google Chrome Canary.app/Contents/MacOS/Google Chrome Canary")
        .program("/Users/ann/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
        .program(CHROME);
    assert_eq!(
        listed(&machine),
        [
            row("chrome", CHROME),
            row("chrome", "/Users/ann/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"),
            row(
                "chrome-canary",
                "/Users/ann/Applications/Google Chrome Canary.app/Contents/MacOS/Google Chrome Canary"
            ),
            row("edge", "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge"),
            row("edge-dev", "/Applications/Microsoft Edge Dev.app/Contents/MacOS/Microsoft Edge Dev"),
            row("chromium", "/Applications/Chromium.app/Contents/MacOS/Chromium"),
            row("brave", "/Users/ann/Applications/Brave Browser.app/Contents/MacOS/Brave Browser"),
            row(
                "brave-nightly",
                "/Applications/Brave Browser Nightly.app/Contents/MacOS/Brave Browser Nightly"
            ),
        ]
    );
}

#[test]
fn without_home_the_bundles_of_everybody_are_still_found() {
    let machine = MemoryMachine::macos().without_env().program(CHROME);
    assert_eq!(listed(&machine), [row("chrome", CHROME)]);
}

#[test]
fn homebrews_command_is_a_fallback_for_the_bundle() {
    let machine = MemoryMachine::macos().program("/opt/homebrew/bin/chromium");
    assert_eq!(listed(&machine), [row("chromium", "/opt/homebrew/bin/chromium")]);
    let bundle = "/Applications/Chromium.app/Contents/MacOS/Chromium";
    assert_eq!(listed(&machine.program(bundle)), [row("chromium", bundle)]);
}

#[test]
fn the_version_is_read_from_the_bundle_without_starting_it() {
    let plist = "<plist><dict>\n\t<key>CFBundleName</key>\n\t<string>Chrome</string>\n\
        \t<key>CFBundleShortVersionString</key>\n\t<string>144.0.7559.60</string>\n</dict></plist>";
    let machine = MemoryMachine::macos().program(CHROME).text(PLIST, plist);
    assert_eq!(detect(&machine)[0].version.as_deref(), Some("144.0.7559.60"));
    assert_eq!(machine.programs_run.load(Ordering::Relaxed), 0);
}

#[test]
fn a_property_list_without_a_version_falls_back_to_asking_the_browser() {
    for plist in ["", "<key>CFBundleShortVersionString</key>", "<key>CFBundleShortVersionString</key><true/>"]
    {
        let machine =
            MemoryMachine::macos().program_saying(CHROME, "Google Chrome 144.0.1.2 ").text(PLIST, plist);
        assert_eq!(detect(&machine)[0].version.as_deref(), Some("144.0.1.2"), "{plist}");
    }
}

#[test]
fn a_program_outside_a_bundle_is_asked_for_its_version() {
    let machine = MemoryMachine::macos().program_saying("/opt/homebrew/bin/chromium", "Chromium 1.2.3.4");
    assert_eq!(detect(&machine)[0].version.as_deref(), Some("1.2.3.4"));
}

#[test]
fn bundles_of_firefox_have_a_program_of_another_name() {
    let firefox = "/Applications/Firefox.app/Contents/MacOS/firefox";
    let machine = MemoryMachine::macos()
        .program("/Applications/Firefox Nightly.app/Contents/MacOS/firefox")
        .program("/Users/ann/Applications/Firefox Developer Edition.app/Contents/MacOS/firefox")
        .program(firefox)
        .text(
            "/Applications/Firefox.app/Contents/Info.plist",
            "<key>CFBundleShortVersionString</key>\n<string>154.0</string>",
        );
    assert_eq!(
        listed(&machine),
        [
            row("firefox", firefox),
            row(
                "firefox-dev",
                "/Users/ann/Applications/Firefox Developer Edition.app/Contents/MacOS/firefox"
            ),
            row("firefox-nightly", "/Applications/Firefox Nightly.app/Contents/MacOS/firefox"),
        ]
    );
    assert_eq!(detect(&machine)[0].version.as_deref(), Some("154.0"));
    assert_eq!(machine.programs_run.load(Ordering::Relaxed), 2, "those without a property list");
}
