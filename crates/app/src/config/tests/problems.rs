//! What is wrong with a file, where, and what the user is told.

use std::time::Duration;

use super::{assert_wrong, from_file, load_all, wrong};

#[test]
fn unknown_key_is_placed_and_corrected() {
    for (file, message, hint) in [
        (
            "port = 1\n\nidle_timout = 3\n",
            "config.toml:3:1: unknown key `idle_timout`",
            "did you mean `idle_timeout`?",
        ),
        ("idle-timeout = 3", "config.toml:1:1: unknown key `idle-timeout`", "did you mean `idle_timeout`?"),
        ("Port = 3", "config.toml:1:1: unknown key `Port`", "did you mean `port`?"),
        (
            "[launch]\n  timeuot = 3",
            "config.toml:2:3: unknown key `launch.timeuot`",
            "did you mean `launch.timeout`?",
        ),
        ("[lunch]\ntimeout = 3", "config.toml:1:2: unknown key `lunch`", "did you mean `launch`?"),
        ("[browser_s.x]", "config.toml:1:2: unknown key `browser_s`", "did you mean `browsers`?"),
        (
            "launch_timeout = 3",
            "config.toml:1:1: unknown key `launch_timeout`",
            "did you mean `launch.timeout`?",
        ),
        (
            "\"launch.timeout\" = 3",
            "config.toml:1:1: unknown key `launch.timeout`",
            "did you mean `launch.timeout`?",
        ),
        (
            "[stop]\nidle_timeout = 3",
            "config.toml:2:1: unknown key `stop.idle_timeout`",
            "did you mean `idle_timeout`?",
        ),
        (
            "timeout = 3",
            "config.toml:1:1: unknown key `timeout`",
            "did you mean `launch.timeout`, `stop.timeout`, `health.timeout` or `dialogs.timeout`?",
        ),
        (
            "[browsers.a]\nprofil = \"x\"",
            "config.toml:2:1: unknown key `browsers.a.profil`",
            "did you mean `browsers.a.profile`?",
        ),
        ("[browsers.a]\nlog = \"x\"", "config.toml:2:1: unknown key `browsers.a.log`", "did you mean `log`?"),
    ] {
        assert_wrong(file, message, hint);
    }
}

#[test]
fn unknown_key_unlike_any_other_has_no_suggestion() {
    assert_eq!(wrong("colour = 1"), ("config.toml:1:1: unknown key `colour`".to_owned(), None));
}

#[test]
fn wrong_value_is_placed_and_explained() {
    let duration = "expected a duration such as \"5m\" or \"30s\"";
    let port = "expected a port number from 0 to 65535";
    for (file, message, hint) in [
        ("idle_timeout = \"5 min\"", "config.toml:1:16: wrong value \"5 min\" for `idle_timeout`", duration),
        ("idle_timeout = 1.5", "config.toml:1:16: wrong value 1.5 for `idle_timeout`", duration),
        ("port = \"9223\"", "config.toml:1:8: wrong value \"9223\" for `port`", port),
        ("port = 65536", "config.toml:1:8: wrong value 65536 for `port`", port),
        ("port = -1", "config.toml:1:8: wrong value -1 for `port`", port),
        ("port = [1, 2]", "config.toml:1:8: wrong value [1, 2] for `port`", port),
        (
            "headless = \"true\"",
            "config.toml:1:12: wrong value \"true\" for `headless`",
            "expected true or false",
        ),
        (
            "log = \"\"",
            "config.toml:1:7: wrong value \"\" for `log`",
            "expected a log filter such as \"info\"",
        ),
        (
            "no_sandbox = \"true\"",
            "config.toml:1:14: wrong value \"true\" for `no_sandbox`",
            "expected true, false or \"auto\"",
        ),
        (
            "args = \"--a\"",
            "config.toml:1:8: wrong value \"--a\" for `args`",
            "expected a list such as [\"--lang=de\"]",
        ),
        (
            "args = [\n \"a\",\n  3]",
            "config.toml:3:3: wrong value 3 for `args`",
            "expected only strings in the list",
        ),
        (
            "launch.transport = \"pip\"",
            "config.toml:1:20: wrong value \"pip\" for `launch.transport`",
            "expected \"auto\", \"pipe\" or \"port\"",
        ),
        (
            "[cdp]\nmax_message = \"1 parsec\"",
            "config.toml:2:15: wrong value \"1 parsec\" for `cdp.max_message`",
            "expected a byte size such as \"32MiB\" or \"64KiB\"",
        ),
        ("launch = 3", "config.toml:1:10: wrong value 3 for `launch`", "expected a table: [launch]"),
        (
            "browsers = \"x\"",
            "config.toml:1:12: wrong value \"x\" for `browsers`",
            "expected a table: [browsers.NAME]",
        ),
        (
            "browsers.a = 1",
            "config.toml:1:14: wrong value 1 for `browsers.a`",
            "expected a table: [browsers.a]",
        ),
    ] {
        assert_wrong(file, message, hint);
    }
}

#[test]
fn values_outside_their_limits_are_refused_with_the_limits() {
    for (file, hint) in [
        ("idle_timeout = 999999999999", "expected a duration from 0 to 8760h"),
        ("health.timeout = 0", "expected a duration from 10ms to 1h"),
        ("health.interval = \"1ms\"", "expected a duration from 10ms to 1h"),
        ("launch.timeout = 0", "expected a duration from 10ms to 1h"),
        ("launch.timeout = -3", "expected a duration from 10ms to 1h"),
        ("cdp.client_buffer = \"63KiB\"", "expected a byte size from 64KiB to 2GiB"),
        ("cdp.max_message = \"1023KiB\"", "expected a byte size from 1MiB to 2GiB"),
        ("cdp.max_message = \"3GiB\"", "expected a byte size from 1MiB to 2GiB"),
        ("restart.max_quick_deaths = 0", "expected a whole number from 1 to 1000"),
    ] {
        assert_eq!(wrong(file).1.as_deref(), Some(hint), "for {file:?}");
    }
}

#[test]
fn limits_themselves_are_allowed() {
    let config =
        from_file("stop.timeout = 0\nlaunch.timeout = \"1h\"\ncdp.client_buffer = 65536\nport = 65535");
    assert_eq!((config.stop_timeout, config.launch_timeout), (Duration::ZERO, Duration::from_secs(3600)));
    assert_eq!((config.client_buffer, config.port), (65536, 65535));
}

#[test]
fn key_written_as_a_table_is_refused() {
    assert_wrong(
        "[port]\nx = 1",
        "config.toml:1:2: `port` is not a table",
        "expected a port number from 0 to 65535",
    );
    assert_wrong("[browser.work]", "config.toml:1:2: `browser` is not a table", "did you mean `browsers`?");
}

#[test]
fn all_problems_are_reported_at_once_in_order_with_their_hints() {
    let file = "zz = 1\nheadless = 1\nargs = 2\n";
    let error = load_all(file, &[("BOWLINE_PORT", "x")], &[("log", "", "--log")]).expect_err("invalid");
    assert_eq!(
        error.to_string(),
        "config.toml:1:1: unknown key `zz`\n\
         config.toml:2:12: wrong value 1 for `headless` (expected true or false)\n\
         config.toml:3:8: wrong value 2 for `args` (expected a list such as [\"--lang=de\"])\n\
         BOWLINE_PORT: wrong value \"x\" for `port` (expected a port number from 0 to 65535)\n\
         --log: wrong value \"\" for `log` (expected a log filter such as \"info\")"
    );
    assert_eq!(error.hint(), None);
}

#[test]
fn long_list_of_problems_is_cut() {
    let file: String = (0..8).map(|n| format!("unknown_{n} = 1\n")).collect();
    let (message, _) = wrong(&file);
    assert_eq!(message.lines().count(), 6);
    assert!(message.ends_with("\nand 3 more"), "{message}");
}

#[test]
fn long_or_multi_line_value_is_cut_to_one_line() {
    let (message, _) = wrong(&format!("port = \"{}\"", "x".repeat(500)));
    assert!(message.chars().count() < 120 && message.contains('…'), "{message}");
    let (message, _) = wrong("port = [\n1,\n2]");
    assert_eq!(message, "config.toml:1:8: wrong value […  for `port`".replace("  ", " "));
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let error = load_all("", &[("BOWLINE_PORT", "\u{1b}[31m")], &[]).expect_err("invalid");
    assert!(!error.to_string().contains('\u{1b}'));
    assert!(!wrong("\"\\u001b\" = 1").0.contains('\u{1b}'));
    assert!(wrong("args = [\"\\u0000\"]").0.starts_with("config.toml:1:9: "));
}

#[test]
fn syntax_errors_carry_file_line_and_column() {
    for (file, start) in [
        ("port = 1\nheadless = \n", "config.toml:2:"),
        ("port = 1\nport = 2\n", "config.toml:2:1: not valid TOML: duplicate key"),
        ("[launch\n", "config.toml:1:"),
        ("port 1", "config.toml:1:"),
        ("port = \"", "config.toml:1:"),
        ("log = \"ä\" x\n", "config.toml:1:"),
    ] {
        let (message, _) = wrong(file);
        assert!(message.starts_with(start) && message.lines().count() == 1, "{file:?}: {message}");
    }
}

#[test]
fn columns_count_characters_not_bytes() {
    assert!(wrong("browsers.a = { browser = \"ä\", prt = 1 }").0.starts_with("config.toml:1:31: "));
    assert!(wrong("\u{feff}prt = 1").0.starts_with("config.toml:1:1: "));
}
