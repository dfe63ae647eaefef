//! A file of somebody else's: read as it is, replaced as a whole. A link stays a link, permissions and
//! owner stay, and what another program wrote meanwhile is not lost. Knows no format.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::failure::{Failure, exit};
use crate::paths::shown;

/// More than any configuration; Claude Code keeps some megabytes in its own.
const LARGEST: u64 = 64 << 20;
/// As many links as Linux follows.
const LINKS: usize = 40;

/// A file as it was when it was read.
#[derive(Debug)]
pub(super) struct Seen {
    /// What it is called, perhaps a link.
    path: PathBuf,
    /// Where its bytes are.
    target: PathBuf,
    /// None if there is no such file.
    pub(super) text: Option<String>,
}

pub(super) fn read(path: &Path) -> Result<Seen, Failure> {
    let target = target(path).map_err(|error| io_failure(path, "cannot be read", &error))?;
    let text = match fs::metadata(&target) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(io_failure(path, "cannot be read", &error)),
        // Opening a named pipe would wait for a writer.
        Ok(metadata) if !metadata.is_file() || metadata.len() > LARGEST => {
            return Err(Failure::new(
                exit::FAILED,
                "not_a_file",
                format!("{} is not a file of a configuration's size", shown(path)),
            )
            .hint("look at it, and move it away if it is not needed"));
        }
        Ok(_) => Some(text(path, &target)?),
    };
    Ok(Seen { path: path.to_owned(), target, text })
}

fn text(path: &Path, target: &Path) -> Result<String, Failure> {
    let bytes = fs::read(target).map_err(|error| io_failure(path, "cannot be read", &error))?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + valid.iter().filter(|byte| **byte == b'\n').count();
        Failure::new(exit::FAILED, "not_text", format!("{}:{line} is not UTF-8", shown(path)))
            .hint("save the file as UTF-8; it was left alone")
    })
}

/// Follows links by hand, because the last one may lead to a file that is not there yet.
fn target(path: &Path) -> io::Result<PathBuf> {
    let mut target = std::path::absolute(path)?;
    for _ in 0..LINKS {
        match fs::read_link(&target) {
            Ok(link) => target = target.parent().unwrap_or(Path::new("/")).join(link),
            Err(_) => return Ok(target),
        }
    }
    Err(io::Error::other("too many links"))
}

impl Seen {
    /// Makes the text of the file `new`, unless it has changed since it was read: then `Ok(false)`.
    pub(super) fn replace(&self, new: &str) -> Result<bool, Failure> {
        let failed = |error: io::Error| io_failure(&self.path, "cannot be written", &error);
        let before = match fs::metadata(&self.target) {
            Ok(metadata) => Some(metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
        };
        // A rename would not ask; who has protected the file has meant it.
        if before.as_ref().is_some_and(|before| before.permissions().readonly()) {
            return Err(Failure::new(
                exit::FAILED,
                "read_only",
                format!("{} is protected against writing", shown(&self.path)),
            )
            .hint("make it writable, or use --dry-run and make the change by hand"));
        }
        let dir = self.target.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(dir).map_err(failed)?;
        let name = self.target.file_name().unwrap_or_default().to_string_lossy();
        let temporary = self.target.with_file_name(format!(".{name}.bowline-{}", std::process::id()));
        let replaced = write_new(&temporary, new, before.as_ref()).and_then(|()| {
            let same = match fs::read(&self.target) {
                Ok(now) => self.text.as_deref().is_some_and(|then| then.as_bytes() == now),
                Err(error) => error.kind() == io::ErrorKind::NotFound && self.text.is_none(),
            };
            if same { fs::rename(&temporary, &self.target).map(|()| true) } else { Ok(false) }
        });
        if !matches!(replaced, Ok(true)) {
            // Of no use to anybody.
            let _ = fs::remove_file(&temporary);
        }
        // The rename itself, so that it outlives a loss of power. Not every file system can.
        #[cfg(unix)]
        let _ = File::open(dir).and_then(|dir| dir.sync_all());
        replaced.map_err(failed)
    }
}

fn write_new(path: &Path, text: &str, like: Option<&Metadata>) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes())?;
    if let Some(like) = like {
        keep_owner(&file, like)?;
        file.set_permissions(like.permissions())?;
    }
    file.sync_all()
}

/// Run with sudo, a person's file must not become root's.
#[cfg(unix)]
fn keep_owner(file: &File, like: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let now = file.metadata()?;
    if (now.uid(), now.gid()) == (like.uid(), like.gid()) {
        return Ok(());
    }
    std::os::unix::fs::fchown(file, Some(like.uid()), Some(like.gid()))
}

#[cfg(not(unix))]
fn keep_owner(_: &File, _: &Metadata) -> io::Result<()> {
    Ok(())
}

fn io_failure(path: &Path, what: &str, error: &io::Error) -> Failure {
    Failure::io(&format!("{} {what}", shown(path)), error)
        .hint("nothing was changed; see who may write the file and its directory")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dir() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    #[test]
    fn a_missing_file_and_its_directories_are_made() {
        let root = dir();
        let path = root.path().join("a/b/c.json");
        let seen = read(&path).unwrap();
        assert_eq!(seen.text, None);
        assert!(seen.replace("{}\n").unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "{}\n");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no temporary file stays");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn what_was_written_meanwhile_stays() {
        let root = dir();
        let path = root.path().join("c.json");
        fs::write(&path, "{}").unwrap();
        let seen = read(&path).unwrap();
        fs::write(&path, "{\"new\": 1}").unwrap();
        assert!(!seen.replace("{\"ours\": 1}").unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"new\": 1}");
        let missing = read(&root.path().join("d.json")).unwrap();
        fs::write(root.path().join("d.json"), "x").unwrap();
        assert!(!missing.replace("y").unwrap());
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 2, "no temporary file stays");
    }

    #[test]
    fn what_is_no_text_is_refused_with_its_line() {
        let root = dir();
        let path = root.path().join("c.json");
        fs::write(&path, b"{\n\"a\": \"\xff\"}").unwrap();
        let failure = read(&path).unwrap_err();
        assert_eq!(failure.code, "not_text");
        assert!(failure.message.contains("c.json:2"), "{}", failure.message);
        assert_eq!(read(root.path()).unwrap_err().code, "not_a_file");
    }

    #[cfg(unix)]
    #[test]
    fn permissions_stay_and_links_stay_links() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let root = dir();
        let (real, link, second) =
            (root.path().join("real/c.json"), root.path().join("link.json"), root.path().join("second.json"));
        fs::create_dir(root.path().join("real")).unwrap();
        fs::write(&real, "old").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("real/c.json", &link).unwrap();
        symlink(&link, &second).unwrap();
        assert!(read(&second).unwrap().replace("new").unwrap());
        assert_eq!(fs::read_to_string(&real).unwrap(), "new");
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert!(fs::symlink_metadata(&second).unwrap().is_symlink());
        // One that leads to a file that is not there makes that file.
        let dangling = root.path().join("dangling.json");
        symlink("real/later.json", &dangling).unwrap();
        assert!(read(&dangling).unwrap().replace("made").unwrap());
        assert_eq!(fs::read_to_string(root.path().join("real/later.json")).unwrap(), "made");
        assert!(fs::symlink_metadata(&dangling).unwrap().is_symlink());
    }

    #[cfg(unix)]
    #[test]
    fn a_protected_file_is_not_replaced() {
        use std::os::unix::fs::PermissionsExt;
        let root = dir();
        let path = root.path().join("c.json");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
        assert_eq!(read(&path).unwrap().replace("new").unwrap_err().code, "read_only");
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    }
}
