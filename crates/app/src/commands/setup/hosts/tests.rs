//! Every host's file on every platform.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bowline_backends::detect::Machine;

use super::*;

struct Fake {
    platform: Platform,
    variables: BTreeMap<&'static str, &'static str>,
    directories: BTreeMap<&'static str, Vec<&'static str>>,
}

impl Machine for Fake {
    fn platform(&self) -> Platform {
        self.platform
    }

    fn env(&self, name: &str) -> Option<String> {
        self.variables.get(name).map(|value| (*value).to_owned())
    }

    fn find_in_path(&self, _: &str) -> Option<PathBuf> {
        None
    }

    fn is_file(&self, _: &Path) -> bool {
        false
    }

    fn is_executable(&self, _: &Path) -> bool {
        false
    }

    fn canonical(&self, _: &Path) -> Option<PathBuf> {
        None
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        path.to_owned()
    }

    fn read_text(&self, _: &Path, _: usize) -> Option<String> {
        None
    }

    fn list_dir(&self, path: &Path) -> Vec<String> {
        let names = path.to_str().and_then(|path| self.directories.get(path)).cloned().unwrap_or_default();
        names.into_iter().map(str::to_owned).collect()
    }

    fn version_output(&self, _: &Path) -> Option<String> {
        None
    }
}

fn fake(platform: Platform) -> Fake {
    Fake { platform, variables: BTreeMap::new(), directories: BTreeMap::new() }
}

fn files(machine: &Fake, scope: Scope) -> Vec<(&'static str, Option<String>)> {
    let (home, project) = match machine.platform {
        Platform::Linux => ("/home/ann", "/srv/app"),
        Platform::MacOs => ("/Users/ann", "/srv/app"),
        Platform::Windows => (r"C:\Users\ann", r"D:\app"),
    };
    let place = Place { machine, home: home.to_owned(), project: project.to_owned() };
    ALL.iter().map(|host| (host.name, host.file(&place, scope))).collect()
}

fn expected(paths: [Option<&str>; 8]) -> Vec<(&'static str, Option<String>)> {
    ALL.iter().map(|host| host.name).zip(paths.map(|path| path.map(str::to_owned))).collect()
}

#[test]
fn files_of_the_user_on_linux() {
    let paths = [
        "/home/ann/.claude.json",
        "/home/ann/.config/Claude/claude_desktop_config.json",
        "/home/ann/.cursor/mcp.json",
        "/home/ann/.config/Code/User/mcp.json",
        "/home/ann/.codex/config.toml",
        "/home/ann/.gemini/settings.json",
        "/home/ann/.codeium/windsurf/mcp_config.json",
        "/home/ann/.config/zed/settings.json",
    ];
    assert_eq!(files(&fake(Platform::Linux), Scope::User), expected(paths.map(Some)));
}

#[test]
fn files_of_the_user_on_macos() {
    let mut machine = fake(Platform::MacOs);
    // Set by some shells; programs of the desktop do not look at it.
    machine.variables.insert("XDG_CONFIG_HOME", "/elsewhere");
    let paths = [
        "/Users/ann/.claude.json",
        "/Users/ann/Library/Application Support/Claude/claude_desktop_config.json",
        "/Users/ann/.cursor/mcp.json",
        "/Users/ann/Library/Application Support/Code/User/mcp.json",
        "/Users/ann/.codex/config.toml",
        "/Users/ann/.gemini/settings.json",
        "/Users/ann/.codeium/windsurf/mcp_config.json",
        "/Users/ann/.config/zed/settings.json",
    ];
    assert_eq!(files(&machine, Scope::User), expected(paths.map(Some)));
}

#[test]
fn files_of_the_user_on_windows() {
    let mut machine = fake(Platform::Windows);
    let paths = [
        r"C:\Users\ann\.claude.json",
        r"C:\Users\ann\AppData\Roaming\Claude\claude_desktop_config.json",
        r"C:\Users\ann\.cursor\mcp.json",
        r"C:\Users\ann\AppData\Roaming\Code\User\mcp.json",
        r"C:\Users\ann\.codex\config.toml",
        r"C:\Users\ann\.gemini\settings.json",
        r"C:\Users\ann\.codeium\windsurf\mcp_config.json",
        r"C:\Users\ann\AppData\Roaming\Zed\settings.json",
    ];
    assert_eq!(files(&machine, Scope::User), expected(paths.map(Some)));
    machine.variables.insert("APPDATA", r"E:\Roaming");
    let moved = files(&machine, Scope::User);
    assert_eq!(moved[1].1.as_deref(), Some(r"E:\Roaming\Claude\claude_desktop_config.json"));
    assert_eq!(moved[7].1.as_deref(), Some(r"E:\Roaming\Zed\settings.json"));
}

#[test]
fn a_packaged_claude_desktop_has_its_file_in_the_package() {
    let mut machine = fake(Platform::Windows);
    machine
        .directories
        .insert(r"C:\Users\ann\AppData\Local\Packages", vec!["Other_1", "Claude_pzs8sxrjxfjjc"]);
    let path = r"C:\Users\ann\AppData\Local\Packages\Claude_pzs8sxrjxfjjc\LocalCache\Roaming\Claude\claude_desktop_config.json";
    assert_eq!(files(&machine, Scope::User)[1].1.as_deref(), Some(path));
}

#[test]
fn files_of_a_project() {
    let paths = [
        Some("/srv/app/.mcp.json"),
        None,
        Some("/srv/app/.cursor/mcp.json"),
        Some("/srv/app/.vscode/mcp.json"),
        Some("/srv/app/.codex/config.toml"),
        Some("/srv/app/.gemini/settings.json"),
        None,
        None,
    ];
    assert_eq!(files(&fake(Platform::Linux), Scope::Project), expected(paths));
    let windows = files(&fake(Platform::Windows), Scope::Project);
    assert_eq!(windows[0].1.as_deref(), Some(r"D:\app\.mcp.json"));
    assert_eq!(windows[3].1.as_deref(), Some(r"D:\app\.vscode\mcp.json"));
}

#[test]
fn variables_of_the_hosts_are_respected() {
    let mut machine = fake(Platform::Linux);
    for (name, value) in [
        ("CLAUDE_CONFIG_DIR", "/c"),
        ("CODEX_HOME", "/x/codex/"),
        ("GEMINI_CLI_HOME", "/g"),
        ("XDG_CONFIG_HOME", "/xdg"),
    ] {
        machine.variables.insert(name, value);
    }
    let files = files(&machine, Scope::User);
    let path = |at: usize| files[at].1.as_deref().unwrap_or_default();
    assert_eq!(path(0), "/c/.claude.json");
    assert_eq!(path(1), "/xdg/Claude/claude_desktop_config.json");
    assert_eq!(path(4), "/x/codex/config.toml");
    assert_eq!(path(5), "/g/.gemini/settings.json");
    assert_eq!(path(7), "/xdg/zed/settings.json");
}
