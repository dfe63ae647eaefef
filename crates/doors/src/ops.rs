//! The ops over REST: a route for each, and the list of them. All of it is driven by the table of `bowline-ops`;
//! an op that is added there is offered here.
//!
//! Whoever asks names a session (`X-Bowline-Session`), which has a current tab, refs and leases between its requests.

mod description;

use axum::Router;
use axum::body::HttpBody;
use axum::extract::{FromRequest, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::routing::{get, post};
use base64::Engine as _;
use bowline_ops::differences::{self, Difference};
use bowline_ops::{Access, AgentName, Entry, OPS, OpError, Output, Request as OpRequest, Set, Stay};
use bowline_wire::TargetId;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::control::{Control, success};
use crate::extract::{Body, Segments};
use crate::failure::Failure;
use crate::problem::{self, Problem};
use crate::turn;

pub(crate) use description::describe;

/// The header that says for whom an op is run.
pub const SESSION: &str = "x-bowline-session";

type Answer = Result<Response, Failure>;

pub(crate) fn routes() -> Router<Control> {
    Router::new()
        .route("/ops", get(list))
        .route("/browsers/{name}/ops/{op}", post(on_current_tab))
        .route("/browsers/{name}/tabs/{tab}/ops/{op}", post(on_tab))
}

async fn list() -> Response {
    success(OPS.iter().map(entry).collect::<Vec<_>>())
}

fn entry(op: &Entry) -> Value {
    let differences: Vec<Value> = differences::of(op.name).map(Difference::as_json).collect();
    json!({"name": op.name, "tool": op.tool, "set": op.set.as_str(), "access": access(op.access),
        "about": op.about, "schema": op.schema(), "differences": differences})
}

fn access(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Act => "act",
        Access::Dangerous => "dangerous",
    }
}

async fn on_current_tab(
    State(control): State<Control>,
    Segments((name, op)): Segments<(String, String)>,
    request: Request,
) -> Answer {
    run(&control, name, None, op, request).await
}

async fn on_tab(
    State(control): State<Control>,
    Segments((name, tab, op)): Segments<(String, String, String)>,
    request: Request,
) -> Answer {
    run(&control, name, Some(tab), op, request).await
}

/// Runs an op. A client that hangs up drops this future, and the op with it.
async fn run(
    control: &Control,
    browser: String,
    tab: Option<String>,
    op: String,
    request: Request,
) -> Answer {
    let ops = control.listeners.ops();
    let session = session(request.headers()).unwrap_or_else(nobody);
    let input = input(request).await?;
    let agent = ops.agent(&session, Stay::Session);
    // Where one client at a time is let in, a request is one as long as it runs. What starts and ends browsers is none.
    let driven = input.get("browser").and_then(Value::as_str).unwrap_or(&browser).to_owned();
    let is_known = ops.hub().browser(&driven).is_ok();
    let drives = bowline_ops::find(&op).is_some_and(|op| op.set != Set::Lifecycle);
    let _seat = match is_known && drives {
        true => {
            let seat = || control.listeners.slots().take(&driven, session.as_str(), Some(&session));
            turn::take(&driven, None, seat).await.map_err(busy)?
        }
        false => None,
    };
    let (browser, cancel) = (Some(browser), CancellationToken::new());
    let output = ops.call(OpRequest { agent, op, input, browser, tab, cancel, progress: None }).await?;
    Ok(success(data(output)))
}

fn busy(problem: Problem) -> Failure {
    Failure::new(StatusCode::CONFLICT, turn::BUSY, &problem.message, &problem.hint)
}

/// The session that a request names.
fn session(headers: &HeaderMap) -> Option<AgentName> {
    let name = headers.get(SESSION)?;
    Some(AgentName::new(&String::from_utf8_lossy(name.as_bytes())))
}

fn nobody() -> AgentName {
    AgentName::new("")
}

/// The current tab of the session that asks, and whether it has named itself.
pub(crate) fn current_tab(control: &Control, headers: &HeaderMap, browser: &str) -> (Option<TargetId>, bool) {
    let named = session(headers);
    let is_named = named.is_some();
    (control.listeners.ops().current(&named.unwrap_or_else(nobody), browser), is_named)
}

/// The tab that the session that asks means by a label, or by a short name such as t1.
pub(crate) fn tab_called(
    control: &Control,
    headers: &HeaderMap,
    browser: &str,
    word: &str,
) -> Option<TargetId> {
    control.listeners.ops().tab_called(&session(headers).unwrap_or_else(nobody), browser, word)
}

/// The fields of the op. Without a body there are none.
async fn input(request: Request) -> Result<Map<String, Value>, Failure> {
    if request.body().is_end_stream() {
        return Ok(Map::new());
    }
    let Body(mut input): Body<Map<String, Value>> = Body::from_request(request, &()).await?;
    for value in input.values_mut() {
        make_whole(value);
    }
    Ok(input)
}

/// 1000.0 is a whole number in JSON, and some programs write it so.
fn make_whole(value: &mut Value) {
    let number = value.as_f64().filter(|number| value.is_f64() && number.fract() == 0.0);
    if let Some(number) = number.filter(|number| (0.0..=f64::from(u32::MAX)).contains(number)) {
        *value = json!(number as u32);
    }
}

/// What the op says of itself, and beside it what it says to people.
fn data(output: Output) -> Value {
    let Output { data, text, page, media, changes } = output;
    let mut data = match data {
        Value::Object(data) => data,
        Value::Null => Map::new(),
        other => Map::from_iter([("value".to_owned(), other)]),
    };
    let is_in_a_file = data.get("file").is_some_and(Value::is_string);
    // The op's own members come first.
    let mut add = |name: &str, value: Value| {
        data.entry(name).or_insert(value);
    };
    add("text", json!(text));
    if let Some(page) = page {
        add("page", json!(page));
    }
    if !changes.is_empty() {
        // Not `changes`: there ops tell programs the same in members.
        add("happened", json!(changes));
    }
    if !media.is_empty() && !is_in_a_file {
        let encode = base64::engine::general_purpose::STANDARD;
        let media = media.iter().map(|media| json!({"mime": media.mime, "data": encode.encode(&media.data)}));
        add("media", media.collect());
    }
    Value::Object(data)
}

impl From<OpError> for Failure {
    fn from(error: OpError) -> Self {
        Self::new(problem::status(error.code), error.code.as_str(), &error.message, &error.hint)
            .with_all(error.details)
    }
}

#[cfg(test)]
mod tests {
    use bowline_ops::Media;

    use super::*;

    #[test]
    fn an_answer_has_the_ops_own_members_and_its_text() {
        let output = Output::new(json!({"url": "u"}), "words").from_page("u");
        assert_eq!(data(output), json!({"url": "u", "text": "words", "page": "u"}));
        let output = Output::new(json!({"text": "its own"}), "words");
        assert_eq!(data(output), json!({"text": "its own"}));
    }

    #[test]
    fn pictures_are_sent_unless_they_are_in_a_file() {
        let media = || Media { mime: "image/png", data: "ab".into() };
        let shot = data(Output::new(json!({}), "").with(media()));
        assert_eq!(shot["media"], json!([{"mime": "image/png", "data": "YWI="}]));
        let shot = data(Output::new(json!({"file": "/f.png"}), "").with(media()));
        assert_eq!(shot.get("media"), None);
    }

    #[test]
    fn whole_numbers_are_whole_however_they_are_written() {
        let whole = |mut value: Value| {
            make_whole(&mut value);
            value
        };
        assert_eq!(whole(json!(1000.0)), json!(1000));
        for value in [json!(0.5), json!(-1.0), json!(7), json!("1.0"), json!(1e300)] {
            assert_eq!(whole(value.clone()), value);
        }
    }

    #[test]
    fn sessions_have_names_or_are_the_default_one() {
        let mut headers = HeaderMap::new();
        assert_eq!(session(&headers), None);
        assert_eq!(nobody().as_str(), "default");
        headers.insert(SESSION, "Käse".parse().unwrap());
        assert_eq!(session(&headers).unwrap().as_str(), "Käse");
    }
}
