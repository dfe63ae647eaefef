//! Reading the file itself.

use std::path::PathBuf;

use super::super::{ConfigError, read_file};
use super::PATH;

#[test]
fn missing_file_is_no_file() {
    let directory = tempfile::tempdir().expect("a directory");
    assert!(matches!(read_file(&directory.path().join("none.toml")), Ok(None)));
}

#[test]
fn existing_file_is_read() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("config.toml");
    std::fs::write(&path, "port = 1\n").expect("written");
    assert_eq!(read_file(&path).expect("readable").as_deref(), Some("port = 1\n"));
}

#[test]
fn file_that_is_not_utf8_is_an_error_with_its_line() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("config.toml");
    std::fs::write(&path, b"port = 1\n# gr\xfc\xdfe\n").expect("written");
    let error = read_file(&path).expect_err("not UTF-8");
    assert_eq!(error.to_string(), format!("{}:2: the config file is not UTF-8 text", path.display()));
    assert_eq!(error.hint().as_deref(), Some("save the file as UTF-8"));
}

#[test]
fn unreadable_file_is_an_error_with_its_path() {
    let directory = tempfile::tempdir().expect("a directory");
    let error = read_file(directory.path()).expect_err("a directory is not a file");
    assert_eq!(error.to_string(), format!("cannot read the config file {}", directory.path().display()));
    assert!(error.hint().is_some());
    let denied = ConfigError::Unreadable {
        path: PathBuf::from(PATH),
        source: std::io::Error::from(std::io::ErrorKind::PermissionDenied),
    };
    assert!(denied.hint().is_some_and(|hint| hint.starts_with("permission denied")));
}
