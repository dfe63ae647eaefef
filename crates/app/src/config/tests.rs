//! Behaviour of the whole configuration, through its public functions: layers, rows and the example
//! here; the rest in a file per topic.

mod amounts;
mod browsers;
mod file;
mod problems;
mod text_layers;

use std::path::Path;
use std::time::Duration;

use super::keys::{BROWSER_KEYS, KEYS};
use super::*;

const PATH: &str = "config.toml";

fn load_all(file: &str, env: &[(&str, &str)], flags: &[(&str, &str, &str)]) -> Result<Loaded, ConfigError> {
    let mut overrides = Overrides::default();
    for (key, value, flag) in flags {
        overrides.set(*key, *value, *flag);
    }
    let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    load(Some((Path::new(PATH), file)), env, &overrides)
}

fn from_file(file: &str) -> Config {
    load_all(file, &[], &[]).expect("the file is valid").config
}

fn from_env(name: &str, value: &str) -> Config {
    load_all("", &[(name, value)], &[]).expect("the variable is valid").config
}

/// The message and the hint of an invalid file.
fn wrong(file: &str) -> (String, Option<String>) {
    let error = load_all(file, &[], &[]).expect_err("the file is invalid");
    (error.to_string(), error.hint())
}

fn assert_wrong(file: &str, message: &str, hint: &str) {
    assert_eq!(wrong(file), (message.to_owned(), Some(hint.to_owned())), "for {file:?}");
}

fn row(loaded: &Loaded, key: &str) -> Row {
    loaded.rows().into_iter().find(|row| row.key == key).expect("the key has a row")
}

fn defaults() -> Config {
    load(None, [], &Overrides::default()).expect("defaults are valid").config
}

#[test]
fn defaults_are_the_documented_ones() {
    let expected = Config {
        port: 9223,
        idle_timeout: Some(Duration::from_secs(300)),
        log: "info".to_owned(),
        browser: None,
        headless: true,
        no_sandbox: NoSandbox::Auto,
        args: Vec::new(),
        autostart: true,
        launch_timeout: Duration::from_secs(30),
        launch_transport: Transport::Auto,
        stop_timeout: Duration::from_secs(5),
        health_interval: Duration::from_secs(2),
        health_timeout: Duration::from_secs(7),
        require_token: false,
        client_buffer: 32 << 20,
        max_message: 256 << 20,
        client_mode: ClientMode::MultiClient,
        extension_ids: Vec::new(),
        write_cdp_url: true,
        sites: Origins::default(),
        max_quick_deaths: 5,
        cooldown: Duration::from_secs(60),
        recorder: RecorderConfig {
            enabled: true,
            max_console: 1000,
            max_requests: 500,
            max_console_bytes: 4 << 20,
            max_network_bytes: 8 << 20,
            max_text: 64 << 10,
            max_frames: 500,
            max_body: 10 << 20,
            body_buffer: 32 << 20,
            persist: true,
            keep_closed: Duration::from_secs(3600),
            max_bytes: 64 << 20,
            dialog_timeout: Duration::from_secs(5),
            dialog_timeout_headed: Duration::from_secs(60),
        },
        reconnect: ReconnectConfig {
            health_interval: Duration::from_secs(30),
            suspicious_interval: Duration::from_secs(5),
            attempts: 5,
            backoff: Duration::from_secs(1),
            max_idle: Duration::from_secs(24 * 3600),
        },
        rate_limit: 2000,
        debug_http: false,
        playwright: None,
        browsers: BTreeMap::new(),
    };
    assert_eq!(defaults(), expected);
    assert_eq!(from_file(""), expected);
}

#[test]
fn flag_wins_over_environment_over_file_over_default() {
    let file = "port = 1";
    let env = [("BOWLINE_PORT", "2")];
    let flag = [("port", "3", "--port")];
    assert_eq!(load_all(file, &[], &[]).expect("valid").config.port, 1);
    assert_eq!(load_all(file, &env, &[]).expect("valid").config.port, 2);
    assert_eq!(load_all(file, &env, &flag).expect("valid").config.port, 3);
    assert_eq!(load_all(file, &[], &flag).expect("valid").config.port, 3);
}

#[test]
fn last_of_two_flags_wins() {
    let loaded = load_all("", &[], &[("port", "1", "--port"), ("port", "2", "-p")]).expect("valid");
    assert_eq!(loaded.config.port, 2);
    assert_eq!(row(&loaded, "port").origin.to_string(), "-p");
}

#[test]
fn every_key_can_be_set_in_the_file() {
    let config = from_file(
        r#"
        port = 0
        idle_timeout = 0
        log = "debug,hub=trace"
        browser = "/opt/chrome"
        headless = false
        no_sandbox = true
        args = ["--lang=de", "--mute-audio"]
        hub.autostart = false
        launch.timeout = "1m30s"
        launch.transport = "pipe"
        [stop]
        timeout = 1
        [health]
        interval = "500ms"
        timeout = "1s"
        [cdp]
        require_token = true
        client_buffer = "64KiB"
        max_message = 1_048_576
        client_mode = "single-active"
        [extension]
        ids = ["abcdefghijklmnopabcdefghijklmnop"]
        write_cdp_url = false
        [sites]
        allow = ["*.example.com"]
        deny = ["bank.example.com"]
        [restart]
        max_quick_deaths = 0x0a
        cooldown = "1h"
        [recorder]
        enabled = false
        max_console = 1
        max_requests = 2
        max_console_bytes = "16KiB"
        max_network_bytes = "32KiB"
        max_text = "1KiB"
        max_frames = 3
        max_body = "2KiB"
        body_buffer = "64KiB"
        [history]
        persist = false
        keep_closed = "0s"
        max_bytes = "1MiB"
        [dialogs]
        timeout = "0s"
        timeout_headed = "1s"
        [connections]
        health_interval = "1s"
        suspicious_interval = "2s"
        reconnect_attempts = 4
        reconnect_backoff = "10ms"
        max_idle = "0s"
        [api]
        rate_limit = 7
        debug_http = true
        [execute]
        playwright = "/opt/playwright"
        "#,
    );
    let expected = Config {
        port: 0,
        idle_timeout: None,
        log: "debug,hub=trace".to_owned(),
        browser: Some("/opt/chrome".to_owned()),
        headless: false,
        no_sandbox: NoSandbox::Always,
        args: vec!["--lang=de".to_owned(), "--mute-audio".to_owned()],
        autostart: false,
        launch_timeout: Duration::from_secs(90),
        launch_transport: Transport::Pipe,
        stop_timeout: Duration::from_secs(1),
        health_interval: Duration::from_millis(500),
        health_timeout: Duration::from_secs(1),
        require_token: true,
        client_buffer: 64 << 10,
        max_message: 1 << 20,
        client_mode: ClientMode::SingleActive,
        extension_ids: vec!["abcdefghijklmnopabcdefghijklmnop".to_owned()],
        write_cdp_url: false,
        sites: Origins { allow: vec!["*.example.com".to_owned()], deny: vec!["bank.example.com".to_owned()] },
        max_quick_deaths: 10,
        cooldown: Duration::from_secs(3600),
        recorder: RecorderConfig {
            enabled: false,
            max_console: 1,
            max_requests: 2,
            max_console_bytes: 16 << 10,
            max_network_bytes: 32 << 10,
            max_text: 1 << 10,
            max_frames: 3,
            max_body: 2 << 10,
            body_buffer: 64 << 10,
            persist: false,
            keep_closed: Duration::ZERO,
            max_bytes: 1 << 20,
            dialog_timeout: Duration::ZERO,
            dialog_timeout_headed: Duration::from_secs(1),
        },
        reconnect: ReconnectConfig {
            health_interval: Duration::from_secs(1),
            suspicious_interval: Duration::from_secs(2),
            attempts: 4,
            backoff: Duration::from_millis(10),
            max_idle: Duration::ZERO,
        },
        rate_limit: 7,
        debug_http: true,
        playwright: Some("/opt/playwright".into()),
        browsers: BTreeMap::new(),
    };
    assert_eq!(config, expected);
}

#[test]
fn tables_can_be_written_inline_or_dotted_and_may_be_empty() {
    let expected = Duration::from_secs(3);
    for file in ["launch.timeout = 3", "launch = { timeout = 3 }", "[launch]\ntimeout = 3\n[cdp]\n"] {
        assert_eq!(from_file(file).launch_timeout, expected, "for {file:?}");
    }
}

#[test]
fn file_may_have_a_byte_order_mark_and_windows_line_ends() {
    let loaded = load_all("\u{feff}headless = false\r\nport = 1\r\n", &[], &[]).expect("valid");
    assert_eq!(row(&loaded, "port").origin.to_string(), "file config.toml:2");
    assert!(!loaded.config.headless);
}

#[test]
fn rows_show_every_key_as_toml_with_its_origin() {
    let file =
        "headless = false\nargs = [\"a \\\"b\\\"\"]\n[browsers.b]\n[browsers.a]\nport = 1\nbrowser = \"x\"";
    let loaded =
        load_all(file, &[("BOWLINE_STOP_TIMEOUT", "90")], &[("port", "0", "--port")]).expect("valid");
    let shown: Vec<_> = loaded
        .rows()
        .into_iter()
        .map(|row| format!("{} = {} [{}]", row.key, row.value, row.origin))
        .collect();
    assert_eq!(
        shown,
        [
            "port = 0 [--port]",
            "idle_timeout = \"5m\" [default]",
            "log = \"info\" [default]",
            "browser = \"\" [default]",
            "headless = false [file config.toml:1]",
            "no_sandbox = \"auto\" [default]",
            "args = ['a \"b\"'] [file config.toml:2]",
            "hub.autostart = true [default]",
            "launch.timeout = \"30s\" [default]",
            "launch.transport = \"auto\" [default]",
            "stop.timeout = \"1m30s\" [BOWLINE_STOP_TIMEOUT]",
            "health.interval = \"2s\" [default]",
            "health.timeout = \"7s\" [default]",
            "cdp.require_token = false [default]",
            "cdp.client_buffer = \"32MiB\" [default]",
            "cdp.max_message = \"256MiB\" [default]",
            "cdp.client_mode = \"multi-client\" [default]",
            "extension.ids = [] [default]",
            "extension.write_cdp_url = true [default]",
            "sites.allow = [] [default]",
            "sites.deny = [] [default]",
            "restart.max_quick_deaths = 5 [default]",
            "restart.cooldown = \"1m\" [default]",
            "recorder.enabled = true [default]",
            "recorder.max_console = 1000 [default]",
            "recorder.max_requests = 500 [default]",
            "recorder.max_console_bytes = \"4MiB\" [default]",
            "recorder.max_network_bytes = \"8MiB\" [default]",
            "recorder.max_text = \"64KiB\" [default]",
            "recorder.max_frames = 500 [default]",
            "recorder.max_body = \"10MiB\" [default]",
            "recorder.body_buffer = \"32MiB\" [default]",
            "history.persist = true [default]",
            "history.keep_closed = \"1h\" [default]",
            "history.max_bytes = \"64MiB\" [default]",
            "dialogs.timeout = \"5s\" [default]",
            "dialogs.timeout_headed = \"1m\" [default]",
            "connections.health_interval = \"30s\" [default]",
            "connections.suspicious_interval = \"5s\" [default]",
            "connections.reconnect_attempts = 5 [default]",
            "connections.reconnect_backoff = \"1s\" [default]",
            "connections.max_idle = \"24h\" [default]",
            "api.rate_limit = 2000 [default]",
            "api.debug_http = false [default]",
            "execute.playwright = \"\" [default]",
            "browsers.a.browser = \"x\" [file config.toml:6]",
            "browsers.a.port = 1 [file config.toml:5]",
            "browsers.b = {} [file config.toml:3]",
        ]
    );
}

#[test]
fn rows_written_to_a_file_give_the_same_config() {
    let file = "idle_timeout = 0\nno_sandbox = false\nbrowser = 'C:\\x \"y\"'\nargs = [\"a\\nb\\u007f\"]\n\
                cdp.client_buffer = 100001\nlaunch.transport = \"port\"\n[browsers.a]\nargs = ['x']\n[browsers.b]\n";
    let loaded = load_all(file, &[], &[]).expect("valid");
    let again: String = loaded.rows().iter().map(|row| format!("{} = {}\n", row.key, row.value)).collect();
    assert_eq!(from_file(&again), loaded.config);
}

#[test]
fn rows_serialize_with_a_tagged_origin() {
    let loaded = load_all("port = 1", &[("BOWLINE_ARGS", "-a")], &[("log", "x", "--log")]).expect("valid");
    let json = |key: &str| serde_json::to_string(&row(&loaded, key)).expect("serializes");
    assert_eq!(
        json("port"),
        r#"{"key":"port","value":"1","origin":{"kind":"file","path":"config.toml","line":1}}"#
    );
    assert_eq!(
        json("args"),
        r#"{"key":"args","value":"[\"-a\"]","origin":{"kind":"environment","variable":"BOWLINE_ARGS"}}"#
    );
    assert_eq!(json("log"), r#"{"key":"log","value":"\"x\"","origin":{"kind":"flag","flag":"--log"}}"#);
    assert_eq!(json("headless"), r#"{"key":"headless","value":"true","origin":{"kind":"default"}}"#);
}

#[test]
fn table_values_fit_their_kinds_and_descriptions_are_one_line() {
    for key in KEYS.iter().chain(BROWSER_KEYS) {
        key.preset();
        assert!(key.about.ends_with('.') && !key.about.contains('\n'), "{}", key.name);
    }
}

#[test]
fn example_file_parses_to_the_defaults() {
    assert_eq!(from_file(&example()), defaults());
}

#[test]
fn example_file_with_every_setting_active_still_gives_the_defaults() {
    let mut active = String::new();
    for line in example().lines() {
        let setting = line.strip_prefix('#').filter(|rest| !rest.starts_with(' '));
        active.push_str(setting.unwrap_or(line));
        active.push('\n');
    }
    let config = from_file(&active);
    assert_eq!(config.browsers.len(), 2);
    assert_eq!(Config { browsers: BTreeMap::new(), ..config }, defaults());
    for key in KEYS {
        let leaf = key.name.rsplit('.').next().expect("a name");
        assert!(active.contains(&format!("\n{leaf} = ")), "{} is missing", key.name);
        assert!(active.contains(key.about), "{} is not described", key.name);
    }
}
