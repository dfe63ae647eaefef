//! Connections: a tab by the address of its browser.

use std::net::IpAddr;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{delete, get, post};
use bowline_hub::Hub;
use bowline_hub::backend::{AttachSpec, Spec};
use bowline_hub::connections::Connection;
use bowline_hub::recorder::now;
use bowline_hub::recorder::store::Tab;
use bowline_wire::TargetId;
use serde_json::{Value, json};

use super::model::{
    CommandMetrics, ConnectRequest, Connected, ConnectionStatus, Health, Metrics, TargetSummary,
};
use super::{Answer, scope};
use crate::control::{self, Control, success};
use crate::extract::{Body, Segments};
use crate::failure::Failure;

pub(super) fn routes() -> Router<Control> {
    Router::new()
        .route("/connect", post(connect))
        .route("/connections", get(connections))
        .route("/connection/{id}", delete(close))
        .route("/health/{id}", get(health))
}

/// The same target is one connection, however many ask for it.
#[utoipa::path(post, path = "/api/connect", tag = "connections", request_body = ConnectRequest,
    responses((status = 200, body = inline(crate::openapi::Success<Connected>)), crate::openapi::Failures))]
pub(super) async fn connect(State(control): State<Control>, Body(request): Body<ConnectRequest>) -> Answer {
    let host = loopback(request.host.as_deref())?;
    if request.port == 0 {
        return Err(Failure::bad_request("port: 0 is no port", "name the debugging port of the browser"));
    }
    // In a task of its own: a caller that leaves must not leave half of it done.
    let tasks = control.listeners.tasks().clone();
    let work = async move { connect_to(&control, host, request.port, request.target_id).await };
    let connected = tasks.spawn(work).await;
    connected.map_err(|_| Failure::from(bowline_hub::browser::hub_leaves()))?.map(success)
}

async fn connect_to(
    control: &Control,
    host: String,
    port: u16,
    target: Option<String>,
) -> Result<Connected, Failure> {
    let hub = &control.hub;
    let (name, is_new) = name_of(hub, &host, port);
    if !hub.recorder().records(&name) {
        return Err(scope::recorder_off(&name));
    }
    if is_new {
        // Tried before it gets a name: what is not there leaves no trace.
        let spec = Spec::Attached(AttachSpec { url: format!("{host}:{port}"), profile_dir: None });
        control::attach(control, &name, spec).await?;
    }
    let browser = hub.browser(&name)?;
    let place = browser.ready().await?;
    // Whoever reads the history at once must not be too early for what the page had said before.
    let wanted = target.as_deref().map(TargetId::new);
    hub.recorder().watches(&name, &place.speech, wanted.as_ref()).await;
    let (target, summary) = {
        let store = hub.recorder().store();
        let mut open = store.tabs().filter(|tab| tab.browser == name && tab.is_open());
        let found = match &target {
            Some(target) => open.find(|tab| tab.target.as_str() == target),
            None => open.find(|tab| tab.is_page()),
        };
        let tab = found.ok_or_else(|| no_such_target(target.as_deref(), &host, port))?;
        (tab.target.clone(), summary(tab))
    };
    let (connection, is_new) = hub.connections().open(&host, port, &name, &target).map_err(|error| {
        let hint = "see whether the system has randomness to give";
        Failure::new(StatusCode::SERVICE_UNAVAILABLE, "not_saved", &error.to_string(), hint)
    })?;
    Ok(Connected {
        connection_id: connection.id,
        target_info: summary,
        is_new_connection: is_new,
        browser: name,
    })
}

/// Only browsers of this machine are reached by a request; for others a person says `bowline attach`.
fn loopback(host: Option<&str>) -> Result<String, Failure> {
    let host = host.unwrap_or("127.0.0.1");
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let address = bare.parse::<IpAddr>();
    match address {
        Ok(IpAddr::V4(address)) if address.is_loopback() => Ok(address.to_string()),
        Ok(IpAddr::V6(address)) if address.is_loopback() => Ok(format!("[{address}]")),
        _ if host.eq_ignore_ascii_case("localhost") => Ok("127.0.0.1".to_owned()),
        _ => Err(Failure::bad_request(
            &format!("host: `{host}` is not this machine"),
            "for a browser elsewhere use `bowline attach NAME URL`, then /api/browsers/NAME",
        )),
    }
}

/// The browser behind an address: one that the hub has already, or a name for a new one.
fn name_of(hub: &Hub, host: &str, port: u16) -> (String, bool) {
    let own = |name: &str| host == "127.0.0.1" && hub.port_of(name) == port;
    let same = |url: &str| {
        let url = url.strip_prefix("http://").or_else(|| url.strip_prefix("ws://")).unwrap_or(url);
        let authority = url.split('/').next().unwrap_or(url);
        authority == format!("{host}:{port}")
            || (host == "127.0.0.1" && authority == format!("localhost:{port}"))
    };
    for browser in hub.browsers() {
        let is_it = match &browser.snapshot().spec {
            Spec::Attached(spec) => same(&spec.url) || own(browser.name()),
            Spec::Launched(_) | Spec::Extension(_) => own(browser.name()),
        };
        if is_it {
            return (browser.name().to_owned(), false);
        }
    }
    let base = format!("chrome-{port}");
    let taken = |name: &str| hub.browser(name).is_ok();
    let name = std::iter::once(base.clone())
        .chain((2..).map(|number| format!("{base}-{number}")))
        .find(|name| !taken(name));
    (name.unwrap_or(base), true)
}

fn no_such_target(target: Option<&str>, host: &str, port: u16) -> Failure {
    let message = match target {
        Some(target) => format!("targetId: there is no target `{target}` at {host}:{port}"),
        None => format!("the browser at {host}:{port} has no page open"),
    };
    Failure::new(StatusCode::NOT_FOUND, "no_such_target", &message, "GET /json/list there lists them")
}

fn summary(tab: &Tab) -> TargetSummary {
    TargetSummary {
        id: tab.target.to_string(),
        title: tab.title.clone(),
        url: tab.url.clone(),
        kind: tab.kind.clone(),
    }
}

#[utoipa::path(get, path = "/api/connections", tag = "connections",
    responses((status = 200, body = inline(crate::openapi::Success<Vec<ConnectionStatus>>)), crate::openapi::Failures))]
pub(super) async fn connections(State(control): State<Control>) -> Answer {
    let hub = &control.hub;
    let all = hub.connections().all();
    Ok(success(all.iter().map(|connection| status(hub, connection)).collect::<Vec<_>>()))
}

#[utoipa::path(get, path = "/api/health/{id}", tag = "connections", params(("id" = String, Path)),
    responses((status = 200, body = inline(crate::openapi::Success<Health>)), crate::openapi::Failures))]
pub(super) async fn health(State(control): State<Control>, Segments(id): Segments<String>) -> Answer {
    let connection = control.hub.connections().get(&id).ok_or_else(|| scope::no_such_connection(&id))?;
    Ok(success(health_of(&connection)))
}

/// Removes the connection and its history at once. A browser that was only reached for connections is
/// let go of with the last of them.
#[utoipa::path(delete, path = "/api/connection/{id}", tag = "connections", params(("id" = String, Path)),
    responses((status = 200, body = inline(crate::openapi::Success<Value>)), crate::openapi::Failures))]
pub(super) async fn close(State(control): State<Control>, Segments(id): Segments<String>) -> Answer {
    let hub = &control.hub;
    let connection = hub.connections().close(&id).ok_or_else(|| scope::no_such_connection(&id))?;
    if hub.connections().was_last(&connection) {
        // Forgotten meanwhile by somebody else is as well.
        let _ = control::forget(&control, &connection.browser).await;
        let mut store = hub.recorder().store();
        let of_browser = store.tabs().filter(|tab| tab.browser == connection.browser);
        for key in of_browser.map(|tab| tab.key).collect::<Vec<_>>() {
            store.remove(key);
        }
    }
    Ok(success(json!({ "connectionId": id })))
}

pub(crate) fn status(hub: &Hub, connection: &Connection) -> ConnectionStatus {
    let store = hub.recorder().store();
    let tab = store.find(&connection.browser, &connection.target);
    let target_info = tab.map_or_else(|| unknown(&connection.target), summary);
    let client_count = connection.client_count();
    let commands = &connection.commands;
    let average = if commands.total == 0 { 0.0 } else { commands.time / commands.total as f64 };
    ConnectionStatus {
        id: connection.id.clone(),
        host: connection.host.clone(),
        port: connection.port,
        target_id: connection.target.to_string(),
        browser: connection.browser.clone(),
        ws_url: format!("ws://{}:{}/devtools/page/{}", connection.host, connection.port, connection.target),
        created_at: connection.created_at,
        last_used: connection.last_used,
        is_healthy: connection.is_healthy(),
        client_count,
        target_info,
        health: health_of(connection),
        metrics: Metrics {
            connection_id: connection.id.clone(),
            uptime: now() - connection.created_at,
            message_count: tab.map_or(0, |tab| tab.messages),
            request_count: tab.map_or(0, |tab| tab.requests),
            client_count,
            last_activity: tab.map_or(connection.last_used, |tab| tab.last_activity),
            reconnection_count: connection.reconnections,
            commands: CommandMetrics {
                total_commands: commands.total,
                successful_commands: commands.successful,
                failed_commands: commands.failed,
                average_execution_time: average,
                timeout_count: commands.timed_out,
            },
        },
    }
}

fn unknown(target: &TargetId) -> TargetSummary {
    TargetSummary {
        id: target.to_string(),
        title: String::new(),
        url: String::new(),
        kind: "page".to_owned(),
    }
}

fn health_of(connection: &Connection) -> Health {
    Health {
        connection_id: connection.id.clone(),
        is_healthy: connection.is_healthy(),
        state: connection.state.as_str().to_owned(),
        last_check: connection.last_check,
        error_count: connection.error_count,
        last_error: connection.last_error.clone(),
    }
}
