//! What the recorder remembers: one console record or one network record, as the doors show it.
//!
//! The two types are also what is stored on disk; a field that is added later needs a default.

use bowline_wire::SessionId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A number that never repeats, not even after a restart. Records get one when they are made and one
/// more each time they change, so that whoever follows can ask for what came after the last one seen.
pub type Seq = u64;

/// How bad a console record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Debug,
    Log,
    Info,
    Warn,
    Error,
}

/// Which event a console record was made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub enum Source {
    #[serde(rename = "Runtime.consoleAPICalled")]
    Console,
    #[serde(rename = "Runtime.exceptionThrown")]
    Exception,
    #[serde(rename = "Log.entryAdded")]
    Log,
    /// A dialog that nobody handled, and that the hub dismissed.
    #[serde(rename = "Page.javascriptDialogOpening")]
    Dialog,
    #[serde(rename = "Inspector.targetCrashed")]
    Crash,
}

/// One line of the console.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConsoleRecord {
    pub seq: Seq,
    /// The tab's target id.
    pub tab: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<String>,
    /// The worker or cross-origin frame that it came from, if it was not the page itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// How many times the tab had navigated.
    pub navigation: u32,
    /// Milliseconds since 1970.
    pub timestamp: f64,
    /// The level.
    #[serde(rename = "type")]
    pub level: Level,
    pub source: Source,
    /// The console's method, such as `table` or `assert`, where it is not the level's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api: Option<String>,
    /// The whole line, as DevTools would show it.
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<Argument>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack_trace: Vec<Location>,
    /// Bytes that were cut off the end of `text`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub truncated: usize,
    /// Whether it happened before this client first looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub historical: Option<bool>,
}

/// A part of a tab that speaks for itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Origin {
    /// `iframe`, `worker`, `shared_worker` or `service_worker`.
    #[serde(rename = "type")]
    pub kind: String,
    pub url: String,
}

/// One argument of a console call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Argument {
    /// JavaScript's type: `string`, `number`, `object`, ...
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subtype: Option<String>,
    /// The value itself, for what JSON can hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<serde_json::Value>,
    /// As DevTools would show it.
    pub text: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Location {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub function_name: String,
    pub url: String,
    /// Counted from zero, as CDP does.
    pub line_number: i64,
    pub column_number: i64,
}

/// One request, or one hop of a request that was redirected.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NetworkRecord {
    pub seq: Seq,
    /// The number of its last change; the same as `seq` if there was none.
    pub changed: Seq,
    /// The browser's name for it. All hops of a redirected request share it.
    pub request_id: String,
    /// The tab's target id.
    pub tab: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame: Option<String>,
    /// The worker or cross-origin frame that sent it, if it was not the page itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// How many times the tab had navigated. A document counts to the navigation that it begins.
    pub navigation: u32,
    /// When it was sent, in milliseconds since 1970.
    pub timestamp: f64,
    pub url: String,
    pub method: String,
    /// `Document`, `Script`, `Fetch`, `WebSocket`, ...
    #[serde(rename = "type")]
    pub resource_type: String,
    pub state: RequestState,
    /// Whether nothing more will happen to it.
    pub loading_finished: bool,
    pub headers: Headers,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub post_data: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub status_text: String,
    #[serde(skip_serializing_if = "Headers::is_empty")]
    pub response_headers: Headers,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub mime_type: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub protocol: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote_address: Option<String>,
    /// `memory`, `disk` or `prefetch`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_cache: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub from_service_worker: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initiator: Option<Initiator>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub priority: String,
    /// Where a redirect led to; the next hop is a record of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirected_to: Option<String>,
    /// The record of the hop before this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirected_from: Option<Seq>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timing: Option<Timing>,
    /// From sending to the end, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<f64>,
    /// Bytes that came over the network, headers included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer_size: Option<u64>,
    /// Bytes of the body after decompression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<RequestFailure>,
    /// Frames of a WebSocket, events of an event stream.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<StreamMessage>,
    /// Messages that were dropped because there were too many.
    #[serde(skip_serializing_if = "is_zero_u64")]
    pub messages_dropped: u64,
    /// The session that can be asked for the body.
    #[serde(skip)]
    #[schema(ignore)]
    pub session: Option<SessionId>,
    /// Only where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_body: Option<Body>,
    /// Whether it happened before this client first looked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub historical: Option<bool>,
}

impl NetworkRecord {
    /// Whether more of it is to come; streams that stay open do not count.
    pub fn is_under_way(&self) -> bool {
        let is_stream = matches!(self.resource_type.as_str(), "WebSocket" | "EventSource");
        !is_stream && matches!(self.state, RequestState::Pending | RequestState::Receiving)
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum RequestState {
    /// Sent, no answer yet.
    #[default]
    Pending,
    /// The head of the answer has come; or a WebSocket or event stream is open.
    Receiving,
    Finished,
    Failed,
}

/// Header names and values in the order in which they came.
#[derive(Debug, Clone, Default, PartialEq, Eq, ToSchema)]
#[schema(value_type = std::collections::BTreeMap<String, String>)]
pub struct Headers(pub Vec<(String, String)>);

impl Headers {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(header, _)| header.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl Serialize for Headers {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Headers {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> serde::de::Visitor<'de> for InOrder {
            type Value = Headers;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object of strings")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Headers, A::Error> {
                let mut headers = Vec::with_capacity(map.size_hint().unwrap_or(16));
                while let Some(pair) = map.next_entry()? {
                    headers.push(pair);
                }
                Ok(Headers(headers))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

/// Why a request was made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Initiator {
    /// `parser`, `script`, `preload`, `preflight`, `other`, ...
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_number: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column_number: Option<i64>,
}

/// Milliseconds after the request was sent; -1 for what did not happen.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Timing {
    pub proxy_start: f64,
    pub proxy_end: f64,
    pub dns_start: f64,
    pub dns_end: f64,
    pub connect_start: f64,
    pub connect_end: f64,
    pub ssl_start: f64,
    pub ssl_end: f64,
    pub worker_start: f64,
    pub worker_ready: f64,
    pub send_start: f64,
    pub send_end: f64,
    pub receive_headers_start: f64,
    pub receive_headers_end: f64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestFailure {
    /// Such as `net::ERR_CONNECTION_REFUSED`.
    pub error_text: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub canceled: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cors_error: Option<String>,
}

/// A frame of a WebSocket or an event of an event stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StreamMessage {
    /// Milliseconds since 1970.
    pub timestamp: f64,
    pub direction: Direction,
    /// `text`, `binary` (then `data` is base64), `close`, `error`, or the name of a server-sent event.
    pub kind: String,
    pub data: String,
    /// Bytes that were cut off the end of `data`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub truncated: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    Sent,
    Received,
}

/// A response's body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Body {
    pub body: String,
    /// Whether `body` is base64 of bytes that are no text.
    pub base64_encoded: bool,
    /// Bytes of the whole body.
    pub size: u64,
    /// Whether it was longer than the limit and `body` is only its beginning.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

fn is_zero_u64(count: &u64) -> bool {
    *count == 0
}
