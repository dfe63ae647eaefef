//! A WebSocket and its frames.

use proptest::prelude::*;
use serde_json::json;

use super::{Event, Expected, Headers, START, STEP, headers, object};
use crate::stage::now;
use crate::text::{Text, any_text};

#[derive(Debug, Clone)]
pub(crate) struct Socket {
    url: String,
    headers: Headers,
    answer: Option<Headers>,
    /// Whether each was sent, and its text.
    frames: Vec<(bool, Text)>,
    is_closed: bool,
}

pub(super) fn socket() -> impl Strategy<Value = Socket> {
    let frames = prop::collection::vec((any::<bool>(), any_text(30)), 0..6);
    ("ws://[a-z]{1,8}\\.test/", headers(), prop::option::of(headers()), frames, any::<bool>()).prop_map(
        |(url, headers, answer, frames, is_closed)| {
            let frames = if answer.is_some() { frames } else { Vec::new() };
            Socket { url, headers, answer, frames, is_closed }
        },
    )
}

impl Socket {
    pub(super) fn events(&self, id: &str) -> Vec<Event> {
        let wall = now() / 1000.0;
        let created = json!({"requestId": id, "url": self.url, "initiator": {"type": "other"}});
        let asks = json!({
            "requestId": id, "timestamp": START, "wallTime": wall,
            "request": {"headers": object(&self.headers)},
        });
        let mut events = vec![
            ("Network.webSocketCreated", created.to_string()),
            ("Network.webSocketWillSendHandshakeRequest", asks.to_string()),
        ];
        if let Some(answer) = &self.answer {
            let params = json!({
                "requestId": id, "timestamp": START,
                "response": {"status": 101, "statusText": "Text", "headers": object(answer)},
            });
            events.push(("Network.webSocketHandshakeResponseReceived", params.to_string()));
        }
        for (is_sent, text) in &self.frames {
            let method =
                if *is_sent { "Network.webSocketFrameSent" } else { "Network.webSocketFrameReceived" };
            let frame = format!(r#"{{"opcode":1,"mask":false,"payloadData":{}}}"#, text.json);
            events
                .push((method, format!(r#"{{"requestId":"{id}","timestamp":{START},"response":{frame}}}"#)));
        }
        if self.is_closed {
            let params = json!({"requestId": id, "timestamp": START + STEP});
            events.push(("Network.webSocketClosed", params.to_string()));
        }
        events
    }

    pub(super) fn expected(&self) -> Expected {
        let state = match (self.is_closed, &self.answer) {
            (true, Some(_)) => "finished",
            (true, None) => "failed",
            (false, Some(_)) => "receiving",
            (false, None) => "pending",
        };
        let mut fields = vec![
            ("url", json!(self.url)),
            ("method", json!("GET")),
            ("type", json!("WebSocket")),
            ("state", json!(state)),
            ("loadingFinished", json!(self.is_closed)),
            ("headers", object(&self.headers)),
            ("status", json!(self.answer.as_ref().map(|_| 101))),
        ];
        if let Some(answer) = self.answer.as_ref().filter(|answer| !answer.is_empty()) {
            fields.push(("responseHeaders", object(answer)));
        }
        Expected { fields, duration: self.is_closed.then_some(STEP * 1000.0), body: None }
    }

    /// Direction and text of each message.
    pub(crate) fn messages(&self) -> Vec<(&'static str, &str)> {
        let direction = |is_sent: bool| if is_sent { "sent" } else { "received" };
        self.frames.iter().map(|(is_sent, text)| (direction(*is_sent), text.plain.as_str())).collect()
    }
}
