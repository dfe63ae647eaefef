//! What the numbers were measured on: date, processor, memory, kernel, versions.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;

use serde::Serialize;

use crate::steps;

#[derive(Serialize)]
pub struct Machine {
    pub date: String,
    pub cpu: String,
    pub cores: usize,
    pub memory_gib: f64,
    pub kernel: String,
    pub browser: String,
    pub bowline: String,
    /// Load average of the last minute before the run: a busy machine explains odd numbers.
    pub load: String,
}

impl Machine {
    /// All but the browser, which names itself once it runs.
    pub fn describe(bowline: Option<&Path>) -> Self {
        let version = match bowline {
            Some(path) => {
                steps::output(Command::new(path).arg("--version")).unwrap_or_else(|| "unknown".into())
            }
            None => "none: a direct browser on both sides".into(),
        };
        let load = read("/proc/loadavg");
        let memory = field("/proc/meminfo", "MemTotal");
        let kib: f64 = memory.trim_end_matches(" kB").parse().unwrap_or_default();
        Self {
            date: steps::output_of("date", &["-u", "+%Y-%m-%d"]).unwrap_or_default(),
            cpu: field("/proc/cpuinfo", "model name"),
            cores: thread::available_parallelism().map_or(0, usize::from),
            memory_gib: (kib / 1024.0 / 1024.0 * 10.0).round() / 10.0,
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            browser: String::new(),
            bowline: version,
            load: load.split(' ').next().unwrap_or_default().to_owned(),
        }
    }

    /// Name and value of each line of the report.
    pub fn lines(&self) -> [(&'static str, String); 7] {
        [
            ("date", self.date.clone()),
            ("processor", format!("{}, {} cores", self.cpu, self.cores)),
            ("memory", format!("{} GiB", self.memory_gib)),
            ("kernel", self.kernel.clone()),
            ("browser", self.browser.clone()),
            ("bowline", self.bowline.clone()),
            ("load before", self.load.clone()),
        ]
    }
}

fn read(file: &str) -> String {
    fs::read_to_string(file).unwrap_or_default()
}

/// The value of the first `name : value` line of a file in /proc.
fn field(file: &str, name: &str) -> String {
    let text = read(file);
    let value = text.lines().filter_map(|line| line.split_once(':')).find(|(key, _)| key.trim() == name);
    value.map_or_else(|| "unknown".to_owned(), |(_, value)| value.trim().to_owned())
}
