//! The history's routes: what tabs logged and fetched, and commands to them.
//!
//! The same handlers serve a browser, one of its tabs, and a connection; only who is meant differs.

mod answers;
mod connect;
mod follow;
pub mod model;
mod query;
pub(crate) mod scope;

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::{get, post};
use bowline_hub::Hub;
use bowline_hub::recorder::record::Body;
use bowline_hub::recorder::store::Kind;
use utoipa::OpenApi;

use crate::control::{Control, success};
use crate::extract::{Asked, Body as JsonBody, Segments};
use crate::failure::Failure;
use crate::ops;
use answers::{body, clear, console, execute, har, milliseconds, network, patience};
use model::{
    Cleared, ConsoleHistory, EvaluateRequest, Evaluated, ExecuteRequest, Executed, NetworkHistory, Tabs,
};
use query::{ConsoleQuery, HarQuery, NetworkQuery, TabsQuery};

#[derive(OpenApi)]
#[openapi(paths(
    tabs,
    browser_console,
    tab_console,
    connection_console,
    browser_network,
    tab_network,
    connection_network,
    browser_body,
    tab_body,
    connection_body,
    browser_har,
    tab_har,
    connection_har,
    clear_browser_console,
    clear_tab_console,
    clear_connection_console,
    clear_browser_network,
    clear_tab_network,
    clear_connection_network,
    browser_execute,
    tab_execute,
    connection_execute,
    tab_evaluate,
    connect::connect,
    connect::connections,
    connect::health,
    connect::close,
))]
pub(crate) struct Described;

pub(crate) fn routes() -> Router<Control> {
    Router::new()
        .route("/browsers/{name}/tabs", get(tabs))
        .route("/browsers/{name}/console", get(browser_console).delete(clear_browser_console))
        .route("/browsers/{name}/network", get(browser_network).delete(clear_browser_network))
        .route("/browsers/{name}/network/{request}/body", get(browser_body))
        .route("/browsers/{name}/har", get(browser_har))
        .route("/browsers/{name}/execute", post(browser_execute))
        .route("/browsers/{name}/tabs/{tab}/console", get(tab_console).delete(clear_tab_console))
        .route("/browsers/{name}/tabs/{tab}/network", get(tab_network).delete(clear_tab_network))
        .route("/browsers/{name}/tabs/{tab}/network/{request}/body", get(tab_body))
        .route("/browsers/{name}/tabs/{tab}/har", get(tab_har))
        .route("/browsers/{name}/tabs/{tab}/execute", post(tab_execute))
        .route("/browsers/{name}/tabs/{tab}/evaluate", post(tab_evaluate))
        .route("/console/{id}", get(connection_console).delete(clear_connection_console))
        .route("/network/{id}", get(connection_network).delete(clear_connection_network))
        .route("/network/{id}/har", get(connection_har))
        .route("/network/{id}/{request}/body", get(connection_body))
        .route("/execute/{id}", post(connection_execute))
        .merge(connect::routes())
}

type Answer = Result<Response, Failure>;

/// The tabs of a browser. Starts nothing.
#[utoipa::path(get, path = "/api/browsers/{name}/tabs", tag = "history", params(("name" = String, Path), TabsQuery),
    responses((status = 200, body = inline(crate::openapi::Success<Tabs>)), crate::openapi::Failures))]
async fn tabs(
    State(control): State<Control>,
    Segments(name): Segments<String>,
    Asked(query): Asked<TabsQuery>,
) -> Answer {
    let hub = &control.hub;
    let browser = hub.browser(&name)?;
    let place = browser.snapshot().place();
    scope::refresh(hub, &name, "").await;
    let recorded = hub.recorder().records(&name);
    let mut tabs = match (&place, recorded) {
        (Some(place), false) => scope::listed_by(place, &name).await?,
        _ => scope::listed(&hub.recorder().store(), &name, query.closed),
    };
    for connection in hub.connections().all() {
        let tab = tabs
            .iter_mut()
            .find(|tab| tab.browser == connection.browser && tab.id == connection.target.as_str());
        if let Some(tab) = tab {
            tab.connection_id = Some(connection.id);
        }
    }
    Ok(success(Tabs { running: place.is_some(), recorded, tabs }))
}

#[utoipa::path(get, path = "/api/browsers/{name}/console", tag = "history", params(("name" = String, Path), ConsoleQuery),
    responses((status = 200, body = inline(crate::openapi::Success<ConsoleHistory>)), crate::openapi::Failures))]
async fn browser_console(
    State(control): State<Control>,
    Segments(name): Segments<String>,
    Asked(query): Asked<ConsoleQuery>,
) -> Answer {
    let scope = scope::of_browser(&control.hub, &name)?;
    console(&control, scope, query)
}

#[utoipa::path(get, path = "/api/browsers/{name}/tabs/{tab}/console", tag = "history", params(("name" = String, Path), ("tab" = String, Path), ConsoleQuery),
    responses((status = 200, body = inline(crate::openapi::Success<ConsoleHistory>)), crate::openapi::Failures))]
async fn tab_console(
    State(control): State<Control>,
    Segments((name, tab)): Segments<(String, String)>,
    Asked(query): Asked<ConsoleQuery>,
) -> Answer {
    let scope = scope::of_tab(&control.hub, &name, &tab).await?;
    console(&control, scope, query)
}

#[utoipa::path(get, path = "/api/console/{id}", tag = "connections", params(("id" = String, Path), ConsoleQuery),
    responses((status = 200, body = inline(crate::openapi::Success<ConsoleHistory>)), crate::openapi::Failures))]
async fn connection_console(
    State(control): State<Control>,
    Segments(id): Segments<String>,
    Asked(query): Asked<ConsoleQuery>,
) -> Answer {
    let scope = scope::of_connection(&control.hub, &id, query.client.as_deref())?;
    console(&control, scope, query)
}

#[utoipa::path(get, path = "/api/browsers/{name}/network", tag = "history", params(("name" = String, Path), NetworkQuery),
    responses((status = 200, body = inline(crate::openapi::Success<NetworkHistory>)), crate::openapi::Failures))]
async fn browser_network(
    State(control): State<Control>,
    Segments(name): Segments<String>,
    Asked(query): Asked<NetworkQuery>,
) -> Answer {
    let scope = scope::of_browser(&control.hub, &name)?;
    network(&control, scope, query).await
}

#[utoipa::path(get, path = "/api/browsers/{name}/tabs/{tab}/network", tag = "history", params(("name" = String, Path), ("tab" = String, Path), NetworkQuery),
    responses((status = 200, body = inline(crate::openapi::Success<NetworkHistory>)), crate::openapi::Failures))]
async fn tab_network(
    State(control): State<Control>,
    Segments((name, tab)): Segments<(String, String)>,
    Asked(query): Asked<NetworkQuery>,
) -> Answer {
    let scope = scope::of_tab(&control.hub, &name, &tab).await?;
    network(&control, scope, query).await
}

#[utoipa::path(get, path = "/api/network/{id}", tag = "connections", params(("id" = String, Path), NetworkQuery),
    responses((status = 200, body = inline(crate::openapi::Success<NetworkHistory>)), crate::openapi::Failures))]
async fn connection_network(
    State(control): State<Control>,
    Segments(id): Segments<String>,
    Asked(query): Asked<NetworkQuery>,
) -> Answer {
    let scope = scope::of_connection(&control.hub, &id, query.client.as_deref())?;
    network(&control, scope, query).await
}

#[utoipa::path(get, path = "/api/browsers/{name}/network/{request}/body", tag = "history", params(("name" = String, Path), ("request" = String, Path)),
    responses((status = 200, body = inline(crate::openapi::Success<Body>)), crate::openapi::Failures))]
async fn browser_body(
    State(control): State<Control>,
    Segments((name, request)): Segments<(String, String)>,
) -> Answer {
    let scope = scope::of_browser(&control.hub, &name)?;
    body(&control, scope, &request).await
}

#[utoipa::path(get, path = "/api/browsers/{name}/tabs/{tab}/network/{request}/body", tag = "history", params(("name" = String, Path), ("tab" = String, Path), ("request" = String, Path)),
    responses((status = 200, body = inline(crate::openapi::Success<Body>)), crate::openapi::Failures))]
async fn tab_body(
    State(control): State<Control>,
    Segments((name, tab, request)): Segments<(String, String, String)>,
) -> Answer {
    let scope = scope::of_tab(&control.hub, &name, &tab).await?;
    body(&control, scope, &request).await
}

#[utoipa::path(get, path = "/api/network/{id}/{request}/body", tag = "connections", params(("id" = String, Path), ("request" = String, Path)),
    responses((status = 200, body = inline(crate::openapi::Success<Body>)), crate::openapi::Failures))]
async fn connection_body(
    State(control): State<Control>,
    Segments((id, request)): Segments<(String, String)>,
) -> Answer {
    let scope = scope::of_connection(&control.hub, &id, None)?;
    body(&control, scope, &request).await
}

#[utoipa::path(get, path = "/api/browsers/{name}/har", tag = "history", params(("name" = String, Path), HarQuery),
    responses((status = 200, body = inline(crate::openapi::ArchiveAnswer)), crate::openapi::Failures))]
async fn browser_har(
    State(control): State<Control>,
    Segments(name): Segments<String>,
    Asked(query): Asked<HarQuery>,
) -> Answer {
    let scope = scope::of_browser(&control.hub, &name)?;
    har(&control, scope, query).await
}

#[utoipa::path(get, path = "/api/browsers/{name}/tabs/{tab}/har", tag = "history", params(("name" = String, Path), ("tab" = String, Path), HarQuery),
    responses((status = 200, body = inline(crate::openapi::ArchiveAnswer)), crate::openapi::Failures))]
async fn tab_har(
    State(control): State<Control>,
    Segments((name, tab)): Segments<(String, String)>,
    Asked(query): Asked<HarQuery>,
) -> Answer {
    let scope = scope::of_tab(&control.hub, &name, &tab).await?;
    har(&control, scope, query).await
}

#[utoipa::path(get, path = "/api/network/{id}/har", tag = "connections", params(("id" = String, Path), HarQuery),
    responses((status = 200, body = inline(crate::openapi::ArchiveAnswer)), crate::openapi::Failures))]
async fn connection_har(
    State(control): State<Control>,
    Segments(id): Segments<String>,
    Asked(query): Asked<HarQuery>,
) -> Answer {
    let scope = scope::of_connection(&control.hub, &id, None)?;
    har(&control, scope, query).await
}

#[utoipa::path(delete, path = "/api/browsers/{name}/console", tag = "history", params(("name" = String, Path)),
    responses((status = 200, body = inline(crate::openapi::Success<Cleared>)), crate::openapi::Failures))]
async fn clear_browser_console(State(control): State<Control>, Segments(name): Segments<String>) -> Answer {
    clear(&control, &scope::of_browser(&control.hub, &name)?, Kind::Console)
}

#[utoipa::path(delete, path = "/api/browsers/{name}/network", tag = "history", params(("name" = String, Path)),
    responses((status = 200, body = inline(crate::openapi::Success<Cleared>)), crate::openapi::Failures))]
async fn clear_browser_network(State(control): State<Control>, Segments(name): Segments<String>) -> Answer {
    clear(&control, &scope::of_browser(&control.hub, &name)?, Kind::Network)
}

#[utoipa::path(delete, path = "/api/browsers/{name}/tabs/{tab}/console", tag = "history", params(("name" = String, Path), ("tab" = String, Path)),
    responses((status = 200, body = inline(crate::openapi::Success<Cleared>)), crate::openapi::Failures))]
async fn clear_tab_console(
    State(control): State<Control>,
    Segments((name, tab)): Segments<(String, String)>,
) -> Answer {
    clear(&control, &scope::of_tab(&control.hub, &name, &tab).await?, Kind::Console)
}

#[utoipa::path(delete, path = "/api/browsers/{name}/tabs/{tab}/network", tag = "history", params(("name" = String, Path), ("tab" = String, Path)),
    responses((status = 200, body = inline(crate::openapi::Success<Cleared>)), crate::openapi::Failures))]
async fn clear_tab_network(
    State(control): State<Control>,
    Segments((name, tab)): Segments<(String, String)>,
) -> Answer {
    clear(&control, &scope::of_tab(&control.hub, &name, &tab).await?, Kind::Network)
}

#[utoipa::path(delete, path = "/api/console/{id}", tag = "connections", params(("id" = String, Path)),
    responses((status = 200, body = inline(crate::openapi::Success<Cleared>)), crate::openapi::Failures))]
async fn clear_connection_console(State(control): State<Control>, Segments(id): Segments<String>) -> Answer {
    clear(&control, &scope::of_connection(&control.hub, &id, None)?, Kind::Console)
}

#[utoipa::path(delete, path = "/api/network/{id}", tag = "connections", params(("id" = String, Path)),
    responses((status = 200, body = inline(crate::openapi::Success<Cleared>)), crate::openapi::Failures))]
async fn clear_connection_network(State(control): State<Control>, Segments(id): Segments<String>) -> Answer {
    clear(&control, &scope::of_connection(&control.hub, &id, None)?, Kind::Network)
}

#[utoipa::path(post, path = "/api/browsers/{name}/execute", tag = "commands", params(("name" = String, Path)), request_body = ExecuteRequest,
    responses((status = 200, body = inline(crate::openapi::Success<Executed>)), crate::openapi::Failures))]
async fn browser_execute(
    State(control): State<Control>,
    Segments(name): Segments<String>,
    JsonBody(request): JsonBody<ExecuteRequest>,
) -> Answer {
    let place = control.hub.browser(&name)?.ready().await?;
    execute(&control.hub, &place, None, request).await.map(success)
}

#[utoipa::path(post, path = "/api/browsers/{name}/tabs/{tab}/execute", tag = "commands", params(("name" = String, Path), ("tab" = String, Path)), request_body = ExecuteRequest,
    responses((status = 200, body = inline(crate::openapi::Success<Executed>)), crate::openapi::Failures))]
async fn tab_execute(
    State(control): State<Control>,
    Segments((name, tab)): Segments<(String, String)>,
    JsonBody(request): JsonBody<ExecuteRequest>,
) -> Answer {
    let browser = control.hub.browser(&name)?;
    let (place, target) = scope::open_tab(&control.hub, &browser, &tab).await?;
    execute(&control.hub, &place, Some(&target), request).await.map(success)
}

#[utoipa::path(post, path = "/api/browsers/{name}/tabs/{tab}/evaluate", tag = "commands", params(("name" = String, Path), ("tab" = String, Path)), request_body = EvaluateRequest,
    responses((status = 200, body = inline(crate::openapi::Success<Evaluated>)), crate::openapi::Failures))]
async fn tab_evaluate(
    State(control): State<Control>,
    Segments((name, tab)): Segments<(String, String)>,
    headers: HeaderMap,
    JsonBody(request): JsonBody<EvaluateRequest>,
) -> Answer {
    let within = patience(request.timeout)?;
    let browser = control.hub.browser(&name)?;
    let (sessions, is_named) = match tab.as_str() {
        scope::CURRENT => ops::current_tab(&control, &headers, &name),
        // Named as ops name tabs; one that is closed is not looked for under another name.
        word => (ops::tab_called(&control, &headers, &name, word), true),
    };
    let (place, target) = match sessions {
        None => scope::open_tab(&control.hub, &browser, &tab).await?,
        // Who named no session has not asked for its tab in particular.
        Some(own) => match scope::open_target(&control.hub, &browser, own).await {
            Err(failure) if !is_named && failure.status() == StatusCode::NOT_FOUND => {
                scope::open_tab(&control.hub, &browser, &tab).await?
            }
            found => found?,
        },
    };
    let begun = Instant::now();
    let value = place.speech.evaluate(&target, &request.expression, within).await?;
    Ok(success(Evaluated {
        kind: value.kind,
        subtype: value.subtype,
        value: value.value,
        text: value.text,
        tab: target.to_string(),
        execution_time: milliseconds(begun),
    }))
}

#[utoipa::path(post, path = "/api/execute/{id}", tag = "connections", params(("id" = String, Path)), request_body = ExecuteRequest,
    responses((status = 200, body = inline(crate::openapi::Success<Executed>)), crate::openapi::Failures))]
async fn connection_execute(
    State(control): State<Control>,
    Segments(id): Segments<String>,
    JsonBody(request): JsonBody<ExecuteRequest>,
) -> Answer {
    let hub: &Arc<Hub> = &control.hub;
    let connection = hub.connections().get(&id).ok_or_else(|| scope::no_such_connection(&id))?;
    hub.connections().used(&id, None);
    let Some(place) = hub.browser(&connection.browser)?.snapshot().place() else {
        let message = connection.last_error.unwrap_or_else(|| "the browser has gone".to_owned());
        let hint = "it is being sought again; GET /api/health/ID tells how it goes";
        return Err(Failure::new(StatusCode::SERVICE_UNAVAILABLE, "gone", &message, hint));
    };
    let begun = Instant::now();
    let result = execute(hub, &place, Some(&connection.target), request).await;
    hub.connections().change(&id, |connection| {
        let commands = &mut connection.commands;
        commands.total += 1;
        commands.time += milliseconds(begun);
        match &result {
            Ok(_) => commands.successful += 1,
            Err(failure) => {
                commands.failed += 1;
                commands.timed_out += u64::from(failure.status() == StatusCode::REQUEST_TIMEOUT);
            }
        }
    });
    result.map(success)
}
