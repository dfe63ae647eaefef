//! What the hub's process arranges for itself: its log, its terminal, its limits. Knows nothing of
//! browsers or clients.

use std::io;

use bowline_hub::files;
use tracing_subscriber::EnvFilter;

use super::Mode;
use crate::config::Config;
use crate::failure::{Failure, exit};
use crate::paths::Paths;

/// The log begins anew beyond this size.
const LARGEST_LOG: u64 = 5 << 20;

pub(super) fn start_logging(config: &Config, paths: &Paths, mode: Mode) -> Result<(), Failure> {
    // Loading the configuration has tried it, and would have named its origin.
    let filter = EnvFilter::try_new(&config.log).map_err(|error| {
        Failure::new(exit::USAGE, "bad_config", format!("log filter `{}`: {error}", config.log))
    })?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_target(false);
    match mode {
        Mode::Foreground => {
            builder.with_writer(io::stderr).with_ansi(io::IsTerminal::is_terminal(&io::stderr())).init()
        }
        Mode::Daemon => {
            files::private_dir(&paths.state).map_err(|error| Failure::io("the state directory", &error))?;
            let path = paths.log_file();
            if std::fs::metadata(&path).is_ok_and(|log| log.len() > LARGEST_LOG) {
                std::fs::rename(&path, path.with_extension("log.old"))
                    .map_err(|error| Failure::io("the old log", &error))?;
            }
            let log = files::open_private(&path).map_err(|error| Failure::io("the log", &error))?;
            builder.with_writer(std::sync::Mutex::new(log)).with_ansi(false).init();
        }
    }
    Ok(())
}

/// A daemon survives the terminal it was started from, and keeps no directory busy.
pub(super) fn leave_the_terminal() {
    #[cfg(unix)]
    {
        let _ = rustix::process::setsid();
        let _ = rustix::process::chdir("/");
    }
}

/// A browser's children become ours when it dies, so that they can be reaped.
pub(super) fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::set_child_subreaper(Some(rustix::process::getpid())) {
        tracing::debug!(%error, "orphans go to init");
    }
}

/// Every client is an open file, and the usual limit is 256 or 1,024 of them. It is not raised without
/// bound: browsers inherit it, and a program that closes every possible file would take minutes.
pub(super) fn raise_file_limit() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        // macOS names no maximum, but takes no more than the second.
        for wanted in [65_536, 10_240] {
            let wanted = maximum.map_or(wanted, |maximum| maximum.min(wanted));
            if current.is_none_or(|current| current >= wanted) {
                return;
            }
            match setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum }) {
                Ok(()) => return,
                Err(error) => tracing::debug!(%error, wanted, "the limit of open files stays"),
            }
        }
    }
}
