//! Finding the user's hub, and starting one when none runs.
//!
//! A hub is alive exactly while its lock is held; pids and files prove nothing. Whoever starts one
//! holds another lock meanwhile, so that twenty commands at once start one hub.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use bowline_hub::files;
use bowline_hub::statefile::{self, State};
use serde::Deserialize;

use crate::failure::{Failure, exit};
use crate::output::Output;
use crate::paths::{self, Paths};

/// A hub needs milliseconds; a loaded machine may need more.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(10);
/// After this long a person wants to know what is being waited for.
const QUIET: Duration = Duration::from_secs(2);

/// What a hub says on its stdout when it is ready, or why it is not.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Announcement {
    Failed {
        code: String,
        message: String,
        hint: Option<String>,
        exit: u8,
    },
    /// The port must be there; everything else about the hub is in its state file.
    Ready {
        #[serde(rename = "port")]
        _port: u16,
    },
}

/// The hub that runs now, if one does.
pub(crate) fn running(paths: &Paths) -> Result<Option<State>, Failure> {
    prepare(paths)?;
    let lock =
        files::open_private(&paths.hub_lock()).map_err(|error| Failure::io("the hub's lock", &error))?;
    if lock.try_lock_shared().is_ok() {
        return Ok(None);
    }
    // It holds the lock before it has written its state, and writes it anew now and then.
    let deadline = Instant::now() + PATIENCE;
    loop {
        match statefile::read(&paths.state_file()) {
            Ok(Some(state)) => return Ok(Some(state)),
            Ok(None) if lock.try_lock_shared().is_ok() => return Ok(None),
            _ if Instant::now() < deadline => std::thread::sleep(PAUSE),
            Ok(None) => return Err(mute_hub(paths)),
            Err(error) => {
                return Err(Failure::new(exit::NO_HUB, "bad_state", error.to_string()).hint(
                    "`bowline shutdown` cannot reach this hub either; end its process, then try again",
                ));
            }
        }
    }
}

/// The hub that runs now; started if none does.
pub(crate) fn running_or_started(paths: &Paths, output: Output) -> Result<State, Failure> {
    if let Some(state) = running(paths)? {
        return Ok(state);
    }
    let _starting = wait_for_start_lock(paths, output)?;
    // Another command may have started one while we waited for the lock.
    if let Some(state) = running(paths)? {
        return Ok(state);
    }
    start(paths)?;
    running(paths)?.ok_or_else(|| mute_hub(paths))
}

fn prepare(paths: &Paths) -> Result<(), Failure> {
    files::private_dir(&paths.runtime).map_err(|error| {
        Failure::io("the runtime directory", &error)
            .hint("set XDG_RUNTIME_DIR or TMPDIR to a directory of yours")
    })
}

fn wait_for_start_lock(paths: &Paths, output: Output) -> Result<File, Failure> {
    let lock =
        files::open_private(&paths.start_lock()).map_err(|error| Failure::io("the start lock", &error))?;
    let begun = Instant::now();
    let mut told = false;
    while lock.try_lock().is_err() {
        if begun.elapsed() > QUIET && !told {
            output.note("waiting for another command that is starting the hub ...");
            told = true;
        }
        if begun.elapsed() > PATIENCE {
            return Err(mute_hub(paths));
        }
        std::thread::sleep(PAUSE);
    }
    Ok(lock)
}

/// Starts a hub of its own life: nothing of ours stays open in it.
fn start(paths: &Paths) -> Result<(), Failure> {
    let program = std::env::current_exe().map_err(|error| Failure::io("our own program", &error))?;
    let mut command = Command::new(program);
    command.args(["serve", "--daemon"]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    if std::env::var_os("TMPDIR").is_some() {
        // Its browsers read it too, and a daemon has another directory than we have.
        command.env("TMPDIR", paths::temp_dir()?);
    }
    let mut child = command.spawn().map_err(|error| Failure::io("the hub could not be started", &error))?;
    let Some(stdout) = child.stdout.take() else { return Err(mute_hub(paths)) };
    let (tell, told) = mpsc::sync_channel(1);
    let attendant = std::thread::spawn(move || {
        let mut line = String::new();
        let read = BufReader::new(stdout).read_line(&mut line).map(|_| line);
        // Nobody listens any more if it took too long.
        let _ = tell.send(read);
        // A hub that ends while we live, as under `wrap`, leaves no zombie behind.
        let _ = child.wait();
    });
    // The start lock is held meanwhile. A hub that is later than this may still become ready; the next
    // command finds it then.
    let line = told.recv_timeout(PATIENCE).map_err(|_| mute_hub(paths))?;
    let line = line.map_err(|error| Failure::io("the hub's announcement", &error))?;
    match serde_json::from_str(&line) {
        Ok(Announcement::Ready { .. }) => Ok(()),
        Ok(Announcement::Failed { code, message, hint, exit }) => {
            // It has said its last; whoever looks after us must not still find it.
            let _ = attendant.join();
            Err(Failure::new(exit, &code, message).hint(hint.unwrap_or_default()))
        }
        Err(_) => Err(mute_hub(paths)),
    }
}

fn mute_hub(paths: &Paths) -> Failure {
    Failure::new(exit::NO_HUB, "no_hub", "the hub did not become ready")
        .hint(format!("see {}, or run `bowline serve` to watch it start", paths::shown(&paths.log_file())))
}
