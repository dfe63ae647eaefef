//! The values collected so far, each with its origin. A layer writes over the ones below it; the
//! order of the layers is not known here.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};

use super::keys::{BROWSER_KEYS, BROWSERS, KEYS, join};
use super::value::{Held, Value};

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(crate) enum Origin {
    Default,
    File {
        #[serde(serialize_with = "as_text")]
        path: PathBuf,
        line: usize,
    },
    Environment {
        variable: String,
    },
    Flag {
        flag: String,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::File { path, line } => write!(f, "file {}:{line}", path.display()),
            Origin::Environment { variable } => f.write_str(variable),
            Origin::Flag { flag } => f.write_str(flag),
        }
    }
}

/// One line of `config show`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Row {
    /// The dotted name.
    pub(crate) key: String,
    /// The value as TOML.
    pub(crate) value: String,
    pub(crate) origin: Origin,
}

/// Values by dotted name. Named browsers are also listed on their own, because a table without any
/// key defines a browser too.
#[derive(Debug, Default)]
pub(super) struct Settings {
    values: BTreeMap<String, (Value, Origin)>,
    browsers: BTreeMap<String, Origin>,
}

impl Settings {
    pub(super) fn set(&mut self, key: &str, value: Value, origin: Origin) {
        self.values.insert(key.to_owned(), (value, origin));
    }

    pub(super) fn define_browser(&mut self, name: &str, origin: Origin) {
        self.browsers.insert(name.to_owned(), origin);
    }

    pub(super) fn browsers(&self) -> impl Iterator<Item = &str> {
        self.browsers.keys().map(String::as_str)
    }

    /// The value of a key, or None if it is not set or of another type.
    pub(super) fn get<T: Held>(&self, key: &str) -> Option<T> {
        T::held(&self.values.get(key)?.0)
    }

    /// Everything that is set: first the hub's keys, then browser after browser, in table order.
    pub(super) fn rows(&self) -> Vec<Row> {
        let mut rows: Vec<Row> = KEYS.iter().filter_map(|key| self.row(key.name.to_owned())).collect();
        for (browser, origin) in &self.browsers {
            let table = join(BROWSERS, browser);
            let before = rows.len();
            rows.extend(BROWSER_KEYS.iter().filter_map(|key| self.row(join(&table, key.name))));
            if rows.len() == before {
                rows.push(Row { key: table, value: "{}".to_owned(), origin: origin.clone() });
            }
        }
        rows
    }

    fn row(&self, key: String) -> Option<Row> {
        let (value, origin) = self.values.get(&key)?;
        Some(Row { value: value.to_toml(), origin: origin.clone(), key })
    }
}

/// A path that is not UTF-8 must not make the whole output fail.
fn as_text<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}
