//! The session and process group that this process is in, as its terminal sees them.
//!
//! In a container either may have its leader outside, and the kernel then gives 0 for its id. rustix
//! takes every id to be positive and panics (or worse, in a release build), so on Linux they are read
//! from /proc instead.

/// The session, unless its leader cannot be seen from here.
#[cfg(unix)]
pub(crate) fn session() -> Option<i32> {
    ids().map(|ids| ids.session).filter(|id| *id > 0)
}

#[cfg(not(unix))]
pub(crate) fn session() -> Option<i32> {
    None
}

/// Whether what is typed at the terminal reaches this process, Ctrl-C included.
#[cfg(unix)]
pub(crate) fn is_in_foreground() -> bool {
    use std::io::IsTerminal;
    std::io::stdin().is_terminal() && ids().is_some_and(|ids| ids.group > 0 && ids.group == ids.foreground)
}

#[cfg(not(unix))]
pub(crate) fn is_in_foreground() -> bool {
    true
}

#[cfg(unix)]
#[derive(Debug, PartialEq)]
struct Ids {
    group: i32,
    session: i32,
    /// The group that the terminal belongs to now; -1 where there is no terminal.
    foreground: i32,
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn ids() -> Option<Ids> {
    parse(&std::fs::read_to_string("/proc/self/stat").ok()?)
}

#[cfg(all(unix, not(any(target_os = "linux", target_os = "android"))))]
fn ids() -> Option<Ids> {
    use rustix::process::{Pid, getpgrp, getsid};
    let raw = Pid::as_raw_pid;
    Some(Ids {
        group: raw(getpgrp()),
        session: raw(getsid(None).ok()?),
        foreground: rustix::termios::tcgetpgrp(std::io::stdin()).map_or(-1, raw),
    })
}

/// `PID (NAME) STATE PARENT GROUP SESSION TERMINAL FOREGROUND ...`, where the name may hold anything.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn parse(stat: &str) -> Option<Ids> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(2).map(str::parse::<i32>);
    let mut next = || fields.next()?.ok();
    let (group, session, _terminal, foreground) = (next()?, next()?, next()?, next()?);
    Some(Ids { group, session, foreground })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_process_may_look_like_fields() {
        let stat = "77 (a) S 1 2 3) R 1 40 41 34816 42 4194304 1";
        assert_eq!(parse(stat), Some(Ids { group: 40, session: 41, foreground: 42 }));
        assert_eq!(parse("77 (cut) R 1 40"), None);
    }

    #[test]
    fn this_process_is_in_a_group() {
        assert!(ids().is_some());
    }
}
