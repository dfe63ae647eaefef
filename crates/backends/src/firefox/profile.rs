//! What a profile of Firefox holds for us: our preferences, the way in, and the lock.

use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use bowline_hub::files;
use serde::Deserialize;

const PREFERENCES: &str = include_str!("user.js");
/// Where Firefox says which port it listens on.
const WAY_IN: &str = "WebDriverBiDiServer.json";

/// Where pages are kept to some sites. Nobody is told what service workers ask for, and one of an earlier visit may be
/// in the profile.
const NO_SERVICE_WORKERS: &str = "
// There are lists of sites (sites.allow, sites.deny), and what service workers ask for could not be kept to them.
user_pref(\"dom.serviceWorkers.enabled\", false);
";

/// Makes a profile ready for a launch.
pub(super) fn prepare(profile: &Path, keeps_sites: bool) -> io::Result<()> {
    write_preferences(&profile.join("user.js"), keeps_sites)?;
    // The file of an earlier run survives it and would name a port that is now somebody else's.
    match fs::remove_file(profile.join(WAY_IN)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// A file that somebody has made their own stays.
fn write_preferences(file: &Path, keeps_sites: bool) -> io::Result<()> {
    let ours = PREFERENCES.lines().next().unwrap_or_default();
    let wanted = format!("{PREFERENCES}{}", if keeps_sites { NO_SERVICE_WORKERS } else { "" });
    match fs::read_to_string(file) {
        Ok(text) if text.lines().next() != Some(ours) => {
            let has_none = text.contains("\"dom.serviceWorkers.enabled\", false");
            if keeps_sites && !has_none {
                return Err(io::Error::other(
                    "its user.js is your own and leaves service workers on, which cannot be kept to the lists of sites",
                ));
            }
            Ok(())
        }
        Ok(text) if text == wanted => Ok(()),
        _ => files::write_private(file, wanted.as_bytes()),
    }
}

/// The WebSocket's URL, once Firefox has written where it listens.
pub(super) fn way_in(profile: &Path) -> Option<String> {
    url_of(&fs::read_to_string(profile.join(WAY_IN)).ok()?)
}

/// Only on this machine: whatever else the file may say, it is not ours to dial.
fn url_of(text: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct WayIn {
        ws_host: String,
        ws_port: u16,
    }
    let WayIn { ws_host, ws_port } = serde_json::from_str(text).ok()?;
    let bare = ws_host.trim_start_matches('[').trim_end_matches(']');
    let host = match bare.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) if address.is_loopback() => address.to_string(),
        Ok(IpAddr::V6(address)) if address.is_loopback() => format!("[{address}]"),
        Err(_) if bare == "localhost" => bare.to_owned(),
        _ => return None,
    };
    (ws_port != 0).then(|| format!("ws://{host}:{ws_port}/session"))
}

/// Whether a Firefox has this profile open. With a window it would not exit but show a message and wait
/// for a person.
#[cfg(unix)]
pub(super) fn is_locked(profile: &Path) -> bool {
    use rustix::fs::{FlockOperation, fcntl_lock};
    let lock = fs::File::options().write(true).open(profile.join(".parentlock"));
    // What we get for a moment is given back with the file.
    lock.is_ok_and(|lock| fcntl_lock(&lock, FlockOperation::NonBlockingLockExclusive).is_err())
}

#[cfg(not(unix))]
pub(super) fn is_locked(profile: &Path) -> bool {
    // Firefox holds it open without sharing.
    let lock = fs::File::options().write(true).open(profile.join("parent.lock"));
    lock.is_err_and(|error| error.kind() != io::ErrorKind::NotFound)
}

/// Directories of a throw-away browser's own, so that what it puts elsewhere goes with its profile.
pub(super) struct OwnPlaces {
    pub(super) home: PathBuf,
    pub(super) temporary: PathBuf,
}

impl OwnPlaces {
    pub(super) fn make(profile: &Path) -> io::Result<Self> {
        let places = Self { home: profile.join("home"), temporary: profile.join("tmp") };
        files::private_dir(&places.home)?;
        files::private_dir(&places.temporary)?;
        Ok(places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_preferences_is_a_comment_or_a_preference_and_none_is_set_twice() {
        let mut names = Vec::new();
        for line in PREFERENCES.lines().filter(|line| !line.is_empty() && !line.starts_with("//")) {
            let inside = line.strip_prefix("user_pref(").and_then(|rest| rest.strip_suffix(");"));
            let values: (String, serde_json::Value) =
                serde_json::from_str(&format!("[{}]", inside.expect(line))).expect(line);
            names.push(values.0);
        }
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
        for name in ["browser.shell.checkDefaultBrowser", "network.captive-portal-service.enabled"] {
            assert!(names.iter().any(|given| given == name), "{name}");
        }
    }

    #[test]
    fn preferences_are_kept_up_to_date_unless_somebody_has_made_them_their_own() {
        let profile = tempfile::tempdir().unwrap();
        let file = profile.path().join("user.js");
        prepare(profile.path(), false).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), PREFERENCES);
        let first = PREFERENCES.lines().next().unwrap();
        fs::write(&file, format!("{first}\nuser_pref(\"old\", 1);\n")).unwrap();
        prepare(profile.path(), false).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), PREFERENCES);
        fs::write(&file, "user_pref(\"mine\", 1);\n").unwrap();
        prepare(profile.path(), false).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "user_pref(\"mine\", 1);\n");
    }

    #[test]
    fn the_way_in_is_read_when_it_is_whole_and_on_this_machine() {
        let url = |host: &str| url_of(&format!("{{\"ws_host\": \"{host}\", \"ws_port\": 9}}"));
        assert_eq!(url("127.0.0.1").as_deref(), Some("ws://127.0.0.1:9/session"));
        assert_eq!(url("::1").as_deref(), Some("ws://[::1]:9/session"));
        assert_eq!(url("[::1]").as_deref(), Some("ws://[::1]:9/session"));
        assert_eq!(url("localhost").as_deref(), Some("ws://localhost:9/session"));
        for other in ["10.0.0.1", "evil.test", ""] {
            assert_eq!(url(other), None, "{other}");
        }
        for half in ["", "{\"ws_host\": \"127.0.0.1\"", "{\"ws_host\": \"127.0.0.1\", \"ws_port\": 0}"] {
            assert_eq!(url_of(half), None, "{half}");
        }
    }

    #[test]
    fn the_way_in_of_an_earlier_run_is_taken_away() {
        let profile = tempfile::tempdir().unwrap();
        fs::write(profile.path().join(WAY_IN), "{\"ws_host\": \"127.0.0.1\", \"ws_port\": 9}").unwrap();
        assert!(way_in(profile.path()).is_some());
        prepare(profile.path(), false).unwrap();
        assert_eq!(way_in(profile.path()), None);
    }

    /// That another's lock is seen is tested end to end: a process is never kept out by its own.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_profile_that_nobody_has_open_is_not_locked() {
        let profile = tempfile::tempdir().unwrap();
        assert!(!is_locked(profile.path()));
        fs::write(profile.path().join(".parentlock"), "").unwrap();
        assert!(!is_locked(profile.path()));
    }
}
