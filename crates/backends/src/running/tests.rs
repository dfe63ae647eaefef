//! Profile directories on all three platforms, and what a `DevToolsActivePort` may hold.

use super::{RunningBrowser, find_running, usual_profile_dirs};
use crate::detect::memory::MemoryMachine;
use crate::detect::{BrowserKind, Machine};

const PATH: &str = "/devtools/browser/5c1b9bd3-3f4a-4a0e-8f5a-0c8f6f2b1f11";

fn with_path(port: u16) -> String {
    format!("{port}\n{PATH}")
}

/// What is found, as (word, directory, port).
fn found(machine: &dyn Machine) -> Vec<(&'static str, String, u16)> {
    let found = find_running(machine);
    found
        .into_iter()
        .map(|it| (it.kind.word(), it.profile_dir.to_string_lossy().into_owned(), it.port))
        .collect()
}

fn row(kind: &'static str, directory: &str, port: u16) -> (&'static str, String, u16) {
    (kind, directory.to_owned(), port)
}

/// What one file in Chromium's profile directory is read as.
fn read(text: &str) -> Option<(u16, Option<String>)> {
    let machine = MemoryMachine::linux().text("/home/ann/.config/chromium/DevToolsActivePort", text);
    find_running(&machine).pop().map(|it| (it.port, it.ws_path))
}

#[test]
fn port_and_path_are_read_from_the_profile() {
    let file = "/home/ann/.config/google-chrome/DevToolsActivePort";
    let machine = MemoryMachine::linux().text(file, &with_path(9222));
    assert_eq!(
        find_running(&machine),
        [RunningBrowser {
            kind: BrowserKind::Chrome,
            profile_dir: "/home/ann/.config/google-chrome".into(),
            port: 9222,
            ws_path: Some(PATH.to_owned()),
        }]
    );
}

#[test]
fn line_endings_and_a_missing_path_are_tolerated() {
    assert_eq!(read(&format!("9222\n{PATH}\n")), Some((9222, Some(PATH.to_owned()))));
    assert_eq!(read(&format!("9222\r\n{PATH}\r\n")), Some((9222, Some(PATH.to_owned()))));
    assert_eq!(read("9222"), Some((9222, None)));
    assert_eq!(read("9222\n"), Some((9222, None)));
    assert_eq!(read("65535\n\n"), Some((65535, None)));
}

#[test]
fn garbage_is_skipped() {
    for text in
        ["", "\n", "\n9222", "0", "0\n/devtools/browser/x", "65536", "-1", "+9222", "9222x", "port", "\u{0}"]
    {
        assert_eq!(read(text), None, "{text:?}");
    }
}

#[test]
fn a_path_that_no_browser_writes_makes_the_file_garbage() {
    for path in [
        "garbage",
        "/",
        "/devtools/browser/",
        "/devtools/page/1",
        "/devtools/browser/a b",
        "/devtools/browser/../x",
    ] {
        assert_eq!(read(&format!("9222\n{path}")), None, "{path:?}");
    }
}

#[test]
fn an_oversize_file_is_skipped() {
    assert_eq!(read(&format!("9222\n{PATH}\n{}", " ".repeat(2000))), None);
}

#[test]
fn every_linux_profile_is_looked_at_in_order_of_preference() {
    let directories = [
        ("chrome", ".config/google-chrome"),
        ("chrome", ".var/app/com.google.Chrome/config/google-chrome"),
        ("chrome-beta", ".config/google-chrome-beta"),
        ("chrome-dev", ".config/google-chrome-unstable"),
        ("edge", ".config/microsoft-edge"),
        ("chromium", ".config/chromium"),
        ("chromium", "snap/chromium/common/chromium"),
        ("chromium", ".var/app/org.chromium.Chromium/config/chromium"),
        ("brave", ".config/BraveSoftware/Brave-Browser"),
        ("brave", "snap/brave/current/.config/BraveSoftware/Brave-Browser"),
        ("brave", ".var/app/com.brave.Browser/config/BraveSoftware/Brave-Browser"),
        ("ungoogled-chromium", ".var/app/io.github.ungoogled_software.ungoogled_chromium/config/chromium"),
    ];
    let mut machine = MemoryMachine::linux();
    let mut expected = Vec::new();
    for ((kind, directory), port) in directories.into_iter().zip(9000..) {
        let directory = format!("/home/ann/{directory}");
        machine = machine.text(&format!("{directory}/DevToolsActivePort"), &with_path(port));
        expected.push(row(kind, &directory, port));
    }
    assert_eq!(found(&machine), expected);
}

#[test]
fn xdg_config_home_replaces_the_home_directorys() {
    let machine = MemoryMachine::linux()
        .env("XDG_CONFIG_HOME", "/config/ann/")
        .text("/config/ann/chromium/DevToolsActivePort", &with_path(1))
        .text("/home/ann/.config/chromium/DevToolsActivePort", &with_path(2));
    assert_eq!(found(&machine), [row("chromium", "/config/ann/chromium", 1)]);
}

#[test]
fn chrome_config_home_replaces_both() {
    let machine = MemoryMachine::linux()
        .env("XDG_CONFIG_HOME", "/config/ann")
        .env("CHROME_CONFIG_HOME", "/chrome")
        .text("/chrome/google-chrome/DevToolsActivePort", &with_path(1))
        .text("/config/ann/google-chrome/DevToolsActivePort", &with_path(2));
    assert_eq!(found(&machine), [row("chrome", "/chrome/google-chrome", 1)]);
}

#[test]
fn macos_profiles_are_below_application_support() {
    let support = "/Users/ann/Library/Application Support";
    let machine = MemoryMachine::macos()
        .text(&format!("{support}/BraveSoftware/Brave-Browser/DevToolsActivePort"), &with_path(4))
        .text(&format!("{support}/Microsoft Edge/DevToolsActivePort"), &with_path(3))
        .text(&format!("{support}/Google/Chrome Canary/DevToolsActivePort"), &with_path(2))
        .text(&format!("{support}/Google/Chrome/DevToolsActivePort"), &with_path(1));
    assert_eq!(
        found(&machine),
        [
            row("chrome", &format!("{support}/Google/Chrome"), 1),
            row("chrome-canary", &format!("{support}/Google/Chrome Canary"), 2),
            row("edge", &format!("{support}/Microsoft Edge"), 3),
            row("brave", &format!("{support}/BraveSoftware/Brave-Browser"), 4),
        ]
    );
}

#[test]
fn windows_profiles_are_below_local_app_data() {
    let local = r"C:\Users\ann\AppData\Local";
    let machine = MemoryMachine::windows()
        .text(&format!(r"{local}\Chromium\User Data\DevToolsActivePort"), &with_path(3))
        .text(&format!(r"{local}\Google\Chrome SxS\User Data\DevToolsActivePort"), &with_path(2))
        .text(&format!(r"{local}\Google\Chrome\User Data\DevToolsActivePort"), &with_path(1));
    assert_eq!(
        found(&machine),
        [
            row("chrome", &format!(r"{local}\Google\Chrome\User Data"), 1),
            row("chrome-canary", &format!(r"{local}\Google\Chrome SxS\User Data"), 2),
            row("chromium", &format!(r"{local}\Chromium\User Data"), 3),
        ]
    );
}

#[test]
fn without_an_environment_there_are_no_profiles() {
    for machine in [MemoryMachine::linux(), MemoryMachine::macos(), MemoryMachine::windows()] {
        assert_eq!(usual_profile_dirs(&machine.without_env()), []);
    }
}

#[test]
fn usual_profile_dirs_are_in_order_without_repeats_and_exist_or_not() {
    for machine in [MemoryMachine::linux(), MemoryMachine::macos(), MemoryMachine::windows()] {
        let directories = usual_profile_dirs(&machine);
        assert!(directories.len() >= 12);
        assert!(directories.is_sorted_by_key(|(kind, _)| *kind));
        let mut paths: Vec<_> = directories.into_iter().map(|(_, path)| path).collect();
        paths.sort();
        assert!(paths.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
