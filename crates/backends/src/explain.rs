//! From the exit of a browser that never got ready to what a user can do about it.

use bowline_hub::backend::{Exit, StartError};

/// Chromium's exit code for a profile that another process holds.
const PROFILE_IN_USE: i32 = 21;

pub(crate) fn explain(program: &str, profile: &str, exit: &Exit) -> StartError {
    let stderr = exit.stderr.as_str();
    let found = |needle: &str| stderr.contains(needle);
    if exit.code == Some(PROFILE_IN_USE)
        || found("Opening in existing browser session")
        || found("profile appears to be in use")
        || found("is already running, but is not responding")
    {
        return profile_locked(profile);
    }
    if let Some(library) = missing_library(stderr) {
        return error(
            "missing_library",
            format!("{program} cannot start: the library {library} is missing"),
            if program.contains("firefox") {
                "install the browser's dependencies (on Debian: apt install --reinstall firefox-esr)"
            } else {
                "install the browser's dependencies (on Debian or Ubuntu: apt install --reinstall chromium)"
            },
        );
    }
    if found("Missing X server")
        || found("cannot open display")
        || found("Unable to open X display")
        || found("no DISPLAY environment variable")
    {
        return error(
            "no_display",
            format!("{program} found no display to open a window on"),
            "launch without --headed, or set DISPLAY (for example with xvfb-run)",
        );
    }
    if found("without --no-sandbox is not supported") || found("No usable sandbox") {
        return error(
            "no_sandbox",
            format!("{program} cannot use its sandbox here"),
            "launch with --no-sandbox if you trust the pages, or run as an ordinary user",
        );
    }
    if found("in a regular user's session is not supported") {
        return error(
            "foreign_home",
            format!("{program} does not run as root in the home of another user"),
            "set HOME to root's own (such as with `sudo -H`), or launch without --profile",
        );
    }
    if found("Socket path too long") || found("File name too long") {
        return error(
            "path_too_long",
            format!("{program} cannot put its socket below the temporary directory, whose path is too long"),
            "set TMPDIR to a shorter directory, such as /tmp",
        );
    }
    let tail = tail(stderr);
    let said = if tail.is_empty() { String::new() } else { format!("; it said:\n{tail}") };
    error(
        "exited_at_once",
        format!("{program} {exit} before it was ready{said}"),
        "run `bowline doctor`, or choose another browser with --browser",
    )
}

pub(crate) fn profile_locked(profile: &str) -> StartError {
    error(
        "profile_locked",
        format!("the profile {profile} is in use by another browser process"),
        "close the browser that uses it, or launch with another --profile NAME (or none, for a temporary one)",
    )
}

fn error(code: &'static str, message: String, hint: &str) -> StartError {
    StartError { code, message, hint: hint.to_owned() }
}

/// The linker says `PROGRAM: error while loading shared libraries: LIBRARY: cannot open ...`, Firefox, which
/// loads its own, `LIBRARY: cannot open ...`.
fn missing_library(stderr: &str) -> Option<&str> {
    let line = stderr.lines().find(|line| line.contains(": cannot open shared object file"))?;
    let (before, _) = line.split_once(": cannot open shared object file")?;
    before.rsplit(' ').next()
}

/// The last lines, as many as a person reads.
pub(crate) fn tail(stderr: &str) -> String {
    let lines: Vec<&str> = stderr.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(8)..]
        .iter()
        .map(|line| format!("  {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(code: i32, stderr: &str) -> &'static str {
        explain("chromium", "p", &Exit { code: Some(code), signal: None, stderr: stderr.to_owned() }).code
    }

    #[test]
    fn each_cause_has_its_own_message() {
        assert_eq!(code(21, ""), "profile_locked");
        assert_eq!(code(0, "Opening in existing browser session."), "profile_locked");
        let library =
            "chrome: error while loading shared libraries: libnss3.so: cannot open shared object file";
        assert_eq!(code(127, library), "missing_library");
        assert_eq!(code(1, "[1:1:ERROR:ozone] Missing X server or $DISPLAY"), "no_display");
        assert_eq!(code(1, "Running as root without --no-sandbox is not supported."), "no_sandbox");
        let library = "XPCOMGlueLoad error for file /opt/firefox/libxul.so:\n\
            libgtk-3.so.0: cannot open shared object file: No such file or directory\nCouldn't load XPCOM.";
        assert_eq!(missing_library(library), Some("libgtk-3.so.0"));
        let running = "Firefox is already running, but is not responding. To use Firefox, you must first";
        assert_eq!(code(0, running), "profile_locked");
        assert_eq!(code(1, "Error: no DISPLAY environment variable specified"), "no_display");
        assert_eq!(code(1, "Error: cannot open display: :99"), "no_display");
        let root = "Running Firefox as root in a regular user's session is not supported.  ($HOME is /home/a";
        assert_eq!(code(1, root), "foreign_home");
        assert_eq!(code(1, "whatever"), "exited_at_once");
    }

    #[test]
    fn an_unknown_cause_shows_the_last_lines() {
        let stderr = (0..20).map(|line| format!("line {line}\n")).collect::<String>();
        let exit = Exit { code: Some(3), signal: None, stderr };
        let error = explain("chromium", "p", &exit);
        assert!(error.message.starts_with("chromium exited with code 3 before it was ready; it said:"));
        assert!(error.message.ends_with("line 19") && !error.message.contains("line 3\n"));
    }
}
