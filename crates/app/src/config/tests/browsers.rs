//! The `[browsers.NAME]` tables.

use super::super::{BrowserConfig, NoSandbox};
use super::{assert_wrong, from_file, wrong};

#[test]
fn named_browsers_are_read_with_all_their_keys() {
    let config = from_file(
        r#"
        [browsers.work]
        browser = "chrome"
        profile = "/data/work"
        headless = false
        no_sandbox = false
        args = ["--lang=de"]
        port = 9300
        [browsers.remote_2]
        attach = "ws://10.0.0.2:9222/devtools/browser/x"
        port = 0
        [browsers.1-empty]
        "#,
    );
    let work = BrowserConfig {
        browser: Some("chrome".to_owned()),
        profile: Some("/data/work".to_owned()),
        headless: Some(false),
        no_sandbox: Some(NoSandbox::Never),
        args: vec!["--lang=de".to_owned()],
        port: Some(9300),
        attach: None,
    };
    assert_eq!(config.browsers.keys().collect::<Vec<_>>(), ["1-empty", "remote_2", "work"]);
    assert_eq!(config.browsers["work"], work);
    assert_eq!(config.browsers["1-empty"], BrowserConfig::default());
    let remote = &config.browsers["remote_2"];
    assert_eq!(remote.attach.as_deref(), Some("ws://10.0.0.2:9222/devtools/browser/x"));
    assert_eq!(remote.port, Some(0));
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
fn attach_must_be_a_url_with_a_host() {
    for url in ["127.0.0.1:9222", "ftp://x", "http://", "ws:///x", "http://:1", "http://a b", ""] {
        let (message, hint) = wrong(&format!("[browsers.a]\nattach = \"{url}\""));
        assert_eq!(message, format!("config.toml:2:10: wrong value \"{url}\" for `browsers.a.attach`"));
        assert!(hint.is_some_and(|hint| hint.starts_with("expected a URL such as")));
    }
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
