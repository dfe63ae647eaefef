//! The hosts as data: what they are called, where each keeps its servers, and in which form. Reads
//! nothing but the names of directories.

use bowline_backends::detect::Platform;

use super::place::Place;
use crate::cli::Scope;

pub(super) struct Host {
    /// What is typed.
    pub(super) name: &'static str,
    /// What it calls itself.
    pub(super) title: &'static str,
    pub(super) format: Format,
    /// A directory that is there when the host has been used.
    dir: fn(&Place<'_>) -> String,
    user: fn(&Place<'_>) -> String,
    /// Below the directory of a project, for hosts that look there.
    project: Option<&'static str>,
    /// What makes the host notice.
    pub(super) next: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    /// JSON, perhaps with comments.
    Json {
        /// The member that has the servers by name.
        key: &'static str,
        /// Whether a server says how it is spoken to.
        typed: bool,
    },
    Toml {
        key: &'static str,
    },
}

impl Format {
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Json { key, .. } | Self::Toml { key } => key,
        }
    }

    pub(super) fn language(self) -> &'static str {
        match self {
            Self::Json { .. } => "JSON",
            Self::Toml { .. } => "TOML",
        }
    }
}

const MCP_SERVERS: Format = Format::Json { key: "mcpServers", typed: false };

pub(super) static ALL: [&Host; 8] =
    [&CLAUDE, &CLAUDE_DESKTOP, &CURSOR, &VSCODE, &CODEX, &GEMINI, &WINDSURF, &ZED];

pub(super) static CLAUDE: Host = Host {
    name: "claude",
    title: "Claude Code",
    format: MCP_SERVERS,
    dir: claude_dir,
    // Beside its directory, unless that is named: then inside.
    user: |place| match place.named_by("CLAUDE_CONFIG_DIR") {
        Some(dir) => place.join(&dir, ".claude.json"),
        None => place.in_home(".claude.json"),
    },
    project: Some(".mcp.json"),
    next: "start Claude Code anew; `/mcp` there shows the server",
};

pub(super) static CLAUDE_DESKTOP: Host = Host {
    name: "claude-desktop",
    title: "Claude Desktop",
    format: MCP_SERVERS,
    dir: claude_desktop_dir,
    user: |place| place.join(&claude_desktop_dir(place), "claude_desktop_config.json"),
    project: None,
    next: "quit Claude Desktop and start it again",
};

pub(super) static CURSOR: Host = Host {
    name: "cursor",
    title: "Cursor",
    format: MCP_SERVERS,
    dir: |place| place.in_home(".cursor"),
    user: |place| place.in_home(".cursor/mcp.json"),
    project: Some(".cursor/mcp.json"),
    next: "in Cursor's settings, under MCP, see that the server is switched on",
};

pub(super) static VSCODE: Host = Host {
    name: "vscode",
    title: "VS Code",
    format: Format::Json { key: "servers", typed: true },
    dir: |place| place.join(&place.app_config(), "Code/User"),
    user: |place| place.join(&place.app_config(), "Code/User/mcp.json"),
    project: Some(".vscode/mcp.json"),
    next: "in VS Code, run `MCP: List Servers` and start the server",
};

pub(super) static CODEX: Host = Host {
    name: "codex",
    title: "Codex",
    format: Format::Toml { key: "mcp_servers" },
    dir: codex_dir,
    user: |place| place.join(&codex_dir(place), "config.toml"),
    project: Some(".codex/config.toml"),
    next: "start Codex anew; `/mcp` there shows the server",
};

pub(super) static GEMINI: Host = Host {
    name: "gemini",
    title: "Gemini CLI",
    format: MCP_SERVERS,
    dir: gemini_dir,
    user: |place| place.join(&gemini_dir(place), "settings.json"),
    project: Some(".gemini/settings.json"),
    next: "start Gemini CLI anew; `/mcp` there shows the server",
};

pub(super) static WINDSURF: Host = Host {
    name: "windsurf",
    title: "Windsurf",
    format: MCP_SERVERS,
    dir: |place| place.in_home(".codeium/windsurf"),
    user: |place| place.in_home(".codeium/windsurf/mcp_config.json"),
    project: None,
    next: "in Windsurf, refresh the list of MCP servers, or start it again",
};

pub(super) static ZED: Host = Host {
    name: "zed",
    title: "Zed",
    format: Format::Json { key: "context_servers", typed: false },
    dir: zed_dir,
    user: |place| place.join(&zed_dir(place), "settings.json"),
    project: None,
    next: "see the server in Zed's agent settings; Zed need not be restarted",
};

impl Host {
    /// The file that has the servers; none where the host does not look into projects.
    pub(super) fn file(&self, place: &Place<'_>, scope: Scope) -> Option<String> {
        match scope {
            Scope::User => Some((self.user)(place)),
            Scope::Project => self.project.map(|rest| place.join(&place.project, rest)),
        }
    }

    /// What to look for to know that the host is used here.
    pub(super) fn traces(&self, place: &Place<'_>) -> [String; 2] {
        [(self.dir)(place), (self.user)(place)]
    }
}

pub(super) fn claude_dir(place: &Place<'_>) -> String {
    place.named_by("CLAUDE_CONFIG_DIR").unwrap_or_else(|| place.in_home(".claude"))
}

/// As a package of Windows it sees `%APPDATA%` in another place, and the usual one is never read.
fn claude_desktop_dir(place: &Place<'_>) -> String {
    if place.platform() == Platform::Windows {
        let local = place.machine.env("LOCALAPPDATA").unwrap_or_else(|| place.in_home("AppData/Local"));
        let packages = place.join(&local, "Packages");
        let found = place.machine.list_dir(packages.as_ref());
        if let Some(package) = found.iter().filter(|name| name.starts_with("Claude_")).min() {
            return place.join(&packages, &format!("{package}/LocalCache/Roaming/Claude"));
        }
    }
    place.join(&place.app_config(), "Claude")
}

fn codex_dir(place: &Place<'_>) -> String {
    place.named_by("CODEX_HOME").unwrap_or_else(|| place.in_home(".codex"))
}

fn gemini_dir(place: &Place<'_>) -> String {
    let home = place.named_by("GEMINI_CLI_HOME").unwrap_or_else(|| place.home.clone());
    place.join(&home, ".gemini")
}

fn zed_dir(place: &Place<'_>) -> String {
    match place.platform() {
        Platform::Windows => place.join(&place.app_config(), "Zed"),
        Platform::MacOs => place.in_home(".config/zed"),
        Platform::Linux => place.join(&place.xdg_config(), "zed"),
    }
}

#[cfg(test)]
mod tests;
