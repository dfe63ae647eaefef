//! A CDP client of a few lines, for the demo and the doctor.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use crate::failure::{Failure, exit};

const PATIENCE: Duration = Duration::from_secs(15);

pub(crate) struct TinyCdp {
    socket: WebSocketStream<TcpStream>,
    last_id: i64,
}

impl TinyCdp {
    pub(crate) async fn connect(url: &str) -> Result<Self, Failure> {
        let rest = url.strip_prefix("ws://").unwrap_or(url);
        let authority = rest.split('/').next().unwrap_or(rest);
        let stream = TcpStream::connect(authority).await.map_err(|error| failed(url, &error))?;
        let (socket, _) =
            tokio_tungstenite::client_async(url, stream).await.map_err(|error| failed(url, &error))?;
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
