//! Runs a short-lived program and takes what it prints, within a time limit that holds whatever the
//! program does: sleep, print for ever, or leave a child behind that keeps its output open.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// More than any program needs to say its version; what comes after is dropped.
const MOST_BYTES: u64 = 16 * 1024;

/// The lines printed on standard output until the program closed it or the time was up, or none if
/// nothing was printed. The program is gone afterwards.
pub(super) fn output_within(program: &Path, arguments: &[&str], limit: Duration) -> Option<String> {
    let deadline = Instant::now() + limit;
    let mut command = Command::new(program);
    // Standard error is dropped: Debian's wrapper around Chromium complains there on some machines.
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn().ok()?;

    // A read from a pipe has no time limit, so a thread reads and the limit is on the channel. Its
    // capacity is small: when it is full the reader waits, and it ends when the receiver is dropped.
    let (lines, received) = mpsc::sync_channel(4);
    if let Some(stdout) = child.stdout.take() {
        std::thread::spawn(move || {
            let stdout = BufReader::new(stdout.take(MOST_BYTES));
            for line in stdout.split(b'\n').map_while(Result::ok) {
                if lines.send(line).is_err() {
                    break;
                }
            }
        });
    }
    let mut output = String::new();
    while let Ok(line) = received.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        output.push_str(&String::from_utf8_lossy(&line));
        output.push('\n');
    }
    end(child);
    (!output.is_empty()).then_some(output)
}

/// Ends the program and what it started. It has closed its output or had its time, so there is
/// nothing left to be gentle about.
fn end(mut child: Child) {
    // The child is not reaped yet, so its group's id cannot belong to anybody else. A wrapper script
    // and the browser it started are in that one group.
    #[cfg(unix)]
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}
