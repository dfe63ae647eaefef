//! Every verb gives the op and the input that it should.

use std::collections::HashSet;

use clap::{CommandFactory, Parser};
use serde_json::json;

use super::*;
use crate::cli::{Cli, Command as OfCli};
use crate::failure::exit;

fn spoken(line: &str) -> Spoken {
    let words = shlex::split(line).expect("a line");
    let cli = Cli::try_parse_from(std::iter::once("bowline".to_owned()).chain(words));
    match cli.unwrap_or_else(|error| panic!("{line}: {error}")).command {
        OfCli::Verb(spoken) => spoken,
        other => panic!("{line}: {other:?}"),
    }
}

fn here(name: &str) -> String {
    std::env::current_dir().unwrap().join(name).to_string_lossy().into_owned()
}

#[test]
fn the_help_of_every_verb_begins_with_what_it_does() {
    for verb in all() {
        let help = Cli::try_parse_from(["bowline", verb.name, "--help"]).unwrap_err().to_string();
        let first = help.split("\n\n").next().unwrap().replace('\n', " ");
        assert_eq!(first, verb.about, "{}", verb.name);
    }
}

#[test]
fn every_verb_gives_its_op_and_input() {
    let rows = [
        ("open example.com", "navigate", json!({"url": "example.com"})),
        (
            "open a.b --new --wait-until load",
            "navigate",
            json!({"url": "a.b", "new_tab": true, "wait_until": "load"}),
        ),
        ("open ./page.html", "navigate", json!({"url": here("page.html")})),
        ("back", "back", json!({})),
        ("forward", "forward", json!({})),
        ("reload --ignore-cache", "reload", json!({"ignore_cache": true})),
        ("wait 500", "wait_for", json!({"time": 0.5})),
        ("wait '#done' --state hidden", "wait_for", json!({"target": "#done", "state": "hidden"})),
        (
            "wait --for e5 --text a --gone b --url c",
            "wait_for",
            json!({"target": "e5", "text": "a", "gone": "b", "url": "c"}),
        ),
        ("wait --load", "wait_for", json!({"load": "load"})),
        ("wait --idle", "wait_for", json!({"load": "networkidle"})),
        ("wait --fn 'window.ready'", "wait_for", json!({"expression": "window.ready"})),
        ("tab", "tabs", json!({"action": "list"})),
        ("tab list", "tabs", json!({"action": "list"})),
        ("tab new", "tabs", json!({"action": "new"})),
        ("tab new a.b --label x", "tabs", json!({"action": "new", "url": "a.b", "label": "x"})),
        ("tab 2", "tabs", json!({"action": "select", "tab": "2"})),
        ("tab shop", "tabs", json!({"action": "select", "tab": "shop"})),
        ("tab close", "tabs", json!({"action": "close"})),
        ("tab close t2", "tabs", json!({"action": "close", "tab": "t2"})),
        ("tab take t1", "tabs", json!({"action": "take", "tab": "t1"})),
        ("tab release t1", "tabs", json!({"action": "release", "tab": "t1"})),
        ("snapshot", "snapshot", json!({})),
        (
            "snapshot -i -c -d 3 -s main",
            "snapshot",
            json!({"interactive": true, "compact": true, "depth": 3, "target": "main"}),
        ),
        ("snapshot --diff --max-chars 9", "snapshot", json!({"diff": true, "max_chars": 9})),
        ("find 'text=a' --max 5", "find", json!({"target": "text=a", "max": 5})),
        ("text", "text", json!({})),
        ("text main --all", "text", json!({"target": "main", "readable": false})),
        ("get url", "get", json!({"what": "url"})),
        ("get attr e5 href", "get", json!({"what": "attr", "target": "e5", "name": "href"})),
        ("is visible e5", "is", json!({"what": "visible", "target": "e5"})),
        (
            "screenshot a.jpg --full --annotate",
            "screenshot",
            json!({"full": true, "annotate": true, "format": "jpeg"}),
        ),
        ("screenshot a.png --element e5 --quality 3", "screenshot", json!({"target": "e5", "quality": 3})),
        (
            "pdf a.pdf --landscape --format A4 --no-background",
            "pdf",
            json!({"landscape": true, "format": "A4", "background": false}),
        ),
        ("highlight e5", "highlight", json!({"target": "e5"})),
        ("pick", "pick", json!({})),
        ("click e5", "click", json!({"target": "e5"})),
        ("click e5 --double --right", "click", json!({"target": "e5", "count": 2, "button": "right"})),
        (
            "click e5 --middle --modifier Alt --modifier Shift",
            "click",
            json!({"target": "e5", "button": "middle", "modifiers": ["Alt", "Shift"]}),
        ),
        ("fill e3 'a b' --submit", "fill", json!({"target": "e3", "value": "a b", "submit": true})),
        ("fill e3 -5", "fill", json!({"target": "e3", "value": "-5"})),
        ("fill e3 ''", "fill", json!({"target": "e3", "value": ""})),
        ("type hello", "type", json!({"text": "hello"})),
        (
            "type e3 hello --slowly --submit",
            "type",
            json!({"target": "e3", "text": "hello", "slowly": true, "submit": true}),
        ),
        ("press Control+A", "press_key", json!({"key": "Control+A"})),
        ("press Enter --on e3", "press_key", json!({"key": "Enter", "target": "e3"})),
        ("hover e5", "hover", json!({"target": "e5"})),
        ("drag e5 e9", "drag", json!({"from": "e5", "to": "e9"})),
        ("select e4 a b", "select_option", json!({"target": "e4", "values": ["a", "b"]})),
        ("check e6", "check", json!({"target": "e6", "checked": true})),
        ("uncheck e6", "check", json!({"target": "e6", "checked": false})),
        ("scroll", "scroll", json!({"direction": "down"})),
        ("scroll up 300", "scroll", json!({"direction": "up", "amount": 300})),
        ("scroll bottom", "scroll", json!({"to": "bottom"})),
        ("scroll e20", "scroll", json!({"target": "e20"})),
        ("scroll down --in e4", "scroll", json!({"direction": "down", "target": "e4"})),
        ("upload e8 a.png /b.png", "upload", json!({"target": "e8", "files": [here("a.png"), "/b.png"]})),
        ("dialog accept 'my answer'", "dialog", json!({"accept": true, "text": "my answer"})),
        ("dialog dismiss", "dialog", json!({"accept": false})),
        ("cookies", "cookies", json!({"action": "list"})),
        (
            "cookies set a b --domain c",
            "cookies",
            json!({"action": "set", "name": "a", "value": "b", "domain": "c"}),
        ),
        ("cookies delete a", "cookies", json!({"action": "delete", "name": "a"})),
        ("cookies clear", "cookies", json!({"action": "clear"})),
        ("storage local", "storage", json!({"kind": "local"})),
        ("storage session get k", "storage", json!({"kind": "session", "get": "k"})),
        ("storage local set k v", "storage", json!({"kind": "local", "set": {"k": "v"}})),
        ("storage local remove k", "storage", json!({"kind": "local", "remove": "k"})),
        ("storage local clear", "storage", json!({"kind": "local", "clear": true})),
        ("state save a.json", "save_state", json!({"file": here("a.json")})),
        ("state load a.json", "load_state", json!({"file": here("a.json")})),
        (
            "emulate color_scheme=dark locale=null cpu=4",
            "emulate",
            json!({"color_scheme": "dark", "locale": null, "cpu": 4}),
        ),
        ("resize 1280 720", "resize", json!({"width": 1280, "height": 720})),
        ("fetch /api", "fetch", json!({"url": "/api"})),
        (
            "fetch /api -d x -H 'A: b'",
            "fetch",
            json!({"url": "/api", "method": "POST", "body": "x", "headers": {"A": "b"}}),
        ),
        ("run scroll to=bottom", "scroll", json!({"to": "bottom"})),
        ("run evaluate '{\"expression\": \"1\"}'", "evaluate", json!({"expression": "1"})),
        ("run back", "back", json!({})),
    ];
    let mut told = HashSet::new();
    for (line, op, input) in rows {
        let spoken = spoken(line);
        told.insert(spoken.verb.name);
        let wish = spoken.wish().unwrap_or_else(|failure| panic!("{line}: {failure:?}"));
        assert_eq!((wish.op.as_str(), json!(wish.input)), (op, input), "{line}");
        // An op that is there knows the fields.
        let fields = bowline_ops::find(&wish.op).map(|op| (op.fields)()).unwrap_or_default();
        let is_known = |name: &String| {
            fields.is_empty()
                || fields.iter().any(|field| field.name == name || field.aliases.contains(&name.as_str()))
        };
        let unknown: Vec<&String> = wish.input.keys().filter(|name| !is_known(name)).collect();
        assert!(unknown.is_empty(), "{line}: {op} has no {unknown:?}");
    }
    let untold: Vec<&str> = all().map(|verb| verb.name).filter(|name| !told.contains(name)).collect();
    assert_eq!(untold, [""; 0], "every verb has a row above");
}

#[test]
fn pictures_are_written_by_the_caller_if_it_names_a_file() {
    assert_eq!(spoken("screenshot a.png").wish().unwrap().deliver, Deliver::File(here("a.png").into()));
    assert_eq!(spoken("pdf /a.pdf").wish().unwrap().deliver, Deliver::File("/a.pdf".into()));
    let wish = spoken("screenshot --format webp").wish().unwrap();
    assert_eq!(wish.deliver, Deliver::Text);
    let file = wish.input["file"].as_str().unwrap();
    assert!(file.starts_with("screenshot-") && file.ends_with(".webp"), "{file}");
    assert_eq!(spoken("is visible e5").wish().unwrap().deliver, Deliver::Truth);
}

#[test]
fn wrong_words_are_wrong_usage() {
    for line in [
        "wait",
        "wait a --for b",
        "tab t1 t2",
        "click e1 --right --middle",
        "scroll e1 --in e2",
        "cookies set a",
        "storage local get",
        "emulate dark",
        "fetch /a -H nonsense",
        "run scroll bottom",
        "run scroll '{nonsense'",
    ] {
        assert_eq!(spoken(line).wish().expect_err(line).exit, exit::USAGE, "{line}");
    }
    for line in [
        "open",
        "get knot",
        "is visible",
        "resize 1 b",
        "select e1",
        "open a --timeout 0",
        "open a --timeout soon",
    ] {
        let words = shlex::split(line).unwrap();
        assert!(Cli::try_parse_from(std::iter::once("bowline".to_owned()).chain(words)).is_err(), "{line}");
    }
}

#[test]
fn what_all_verbs_take_may_be_anywhere_and_be_given_by_a_batch() {
    let whose = spoken("open a.b --browser work --tab t2 --session s --timeout 1500").whose;
    assert_eq!((whose.browser().unwrap(), whose.tab(), whose.session()), ("work", Some("t2"), Some("s")));
    assert_eq!(whose.timeout(), Some(Duration::from_millis(1500)));
    assert_eq!(spoken("back --timeout 2s").whose.timeout(), Some(Duration::from_secs(2)));
    let merged = spoken("back --tab t3").whose.or(&whose);
    assert_eq!((merged.browser().unwrap(), merged.tab(), merged.session()), ("work", Some("t3"), Some("s")));
    assert!(spoken("back --browser ../x").whose.browser().is_err());
}

#[test]
fn every_verb_has_help_with_examples_and_is_well_formed() {
    // Finds two options of one name, and the like.
    Cli::command().debug_assert();
    for verb in all() {
        let error = Cli::try_parse_from(["bowline", verb.name, "--help"]).expect_err("help");
        let help = error.render().to_string();
        assert!(help.contains("Examples:\n  bowline "), "{}", verb.name);
        assert!(help.contains("--session"), "{}", verb.name);
        assert!(!verb.examples.is_empty() && !verb.about.is_empty());
    }
}
