//! A Node process: lines to it and from it, and its end. It ends when this is dropped, after a while without work, and by
//! itself when its stdin closes, so also with a hub that is killed.

use std::io;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::process::{ChildStderr, ChildStdout, Command};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use super::message::Said;

/// Without work for so long it is ended.
const IDLE: Duration = Duration::from_secs(10 * 60);
/// A line that is longer is dropped: the largest result is an image of 8 MiB.
const MAX_LINE: usize = 16 << 20;
/// Lines that wait to be written. Code and the answers to all that it may have asked at once fit, so nobody waits.
const MOST_LINES: usize = super::MAX_ASKS + 2;
/// As much of stderr is kept.
const TAIL: usize = 4 << 10;
/// After the end, stderr may still hold the reason.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Since when it has nothing to do; `None` while it has.
type Idle = Option<Instant>;

pub(super) struct Child {
    pub(super) pid: u32,
    /// Begins every line that is meant for us.
    key: String,
    /// Lines on their way to it; its stdin closes with this.
    stdin: mpsc::Sender<Vec<u8>>,
    lines: Lines<ChildStdout>,
    stderr: Arc<Mutex<Vec<u8>>>,
    idle: watch::Sender<Idle>,
    /// Why it has ended, once it has.
    end: watch::Receiver<Option<String>>,
    _guard: DropGuard,
}

impl Child {
    pub(super) fn spawn(program: &str, boot: &str, key: String, tasks: &TaskTracker) -> io::Result<Self> {
        let mut command = Command::new(program);
        command.arg("-e").arg(boot);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        #[cfg(windows)]
        command.creation_flags(CREATE_NO_WINDOW);
        let mut child = command.spawn()?;
        let missing = || io::Error::other("a stream of the process is missing");
        let stdin = child.stdin.take().ok_or_else(missing)?;
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stderr = Arc::<Mutex<Vec<u8>>>::default();
        if let Some(pipe) = child.stderr.take() {
            tasks.spawn(keep_tail(pipe, stderr.clone()));
        }
        let (lines, queue) = mpsc::channel(MOST_LINES);
        tasks.spawn(write(stdin, queue));
        let stdin = lines;
        let pid = child.id().unwrap_or_default();
        let (idle, is_idle) = watch::channel(None);
        let (ended, end) = watch::channel(None);
        let stop = CancellationToken::new();
        tasks.spawn(attend(Process { child, pid }, stop.clone(), is_idle, ended));
        Ok(Self { pid, key, stdin, lines: Lines::new(stdout), stderr, idle, end, _guard: stop.drop_guard() })
    }

    /// Why it has ended, if it has.
    pub(super) fn ended(&self) -> Option<String> {
        self.end.borrow().clone()
    }

    /// Hands it a line, which is written while other things are done: it may say much before it reads.
    pub(super) async fn send(&self, line: &impl serde::Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(line)?;
        line.push(b'\n');
        self.stdin.send(line).await.map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// The next thing that it says, or a line that somebody else has written; `None` when there will be no more.
    /// Nothing is lost if this is not waited for.
    pub(super) async fn said(&mut self) -> Option<Result<Said, String>> {
        let line = self.lines.next().await?;
        let said = line.strip_prefix(&self.key).and_then(|said| serde_json::from_str(said).ok());
        Some(said.ok_or(line))
    }

    pub(super) fn works(&self) {
        self.idle.send_replace(None);
    }

    pub(super) fn rests(&self) {
        self.idle.send_replace(Some(Instant::now()));
    }

    /// Why it has ended, with its last words.
    pub(super) async fn last_words(&mut self) -> String {
        let ended = tokio::time::timeout(LAST_WORDS, self.end.wait_for(Option::is_some)).await;
        let reason = match ended {
            Ok(Ok(reason)) => reason.clone().unwrap_or_default(),
            _ => "it closed its output".to_owned(),
        };
        let tail = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        let tail = String::from_utf8_lossy(&tail).trim().to_owned();
        if tail.is_empty() { reason } else { format!("{reason}\n{tail}") }
    }
}

#[cfg(windows)]
const CREATE_NO_WINDOW: u32 = 0x0800_0000;

/// The process and what it has started.
struct Process {
    child: tokio::process::Child,
    pid: u32,
}

impl Process {
    fn kill(&mut self) {
        #[cfg(unix)]
        if let Some(group) = group(self.pid) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.start_kill();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Reached with a living process only when the runtime itself ends.
        if self.child.id().is_some() {
            self.kill();
        }
    }
}

#[cfg(unix)]
fn group(pid: u32) -> Option<rustix::process::Pid> {
    i32::try_from(pid).ok().filter(|pid| *pid > 1).and_then(rustix::process::Pid::from_raw)
}

async fn attend(
    mut process: Process,
    stop: CancellationToken,
    idle: watch::Receiver<Idle>,
    ended: watch::Sender<Option<String>>,
) {
    let reason = tokio::select! {
        status = process.child.wait() => match status {
            Ok(status) => format!("it ended ({status})"),
            Err(error) => format!("it ended ({error})"),
        },
        () = stop.cancelled() => "it was ended".to_owned(),
        () = idled(idle) => format!("it was ended after {} minutes without work", IDLE.as_secs() / 60),
    };
    // Told first: whoever comes next starts another one.
    ended.send_replace(Some(reason));
    process.kill();
    let _ = process.child.wait().await;
    #[cfg(target_os = "linux")]
    if let Some(group) = group(process.pid) {
        reap(group).await;
    }
    tracing::debug!(pid = process.pid, "node ended");
}

/// Returns when there was nothing to do for long enough.
async fn idled(mut idle: watch::Receiver<Idle>) {
    loop {
        let since = *idle.borrow_and_update();
        let changed = match since {
            None => idle.changed().await,
            Some(since) => match tokio::time::timeout_at(since + IDLE, idle.changed()).await {
                Ok(changed) => changed,
                Err(_) => return,
            },
        };
        if changed.is_err() {
            // Nobody holds it any more; that is told in another way.
            std::future::pending::<()>().await;
        }
    }
}

/// What the code has started became ours when Node died, if the hub adopts orphans.
#[cfg(target_os = "linux")]
async fn reap(group: rustix::process::Pid) {
    use rustix::process::{WaitOptions, waitpgid};
    for _ in 0..50 {
        match waitpgid(group, WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => tokio::time::sleep(Duration::from_millis(20)).await,
            Err(_) => return,
        }
    }
}

/// Writes lines until there will be no more, or the process does not take them.
async fn write(mut stdin: impl AsyncWrite + Unpin, mut lines: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = lines.recv().await {
        if stdin.write_all(&line).await.is_err() || stdin.flush().await.is_err() {
            return;
        }
    }
}

async fn keep_tail(mut pipe: ChildStderr, tail: Arc<Mutex<Vec<u8>>>) {
    let mut buffer = vec![0; 2048];
    while let Ok(count) = pipe.read(&mut buffer).await
        && count > 0
    {
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend_from_slice(&buffer[..count]);
        let excess = tail.len().saturating_sub(TAIL);
        tail.drain(..excess);
    }
}

/// Lines of a stream that may write anything.
pub(super) struct Lines<R> {
    stream: R,
    buffer: BytesMut,
    /// How much of it is known to have no end of a line.
    searched: usize,
    /// In the middle of a line that is too long.
    skips: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(stream: R) -> Self {
        Self { stream, buffer: BytesMut::new(), searched: 0, skips: false }
    }

    pub(super) async fn next(&mut self) -> Option<String> {
        loop {
            if let Some(at) = self.buffer[self.searched..].iter().position(|byte| *byte == b'\n') {
                let line = self.buffer.split_to(self.searched + at + 1);
                self.searched = 0;
                if std::mem::take(&mut self.skips) {
                    continue;
                }
                return Some(String::from_utf8_lossy(&line[..line.len() - 1]).into_owned());
            }
            self.searched = self.buffer.len();
            if self.searched > MAX_LINE {
                self.buffer.clear();
                self.searched = 0;
                self.skips = true;
            }
            self.buffer.reserve(16 << 10);
            match self.stream.read_buf(&mut self.buffer).await {
                Ok(0) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_come_whole_whatever_the_pieces_and_one_too_long_is_left_out() {
        let (mut write, read) = tokio::io::duplex(1000);
        let mut lines = Lines::new(read);
        let writing = async {
            write.write_all(b"one\n\ntw").await.unwrap();
            write.write_all(b"o\n").await.unwrap();
            let long = vec![b'x'; 1 << 20];
            for _ in 0..=(MAX_LINE >> 20) {
                write.write_all(&long).await.unwrap();
            }
            write.write_all(b"\nthree\nrest").await.unwrap();
            drop(write);
        };
        let reading = async {
            let mut seen = Vec::new();
            while let Some(line) = lines.next().await {
                seen.push(line);
            }
            seen
        };
        let ((), seen) = tokio::join!(writing, reading);
        assert_eq!(seen, ["one", "", "two", "three"]);
    }

    #[tokio::test]
    async fn lines_are_taken_at_once_although_nobody_reads_them_yet() {
        let (near, far) = tokio::io::duplex(100);
        let (lines, queue) = mpsc::channel(MOST_LINES);
        let writing = tokio::spawn(write(near, queue));
        let long = format!("{}\n", "x".repeat(10_000));
        for _ in 0..MOST_LINES {
            lines.try_send(long.clone().into_bytes()).expect("room for all that can be asked at once");
        }
        drop(lines);
        let mut far = Lines::new(far);
        for _ in 0..MOST_LINES {
            assert_eq!(far.next().await.map(|line| line.len()), Some(10_000));
        }
        assert_eq!(far.next().await, None, "it closes with the last");
        writing.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn idleness_is_counted_from_the_last_work() {
        let (idle, is_idle) = watch::channel(None);
        let waiting = idled(is_idle);
        tokio::pin!(waiting);
        let short = IDLE - Duration::from_secs(1);
        assert!(tokio::time::timeout(IDLE * 2, &mut waiting).await.is_err(), "while it works");
        idle.send_replace(Some(Instant::now()));
        assert!(tokio::time::timeout(short, &mut waiting).await.is_err());
        idle.send_replace(None);
        assert!(tokio::time::timeout(short, &mut waiting).await.is_err());
        idle.send_replace(Some(Instant::now()));
        assert!(tokio::time::timeout(short, &mut waiting).await.is_err());
        assert!(tokio::time::timeout(Duration::from_secs(2), &mut waiting).await.is_ok());
    }
}
