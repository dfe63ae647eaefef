//! A browser process that we started: its exit, its end, and what it leaves on disk.

use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bowline_hub::backend::{Exit, Process, StartError};
use futures_util::future::BoxFuture;
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr};
use tokio_util::task::TaskTracker;

use crate::profiles::{Note, Profiles};
use crate::{explain, profiles};

/// As much of stderr is kept.
const TAIL: usize = 8 << 10;
/// After the exit, stderr may still hold the reason; children can keep it open for ever.
const LAST_WORDS: Duration = Duration::from_millis(200);

pub(crate) struct BrowserProcess {
    pub(crate) child: Child,
    pid: u32,
    program: String,
    profile: PathBuf,
    throw_away: bool,
    note: Option<Note>,
    stderr: Arc<Stderr>,
    exit: Option<Exit>,
}

#[derive(Default)]
struct Stderr {
    tail: Mutex<Vec<u8>>,
    ended: tokio_util::sync::CancellationToken,
}

impl Stderr {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.tail.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

impl BrowserProcess {
    pub(crate) fn new(
        mut child: Child,
        program: String,
        profile: PathBuf,
        throw_away: bool,
        tasks: &TaskTracker,
    ) -> Self {
        let stderr = Arc::<Stderr>::default();
        if let Some(pipe) = child.stderr.take() {
            tasks.spawn(keep_tail(pipe, stderr.clone()));
        }
        let pid = child.id().unwrap_or(0);
        Self { child, pid, program, profile, throw_away, note: None, stderr, exit: None }
    }

    /// Leaves word of this process for the case that the hub is killed.
    pub(crate) fn note(&mut self, profiles: &Profiles) {
        match profiles.note(self.pid, &self.profile) {
            Ok(note) => self.note = Some(note),
            Err(error) => tracing::warn!(%error, "the browser's pid could not be noted"),
        }
    }

    #[cfg(unix)]
    fn group(&self) -> Option<rustix::process::Pid> {
        i32::try_from(self.pid).ok().filter(|pid| *pid > 1).and_then(rustix::process::Pid::from_raw)
    }
}

impl Process for BrowserProcess {
    fn pid(&self) -> u32 {
        self.pid
    }

    fn exited(&mut self) -> BoxFuture<'_, Exit> {
        Box::pin(async move {
            if let Some(exit) = &self.exit {
                return exit.clone();
            }
            let status = self.child.wait().await;
            let _ = tokio::time::timeout(LAST_WORDS, self.stderr.ended.cancelled()).await;
            let stderr = self.stderr.text();
            let exit = Exit {
                code: status.as_ref().ok().and_then(ExitStatus::code),
                signal: status.as_ref().ok().and_then(signal_of),
                stderr,
            };
            self.exit.insert(exit).clone()
        })
    }

    fn terminate(&mut self) {
        #[cfg(unix)]
        if self.exit.is_none()
            && let Some(pid) = self.group()
        {
            // Only the main process: a browser ends its children in order.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        #[cfg(not(unix))]
        let _ = self.child.start_kill();
    }

    fn kill(&mut self) {
        #[cfg(unix)]
        if let Some(group) = self.group() {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.start_kill();
    }

    fn clean_up(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            #[cfg(target_os = "linux")]
            if let Some(group) = self.group() {
                reap(group).await;
                reap_crash_handlers();
            }
            self.note = None;
            if self.throw_away {
                profiles::remove(self.profile.clone()).await;
            }
        })
    }

    fn last_words(&self) -> String {
        explain::tail(&self.stderr.text())
    }

    fn explain(&self, exit: &Exit) -> StartError {
        explain::explain(&self.program, &self.profile.display().to_string(), exit)
    }
}

impl Drop for BrowserProcess {
    fn drop(&mut self) {
        // Reached with a living browser only when the hub itself is torn down in mid-launch.
        if self.exit.is_none() {
            self.kill();
        }
    }
}

/// The browser's children became ours when it died, if the hub adopts orphans; they are reaped here.
#[cfg(target_os = "linux")]
async fn reap(group: rustix::process::Pid) {
    use rustix::process::{WaitOptions, waitpgid};
    for _ in 0..50 {
        match waitpgid(group, WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => tokio::time::sleep(Duration::from_millis(20)).await,
            Err(_) => return,
        }
    }
}

/// Crash handlers, of Chromium and of Firefox, live in groups of their own and end a little after it. Those of this run
/// are reaped here if they have ended, or after the next.
#[cfg(target_os = "linux")]
fn reap_crash_handlers() {
    use rustix::process::{Pid, WaitOptions, getpid, waitpid};
    let Ok(processes) = std::fs::read_dir("/proc") else { return };
    let ours = getpid().as_raw_nonzero().to_string();
    for process in processes.flatten() {
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let stat = std::fs::read_to_string(process.path().join("stat")).unwrap_or_default();
        // `PID (NAME) STATE PARENT ...`; the kernel cuts the name.
        let Some((name, rest)) = stat.split_once(") ") else { continue };
        let mut fields = rest.split(' ');
        let is_dead = fields.next() == Some("Z") && fields.next() == Some(&ours);
        let is_handler = name.ends_with("(chrome_crashpad") || name.ends_with("(crashhelper");
        if is_dead && is_handler {
            let _ = waitpid(Pid::from_raw(pid), WaitOptions::NOHANG);
        }
    }
}

async fn keep_tail(mut pipe: ChildStderr, stderr: Arc<Stderr>) {
    let mut buffer = vec![0; 2048];
    while let Ok(count) = pipe.read(&mut buffer).await
        && count > 0
    {
        tracing::trace!(target: "browser_stderr", "{}", String::from_utf8_lossy(&buffer[..count]));
        let mut tail = stderr.tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend_from_slice(&buffer[..count]);
        let excess = tail.len().saturating_sub(TAIL);
        tail.drain(..excess);
    }
    stderr.ended.cancel();
}

#[cfg(unix)]
fn signal_of(status: &ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(status)
}

#[cfg(not(unix))]
fn signal_of(_: &ExitStatus) -> Option<i32> {
    None
}
