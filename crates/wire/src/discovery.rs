//! Chromium's `/json` documents, written with its own layout so that even a client that compares
//! text finds nothing changed.

use crate::cdp::{BrowserVersion, TargetInfo};

const FRONTEND: &str = "https://chrome-devtools-frontend.appspot.com/serve_rev";

/// Where the documents' WebSocket URLs point: the authority the client used and the path before
/// `/devtools` (empty, `/b/NAME` or `/t/TOKEN/b/NAME`).
#[derive(Debug, Clone)]
pub struct Base<'a> {
    pub authority: &'a str,
    pub prefix: &'a str,
}

impl Base<'_> {
    pub fn browser_socket(&self, browser_id: &str) -> String {
        format!("ws://{}{}/devtools/browser/{browser_id}", self.authority, self.prefix)
    }

    fn page_path(&self, target: &TargetInfo) -> String {
        format!("{}{}/devtools/page/{}", self.authority, self.prefix, target.target_id)
    }
}

pub fn version(base: &Base<'_>, browser_id: &str, version: &BrowserVersion) -> String {
    let webkit = version
        .user_agent
        .split_once("AppleWebKit/")
        .map_or("537.36", |(_, rest)| rest.split(' ').next().unwrap_or(rest));
    let style = if cfg!(windows) { "windows" } else { "posix" };
    let mut text = object(&[
        ("Browser", &version.product),
        ("File-Path-Style", style),
        ("Protocol-Version", &version.protocol_version),
        ("User-Agent", &version.user_agent),
        ("V8-Version", &version.js_version),
        ("WebKit-Version", &format!("{webkit} ({})", version.revision)),
        ("webSocketDebuggerUrl", &base.browser_socket(browser_id)),
    ]);
    text.push('\n');
    text
}

pub fn list(base: &Base<'_>, revision: &str, targets: &[TargetInfo]) -> String {
    let items: Vec<String> = targets.iter().map(|target| item(base, revision, target)).collect();
    format!("[ {} ]\n", items.join(", "))
}

pub fn target(base: &Base<'_>, revision: &str, target: &TargetInfo) -> String {
    item(base, revision, target) + "\n"
}

fn item(base: &Base<'_>, revision: &str, target: &TargetInfo) -> String {
    let path = base.page_path(target);
    let frontend = match target.kind.as_str() {
        "worker" | "shared_worker" | "service_worker" => "worker_app.html",
        _ => "inspector.html",
    };
    let frontend = format!("{FRONTEND}/{revision}/{frontend}?ws={path}");
    let socket = format!("ws://{path}");
    let mut members = vec![
        ("description", ""),
        ("devtoolsFrontendUrl", frontend.as_str()),
        ("id", target.target_id.as_str()),
    ];
    let parent = target.parent_id.as_ref().or(target.parent_frame_id.as_ref());
    if let Some(parent) = parent {
        members.push(("parentId", parent.as_str()));
    }
    members.extend([
        ("title", target.title.as_str()),
        ("type", target.kind.as_str()),
        ("url", target.url.as_str()),
        ("webSocketDebuggerUrl", socket.as_str()),
    ]);
    object(&members)
}

fn object(members: &[(&str, &str)]) -> String {
    let lines: Vec<String> = members
        .iter()
        // Chromium escapes `<`, so that the text can stand inside HTML.
        .map(|(key, value)| {
            format!("   \"{key}\": {}", serde_json::json!(value).to_string().replace('<', "\\u003C"))
        })
        .collect();
    format!("{{\n{}\n}}", lines.join(",\n"))
}
