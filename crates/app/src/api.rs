//! Our side of the control door.

use std::time::Duration;

use bowline_doors::control::{BrowserStatus, HubStatus, LaunchRequest, StopRequest};
use bowline_hub::statefile::State;
use hyper::{Method, Request};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::failure::{Failure, exit};
use crate::http;

/// Longer than any launch may be configured to take on a sane machine, and than a person thinks over
/// Chrome's consent.
const PATIENCE: Duration = Duration::from_secs(180);

pub(crate) struct Api<'a> {
    state: &'a State,
}

#[derive(Deserialize)]
struct Answer {
    data: Option<Value>,
    error: Option<Reported>,
}

#[derive(Deserialize)]
struct Reported {
    code: String,
    message: String,
    hint: Option<String>,
}

impl<'a> Api<'a> {
    pub(crate) fn new(state: &'a State) -> Self {
        Self { state }
    }

    pub(crate) async fn status(&self) -> Result<HubStatus, Failure> {
        self.ask(Method::GET, "/api/status", &()).await
    }

    pub(crate) async fn define(&self, name: &str) -> Result<BrowserStatus, Failure> {
        self.ask(Method::POST, &format!("/api/browsers/{name}/define"), &()).await
    }

    pub(crate) async fn launch(&self, name: &str, request: &LaunchRequest) -> Result<BrowserStatus, Failure> {
        self.ask(Method::POST, &format!("/api/browsers/{name}/launch"), request).await
    }

    pub(crate) async fn stop(&self, name: &str, forget: bool) -> Result<BrowserStatus, Failure> {
        self.ask(Method::POST, &format!("/api/browsers/{name}/stop"), &StopRequest { forget }).await
    }

    pub(crate) async fn shutdown(&self) -> Result<(), Failure> {
        let _: Value = self.ask(Method::POST, "/api/shutdown", &()).await?;
        Ok(())
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, Failure> {
        let answer = tokio::time::timeout(PATIENCE, self.exchange(method, path, body)).await;
        let answer = answer.unwrap_or_else(|_| Err(unreachable("it did not answer in time")))?;
        match (answer.data, answer.error) {
            (_, Some(error)) => {
                Err(Failure::reported(&error.code, error.message, error.hint.unwrap_or_default()))
            }
            (data, None) => serde_json::from_value(data.unwrap_or_default())
                .map_err(|error| unreachable(&format!("its answer is strange: {error}"))),
        }
    }

    async fn exchange(&self, method: Method, path: &str, body: &impl Serialize) -> Result<Answer, Failure> {
        let fail = |error: &dyn std::fmt::Display| unreachable(&error.to_string());
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("Authorization", format!("Bearer {}", self.state.token))
            .header("Content-Type", "application/json");
        let body = serde_json::to_vec(body).map_err(|error| fail(&error))?;
        let (_, answer) =
            http::exchange(self.state.port, request, body).await.map_err(|error| fail(&error))?;
        serde_json::from_slice(&answer).map_err(|error| fail(&error))
    }
}

fn unreachable(why: &str) -> Failure {
    Failure::new(exit::NO_HUB, "no_hub", format!("the hub cannot be reached: {why}"))
        .hint("run the command again; it starts a hub if none runs")
}
