//! Answers that the hub writes itself, in the shape and key order of Chromium's.

use serde::Serialize;

/// Chromium's code for a session that is not, or no longer, there.
pub const SESSION_NOT_FOUND: i32 = -32001;
/// Chromium's code for a command that failed on the server's side.
pub const SERVER_ERROR: i32 = -32000;
pub const INVALID_REQUEST: i32 = -32600;
pub const PARSE_ERROR: i32 = -32700;

pub const SESSION_NOT_FOUND_TEXT: &str = "Session with given id not found.";

#[derive(Serialize)]
struct ErrorReply<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<i32>,
    error: ErrorBody<'a>,
    #[serde(rename = "sessionId", skip_serializing_if = "Option::is_none")]
    session_id: Option<&'a str>,
}

#[derive(Serialize)]
struct ErrorBody<'a> {
    code: i32,
    message: &'a str,
}

/// An error answer; `id` is absent when the message was too broken to have one.
pub fn error(id: Option<i32>, session_id: Option<&str>, code: i32, message: &str) -> String {
    to_text(&ErrorReply { id, error: ErrorBody { code, message }, session_id })
}

/// An event of the client's own root session.
pub fn event(method: &str, params: &impl Serialize) -> String {
    #[derive(Serialize)]
    struct Event<'a, P> {
        method: &'a str,
        params: &'a P,
    }
    to_text(&Event { method, params })
}

/// A command of the hub itself.
pub fn command(id: i32, method: &str, params: &impl Serialize) -> String {
    #[derive(Serialize)]
    struct Call<'a, P> {
        id: i32,
        method: &'a str,
        params: &'a P,
    }
    to_text(&Call { id, method, params })
}

fn to_text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("plain structs with string keys always serialize")
}
