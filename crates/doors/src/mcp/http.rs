//! MCP over streamable HTTP: `/mcp` in the hub, with the same tools as over stdio.
//!
//! Before anything here runs, the guard has looked at Host and Origin, and the token was asked for.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header;
use axum::http::request::Parts;
use axum::middleware::{self, Next};
use axum::response::Response;
use futures_util::future::BoxFuture;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;

use super::caller::{Call, Caller, Newcomer};
use super::remembered::Remembered;
use super::server::{Options, Server};
use super::sets::Sets;
use crate::agent::{Arrival, Desk, Visitor, Work, paths};
use crate::guard;
use crate::problem::Problem;
use crate::route::Route;

/// A session of which nothing is heard for so long is dropped.
const IDLE: Duration = Duration::from_secs(30 * 60);

pub(crate) fn routes(desk: Arc<Desk>, port: u16) -> Router<()> {
    let hub = desk.hub().clone();
    let origins = ["127.0.0.1", "localhost", "[::1]"].map(|host| format!("http://{host}:{port}"));
    let config = StreamableHttpServerConfig::default()
        .with_allowed_origins(origins)
        .enforce_origin_validation()
        .with_max_request_body_bytes(desk.max_message())
        .with_cancellation_token(hub.shutdown_token().child_token());
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(IDLE);
    let version = hub.version();
    let of_desk = desk.clone();
    let remembered = Arc::<Remembered>::default();
    let make = move || {
        let local = Local::new(of_desk.clone(), remembered.clone());
        Ok(Server::new(local, version, Options::default()))
    };
    let service = StreamableHttpService::new(make, Arc::new(sessions), config);
    let mut router = Router::new();
    for path in paths("/mcp") {
        router = router.route_service(&path, service.clone());
    }
    router.layer(middleware::from_fn_with_state(desk, authorize))
}

async fn authorize(State(desk): State<Arc<Desk>>, mut request: Request, next: Next) -> Response {
    let hub = desk.hub();
    hub.touch();
    let route = Route::parse(request.uri().path());
    if guard::is_authorized(hub.token(), route.token, request.headers(), request.uri().query()) {
        forget_token(&mut request);
        return next.run(request).await;
    }
    guard::unauthorized(
        "This door wants the token, as `Authorization: Bearer TOKEN` or in the path: /t/TOKEN/mcp.",
    )
}

/// Takes the token off a request that was let in: what serves it logs requests as they are.
fn forget_token(request: &mut Request) {
    let route = Route::parse(request.uri().path());
    let browser = route.browser.map(|name| format!("/b/{name}")).unwrap_or_default();
    let query = request.uri().query().unwrap_or_default();
    let query: Vec<&str> =
        query.split('&').filter(|pair| !pair.is_empty() && !pair.starts_with("token=")).collect();
    let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
    if let Ok(uri) = format!("{browser}{}{query}", route.rest).parse() {
        *request.uri_mut() = uri;
    }
    // axum keeps the address that it has matched, too.
    request.extensions_mut().clear();
    request.headers_mut().remove(header::AUTHORIZATION);
    request.headers_mut().remove(header::SEC_WEBSOCKET_PROTOCOL);
}

/// What a request says of how its session is to be set up: in its query, or in headers.
pub(super) fn options(parts: &Parts, unless_said: &Options) -> Options {
    let query = parts.uri.query().unwrap_or_default();
    let word = |name: &str, header: &str| {
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let asked = pairs
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value.replace("%2C", ",").replace("%2c", ","));
        asked.or_else(|| parts.headers.get(header).and_then(|value| value.to_str().ok()).map(str::to_owned))
    };
    let sets = word("sets", "x-bowline-sets").and_then(|sets| sets.parse().ok());
    let in_path = Route::parse(parts.uri.path()).browser.map(str::to_owned);
    let allows = |value: String| matches!(value.as_str(), "1" | "true" | "yes");
    Options {
        sets: sets.unwrap_or_else(|| unless_said.sets.clone()),
        browser: word("browser", "x-bowline-browser").or(in_path).or_else(|| unless_said.browser.clone()),
        session: word("session", "x-bowline-session").or_else(|| unless_said.session.clone()),
        allow_lifecycle: word("allow_lifecycle", "x-bowline-allow-lifecycle")
            .map_or(unless_said.allow_lifecycle, allows),
    }
}

/// Calls the ops of this very process.
struct Local {
    desk: Arc<Desk>,
    visitor: OnceLock<Arc<Visitor>>,
    remembered: Arc<Remembered>,
    /// Its name, if it has no session.
    passer_by: OnceLock<String>,
}

impl Local {
    fn new(desk: Arc<Desk>, remembered: Arc<Remembered>) -> Self {
        Self { desk, visitor: OnceLock::new(), remembered, passer_by: OnceLock::new() }
    }
}

impl Caller for Local {
    fn arrive(&self, newcomer: Newcomer) {
        let name = match &newcomer.session {
            Some(name) => name.clone(),
            // One that has no session is known by its name alone.
            None if !newcomer.is_connected => format!("mcp-{}", newcomer.client),
            None => newcomer.agent_name(),
        };
        let arrival = Arrival { name: &name, browser: newcomer.browser, is_connected: newcomer.is_connected };
        let visitor = Visitor::arrive(&self.desk, arrival);
        // Nobody knows where its host is: its files are the hub's own directory.
        visitor.confine(Vec::new());
        if !newcomer.is_connected {
            let _ = self.passer_by.set(visitor.name().as_str().to_owned());
        }
        let _ = self.visitor.set(visitor);
    }

    fn remembered(&self) -> Sets {
        self.passer_by.get().map(|name| self.remembered.of(name)).unwrap_or_default()
    }

    fn remember(&self, sets: &Sets) {
        if let Some(name) = self.passer_by.get() {
            self.remembered.add(name, sets);
        }
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Result<Value, Problem>> {
        Box::pin(async move {
            let Some(visitor) = self.visitor.get() else {
                return Err(Problem::new("bad_request", "there was no `initialize`", "begin with it"));
            };
            let Call { action, payload, browser, cancel, progress, .. } = call;
            visitor.work(Work { action, payload, browser, cancel, progress }).await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(uri: &str, headers: &[(&'static str, &str)]) -> Parts {
        let mut request = Request::builder().uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut request = request.body(axum::body::Body::empty()).unwrap();
        forget_token(&mut request);
        request.into_parts().0
    }

    #[test]
    fn a_session_is_set_up_by_its_address_or_by_headers() {
        let parts = asked("/t/SECRET/b/work/mcp?sets=network%2Cstorage&session=nightly&token=SECRET", &[]);
        let options = options(&parts, &Options::default());
        assert_eq!(options.sets.to_string(), "core, network, storage");
        assert_eq!((options.browser.as_deref(), options.session.as_deref()), (Some("work"), Some("nightly")));
        assert!(!options.allow_lifecycle);
        let headers = [("x-bowline-sets", "all"), ("x-bowline-allow-lifecycle", "1")];
        let options = super::options(&asked("/mcp", &headers), &Options::default());
        assert!(options.allow_lifecycle && options.sets == "all".parse().unwrap());
    }

    #[test]
    fn the_token_is_forgotten_once_it_was_seen() {
        let headers =
            [("authorization", "Bearer SECRET"), ("sec-websocket-protocol", "bowline.token.SECRET")];
        for uri in ["/t/SECRET/mcp?token=SECRET", "/t/SECRET/b/work/mcp?a=b&token=SECRET&c=d", "/mcp"] {
            assert!(!format!("{:?}", asked(uri, &headers)).contains("SECRET"), "{uri}");
        }
        assert_eq!(asked("/t/SECRET/b/work/mcp?a=b&token=SECRET&c=d", &[]).uri, "/b/work/mcp?a=b&c=d");
    }
}
