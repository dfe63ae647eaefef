//! Results that go to a file.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bowline_hub::files;

use crate::failure::Failure;

/// Writes a file as a whole, readable by its owner alone: what browsers fetch is nobody else's business.
/// What is no plain file, such as `/dev/null`, is written to as it is.
pub(crate) fn save(path: &Path, content: &[u8]) -> Result<(), Failure> {
    write(path, content).map_err(|error| Failure::io(&path.display().to_string(), &error))
}

fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    match fs::metadata(path) {
        // Behind a link it is the target that is replaced.
        Ok(found) if found.is_file() => files::write_private(&fs::canonicalize(path)?, content),
        Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(_) => fs::write(path, content),
        Err(error) if error.kind() == io::ErrorKind::NotFound => files::write_private(&whole(path), content),
        Err(error) => Err(error),
    }
}

/// A bare name is one in this directory.
fn whole(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_link_stays_and_a_device_is_not_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let (file, link) = (dir.path().join("f"), dir.path().join("l"));
        save(&file, b"one").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        save(&link, b"two").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"two");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        save(Path::new("/dev/null"), b"x").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        assert!(save(dir.path(), b"x").is_err());
    }
}
