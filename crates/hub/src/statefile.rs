//! The state file: where the running hub is, for the commands that want to talk to it.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::backend::Protocol;
use crate::files;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    pub port: u16,
    pub pid: u32,
    pub version: String,
    pub token: String,
    pub browsers: Vec<BrowserEntry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrowserEntry {
    pub name: String,
    pub port: u16,
    /// The id in `/devtools/browser/ID`.
    pub id: String,
    /// Whether its endpoint wants the token.
    pub needs_token: bool,
    #[serde(default)]
    pub protocol: Protocol,
}

/// Why a state file is of no use. Whoever reads it goes on as if there were none.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    #[error("{}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{} is damaged: {source}", path.display())]
    Corrupt { path: PathBuf, source: serde_json::Error },
}

pub fn read(path: &Path) -> Result<Option<State>, StateError> {
    let text = files::read_private(path)
        .map_err(|source| StateError::Unreadable { path: path.to_owned(), source })?;
    let Some(text) = text else { return Ok(None) };
    serde_json::from_str(&text)
        .map(Some)
        .map_err(|source| StateError::Corrupt { path: path.to_owned(), source })
}

pub fn write(path: &Path, state: &State) -> io::Result<()> {
    let mut text = serde_json::to_vec_pretty(state)?;
    text.push(b'\n');
    files::write_private(path, &text)
}

/// Removes the file if it is still this process's own.
pub fn remove(path: &Path, pid: u32) -> io::Result<()> {
    match read(path) {
        Ok(Some(state)) if state.pid == pid => std::fs::remove_file(path),
        _ => Ok(()),
    }
}
