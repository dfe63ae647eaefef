//! The parameters of the CDP events that the recorder reads, reduced to what it keeps.

use serde::Deserialize;
use serde_json::Value;

use super::preview::RemoteObject;
use super::record::{Headers, Location, Timing};

/// Reads what a browser says. JavaScript's strings may hold half a character, which JSON can say and Rust
/// cannot; what is lost of such a text is that half.
pub fn read<T: for<'de> Deserialize<'de>>(params: &str) -> Result<T, serde_json::Error> {
    serde_json::from_str(params).or_else(|error| match without_lone_surrogates(params) {
        Some(mended) => serde_json::from_str(&mended),
        None => Err(error),
    })
}

/// The same JSON with U+FFFD for each escaped surrogate that has no partner; `None` if there is none.
fn without_lone_surrogates(json: &str) -> Option<String> {
    let code = |at: usize| {
        let digits = json.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let (mut mended, mut from, mut at) = (String::new(), 0, 0);
    let bytes = json.as_bytes();
    while let Some(offset) = bytes.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == b'\\')) {
        at += offset;
        match code(at) {
            Some(0xD800..=0xDBFF) if matches!(code(at + 6), Some(0xDC00..=0xDFFF)) => at += 12,
            Some(0xD800..=0xDFFF) => {
                mended += &json[from..at];
                mended += "\\ufffd";
                at += 6;
                from = at;
            }
            // Also over the second of two backslashes.
            _ => at += 2,
        }
    }
    (from > 0).then(|| mended + &json[from..])
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ConsoleApiCalled {
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) args: Vec<RemoteObject>,
    #[serde(default)]
    pub(super) execution_context_id: i64,
    /// Milliseconds since 1970.
    pub(super) timestamp: f64,
    pub(super) stack_trace: Option<StackTrace>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StackTrace {
    #[serde(default)]
    pub(super) call_frames: Vec<Location>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExceptionThrown {
    pub(super) timestamp: f64,
    pub(super) exception_details: ExceptionDetails,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExceptionDetails {
    #[serde(default)]
    pub(super) text: String,
    #[serde(default)]
    pub(super) line_number: i64,
    #[serde(default)]
    pub(super) column_number: i64,
    pub(super) url: Option<String>,
    pub(super) stack_trace: Option<StackTrace>,
    pub(super) exception: Option<RemoteObject>,
    pub(super) execution_context_id: Option<i64>,
}

#[derive(Debug, Deserialize)]
pub(super) struct EntryAdded {
    pub(super) entry: LogEntry,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LogEntry {
    pub(super) source: String,
    pub(super) level: String,
    #[serde(default)]
    pub(super) text: String,
    pub(super) timestamp: f64,
    pub(super) url: Option<String>,
    pub(super) line_number: Option<i64>,
    pub(super) stack_trace: Option<StackTrace>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ContextCreated {
    pub(super) context: Context,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Context {
    pub(super) id: i64,
    pub(super) aux_data: Option<AuxData>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AuxData {
    pub(super) frame_id: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ContextDestroyed {
    pub(super) execution_context_id: i64,
}

#[derive(Debug, Deserialize)]
pub(super) struct FrameNavigated {
    pub(super) frame: Frame,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Frame {
    #[serde(default)]
    pub(super) id: String,
    pub(super) parent_id: Option<String>,
    pub(super) loader_id: String,
    #[serde(default)]
    pub(super) url: String,
}

/// `Page.loadEventFired` and `Page.domContentEventFired`.
#[derive(Debug, Deserialize)]
pub(super) struct PageEvent {
    /// Seconds of the browser's own clock.
    pub(super) timestamp: f64,
}

/// `Fetch.requestPaused`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RequestPaused {
    pub(super) request_id: String,
    pub(super) request: PausedRequest,
}

#[derive(Debug, Deserialize)]
pub(super) struct PausedRequest {
    pub(super) url: String,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct DialogOpening {
    #[serde(default)]
    pub(super) message: String,
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(default, rename = "defaultPrompt")]
    pub(super) default_prompt: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RequestWillBeSent {
    pub(super) request_id: String,
    #[serde(default)]
    pub(super) loader_id: String,
    pub(super) request: Request,
    /// Seconds of the browser's own clock.
    pub(super) timestamp: f64,
    /// Seconds since 1970.
    pub(super) wall_time: f64,
    #[serde(default)]
    pub(super) initiator: EventInitiator,
    #[serde(default)]
    pub(super) redirect_has_extra_info: bool,
    pub(super) redirect_response: Option<Response>,
    #[serde(rename = "type", default)]
    pub(super) resource_type: String,
    pub(super) frame_id: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Request {
    pub(super) url: String,
    pub(super) url_fragment: Option<String>,
    pub(super) method: String,
    #[serde(default)]
    pub(super) headers: Headers,
    pub(super) post_data: Option<String>,
    #[serde(default)]
    pub(super) initial_priority: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EventInitiator {
    #[serde(rename = "type", default)]
    pub(super) kind: String,
    pub(super) url: Option<String>,
    pub(super) line_number: Option<f64>,
    pub(super) column_number: Option<f64>,
    pub(super) stack: Option<StackTrace>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Response {
    pub(super) status: u16,
    #[serde(default)]
    pub(super) status_text: String,
    #[serde(default)]
    pub(super) headers: Headers,
    #[serde(default)]
    pub(super) mime_type: String,
    #[serde(rename = "remoteIPAddress")]
    pub(super) remote_ip: Option<String>,
    pub(super) remote_port: Option<u32>,
    #[serde(default)]
    pub(super) from_disk_cache: bool,
    #[serde(default)]
    pub(super) from_service_worker: bool,
    #[serde(default)]
    pub(super) from_prefetch_cache: bool,
    #[serde(default)]
    pub(super) encoded_data_length: f64,
    #[serde(default)]
    pub(super) timing: Option<Timing>,
    #[serde(default)]
    pub(super) protocol: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RequestExtraInfo {
    pub(super) request_id: String,
    #[serde(default)]
    pub(super) headers: Headers,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResponseExtraInfo {
    pub(super) request_id: String,
    #[serde(default)]
    pub(super) headers: Headers,
    pub(super) status_code: u16,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResponseReceived {
    pub(super) request_id: String,
    pub(super) response: Response,
    #[serde(default)]
    pub(super) has_extra_info: bool,
    #[serde(rename = "type", default)]
    pub(super) resource_type: String,
}

/// Of all events that only say that something happened to a request.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RequestRef {
    pub(super) request_id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DataReceived {
    pub(super) request_id: String,
    pub(super) data_length: f64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LoadingFinished {
    pub(super) request_id: String,
    pub(super) timestamp: f64,
    pub(super) encoded_data_length: f64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LoadingFailed {
    pub(super) request_id: String,
    pub(super) timestamp: f64,
    #[serde(default)]
    pub(super) error_text: String,
    #[serde(default)]
    pub(super) canceled: bool,
    pub(super) blocked_reason: Option<String>,
    pub(super) cors_error_status: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WebSocketCreated {
    pub(super) request_id: String,
    pub(super) url: String,
    #[serde(default)]
    pub(super) initiator: EventInitiator,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WebSocketHandshake {
    pub(super) request_id: String,
    pub(super) timestamp: f64,
    pub(super) wall_time: f64,
    pub(super) request: WebSocketHeaders,
}

#[derive(Debug, Deserialize)]
pub(super) struct WebSocketHeaders {
    #[serde(default)]
    pub(super) headers: Headers,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WebSocketAnswer {
    pub(super) request_id: String,
    pub(super) response: WebSocketResponse,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WebSocketResponse {
    pub(super) status: u16,
    #[serde(default)]
    pub(super) status_text: String,
    #[serde(default)]
    pub(super) headers: Headers,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WebSocketFrame {
    pub(super) request_id: String,
    pub(super) timestamp: f64,
    pub(super) response: FramePayload,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FramePayload {
    pub(super) opcode: f64,
    pub(super) payload_data: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WebSocketFrameError {
    pub(super) request_id: String,
    pub(super) timestamp: f64,
    pub(super) error_message: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WebSocketClosed {
    pub(super) request_id: String,
    pub(super) timestamp: f64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EventSourceMessage {
    pub(super) request_id: String,
    pub(super) timestamp: f64,
    #[serde(default)]
    pub(super) event_name: String,
    #[serde(default)]
    pub(super) data: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_characters_are_replaced_and_whole_ones_kept() {
        let read = |json: &str| read::<String>(json).ok();
        assert_eq!(read(r#""a\ud800b""#).as_deref(), Some("a\u{fffd}b"));
        assert_eq!(read(r#""\udc00\ud83d\ude00\ud83d""#).as_deref(), Some("\u{fffd}\u{1f600}\u{fffd}"));
        assert_eq!(read(r#""\\\\ud800""#).as_deref(), Some("\\\\ud800"), "an escaped backslash is no escape");
        assert_eq!(read(r#""\ud800"#), None, "what is no JSON stays none");
    }
}
