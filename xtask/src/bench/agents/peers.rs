//! The other servers that drive a browser for agents, as npm has them: which, in which version, how each is told what
//! browser to use, and what its tools are called.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::server::Tool;
use crate::node::Node;
use crate::steps;

pub struct Peer {
    pub name: &'static str,
    version: &'static str,
    /// Inside of the package. A program of its own needs no Node.js, and is run as it is.
    program: &'static str,
    /// For the server, with the URL of the browser.
    args: fn(&str) -> Vec<String>,
    /// The variable with the URL of the browser, where no argument has it.
    variable: Option<&'static str>,
    /// What evaluates from the shell.
    pub shell: Option<&'static [&'static str]>,
    /// What ends what it leaves behind.
    pub goodbye: Option<&'static [&'static str]>,
    pub open: fn(&str) -> Tool,
    pub evaluate: fn() -> Tool,
    pub snapshot: fn() -> Tool,
}

pub const PEERS: [Peer; 3] = [
    Peer {
        name: "agent-browser",
        version: "0.41.0",
        // What a global installation links to; the script beside it starts Node.js only to start this.
        program: if cfg!(target_arch = "aarch64") {
            "bin/agent-browser-linux-arm64"
        } else {
            "bin/agent-browser-linux-x64"
        },
        args: |_| vec!["mcp".to_owned()],
        variable: Some("AGENT_BROWSER_CDP"),
        shell: Some(&["eval", "1+1"]),
        goodbye: Some(&["close"]),
        open: |url| Tool { name: "agent_browser_open", arguments: json!({"url": url}) },
        evaluate: || Tool { name: "agent_browser_eval", arguments: json!({"script": "1+1"}) },
        snapshot: || Tool { name: "agent_browser_snapshot", arguments: json!({}) },
    },
    Peer {
        name: "@playwright/mcp",
        version: "0.0.83",
        program: "cli.js",
        args: |url| vec!["--cdp-endpoint".to_owned(), url.to_owned()],
        variable: None,
        shell: None,
        goodbye: None,
        open: |url| Tool { name: "browser_navigate", arguments: json!({"url": url}) },
        evaluate: || Tool { name: "browser_evaluate", arguments: json!({"function": "() => 1+1"}) },
        snapshot: || Tool { name: "browser_snapshot", arguments: json!({}) },
    },
    Peer {
        name: "chrome-devtools-mcp",
        version: "1.11.0",
        program: "build/src/bin/chrome-devtools-mcp.js",
        args: |url| ["--browserUrl", url, "--no-usage-statistics"].map(str::to_owned).to_vec(),
        variable: None,
        shell: None,
        goodbye: None,
        open: |url| Tool {
            name: "navigate_page",
            arguments: json!({"pageId": 1, "type": "url", "url": url}),
        },
        evaluate: || Tool {
            name: "evaluate_script",
            arguments: json!({"pageId": 1, "function": "() => 1+1"}),
        },
        snapshot: || Tool { name: "take_snapshot", arguments: json!({"pageId": 1}) },
    },
];

impl Peer {
    /// Name and version.
    pub fn title(&self) -> String {
        format!("{} {}", self.name, self.version)
    }

    /// Installs it below the target directory, unless it is there; returns its program.
    pub fn ensure(&self, node: &Node) -> Result<PathBuf> {
        let directory = steps::target_dir()?.join("tools").join(self.name.replace('/', "-"));
        let package = directory.join("node_modules").join(self.name);
        let program = package.join(self.program);
        let stamp = directory.join("installed");
        if fs::read_to_string(&stamp).is_ok_and(|installed| installed == self.version) && program.is_file() {
            return Ok(program);
        }
        node.install_into(&directory, &format!("{}@{}", self.name, self.version))?;
        ensure!(program.is_file(), "the package holds no {}", self.program);
        make_executable(&program)?;
        fs::write(&stamp, self.version)?;
        Ok(program)
    }

    /// How its program is run, for a browser at `url`.
    pub fn command(&self, node: &Node, program: &PathBuf, url: &str) -> Command {
        let mut command = match self.program.ends_with(".js") {
            true => {
                let mut command = node.command("node");
                command.arg(program);
                command
            }
            false => Command::new(program),
        };
        if let Some(variable) = self.variable {
            command.env(variable, url);
        }
        command
    }

    pub fn server_args(&self, url: &str) -> Vec<String> {
        (self.args)(url)
    }
}

/// npm leaves that to scripts of the package, which it may not run.
fn make_executable(program: &PathBuf) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).context("cannot make it executable")
}
