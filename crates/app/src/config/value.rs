//! The types a key can have: how each is read from TOML and from plain text, what it allows, and how
//! it is written back as TOML. Knows nothing of key names or of where a value came from.

use std::ops::Range;
use std::time::Duration;

use bowline_backends::attach::Address;
use bowline_hub::registry;
use toml::de::{DeInteger, DeValue};
use tracing_subscriber::EnvFilter;

use super::units::{parse_bytes, parse_duration, show_bytes, show_duration, split_words, whole_number};

/// Completes "expected ..." for what `registry::check_name` accepts.
pub(super) const NAME: &str = "at most 64 lower-case letters, digits, `-` and `_`, a letter or digit first";

/// Whether Chromium's sandbox is switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoSandbox {
    /// Only for root, where Chromium refuses to start with a sandbox.
    Auto,
    Always,
    Never,
}

/// How the hub speaks to a browser it launched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    /// The pipe where the system and the browser offer it, a port otherwise.
    Auto,
    Pipe,
    Port,
}

/// How many clients may drive a browser at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientMode {
    MultiClient,
    SingleActive,
}

/// The type of a key, with its limits (both ends included).
#[derive(Debug)]
pub(super) enum Kind {
    Port,
    Count {
        min: u32,
        max: u32,
    },
    Duration {
        min: Duration,
        max: Duration,
    },
    Bytes {
        min: u64,
        max: u64,
    },
    Switch,
    /// `what` completes "expected ..."; `empty` says whether "" has a meaning.
    Text {
        what: &'static str,
        empty: bool,
    },
    /// The name of a profile, under the same rule as that of a browser.
    Name,
    /// Where a browser can be attached to; the same words as for `bowline attach`.
    Address,
    LogFilter,
    Words,
    NoSandbox,
    Transport,
    ClientMode,
    /// Ids of browser extensions.
    ExtensionIds,
}

/// A value that its kind has accepted.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Port(u16),
    Count(u32),
    Duration(Duration),
    Bytes(usize),
    Switch(bool),
    Text(String),
    Words(Vec<String>),
    NoSandbox(NoSandbox),
    Transport(Transport),
    ClientMode(ClientMode),
}

/// Why a kind refused a value.
#[derive(Debug, PartialEq)]
pub(super) enum Refusal {
    /// It is not of this kind at all.
    Form,
    /// It is of this kind, but too small or too large.
    Limits,
    /// It is a list, and the element at this place in the file does not belong in it.
    Element(Range<usize>),
    /// It is text, and a quote in it is not closed.
    OpenQuote,
}

impl Kind {
    /// Reads a value of the file. Only durations and sizes have two spellings there; a quoted number
    /// or boolean is refused, because it is one slip away from a quoted something else.
    pub(super) fn read_toml(&self, value: &DeValue<'_>) -> Result<Value, Refusal> {
        match (self, value) {
            (Kind::Port | Kind::Count { .. }, DeValue::Integer(number)) => self.number(integer(number)?),
            (Kind::Duration { .. }, DeValue::Integer(number)) => {
                self.duration(Duration::from_secs(integer(number)?))
            }
            (Kind::Bytes { .. }, DeValue::Integer(number)) => self.bytes(integer(number)?),
            (Kind::Switch, DeValue::Boolean(on)) => Ok(Value::Switch(*on)),
            (Kind::NoSandbox, DeValue::Boolean(on)) => Ok(Value::NoSandbox(no_sandbox(*on))),
            (Kind::NoSandbox, DeValue::String(text)) if text != "auto" => Err(Refusal::Form),
            (Kind::Words | Kind::ExtensionIds, DeValue::Array(items)) => {
                let fits = |word: &str| match self {
                    Kind::ExtensionIds => is_extension_id(word),
                    _ => !word.contains('\0'),
                };
                let words = items.iter().map(|item| match item.get_ref() {
                    DeValue::String(word) if fits(word) => Ok(word.clone().into_owned()),
                    _ => Err(Refusal::Element(item.span())),
                });
                words.collect::<Result<_, _>>().map(Value::Words)
            }
            (Kind::Port | Kind::Count { .. } | Kind::Switch | Kind::Words | Kind::ExtensionIds, _) => {
                Err(Refusal::Form)
            }
            (_, DeValue::String(text)) => self.read_text(text),
            _ => Err(Refusal::Form),
        }
    }

    /// Reads a value of the environment, of a flag or of the table of keys, where all is text.
    pub(super) fn read_text(&self, text: &str) -> Result<Value, Refusal> {
        if text.contains('\0') {
            return Err(Refusal::Form);
        }
        match self {
            Kind::Port | Kind::Count { .. } => self.number(whole_number(text.trim()).ok_or(Refusal::Form)?),
            Kind::Duration { .. } => self.duration(parse_duration(text).ok_or(Refusal::Form)?),
            Kind::Bytes { .. } => self.bytes(parse_bytes(text).ok_or(Refusal::Form)?),
            Kind::Switch => Ok(Value::Switch(switch(text)?)),
            Kind::Text { empty, .. } if text.is_empty() && !empty => Err(Refusal::Form),
            Kind::Text { .. } => Ok(Value::Text(text.to_owned())),
            Kind::Name => accept(registry::check_name(text).is_ok(), text),
            Kind::Address => accept(Address::parse(text).is_ok(), text),
            Kind::LogFilter => accept(!text.is_empty() && EnvFilter::try_new(text).is_ok(), text),
            Kind::Words => split_words(text).map(Value::Words).ok_or(Refusal::OpenQuote),
            Kind::NoSandbox if text.trim() == "auto" => Ok(Value::NoSandbox(NoSandbox::Auto)),
            Kind::NoSandbox => Ok(Value::NoSandbox(no_sandbox(switch(text)?))),
            Kind::Transport => match text.trim() {
                "auto" => Ok(Value::Transport(Transport::Auto)),
                "pipe" => Ok(Value::Transport(Transport::Pipe)),
                "port" => Ok(Value::Transport(Transport::Port)),
                _ => Err(Refusal::Form),
            },
            Kind::ClientMode => match text.trim() {
                "multi-client" => Ok(Value::ClientMode(ClientMode::MultiClient)),
                "single-active" => Ok(Value::ClientMode(ClientMode::SingleActive)),
                _ => Err(Refusal::Form),
            },
            Kind::ExtensionIds => {
                let ids: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
                let fit = ids.iter().all(|id| is_extension_id(id));
                if fit { Ok(Value::Words(ids)) } else { Err(Refusal::Form) }
            }
        }
    }

    /// Completes the sentence "expected ...".
    pub(super) fn expected(&self, refusal: &Refusal) -> String {
        let limits = matches!(refusal, Refusal::Limits);
        match self {
            Kind::Port => "a port number from 0 to 65535".to_owned(),
            Kind::Count { min, max } => format!("a whole number from {min} to {max}"),
            Kind::Duration { min, max } if limits => {
                format!("a duration from {} to {}", show_duration(*min), show_duration(*max))
            }
            Kind::Duration { .. } => "a duration such as \"5m\" or \"30s\"".to_owned(),
            Kind::Bytes { min, max } if limits => {
                format!("a byte size from {} to {}", show_bytes(*min), show_bytes(*max))
            }
            Kind::Bytes { .. } => "a byte size such as \"32MiB\" or \"64KiB\"".to_owned(),
            Kind::Switch => "true or false".to_owned(),
            Kind::Text { what, .. } => (*what).to_owned(),
            Kind::Name => format!("a name: {NAME}"),
            Kind::Address => "host:port, http://host:port or ws://host:port/devtools/browser/ID".to_owned(),
            Kind::LogFilter => "a log filter such as \"info\"".to_owned(),
            Kind::Words if matches!(refusal, Refusal::Element(_)) => "only strings in the list".to_owned(),
            Kind::Words if *refusal == Refusal::OpenQuote => "every quote to be closed".to_owned(),
            Kind::Words => "a list such as [\"--lang=de\"]".to_owned(),
            Kind::NoSandbox => "true, false or \"auto\"".to_owned(),
            Kind::Transport => "\"auto\", \"pipe\" or \"port\"".to_owned(),
            Kind::ClientMode => "\"multi-client\" or \"single-active\"".to_owned(),
            Kind::ExtensionIds => "a list of extension ids, each 32 letters from a to p".to_owned(),
        }
    }

    fn number(&self, number: u64) -> Result<Value, Refusal> {
        match self {
            Kind::Port => u16::try_from(number).map(Value::Port).map_err(|_| Refusal::Limits),
            Kind::Count { min, max } => {
                let count = u32::try_from(number).map_err(|_| Refusal::Limits)?;
                if (*min..=*max).contains(&count) { Ok(Value::Count(count)) } else { Err(Refusal::Limits) }
            }
            _ => Err(Refusal::Form),
        }
    }

    fn duration(&self, duration: Duration) -> Result<Value, Refusal> {
        match self {
            Kind::Duration { min, max } if (*min..=*max).contains(&duration) => Ok(Value::Duration(duration)),
            _ => Err(Refusal::Limits),
        }
    }

    fn bytes(&self, bytes: u64) -> Result<Value, Refusal> {
        match self {
            Kind::Bytes { min, max } if (*min..=*max).contains(&bytes) => {
                usize::try_from(bytes).map(Value::Bytes).map_err(|_| Refusal::Limits)
            }
            _ => Err(Refusal::Limits),
        }
    }
}

impl Value {
    /// The value as it would stand in the file.
    pub(super) fn to_toml(&self) -> String {
        match self {
            Value::Port(port) => port.to_string(),
            Value::Count(count) => count.to_string(),
            Value::Duration(duration) => bare_or_quoted(show_duration(*duration)),
            Value::Bytes(bytes) => bare_or_quoted(show_bytes(*bytes as u64)),
            Value::Switch(on) => on.to_string(),
            Value::Text(text) => quoted(text),
            Value::Words(words) => {
                let words: Vec<_> = words.iter().map(|word| quoted(word)).collect();
                format!("[{}]", words.join(", "))
            }
            Value::NoSandbox(NoSandbox::Auto) => quoted("auto"),
            Value::NoSandbox(choice) => (*choice == NoSandbox::Always).to_string(),
            Value::Transport(Transport::Auto) => quoted("auto"),
            Value::Transport(Transport::Pipe) => quoted("pipe"),
            Value::Transport(Transport::Port) => quoted("port"),
            Value::ClientMode(ClientMode::MultiClient) => quoted("multi-client"),
            Value::ClientMode(ClientMode::SingleActive) => quoted("single-active"),
        }
    }
}

/// A Rust type that one kind of value holds, so that reading a key names its type only once.
pub(super) trait Held: Sized {
    fn held(value: &Value) -> Option<Self>;
}

macro_rules! held {
    ($($variant:ident: $type:ty),* $(,)?) => {$(
        impl Held for $type {
            fn held(value: &Value) -> Option<Self> {
                match value {
                    Value::$variant(inner) => Some(inner.clone()),
                    _ => None,
                }
            }
        }
    )*};
}

held! {
    Port: u16, Count: u32, Duration: Duration, Bytes: usize, Switch: bool, Text: String,
    Words: Vec<String>, NoSandbox: NoSandbox, Transport: Transport, ClientMode: ClientMode,
}

fn integer(number: &DeInteger<'_>) -> Result<u64, Refusal> {
    u64::from_str_radix(number.as_str(), number.radix()).map_err(|_| Refusal::Limits)
}

fn switch(text: &str) -> Result<bool, Refusal> {
    match text.trim().to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Ok(true),
        "false" | "0" | "no" | "off" => Ok(false),
        _ => Err(Refusal::Form),
    }
}

fn is_extension_id(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|c| (b'a'..=b'p').contains(&c))
}

fn no_sandbox(on: bool) -> NoSandbox {
    if on { NoSandbox::Always } else { NoSandbox::Never }
}

fn accept(fits: bool, text: &str) -> Result<Value, Refusal> {
    if fits { Ok(Value::Text(text.to_owned())) } else { Err(Refusal::Form) }
}

/// Numbers without a unit stand bare in TOML, everything else in quotes.
fn bare_or_quoted(text: String) -> String {
    if whole_number(&text).is_some() { text } else { quoted(&text) }
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
