//! What agents did in people's own browsers: one line of JSON each, in a private file.
//!
//! It says who did what where, never what was typed or read. A file that cannot be written costs the audit
//! and not the act; that is in the log.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Mutex;

use serde::Serialize;

use crate::files;

/// Begun anew at this size; one old file is kept.
const LARGEST: u64 = 5 << 20;

#[derive(Debug, Serialize)]
pub struct Act<'a> {
    /// Milliseconds since 1970.
    pub time: u64,
    pub browser: &'a str,
    pub client: &'a str,
    /// Where the page was, without what follows its path.
    pub page: &'a str,
    pub method: &'a str,
    /// Where to, for what goes somewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<&'a str>,
    /// The rule that kept it from happening.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<&'a str>,
}

#[derive(Debug, Default)]
pub struct Audit {
    path: Option<PathBuf>,
    has_failed: Mutex<bool>,
}

impl Audit {
    pub fn in_file(path: PathBuf) -> Self {
        Self { path: Some(path), has_failed: Mutex::default() }
    }

    pub fn record(&self, act: &Act<'_>) {
        let Some(path) = &self.path else { return };
        let written = serde_json::to_vec(act).map_err(std::io::Error::other).and_then(|mut line| {
            line.push(b'\n');
            if std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.len() > LARGEST) {
                std::fs::rename(path, path.with_extension("log.old"))?;
            }
            files::open_private(path)?.write_all(&line)
        });
        let mut has_failed = self.has_failed.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let (Err(error), false) = (&written, *has_failed) {
            tracing::warn!(%error, "what agents do cannot be written to the audit");
        }
        *has_failed = written.is_err();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_act_is_a_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.log");
        let audit = Audit::in_file(path.clone());
        let act = Act {
            time: 1,
            browser: "chrome",
            client: "Playwright 1",
            page: "https://a.test/x",
            method: "Page.navigate",
            to: Some("https://b.test/"),
            refused: None,
        };
        audit.record(&act);
        audit.record(&Act { refused: Some("read-only"), to: None, ..act });
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines[0]["to"], "https://b.test/");
        assert_eq!(lines[1]["refused"], "read-only");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }
}
