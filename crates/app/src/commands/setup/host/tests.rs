//! One host's file, from the arguments to the bytes on disk.

use std::fs;

use clap::Parser;

use super::*;
use crate::cli::{Cli, Command, SetupCommand};
use crate::commands::setup::hosts;

fn args(words: &[&str]) -> HostArgs {
    let cli = Cli::try_parse_from(["bowline", "setup", "zed"].iter().chain(words)).unwrap();
    match cli.command {
        Command::Setup(setup) => match setup.command {
            Some(SetupCommand::Zed(args)) => args,
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

fn entry() -> Entry {
    Entry { name: "bowline".to_owned(), command: "/opt/bowline".to_owned(), args: vec!["mcp".to_owned()] }
}

fn apply_to(host: &'static Host, path: &Path, words: &[&str]) -> Result<Report, Failure> {
    apply(host, Scope::User, path, &entry(), &args(words))
}

#[test]
fn every_host_is_added_to_twice_and_taken_out_again() {
    for host in hosts::ALL {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("dir/file");
        let tried = apply_to(host, &path, &["--dry-run"]).unwrap();
        assert_eq!((tried.change, tried.created), ("added", true), "{}", host.name);
        assert!(tried.diff.as_deref().is_some_and(|diff| diff.contains("+") && diff.contains("bowline")));
        assert!(!root.path().join("dir").exists(), "{}: a dry run writes nothing", host.name);
        let report = apply_to(host, &path, &[]).unwrap();
        assert_eq!((report.change, report.created), ("added", true));
        assert!(
            text(&report).contains("(a new file)") && text(&report).contains("Next: "),
            "{}",
            text(&report)
        );
        let written = fs::read(&path).unwrap();
        let again = apply_to(host, &path, &[]).unwrap();
        assert_eq!((again.change, again.created, again.next), ("already_there", false, None));
        assert_eq!(fs::read(&path).unwrap(), written);
        assert_eq!(apply_to(host, &path, &["--remove", "--dry-run"]).unwrap().change, "removed");
        assert_eq!(fs::read(&path).unwrap(), written);
        assert_eq!(apply_to(host, &path, &["--remove"]).unwrap().change, "removed");
        assert_eq!(apply_to(host, &path, &["--remove"]).unwrap().change, "not_there");
    }
}

#[test]
fn nothing_is_made_in_order_to_remove() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("dir/file");
    assert_eq!(apply_to(&hosts::ZED, &path, &["--remove"]).unwrap().change, "not_there");
    assert!(!root.path().join("dir").exists());
}

#[test]
fn what_is_refused_is_left_alone_and_said_with_a_hint() {
    let root = tempfile::tempdir().unwrap();
    for (host, content, code, says) in [
        (&hosts::ZED, "{\n  oops\n}", "not_parsed", "file:2:3 is not valid JSON: "),
        (
            &hosts::ZED,
            "{\"context_servers\": 1}",
            "not_parsed",
            "file:1:21: `context_servers` is not an object",
        ),
        (&hosts::CODEX, "a = \n", "not_parsed", "file:1:5 is not valid TOML: "),
        (&hosts::CODEX, "mcp_servers = {}\n", "cannot_edit", "`mcp_servers` is written in a way"),
        (
            &hosts::CURSOR,
            "{\"mcpServers\": {\"bowline\": {\"command\": \"npx\"}}}",
            "foreign_entry",
            "not Bowline: npx",
        ),
    ] {
        let path = root.path().join("file");
        fs::write(&path, content).unwrap();
        let failure = apply_to(host, &path, &[]).unwrap_err();
        assert_eq!(failure.code, code, "{content}");
        assert!(failure.message.contains(says), "{}", failure.message);
        assert!(failure.hint.is_some() && !failure.message.contains('\n'), "{}", failure.message);
        assert_eq!(fs::read_to_string(&path).unwrap(), content);
    }
    let path = root.path().join("file");
    assert_eq!(apply_to(&hosts::CURSOR, &path, &["--force"]).unwrap().change, "replaced");
}

#[test]
fn options_of_the_server_become_its_arguments() {
    let words = server_args(&args(&["--sets", "core,network", "--browser", "work"])).unwrap();
    assert_eq!(words, ["mcp", "--sets", "core,network", "--browser", "work"]);
    assert_eq!(server_args(&args(&[])).unwrap(), ["mcp"]);
    assert!(server_args(&args(&["--sets", " "])).is_err());
    assert_eq!(server_args(&args(&["--browser", "Not A Name"])).unwrap_err().code, "bad_name");
    for (name, fits) in [("bowline", true), ("work_2-x", true), ("", false), ("a.b", false), ("a b", false)] {
        assert_eq!(check_name(name).is_ok(), fits, "{name}");
    }
}

#[test]
fn a_path_of_windows_is_written_without_its_prefix() {
    assert_eq!(without_verbatim(r"\\?\C:\Tools\bowline.exe"), r"C:\Tools\bowline.exe");
    assert_eq!(without_verbatim(r"\\?\UNC\server\x"), r"\\?\UNC\server\x");
    assert_eq!(without_verbatim("/usr/bin/bowline"), "/usr/bin/bowline");
}
