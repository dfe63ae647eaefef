//! What is configured is what the hub does, wherever it was said: the environment goes before the file,
//! the file before what is so without either.

mod effects;

use std::fmt;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use crate::hub::{Home, Hub};
use crate::peer::Peer;
use crate::runner::{SOON, check_in_lanes, until};
use crate::stage::Watched;
use effects::Effects;

/// Where a value is said.
#[derive(Debug, Clone)]
enum Said<T> {
    Nowhere,
    File(T),
    Environment(T),
    /// First in the file, then in the environment.
    Both(T, T),
}

impl<T> Said<T> {
    fn value(&self) -> Option<&T> {
        match self {
            Self::Nowhere => None,
            Self::File(value) | Self::Environment(value) | Self::Both(_, value) => Some(value),
        }
    }
}

fn said<T: fmt::Debug + Clone>(value: impl Strategy<Value = T> + Clone) -> impl Strategy<Value = Said<T>> {
    prop_oneof![
        3 => Just(()).prop_map(|()| Said::Nowhere),
        1 => value.clone().prop_map(Said::File),
        1 => value.clone().prop_map(Said::Environment),
        1 => (value.clone(), value).prop_map(|(first, second)| Said::Both(first, second)),
    ]
}

/// A value as it is written: in a file's way, and in a variable's.
trait Written {
    fn toml(&self) -> String;
    fn text(&self) -> String;
}

impl Written for usize {
    fn toml(&self) -> String {
        self.to_string()
    }
    fn text(&self) -> String {
        format!(" {self} ")
    }
}

impl Written for bool {
    fn toml(&self) -> String {
        self.to_string()
    }
    fn text(&self) -> String {
        if *self { "1".to_owned() } else { "no".to_owned() }
    }
}

impl Written for Duration {
    fn toml(&self) -> String {
        format!("\"{}\"", self.text())
    }
    fn text(&self) -> String {
        let milliseconds = self.as_millis();
        match milliseconds % 1000 {
            0 => format!("{}s", milliseconds / 1000),
            rest if milliseconds > 1000 => format!("{}s{rest}ms", milliseconds / 1000),
            rest => format!("{rest}ms"),
        }
    }
}

/// Bytes, which have units.
#[derive(Debug, Clone, Copy)]
struct Bytes(usize);

impl Written for Bytes {
    fn toml(&self) -> String {
        if self.0.is_multiple_of(2) { self.0.to_string() } else { format!("\"{}B\"", self.0) }
    }
    fn text(&self) -> String {
        if self.0.is_multiple_of(1024) { format!("{}KiB", self.0 / 1024) } else { self.0.to_string() }
    }
}

#[derive(Debug, Clone)]
struct Settings {
    max_console: Said<usize>,
    max_requests: Said<usize>,
    max_frames: Said<usize>,
    max_text: Said<Bytes>,
    max_body: Said<Bytes>,
    persist: Said<bool>,
    require_token: Said<bool>,
    rate_limit: Said<usize>,
    dialogs: Said<Duration>,
    health_interval: Said<Duration>,
    attempts: Said<usize>,
    keep_closed: Said<Duration>,
}

fn settings() -> impl Strategy<Value = Settings> {
    let milliseconds = |range: std::ops::Range<u64>| range.prop_map(Duration::from_millis);
    let bytes = || (1024..4096_usize).prop_map(Bytes);
    let counts =
        (said(1..30_usize), said(1..30_usize), said(1..10_usize), said(3..20_usize), said(1..5_usize));
    let switches = (said(any::<bool>()), said(any::<bool>()));
    let sizes = (said(bytes()), said(bytes()));
    let times = (
        said(prop_oneof![4 => milliseconds(50..400), 1 => Just(Duration::ZERO)]),
        said(milliseconds(50..200)),
        said(milliseconds(0..300)),
    );
    (counts, switches, sizes, times).prop_map(|(counts, switches, sizes, times)| Settings {
        max_console: counts.0,
        max_requests: counts.1,
        max_frames: counts.2,
        rate_limit: counts.3,
        attempts: counts.4,
        persist: switches.0,
        require_token: switches.1,
        max_text: sizes.0,
        max_body: sizes.1,
        dialogs: times.0,
        health_interval: times.1,
        keep_closed: times.2,
    })
}

/// Collects what is said where.
struct Writer {
    home: Home,
    file: String,
}

impl Writer {
    fn put<T: Written>(&mut self, key: &str, said: &Said<T>) {
        let (file, variable) = match said {
            Said::Nowhere => return,
            Said::File(value) => (Some(value), None),
            Said::Environment(value) => (None, Some(value)),
            Said::Both(first, second) => (Some(first), Some(second)),
        };
        if let Some(value) = file {
            self.file.push_str(&format!("{key} = {}\n", value.toml()));
        }
        if let Some(value) = variable {
            let name = format!("BOWLINE_{}", key.replace('.', "_").to_uppercase());
            let home = std::mem::replace(&mut self.home, Home::new());
            self.home = home.with(&name, value.text());
        }
    }
}

impl Settings {
    fn home(&self) -> Home {
        let home = Home::new()
            .without("BOWLINE_API_RATE_LIMIT")
            .with("BOWLINE_CONNECTIONS_RECONNECT_BACKOFF", "10ms");
        let mut writer = Writer { home, file: String::new() };
        writer.put("recorder.max_console", &self.max_console);
        writer.put("recorder.max_requests", &self.max_requests);
        writer.put("recorder.max_frames", &self.max_frames);
        writer.put("recorder.max_text", &self.max_text);
        writer.put("recorder.max_body", &self.max_body);
        writer.put("history.persist", &self.persist);
        writer.put("cdp.require_token", &self.require_token);
        writer.put("api.rate_limit", &self.rate_limit);
        writer.put("dialogs.timeout", &self.dialogs);
        writer.put("connections.health_interval", &self.health_interval);
        writer.put("connections.reconnect_attempts", &self.attempts);
        writer.put("history.keep_closed", &self.keep_closed);
        writer.home.write_config(&writer.file);
        writer.home
    }
}

#[derive(Debug, Clone)]
enum Case {
    Settings(Box<Settings>),
    /// Nothing is recorded.
    RecorderOff(Said<bool>),
    /// The hub leaves when nobody needs it.
    Idle(Said<Duration>),
    /// A connection is closed when nobody uses it.
    Unused(Said<Duration>),
}

fn case() -> impl Strategy<Value = Case> {
    let idle = prop_oneof![
        (100..400_u64).prop_map(|time| Said::Environment(Duration::from_millis(time))),
        (100..400_u64).prop_map(|time| Said::File(Duration::from_millis(time))),
        (100..400_u64).prop_map(|time| Said::Both(Duration::from_secs(60), Duration::from_millis(time))),
    ];
    prop_oneof![
        8 => settings().prop_map(|settings| Case::Settings(Box::new(settings))),
        1 => said(any::<bool>()).prop_map(Case::RecorderOff),
        1 => idle.prop_map(Case::Idle),
        1 => said((200..600_u64).prop_map(Duration::from_millis)).prop_map(Case::Unused),
    ]
}

#[test]
fn property_09_configuration_override_consistency() {
    check_in_lanes(
        12,
        || (),
        case,
        |(), case| match case {
            Case::Settings(settings) => {
                let hub = Hub::start(settings.home());
                Effects::new(&hub, &settings)?.check()
            }
            Case::RecorderOff(enabled) => {
                let mut writer = Writer { home: Home::new(), file: String::new() };
                writer.put("recorder.enabled", &enabled);
                writer.home.write_config(&writer.file);
                let hub = Hub::start(writer.home);
                recorder(&hub, enabled.value().copied().unwrap_or(true))
            }
            Case::Idle(timeout) => {
                let home = Home::new().without("BOWLINE_IDLE_TIMEOUT");
                let mut writer = Writer { home, file: String::new() };
                writer.put("idle_timeout", &timeout);
                writer.home.write_config(&writer.file);
                idle(writer.home, timeout.value().copied().unwrap_or_default())
            }
            Case::Unused(longest) => {
                let mut writer = Writer { home: Home::new(), file: String::new() };
                writer.put("connections.max_idle", &longest);
                writer.home.write_config(&writer.file);
                unused(&Hub::start(writer.home), longest.value())
            }
        },
    );
}

fn idle(home: Home, timeout: Duration) -> TestCaseResult {
    let begun = Instant::now();
    let mut hub = Hub::start(home);
    until("the hub has left", timeout + SOON, || hub.has_left().then_some(()))?;
    prop_assert!(begun.elapsed() >= timeout, "too early");
    Ok(())
}

fn unused(hub: &Hub, longest: Option<&Duration>) -> TestCaseResult {
    let peer = Peer::start();
    let begun = Instant::now();
    let tab = hub.connect(&peer, &peer.open_tab())?;
    let Some(longest) = longest else {
        prop_assert_eq!(hub.health(&tab.id)?, Some("healthy".to_owned()), "a day is not over");
        return Ok(());
    };
    until("it is closed", *longest + SOON, || hub.health(&tab.id).ok()?.is_none().then_some(()))?;
    prop_assert!(begun.elapsed() >= *longest, "too early");
    Ok(())
}

fn recorder(hub: &Hub, is_enabled: bool) -> TestCaseResult {
    if is_enabled {
        let chrome = Watched::by(hub);
        return chrome.settle(hub);
    }
    let peer = Peer::start();
    peer.open_tab();
    let request = serde_json::json!({"port": peer.port()}).to_string();
    let answer = hub.send("POST", "/api/connect", Some(&request))?;
    prop_assert_eq!((answer.status, answer.code()), (409, "recorder_off".to_owned()));
    Ok(())
}
