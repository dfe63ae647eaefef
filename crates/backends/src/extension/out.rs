//! What the virtual browser has to say: to clients in the words of Chromium, to the extension in those
//! of the relay.

use std::fmt::Write;

use bytes::Bytes;
use serde_json::Value;

/// The session of the link itself: commands of the hub have no session id.
pub(super) const LINK: &str = "";

#[derive(Default)]
pub(super) struct Out {
    pub(super) to_clients: Vec<Bytes>,
    pub(super) to_extension: Vec<Bytes>,
}

impl Out {
    pub(super) fn reply(&mut self, session: &str, id: i32, result: &str) {
        let mut text = String::with_capacity(result.len() + session.len() + 48);
        let _ = write!(text, "{{\"id\":{id},\"result\":{result}");
        self.end(text, session);
    }

    pub(super) fn reply_value(&mut self, session: &str, id: i32, result: &Value) {
        self.reply(session, id, &result.to_string());
    }

    /// `error` is the text of a JSON object with code and message.
    pub(super) fn fail_raw(&mut self, session: &str, id: i32, error: &str) {
        let mut text = String::with_capacity(error.len() + session.len() + 48);
        let _ = write!(text, "{{\"id\":{id},\"error\":{error}");
        self.end(text, session);
    }

    pub(super) fn fail(&mut self, session: &str, id: i32, code: i32, message: &str) {
        let error = serde_json::json!({"code": code, "message": message});
        self.fail_raw(session, id, &error.to_string());
    }

    pub(super) fn event(&mut self, session: &str, method: &str, params: &str) {
        let mut text = String::with_capacity(params.len() + method.len() + session.len() + 48);
        let _ = write!(text, "{{\"method\":\"{method}\",\"params\":{params}");
        self.end(text, session);
    }

    pub(super) fn event_value(&mut self, session: &str, method: &str, params: &Value) {
        self.event(session, method, &params.to_string());
    }

    fn end(&mut self, mut text: String, session: &str) {
        if session != LINK {
            let _ = write!(text, ",\"sessionId\":\"{session}\"");
        }
        text.push('}');
        self.to_clients.push(Bytes::from(text));
    }

    /// A command to the extension; without an id nothing is answered.
    pub(super) fn ask(&mut self, id: Option<u64>, method: &str, params: &str) {
        let text = match id {
            Some(id) => format!("{{\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}"),
            None => format!("{{\"method\":\"{method}\",\"params\":{params}}}"),
        };
        self.to_extension.push(Bytes::from(text));
    }

    pub(super) fn cdp(&mut self, id: u64, tab: i64, child: Option<&str>, method: &str, params: &str) {
        let mut text = String::with_capacity(params.len() + method.len() + 128);
        let _ = write!(text, "{{\"id\":{id},\"method\":\"cdpCommand\",\"params\":{{\"tabId\":{tab}");
        if let Some(child) = child {
            let _ = write!(text, ",\"childSessionId\":\"{child}\"");
        }
        let _ = write!(text, ",\"method\":{},\"params\":{params}}}}}", Value::from(method));
        self.to_extension.push(Bytes::from(text));
    }
}
