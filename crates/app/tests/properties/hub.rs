//! The real binary: a home of its own, a hub in it, and commands.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use proptest::test_runner::TestCaseError;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::http::{self, Answer};
use crate::peer::Peer;
use crate::runner::{SOON, fail, until};

/// Directories and variables of a user who has nothing yet.
pub(crate) struct Home {
    dir: TempDir,
    variables: Vec<(String, String)>,
}

impl Home {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        for name in ["tmp", "run", "config/bowline"] {
            std::fs::create_dir_all(dir.path().join(name)).expect("a directory");
        }
        let home = Self { dir, variables: Vec::new() };
        home.with("BOWLINE_PORT", 0)
            .with("BOWLINE_IDLE_TIMEOUT", 0)
            // A test that polls is a loop that has run wild.
            .with("BOWLINE_API_RATE_LIMIT", 1_000_000)
            // Whatever a case asks for, no real browser is started for it.
            .with("BOWLINE_BROWSER", "/nonexistent/browser")
    }

    /// Sets a variable, in place of an earlier value.
    pub(crate) fn with(self, name: &str, value: impl ToString) -> Self {
        let mut home = self.without(name);
        home.variables.push((name.to_owned(), value.to_string()));
        home
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.variables.retain(|(known, _)| known != name);
        self
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn write_config(&self, toml: &str) {
        std::fs::write(self.path("config/bowline/config.toml"), toml).expect("a file");
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.path("data/bowline/history.db")
    }

    /// What a hub that runs says of itself.
    pub(crate) fn state(&self) -> Option<Value> {
        let text = std::fs::read(self.path("run/bowline/state.json")).ok()?;
        serde_json::from_slice(&text).ok()
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bowline"));
        command.args(words).env_clear().stdin(Stdio::null());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", self.dir.path());
        for (name, directory) in [
            ("XDG_CONFIG_HOME", "config"),
            ("XDG_DATA_HOME", "data"),
            ("XDG_STATE_HOME", "state"),
            ("XDG_CACHE_HOME", "cache"),
            ("XDG_RUNTIME_DIR", "run"),
            ("TMPDIR", "tmp"),
        ] {
            command.env(name, self.path(directory));
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    pub(crate) fn run(&self, words: &[&str]) -> Ran {
        let output = self.command(words).output().expect("our own binary");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        Ran { exit: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

/// A command that has ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) exit: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// The `data` of a command with `--json` that succeeded.
    pub(crate) fn data(&self) -> Result<Value, TestCaseError> {
        let json: Value = serde_json::from_str(&self.stdout).map_err(|_| fail(format!("{self:?}")))?;
        if self.exit != Some(0) || json["success"] != true {
            return Err(fail(format!("{self:?}")));
        }
        Ok(json["data"].clone())
    }
}

/// How long a hub waits for a tab that does not answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// A hub in the foreground. Ends with the test.
pub(crate) struct Hub {
    pub(crate) home: Home,
    child: Child,
    pub(crate) port: u16,
    bearer: String,
}

/// A tab that the hub was asked to connect to.
#[derive(Debug, Clone)]
pub(crate) struct Connected {
    pub(crate) id: String,
    pub(crate) browser: String,
    pub(crate) tab: String,
    pub(crate) is_new: bool,
}

impl Hub {
    pub(crate) fn start(home: Home) -> Self {
        let log = std::fs::File::create(home.path("serve.log")).expect("a file");
        let mut command = home.command(&["serve", "--json"]);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::from(log)).spawn().expect("our own binary");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        let log = || std::fs::read_to_string(home.path("serve.log")).unwrap_or_default();
        let Ok(ready) = serde_json::from_str::<Value>(&line) else { panic!("{line:?} {}", log()) };
        let Some(port) = ready["port"].as_u64() else { panic!("{line:?} {}", log()) };
        let token = std::fs::read_to_string(home.path("state/bowline/token")).expect("the token");
        let bearer = format!("Bearer {}", token.trim());
        Self { home, child, port: u16::try_from(port).expect("a port"), bearer }
    }

    pub(crate) fn bearer(&self) -> &str {
        &self.bearer
    }

    pub(crate) fn send(&self, method: &str, path: &str, body: Option<&str>) -> Result<Answer, TestCaseError> {
        let headers = [("Authorization", self.bearer.as_str()), ("Content-Type", "application/json")];
        http::exchange(self.port, method, path, &headers, body.map(str::as_bytes))
            .map_err(|error| fail(format!("{method} {path}: {error}")))
    }

    pub(crate) fn get(&self, path: &str) -> Result<Answer, TestCaseError> {
        self.send("GET", path, None)
    }

    /// The `data` of an answer that must be a success.
    pub(crate) fn data(&self, path: &str) -> Result<Value, TestCaseError> {
        data_of(path, &self.get(path)?)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Result<Value, TestCaseError> {
        data_of(path, &self.send("POST", path, Some(&body.to_string()))?)
    }

    pub(crate) fn delete(&self, path: &str) -> Result<Value, TestCaseError> {
        data_of(path, &self.send("DELETE", path, None)?)
    }

    /// Connects to a tab. When this returns, the hub hears all that it says.
    pub(crate) fn connect(&self, peer: &Peer, tab: &str) -> Result<Connected, TestCaseError> {
        let begun = Instant::now();
        let data = self.post("/api/connect", &json!({"port": peer.port(), "targetId": tab}))?;
        if begun.elapsed() > PATIENCE {
            // On a machine that is too busy, the hub does not wait any longer, and says so nowhere.
            until("the tab is watched", SOON, || peer.is_watched(tab).then_some(()))?;
        }
        if peer.is_watched(tab) { Ok(connected(&data)) } else { Err(fail("connected, but not watched")) }
    }

    /// How the connection is, as a word.
    pub(crate) fn health(&self, id: &str) -> Result<Option<String>, TestCaseError> {
        let answer = self.get(&format!("/api/health/{id}"))?;
        if answer.status == 404 {
            return Ok(None);
        }
        let data = data_of("health", &answer)?;
        Ok(data["state"].as_str().map(str::to_owned))
    }

    /// What `/api/connections` says of one.
    pub(crate) fn connection(&self, id: &str) -> Result<Option<Value>, TestCaseError> {
        let all = self.data("/api/connections")?;
        let found = all.as_array().and_then(|all| all.iter().find(|one| one["id"] == id));
        Ok(found.cloned())
    }

    /// Ends it as a user would, and waits until it has.
    pub(crate) fn shut_down(&mut self) -> Result<(), TestCaseError> {
        self.post("/api/shutdown", &json!({}))?;
        until("the hub has left", SOON, || self.has_left().then_some(()))
    }

    /// The lines of its log that name one of these.
    pub(crate) fn log_of(&self, names: &[&str]) -> String {
        let log = std::fs::read_to_string(self.home.path("serve.log")).unwrap_or_default();
        let named = log.lines().filter(|line| names.iter().any(|name| line.contains(name)));
        named.collect::<Vec<_>>().join("\n")
    }

    pub(crate) fn has_left(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|status| status.is_some())
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn connected(data: &Value) -> Connected {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Connected {
        id: text(&data["connectionId"]),
        browser: text(&data["browser"]),
        tab: text(&data["targetInfo"]["id"]),
        is_new: data["isNewConnection"] == true,
    }
}

fn data_of(path: &str, answer: &Answer) -> Result<Value, TestCaseError> {
    match answer.json() {
        Some(json) if answer.status == 200 && json["success"] == true => Ok(json["data"].clone()),
        _ => Err(fail(format!("{path}: {} {}", answer.status, answer.text()))),
    }
}

/// Ends a hub that a command has started, by its id.
pub(crate) fn kill(pid: i64) {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(pid) = pid {
        // It may have ended by itself.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}

/// Whether a hub lives in this home: it holds its lock for as long as it does.
pub(crate) fn is_alive(home: &Home) -> bool {
    let lock = std::fs::File::open(home.path("run/bowline/hub.lock"));
    lock.is_ok_and(|lock| lock.try_lock_shared().is_err())
}
