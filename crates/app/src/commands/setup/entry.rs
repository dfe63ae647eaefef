//! The entry of a server: what we write, and whose it is that lies under its name. Knows no file.

use serde_json::{Value, json};

use super::hosts::Format;

/// The server as a host is to start it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) command: String,
    pub(super) args: Vec<String>,
}

/// The members of an entry, in the order they are written in.
pub(super) type Members = Vec<(&'static str, Value)>;

impl Entry {
    pub(super) fn members(&self, format: Format) -> Members {
        let mut members = Vec::new();
        if let Format::Json { typed: true, .. } = format {
            members.push(("type", json!("stdio")));
        }
        members.push(("command", json!(self.command)));
        members.push(("args", json!(self.args)));
        members
    }
}

/// Whether an entry has all these members, with these values. What a person has added does not matter.
pub(super) fn has(found: &Value, members: &Members) -> bool {
    members.iter().all(|(name, value)| found.get(name) == Some(value))
}

/// An entry is ours if it starts a program that is called bowline.
pub(super) fn is_ours(found: &Value) -> bool {
    let command = command(found).unwrap_or_default();
    let name = command.rsplit(['/', '\\']).next().unwrap_or_default().to_lowercase();
    name.strip_suffix(".exe").unwrap_or(&name) == "bowline"
}

/// Earlier versions of Zed had an object there.
pub(super) fn command(found: &Value) -> Option<&str> {
    let command = found.get("command")?;
    command.as_str().or_else(|| command.get("path")?.as_str())
}

/// An entry in one line, for a person. Its environment may hold secrets and is left out.
pub(super) fn shown(found: &Value) -> String {
    if let Some(command) = command(found) {
        let args = found.get("args").or_else(|| found.get("command")?.get("args")).and_then(Value::as_array);
        let args = args.into_iter().flatten().filter_map(Value::as_str);
        return std::iter::once(command).chain(args).collect::<Vec<_>>().join(" ");
    }
    let address = ["url", "httpUrl", "serverUrl"].into_iter().find_map(|name| found.get(name)?.as_str());
    address.map_or_else(|| "something without a command".to_owned(), |url| format!("the server at {url}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_is_what_starts_bowline() {
        for command in ["bowline", "/usr/bin/bowline", r"C:\Tools\Bowline.EXE", "./bowline"] {
            assert!(is_ours(&json!({"command": command})), "{command}");
        }
        assert!(is_ours(&json!({"command": {"path": "/usr/bin/bowline", "args": ["mcp"]}})));
        for other in [
            json!({"command": "npx", "args": ["bowline"]}),
            json!({"command": "/opt/bowline/server"}),
            json!({"command": "bowline-proxy"}),
            json!({"url": "http://127.0.0.1/bowline"}),
            json!("bowline"),
            json!(null),
        ] {
            assert!(!is_ours(&other), "{other}");
        }
    }

    #[test]
    fn an_entry_is_shown_without_its_environment() {
        assert_eq!(
            shown(&json!({"command": "npx", "args": ["-y", "x"], "env": {"KEY": "secret"}})),
            "npx -y x"
        );
        assert_eq!(shown(&json!({"command": {"path": "/b", "args": ["mcp"]}})), "/b mcp");
        assert_eq!(shown(&json!({"url": "https://a.example/mcp"})), "the server at https://a.example/mcp");
        assert_eq!(shown(&json!(3)), "something without a command");
    }
}
