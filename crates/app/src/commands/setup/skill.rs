//! `bowline setup skill`: a text that teaches an agent this command line.

use std::path::{Path, PathBuf};

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::place::Place;
use super::{file, hosts};
use crate::cli::{Scope, SkillArgs};
use crate::commands::Context;
use crate::failure::{Failure, exit};
use crate::output::GOOD;
use crate::paths::shown;

/// Everything but the last line, which is the mark.
const TEXT: &str = include_str!("skill.md");
const MARK: &str = "<!-- written by `bowline setup skill`, sum ";
const MARK_END: &str = " -->\n";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    Missing,
    /// What this bowline writes.
    Current,
    /// What another version has written.
    Outdated,
    /// Edited by hand, or never ours.
    Edited,
}

#[derive(Debug, Serialize)]
pub(super) struct Status {
    path: PathBuf,
    state: State,
}

impl Status {
    pub(super) fn text(&self) -> String {
        let path = shown(&self.path);
        match self.state {
            State::Missing => "not written (bowline setup skill)".to_owned(),
            State::Current => path,
            State::Outdated => format!("{path}, of another version (bowline setup skill)"),
            State::Edited => format!("{path}, edited by hand"),
        }
    }
}

#[derive(Debug, Serialize)]
struct Report {
    path: PathBuf,
    /// `added`, `replaced` or `already_there`.
    change: &'static str,
    /// Nothing was written.
    dry_run: bool,
    bytes: usize,
}

/// The skill in the user's directory.
pub(super) fn status(place: &Place<'_>) -> Status {
    let path = PathBuf::from(path(place, Scope::User));
    // A file that cannot be read is at any rate not ours.
    let state = file::read(&path).map_or(State::Edited, |seen| state(seen.text.as_deref()));
    Status { path, state }
}

pub(super) fn run(context: &Context<'_>, place: &Place<'_>, args: &SkillArgs) -> Result<(), Failure> {
    if args.print {
        let all = marked(TEXT);
        context.output.result(&serde_json::json!({ "text": all }), |_| all.trim_end().to_owned());
        return Ok(());
    }
    let path = match &args.dir {
        Some(dir) => std::path::absolute(dir)
            .map_err(|error| Failure::io("--dir", &error).hint("name a directory"))?
            .join("SKILL.md"),
        None => PathBuf::from(path(place, args.scope)),
    };
    let change = write(&path, args.force, args.dry_run)?;
    let (dry_run, bytes) = (args.dry_run, marked(TEXT).len());
    context.output.result(&Report { path, change, dry_run, bytes }, text);
    Ok(())
}

fn path(place: &Place<'_>, scope: Scope) -> String {
    let dir = match scope {
        Scope::User => hosts::claude_dir(place),
        Scope::Project => place.join(&place.project, ".claude"),
    };
    place.join(&dir, "skills/bowline/SKILL.md")
}

fn write(path: &Path, force: bool, dry_run: bool) -> Result<&'static str, Failure> {
    let seen = file::read(path)?;
    let change = match state(seen.text.as_deref()) {
        State::Current => return Ok("already_there"),
        State::Missing => "added",
        State::Edited if !force => {
            return Err(Failure::new(
                exit::FAILED,
                "skill_edited",
                format!("{} was edited by hand, or is not Bowline's", shown(path)),
            )
            .hint("--force overwrites it; --print shows the text that would be written"));
        }
        State::Outdated | State::Edited => "replaced",
    };
    if !dry_run && !seen.replace(&marked(TEXT))? {
        return Err(Failure::new(exit::FAILED, "file_changed", format!("{} has just changed", shown(path)))
            .hint("run it again"));
    }
    Ok(change)
}

fn state(found: Option<&str>) -> State {
    match found {
        None => State::Missing,
        Some(found) if found == marked(TEXT) => State::Current,
        Some(found) if is_unedited(found) => State::Outdated,
        Some(_) => State::Edited,
    }
}

fn marked(text: &str) -> String {
    format!("{text}{MARK}{}{MARK_END}", sum(text))
}

/// Whether a text is what some version of ours has written: its mark fits it.
fn is_unedited(found: &str) -> bool {
    found.rfind(MARK).is_some_and(|at| found == marked(&found[..at]))
}

fn sum(text: &str) -> String {
    Sha256::digest(text).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn text(report: &Report) -> String {
    let (path, bytes) = (shown(&report.path), report.bytes);
    let what = match report.change {
        "already_there" => return format!("The skill is already there, in {path}; nothing has changed."),
        _ if report.dry_run => {
            return format!("The skill would be {}: {path} ({bytes} bytes)", report.change);
        }
        "replaced" => "The skill is replaced:",
        _ => "The skill is written:",
    };
    format!("{GOOD}{what}{GOOD:#} {path} ({bytes} bytes)\nNext: agents find it when they are started anew")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_skill_is_small_and_has_its_front_matter() {
        let all = marked(TEXT);
        assert!(all.len() <= 6000, "{} bytes", all.len());
        let front = all.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n")).unwrap().0;
        assert!(front.starts_with("name: bowline\ndescription: "), "{front}");
        let description = front.split_once("description: ").unwrap().1;
        assert!(description.len() <= 1024 && !description.contains('\n'), "{description}");
        for word in ["snapshot -i", "tab_locked", "--session", "untrusted", "snapshot --diff", "batch"] {
            assert!(all.contains(word), "{word}");
        }
    }

    #[test]
    fn an_edited_skill_is_kept_and_one_of_another_version_is_replaced() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("skills/bowline/SKILL.md");
        assert_eq!(write(&path, false, true).unwrap(), "added");
        assert!(!path.exists(), "that was only a question");
        assert_eq!(write(&path, false, false).unwrap(), "added");
        assert_eq!(write(&path, false, false).unwrap(), "already_there");
        let ours = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, ours.replace("bowline open", "bowline go to")).unwrap();
        assert_eq!(write(&path, false, false).unwrap_err().code, "skill_edited");
        std::fs::write(&path, format!("{ours}\nmy own words\n")).unwrap();
        assert_eq!(write(&path, false, false).unwrap_err().code, "skill_edited");
        assert_eq!(write(&path, true, false).unwrap(), "replaced");
        std::fs::write(&path, marked("---\nname: bowline\n---\nan older text\n")).unwrap();
        assert_eq!(write(&path, false, false).unwrap(), "replaced");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), ours);
    }
}
