//! What a process has used, as /proc tells it: processor, memory, disk.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};

pub const MIB: f64 = 1024.0 * 1024.0;
/// Linux counts in these on every machine that it tells about in /proc.
const TICKS_PER_SECOND: u64 = 100;

/// Time on a processor of all its threads, in the program and in the kernel.
pub fn processor(pid: u32) -> Result<Duration> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name of the program is in parentheses, and may contain anything; the state follows it.
    let fields = stat.rsplit_once(") ").map(|(_, fields)| fields.split(' ')).context("no fields in stat")?;
    let (user, system) = (11, 12);
    let ticks = fields.skip(user).take(1 + system - user).map(str::parse::<u64>);
    let ticks = ticks.sum::<Result<u64, _>>().context("no times in stat")?;
    Ok(Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND))
}

/// Resident memory in bytes.
pub fn resident(pid: u32) -> Result<u64> {
    Ok(field(pid, "status", "VmRSS")? * 1024)
}

/// The most it ever was.
pub fn peak(pid: u32) -> Result<u64> {
    Ok(field(pid, "status", "VmHWM")? * 1024)
}

/// Bytes that it has had the kernel write to disk, now or later.
pub fn written(pid: u32) -> Result<u64> {
    field(pid, "io", "write_bytes")
}

/// A line such as `VmRSS:   6200 kB`.
fn field(pid: u32, file: &str, name: &str) -> Result<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/{file}"))?;
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    let value = lines.find(|(field, _)| *field == name).map(|(_, value)| value.trim());
    let value = value.and_then(|value| value.trim_end_matches(" kB").parse().ok());
    value.with_context(|| format!("process {pid} has no {name}"))
}
