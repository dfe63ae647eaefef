//! Program directories on Windows, and versions out of the directory beside the program.

use std::sync::atomic::Ordering;

use super::{MemoryMachine, listed, row};
use crate::detect::detect;

const CHROME: &str = r"C:\Program Files\Google\Chrome\Application\chrome.exe";

#[test]
fn program_files_of_both_kinds_and_the_users_are_searched_in_order() {
    let machine = MemoryMachine::windows()
        .program(r"C:\Users\ann\AppData\Local\Google\Chrome SxS\Application\chrome.exe")
        .program(r"C:\Users\ann\AppData\Local\Google\Chrome\Application\chrome.exe")
        .program(r"C:\Users\ann\AppData\Local\Chromium\Application\chrome.exe")
        .program(r"C:\Users\ann\scoop\apps\ungoogled-chromium\current\chrome.exe")
        .program(r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe")
        .program(r"C:\Program Files\Microsoft\Edge Beta\Application\msedge.exe")
        .program(r"C:\Program Files\BraveSoftware\Brave-Browser\Application\brave.exe")
        .program(CHROME);
    assert_eq!(
        listed(&machine),
        [
            row("chrome", CHROME),
            row("chrome", r"C:\Users\ann\AppData\Local\Google\Chrome\Application\chrome.exe"),
            row("chrome-canary", r"C:\Users\ann\AppData\Local\Google\Chrome SxS\Application\chrome.exe"),
            row("edge", r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe"),
            row("edge-beta", r"C:\Program Files\Microsoft\Edge Beta\Application\msedge.exe"),
            row("chromium", r"C:\Users\ann\AppData\Local\Chromium\Application\chrome.exe"),
            row("brave", r"C:\Program Files\BraveSoftware\Brave-Browser\Application\brave.exe"),
            row("ungoogled-chromium", r"C:\Users\ann\scoop\apps\ungoogled-chromium\current\chrome.exe"),
        ]
    );
}

#[test]
fn a_missing_variable_leaves_out_its_directory_only() {
    let machine = MemoryMachine::windows().without_env().program(CHROME);
    assert_eq!(listed(&machine), []);
    let machine = machine.env("PROGRAMFILES", r"C:\Program Files");
    assert_eq!(listed(&machine), [row("chrome", CHROME)]);
}

#[test]
fn two_variables_with_one_value_list_a_browser_once() {
    let machine = MemoryMachine::windows().env("PROGRAMFILES(X86)", r"C:\Program Files").program(CHROME);
    assert_eq!(listed(&machine), [row("chrome", CHROME)]);
}

#[test]
fn path_is_a_fallback_and_adds_the_extension() {
    let machine = MemoryMachine::windows().program(r"C:\tools\chrome-headless-shell.exe");
    assert_eq!(listed(&machine), [row("headless-shell", r"C:\tools\chrome-headless-shell.exe")]);
}

#[test]
fn the_version_is_the_highest_version_directory_and_nothing_is_started() {
    let machine = MemoryMachine::windows()
        .program_saying(CHROME, "must never be asked 9.9.9.9")
        .text(r"C:\Program Files\Google\Chrome\Application\99.0.4844.51\chrome.dll", "")
        .text(r"C:\Program Files\Google\Chrome\Application\144.0.7559.60\chrome.dll", "")
        .text(r"C:\Program Files\Google\Chrome\Application\SetupMetrics\1.pma", "");
    assert_eq!(detect(&machine)[0].version.as_deref(), Some("144.0.7559.60"));
    assert_eq!(machine.programs_run.load(Ordering::Relaxed), 0);
}

#[test]
fn while_an_update_waits_for_a_restart_the_version_is_the_older_one() {
    let machine = MemoryMachine::windows()
        .program(CHROME)
        .program(r"C:\Program Files\Google\Chrome\Application\new_chrome.exe")
        .text(r"C:\Program Files\Google\Chrome\Application\144.0.7559.60\chrome.dll", "")
        .text(r"C:\Program Files\Google\Chrome\Application\145.0.1.2\chrome.dll", "");
    assert_eq!(detect(&machine)[0].version.as_deref(), Some("144.0.7559.60"));
}

#[test]
fn without_a_version_directory_the_version_is_unknown() {
    assert_eq!(detect(&MemoryMachine::windows().program(CHROME))[0].version, None);
}

#[test]
fn firefoxes_are_told_apart_by_their_directories_and_say_their_version_in_a_file() {
    let machine = MemoryMachine::windows()
        .program(r"C:\Program Files\Firefox Nightly\firefox.exe")
        .program(r"C:\Program Files (x86)\Firefox Developer Edition\firefox.exe")
        .program_saying(r"C:\Program Files\Mozilla Firefox\firefox.exe", "must never be asked 9.9")
        .text(
            r"C:\Program Files\Mozilla Firefox\application.ini",
            "[App]\r\nName=Firefox\r\nVersion=154.0.1\r\n",
        );
    assert_eq!(
        listed(&machine),
        [
            row("firefox", r"C:\Program Files\Mozilla Firefox\firefox.exe"),
            row("firefox-dev", r"C:\Program Files (x86)\Firefox Developer Edition\firefox.exe"),
            row("firefox-nightly", r"C:\Program Files\Firefox Nightly\firefox.exe"),
        ]
    );
    let versions: Vec<_> = detect(&machine).into_iter().map(|it| it.version).collect();
    assert_eq!(versions, [Some("154.0.1".to_owned()), None, None]);
    assert_eq!(machine.programs_run.load(Ordering::Relaxed), 0);
}
