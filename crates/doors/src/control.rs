//! The control door: what our own commands ask of the hub. Every answer is
//! `{success, data | error{code, message, hint}, timestamp}`.

mod failure;

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use bowline_hub::backend::Spec;
use bowline_hub::browser::Life;
use bowline_hub::hub::HubError;
use bowline_hub::registry::DEFAULT;
use bowline_hub::router::CloseReason;
use bowline_hub::{Browser, Hub};
use futures_util::{SinkExt, StreamExt};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use crate::guard;
use crate::listeners::Listeners;
use crate::pump;
use crate::upgrade::{self, Handshake};
use failure::Failure;

#[derive(Clone)]
struct Control {
    hub: Arc<Hub>,
    listeners: Arc<Listeners>,
}

pub(crate) fn routes(hub: Arc<Hub>, listeners: Arc<Listeners>) -> Router<()> {
    let control = Control { hub, listeners };
    Router::new()
        .route("/status", get(status))
        .route("/browsers/{name}/define", post(define))
        .route("/browsers/{name}/launch", post(launch))
        .route("/browsers/{name}/stop", post(stop))
        .route("/shutdown", post(shutdown))
        .route("/hold", get(hold))
        .fallback(async || {
            Failure::new(StatusCode::NOT_FOUND, "not_found", "there is no such command", "see docs/REST.md")
        })
        .layer(middleware::from_fn_with_state(control.clone(), authorize))
        .with_state(control)
}

async fn authorize(
    State(control): State<Control>,
    uri: Uri,
    headers: HeaderMap,
    request: Request,
    next: Next,
) -> Response {
    control.hub.touch();
    if guard::is_authorized(control.hub.token(), None, &headers, uri.query()) {
        return next.run(request).await;
    }
    let hint = "send it as `Authorization: Bearer TOKEN`; the state file has it";
    Failure::new(StatusCode::UNAUTHORIZED, "unauthorized", "the token is missing or wrong", hint)
        .into_response()
}

/// Everything about the hub, as `bowline status` shows it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HubStatus {
    pub port: u16,
    pub pid: u32,
    pub version: String,
    pub browsers: Vec<BrowserStatus>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BrowserStatus {
    pub name: String,
    pub state: Life,
    pub backend: String,
    pub port: u16,
    /// What a client connects to, with the token in its path where one is needed.
    pub endpoint: String,
    pub ws_endpoint: String,
    pub needs_token: bool,
    pub pid: Option<u32>,
    pub product: Option<String>,
    pub clients: usize,
    pub starts: u64,
    /// Seconds since the state was entered.
    pub seconds: u64,
    pub reason: Option<String>,
    pub spec: Spec,
}

fn status_of(hub: &Hub, browser: &Browser) -> BrowserStatus {
    let snapshot = browser.snapshot();
    let port = hub.port_of(browser.name());
    let needs_token = hub.needs_token(browser);
    let (endpoint, ws_endpoint) = endpoints(port, needs_token.then(|| hub.token().as_str()), browser.id());
    BrowserStatus {
        name: browser.name().to_owned(),
        state: snapshot.life,
        backend: snapshot.spec.backend().to_owned(),
        port,
        endpoint,
        ws_endpoint,
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
pub fn endpoints(port: u16, token: Option<&str>, id: &str) -> (String, String) {
    let path = token.map(|token| format!("/t/{token}")).unwrap_or_default();
    (format!("http://127.0.0.1:{port}{path}"), format!("ws://127.0.0.1:{port}{path}/devtools/browser/{id}"))
}

async fn status(State(control): State<Control>) -> Response {
    let hub = &control.hub;
    let browsers = hub.browsers().iter().map(|browser| status_of(hub, browser)).collect();
    success(HubStatus {
        port: hub.port(),
        pid: std::process::id(),
        version: hub.version().to_owned(),
        browsers,
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
async fn define(State(control): State<Control>, Path(name): Path<String>) -> Result<Response, Failure> {
    let browser = known(&control, &name, None).await?;
    Ok(success(status_of(&control.hub, &browser)))
}

async fn known(control: &Control, name: &str, spec: Option<Spec>) -> Result<Arc<Browser>, Failure> {
    let browser = control.hub.define(name, spec)?;
    if !control.listeners.is_open(name) {
        control.listeners.open_any(name).await?;
    }
    Ok(browser)
}

async fn launch(
    State(control): State<Control>,
    Path(name): Path<String>,
    body: Result<Json<LaunchRequest>, JsonRejection>,
) -> Result<Response, Failure> {
    let Json(request) = body?;
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

async fn forget(control: &Control, name: &str) -> Result<(), HubError> {
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
    Path(name): Path<String>,
    body: Result<Json<StopRequest>, JsonRejection>,
) -> Result<Response, Failure> {
    let Json(request) = body?;
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

fn success(data: impl Serialize) -> Response {
    Json(json!({"success": true, "data": data, "timestamp": now()})).into_response()
}

/// Milliseconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_millis() as u64)
}
