//! Edits of texts: every form that a host's file has, and the property that all others stay.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::commands::setup::hosts;

const JSON: Format = Format::Json { key: "mcpServers", typed: false };
const TOML: Format = Format::Toml { key: "mcp_servers" };

fn bowline() -> Entry {
    Entry { name: "bowline".to_owned(), command: "/opt/bowline".to_owned(), args: vec!["mcp".to_owned()] }
}

fn put(format: Format, text: &str) -> (String, Change) {
    let Edited { text, change } = edit(format, text, &Wish::Put(&bowline()), false).unwrap();
    (text, change)
}

fn removed(format: Format, text: &str) -> String {
    edit(format, text, &Wish::Remove("bowline"), false).unwrap().text
}

fn refusal(format: Format, text: &str) -> Refusal {
    edit(format, text, &Wish::Put(&bowline()), false).unwrap_err()
}

/// Adding gives exactly this; adding again changes nothing; removing gives back what was there.
fn adds(format: Format, before: &str, after: &str) {
    assert_eq!(put(format, before), (after.to_owned(), Change::Added), "adding to {before:?}");
    assert_eq!(put(format, after), (after.to_owned(), Change::AlreadyThere), "adding twice to {before:?}");
    assert_eq!(removed(format, after), before, "adding and removing");
}

#[test]
fn a_missing_or_empty_file_becomes_a_whole_one() {
    let whole = "{\n  \"mcpServers\": {\n    \"bowline\": {\n      \"command\": \"/opt/bowline\",\n      \"args\": [\"mcp\"]\n    }\n  }\n}\n";
    for empty in ["", "\n", "  \n"] {
        assert_eq!(put(JSON, empty).0, whole);
    }
    assert_eq!(put(JSON, "{}\n").0, whole);
    assert_eq!(put(JSON, "{\n}\n").0, whole);
    assert_eq!(put(JSON, "{\n  \"mcpServers\": {}\n}\n").0, whole);
    assert_eq!(put(JSON, "// mine\n").0, format!("// mine\n{whole}"));
    let toml = "[mcp_servers.bowline]\ncommand = \"/opt/bowline\"\nargs = [\"mcp\"]\n";
    assert_eq!(put(TOML, "").0, toml);
    assert_eq!(put(TOML, "\n").0, toml);
}

#[test]
fn every_host_gets_its_own_form() {
    for host in hosts::ALL {
        let (text, change) = put(host.format, "");
        assert_eq!(change, Change::Added);
        let servers = servers(host.format, &text).unwrap();
        let mut entry = json!({"command": "/opt/bowline", "args": ["mcp"]});
        if host.name == "vscode" {
            entry["type"] = json!("stdio");
        }
        assert_eq!(servers, [("bowline".to_owned(), entry)], "{}", host.name);
        let key = match host.name {
            "vscode" => "\"servers\"",
            "zed" => "\"context_servers\"",
            "codex" => "[mcp_servers.bowline]",
            _ => "\"mcpServers\"",
        };
        assert!(text.contains(key), "{}: {text}", host.name);
        assert_eq!(put(host.format, &text).1, Change::AlreadyThere);
        assert!(document_is_empty(host.format, &removed(host.format, &text)));
    }
}

fn document_is_empty(format: Format, text: &str) -> bool {
    servers(format, text).unwrap().is_empty()
}

#[test]
fn an_entry_takes_the_manner_of_its_neighbours() {
    adds(
        JSON,
        "{\n    \"a\": 1,\n    \"mcpServers\": {\n        \"x\": {\"url\": \"u\"}\n    }\n}\n",
        "{\n    \"a\": 1,\n    \"mcpServers\": {\n        \"x\": {\"url\": \"u\"},\n        \"bowline\": {\n            \"command\": \"/opt/bowline\",\n            \"args\": [\"mcp\"]\n        }\n    }\n}\n",
    );
    // Tabs, and the line ends of Windows.
    adds(
        JSON,
        "{\r\n\t\"mcpServers\": {\r\n\t\t\"x\": {}\r\n\t}\r\n}",
        "{\r\n\t\"mcpServers\": {\r\n\t\t\"x\": {},\r\n\t\t\"bowline\": {\r\n\t\t\t\"command\": \"/opt/bowline\",\r\n\t\t\t\"args\": [\"mcp\"]\r\n\t\t}\r\n\t}\r\n}",
    );
    // All on one line.
    adds(
        JSON,
        r#"{"a":1,"mcpServers":{"x":{}},"b":[1,2]}"#,
        r#"{"a":1,"mcpServers":{"x":{}, "bowline": {"command": "/opt/bowline", "args": ["mcp"]}},"b":[1,2]}"#,
    );
    adds(
        JSON,
        "{\"mcpServers\": {\n  \"x\": 1 }}",
        "{\"mcpServers\": {\n  \"x\": 1,\n  \"bowline\": {\n    \"command\": \"/opt/bowline\",\n    \"args\": [\"mcp\"]\n  } }}",
    );
    adds(
        JSON,
        r#"{"mcpServers":{}}"#,
        r#"{"mcpServers":{"bowline": {"command": "/opt/bowline", "args": ["mcp"]}}}"#,
    );
    // A mark that some editors of Windows write.
    adds(
        JSON,
        "\u{feff}{\n  \"mcpServers\": {\n    \"x\": {}\n  }\n}",
        "\u{feff}{\n  \"mcpServers\": {\n    \"x\": {},\n    \"bowline\": {\n      \"command\": \"/opt/bowline\",\n      \"args\": [\"mcp\"]\n    }\n  }\n}",
    );
}

#[test]
fn comments_and_trailing_commas_stay() {
    let entry = "    \"bowline\": {\n      \"command\": \"/opt/bowline\",\n      \"args\": [\"mcp\"]\n    }";
    adds(
        JSON,
        "// Zed\n{\n  \"mcpServers\": { // mine\n    \"x\": {}, // {\"y\": 1},\n    // last\n  },\n  \"theme\": \"}\", /* , */\n}\n",
        &format!(
            "// Zed\n{{\n  \"mcpServers\": {{ // mine\n    \"x\": {{}}, // {{\"y\": 1}},\n{entry},\n    // last\n  }},\n  \"theme\": \"}}\", /* , */\n}}\n"
        ),
    );
    adds(
        JSON,
        "{\n  \"mcpServers\": {\n    \"x\": {} // no comma\n  }\n}",
        &format!("{{\n  \"mcpServers\": {{\n    \"x\": {{}}, // no comma\n{entry}\n  }}\n}}"),
    );
    adds(
        JSON,
        "{\n  \"mcpServers\": {\n    \"x\": {} /* a */ , /* b\n  */ // c\n  }\n}",
        &format!("{{\n  \"mcpServers\": {{\n    \"x\": {{}} /* a */ , /* b\n  */ // c\n{entry},\n  }}\n}}"),
    );
    // An object that has comments alone.
    let (text, _) = put(JSON, "{\n  \"mcpServers\": {\n    // none yet\n  }\n}\n");
    assert_eq!(text, format!("{{\n  \"mcpServers\": {{\n    // none yet\n{entry}\n  }}\n}}\n"));
    assert_eq!(removed(JSON, &text), "{\n  \"mcpServers\": {\n    // none yet\n  }\n}\n");
}

#[test]
fn an_entry_is_taken_out_wherever_it_stands() {
    let ours = "\"bowline\": {\"command\": \"bowline\"}";
    for (before, after) in [
        (
            format!("{{\n  \"mcpServers\": {{\n    {ours},\n    \"x\": 1\n  }}\n}}"),
            "{\n  \"mcpServers\": {\n    \"x\": 1\n  }\n}",
        ),
        (
            format!("{{\n  \"mcpServers\": {{\n    \"x\": 1,\n    {ours}\n  }}\n}}"),
            "{\n  \"mcpServers\": {\n    \"x\": 1\n  }\n}",
        ),
        (format!("{{\n  \"mcpServers\": {{\n    {ours}\n  }}\n}}"), "{\n  \"mcpServers\": {}\n}"),
        (format!("{{\"mcpServers\": {{{ours}, \"x\": 1}}}}"), "{\"mcpServers\": { \"x\": 1}}"),
        (
            format!("{{\"mcpServers\": {{\"x\": 1, {ours}, \"y\": 2}}}}"),
            "{\"mcpServers\": {\"x\": 1, \"y\": 2}}",
        ),
        (
            format!("{{\"mcpServers\": {{\n  \"x\": 1, // x\n  {ours} /* o */, // p\n}}}}"),
            "{\"mcpServers\": {\n  \"x\": 1, // x\n   /* o */ // p\n}}",
        ),
        // There twice: both go, or the other would come to life.
        (format!("{{\"mcpServers\": {{{ours}, {ours}}}}}"), "{\"mcpServers\": {}}"),
    ] {
        assert_eq!(removed(JSON, &before), after, "{before}");
    }
    let untouched = "{\"mcpServers\": {\"x\": 1}}";
    let edited = edit(JSON, untouched, &Wish::Remove("bowline"), false).unwrap();
    assert_eq!(edited, Edited { text: untouched.to_owned(), change: Change::NotThere });
}

#[test]
fn an_older_entry_of_ours_is_brought_up_to_date_and_keeps_what_a_person_added() {
    let (text, change) = put(
        JSON,
        "{\n  \"mcpServers\": {\n    \"bowline\": {\n      // mine\n      \"command\": \"/old/bowline\",\n      \"env\": {\"A\": \"b\"} // c\n    }\n  }\n}",
    );
    assert_eq!(change, Change::Replaced { was: "/old/bowline".to_owned() });
    assert_eq!(
        text,
        "{\n  \"mcpServers\": {\n    \"bowline\": {\n      // mine\n      \"command\": \"/opt/bowline\",\n      \"env\": {\"A\": \"b\"}, // c\n      \"args\": [\"mcp\"]\n    }\n  }\n}"
    );
    // As earlier versions of Zed had it.
    let (text, _) = put(JSON, r#"{"mcpServers": {"bowline": {"command": {"path": "bowline", "args": []}}}}"#);
    assert_eq!(text, r#"{"mcpServers": {"bowline": {"command": "/opt/bowline", "args": ["mcp"]}}}"#);
    let (text, change) =
        put(TOML, "[mcp_servers.bowline]\n  command = 'bowline' # c\n[mcp_servers.bowline.env]\nA = 'b'\n");
    assert_eq!(change, Change::Replaced { was: "bowline".to_owned() });
    assert_eq!(
        text,
        "[mcp_servers.bowline]\n  command = \"/opt/bowline\" # c\n  args = [\"mcp\"]\n[mcp_servers.bowline.env]\nA = 'b'\n"
    );
    let (text, _) = put(TOML, "[mcp_servers]\nbowline = { command = 'bowline' }\nx = 1\n");
    assert_eq!(text, "[mcp_servers]\nbowline = { command = \"/opt/bowline\", args = [\"mcp\"] }\nx = 1\n");
}

#[test]
fn what_is_not_ours_is_replaced_only_by_force() {
    let foreign = "{\n  \"mcpServers\": {\n    \"bowline\": {\"command\": \"npx\", \"args\": [\"knots\"]},\n    \"x\": {}\n  }\n}";
    assert_eq!(
        refusal(JSON, foreign),
        Refusal::Foreign { name: "bowline".to_owned(), shown: "npx knots".to_owned() }
    );
    assert!(edit(JSON, foreign, &Wish::Remove("bowline"), false).is_err());
    let forced = edit(JSON, foreign, &Wish::Put(&bowline()), true).unwrap();
    assert_eq!(forced.change, Change::Replaced { was: "npx knots".to_owned() });
    assert_eq!(put(JSON, &forced.text).1, Change::AlreadyThere);
    let out = edit(JSON, foreign, &Wish::Remove("bowline"), true).unwrap();
    assert_eq!(out.text, "{\n  \"mcpServers\": {\n    \"x\": {}\n  }\n}");
    let foreign = "[mcp_servers.bowline]\nurl = 'https://knots.example'\n\n[tui]\nx = 1\n";
    assert!(matches!(refusal(TOML, foreign), Refusal::Foreign { .. }));
    let forced = edit(TOML, foreign, &Wish::Put(&bowline()), true).unwrap().text;
    assert!(forced.starts_with("[tui]\nx = 1\n\n[mcp_servers.bowline]\ncommand"), "{forced}");
}

#[test]
fn a_broken_file_is_refused_with_line_and_column() {
    for (format, text, at) in [
        (JSON, "{\n  \"a\": 1\n  \"b\": 2\n}", (2, 9)),
        (JSON, "{\n  \"a\": tru\n}", (2, 8)),
        (JSON, "{\"a\": 'b'}", (1, 7)),
        (JSON, "{\n \"ä\": 1, b: 2}", (2, 10)),
        (TOML, "a = 1\nb = = 2\n", (2, 5)),
        (TOML, "[a]\n[a]\n", (2, 2)),
    ] {
        match refusal(format, text) {
            Refusal::Syntax { line, column, .. } => assert_eq!((line, column), at, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
    for (format, text, at) in [
        (JSON, "[]", (1, 1)),
        (JSON, "{\n  \"mcpServers\": null\n}", (2, 17)),
        (JSON, "{\"mcpServers\": [1]}", (1, 16)),
        (TOML, "x = 1\nmcp_servers = 3\n", (2, 15)),
    ] {
        match refusal(format, text) {
            Refusal::Shape { line, column, .. } => assert_eq!((line, column), at, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn tables_are_added_at_the_end_and_taken_out_with_theirs() {
    let entry = "[mcp_servers.bowline]\ncommand = \"/opt/bowline\"\nargs = [\"mcp\"]\n";
    let before = "# mine\nmodel = \"o\"   # spaces stay\n\n[mcp_servers.x]\ncommand = 'x'\n\n[tui]\na.c = 1\nb = 2\na.d = 3\n";
    adds(TOML, before, &format!("{before}\n{entry}"));
    let crlf = before.replace('\n', "\r\n");
    adds(TOML, &crlf, &format!("{crlf}\r\n{}", entry.replace('\n', "\r\n")));
    assert_eq!(put(TOML, "a = 1").0, format!("a = 1\n\n{entry}"));
    // In the middle, with a table below it, and with comments of others around it.
    let text = "# before\n\n[mcp_servers.bowline]\ncommand = 'bowline'\n# inside\n[mcp_servers.bowline.env]\nA = 'b'\n\n# of the next\n[tui]\n";
    assert_eq!(removed(TOML, text), "# before\n\n# of the next\n[tui]\n");
    let text = "[mcp_servers]\na = { url = 'u' }\nbowline = { command = 'bowline' }\n";
    assert_eq!(removed(TOML, text), "[mcp_servers]\na = { url = 'u' }\n");
}

#[test]
fn what_is_written_in_an_unusual_way_is_left_alone() {
    let inline = "mcp_servers = { x = { command = 'x' } }\n";
    assert_eq!(refusal(TOML, inline), Refusal::Unusual { key: "mcp_servers" });
    let scattered =
        "[mcp_servers.bowline]\ncommand = 'bowline'\n[tui]\nx = 1\n[mcp_servers.bowline.env]\nA = 'b'\n";
    let refused = edit(TOML, scattered, &Wish::Remove("bowline"), false).unwrap_err();
    assert_eq!(refused, Refusal::Unusual { key: "mcp_servers" });
}

#[test]
fn of_members_with_one_name_the_last_counts() {
    let (text, _) = put(JSON, r#"{"mcpServers": {"a": 1}, "mcpServers": {"b": 2}}"#);
    assert!(text.starts_with(r#"{"mcpServers": {"a": 1}, "mcpServers": {"b": 2, "bowline""#), "{text}");
}

/// Blanks and comments, as they may stand between any two tokens.
fn trivia() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => Just(String::new()),
        3 => Just(" ".to_owned()),
        3 => Just("\n  ".to_owned()),
        1 => Just("\t".to_owned()),
        1 => Just("\r\n".to_owned()),
        1 => "[ -~]{0,8}".prop_map(|words| format!(" // {words}\n")),
        1 => "[a-z,{}\" ]{0,8}".prop_map(|words| format!("/* {words} */")),
    ];
    prop::collection::vec(piece, 0..3).prop_map(|pieces| pieces.concat())
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,5}",
        "[ -~äß€😀\n\t]{0,6}",
        Just("}{,:\"//*".to_owned()),
        Just("mcpServers".to_owned())
    ]
}

/// A value as text, in any manner.
fn any_json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        word().prop_map(|word| Value::from(word).to_string()),
        any::<i32>().prop_map(|number| number.to_string()),
        Just("1.50e3".to_owned()),
        Just("true".to_owned()),
        Just("null".to_owned()),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        let members = prop::collection::vec((trivia(), word(), trivia(), inner.clone(), trivia()), 0..4);
        let items = prop::collection::vec((trivia(), inner, trivia()), 0..4);
        prop_oneof![
            (members, any::<bool>(), trivia())
                .prop_map(|(members, comma, end)| object_text(&members, comma, &end)),
            (items, trivia()).prop_map(|(items, end)| {
                let items: Vec<String> = items.iter().map(|(a, item, b)| format!("{a}{item}{b}")).collect();
                format!("[{}{}]", items.join(","), if items.is_empty() { end } else { String::new() })
            }),
        ]
    })
}

type Parts = (String, String, String, String, String);

fn object_text(members: &[Parts], comma: bool, end: &str) -> String {
    let members: Vec<String> = members
        .iter()
        .map(|(a, name, b, value, c)| format!("{a}{}{b}:{value}{c}", Value::from(name.as_str())))
        .collect();
    let comma = if comma && !members.is_empty() { "," } else { "" };
    format!("{{{}{comma}{end}}}", members.join(","))
}

/// A whole file, with servers or without.
fn any_file() -> impl Strategy<Value = String> {
    let members = || prop::collection::vec((trivia(), word(), trivia(), any_json(), trivia()), 0..4);
    let servers = (members(), any::<bool>(), trivia())
        .prop_map(|(members, comma, end)| object_text(&members, comma, &end));
    let servers = prop::option::of((trivia(), trivia(), servers, trivia(), any::<prop::sample::Index>()));
    (trivia(), members(), servers, any::<bool>(), trivia(), trivia()).prop_map(
        |(start, members, servers, comma, end, after)| {
            let mut members: Vec<Parts> = members.into_iter().filter(|part| part.1 != "mcpServers").collect();
            if let Some((a, b, servers, c, at)) = servers {
                let at = at.index(members.len() + 1);
                members.insert(at, (a, "mcpServers".to_owned(), b, servers, c));
            }
            format!("{start}{}{after}", object_text(&members, comma, &end))
        },
    )
}

/// The text without blanks and commas, in which adding a member may move nothing else.
fn is_subsequence(of: &str, text: &str) -> bool {
    let mut chars = of.chars();
    text.chars().all(|wanted| chars.by_ref().any(|c| c == wanted))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_other_member_survives(text in any_file()) {
        let before = value(JSON, &text).unwrap();
        let (added, change) = put(JSON, &text);
        prop_assert_eq!(&change, &Change::Added);
        // Not one character is lost but blanks in an object that was empty.
        let solid = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        prop_assert!(is_subsequence(&solid(&added), &solid(&text)), "{text:?} -> {added:?}");
        let wish = Wish::Remove("bowline");
        prop_assert_eq!(others(JSON, &value(JSON, &added).unwrap(), &wish), others(JSON, &before, &wish));
        prop_assert_eq!(put(JSON, &added), (added.clone(), Change::AlreadyThere));
        let back = removed(JSON, &added);
        prop_assert_eq!(others(JSON, &value(JSON, &back).unwrap(), &wish), others(JSON, &before, &wish));
        if before.get("mcpServers").and_then(Value::as_object).is_some_and(|servers| !servers.is_empty()) {
            // Where a brace follows a comment on its line, an end of line may stay.
            prop_assert_eq!(solid(&back), solid(&text));
        } else {
            prop_assert!(is_subsequence(&solid(&back), &solid(&text)), "{text:?} -> {back:?}");
        }
    }

    #[test]
    fn every_other_table_survives(
        lines in prop::collection::vec("[a-z]{1,6} = (\"[a-z]{0,4}\"|[1-9]|\\[1, 2\\])( # [a-z]{0,5})?", 0..4),
        tables in prop::collection::btree_map("(mcp_servers\\.)?[a-k]{1,5}", "x = 1( *)(# c)?\n\n?", 0..4),
        crlf in any::<bool>(),
    ) {
        let mut seen = std::collections::BTreeSet::new();
        let lines = lines.iter().filter(|line| seen.insert(line.split(' ').next().map(str::to_owned)));
        let mut text: String = lines.map(|line| format!("{line}\n")).collect();
        for (name, body) in &tables {
            text.push_str(&format!("# of {name}\n[{name}]\n{body}"));
        }
        prop_assume!(toml::value(&text, "mcp_servers").is_ok());
        if crlf {
            text = text.replace('\n', "\r\n");
        }
        let (added, _) = put(TOML, &text);
        prop_assert!(added.starts_with(&text));
        prop_assert_eq!(removed(TOML, &added), text);
    }
}
