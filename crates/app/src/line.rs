//! A line to the hub: one connection, for one request or for many in order.

use std::time::Duration;

use bowline_doors::ops::SESSION;
use bowline_hub::statefile::State;
use hyper::Request;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::api::{PATIENCE, data_of, lost, mute, strange};
use crate::failure::Failure;
use crate::http::Client;

pub(crate) struct Line {
    authority: String,
    token: String,
    client: Option<Client>,
}

impl Line {
    pub(crate) fn to(state: &State) -> Self {
        Self {
            authority: format!("127.0.0.1:{}", state.port),
            token: format!("Bearer {}", state.token),
            client: None,
        }
    }

    /// Asks for something in a session's name. `within` is how long the work itself may take.
    pub(crate) async fn post<T: DeserializeOwned>(
        &mut self,
        path: &str,
        session: Option<&str>,
        body: &impl Serialize,
        within: Option<Duration>,
    ) -> Result<T, Failure> {
        let mut request = Request::post(path)
            .header("Authorization", &self.token)
            .header("Content-Type", "application/json");
        if let Some(session) = session {
            request = request.header(SESSION, session.as_bytes());
        }
        let body = serde_json::to_vec(body).map_err(strange)?;
        let patience = PATIENCE + within.unwrap_or_default();
        let exchange = async {
            let client = self.client().await?;
            client.exchange(request, body).await.map_err(lost)
        };
        match tokio::time::timeout(patience, exchange).await {
            Ok(answer) => data_of(&answer?.1),
            Err(_) => {
                // An answer that comes yet would be taken for that of the next request.
                self.client = None;
                Err(mute())
            }
        }
    }

    /// The connection; another one if the hub has closed it since.
    async fn client(&mut self) -> Result<&mut Client, Failure> {
        let open = match self.client.take() {
            Some(mut client) => client.is_open().await.then_some(client),
            None => None,
        };
        let client = match open {
            Some(client) => client,
            None => Client::connect(&self.authority).await.map_err(lost)?,
        };
        Ok(self.client.insert(client))
    }
}
