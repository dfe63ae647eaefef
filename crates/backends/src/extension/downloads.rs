//! Downloads: the page tells that one begins, the browser's own list where it is, and clients that asked for it
//! get a copy where they want it.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bowline_wire::relay::Download;
use bowline_wire::reply;
use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;

use super::machine::{Alarm, Machine, Refusal, Then};
use super::out::LINK;
use super::session::SessionKey;

/// How often the browser's list is looked at.
const LOOK: Duration = Duration::from_millis(150);
/// How long a download may be missing from it.
const MISSING: Duration = Duration::from_secs(20);

#[derive(Default)]
pub(super) struct Downloads {
    running: HashMap<String, Running>,
    /// The browser's numbers of the latest that were found.
    taken: VecDeque<i64>,
}

/// So many are remembered, to tell two of the same address apart.
const TAKEN: usize = 100;
/// How far the page's word may be behind the browser's list.
const CLOCKS: u64 = 2000;

struct Running {
    url: String,
    filename: String,
    since: Instant,
    began: u64,
    /// The browser's number for it.
    number: Option<i64>,
    is_wanted: bool,
    is_denied: bool,
}

/// A file to be copied for a client.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Copy {
    pub(super) guid: String,
    pub(super) from: PathBuf,
    pub(super) to: PathBuf,
    pub(super) bytes: u64,
    pub(super) total: u64,
    pub(super) client: SessionKey,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Began {
    guid: String,
    #[serde(default)]
    url: String,
    #[serde(default)]
    suggested_filename: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Progressed {
    guid: String,
    #[serde(default)]
    state: String,
}

/// Whether a client may have files there although the person has not allowed files: where programs put what is
/// thrown away.
fn is_temporary(directory: &Path) -> bool {
    let is_plain =
        directory.is_absolute() && directory.components().all(|part| part != std::path::Component::ParentDir);
    is_plain && (directory.starts_with(std::env::temp_dir()) || directory.starts_with("/tmp"))
}

impl Machine {
    /// The clients that want to hear of downloads.
    fn download_clients(&self) -> Vec<SessionKey> {
        self.keys(|session| {
            session.downloads.as_ref().is_some_and(|wish| wish.events_enabled || wish.download_path.is_some())
        })
        .into_iter()
        .filter(|key| key.as_ref() != LINK)
        .collect()
    }

    pub(super) fn download_began(&mut self, params: &str) {
        let Ok(began) = serde_json::from_str::<Began>(params) else { return };
        let clients = self.download_clients();
        for client in &clients {
            if self
                .sessions
                .get(client)
                .and_then(|session| session.downloads.as_ref())
                .is_some_and(|wish| wish.events_enabled)
            {
                self.out.event(client, "Browser.downloadWillBegin", params);
            }
        }
        let (url, filename) = (began.url, began.suggested_filename);
        let says = |what: &str| {
            self.sessions
                .values()
                .any(|session| session.downloads.as_ref().is_some_and(|wish| wish.behavior.starts_with(what)))
        };
        // One client's wish for files is not undone by another's for none.
        let is_denied = says("deny") && !says("allow");
        let running = Running {
            url,
            filename,
            since: self.now,
            began: self.wall_clock,
            number: None,
            is_wanted: !clients.is_empty(),
            is_denied,
        };
        self.downloads.running.insert(began.guid.clone(), running);
        if !clients.is_empty() || is_denied {
            self.alarm(LOOK, Alarm::Download(began.guid));
        }
    }

    pub(super) fn download_progressed(&mut self, params: &str) {
        let Ok(progress) = serde_json::from_str::<Progressed>(params) else { return };
        let is_wanted = self.downloads.running.get(&progress.guid).is_some_and(|running| running.is_wanted);
        // The end is told when the copies are there.
        if is_wanted && progress.state != "completed" {
            for client in self.download_clients() {
                self.out.event(&client, "Browser.downloadProgress", params);
            }
        }
        match progress.state.as_str() {
            "completed" if is_wanted => self.look_for_download(&progress.guid),
            "completed" | "canceled" => drop(self.downloads.running.remove(&progress.guid)),
            _ => {}
        }
    }

    pub(super) fn look_for_download(&mut self, guid: &str) {
        let Some(running) = self.downloads.running.get(guid) else { return };
        let params = match running.number {
            Some(number) => json!({"url": running.url, "id": number}),
            None => {
                let others: Vec<i64> = self.downloads.taken.iter().copied().collect();
                json!({"url": running.url, "startedAfter": running.began.saturating_sub(CLOCKS), "except": others})
            }
        };
        self.ask("findDownload", &params.to_string(), Then::Download(guid.to_owned()));
    }

    pub(super) fn download_found(&mut self, guid: &str, result: Result<&str, Refusal>) {
        let Some(running) = self.downloads.running.get_mut(guid) else { return };
        let found: Download =
            result.ok().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        if let (Some(number), None) = (found.id, running.number) {
            running.number = Some(number);
            self.downloads.taken.push_back(number);
            if self.downloads.taken.len() > TAKEN {
                self.downloads.taken.pop_front();
            }
        }
        if let (Some(number), true) = (found.id, running.is_denied) {
            self.downloads.running.remove(guid);
            self.ask("cancelDownload", &json!({"id": number}).to_string(), Then::Ignore);
            return self.tell_download(guid, &found, "canceled", None);
        }
        match (found.id, found.state.as_str()) {
            (Some(_), "complete") => {
                let filename = std::mem::take(&mut running.filename);
                self.downloads.running.remove(guid);
                self.deliver_download(guid, &filename, &found);
            }
            (Some(_), "interrupted") => {
                self.downloads.running.remove(guid);
                self.tell_download(guid, &found, "canceled", None);
            }
            (None, _) if running.since + MISSING < self.now => {
                self.downloads.running.remove(guid);
                self.tell_download(guid, &found, "canceled", None);
            }
            _ => self.alarm(LOOK, Alarm::Download(guid.to_owned())),
        }
    }

    fn deliver_download(&mut self, guid: &str, filename: &str, found: &Download) {
        for client in self.download_clients() {
            let Some(wish) = self.sessions.get(&client).and_then(|session| session.downloads.clone()) else {
                continue;
            };
            let name = match wish.behavior.as_str() {
                "allowAndName" => Some(guid.to_owned()),
                // Its name in the person's own directory may have a number in it.
                "allow" => Path::new(filename).file_name().map(|name| name.to_string_lossy().into_owned()),
                _ => None,
            };
            match wish.download_path.as_ref().zip(name) {
                Some((directory, _)) if !self.policy.allow_files && !is_temporary(Path::new(directory)) => {
                    tracing::warn!(directory, "a download is not copied there: files are closed to agents");
                    self.tell_download(guid, found, "canceled", Some(&client));
                }
                Some((directory, name)) => self.copies.push(Copy {
                    guid: guid.to_owned(),
                    from: PathBuf::from(&found.path),
                    to: PathBuf::from(directory).join(name),
                    bytes: found.bytes as u64,
                    total: found.total as u64,
                    client,
                }),
                None => self.tell_download(guid, found, "completed", Some(&client)),
            }
        }
    }

    fn tell_download(&mut self, guid: &str, found: &Download, state: &str, only: Option<&SessionKey>) {
        let params = json!({
            "guid": guid, "totalBytes": found.total, "receivedBytes": found.bytes, "state": state, "filePath": found.path,
        });
        for client in self.download_clients() {
            if only.is_none_or(|only| *only == client) {
                self.out.event_value(&client, "Browser.downloadProgress", &params);
            }
        }
    }

    /// A copy is made, or could not be.
    pub(super) fn copied(&mut self, copy: &Copy, is_made: bool) {
        if self.sessions.contains_key(&copy.client) {
            let params = json!({
                "guid": copy.guid, "totalBytes": copy.total, "receivedBytes": copy.bytes,
                "state": if is_made { "completed" } else { "canceled" }, "filePath": copy.to,
            });
            self.out.event_value(&copy.client, "Browser.downloadProgress", &params);
        }
    }

    pub(super) fn cancel_download(&mut self, session: &SessionKey, id: i32, guid: &str) {
        match self.downloads.running.get(guid).and_then(|running| running.number) {
            Some(number) => {
                let then = Then::Done { session: session.clone(), id, result: "{}" };
                self.ask("cancelDownload", &json!({"id": number}).to_string(), then);
            }
            None => {
                self.out.fail(session, id, reply::SERVER_ERROR, "No download item found for the given GUID")
            }
        }
    }
}
