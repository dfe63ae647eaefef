//! A CDP client of a few lines, for the demo and the doctor.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use hyper::StatusCode;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::failure::{Failure, exit};
use crate::standby::{self, Slot};

const PATIENCE: Duration = Duration::from_secs(15);

/// Why there is no connection.
enum Refused {
    /// Another client has the only place.
    Busy(Failure),
    Other(Failure),
}

pub(crate) struct TinyCdp {
    socket: WebSocketStream<TcpStream>,
    last_id: i64,
}

impl TinyCdp {
    /// Waits for its turn where one client is let in at a time.
    pub(crate) async fn connect(url: &str) -> Result<Self, Failure> {
        let deadline = Instant::now() + standby::PATIENCE;
        loop {
            match Self::connect_now(url).await {
                Err(Refused::Busy(failure)) => match Slot::of(url) {
                    Some(slot) if slot.is_free_before(deadline).await => {}
                    _ => return Err(failure),
                },
                Err(Refused::Other(failure)) => return Err(failure),
                Ok(connected) => return Ok(connected),
            }
        }
    }

    async fn connect_now(url: &str) -> Result<Self, Refused> {
        let other = |error: &dyn std::fmt::Display| Refused::Other(failed(url, error));
        let rest = url.strip_prefix("ws://").unwrap_or(url);
        let authority = rest.split('/').next().unwrap_or(rest);
        let stream = TcpStream::connect(authority).await.map_err(|error| other(&error))?;
        let (socket, _) =
            tokio_tungstenite::client_async(url, stream).await.map_err(|error| match &error {
                Error::Http(answer) if answer.status() == StatusCode::CONFLICT => {
                    Refused::Busy(failed(url, &"somebody else drives this browser"))
                }
                _ => other(&error),
            })?;
        Ok(Self { socket, last_id: 0 })
    }

    pub(crate) async fn send(
        &mut self,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> Result<i64, Failure> {
        self.last_id += 1;
        let mut message = json!({"id": self.last_id, "method": method, "params": params});
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        self.socket.send(Message::text(message.to_string())).await.map_err(|error| failed(method, &error))?;
        Ok(self.last_id)
    }

    /// The whole answer to a command that was sent.
    pub(crate) async fn answer(&mut self, id: i64) -> Result<Value, Failure> {
        let wait = async {
            while let Some(message) = self.socket.next().await {
                if let Ok(Message::Text(text)) = message
                    && let Ok(value) = serde_json::from_str::<Value>(&text)
                    && value["id"] == id
                {
                    return Ok(value);
                }
            }
            Err(failed("an answer", &"the connection ended"))
        };
        tokio::time::timeout(PATIENCE, wait)
            .await
            .unwrap_or_else(|_| Err(failed("an answer", &"none came in time")))
    }

    /// The reason in the closing frame.
    pub(crate) async fn closing_reason(&mut self) -> Option<String> {
        let wait = async {
            while let Some(Ok(message)) = self.socket.next().await {
                if let Message::Close(frame) = message {
                    return frame.map(|frame| frame.reason.to_string());
                }
            }
            None
        };
        tokio::time::timeout(PATIENCE, wait).await.ok().flatten()
    }

    pub(crate) async fn call(
        &mut self,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> Result<Value, Failure> {
        let id = self.send(session, method, params).await?;
        let mut answer = self.answer(id).await?;
        match answer.get("error") {
            Some(error) => Err(failed(method, &error["message"])),
            None => Ok(answer["result"].take()),
        }
    }

    /// The value of an expression in the page.
    pub(crate) async fn evaluate(&mut self, session: &str, expression: &str) -> Result<Value, Failure> {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let mut result = self.call(Some(session), "Runtime.evaluate", params).await?;
        Ok(result["result"]["value"].take())
    }
}

fn failed(what: &str, why: &dyn std::fmt::Display) -> Failure {
    Failure::new(exit::FAILED, "cdp", format!("{what}: {why}"))
}
