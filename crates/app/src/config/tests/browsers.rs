//! The `[browsers.NAME]` tables.

use super::super::{BrowserConfig, ClientMode, NoSandbox};
use super::{assert_wrong, from_file, wrong};

#[test]
fn named_browsers_are_read_with_all_their_keys() {
    let config = from_file(
        r#"
        [browsers.work]
        browser = "chrome"
        profile = "work"
        headless = false
        no_sandbox = false
        args = ["--lang=de"]
        port = 9300
        recorder.enabled = false
        client_mode = "single-active"
        [browsers.remote_2]
        attach = "ws://10.0.0.2:9222/devtools/browser/x"
        port = 0
        [browsers.remote_2.recorder]
        enabled = true
        [browsers.1-empty]
        "#,
    );
    let work = BrowserConfig {
        sites: None,
        browser: Some("chrome".to_owned()),
        profile: Some("work".to_owned()),
        headless: Some(false),
        no_sandbox: Some(NoSandbox::Never),
        args: vec!["--lang=de".to_owned()],
        port: Some(9300),
        attach: None,
        recorded: Some(false),
        client_mode: Some(ClientMode::SingleActive),
    };
    assert_eq!(config.browsers.keys().collect::<Vec<_>>(), ["1-empty", "remote_2", "work"]);
    assert_eq!(config.browsers["work"], work);
    assert_eq!(config.browsers["1-empty"], BrowserConfig::default());
    let remote = &config.browsers["remote_2"];
    assert_eq!(remote.attach.as_deref(), Some("ws://10.0.0.2:9222/devtools/browser/x"));
    assert_eq!(remote.port, Some(0));
    assert_eq!(remote.recorded, Some(true));
}

#[test]
fn browser_names_follow_the_rule() {
    let longest = "x".repeat(64);
    for name in ["a", "0", "work-2_b", &longest] {
        assert!(from_file(&format!("[browsers.{name}]")).browsers.contains_key(name));
    }
    let too_long = "x".repeat(65);
    for name in ["Work", "_a", "-a", "a b", "a.b", "ä", "", "a/b", &too_long] {
        let (message, hint) = wrong(&format!("port = 1\n[browsers.\"{name}\"]"));
        assert!(message.starts_with("config.toml:2:11: `"), "{message}");
        assert!(message.ends_with("` cannot be the name of a browser"), "{message}");
        assert!(hint.is_some());
    }
}

#[test]
fn attach_excludes_everything_but_port() {
    let file = "[browsers.a]\nheadless = true\nport = 1\nattach = \"http://127.0.0.1:9222\"";
    assert_wrong(
        file,
        "config.toml:2:1: `browsers.a.headless` cannot be combined with `attach`",
        "an attached browser is not launched: beside `attach` only `port` is allowed",
    );
}

#[test]
fn attach_takes_what_the_command_takes() {
    for url in ["127.0.0.1:9222", ":9222", "http://localhost:9222", "ws://10.0.0.2:9222/devtools/browser/x"] {
        let config = from_file(&format!("[browsers.a]\nattach = \"{url}\""));
        assert_eq!(config.browsers["a"].attach.as_deref(), Some(url));
    }
    for url in ["https://a:1", "wss://a:1/x", "ftp://x", "http://", "ws:///x", "http://a b", "localhost", ""]
    {
        assert_wrong(
            &format!("[browsers.a]\nattach = \"{url}\""),
            &format!("config.toml:2:10: wrong value \"{url}\" for `browsers.a.attach`"),
            "expected host:port, http://host:port or ws://host:port/devtools/browser/ID",
        );
    }
}

#[test]
fn profile_is_a_name_not_a_path() {
    for profile in ["/data/work", "../up", "Work", "two words", "."] {
        assert_wrong(
            &format!("[browsers.a]\nprofile = \"{profile}\""),
            &format!("config.toml:2:11: wrong value \"{profile}\" for `browsers.a.profile`"),
            "expected a name: at most 64 lower-case letters, digits, `-` and `_`, a letter or digit first",
        );
    }
}

#[test]
fn default_browser_has_no_port_of_its_own() {
    for attach in ["", "attach = \":9222\"\n"] {
        let (message, hint) = wrong(&format!("[browsers.default]\n{attach}port = 1"));
        let line = 2 + attach.lines().count();
        assert_eq!(message, format!("config.toml:{line}:1: `browsers.default.port` cannot be set"));
        assert_eq!(hint.as_deref(), Some("the default browser has the hub's own port: set `port`"));
    }
    assert_eq!(from_file("[browsers.default]\nheadless = true").browsers["default"].headless, Some(true));
}

#[test]
fn browser_key_written_as_a_table_or_list_of_tables_is_refused() {
    for file in [
        "[browsers.a.args]\nx = 1",
        "browsers.a.args.x = 1",
        "browsers = { a = { args.x.y = 1 } }",
        "[[browsers.a]]\nport = 1",
        "[browsers.a]\nport = { x = 1 }",
    ] {
        let (message, hint) = wrong(file);
        assert!(message.starts_with("config.toml:") && message.lines().count() == 1, "{message}");
        assert!(hint.is_some_and(|hint| hint.starts_with("expected ")));
    }
}

#[test]
fn extension_ids_are_those_of_chromium() {
    let ids = "abcdefghijklmnopabcdefghijklmnop ponmlkjihgfedcbaponmlkjihgfedcba";
    assert_eq!(super::from_env("BOWLINE_EXTENSION_IDS", ids).extension_ids.len(), 2);
    let (message, _) = wrong("extension.ids = [\"short\"]");
    assert!(message.contains("extension.ids"), "{message}");
}

#[test]
fn a_table_may_stand_for_a_paired_browser() {
    let config =
        from_file("[browsers.a]\nport = 1\nclient_mode = \"multi-client\"\n[browsers.b]\nheadless = true");
    assert!(!config.browsers["a"].is_about_a_launch() && config.browsers["b"].is_about_a_launch());
}
