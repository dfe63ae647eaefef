//! The BiDi events that the recorder reads, reduced to what it keeps.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use serde_json::Value;

use crate::recorder::events::StackTrace;
use crate::recorder::record::{Headers, Timing};

/// `log.entryAdded`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LogEntry {
    /// `console`, or `javascript` for what the browser itself has to say.
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) level: String,
    pub(super) source: Source,
    /// The method of `console`.
    #[serde(default)]
    pub(super) method: String,
    #[serde(default)]
    pub(super) args: Vec<Value>,
    pub(super) text: Option<String>,
    /// Milliseconds since 1970, as all times of BiDi.
    pub(super) timestamp: f64,
    pub(super) stack_trace: Option<StackTrace>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Source {
    pub(super) context: Option<String>,
}

/// `browsingContext.navigationCommitted`, `load` and others of a context's way.
#[derive(Debug, Deserialize)]
pub(super) struct Navigation {
    pub(super) context: String,
    pub(super) navigation: Option<String>,
    #[serde(default)]
    pub(super) timestamp: f64,
    #[serde(default)]
    pub(super) url: String,
}

/// `browsingContext.userPromptOpened` and `userPromptClosed`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Prompt {
    pub(super) context: String,
    #[serde(default, rename = "type")]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) message: String,
    #[serde(default)]
    pub(super) default_value: String,
}

/// `network.beforeRequestSent`, `responseStarted`, `responseCompleted` and `fetchError`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NetworkEvent {
    /// Absent for what no tab has asked for.
    pub(super) context: Option<String>,
    /// Of a document that is gone to.
    pub(super) navigation: Option<String>,
    #[serde(default)]
    pub(super) is_blocked: bool,
    #[serde(default)]
    pub(super) redirect_count: u64,
    pub(super) request: Request,
    #[serde(default)]
    pub(super) timestamp: f64,
    pub(super) initiator: Option<Initiator>,
    pub(super) response: Option<Response>,
    #[serde(default)]
    pub(super) error_text: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Request {
    pub(super) request: String,
    pub(super) url: String,
    pub(super) method: String,
    #[serde(default)]
    pub(super) headers: Vec<Header>,
    pub(super) body_size: Option<f64>,
    pub(super) destination: Option<String>,
    pub(super) initiator_type: Option<String>,
    #[serde(default)]
    pub(super) timings: Timings,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Initiator {
    #[serde(default, rename = "type")]
    pub(super) kind: String,
    pub(super) line_number: Option<i64>,
    pub(super) column_number: Option<i64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Response {
    pub(super) status: u16,
    #[serde(default)]
    pub(super) status_text: String,
    #[serde(default)]
    pub(super) protocol: String,
    #[serde(default)]
    pub(super) from_cache: bool,
    #[serde(default)]
    pub(super) headers: Vec<Header>,
    #[serde(default)]
    pub(super) mime_type: String,
    #[serde(default)]
    pub(super) bytes_received: f64,
    pub(super) body_size: Option<f64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Header {
    name: String,
    value: Text,
}

/// A text, or bytes that are none.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", content = "value", rename_all = "lowercase")]
pub(super) enum Text {
    String(String),
    Base64(String),
}

impl Text {
    fn into_text(self) -> String {
        match self {
            Self::String(text) => text,
            Self::Base64(bytes) => {
                let bytes = BASE64_STANDARD.decode(bytes).unwrap_or_default();
                // As a browser reads a header that is no UTF-8.
                bytes.into_iter().map(char::from).collect()
            }
        }
    }
}

impl Header {
    /// The value, if it is this header's.
    pub(super) fn text_of(&self, name: &str) -> Option<&str> {
        match &self.value {
            Text::String(text) if self.name.eq_ignore_ascii_case(name) => Some(text),
            _ => None,
        }
    }
}

pub(super) fn headers(from: Vec<Header>) -> Headers {
    Headers(from.into_iter().map(|header| (header.name, header.value.into_text())).collect())
}

/// The answer to `network.getData`.
#[derive(Debug, Deserialize)]
pub(super) struct Data {
    pub(super) bytes: Text,
}

/// Times of day in milliseconds; zero for what did not happen.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Timings {
    pub(super) request_time: f64,
    dns_start: f64,
    dns_end: f64,
    connect_start: f64,
    connect_end: f64,
    tls_start: f64,
    tls_end: f64,
    request_start: f64,
    response_start: f64,
}

impl Timings {
    /// The same as CDP tells it.
    pub(super) fn since_request(&self) -> Option<Timing> {
        if self.request_time <= 0.0 || self.request_start <= 0.0 {
            return None;
        }
        let after = |time: f64| if time > 0.0 { (time - self.request_time).max(0.0) } else { -1.0 };
        let has_tls = self.tls_start > 0.0;
        Some(Timing {
            proxy_start: -1.0,
            proxy_end: -1.0,
            dns_start: after(self.dns_start),
            dns_end: after(self.dns_end),
            connect_start: after(self.connect_start),
            connect_end: after(self.connect_end),
            ssl_start: after(self.tls_start),
            ssl_end: if has_tls { after(self.tls_end) } else { -1.0 },
            worker_start: -1.0,
            worker_ready: -1.0,
            send_start: after(self.request_start),
            send_end: after(self.request_start),
            receive_headers_start: after(self.response_start),
            receive_headers_end: after(self.response_start),
        })
    }
}
