//! The history on disk: one SQLite file, written by a thread of its own.
//!
//! The file follows the memory; nobody reads it but a hub that starts. A write that fails (a full
//! disk) loses nothing that was written before, since each batch is one transaction.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use rusqlite::{Connection, params};
use tokio::sync::oneshot;

use super::record::{ConsoleRecord, NetworkRecord, Seq};
use super::store::{Kind, Tab, TabKey};
use crate::files;

/// Raised when the tables change; a file of another number is set aside.
const FORMAT: i64 = 1;

#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("the writing thread has ended")]
    Gone,
}

/// What one transaction writes.
#[derive(Debug, Default)]
pub struct Batch {
    pub tabs: Vec<(TabKey, String)>,
    pub removed: Vec<TabKey>,
    pub records: Vec<(Seq, TabKey, Kind, String)>,
    pub evicted: Vec<(TabKey, Kind, Seq)>,
    /// Rows of connections, all of them, if they have changed.
    pub connections: Option<String>,
    /// The latest number given out.
    pub last_seq: Seq,
    /// How many records were ever made.
    pub made: u64,
}

/// What an earlier hub left.
#[derive(Debug, Default)]
pub struct Left {
    pub tabs: Vec<(Tab, Vec<ConsoleRecord>, Vec<NetworkRecord>)>,
    pub connections: Option<String>,
    pub last_seq: Seq,
    pub made: u64,
    /// Rows that could not be read.
    pub unreadable: u64,
    /// Where a file that was no archive of ours has been put.
    pub set_aside: Option<PathBuf>,
}

type Job = (Batch, oneshot::Sender<Result<(), ArchiveError>>);

pub struct Archive {
    jobs: mpsc::SyncSender<Job>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Archive {
    /// Opens the file, made private if it is new, and reads what is in it.
    pub fn open(path: &Path) -> Result<(Self, Left), ArchiveError> {
        let (connection, left) = match open_and_read(path) {
            Ok(opened) => opened,
            Err(error) if is_foreign(&error) => {
                let aside = path.with_extension("damaged");
                std::fs::rename(path, &aside)?;
                for ending in ["db-wal", "db-shm"] {
                    let _ = std::fs::remove_file(path.with_extension(ending));
                }
                let (connection, left) = open_and_read(path)?;
                (connection, Left { set_aside: Some(aside), ..left })
            }
            Err(error) => return Err(error),
        };
        // One batch is under way, one may wait; the writer of batches waits for each answer anyway.
        let (jobs, queue) = mpsc::sync_channel::<Job>(1);
        let thread = std::thread::Builder::new().name("archive".to_owned()).spawn(move || {
            let mut connection = connection;
            while let Ok((batch, done)) = queue.recv() {
                // Whoever asked may have left.
                let _ = done.send(write(&mut connection, &batch));
            }
        })?;
        Ok((Self { jobs, thread: Some(thread) }, left))
    }

    pub async fn write(&self, batch: Batch) -> Result<(), ArchiveError> {
        let (done, result) = oneshot::channel();
        self.jobs.try_send((batch, done)).map_err(|_| ArchiveError::Gone)?;
        result.await.map_err(|_| ArchiveError::Gone)?
    }

    /// Waits for the thread; everything that was handed over is written then.
    pub fn close(mut self) {
        drop(self.jobs);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn is_foreign(error: &ArchiveError) -> bool {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    match error {
        ArchiveError::Sqlite(rusqlite::Error::SqliteFailure(failure, _)) => {
            matches!(failure.code, DatabaseCorrupt | NotADatabase)
        }
        ArchiveError::Sqlite(rusqlite::Error::InvalidQuery) => true,
        _ => false,
    }
}

fn open_and_read(path: &Path) -> Result<(Connection, Left), ArchiveError> {
    // SQLite gives its own files the rights of this one.
    drop(files::open_private(path)?);
    let connection = Connection::open(path)?;
    // A write-ahead log survives a killed process without a sync at each commit.
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "normal")?;
    connection.pragma_update(None, "auto_vacuum", "incremental")?;
    connection.pragma_update(None, "cache_size", -512)?;
    connection.pragma_update(None, "wal_autocheckpoint", 500)?;
    let format: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if format != 0 && format != FORMAT {
        return Err(rusqlite::Error::InvalidQuery.into());
    }
    connection.execute_batch(
        "CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
         CREATE TABLE IF NOT EXISTS tabs (key INTEGER PRIMARY KEY, data TEXT NOT NULL);
         CREATE TABLE IF NOT EXISTS records (
             seq INTEGER PRIMARY KEY, tab INTEGER NOT NULL, kind INTEGER NOT NULL, data TEXT NOT NULL);
         CREATE INDEX IF NOT EXISTS records_of_tab ON records (tab, kind, seq);",
    )?;
    connection.pragma_update(None, "user_version", FORMAT)?;
    let left = read(&connection)?;
    Ok((connection, left))
}

fn read(connection: &Connection) -> Result<Left, ArchiveError> {
    let mut left = Left::default();
    let mut tabs: BTreeMap<u64, (Tab, Vec<ConsoleRecord>, Vec<NetworkRecord>)> = BTreeMap::new();
    let mut statement = connection.prepare("SELECT key, data FROM tabs")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        match serde_json::from_str::<Tab>(&row.get::<_, String>(1)?) {
            Ok(tab) => {
                tabs.insert(row.get::<_, i64>(0)? as u64, (tab, Vec::new(), Vec::new()));
            }
            Err(_) => left.unreadable += 1,
        }
    }
    let mut statement = connection.prepare("SELECT tab, kind, data FROM records ORDER BY seq")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let Some((_, console, network)) = tabs.get_mut(&(row.get::<_, i64>(0)? as u64)) else { continue };
        let data: String = row.get(2)?;
        let read = match row.get::<_, i64>(1)? {
            CONSOLE => serde_json::from_str(&data).map(|record| console.push(record)),
            _ => serde_json::from_str(&data).map(|record| network.push(record)),
        };
        left.unreadable += u64::from(read.is_err());
    }
    left.tabs = tabs.into_values().collect();
    left.last_seq = meta::<i64>(connection, "last_seq")?.unwrap_or_default() as u64;
    left.made = meta::<i64>(connection, "made")?.unwrap_or_default() as u64;
    left.connections = meta(connection, "connections")?;
    Ok(left)
}

fn meta<T: rusqlite::types::FromSql>(connection: &Connection, name: &str) -> rusqlite::Result<Option<T>> {
    use rusqlite::OptionalExtension;
    connection.query_row("SELECT value FROM meta WHERE name = ?1", [name], |row| row.get(0)).optional()
}

const CONSOLE: i64 = 0;
const NETWORK: i64 = 1;

fn number(kind: Kind) -> i64 {
    match kind {
        Kind::Console => CONSOLE,
        Kind::Network => NETWORK,
    }
}

fn write(connection: &mut Connection, batch: &Batch) -> Result<(), ArchiveError> {
    let transaction = connection.transaction()?;
    {
        let mut put = transaction.prepare_cached(
            "INSERT OR REPLACE INTO records (seq, tab, kind, data) VALUES (?1, ?2, ?3, ?4)",
        )?;
        for (seq, tab, kind, data) in &batch.records {
            put.execute(params![*seq as i64, tab.0 as i64, number(*kind), data])?;
        }
        let mut evict =
            transaction.prepare_cached("DELETE FROM records WHERE tab = ?1 AND kind = ?2 AND seq <= ?3")?;
        for (tab, kind, seq) in &batch.evicted {
            evict.execute(params![tab.0 as i64, number(*kind), *seq as i64])?;
        }
        let mut put =
            transaction.prepare_cached("INSERT OR REPLACE INTO tabs (key, data) VALUES (?1, ?2)")?;
        for (tab, data) in &batch.tabs {
            put.execute(params![tab.0 as i64, data])?;
        }
        let mut forget = transaction.prepare_cached("DELETE FROM tabs WHERE key = ?1")?;
        let mut empty = transaction.prepare_cached("DELETE FROM records WHERE tab = ?1")?;
        for tab in &batch.removed {
            forget.execute([tab.0 as i64])?;
            empty.execute([tab.0 as i64])?;
        }
        let mut put =
            transaction.prepare_cached("INSERT OR REPLACE INTO meta (name, value) VALUES (?1, ?2)")?;
        put.execute(params!["last_seq", batch.last_seq as i64])?;
        put.execute(params!["made", batch.made as i64])?;
        if let Some(connections) = &batch.connections {
            put.execute(params!["connections", connections])?;
        }
    }
    transaction.commit()?;
    if !batch.removed.is_empty() {
        // What is not there any more takes no room; an error here costs nothing but room.
        let _ = connection.execute_batch("PRAGMA incremental_vacuum");
    }
    Ok(())
}

/// The latest number given out and how many records were ever made, kept beside the archive and ahead of
/// it. After a kill the difference says how many records were lost, and no number is given out twice.
pub struct Counter {
    file: File,
    written: Count,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    pub last_seq: Seq,
    pub made: u64,
}

impl Counter {
    /// The file is locked while it is open: a history has one hub.
    pub fn open(path: &Path) -> io::Result<(Self, Count)> {
        let file = files::open_in_place(path)?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => io::Error::other("another hub keeps its history there"),
            TryLockError::Error(error) => error,
        })?;
        let mut bytes = [0; 16];
        let written = match read_at_start(&file, &mut bytes) {
            Ok(()) => {
                let (last_seq, made) = bytes.split_at(8);
                let number =
                    |bytes: &[u8]| bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
                Count { last_seq: number(last_seq), made: number(made) }
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Count::default(),
            Err(error) => return Err(error),
        };
        Ok((Self { file, written }, written))
    }

    /// Sixteen bytes in place: they survive the process, and need no room on a full disk.
    pub fn store(&mut self, count: Count) -> io::Result<()> {
        if count.last_seq > self.written.last_seq {
            let bytes = [count.last_seq.to_le_bytes(), count.made.to_le_bytes()].concat();
            write_at_start(&self.file, &bytes)?;
            self.written = count;
        }
        Ok(())
    }
}

#[cfg(unix)]
fn read_at_start(file: &File, bytes: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, 0)
}

#[cfg(unix)]
fn write_at_start(file: &File, bytes: &[u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, 0)
}

#[cfg(not(unix))]
fn read_at_start(mut file: &File, bytes: &mut [u8]) -> io::Result<()> {
    use std::io::{Read, Seek};
    file.rewind()?;
    file.read_exact(bytes)
}

#[cfg(not(unix))]
fn write_at_start(mut file: &File, bytes: &[u8]) -> io::Result<()> {
    use std::io::{Seek, Write};
    file.rewind()?;
    file.write_all(bytes)
}

#[cfg(test)]
mod tests;
