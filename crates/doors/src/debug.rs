//! Browser actions as plain HTTP, for trying them out with curl. Only there with `--debug-http`, and only for those who
//! know the token; agents come through the other doors.
//!
//! An answer is `{result}` or `{error{code, message, hint}}`.

use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use bowline_hub::{Browser, Hub, Life};
use bowline_ops::{ACTIONS, Agent, AgentName, OpError, Request as OpRequest, Stay, find, find_action};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::control::{self, Control};
use crate::extract::{Asked, Body};
use crate::limit;
use crate::listeners::Listeners;
use crate::problem;

/// The header that says for whom an action is run.
const SESSION: &str = "x-bowline-session";
/// Log messages that are told unless more are asked for.
const LOGS: usize = 200;

pub(crate) fn routes(hub: Arc<Hub>, listeners: Arc<Listeners>) -> Router<()> {
    let limiter = limit::limiter(listeners.rate_limit());
    let control = Control { hub, listeners };
    Router::new()
        .route("/command", post(command))
        .route("/execute", post(execute))
        .route("/health", get(health))
        .route("/browsers", get(browsers))
        .route("/ping", get(async || Json(json!({"pong": true}))))
        .route("/getLogs", get(logs))
        // Bodies have a limit of their own.
        .layer(DefaultBodyLimit::disable())
        .layer(middleware::from_fn_with_state(limiter, limit::check))
        .layer(middleware::from_fn_with_state(control.clone(), control::authorize))
        .with_state(control)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Command {
    action: String,
    payload: Option<Map<String, Value>>,
    browser: Option<String>,
    /// Of the caller's own; told again.
    id: Option<Value>,
}

/// `{action, payload, browser}`. A client that hangs up drops this future, and the action with it.
async fn command(State(control): State<Control>, headers: HeaderMap, Body(wish): Body<Command>) -> Response {
    let agent = agent(&control, &headers);
    let payload = wish.payload.unwrap_or_default();
    let acted = act(&control, &agent, wish.browser.as_deref(), &wish.action, payload).await;
    answer(acted, wish.id)
}

#[derive(Debug, Deserialize)]
struct Execute {
    method: String,
    #[serde(default)]
    params: Map<String, Value>,
    /// Of the caller's own; told again.
    id: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Tool {
    name: String,
    #[serde(default)]
    arguments: Map<String, Value>,
}

/// `{method: "executeToolFromWebSocket", params: {name, arguments}}`; any other method is itself the name of an action
/// or op, and `params` what it takes.
async fn execute(State(control): State<Control>, headers: HeaderMap, Body(wish): Body<Execute>) -> Response {
    let agent = agent(&control, &headers);
    let tool = match wish.method.as_str() {
        "executeToolFromWebSocket" | "executeTool" | "tools/call" => {
            match serde_json::from_value::<Tool>(Value::Object(wish.params)) {
                Ok(tool) => tool,
                Err(error) => {
                    let hint = "{\"name\": \"browser_getTabs\", \"arguments\": {}}";
                    return answer(Err(OpError::bad_input(format!("`params`: {error}"), hint)), wish.id);
                }
            }
        }
        "watchedChanges" => {
            let changes = control.listeners.ops().watched_changes(&agent).await;
            return answer(Ok(json!(changes)), wish.id);
        }
        _ => Tool { name: wish.method, arguments: wish.params },
    };
    answer(run_tool(&control, &agent, tool).await, wish.id)
}

/// An action by its name with or without `browser_`, or an op by its name or that of its tool.
async fn run_tool(control: &Control, agent: &Arc<Agent>, tool: Tool) -> Result<Value, OpError> {
    let Tool { name, arguments } = tool;
    let bare = name.strip_prefix("browser_").unwrap_or(&name);
    if find_action(bare).is_some() || find(&name).is_none() {
        return act(control, agent, None, bare, arguments).await;
    }
    let request = OpRequest {
        agent: agent.clone(),
        op: name,
        input: arguments,
        browser: None,
        tab: None,
        cancel: CancellationToken::new(),
        progress: None,
    };
    Ok(control.listeners.ops().call(request).await?.to_json())
}

async fn act(
    control: &Control,
    agent: &Arc<Agent>,
    browser: Option<&str>,
    action: &str,
    payload: Map<String, Value>,
) -> Result<Value, OpError> {
    control.listeners.ops().act(agent, browser, action, payload, CancellationToken::new()).await
}

fn agent(control: &Control, headers: &HeaderMap) -> Arc<Agent> {
    let name = headers.get(SESSION).map(|name| String::from_utf8_lossy(name.as_bytes())).unwrap_or_default();
    control.listeners.ops().agent(&AgentName::new(&name), Stay::Session)
}

fn answer(result: Result<Value, OpError>, id: Option<Value>) -> Response {
    let (status, mut body) = match result {
        Ok(result) => (StatusCode::OK, json!({ "result": result })),
        Err(error) => (problem::status(error.code), json!({"error": error.to_json()})),
    };
    if let Some(id) = id {
        body["id"] = id;
    }
    (status, Json(body)).into_response()
}

async fn health(State(control): State<Control>) -> Json<Value> {
    let hub = &control.hub;
    let running = hub.browsers().iter().filter(|browser| browser.snapshot().life == Life::Ready).count();
    let actions: Vec<Value> = ACTIONS
        .iter()
        .map(|action| json!({"name": action.name, "aliases": action.aliases, "about": action.about}))
        .collect();
    Json(json!({"status": "ok", "version": hub.version(), "pid": std::process::id(), "port": hub.port(),
        "connectedBrowsers": running, "actions": actions}))
}

async fn browsers(State(control): State<Control>) -> Json<Value> {
    let shown = |browser: &Arc<Browser>| {
        let now = browser.snapshot();
        json!({"name": browser.name(), "backend": now.spec.backend(), "connected": now.life == Life::Ready,
            "version": now.version.as_ref().map(|version| version.product.clone()), "clients": now.clients(),
            "reason": now.reason})
    };
    Json(json!({"browsers": control.hub.browsers().iter().map(shown).collect::<Vec<_>>()}))
}

#[derive(Debug, Deserialize)]
struct HowMany {
    max: Option<usize>,
}

/// What all tabs have logged lately, the oldest first.
async fn logs(State(control): State<Control>, Asked(HowMany { max }): Asked<HowMany>) -> Json<Value> {
    let mut logs: Vec<(u64, Value)> = {
        let store = control.hub.recorder().store();
        let of_tab = store.tabs().flat_map(|tab| {
            tab.console.iter().map(|record| {
                let mut shown = json!(record);
                shown["browser"] = json!(tab.browser);
                (record.seq, shown)
            })
        });
        of_tab.collect()
    };
    logs.sort_by_key(|(seq, _)| *seq);
    let surplus = logs.len().saturating_sub(max.unwrap_or(LOGS));
    let logs: Vec<Value> = logs.into_iter().skip(surplus).map(|(_, shown)| shown).collect();
    Json(json!({"count": logs.len(), "logs": logs}))
}
