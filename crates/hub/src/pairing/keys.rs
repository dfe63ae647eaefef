//! The keys of paired extensions, in a private file of the state directory.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use bowline_wire::pairing::{BrowserInfo, Key, is_instance};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Refusal;
use crate::files;
use crate::registry;

/// One installation that is paired.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paired {
    /// The browser's name at the hub.
    pub name: String,
    #[serde(serialize_with = "write_key", deserialize_with = "read_key")]
    pub key: Key,
    #[serde(default)]
    pub browser: BrowserInfo,
    /// The extension's own version when it was last here; empty if it never was.
    #[serde(default)]
    pub version: String,
    /// Milliseconds since 1970.
    pub paired_at: u64,
    pub last_seen: u64,
    /// Why it was turned away since it was last here.
    #[serde(skip)]
    pub refusal: Option<Refusal>,
}

#[derive(Debug, Default)]
pub(super) struct Keys {
    /// Absent where nothing is to be kept.
    path: Option<PathBuf>,
    paired: BTreeMap<String, Paired>,
}

impl Keys {
    pub(super) fn load(path: &Path) -> io::Result<Self> {
        let text = files::read_private(path)?;
        let paired = match text.as_deref().map(serde_json::from_str::<BTreeMap<String, Paired>>) {
            None => BTreeMap::new(),
            Some(Ok(mut paired)) => {
                let fits = |instance: &String, paired: &mut Paired| {
                    is_instance(instance) && registry::check_name(&paired.name).is_ok()
                };
                paired.retain(fits);
                paired
            }
            Some(Err(error)) => {
                let aside = path.with_extension("damaged");
                tracing::warn!(%error, "{} is damaged; set aside as {}", path.display(), aside.display());
                std::fs::rename(path, aside)?;
                BTreeMap::new()
            }
        };
        Ok(Self { path: Some(path.to_owned()), paired })
    }

    pub(super) fn get(&self, instance: &str) -> Option<&Paired> {
        self.paired.get(instance)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&String, &Paired)> {
        self.paired.iter()
    }

    pub(super) fn put(&mut self, instance: &str, paired: Paired) -> io::Result<()> {
        self.paired.insert(instance.to_owned(), paired);
        self.save()
    }

    pub(super) fn change(&mut self, instance: &str, change: impl FnOnce(&mut Paired)) -> io::Result<()> {
        let Some(paired) = self.paired.get_mut(instance) else { return Ok(()) };
        change(paired);
        self.save()
    }

    /// Where the last refusal of one that is paired is noted, in memory alone.
    pub(super) fn refusal(&mut self, instance: &str) -> Option<&mut Option<Refusal>> {
        self.paired.get_mut(instance).map(|paired| &mut paired.refusal)
    }

    pub(super) fn remove(&mut self, instance: &str) -> io::Result<()> {
        match self.paired.remove(instance) {
            Some(_) => self.save(),
            None => Ok(()),
        }
    }

    fn save(&self) -> io::Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        files::write_private(path, &serde_json::to_vec_pretty(&self.paired)?)
    }
}

fn write_key<S: Serializer>(key: &Key, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&key.reveal())
}

fn read_key<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Key, D::Error> {
    let text = String::deserialize(deserializer)?;
    Key::parse(&text).ok_or_else(|| serde::de::Error::custom("not a key"))
}
