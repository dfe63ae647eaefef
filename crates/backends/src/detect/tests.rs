//! Tests of detection, one file per question; all but `real` run on a machine in memory.

mod choosing;
mod kinds;
mod linux;
mod macos;
#[cfg(unix)]
mod real;
mod windows;

use super::memory::MemoryMachine;
use super::{BrowserKind, detect_paths};

/// What is listed, as (word, path), which reads well in a failed assertion.
fn listed(machine: &MemoryMachine) -> Vec<(&'static str, String)> {
    let found = detect_paths(machine);
    found.into_iter().map(|it| (it.kind.word(), it.path.to_string_lossy().into_owned())).collect()
}

fn kinds(machine: &MemoryMachine) -> Vec<BrowserKind> {
    detect_paths(machine).into_iter().map(|it| it.kind).collect()
}

fn row(kind: &'static str, path: &str) -> (&'static str, String) {
    (kind, path.to_owned())
}
