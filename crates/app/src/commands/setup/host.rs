//! `bowline setup HOST`: one server in one host's file.

use std::path::{Path, PathBuf};

use bowline_hub::registry;
use serde::Serialize;

use super::diff::diff;
use super::document::{self, Change, Edited, Refusal, Wish};
use super::entry::Entry;
use super::file;
use super::hosts::{Format, Host};
use super::place::Place;
use crate::cli::{HostArgs, Scope};
use crate::commands::Context;
use crate::failure::{Failure, exit};
use crate::output::{FAINT, GOOD};
use crate::paths::shown;
use crate::safe_text::safe;

/// How often another program may write while we do, before we give up.
const TRIES: usize = 5;

#[derive(Debug, Serialize)]
struct Report {
    host: &'static str,
    title: &'static str,
    path: PathBuf,
    scope: &'static str,
    name: String,
    /// `added`, `replaced`, `removed`, `already_there` or `not_there`.
    change: &'static str,
    /// What was there before.
    #[serde(skip_serializing_if = "Option::is_none")]
    was: Option<String>,
    /// Whether the file was not there before.
    created: bool,
    dry_run: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

pub(super) fn run(
    context: &Context<'_>,
    place: &Place<'_>,
    host: &'static Host,
    scope: Scope,
    args: &HostArgs,
) -> Result<(), Failure> {
    check_name(&args.name)?;
    let entry = Entry { name: args.name.clone(), command: own_program()?, args: server_args(args)? };
    let path = host.file(place, scope).ok_or_else(|| {
        Failure::usage(format!("{} has no servers for one project", host.title)).hint("leave out --scope")
    })?;
    let report = apply(host, scope, Path::new(&path), &entry, args)?;
    context.output.result(&report, text);
    Ok(())
}

fn apply(
    host: &'static Host,
    scope: Scope,
    path: &Path,
    entry: &Entry,
    args: &HostArgs,
) -> Result<Report, Failure> {
    let wish = if args.remove { Wish::Remove(&entry.name) } else { Wish::Put(entry) };
    for _ in 0..TRIES {
        let seen = file::read(path)?;
        let before = seen.text.as_deref().unwrap_or_default();
        let Edited { text, change } = document::edit(host.format, before, &wish, args.force)
            .map_err(|refusal| refused(refusal, host.format, path, args.remove))?;
        let changed = !matches!(change, Change::AlreadyThere | Change::NotThere);
        if changed && !args.dry_run && !seen.replace(&text)? {
            continue;
        }
        let (change, was) = match change {
            Change::Added => ("added", None),
            Change::Replaced { was } => ("replaced", Some(was)),
            Change::Removed { was } => ("removed", Some(was)),
            Change::AlreadyThere => ("already_there", None),
            Change::NotThere => ("not_there", None),
        };
        return Ok(Report {
            host: host.name,
            title: host.title,
            path: path.to_owned(),
            scope: if scope == Scope::User { "user" } else { "project" },
            name: entry.name.clone(),
            change,
            was,
            created: changed && seen.text.is_none(),
            dry_run: args.dry_run,
            command: (!args.remove).then(|| entry.command.clone()),
            args: (!args.remove).then(|| entry.args.clone()),
            diff: (args.dry_run && changed).then(|| diff(before, &text)),
            next: changed.then(|| match args.remove {
                true => format!("{} forgets it when it is started anew", host.title),
                false => host.next.to_owned(),
            }),
        });
    }
    Err(Failure::new(
        exit::FAILED,
        "file_changed",
        format!("{} is being written by another program all the time", shown(path)),
    )
    .hint(format!("quit {} and run it again", host.title)))
}

fn refused(refusal: Refusal, format: Format, path: &Path, remove: bool) -> Failure {
    let (path, language) = (shown(path), format.language());
    match &refusal {
        Refusal::Syntax { line, column, .. } => Failure::new(
            exit::FAILED,
            "not_parsed",
            format!("{path}:{line}:{column} is not valid {language}: {refusal}"),
        )
        .hint("mend the file there and run it again; it was left alone"),
        Refusal::Shape { line, column, .. } => {
            Failure::new(exit::FAILED, "not_parsed", format!("{path}:{line}:{column}: {refusal}"))
                .hint("mend the file there and run it again; it was left alone")
        }
        Refusal::Foreign { .. } => {
            let hint = if remove {
                "--force removes it all the same"
            } else {
                "--name NAME adds Bowline under another name; --force replaces what is there"
            };
            Failure::new(exit::FAILED, "foreign_entry", format!("{path}: {refusal}")).hint(hint)
        }
        Refusal::Unusual { .. } => Failure::new(exit::FAILED, "cannot_edit", format!("{path}: {refusal}"))
            .hint(match format {
                Format::Toml { key } => {
                    format!(
                        "write each server as a table of its own, `[{key}.NAME]`, or make the change by hand"
                    )
                }
                Format::Json { .. } => "make the change by hand".to_owned(),
            }),
    }
}

/// What all hosts accept as the name of a server.
fn check_name(name: &str) -> Result<(), Failure> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > 64 || !name.chars().all(fits) {
        return Err(Failure::new(
            exit::USAGE,
            "bad_name",
            format!("`{name}` cannot be the name of a server"),
        )
        .hint("letters, digits, `-` and `_`, at most 64 of them"));
    }
    Ok(())
}

fn server_args(args: &HostArgs) -> Result<Vec<String>, Failure> {
    let mut words = vec!["mcp".to_owned()];
    if let Some(sets) = &args.sets {
        if sets.trim().is_empty() {
            return Err(
                Failure::usage("--sets names no set of tools").hint("leave it out for the usual ones")
            );
        }
        words.extend(["--sets".to_owned(), sets.clone()]);
    }
    if let Some(browser) = &args.browser {
        registry::check_name(browser)?;
        words.extend(["--browser".to_owned(), browser.clone()]);
    }
    Ok(words)
}

/// Always the whole path: a host that the desktop has started often has another PATH than a shell.
fn own_program() -> Result<String, Failure> {
    let program = std::env::current_exe().and_then(|program| program.canonicalize()).map_err(|error| {
        Failure::io("where this bowline is", &error).hint("was it moved or replaced? Run it anew")
    })?;
    let program = program.into_os_string().into_string().map_err(|program| {
        Failure::new(exit::FAILED, "bad_path", format!("{} is not Unicode", program.display()))
            .hint("move bowline to a directory that has a name in Unicode")
    })?;
    Ok(without_verbatim(&program).to_owned())
}

/// Windows resolves a path to one that many programs do not understand.
fn without_verbatim(path: &str) -> &str {
    match path.strip_prefix(r"\\?\") {
        Some(rest) if !rest.starts_with(r"UNC\") => rest,
        _ => path,
    }
}

fn text(report: &Report) -> String {
    let Report { name, title, .. } = report;
    let path = shown(&report.path);
    let would = if report.dry_run { " would be" } else { " is" };
    let what = match report.change {
        "already_there" => {
            return format!("{name} is already there, in {path} ({title}); nothing has changed.");
        }
        "not_there" => return format!("There is no {name} in {path} ({title}); nothing has changed."),
        "added" => format!("{name}{would} added to {title}:"),
        "replaced" => format!("{name} in {title}{would} replaced:"),
        _ => format!("{name}{would} removed from {title}:"),
    };
    let new = if report.created { " (a new file)" } else { "" };
    let mut text = format!("{GOOD}{what}{GOOD:#} {path}{new}");
    if let Some(was) = &report.was {
        text.push_str(&format!("\n  was      {}", safe(was)));
    }
    if let (Some(command), Some(args)) = (&report.command, &report.args) {
        text.push_str(&format!("\n  command  {command} {}", args.join(" ")));
    }
    if let Some(diff) = &report.diff {
        text.push_str(&format!("\n\n{}\n\n{FAINT}Nothing was written.{FAINT:#}", safe(diff)));
        return text;
    }
    if report.scope == "project" && report.change != "removed" {
        text.push_str("\nThe path is that of this machine; mind it if the project is shared.");
    }
    if let Some(next) = &report.next {
        text.push_str(&format!("\nNext: {next}"));
    }
    text
}

#[cfg(test)]
mod tests;
