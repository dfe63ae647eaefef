//! The two sides of the comparison: a Chromium with a debugging port of its own, and a hub that
//! launches one. Each lives in its own temporary directories and is ended by its pid.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{sleep, timeout};

use super::cdp;

/// What the hub's browser gets besides the switches that the hub gives every browser.
const FLAGS: [&str; 7] = [
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--no-first-run",
    "--no-default-browser-check",
];
const TRANSPORT: [&str; 2] = ["--remote-debugging-pipe", "--remote-debugging-port"];
const START_LIMIT: Duration = Duration::from_secs(30);
const STOP_LIMIT: Duration = Duration::from_secs(10);

pub struct Side {
    pub port: u16,
    pub pid: u32,
    /// How long it took to start.
    pub start: Duration,
    child: Child,
    /// Kept open: a hub that writes to a closed stdout would end.
    _stdout: Option<BufReader<ChildStdout>>,
    home: TempDir,
}

impl Side {
    /// Starts a Chromium that listens on a port by itself, with the flags of another one.
    pub async fn direct(browser: &Path, flags: &[String]) -> Result<Self> {
        let home = home()?;
        let profile = home.path().join("profile");
        let mut command = Command::new(browser);
        isolate(&mut command, home.path())?;
        command.arg("--remote-debugging-port=0").arg(format!("--user-data-dir={}", profile.display()));
        command.args(flags);
        let begun = Instant::now();
        let child = command.stdout(Stdio::null()).spawn().context("cannot start the browser")?;
        let pid = child.id().context("the browser ended at once")?;
        let mut side = Self { port: 0, pid, start: Duration::ZERO, child, _stdout: None, home };
        let found = timeout(START_LIMIT, active_port(&profile.join("DevToolsActivePort"))).await;
        side.port = match found {
            Ok(port) => port,
            Err(_) => bail!("the browser opened no port in time{}", side.last_words()),
        };
        side.start = begun.elapsed();
        Ok(side)
    }

    /// Starts a hub with some settings, each the variable and its value. Its browser is launched by the
    /// first request.
    pub async fn hub(bowline: &Path, browser: &Path, settings: &[(&str, &str)]) -> Result<Self> {
        Self::hub_in(home()?, bowline, browser, settings).await
    }

    /// Stops a hub, and starts one that finds what it has left.
    pub async fn restart(
        mut self,
        bowline: &Path,
        browser: &Path,
        settings: &[(&str, &str)],
    ) -> Result<Self> {
        self.end().await?;
        Self::hub_in(self.home, bowline, browser, settings).await
    }

    async fn hub_in(
        home: TempDir,
        bowline: &Path,
        browser: &Path,
        settings: &[(&str, &str)],
    ) -> Result<Self> {
        let mut command = bowline_command(bowline, browser, home.path())?;
        command.envs(settings.iter().copied());
        command.args(["serve", "--json"]).stdout(Stdio::piped());
        let begun = Instant::now();
        let mut child = command.spawn().with_context(|| format!("cannot start {}", bowline.display()))?;
        let pid = child.id().context("the hub ended at once")?;
        let mut stdout = BufReader::new(child.stdout.take().context("the hub has no stdout")?);
        let mut line = String::new();
        let read = timeout(START_LIMIT, stdout.read_line(&mut line)).await;
        let start = begun.elapsed();
        let mut side = Self { port: 0, pid, start, child, _stdout: Some(stdout), home };
        let ready = read.is_ok().then(|| serde_json::from_str::<Value>(&line).ok()).flatten();
        let port = ready.as_ref().and_then(|ready| ready.get("port")?.as_u64());
        side.port = match port {
            Some(port) => u16::try_from(port)?,
            None => bail!("the hub did not say its port, but {line:?}{}", side.last_words()),
        };
        Ok(side)
    }

    /// The WebSocket URL of the browser. The hub launches it for this.
    pub async fn browser_url(&self) -> Result<String> {
        cdp::text(&self.version().await?, "webSocketDebuggerUrl")
    }

    /// Name and version of the browser.
    pub async fn product(&self) -> Result<String> {
        cdp::text(&self.version().await?, "Browser")
    }

    async fn version(&self) -> Result<Value> {
        timeout(START_LIMIT, cdp::get_json(self.port, "/json/version")).await.context("no answer in time")?
    }

    /// The flags with which this hub has started its browser, without those that choose transport and
    /// profile. The direct side gets the same, so that only the hub makes the difference.
    pub fn browser_flags(&self) -> Result<Vec<String>> {
        let lines = children(self.pid)?.into_iter().map(command_line);
        let chosen_by = |flag: &str| TRANSPORT.iter().any(|prefix| flag.starts_with(prefix));
        let mut found = lines.into_iter().find(|line| line.iter().any(|flag| chosen_by(flag)));
        let line = found.as_mut().context("the hub has no child that is a browser")?;
        let flags = line.drain(..).skip(1);
        Ok(flags.filter(|flag| !chosen_by(flag) && !flag.starts_with("--user-data-dir")).collect())
    }

    pub fn http_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// A `bowline` command that talks to this hub.
    pub fn bowline(&self, bowline: &Path, browser: &Path) -> Result<Command> {
        bowline_command(bowline, browser, self.home.path())
    }

    /// A command that lives in the directories of this side and has nothing of the user's.
    pub fn command(&self, command: std::process::Command) -> Result<Command> {
        let mut command = Command::from(command);
        isolate(&mut command, self.home.path())?;
        // Some write where they are.
        command.current_dir(self.home.path());
        Ok(command)
    }

    /// What this hub asks of programs that want to know more than a client of a browser.
    pub fn token(&self) -> Result<String> {
        let state = fs::read(self.home.path().join("run").join("bowline").join("state.json"))?;
        cdp::text(&serde_json::from_slice(&state)?, "token")
    }

    /// A file of this hub that outlives it.
    pub fn kept(&self, name: &str) -> PathBuf {
        self.home.path().join("data").join("bowline").join(name)
    }

    /// Ends the process and removes its directories.
    pub async fn stop(mut self) -> Result<()> {
        self.end().await?;
        // Children of a browser write into its profile for a moment after it has gone.
        for _ in 0..20 {
            if fs::remove_dir_all(self.home.path()).is_ok() || !self.home.path().exists() {
                break;
            }
            sleep(Duration::from_millis(100)).await;
        }
        Ok(())
    }

    /// Asks the process to end, then makes it.
    async fn end(&mut self) -> Result<()> {
        if let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) {
            // It may have ended already; then waiting returns at once.
            let _ = rustix::process::kill_process(pid, Signal::TERM);
        }
        if timeout(STOP_LIMIT, self.child.wait()).await.is_err() {
            eprintln!("process {} did not end within {} s of SIGTERM", self.pid, STOP_LIMIT.as_secs());
            self.child.kill().await?;
        }
        Ok(())
    }

    fn last_words(&self) -> String {
        let text = fs::read_to_string(self.home.path().join("stderr")).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        format!("; its last words:\n{}", lines[lines.len().saturating_sub(10)..].join("\n"))
    }
}

/// Flags for a direct browser where there is no hub to take them from.
pub fn usual_flags() -> Vec<String> {
    let mut flags = FLAGS.to_vec();
    flags.push("--headless=new");
    if rustix::process::geteuid().is_root() {
        flags.push("--no-sandbox");
    }
    flags.push("about:blank");
    flags.into_iter().map(str::to_owned).collect()
}

/// The same for a browser with an unpacked extension in it.
pub fn flags_with_extension(extension: &Path) -> Vec<String> {
    let mut flags = usual_flags();
    flags.push(format!("--load-extension={}", extension.display()));
    flags
}

/// Runs `work`, which uses some sides, until Ctrl-C or SIGTERM. The caller then stops them as usual.
pub async fn interruptible<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        result = work => result,
        _ = tokio::signal::ctrl_c() => bail!("interrupted"),
        _ = terminate.recv() => bail!("terminated"),
    }
}

fn home() -> Result<TempDir> {
    Ok(tempfile::Builder::new().prefix("bowline-bench-").tempdir()?)
}

fn bowline_command(bowline: &Path, browser: &Path, home: &Path) -> Result<Command> {
    let mut command = Command::new(bowline);
    isolate(&mut command, home)?;
    command.env("BOWLINE_PORT", "0").env("BOWLINE_BROWSER", browser).env("BOWLINE_ARGS", FLAGS.join(" "));
    Ok(command)
}

/// Gives a process directories of its own, and no settings of the user's.
fn isolate(command: &mut Command, home: &Path) -> Result<()> {
    let ours = env::vars_os().map(|(name, _)| name);
    for name in ours.filter(|name| name.to_string_lossy().starts_with("BOWLINE_")) {
        command.env_remove(name);
    }
    let directories = [
        ("HOME", "home"),
        ("XDG_CONFIG_HOME", "config"),
        ("XDG_DATA_HOME", "data"),
        ("XDG_STATE_HOME", "state"),
        ("XDG_CACHE_HOME", "cache"),
        ("XDG_RUNTIME_DIR", "run"),
        ("TMPDIR", "tmp"),
    ];
    for (variable, name) in directories {
        let directory = home.join(name);
        make_private(&directory)?;
        command.env(variable, directory);
    }
    let stderr = fs::File::options().create(true).append(true).open(home.join("stderr"))?;
    command.stdin(Stdio::null()).stderr(stderr).kill_on_drop(true);
    Ok(())
}

/// Pids of the children of a process, whichever of its threads started them.
pub fn children(pid: u32) -> Result<Vec<u32>> {
    let mut pids = Vec::new();
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        let list = fs::read_to_string(thread?.path().join("children")).unwrap_or_default();
        pids.extend(list.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
    }
    Ok(pids)
}

fn command_line(pid: u32) -> Vec<String> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = line.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

fn make_private(directory: &Path) -> Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    Ok(())
}

async fn active_port(file: &PathBuf) -> u16 {
    loop {
        let text = fs::read_to_string(file).unwrap_or_default();
        // The second line is written after the port, so a file with two lines is whole.
        let mut lines = text.lines();
        if let (Some(Ok(port)), Some(_)) = (lines.next().map(str::parse), lines.next()) {
            return port;
        }
        sleep(Duration::from_millis(20)).await;
    }
}
