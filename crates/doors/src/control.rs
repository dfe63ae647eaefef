//! The control door: what our own commands ask of the hub. Every answer is
//! `{success, data | error{code, message, hint}, timestamp}`.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use axum::{Json, Router};
use bowline_hub::backend::{Protocol, Spec};
use bowline_hub::browser::Life;
use bowline_hub::hub::HubError;
use bowline_hub::recorder::Durability;
use bowline_hub::registry::DEFAULT;
use bowline_hub::router::CloseReason;
use bowline_hub::{Browser, Hub};
use futures_util::{SinkExt, StreamExt};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;
use utoipa::{OpenApi, ToSchema};

use crate::extension;
use crate::extract::{Body, Segments};
use crate::failure::Failure;
use crate::guard;
use crate::history;
use crate::limit;
use crate::listeners::Listeners;
use crate::openapi;
use crate::ops;
use crate::pump;
use crate::upgrade::{self, Handshake};

#[derive(Clone)]
pub(crate) struct Control {
    pub(crate) hub: Arc<Hub>,
    pub(crate) listeners: Arc<Listeners>,
}

#[derive(OpenApi)]
#[openapi(paths(status))]
pub(crate) struct Described;

pub(crate) fn routes(hub: Arc<Hub>, listeners: Arc<Listeners>) -> Router<()> {
    let limiter = limit::limiter(listeners.rate_limit());
    let control = Control { hub, listeners };
    let api = Router::new()
        .route("/status", get(status))
        .route("/openapi.json", get(describe))
        .route("/browsers/{name}/define", post(define))
        .route("/browsers/{name}/launch", post(launch))
        .route("/browsers/{name}/stop", post(stop))
        .route("/shutdown", post(shutdown))
        .route("/hold", get(hold))
        .merge(extension::routes())
        .merge(history::routes())
        .merge(ops::routes())
        .fallback(no_such_command)
        .method_not_allowed_fallback(async || {
            let hint = "see /api/openapi.json and docs/REST.md";
            Failure::new(StatusCode::METHOD_NOT_ALLOWED, "bad_method", "this path has no such method", hint)
        });
    Router::new()
        .nest("/api", api)
        // Which nesting does not take in.
        .route("/api/", any(no_such_command))
        // Bodies have a limit of their own.
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(limiter, limit::check))
        .layer(middleware::from_fn_with_state(control.clone(), authorize))
        .with_state(control)
}

async fn no_such_command() -> Failure {
    Failure::new(StatusCode::NOT_FOUND, "not_found", "there is no such command", "see docs/REST.md")
}

pub(crate) async fn authorize(
    State(control): State<Control>,
    uri: Uri,
    headers: HeaderMap,
    request: Request,
    next: Next,
) -> Response {
    control.hub.touch();
    if guard::is_authorized(control.hub.token(), None, &headers, uri.query()) {
        if is_form(&headers) {
            let (message, hint) = ("a form is no command", "send JSON with Content-Type: application/json");
            return Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "bad_request", message, hint)
                .into_response();
        }
        return next.run(request).await;
    }
    let hint = "send it as `Authorization: Bearer TOKEN`; the state file has it";
    Failure::new(StatusCode::UNAUTHORIZED, "unauthorized", "the token is missing or wrong", hint)
        .into_response()
}

/// Whether this is what a web page may send without asking, also where a body would not matter.
fn is_form(headers: &HeaderMap) -> bool {
    let content = headers.get(header::CONTENT_TYPE).map(|value| value.as_bytes().to_ascii_lowercase());
    let forms = [&b"application/x-www-form-urlencoded"[..], b"multipart/form-data", b"text/plain"];
    content.is_some_and(|content| forms.iter().any(|form| content.starts_with(form)))
}

/// Everything about the hub, as `bowline status` shows it.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct HubStatus {
    pub port: u16,
    pub pid: u32,
    pub version: String,
    pub browsers: Vec<BrowserStatus>,
    pub recorder: RecorderStatus,
}

/// How the recorder is.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct RecorderStatus {
    /// `disk`, `memory` (as configured) or `degraded` (the disk does not take it).
    pub kept_in: String,
    /// Why it is degraded.
    pub reason: Option<String>,
    /// Bytes of memory.
    pub bytes: usize,
    pub open_tabs: usize,
    pub closed_tabs: usize,
    /// Records that were lost when the last hub was killed.
    pub lost: u64,
    pub connections: usize,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct BrowserStatus {
    pub name: String,
    #[schema(value_type = String)]
    pub state: Life,
    pub backend: String,
    pub port: u16,
    /// What a client connects to, with the token in its path where one is needed.
    pub endpoint: String,
    /// For a client of WebDriver BiDi where `protocol` is `bidi`, else for one of CDP.
    pub ws_endpoint: String,
    #[schema(value_type = String)]
    pub protocol: Protocol,
    pub needs_token: bool,
    pub pid: Option<u32>,
    pub product: Option<String>,
    pub clients: usize,
    pub starts: u64,
    /// Seconds since the state was entered.
    pub seconds: u64,
    pub reason: Option<String>,
    #[schema(value_type = Object)]
    pub spec: Spec,
}

fn status_of(hub: &Hub, browser: &Browser) -> BrowserStatus {
    let snapshot = browser.snapshot();
    let port = hub.port_of(browser.name());
    let needs_token = hub.needs_token(browser);
    let protocol = browser.speaks();
    let token = needs_token.then(|| hub.token().as_str());
    let (endpoint, ws_endpoint) = endpoints(port, token, browser.id(), protocol);
    BrowserStatus {
        name: browser.name().to_owned(),
        state: snapshot.life,
        backend: snapshot.spec.backend().to_owned(),
        port,
        endpoint,
        ws_endpoint,
        protocol,
        needs_token,
        pid: snapshot.pid,
        product: snapshot.version.as_ref().map(|version| version.product.clone()),
        clients: snapshot.clients(),
        starts: snapshot.starts,
        seconds: snapshot.since.elapsed().map_or(0, |elapsed| elapsed.as_secs()),
        reason: snapshot.reason,
        spec: snapshot.spec,
    }
}

/// The URLs of a browser: for HTTP discovery and for a WebSocket.
pub fn endpoints(port: u16, token: Option<&str>, id: &str, protocol: Protocol) -> (String, String) {
    let path = token.map(|token| format!("/t/{token}")).unwrap_or_default();
    let socket = match protocol {
        Protocol::Cdp => format!("/devtools/browser/{id}"),
        Protocol::Bidi => "/session".to_owned(),
    };
    (format!("http://127.0.0.1:{port}{path}"), format!("ws://127.0.0.1:{port}{path}{socket}"))
}

fn recorder_status(hub: &Hub) -> RecorderStatus {
    let recorder = hub.recorder();
    let (kept_in, reason) = match recorder.durability() {
        Durability::Disk => ("disk", None),
        Durability::Memory => ("memory", None),
        Durability::Degraded(reason) => ("degraded", Some(reason)),
    };
    let store = recorder.store();
    RecorderStatus {
        kept_in: kept_in.to_owned(),
        reason,
        bytes: store.bytes(),
        open_tabs: store.tabs().filter(|tab| tab.is_open()).count(),
        closed_tabs: store.tabs().filter(|tab| !tab.is_open()).count(),
        lost: recorder.lost(),
        connections: hub.connections().all().len(),
    }
}

async fn describe() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], openapi::document()).into_response()
}

/// Everything about the hub and its browsers.
#[utoipa::path(get, path = "/api/status", tag = "hub",
    responses((status = 200, body = inline(crate::openapi::Success<HubStatus>)), crate::openapi::Failures))]
async fn status(State(control): State<Control>) -> Response {
    let hub = &control.hub;
    let browsers = hub.browsers().iter().map(|browser| status_of(hub, browser)).collect();
    success(HubStatus {
        port: hub.port(),
        pid: std::process::id(),
        version: hub.version().to_owned(),
        browsers,
        recorder: recorder_status(hub),
    })
}

/// What `launch`, `attach` and `restart` send.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LaunchRequest {
    /// Absent keeps what the name stood for.
    pub spec: Option<Spec>,
    /// Replace a browser that runs with the same spec too.
    pub again: bool,
}

/// Makes a name known and listens for it, so that its first client can launch it.
async fn define(
    State(control): State<Control>,
    Segments(name): Segments<String>,
) -> Result<Response, Failure> {
    let browser = known(&control, &name, None).await?;
    Ok(success(status_of(&control.hub, &browser)))
}

pub(crate) async fn known(
    control: &Control,
    name: &str,
    spec: Option<Spec>,
) -> Result<Arc<Browser>, Failure> {
    let browser = control.hub.define(name, spec)?;
    if !control.listeners.is_open(name) {
        control.listeners.open_any(name).await?;
    }
    Ok(browser)
}

async fn launch(
    State(control): State<Control>,
    Segments(name): Segments<String>,
    Body(request): Body<LaunchRequest>,
) -> Result<Response, Failure> {
    // In a task of its own: a caller that leaves must not leave half of it done.
    let tasks = control.listeners.tasks().clone();
    let status = tasks.spawn(async move { launch_named(&control, &name, request).await }).await;
    status.map_err(|_| Failure::from(bowline_hub::browser::hub_leaves()))?.map(success)
}

async fn launch_named(
    control: &Control,
    name: &str,
    request: LaunchRequest,
) -> Result<BrowserStatus, Failure> {
    let hub = &control.hub;
    let is_new = hub.browser(name).is_err();
    if request.spec.as_ref().is_some_and(|spec| extension::is_given_away(hub, name, spec)) {
        let message = format!("`{name}` is your own browser, which is paired");
        let hint = format!("choose another name, or give it up with `bowline extension forget {name}`");
        return Err(Failure::new(StatusCode::CONFLICT, "name_taken", &message, &hint));
    }
    let browser = known(control, name, request.spec.clone()).await?;
    let launched = browser.launch(request.spec, request.again).await;
    let others_try = matches!(browser.snapshot().life, Life::Starting | Life::Ready);
    if launched.is_err() && is_new && !others_try {
        // A name that never worked is not kept.
        forget(control, name).await?;
    } else {
        // As the browser sees it: a spec that did not work has been taken back.
        hub.remember_spec(name, &browser.snapshot().spec)?;
    }
    launched?;
    Ok(status_of(hub, &browser))
}

/// Puts a browser that somebody else runs behind a name, if it can be reached.
pub(crate) async fn attach(control: &Control, name: &str, spec: Spec) -> Result<(), Failure> {
    launch_named(control, name, LaunchRequest { spec: Some(spec), again: false }).await.map(|_| ())
}

pub(crate) async fn forget(control: &Control, name: &str) -> Result<(), HubError> {
    extension::forget_key(control, name)?;
    give_up(control, name).await
}

/// Gives up a browser's name and port, but not the key of its extension.
pub(crate) async fn give_up(control: &Control, name: &str) -> Result<(), HubError> {
    control.hub.forget(name).await?;
    control.listeners.close(name);
    Ok(())
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StopRequest {
    /// Also give up the name and its port.
    pub forget: bool,
}

async fn stop(
    State(control): State<Control>,
    Segments(name): Segments<String>,
    Body(request): Body<StopRequest>,
) -> Result<Response, Failure> {
    let browser = control.hub.browser(&name)?;
    if request.forget && name == DEFAULT {
        // Its port is the hub's own; what can be forgotten is what stands behind it.
        browser.forget_spec().await;
        control.hub.remember_spec(&name, &Spec::default())?;
    } else if request.forget {
        forget(&control, &name).await?;
    } else {
        browser.stop().await;
    }
    Ok(success(status_of(&control.hub, &browser)))
}

async fn shutdown(State(control): State<Control>) -> Response {
    control.hub.shutdown();
    success(json!({}))
}

/// A WebSocket that keeps the hub from leaving while it is open. A closing frame means that the hub
/// left on purpose; an end without one, that it died.
async fn hold(State(control): State<Control>, mut request: Request) -> Result<Response, Failure> {
    let Some(handshake) = Handshake::of(&mut request) else {
        let hint = "open it as a WebSocket";
        return Err(Failure::new(StatusCode::BAD_REQUEST, "bad_request", "/api/hold is a WebSocket", hint));
    };
    let (response, on_upgrade) = handshake.accept();
    let held = control.hub.hold();
    let shutdown = control.hub.shutdown_token();
    control.listeners.tasks().spawn(async move {
        let _held = held;
        let Ok(mut socket) = upgrade::socket(on_upgrade, 1 << 16, None).await else { return };
        loop {
            tokio::select! {
                () = shutdown.cancelled() => {
                    let reason = CloseReason::going_away("the hub is shutting down");
                    let _ = socket.send(Message::Close(Some(pump::frame(&reason)))).await;
                    return;
                }
                message = socket.next() => match message {
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                    Some(Ok(_)) => {}
                },
            }
        }
    });
    Ok(response)
}

pub(crate) fn success(data: impl Serialize) -> Response {
    // Not through a `Value`: a browser's own answer keeps its order and its numbers.
    #[derive(Serialize)]
    struct Success<T> {
        success: bool,
        data: T,
        timestamp: u64,
    }
    Json(Success { success: true, data, timestamp: now() }).into_response()
}

/// Milliseconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_millis() as u64)
}
