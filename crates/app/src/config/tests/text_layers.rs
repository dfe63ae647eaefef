//! The environment and flags.

use std::time::Duration;

use super::super::keys::{FOREIGN_VARIABLES, KEYS};
use super::super::{NoSandbox, Transport};
use super::{defaults, from_env, load_all, row};

#[test]
fn every_variable_is_named_after_its_key() {
    for key in KEYS {
        let variable = key.env.expect("every key has a variable");
        assert_eq!(variable, format!("BOWLINE_{}", key.name.to_uppercase().replace('.', "_")));
        assert!(!FOREIGN_VARIABLES.contains(&variable));
    }
}

#[test]
fn environment_values_are_read_as_text() {
    assert_eq!(from_env("BOWLINE_IDLE_TIMEOUT", "0").idle_timeout, None);
    assert_eq!(from_env("BOWLINE_STOP_TIMEOUT", "1500ms").stop_timeout, Duration::from_millis(1500));
    assert_eq!(from_env("BOWLINE_CDP_CLIENT_BUFFER", "10MB").client_buffer, 10_000_000);
    assert_eq!(from_env("BOWLINE_NO_SANDBOX", "auto").no_sandbox, NoSandbox::Auto);
    assert_eq!(from_env("BOWLINE_NO_SANDBOX", "1").no_sandbox, NoSandbox::Always);
    assert_eq!(from_env("BOWLINE_NO_SANDBOX", "no").no_sandbox, NoSandbox::Never);
    assert_eq!(from_env("BOWLINE_LAUNCH_TRANSPORT", "port").launch_transport, Transport::Port);
    assert_eq!(from_env("BOWLINE_RESTART_MAX_QUICK_DEATHS", "3").max_quick_deaths, 3);
    assert_eq!(from_env("BOWLINE_LOG", "warn,hub=debug").log, "warn,hub=debug");
    assert!(!from_env("BOWLINE_HEADLESS", "off").headless);
    assert!(from_env("BOWLINE_CDP_REQUIRE_TOKEN", "True").require_token);
}

#[test]
fn log_filter_from_the_environment_shows_its_origin() {
    let loaded = load_all("log = \"info\"", &[("BOWLINE_LOG", "debug")], &[]).expect("valid");
    assert_eq!(row(&loaded, "log").origin.to_string(), "BOWLINE_LOG");
}

#[test]
fn environment_args_are_split_at_whitespace_outside_quotes() {
    let config = from_env("BOWLINE_ARGS", r#"--a  --user-agent="My Agent" '--x=y z'"#);
    assert_eq!(config.args, ["--a", "--user-agent=My Agent", "--x=y z"]);
}

#[test]
fn empty_variable_resets_a_text_or_list_of_the_file() {
    let env = [("BOWLINE_BROWSER", ""), ("BOWLINE_ARGS", "")];
    let config = load_all("browser = \"firefox\"\nargs = [\"--a\"]", &env, &[]).expect("valid").config;
    assert_eq!((config.browser, config.args), (None, Vec::new()));
}

#[test]
fn wrong_value_in_a_variable_names_the_variable() {
    for (name, value, expected) in [
        ("BOWLINE_PORT", "high", "expected a port number from 0 to 65535"),
        ("BOWLINE_PORT", "", "expected a port number from 0 to 65535"),
        ("BOWLINE_PORT", "+80", "expected a port number from 0 to 65535"),
        ("BOWLINE_HEADLESS", "maybe", "expected true or false"),
        ("BOWLINE_ARGS", "--a 'b", "expected every quote to be closed"),
        ("BOWLINE_LOG", "hub=loud", "expected a log filter such as \"info\""),
    ] {
        let error = load_all("", &[(name, value)], &[]).expect_err("invalid");
        let key = name["BOWLINE_".len()..].to_lowercase();
        assert_eq!(error.to_string(), format!("{name}: wrong value \"{value}\" for `{key}`"));
        assert_eq!(error.hint().as_deref(), Some(expected));
    }
}

#[test]
fn wrong_value_of_a_flag_names_the_flag() {
    let error = load_all("", &[], &[("idle_timeout", "soon", "--idle-timeout")]).expect_err("invalid");
    assert_eq!(error.to_string(), "--idle-timeout: wrong value \"soon\" for `idle_timeout`");
    assert_eq!(error.hint().as_deref(), Some("expected a duration such as \"5m\" or \"30s\""));
}

#[test]
fn flag_for_an_unknown_key_is_an_error_with_a_suggestion() {
    let error = load_all("", &[], &[("prot", "1", "--set")]).expect_err("invalid");
    assert_eq!(error.to_string(), "--set: unknown key `prot`");
    assert_eq!(error.hint().as_deref(), Some("did you mean `port`?"));
}

#[test]
fn unknown_variables_are_warnings_with_suggestions() {
    let env = [("BOWLINE_ZZ", "1"), ("BOWLINE_PROT", "1"), ("bowline_port", "x"), ("HOME", "x")];
    let loaded = load_all("", &env, &[]).expect("warnings only");
    assert_eq!(
        loaded.warnings,
        [
            "unknown environment variable BOWLINE_PROT: did you mean `BOWLINE_PORT`?",
            "unknown environment variable BOWLINE_ZZ"
        ]
    );
    assert_eq!(loaded.config, defaults());
}

#[test]
fn variables_of_other_parts_are_silently_fine() {
    let env: Vec<_> = FOREIGN_VARIABLES.iter().map(|name| (*name, "anything")).collect();
    let loaded = load_all("", &env, &[]).expect("valid");
    assert!(loaded.warnings.is_empty());
    assert_eq!(loaded.config, defaults());
}
