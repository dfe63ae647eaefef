//! The real machine, on files in a temporary directory: executables, links and programs that hang.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::detect::subprocess::output_within;
use crate::detect::{Machine, ThisMachine};

/// Runs a line of shell. No test writes a script and runs it: a child that another test thread forks
/// at that moment would still hold the file open for writing, and the kernel would refuse to run it.
fn shell(line: &str, limit: Duration) -> Option<String> {
    output_within(Path::new("/bin/sh"), &["-c", line], limit)
}

fn executable_file(directory: &Path) -> PathBuf {
    let path = directory.join("program");
    fs::write(&path, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn only_a_file_with_permission_to_execute_is_executable() {
    let directory = tempfile::tempdir().unwrap();
    let program = executable_file(directory.path());
    let text = directory.path().join("text");
    fs::write(&text, "text").unwrap();
    assert!(ThisMachine.is_executable(&program));
    assert!(ThisMachine.is_file(&text));
    assert!(!ThisMachine.is_executable(&text));
    assert!(!ThisMachine.is_executable(directory.path()));
    assert!(!ThisMachine.is_executable(&directory.path().join("missing")));
}

#[test]
fn a_link_is_canonically_its_target() {
    let directory = tempfile::tempdir().unwrap();
    let program = executable_file(directory.path());
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(&program, &link).unwrap();
    assert_eq!(ThisMachine.canonical(&link), program.canonicalize().ok());
    assert_eq!(ThisMachine.canonical(&directory.path().join("missing")), None);
}

#[test]
fn text_is_read_up_to_the_limit_and_not_beyond() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "12345").unwrap();
    assert_eq!(ThisMachine.read_text(&file, 5).as_deref(), Some("12345"));
    assert_eq!(ThisMachine.read_text(&file, 4), None);
    fs::write(&file, [0xff, 0xfe]).unwrap();
    assert_eq!(ThisMachine.read_text(&file, 5), None);
    assert_eq!(ThisMachine.read_text(directory.path(), 5), None);
    assert_eq!(ThisMachine.list_dir(directory.path()), ["file"]);
}

#[test]
fn a_command_in_path_is_found_and_asked_for_its_version() {
    // Some versions of `echo` know the argument and others repeat it; all of them print something.
    let echo = ThisMachine.find_in_path("echo").unwrap();
    assert!(echo.is_absolute());
    assert!(ThisMachine.version_output(&echo).is_some());
    assert_eq!(ThisMachine.find_in_path("no-such-command-anywhere"), None);
}

#[test]
fn standard_output_is_taken_and_standard_error_is_not() {
    let output = shell("echo noise 9.9 >&2; echo Chromium 1.2.3.4", Duration::from_secs(30));
    assert_eq!(output.as_deref(), Some("Chromium 1.2.3.4\n"));
}

#[test]
fn a_program_that_fails_or_does_not_start_says_nothing() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(shell("exit 1", Duration::from_secs(30)), None);
    assert_eq!(ThisMachine.version_output(&directory.path().join("missing")), None);
}

#[test]
fn a_program_that_hangs_is_ended_at_the_limit_with_what_it_started() {
    let started = Instant::now();
    let output = shell("sleep 600 & echo $!; sleep 600", Duration::from_millis(500)).unwrap();
    assert!(started.elapsed() < Duration::from_secs(60));
    // An orphan that was killed is a zombie until init reaps it, so either state is the end of it.
    let child = PathBuf::from(format!("/proc/{}/stat", output.trim()));
    let is_over = || fs::read_to_string(&child).map_or(true, |stat| stat.contains(") Z "));
    let patience = Instant::now() + Duration::from_secs(10);
    while !is_over() && Instant::now() < patience {
        std::thread::yield_now();
    }
    assert!(is_over());
}

#[test]
fn a_child_that_keeps_the_output_open_does_not_hold_up_the_answer_beyond_the_limit() {
    let started = Instant::now();
    let output = shell("sleep 600 & echo 1.2.3.4", Duration::from_millis(500));
    assert_eq!(output.as_deref(), Some("1.2.3.4\n"));
    assert!(started.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_program_that_prints_for_ever_is_cut_off() {
    let output = shell("while :; do echo 1.2.3.4; done", Duration::from_secs(30)).unwrap();
    assert!(output.len() <= 16 * 1024 + 1);
}
