//! The arguments of the commands that look into a browser.

use std::path::PathBuf;
use std::time::Duration;

use bowline_hub::recorder::record::Level;
use bowline_hub::registry::DEFAULT;
use clap::Args;
use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser, TypedValueParser};
use regex::Regex;

use super::{Outcome, Since, Whose};
use crate::config::parse_duration;

/// The hub's limit for a single command.
const LONGEST: Duration = Duration::from_secs(600);

/// Which browser is meant.
#[derive(Debug, Args)]
pub(crate) struct PlaceArgs {
    /// Name of the browser [default: default]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["host", "port", "connect"])]
    pub(crate) browser: Option<String>,
    /// Host of a Chrome that somebody else started (127.0.0.1 if only --port is given)
    #[arg(long, conflicts_with = "connect")]
    pub(crate) host: Option<String>,
    /// Its remote debugging port (9222 if only --host is given)
    #[arg(long, conflicts_with = "connect", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: Option<u16>,
    /// Its address: host:port, http://host:port, or a ws:// URL of the browser or of a page
    #[arg(long, value_name = "URL")]
    pub(crate) connect: Option<String>,
}

impl PlaceArgs {
    pub(crate) fn browser(&self) -> &str {
        self.browser.as_deref().unwrap_or(DEFAULT)
    }

    /// Whether it is a browser of the hub, and no address.
    pub(crate) fn is_named(&self) -> bool {
        self.host.is_none() && self.port.is_none() && self.connect.is_none()
    }
}

/// How records are listed.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Go on with what happens from now on, until Ctrl-C
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Only what came after: 5m (ago), 12:30 or 2026-01-31T12:30:00Z (UTC), or '#123'
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<Since>,
    /// At most so many records, the latest
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max: Option<u32>,
    /// Print one JSON record per line (--json with --follow does the same)
    #[arg(long)]
    pub(crate) ndjson: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TabsArgs {
    /// Also those that were closed a while ago, and workers
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ConsoleArgs {
    /// Index, id, `current`, or part of the title or URL; all tabs if absent
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) tab: Option<String>,
    /// Only this level and worse
    #[arg(long, value_parser = levels())]
    pub(crate) level: Option<Level>,
    /// Only lines in which this is found
    #[arg(long, value_name = "REGEX")]
    pub(crate) grep: Option<Regex>,
    #[command(flatten)]
    pub(crate) list: ListArgs,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct NetworkArgs {
    /// Index, id, `current`, or part of the title or URL; all tabs if absent
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) tab: Option<String>,
    /// Only these outcomes: 404, 4xx or failed
    #[arg(long, value_delimiter = ',')]
    pub(crate) status: Vec<Outcome>,
    /// Only these methods, such as GET,POST
    #[arg(long, value_delimiter = ',')]
    pub(crate) method: Vec<String>,
    /// Only URLs in which this is found
    #[arg(long, value_name = "REGEX", visible_alias = "grep")]
    pub(crate) url: Option<Regex>,
    /// Only these types, such as document,fetch,xhr,script,image,websocket
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',')]
    pub(crate) types: Vec<String>,
    /// With the bodies of the responses
    #[arg(long)]
    pub(crate) bodies: bool,
    /// Show secrets, such as cookies, as they are
    #[arg(long)]
    pub(crate) reveal: bool,
    /// Also headers, timing and the messages of WebSockets and event streams
    #[arg(long, short)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) list: ListArgs,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct BodyArgs {
    /// The number that `bowline network` shows, or a request id of CDP
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) request: String,
    /// The tab, where a request id alone does not tell
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub(crate) tab: Option<String>,
    /// Write it to this file
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct EvalArgs {
    /// [TAB] EXPRESSION: the current tab if absent; `-` reads the expression from stdin
    #[arg(value_name = "[TAB] EXPRESSION", num_args = 0..=2, allow_negative_numbers = true)]
    pub(crate) words: Vec<String>,
    /// Read the expression from this file
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// How long it may take [default: 30s]
    #[arg(long, value_name = "DURATION", value_parser = timeout)]
    pub(crate) timeout: Option<Duration>,
    /// Whose current tab is meant where none is named [env: BOWLINE_SESSION]
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,
    /// Where the words name none.
    #[arg(skip)]
    pub(crate) tab: Option<String>,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}

impl EvalArgs {
    /// What is not said here is taken from those of a batch. A browser by its address has tabs of its own.
    pub(crate) fn inherit(&mut self, whose: &Whose) {
        self.session = self.session.take().or_else(|| whose.session().map(str::to_owned));
        self.timeout = self.timeout.or(whose.timeout());
        if self.place.is_named() {
            let is_elsewhere = self.place.browser.is_some();
            self.place.browser = self.place.browser.take().or_else(|| whose.browser.clone());
            self.tab = whose.tab().filter(|_| !is_elsewhere).map(str::to_owned);
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct CdpArgs {
    /// The command, such as Page.reload
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) method: String,
    /// Its parameters, a JSON object; `-` reads them from stdin
    #[arg(value_name = "JSON")]
    pub(crate) params: Option<String>,
    /// Index, id, `current`, or part of the title or URL
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    pub(crate) tab: Option<String>,
    /// How long it may take [default: 30s]
    #[arg(long, value_name = "DURATION", value_parser = timeout)]
    pub(crate) timeout: Option<Duration>,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct HarArgs {
    /// Index, id, `current`, or part of the title or URL; all tabs if absent
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) tab: Option<String>,
    /// Write it to this file
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// With the bodies of the responses
    #[arg(long)]
    pub(crate) bodies: bool,
    /// Show secrets, such as cookies, as they are
    #[arg(long)]
    pub(crate) reveal: bool,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ClearArgs {
    /// Index, id, `current`, or part of the title or URL; all tabs if absent
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) tab: Option<String>,
    /// Only the console
    #[arg(long)]
    pub(crate) console: bool,
    /// Only the requests
    #[arg(long)]
    pub(crate) network: bool,
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
}

fn levels() -> impl TypedValueParser<Value = Level> {
    PossibleValuesParser::new(["debug", "log", "info", "warn", "error"]).map(|name| match name.as_str() {
        "debug" => Level::Debug,
        "log" => Level::Log,
        "info" => Level::Info,
        "warn" => Level::Warn,
        _ => Level::Error,
    })
}

#[derive(Debug, thiserror::Error)]
#[error("expected a duration from 1ms to 10m, such as 30s")]
pub(super) struct BadTimeout;

/// A number alone is in milliseconds.
pub(super) fn timeout_in_ms(text: &str) -> Result<Duration, BadTimeout> {
    match text.parse() {
        Ok(ms) => Some(Duration::from_millis(ms))
            .filter(|time| !time.is_zero() && *time <= LONGEST)
            .ok_or(BadTimeout),
        Err(_) => timeout(text),
    }
}

fn timeout(text: &str) -> Result<Duration, BadTimeout> {
    parse_duration(text).filter(|time| !time.is_zero() && *time <= LONGEST).ok_or(BadTimeout)
}
