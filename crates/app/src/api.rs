//! Our side of the control door.

use std::io;
use std::time::Duration;

use bowline_doors::control::{BrowserStatus, HubStatus, LaunchRequest, StopRequest};
use bowline_doors::history::model::{ConnectRequest, Connected};
use bowline_hub::statefile::State;
use hyper::http::request::Builder;
use hyper::{Method, Request};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::failure::{Details, Failure, exit};
use crate::http;

/// Longer than any launch may be configured to take on a sane machine, and than a person thinks over
/// Chrome's consent.
pub(crate) const PATIENCE: Duration = Duration::from_secs(180);

/// The code of a failure to reach the hub.
pub(crate) const NO_HUB: &str = "no_hub";

pub(crate) struct Api<'a> {
    state: &'a State,
}

#[derive(Deserialize)]
struct Answer {
    data: Option<Box<RawValue>>,
    error: Option<Reported>,
}

#[derive(Deserialize)]
struct Reported {
    code: String,
    message: String,
    hint: Option<String>,
    #[serde(flatten)]
    details: Details,
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

    /// Makes a browser that somebody else started known to the hub.
    pub(crate) async fn connect(&self, request: &ConnectRequest) -> Result<Connected, Failure> {
        self.ask(Method::POST, "/api/connect", request).await
    }

    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        self.ask(Method::GET, path, &()).await
    }

    pub(crate) async fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        self.ask(Method::DELETE, path, &()).await
    }

    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, Failure> {
        self.ask(Method::POST, path, body).await
    }

    /// For work that may take as long as its caller says.
    pub(crate) async fn post_within<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        within: Option<Duration>,
    ) -> Result<T, Failure> {
        let patience = PATIENCE + within.unwrap_or_default();
        self.ask_within(Method::POST, path, body, patience).await
    }

    /// Opens a stream of events. One that is refused is an error, like any other answer.
    pub(crate) async fn stream(&self, path: &str) -> Result<http::Answer, Failure> {
        let request = self.request(Method::GET, path).header("Accept", "text/event-stream");
        let open = async {
            let answer = http::open(&self.authority(), request, Vec::new()).await.map_err(lost)?;
            if answer.status.is_success() {
                return Ok(answer);
            }
            match data_of::<Value>(&answer.whole().await.map_err(lost)?) {
                Err(failure) => Err(failure),
                Ok(_) => Err(unreachable("its answer is strange")),
            }
        };
        tokio::time::timeout(PATIENCE, open).await.unwrap_or_else(|_| Err(mute()))
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, Failure> {
        self.ask_within(method, path, body, PATIENCE).await
    }

    async fn ask_within<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
        patience: Duration,
    ) -> Result<T, Failure> {
        let request = self.request(method, path).header("Content-Type", "application/json");
        let body = serde_json::to_vec(body).map_err(strange)?;
        let authority = self.authority();
        let exchange = tokio::time::timeout(patience, http::exchange(&authority, request, body));
        let (_, answer) = exchange.await.map_err(|_| mute())?.map_err(lost)?;
        data_of(&answer)
    }

    fn authority(&self) -> String {
        format!("127.0.0.1:{}", self.state.port)
    }

    fn request(&self, method: Method, path: &str) -> Builder {
        let token = format!("Bearer {}", self.state.token);
        Request::builder().method(method).uri(path).header("Authorization", token)
    }
}

/// What an answer holds, or the error that it reports.
pub(crate) fn data_of<T: DeserializeOwned>(answer: &[u8]) -> Result<T, Failure> {
    let answer: Answer = serde_json::from_slice(answer).map_err(strange)?;
    if let Some(Reported { code, message, hint, details }) = answer.error {
        return Err(Failure::reported_with(&code, message, hint.unwrap_or_default(), details));
    }
    let data = answer.data.as_deref().map_or("null", RawValue::get);
    serde_json::from_str(data).map_err(strange)
}

fn unreachable(why: &str) -> Failure {
    Failure::new(exit::NO_HUB, NO_HUB, format!("the hub cannot be reached: {why}"))
        .hint("run the command again; it starts a hub if none runs")
}

pub(crate) fn lost(error: io::Error) -> Failure {
    unreachable(&error.to_string())
}

pub(crate) fn strange(error: serde_json::Error) -> Failure {
    unreachable(&format!("its answer is strange: {error}"))
}

pub(crate) fn mute() -> Failure {
    unreachable("it did not answer in time")
}
