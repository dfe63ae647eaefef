//! Profile directories: temporary ones that leave no trace, and named ones that are kept.
//!
//! Temporary profiles of one hub lie in one run directory, which the hub locks while it lives. The
//! next hub removes every run directory whose lock is free, and ends what still runs in it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bowline_hub::files;
use bowline_hub::registry;

const LOCK: &str = "lock";
/// Beside each profile stands a file with the pid of the browser that uses it.
const PID: &str = "pid";

pub struct Profiles {
    kept: PathBuf,
    run: PathBuf,
    /// Held for as long as the hub lives.
    _lock: File,
}

impl Profiles {
    /// `temporary` holds the run directories of all hubs of this user, `kept` the named profiles.
    pub fn open(temporary: &Path, kept: &Path) -> io::Result<Self> {
        files::private_dir(temporary)?;
        let run = temporary.join(format!("run-{}", short_id()?));
        files::private_dir(&run)?;
        let lock = files::open_private(&run.join(LOCK))?;
        lock.try_lock().map_err(io::Error::other)?;
        Ok(Self { kept: kept.to_owned(), run, _lock: lock })
    }

    pub(crate) fn temporary(&self) -> io::Result<PathBuf> {
        let dir = self.run.join(format!("profile-{}", short_id()?));
        files::private_dir(&dir)?;
        Ok(dir)
    }

    pub(crate) fn named(&self, name: &str) -> io::Result<PathBuf> {
        files::private_dir(&self.kept)?;
        let dir = self.kept.join(name);
        files::private_dir(&dir)?;
        Ok(dir)
    }

    /// Notes which process uses a temporary profile, for a hub that has to clean up after us.
    pub(crate) fn note_pid(profile: &Path, pid: u32) -> io::Result<()> {
        files::write_private(&profile.with_extension(PID), pid.to_string().as_bytes())
    }

    /// Removes our own run directory. Called when every browser has ended.
    pub fn close(&self) {
        if let Err(error) = fs::remove_dir_all(&self.run) {
            tracing::warn!(%error, "the run directory could not be removed");
        }
    }
}

/// Short, because Chromium puts a socket below, whose path may have some hundred characters at most.
fn short_id() -> io::Result<String> {
    Ok(registry::new_id()?[..8].to_owned())
}

/// Removes a profile. Children of the browser may still be writing, so it tries for a while.
pub(crate) async fn remove(profile: PathBuf) {
    let _ = fs::remove_file(profile.with_extension(PID));
    for _ in 0..40 {
        let dir = profile.clone();
        let result = tokio::task::spawn_blocking(move || fs::remove_dir_all(dir)).await;
        match result {
            Ok(Err(error)) if error.kind() != io::ErrorKind::NotFound => {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            _ => return,
        }
    }
    tracing::warn!("{} could not be removed", profile.display());
}

/// Removes what hubs that were killed have left in `temporary`. Returns how many runs there were.
pub async fn sweep(temporary: &Path) -> io::Result<usize> {
    let mut swept = 0;
    let entries = match fs::read_dir(temporary) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    for entry in entries.flatten() {
        let run = entry.path();
        if !entry.file_name().to_string_lossy().starts_with("run-")
            || !entry.file_type().is_ok_and(|kind| kind.is_dir())
        {
            continue;
        }
        let Ok(lock) = files::open_private(&run.join(LOCK)) else { continue };
        if lock.try_lock().is_err() {
            continue;
        }
        for pid in left_behind(&run) {
            tracing::warn!(pid, "ending a browser that an earlier hub left");
            end_left_behind(pid);
        }
        remove(run).await;
        swept += 1;
    }
    Ok(swept)
}

/// The pids of browsers that still use a profile of this run. A pid is believed only if that process
/// names the profile on its command line: the number may have been given to another since.
fn left_behind(run: &Path) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(run) else { return Vec::new() };
    let noted =
        entries.flatten().filter(|entry| entry.path().extension().is_some_and(|extension| extension == PID));
    noted
        .filter_map(|entry| {
            let pid: u32 = files::read_private(&entry.path()).ok()??.trim().parse().ok()?;
            let command = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
            let profile = entry.path().with_extension("");
            memchr::memmem::find(&command, profile.as_os_str().as_encoded_bytes()).map(|_| pid)
        })
        .collect()
}

fn end_left_behind(pid: u32) {
    #[cfg(unix)]
    if let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) {
        // The browser was made the leader of its group. It may be stopped, so only force helps.
        let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
    }
    #[cfg(not(unix))]
    let _ = pid;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_run_of_a_living_hub_stays_and_that_of_a_dead_one_goes() {
        let root = tempfile::tempdir().unwrap();
        let temporary = root.path().join("t");
        let living = Profiles::open(&temporary, &root.path().join("k")).unwrap();
        let dead = Profiles::open(&temporary, &root.path().join("k")).unwrap();
        let (kept, gone) = (living.temporary().unwrap(), dead.temporary().unwrap());
        fs::write(gone.join("file"), "x").unwrap();
        drop(dead);
        assert_eq!(sweep(&temporary).await.unwrap(), 1);
        assert!(kept.exists() && !gone.exists());
        living.close();
        assert!(!kept.exists());
    }

    #[tokio::test]
    async fn a_pid_that_now_belongs_to_another_process_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let profiles = Profiles::open(&root.path().join("t"), &root.path().join("k")).unwrap();
        let profile = profiles.temporary().unwrap();
        Profiles::note_pid(&profile, std::process::id()).unwrap();
        assert_eq!(left_behind(&profiles.run), Vec::<u32>::new());
    }
}
