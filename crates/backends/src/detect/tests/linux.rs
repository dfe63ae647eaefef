//! Where browsers are found on Linux, in which order, and what counts as the same one.

use std::sync::atomic::Ordering;

use super::{BrowserKind, MemoryMachine, kinds, listed, row};
use crate::detect::{detect, detect_paths};

#[test]
fn an_empty_machine_lists_nothing() {
    assert_eq!(listed(&MemoryMachine::linux()), []);
    assert_eq!(listed(&MemoryMachine::linux().without_env()), []);
}

#[test]
fn the_order_is_chrome_edge_chromium_brave_with_pre_releases_after_their_stable_sibling() {
    let machine = MemoryMachine::linux()
        .program("/usr/bin/chrome-headless-shell")
        .program("/usr/bin/ungoogled-chromium")
        .program("/usr/bin/brave-browser-nightly")
        .program("/usr/bin/brave-browser")
        .program("/usr/bin/chromium")
        .program("/usr/bin/microsoft-edge-beta")
        .program("/usr/bin/microsoft-edge")
        .program("/usr/bin/google-chrome-unstable")
        .program("/usr/bin/google-chrome-beta")
        .program("/usr/bin/google-chrome");
    assert_eq!(
        kinds(&machine),
        [
            BrowserKind::Chrome,
            BrowserKind::ChromeBeta,
            BrowserKind::ChromeDev,
            BrowserKind::Edge,
            BrowserKind::EdgeBeta,
            BrowserKind::Chromium,
            BrowserKind::Brave,
            BrowserKind::BraveNightly,
            BrowserKind::UngoogledChromium,
            BrowserKind::HeadlessShell,
        ]
    );
}

#[test]
fn links_to_one_file_are_listed_once() {
    let machine = MemoryMachine::linux()
        .program("/opt/google/chrome/google-chrome")
        .program("/opt/google/chrome/chrome")
        .link("/usr/bin/google-chrome-stable", "/opt/google/chrome/google-chrome")
        .link("/usr/bin/google-chrome", "/usr/bin/google-chrome-stable");
    assert_eq!(listed(&machine), [row("chrome", "/usr/bin/google-chrome-stable")]);
}

#[test]
fn a_script_in_usr_bin_and_the_vendor_binary_it_starts_are_listed_once() {
    let machine =
        MemoryMachine::linux().program("/usr/bin/google-chrome-stable").program("/opt/google/chrome/chrome");
    assert_eq!(listed(&machine), [row("chrome", "/usr/bin/google-chrome-stable")]);
}

#[test]
fn two_commands_of_one_kind_in_one_directory_are_one_browser() {
    let machine = MemoryMachine::linux().program("/usr/bin/chromium").program("/usr/bin/chromium-browser");
    assert_eq!(listed(&machine), [row("chromium", "/usr/bin/chromium")]);
}

#[test]
fn two_installations_of_one_kind_are_both_listed_with_the_administrators_first() {
    let machine = MemoryMachine::linux().program("/usr/bin/chromium").program("/usr/local/bin/chromium");
    assert_eq!(
        listed(&machine),
        [row("chromium", "/usr/local/bin/chromium"), row("chromium", "/usr/bin/chromium")]
    );
}

#[test]
fn an_alternative_that_leads_to_the_beta_is_the_beta() {
    let machine = MemoryMachine::linux()
        .program("/opt/google/chrome-beta/google-chrome-beta")
        .link("/usr/bin/google-chrome-beta", "/opt/google/chrome-beta/google-chrome-beta")
        .link("/etc/alternatives/google-chrome", "/usr/bin/google-chrome-beta")
        .link("/usr/bin/google-chrome", "/etc/alternatives/google-chrome");
    assert_eq!(listed(&machine), [row("chrome-beta", "/usr/bin/google-chrome-beta")]);
}

#[test]
fn vendor_directories_are_searched_without_links_in_usr_bin() {
    let machine = MemoryMachine::linux()
        .program("/opt/google/chrome/chrome")
        .program("/opt/google/chrome-beta/chrome")
        .program("/opt/microsoft/msedge/msedge")
        .program("/opt/microsoft/msedge-dev/msedge")
        .program("/opt/brave.com/brave/brave");
    assert_eq!(
        listed(&machine),
        [
            row("chrome", "/opt/google/chrome/chrome"),
            row("chrome-beta", "/opt/google/chrome-beta/chrome"),
            row("edge", "/opt/microsoft/msedge/msedge"),
            row("edge-dev", "/opt/microsoft/msedge-dev/msedge"),
            row("brave", "/opt/brave.com/brave/brave"),
        ]
    );
}

#[test]
fn path_is_searched_for_a_kind_that_is_in_no_usual_place() {
    let machine =
        MemoryMachine::linux().program("/home/ann/bin/chromium").program("/home/ann/bin/headless_shell");
    assert_eq!(
        listed(&machine),
        [row("chromium", "/home/ann/bin/chromium"), row("headless-shell", "/home/ann/bin/headless_shell")]
    );
}

#[test]
fn a_wrapper_in_path_is_not_listed_beside_a_usual_place() {
    let machine = MemoryMachine::linux().program("/home/ann/bin/chromium").program("/usr/bin/chromium");
    assert_eq!(listed(&machine), [row("chromium", "/usr/bin/chromium")]);
}

#[test]
fn snaps_are_told_apart_although_all_are_links_to_one_program() {
    let machine = MemoryMachine::linux()
        .program("/usr/bin/snap")
        .link("/snap/bin/chromium", "/usr/bin/snap")
        .link("/snap/bin/brave", "/usr/bin/snap");
    assert_eq!(listed(&machine), [row("chromium", "/snap/bin/chromium"), row("brave", "/snap/bin/brave")]);
}

#[test]
fn ubuntus_stub_for_the_chromium_snap_is_no_browser() {
    let stub = "#!/bin/sh\nif ! [ -x /snap/bin/chromium ]; then exit 1; fi\nexec /snap/bin/chromium \"$@\"\n";
    let machine = MemoryMachine::linux()
        .program("/usr/bin/chromium-browser")
        .text("/usr/bin/chromium-browser", stub)
        .env("PATH", "/usr/bin");
    assert_eq!(listed(&machine), []);
    let machine = machine.program("/usr/bin/snap").link("/snap/bin/chromium", "/usr/bin/snap");
    assert_eq!(listed(&machine), [row("chromium", "/snap/bin/chromium")]);
}

#[test]
fn flatpaks_of_the_system_and_of_the_user_are_found() {
    let system = "/var/lib/flatpak/exports/bin";
    let user = "/home/ann/.local/share/flatpak/exports/bin";
    let ungoogled = "io.github.ungoogled_software.ungoogled_chromium";
    let machine = MemoryMachine::linux()
        .program(&format!("{system}/com.google.Chrome"))
        .program(&format!("{system}/com.microsoft.Edge"))
        .program(&format!("{user}/org.chromium.Chromium"))
        .program(&format!("{user}/com.brave.Browser"))
        .program(&format!("{user}/{ungoogled}"));
    assert_eq!(
        listed(&machine),
        [
            row("chrome", "/var/lib/flatpak/exports/bin/com.google.Chrome"),
            row("edge", "/var/lib/flatpak/exports/bin/com.microsoft.Edge"),
            row("chromium", &format!("{user}/org.chromium.Chromium")),
            row("brave", &format!("{user}/com.brave.Browser")),
            row("ungoogled-chromium", &format!("{user}/{ungoogled}")),
        ]
    );
}

#[test]
fn the_users_flatpaks_follow_xdg_data_home() {
    let machine = MemoryMachine::linux()
        .env("XDG_DATA_HOME", "/data/ann")
        .program("/data/ann/flatpak/exports/bin/org.chromium.Chromium");
    assert_eq!(listed(&machine), [row("chromium", "/data/ann/flatpak/exports/bin/org.chromium.Chromium")]);
}

#[test]
fn a_package_comes_before_a_sandboxed_browser_of_the_same_kind() {
    let machine = MemoryMachine::linux()
        .program("/usr/bin/snap")
        .link("/snap/bin/chromium", "/usr/bin/snap")
        .program("/usr/bin/chromium");
    assert_eq!(
        listed(&machine),
        [row("chromium", "/usr/bin/chromium"), row("chromium", "/snap/bin/chromium")]
    );
}

#[test]
fn system_places_are_found_without_any_environment() {
    let machine = MemoryMachine::linux().without_env().program("/usr/bin/chromium");
    assert_eq!(listed(&machine), [row("chromium", "/usr/bin/chromium")]);
}

#[test]
fn a_file_that_cannot_be_executed_is_no_browser() {
    let machine = MemoryMachine::linux().text("/usr/bin/chromium", "#!/bin/sh\n");
    assert_eq!(listed(&machine), []);
}

#[test]
fn a_link_that_leads_nowhere_is_no_browser() {
    let machine = MemoryMachine::linux().link("/usr/bin/chromium", "/gone");
    assert_eq!(listed(&machine), []);
}

#[test]
fn the_version_is_the_first_dotted_number_the_browser_prints() {
    let machine = MemoryMachine::linux()
        .program_saying(
            "/usr/bin/chromium",
            "Chromium 156.0.8078.79 built on Debian GNU/Linux 12 (bookworm)\n",
        )
        .program_saying("/usr/bin/brave-browser", "warning: profile 7\nBrave Browser 120.1.61.104 \n")
        .program_saying("/usr/bin/microsoft-edge", "no number here\n")
        .program("/usr/bin/google-chrome");
    let versions: Vec<_> = detect(&machine).into_iter().map(|it| (it.name, it.version)).collect();
    assert_eq!(
        versions,
        [
            ("Google Chrome".to_owned(), None),
            ("Microsoft Edge".to_owned(), None),
            ("Chromium".to_owned(), Some("156.0.8078.79".to_owned())),
            ("Brave".to_owned(), Some("120.1.61.104".to_owned())),
        ]
    );
}

#[test]
fn listing_paths_runs_no_program() {
    let machine = MemoryMachine::linux().program_saying("/usr/bin/chromium", "Chromium 1.2.3.4");
    assert_eq!(detect_paths(&machine)[0].version, None);
    assert_eq!(machine.programs_run.load(Ordering::Relaxed), 0);
}

#[test]
fn every_firefox_is_listed_after_what_speaks_cdp() {
    let machine = MemoryMachine::linux()
        .program("/usr/bin/firefox")
        .program("/usr/bin/firefox-esr")
        .program("/usr/bin/firefox-beta")
        .program("/usr/bin/firefox-devedition")
        .program("/usr/bin/firefox-nightly")
        .program("/usr/bin/headless_shell");
    assert_eq!(
        kinds(&machine),
        [
            BrowserKind::HeadlessShell,
            BrowserKind::Firefox,
            BrowserKind::FirefoxEsr,
            BrowserKind::FirefoxBeta,
            BrowserKind::FirefoxDev,
            BrowserKind::FirefoxNightly,
        ]
    );
}

#[test]
fn debians_firefox_command_is_the_esr_and_listed_once() {
    let script = "#!/bin/sh\n\nFIREFOX=\"$(command -v firefox)\"\nexec firefox-esr \"$@\"\n";
    let machine = MemoryMachine::linux()
        .program("/usr/lib/firefox-esr/firefox-esr")
        .link("/usr/bin/firefox-esr", "/usr/lib/firefox-esr/firefox-esr")
        .program("/usr/bin/firefox")
        .text("/usr/bin/firefox", script);
    assert_eq!(listed(&machine), [row("firefox-esr", "/usr/bin/firefox-esr")]);
}

#[test]
fn ubuntus_firefox_command_is_the_snap() {
    let stub = "#!/bin/sh\nif ! [ -x /snap/bin/firefox ]; then exit 1; fi\nexec /snap/bin/firefox \"$@\"\n";
    let machine = MemoryMachine::linux().program("/usr/bin/firefox").text("/usr/bin/firefox", stub);
    assert_eq!(listed(&machine), []);
    let machine = machine.program("/usr/bin/snap").link("/snap/bin/firefox", "/usr/bin/snap");
    assert_eq!(listed(&machine), [row("firefox", "/snap/bin/firefox")]);
}

#[test]
fn firefoxes_that_were_unpacked_are_told_apart_by_their_directories() {
    let machine = MemoryMachine::linux()
        .program("/opt/firefox/firefox")
        .program("/opt/firefox-nightly/firefox")
        .program("/opt/firefox-developer-edition/firefox")
        .program("/var/lib/flatpak/exports/bin/org.mozilla.firefox");
    assert_eq!(
        listed(&machine),
        [
            row("firefox", "/var/lib/flatpak/exports/bin/org.mozilla.firefox"),
            row("firefox-dev", "/opt/firefox-developer-edition/firefox"),
            row("firefox-nightly", "/opt/firefox-nightly/firefox"),
        ]
    );
}

#[test]
fn a_link_from_firefox_to_the_esr_is_the_esr() {
    let machine = MemoryMachine::linux()
        .program("/usr/lib/firefox-esr/firefox-esr")
        .link("/usr/bin/firefox", "/usr/lib/firefox-esr/firefox-esr");
    assert_eq!(listed(&machine), [row("firefox-esr", "/usr/lib/firefox-esr/firefox-esr")]);
}

#[test]
fn the_version_of_a_firefox_says_its_channel() {
    let machine = MemoryMachine::linux()
        .program_saying("/usr/bin/firefox", "Mozilla Firefox 154.0.1\n")
        .program_saying("/usr/bin/firefox-esr", "Mozilla Firefox 153.7.0esr\n")
        .program_saying("/usr/bin/firefox-beta", "Mozilla Firefox 155.0b3\n")
        .program_saying("/usr/bin/firefox-nightly", "*** note. 1.x\nMozilla Firefox 156.0a1\n");
    let versions: Vec<_> = detect(&machine).into_iter().map(|it| it.version.unwrap()).collect();
    assert_eq!(versions, ["154.0.1", "153.7.0esr", "155.0b3", "156.0a1"]);
}
