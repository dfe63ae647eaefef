//! Private files: directories of mode 0700, files of mode 0600, owner checked, symbolic links not
//! followed, written to a temporary file, synced and renamed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

/// Larger than anything that we write; a file beyond it is not ours.
const LARGEST: u64 = 1 << 20;

/// Makes `dir` if need be and insists that it is a real directory of ours that nobody else can enter.
pub fn private_dir(dir: &Path) -> io::Result<()> {
    if let Some(parent) = dir.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(dir) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let metadata = fs::symlink_metadata(dir)?;
    if !metadata.is_dir() {
        return Err(refused(dir, "is not a directory"));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        if metadata.uid() != rustix::process::geteuid().as_raw() {
            return Err(refused(dir, "belongs to another user"));
        }
        if metadata.mode() & 0o077 != 0 {
            fs::set_permissions(dir, fs::Permissions::from_mode(0o700))?;
        }
    }
    Ok(())
}

/// The text of a private file; `None` if it is missing. A link, a foreign or an oversized file is an error.
pub fn read_private(path: &Path) -> io::Result<Option<String>> {
    let mut options = OpenOptions::new();
    options.read(true);
    no_follow(&mut options);
    let file = match options.open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(refused(path, &format!("cannot be opened: {error}"))),
    };
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.len() > LARGEST {
        return Err(refused(path, "is not a file of ours"));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        if metadata.uid() != rustix::process::geteuid().as_raw() {
            return Err(refused(path, "belongs to another user"));
        }
    }
    let mut text = String::new();
    file.take(LARGEST).read_to_string(&mut text)?;
    Ok(Some(text))
}

/// Replaces `path` as a whole: a reader sees the old content or the new, never half of one.
pub fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let name = path.file_name().ok_or_else(|| refused(path, "has no file name"))?;
    let temporary = path.with_file_name(format!(".{}.{}", name.to_string_lossy(), std::process::id()));
    let result = write_new(&temporary, content).and_then(|()| fs::rename(&temporary, path));
    if result.is_err() {
        // The half-written file is of no use to anybody.
        let _ = fs::remove_file(&temporary);
    }
    result
}

fn write_new(path: &Path, content: &[u8]) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// Opens a lock or log file of ours, making it if need be. What is written is appended.
pub fn open_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    open_or_make(path, options.append(true))
}

/// Opens a file of ours that is changed in place, making it if need be.
pub fn open_in_place(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    open_or_make(path, options.write(true))
}

fn open_or_make(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    options.read(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    no_follow(options);
    options.open(path)
}

fn no_follow(options: &mut OpenOptions) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // Non-blocking, so that a FIFO in our place cannot hold us.
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.custom_flags(flags.bits() as i32);
    }
    #[cfg(not(unix))]
    let _ = options;
}

fn refused(path: &Path, why: &str) -> io::Error {
    io::Error::other(format!("{} {why}", path.display()))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn files_and_directories_are_private() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("a");
        private_dir(&dir).unwrap();
        let file = dir.join("f");
        write_private(&file, b"x").unwrap();
        assert_eq!(fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(read_private(&file).unwrap().as_deref(), Some("x"));
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 1, "no temporary file stays");
    }

    #[test]
    fn an_open_directory_is_closed_and_a_link_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("a");
        fs::create_dir(&dir).unwrap();
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
        private_dir(&dir).unwrap();
        assert_eq!(fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
        let link = root.path().join("l");
        symlink(&dir, &link).unwrap();
        assert!(private_dir(&link).is_err());
    }

    #[test]
    fn a_linked_file_is_not_read_and_its_target_is_not_written() {
        let root = tempfile::tempdir().unwrap();
        let (target, link) = (root.path().join("t"), root.path().join("l"));
        fs::write(&target, "theirs").unwrap();
        symlink(&target, &link).unwrap();
        assert!(read_private(&link).is_err());
        write_private(&link, b"ours").unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "theirs");
        assert_eq!(read_private(&link).unwrap().as_deref(), Some("ours"));
    }
}
