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
/// A run directory has a file `PID.pid` for every browser, with the path of the profile it uses.
const NOTE: &str = "pid";

pub struct Profiles {
    kept: PathBuf,
    run: PathBuf,
    /// Held for as long as the hub lives.
    _lock: File,
}

impl Profiles {
    /// `temporary` holds the run directories of all hubs of this user, `kept` the named profiles.
    pub fn open(temporary: &Path, kept: &Path) -> io::Result<Self> {
        private_root(temporary)?;
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

    /// Notes which process uses a profile, for a hub that has to clean up after us.
    pub(crate) fn note(&self, pid: u32, profile: &Path) -> io::Result<Note> {
        let path = self.run.join(format!("{pid}.{NOTE}"));
        files::write_private(&path, profile.as_os_str().as_encoded_bytes())?;
        Ok(Note(path))
    }

    /// Removes our own run directory. Called when every browser has ended.
    pub fn close(&self) {
        if let Err(error) = fs::remove_dir_all(&self.run) {
            tracing::warn!(%error, "the run directory could not be removed");
        }
    }
}

/// A noted process; forgotten when dropped.
pub(crate) struct Note(PathBuf);

impl Drop for Note {
    fn drop(&mut self) {
        // It goes with its directory at the latest.
        let _ = fs::remove_file(&self.0);
    }
}

/// The directory above is named after the user in a place where anybody may make one, so that too must
/// be ours.
fn private_root(temporary: &Path) -> io::Result<()> {
    if let Some(parent) = temporary.parent() {
        files::private_dir(parent)?;
    }
    files::private_dir(temporary)
}

/// Short, because Chromium puts a socket below, whose path may have some hundred characters at most.
fn short_id() -> io::Result<String> {
    Ok(registry::new_id()?[..8].to_owned())
}

/// Removes a profile. Children of the browser may still be writing, so it tries for a while.
pub(crate) async fn remove(profile: PathBuf) {
    remove_singleton(&profile);
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

/// A browser that crashed leaves the directory of its singleton socket where it was, in some temporary
/// directory; a link in the profile leads there.
fn remove_singleton(profile: &Path) {
    let Ok(socket) = fs::read_link(profile.join("SingletonSocket")) else { return };
    let Some(dir) =
        socket.parent().filter(|_| socket.file_name().is_some_and(|name| name == "SingletonSocket"))
    else {
        return;
    };
    // Only a directory that looks as Chromium's and Chrome's do: com.google.Chrome.AbCdEf.
    let name = dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let parts: Vec<&str> = name.split('.').collect();
    let is_theirs = matches!(parts[..], ["org" | "com", _, _, random] if random.len() == 6);
    let is_plain = fs::symlink_metadata(dir).is_ok_and(|metadata| metadata.is_dir());
    if is_theirs && is_plain {
        let _ = fs::remove_dir_all(dir);
    }
}

/// Removes what hubs that were killed have left in `temporary`. Returns how many runs there were.
pub async fn sweep(temporary: &Path) -> io::Result<usize> {
    let mut swept = 0;
    private_root(temporary)?;
    for entry in fs::read_dir(temporary)?.flatten() {
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
        for profile in fs::read_dir(&run).into_iter().flatten().flatten() {
            remove_singleton(&profile.path());
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
    entries.flatten().filter_map(|entry| noted_and_alive(&entry.path())).collect()
}

fn noted_and_alive(note: &Path) -> Option<u32> {
    if note.extension()? != NOTE {
        return None;
    }
    let pid: u32 = note.file_stem()?.to_str()?.parse().ok()?;
    let profile = files::read_private(note).ok()??;
    memchr::memmem::find(&command_line(pid)?, profile.as_bytes()).filter(|_| !profile.is_empty()).map(|_| pid)
}

fn command_line(pid: u32) -> Option<Vec<u8>> {
    if cfg!(target_os = "linux") {
        return fs::read(format!("/proc/{pid}/cmdline")).ok();
    }
    let output =
        std::process::Command::new("ps").args(["-ww", "-o", "command=", "-p", &pid.to_string()]).output();
    output.ok().map(|output| output.stdout)
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
        let note = profiles.note(std::process::id(), &profile).unwrap();
        assert_eq!(left_behind(&profiles.run), Vec::<u32>::new());
        drop(note);
        let here = std::env::current_exe().unwrap();
        let note = profiles.note(std::process::id(), &here).unwrap();
        assert_eq!(left_behind(&profiles.run), vec![std::process::id()], "its command line has its path");
        drop(note);
    }
}
