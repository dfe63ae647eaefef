//! `bowline setup` without a host: which hosts are here, and which have Bowline.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::document::{self, Refusal};
use super::hosts::{self, Host};
use super::place::Place;
use super::{entry, file, skill};
use crate::cli::Scope;
use crate::commands::Context;
use crate::failure::Failure;
use crate::output::table;
use crate::paths::shown;
use crate::safe_text::one_line;

#[derive(Serialize)]
struct Report {
    hosts: Vec<Row>,
    skill: skill::Status,
}

#[derive(Serialize)]
struct Row {
    host: &'static str,
    title: &'static str,
    /// Whether the host has left traces on this machine.
    found: bool,
    /// The file for the user.
    path: PathBuf,
    bowline: Vec<Server>,
    /// Files that could not be looked into, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unread: Vec<String>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Server {
    path: PathBuf,
    scope: &'static str,
    name: String,
    command: String,
    /// Whether the program that it starts is there.
    works: bool,
}

pub(super) fn run(context: &Context<'_>, place: &Place<'_>) -> Result<(), Failure> {
    let hosts = hosts::ALL.iter().map(|host| row(host, place)).collect();
    let report = Report { hosts, skill: skill::status(place) };
    context.output.result(&report, text);
    Ok(())
}

fn row(host: &Host, place: &Place<'_>) -> Row {
    let (mut bowline, mut unread) = (Vec::new(), Vec::new());
    for (scope, word) in [(Scope::User, "user"), (Scope::Project, "project")] {
        let Some(path) = host.file(place, scope) else { continue };
        // In the home directory, a project's file can be the user's own.
        if scope == Scope::Project && host.file(place, Scope::User).as_ref() == Some(&path) {
            continue;
        }
        match servers(host, Path::new(&path), word) {
            Ok(servers) => bowline.extend(servers),
            Err(why) => unread.push(why),
        }
    }
    let found = host.traces(place).iter().any(|trace| Path::new(trace).exists());
    let path = host.file(place, Scope::User).unwrap_or_default().into();
    Row { host: host.name, title: host.title, found, path, bowline, unread }
}

/// The entries of ours in a file, whatever they are called.
fn servers(host: &Host, path: &Path, scope: &'static str) -> Result<Vec<Server>, String> {
    let seen = file::read(path).map_err(|failure| failure.message)?;
    let Some(text) = seen.text else { return Ok(Vec::new()) };
    let servers = document::servers(host.format, &text).map_err(|refusal| match refusal {
        Refusal::Syntax { line, column, .. } | Refusal::Shape { line, column, .. } => {
            format!("{}:{line}:{column}: {refusal}", shown(path))
        }
        _ => format!("{}: {refusal}", shown(path)),
    })?;
    let ours = servers.into_iter().filter(|(_, found)| entry::is_ours(found));
    Ok(ours
        .map(|(name, found)| {
            let command = entry::command(&found).unwrap_or_default().to_owned();
            // A bare name is looked for in a PATH that we do not know.
            let works = !Path::new(&command).is_absolute() || Path::new(&command).is_file();
            Server { path: path.to_owned(), scope, name, command, works }
        })
        .collect())
}

fn text(report: &Report) -> String {
    let rows = report.hosts.iter().map(|row| {
        let found = if row.found { "yes" } else { "no" };
        let servers = row.bowline.iter().map(|server| {
            let name = if server.name == "bowline" { String::new() } else { format!(" as {}", server.name) };
            let broken = if server.works { "" } else { ", whose program is gone" };
            format!("{}{name}{broken}", one_line(&shown(&server.path)))
        });
        let unread = row.unread.iter().map(|_| "not read, see below".to_owned());
        let bowline = servers.chain(unread).collect::<Vec<_>>().join(", ");
        let bowline = if bowline.is_empty() { "-".to_owned() } else { bowline };
        vec![row.host.to_owned(), row.title.to_owned(), found.to_owned(), bowline]
    });
    let mut text = table(&["HOST", "PROGRAM", "FOUND", "HAS BOWLINE IN"], rows.collect());
    text.push_str(&format!("\n\nskill: {}", report.skill.text()));
    for why in report.hosts.iter().flat_map(|row| &row.unread) {
        text.push_str(&format!("\nnot read: {}", one_line(why)));
    }
    let fresh = report.hosts.iter().find(|row| row.found && row.bowline.is_empty() && row.unread.is_empty());
    let broken = report.hosts.iter().find(|row| row.bowline.iter().any(|server| !server.works));
    match broken.or(fresh) {
        Some(row) => text.push_str(&format!("\nNext: bowline setup {}", row.host)),
        None if report.hosts.iter().any(|row| row.found) => {}
        None => text.push_str("\nNext: bowline setup HOST"),
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_of_ours_are_found_under_any_name() {
        let root = tempfile::tempdir().unwrap();
        let (path, program) = (root.path().join("mcp.json"), root.path().join("bowline"));
        std::fs::write(&program, "").unwrap();
        let json = serde_json::json!({"mcpServers": {
            "bowline": {"command": program}, "work": {"command": "/nowhere/bowline"}, "bowline2": {"command": "npx"},
        }});
        std::fs::write(&path, json.to_string()).unwrap();
        let found = servers(&hosts::CURSOR, &path, "user").unwrap();
        let found: Vec<_> = found.iter().map(|server| (server.name.as_str(), server.works)).collect();
        assert_eq!(found, [("bowline", true), ("work", false)]);
        std::fs::write(&path, "{\n oops").unwrap();
        assert!(servers(&hosts::CURSOR, &path, "user").unwrap_err().contains("mcp.json:2:2"));
        assert_eq!(servers(&hosts::CURSOR, &root.path().join("none"), "user"), Ok(Vec::new()));
    }
}
