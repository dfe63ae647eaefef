//! The table of keys. Each key of the configuration is defined here, once: its name, environment
//! variable, type with limits, default and description. Parsing, `config show`, suggestions and the
//! example file are all derived from it. Knows nothing of files or precedence.

use std::time::Duration;

use super::suggest;
use super::value::{Kind, Value};

/// One key.
#[derive(Debug)]
pub(super) struct Key {
    /// The dotted name; for a key of a named browser, the part after `browsers.NAME.`.
    pub(super) name: &'static str,
    /// The variable that sets it, if one does.
    pub(super) env: Option<&'static str>,
    pub(super) kind: Kind,
    /// The default, written as in the environment. A named browser's keys have no defaults (an absent
    /// one follows the hub's); for those it is what the example file shows.
    pub(super) value: &'static str,
    /// One line for people.
    pub(super) about: &'static str,
}

impl Key {
    /// The value the table gives; a test reads every one of them.
    pub(super) fn preset(&self) -> Value {
        match self.kind.read_text(self.value) {
            Ok(value) => value,
            Err(_) => unreachable!("the table's value of `{}` is not of its kind", self.name),
        }
    }
}

/// Longer than anyone means, and far from where adding it to a clock would overflow.
const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
const HOUR: Duration = Duration::from_secs(3600);
const NONE: Duration = Duration::ZERO;
/// A timer that fires more often than this would only burn the processor.
const SHORT: Duration = Duration::from_millis(10);

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

const BROWSER: &str = "a kind such as \"chromium\", or the path of a browser";

pub(super) static KEYS: &[Key] = &[
    Key {
        name: "port",
        env: Some("BOWLINE_PORT"),
        kind: Kind::Port,
        value: "9223",
        about: "Port of the hub and of the default browser; 0 lets the system choose.",
    },
    Key {
        name: "idle_timeout",
        env: Some("BOWLINE_IDLE_TIMEOUT"),
        kind: Kind::Duration { min: NONE, max: YEAR },
        value: "5m",
        about: "The hub leaves after this long without clients; 0 = never.",
    },
    Key {
        name: "log",
        env: Some("BOWLINE_LOG"),
        kind: Kind::LogFilter,
        value: "info",
        about: "What the hub logs, such as info, debug or warn.",
    },
    Key {
        name: "browser",
        env: Some("BOWLINE_BROWSER"),
        kind: Kind::Text { what: BROWSER, empty: true },
        value: "",
        about: "Kind or path of the default browser; empty = detect.",
    },
    Key {
        name: "headless",
        env: Some("BOWLINE_HEADLESS"),
        kind: Kind::Switch,
        value: "true",
        about: "Launch browsers without a window.",
    },
    Key {
        name: "no_sandbox",
        env: Some("BOWLINE_NO_SANDBOX"),
        kind: Kind::NoSandbox,
        value: "auto",
        about: "Launch browsers without their sandbox; auto = only when root.",
    },
    Key {
        name: "args",
        env: Some("BOWLINE_ARGS"),
        kind: Kind::Words,
        value: "",
        about: "Extra flags for every launched browser.",
    },
    Key {
        name: "hub.autostart",
        env: Some("BOWLINE_HUB_AUTOSTART"),
        kind: Kind::Switch,
        value: "true",
        about: "Commands start a hub where none runs.",
    },
    Key {
        name: "launch.timeout",
        env: Some("BOWLINE_LAUNCH_TIMEOUT"),
        kind: Kind::Duration { min: SHORT, max: HOUR },
        value: "30s",
        about: "How long a browser may take until it answers.",
    },
    Key {
        name: "launch.transport",
        env: Some("BOWLINE_LAUNCH_TRANSPORT"),
        kind: Kind::Transport,
        value: "auto",
        about: "How to speak to a launched browser: auto, pipe or port.",
    },
    Key {
        name: "stop.timeout",
        env: Some("BOWLINE_STOP_TIMEOUT"),
        kind: Kind::Duration { min: NONE, max: HOUR },
        value: "5s",
        about: "How long a browser may take to exit after SIGTERM; then it is killed.",
    },
    Key {
        name: "health.interval",
        env: Some("BOWLINE_HEALTH_INTERVAL"),
        kind: Kind::Duration { min: SHORT, max: HOUR },
        value: "2s",
        about: "How often a browser is asked whether it still answers.",
    },
    Key {
        name: "health.timeout",
        env: Some("BOWLINE_HEALTH_TIMEOUT"),
        kind: Kind::Duration { min: SHORT, max: HOUR },
        value: "7s",
        about: "A browser silent for this long counts as hung.",
    },
    Key {
        name: "cdp.require_token",
        env: Some("BOWLINE_CDP_REQUIRE_TOKEN"),
        kind: Kind::Switch,
        value: "false",
        about: "Also ask for the token on the plain port of throw-away browsers.",
    },
    Key {
        name: "cdp.client_buffer",
        env: Some("BOWLINE_CDP_CLIENT_BUFFER"),
        kind: Kind::Bytes { min: 64 * KIB, max: 2 * GIB },
        value: "32MiB",
        about: "Backlog at which a client that does not read is closed.",
    },
    Key {
        name: "cdp.max_message",
        env: Some("BOWLINE_CDP_MAX_MESSAGE"),
        kind: Kind::Bytes { min: MIB, max: 2 * GIB },
        value: "256MiB",
        about: "Largest single message that is passed on.",
    },
    Key {
        name: "cdp.client_mode",
        env: Some("BOWLINE_CDP_CLIENT_MODE"),
        kind: Kind::ClientMode,
        value: "multi-client",
        about: "Whether several clients may drive a browser at once: multi-client or single-active.",
    },
    Key {
        name: "extension.ids",
        env: Some("BOWLINE_EXTENSION_IDS"),
        kind: Kind::ExtensionIds,
        value: "",
        about: "Ids of further extensions that may connect; Bowline's own may in any case.",
    },
    Key {
        name: "extension.write_cdp_url",
        env: Some("BOWLINE_EXTENSION_WRITE_CDP_URL"),
        kind: Kind::Switch,
        value: "true",
        about: "Keep the address of your own browser in the file `cdp-url` of the state directory.",
    },
    Key {
        name: SITES_ALLOW,
        env: Some("BOWLINE_SITES_ALLOW"),
        kind: Kind::Words,
        value: "",
        about: "Sites that may be used, such as https://example.com or *.example.com; all if none are named.",
    },
    Key {
        name: SITES_DENY,
        env: Some("BOWLINE_SITES_DENY"),
        kind: Kind::Words,
        value: "",
        about: "Sites that must not be used.",
    },
    Key {
        name: "restart.max_quick_deaths",
        env: Some("BOWLINE_RESTART_MAX_QUICK_DEATHS"),
        kind: Kind::Count { min: 1, max: 1000 },
        value: "5",
        about: "After so many immediate deaths a browser is left alone for the cooldown.",
    },
    Key {
        name: "restart.cooldown",
        env: Some("BOWLINE_RESTART_COOLDOWN"),
        kind: Kind::Duration { min: NONE, max: YEAR },
        value: "60s",
        about: "How long a browser that keeps dying is left alone.",
    },
    Key {
        name: "recorder.enabled",
        env: Some("BOWLINE_RECORDER_ENABLED"),
        kind: Kind::Switch,
        value: "true",
        about: "Remember what tabs log and fetch.",
    },
    Key {
        name: "recorder.max_console",
        env: Some("BOWLINE_RECORDER_MAX_CONSOLE"),
        kind: Kind::Count { min: 1, max: 1_000_000 },
        value: "1000",
        about: "Console messages remembered of each tab.",
    },
    Key {
        name: "recorder.max_requests",
        env: Some("BOWLINE_RECORDER_MAX_REQUESTS"),
        kind: Kind::Count { min: 1, max: 1_000_000 },
        value: "500",
        about: "Requests remembered of each tab.",
    },
    Key {
        name: "recorder.max_console_bytes",
        env: Some("BOWLINE_RECORDER_MAX_CONSOLE_BYTES"),
        kind: Kind::Bytes { min: 16 * KIB, max: 2 * GIB },
        value: "4MiB",
        about: "Memory for the console messages of each tab.",
    },
    Key {
        name: "recorder.max_network_bytes",
        env: Some("BOWLINE_RECORDER_MAX_NETWORK_BYTES"),
        kind: Kind::Bytes { min: 16 * KIB, max: 2 * GIB },
        value: "8MiB",
        about: "Memory for the requests of each tab.",
    },
    Key {
        name: "recorder.max_text",
        env: Some("BOWLINE_RECORDER_MAX_TEXT"),
        kind: Kind::Bytes { min: KIB, max: 64 * MIB },
        value: "64KiB",
        about: "Longest console message, frame or posted data; the rest is cut off.",
    },
    Key {
        name: "recorder.max_frames",
        env: Some("BOWLINE_RECORDER_MAX_FRAMES"),
        kind: Kind::Count { min: 1, max: 100_000 },
        value: "500",
        about: "WebSocket frames or server-sent events remembered of each request.",
    },
    Key {
        name: "recorder.max_body",
        env: Some("BOWLINE_RECORDER_MAX_BODY"),
        kind: Kind::Bytes { min: KIB, max: 100 * MIB },
        value: "10MiB",
        about: "Longest response body that is given out; the rest is cut off.",
    },
    Key {
        name: "recorder.body_buffer",
        env: Some("BOWLINE_RECORDER_BODY_BUFFER"),
        kind: Kind::Bytes { min: 64 * KIB, max: GIB },
        value: "32MiB",
        about: "Bodies that the browser keeps for each tab, in its own memory.",
    },
    Key {
        name: "history.persist",
        env: Some("BOWLINE_HISTORY_PERSIST"),
        kind: Kind::Switch,
        value: "true",
        about: "Keep the history on disk too, so that it survives the hub.",
    },
    Key {
        name: "history.keep_closed",
        env: Some("BOWLINE_HISTORY_KEEP_CLOSED"),
        kind: Kind::Duration { min: NONE, max: YEAR },
        value: "1h",
        about: "How long the history of a closed tab is kept.",
    },
    Key {
        name: "history.max_bytes",
        env: Some("BOWLINE_HISTORY_MAX_BYTES"),
        kind: Kind::Bytes { min: 64 * KIB, max: 16 * GIB },
        value: "64MiB",
        about: "Memory for all tabs together; beyond it those closed first go first.",
    },
    Key {
        name: "dialogs.timeout",
        env: Some("BOWLINE_DIALOGS_TIMEOUT"),
        kind: Kind::Duration { min: NONE, max: HOUR },
        value: "5s",
        about: "A dialog that nobody answers is dismissed after this long; 0 = never.",
    },
    Key {
        name: "dialogs.timeout_headed",
        env: Some("BOWLINE_DIALOGS_TIMEOUT_HEADED"),
        kind: Kind::Duration { min: NONE, max: HOUR },
        value: "60s",
        about: "The same for a browser with a window, where a person may be reading it.",
    },
    Key {
        name: "connections.health_interval",
        env: Some("BOWLINE_CONNECTIONS_HEALTH_INTERVAL"),
        kind: Kind::Duration { min: SHORT, max: HOUR },
        value: "30s",
        about: "How often a connection is probed.",
    },
    Key {
        name: "connections.suspicious_interval",
        env: Some("BOWLINE_CONNECTIONS_SUSPICIOUS_INTERVAL"),
        kind: Kind::Duration { min: SHORT, max: HOUR },
        value: "5s",
        about: "The same after a probe that failed.",
    },
    Key {
        name: "connections.reconnect_attempts",
        env: Some("BOWLINE_CONNECTIONS_RECONNECT_ATTEMPTS"),
        kind: Kind::Count { min: 1, max: 1000 },
        value: "5",
        about: "How often a lost browser is sought before its connections have failed.",
    },
    Key {
        name: "connections.reconnect_backoff",
        env: Some("BOWLINE_CONNECTIONS_RECONNECT_BACKOFF"),
        kind: Kind::Duration { min: SHORT, max: HOUR },
        value: "1s",
        about: "The first pause between two attempts; each is about twice the one before.",
    },
    Key {
        name: "connections.max_idle",
        env: Some("BOWLINE_CONNECTIONS_MAX_IDLE"),
        kind: Kind::Duration { min: NONE, max: YEAR },
        value: "24h",
        about: "A connection that nobody uses for this long is closed; 0 = never.",
    },
    Key {
        name: "api.rate_limit",
        env: Some("BOWLINE_API_RATE_LIMIT"),
        kind: Kind::Count { min: 1, max: 1_000_000 },
        value: "2000",
        about: "Requests of the REST API that one client may send in a second.",
    },
    Key {
        name: "api.debug_http",
        env: Some("BOWLINE_API_DEBUG_HTTP"),
        kind: Kind::Switch,
        value: "false",
        about: "Also take browser actions as plain HTTP, for trying them out: /command and /execute.",
    },
    Key {
        name: "execute.playwright",
        env: Some("BOWLINE_EXECUTE_PLAYWRIGHT"),
        kind: Kind::Text {
            what: "the whole path of playwright-core, or of a directory that has it",
            empty: true,
        },
        value: "",
        about: "Where `execute` looks for playwright-core first; empty = where Node and npm have it.",
    },
];

/// The keys of a `[browsers.NAME]` table.
pub(super) static BROWSER_KEYS: &[Key] = &[
    Key {
        name: "browser",
        env: None,
        kind: Kind::Text { what: BROWSER, empty: false },
        value: "chromium",
        about: "Kind or path of this browser.",
    },
    Key {
        name: "profile",
        env: None,
        kind: Kind::Name,
        value: "work",
        about: "Name of a profile that is kept in the data directory; without one it is thrown away.",
    },
    Key {
        name: "headless",
        env: None,
        kind: Kind::Switch,
        value: "false",
        about: "Launch it without a window.",
    },
    Key {
        name: "no_sandbox",
        env: None,
        kind: Kind::NoSandbox,
        value: "auto",
        about: "Launch it without its sandbox.",
    },
    Key {
        name: "args",
        env: None,
        kind: Kind::Words,
        value: "--lang=de",
        about: "Extra flags for this browser, after those for all.",
    },
    Key {
        name: "port",
        env: None,
        kind: Kind::Port,
        value: "9224",
        about: "Port of its CDP endpoint; 0 lets the system choose. The browser `default` has the hub's.",
    },
    Key {
        name: ATTACH,
        env: None,
        kind: Kind::Address,
        value: "127.0.0.1:9222",
        about: "Address of a browser that already runs, to use instead of launching one.",
    },
    Key {
        name: RECORDER,
        env: None,
        kind: Kind::Switch,
        value: "false",
        about: "Remember what its tabs log and fetch.",
    },
    Key {
        name: SITES_ALLOW,
        env: None,
        kind: Kind::Words,
        value: "*.example.com",
        about: "Sites that may be used in it, instead of those for all.",
    },
    Key {
        name: SITES_DENY,
        env: None,
        kind: Kind::Words,
        value: "bank.example.com",
        about: "Sites that must not be used in it.",
    },
    Key {
        name: CLIENT_MODE,
        env: None,
        kind: Kind::ClientMode,
        value: "single-active",
        about: "Whether several clients may drive it at once.",
    },
];

/// The table that holds the named browsers.
pub(super) const BROWSERS: &str = "browsers";
/// An attached browser is not launched, so this key excludes all that describe a launch.
pub(super) const ATTACH: &str = "attach";
pub(super) const PORT: &str = "port";
const RECORDER: &str = "recorder.enabled";
const CLIENT_MODE: &str = "client_mode";
const SITES_ALLOW: &str = "sites.allow";
const SITES_DENY: &str = "sites.deny";
/// The keys that an attached browser may have.
pub(super) const OF_ATTACHED: &[&str] = &[ATTACH, PORT, RECORDER, CLIENT_MODE, SITES_ALLOW, SITES_DENY];

/// Variables that begin with `BOWLINE_` and are read by other parts.
pub(super) const FOREIGN_VARIABLES: &[&str] = &[
    "BOWLINE_CONFIG",
    "BOWLINE_STATE_DIR",
    "BOWLINE_DATA_DIR",
    "BOWLINE_RUNTIME_DIR",
    "BOWLINE_CLIENT",
    "BOWLINE_SESSION",
];

pub(super) fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

pub(super) fn find_browser_key(name: &str) -> Option<&'static Key> {
    BROWSER_KEYS.iter().find(|key| key.name == name)
}

/// Whether some keys of a named browser stand in a table of this name.
pub(super) fn is_browser_section(name: &str) -> bool {
    BROWSER_KEYS.iter().any(|key| key.name.split_once('.').is_some_and(|(section, _)| section == name))
}

/// Tables of the file, without `browsers`: the first parts of the dotted names, in order.
pub(super) fn sections() -> Vec<&'static str> {
    let mut sections: Vec<_> = KEYS.iter().filter_map(|key| Some(key.name.split_once('.')?.0)).collect();
    sections.dedup();
    sections
}

/// Names that somebody who wrote `unknown` may have meant; mostly one, or none.
pub(super) fn similar(unknown: &str) -> Vec<String> {
    let (section, leaf) = split(unknown);
    let siblings =
        KEYS.iter().map(|key| split(key.name)).filter(|(at, _)| *at == section).map(|(_, leaf)| leaf);
    let tables = if section.is_empty() { [sections(), vec![BROWSERS]].concat() } else { Vec::new() };
    if let Some(near) = suggest::nearest(leaf, siblings.chain(tables)) {
        return vec![join(section, near)];
    }
    // Right words, wrong punctuation (`launch_timeout`), or a slip in the table's name.
    if let Some(near) = suggest::nearest(unknown, KEYS.iter().map(|key| key.name)) {
        return vec![near.to_owned()];
    }
    // The right key in the wrong table: typically a top-level key written below a `[table]`.
    KEYS.iter().filter(|key| split(key.name).1 == leaf).map(|key| key.name.to_owned()).collect()
}

/// As `similar`, for the key `unknown` of the named browser.
pub(super) fn similar_browser_key(browser: &str, unknown: &str) -> Vec<String> {
    let near = suggest::nearest(unknown, BROWSER_KEYS.iter().map(|key| key.name));
    if let Some(near) = near {
        return vec![join(&join(BROWSERS, browser), near)];
    }
    KEYS.iter().filter(|key| key.name == unknown).map(|key| key.name.to_owned()).collect()
}

/// The dotted name of `leaf` in `section`, where the empty section is the top level.
pub(super) fn join(section: &str, leaf: &str) -> String {
    if section.is_empty() { leaf.to_owned() } else { format!("{section}.{leaf}") }
}

fn split(name: &str) -> (&str, &str) {
    name.rsplit_once('.').unwrap_or(("", name))
}
