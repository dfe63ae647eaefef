//! The browsers that are known by name, kept on disk so that a name keeps its port, its id and what
//! is behind it over restarts of the hub.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::backend::Spec;
use crate::files;

/// The browser that answers on the hub's own port.
pub const DEFAULT: &str = "default";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The port it has listened on; zero before the first time.
    pub port: u16,
    pub id: String,
    pub spec: Spec,
}

#[derive(Debug)]
pub struct Registry {
    path: PathBuf,
    records: BTreeMap<String, Record>,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{0}` is not a name for a browser: use lower-case letters, digits, `-` and `_`, at most 64 of them")]
pub struct BadName(pub String);

pub fn check_name(name: &str) -> Result<(), BadName> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    let starts_well = name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    if starts_well && name.len() <= 64 && name.chars().all(fits) {
        Ok(())
    } else {
        Err(BadName(name.to_owned()))
    }
}

impl Registry {
    /// Reads what earlier runs left. A damaged file is set aside, not overwritten.
    pub fn load(path: &Path) -> io::Result<Self> {
        let text = files::read_private(path)?;
        let records = match text.as_deref().map(serde_json::from_str::<BTreeMap<String, Record>>) {
            None => BTreeMap::new(),
            Some(Ok(mut records)) => {
                records.retain(|name, _| check_name(name).is_ok());
                records
            }
            Some(Err(error)) => {
                let aside = path.with_extension("damaged");
                tracing::warn!(%error, "{} is damaged; set aside as {}", path.display(), aside.display());
                std::fs::rename(path, aside)?;
                BTreeMap::new()
            }
        };
        Ok(Self { path: path.to_owned(), records })
    }

    pub fn get(&self, name: &str) -> Option<&Record> {
        self.records.get(name)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&String, &Record)> {
        self.records.iter()
    }

    pub fn put(&mut self, name: &str, record: Record) -> io::Result<()> {
        if self.records.get(name) == Some(&record) {
            return Ok(());
        }
        self.records.insert(name.to_owned(), record);
        self.save()
    }

    pub fn remove(&mut self, name: &str) -> io::Result<()> {
        self.records.remove(name);
        self.save()
    }

    fn save(&self) -> io::Result<()> {
        files::write_private(&self.path, &serde_json::to_vec_pretty(&self.records)?)
    }
}

/// A new id in the form of Chromium's own.
pub fn new_id() -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_survive_and_a_damaged_file_is_set_aside() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("browsers.json");
        let record = Record { port: 4711, id: new_id().unwrap(), spec: Spec::default() };
        Registry::load(&path).unwrap().put("work", record.clone()).unwrap();
        assert_eq!(Registry::load(&path).unwrap().get("work"), Some(&record));
        std::fs::write(&path, "{ half").unwrap();
        assert_eq!(Registry::load(&path).unwrap().iter().count(), 0);
        assert_eq!(std::fs::read_to_string(path.with_extension("damaged")).unwrap(), "{ half");
    }

    #[test]
    fn names_are_plain_words() {
        for good in ["default", "work-2", "0a_b"] {
            assert_eq!(check_name(good), Ok(()));
        }
        for bad in ["", "-a", "Work", "a/b", "..", "a b", &"x".repeat(65)] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }
}
