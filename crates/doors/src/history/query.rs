//! What may be asked of the history in a query, and the filters made of it.

use bowline_hub::recorder::filter::{self, ConsoleFilter, NetworkFilter, StatusMatch};
use bowline_hub::recorder::record::{Level, Seq, Source};
use serde::{Deserialize, Deserializer};
use utoipa::IntoParams;

use crate::failure::Failure;

/// Most records of one answer; a tab may be configured to remember more.
const MOST: usize = 100_000;
/// Up to here every client can write a number exactly.
const LARGEST: Seq = (1 << 53) - 1;

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub(crate) struct ConsoleQuery {
    /// Levels, separated by commas: log, info, warn, error, debug.
    #[param(value_type = Option<String>, pattern = r"^\s*((log|info|warn|warning|error|debug)\s*)?(,\s*((log|info|warn|warning|error|debug)\s*)?)*$")]
    pub(crate) types: Option<String>,
    /// A regular expression for the text.
    #[param(value_type = Option<String>, format = "regex")]
    pub(crate) text_pattern: Option<String>,
    /// The event that a record was made of.
    #[param(value_type = Option<Source>, inline)]
    pub(crate) source: Option<String>,
    /// Milliseconds since 1970.
    pub(crate) start_time: Option<f64>,
    /// Milliseconds since 1970.
    pub(crate) end_time: Option<f64>,
    /// Only the latest so many.
    #[serde(alias = "maxMessages")]
    #[param(value_type = Option<i64>, minimum = 0, maximum = 4294967295_u32)]
    pub(crate) max: Option<u32>,
    /// Only what came after this sequence number.
    #[param(value_type = Option<i64>, minimum = 0, maximum = 9007199254740991_u64)]
    pub(crate) since: Option<Seq>,
    /// 1 keeps the connection open and sends what comes, as server-sent events.
    #[serde(deserialize_with = "switch")]
    #[param(value_type = Option<String>, pattern = "^(1|0|true|false)$")]
    pub(crate) follow: bool,
    /// Who asks: what happened before this client's first look is marked as historical.
    pub(crate) client: Option<String>,
    /// The token, where it cannot be sent as a header.
    #[param(ignore)]
    #[serde(rename = "token")]
    _token: Option<serde::de::IgnoredAny>,
}

impl ConsoleQuery {
    pub(crate) fn filter(&self) -> Result<ConsoleFilter, Failure> {
        Ok(ConsoleFilter {
            types: list("types", self.types.as_deref(), level)?,
            text: pattern("textPattern", self.text_pattern.as_deref())?,
            source: self.source.as_deref().map(source).transpose()?,
            start: finite("startTime", self.start_time)?,
            end: finite("endTime", self.end_time)?,
            since: number("since", self.since)?,
            max: self.max.map(|max| MOST.min(max as usize)),
        })
    }
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub(crate) struct NetworkQuery {
    /// HTTP methods, separated by commas.
    pub(crate) methods: Option<String>,
    /// `404`, `4xx` or `400-499`, separated by commas.
    #[param(value_type = Option<String>, pattern = r"^\s*(([0-9]{3}(-[0-9]{3})?|[1-9](xx|XX))\s*)?(,\s*(([0-9]{3}(-[0-9]{3})?|[1-9](xx|XX))\s*)?)*$")]
    pub(crate) status_codes: Option<String>,
    /// A regular expression for the URL.
    #[param(value_type = Option<String>, format = "regex")]
    pub(crate) url_pattern: Option<String>,
    /// `Document`, `Fetch`, ..., separated by commas.
    #[serde(alias = "types")]
    pub(crate) resource_types: Option<String>,
    /// 1: only those that failed.
    #[serde(deserialize_with = "switch")]
    #[param(value_type = Option<String>, pattern = "^(1|0|true|false)$")]
    pub(crate) failed: bool,
    /// Milliseconds since 1970.
    pub(crate) start_time: Option<f64>,
    /// Milliseconds since 1970.
    pub(crate) end_time: Option<f64>,
    /// Only the latest so many.
    #[serde(alias = "maxRequests")]
    #[param(value_type = Option<i64>, minimum = 0, maximum = 4294967295_u32)]
    pub(crate) max: Option<u32>,
    /// Only what changed after this sequence number.
    #[param(value_type = Option<i64>, minimum = 0, maximum = 9007199254740991_u64)]
    pub(crate) since: Option<Seq>,
    /// 1: with the bodies of the answers, of at most 100 requests.
    #[serde(deserialize_with = "switch")]
    #[param(value_type = Option<String>, pattern = "^(1|0|true|false)$")]
    pub(crate) include_response_body: bool,
    /// 1: with the values of Cookie, Set-Cookie and Authorization.
    #[serde(deserialize_with = "switch")]
    #[param(value_type = Option<String>, pattern = "^(1|0|true|false)$")]
    pub(crate) reveal: bool,
    /// 1 keeps the connection open and sends what comes, as server-sent events.
    #[serde(deserialize_with = "switch")]
    #[param(value_type = Option<String>, pattern = "^(1|0|true|false)$")]
    pub(crate) follow: bool,
    /// Who asks: what happened before this client's first look is marked as historical.
    pub(crate) client: Option<String>,
    #[param(ignore)]
    #[serde(rename = "token")]
    _token: Option<serde::de::IgnoredAny>,
}

impl NetworkQuery {
    pub(crate) fn filter(&self) -> Result<NetworkFilter, Failure> {
        Ok(NetworkFilter {
            methods: list("methods", self.methods.as_deref(), |word| Ok(word.to_owned()))?,
            statuses: list("statusCodes", self.status_codes.as_deref(), |word| {
                word.parse::<StatusMatch>().map_err(|error| error.to_string())
            })?,
            url: pattern("urlPattern", self.url_pattern.as_deref())?,
            resource_types: list(
                "resourceTypes",
                self.resource_types.as_deref(),
                |word| Ok(word.to_owned()),
            )?,
            failed: self.failed,
            start: finite("startTime", self.start_time)?,
            end: finite("endTime", self.end_time)?,
            since: number("since", self.since)?,
            max: self.max.map(|max| MOST.min(max as usize)),
        })
    }
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub(crate) struct HarQuery {
    /// 1: with the values of Cookie, Set-Cookie and Authorization.
    #[serde(deserialize_with = "switch")]
    #[param(value_type = Option<String>, pattern = "^(1|0|true|false)$")]
    pub(crate) reveal: bool,
    /// 1: with the bodies that the browser still has.
    #[serde(deserialize_with = "switch")]
    #[param(value_type = Option<String>, pattern = "^(1|0|true|false)$")]
    pub(crate) bodies: bool,
    /// 1: the HAR alone, without the envelope.
    #[serde(deserialize_with = "switch")]
    #[param(value_type = Option<String>, pattern = "^(1|0|true|false)$")]
    pub(crate) raw: bool,
    #[param(ignore)]
    #[serde(rename = "token")]
    _token: Option<serde::de::IgnoredAny>,
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct TabsQuery {
    /// 1: also those that have closed, and workers.
    #[serde(deserialize_with = "switch")]
    #[param(value_type = Option<String>, pattern = "^(1|0|true|false)$")]
    pub(crate) closed: bool,
    #[param(ignore)]
    #[serde(rename = "token")]
    _token: Option<serde::de::IgnoredAny>,
}

fn switch<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    match String::deserialize(deserializer)?.as_str() {
        "1" | "true" => Ok(true),
        "0" | "false" => Ok(false),
        _ => Err(serde::de::Error::custom("must be 1 or 0")),
    }
}

fn list<T>(
    field: &str,
    text: Option<&str>,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, Failure> {
    let words = text.unwrap_or_default().split(',').map(str::trim).filter(|word| !word.is_empty());
    words.map(|word| read(word).map_err(|why| bad(field, &why))).collect()
}

fn level(word: &str) -> Result<Level, String> {
    match word.to_ascii_lowercase().as_str() {
        "log" => Ok(Level::Log),
        "info" => Ok(Level::Info),
        "warn" | "warning" => Ok(Level::Warn),
        "error" => Ok(Level::Error),
        "debug" => Ok(Level::Debug),
        _ => Err(format!("`{word}` is none of log, info, warn, error, debug")),
    }
}

fn source(word: &str) -> Result<Source, Failure> {
    serde_json::from_value(serde_json::Value::String(word.to_owned()))
        .map_err(|_| bad("source", &format!("`{word}` is no event that records are made of")))
}

fn pattern(field: &str, text: Option<&str>) -> Result<Option<regex::Regex>, Failure> {
    text.map(|text| filter::pattern(text).map_err(|error| bad(field, &error.to_string()))).transpose()
}

fn number(field: &str, number: Option<Seq>) -> Result<Option<Seq>, Failure> {
    match number {
        Some(number) if number > LARGEST => Err(bad(field, "is larger than any number that was given")),
        number => Ok(number),
    }
}

fn finite(field: &str, time: Option<f64>) -> Result<Option<f64>, Failure> {
    match time {
        Some(time) if !time.is_finite() => Err(bad(field, "must be milliseconds since 1970")),
        time => Ok(time),
    }
}

fn bad(field: &str, why: &str) -> Failure {
    Failure::bad_request(&format!("{field}: {why}"), "see /api/openapi.json for what may be asked")
}
