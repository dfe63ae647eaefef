//! The CDP door: `/json` discovery and the WebSockets, as a Chromium with a debugging port has them.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderName, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bowline_hub::Browser;
use bowline_hub::backend::{Spec, StartError};
use bowline_hub::browser::{ConnectError, OtherSpeech, Place};
use bowline_hub::registry::DEFAULT;
use bowline_hub::router::{CallError, Entry, Router};
use bowline_ops::AgentName;
use bowline_wire::TargetId;
use bowline_wire::cdp::{TargetInfo, TargetInfos};
use bowline_wire::discovery::{self, Base};
use bowline_wire::reply;
use serde_json::{Value, json};

use crate::extension::{self, NotClear};
use crate::guard;
use crate::listeners::Door;
use crate::pump;
use crate::route::Route;
use crate::slot::Seat;
use crate::upgrade::{self, Handshake};

const PATIENCE: Duration = Duration::from_secs(30);
/// The header that says in which agent's name a client comes.
const AGENT: &str = "x-bowline-agent";

pub(crate) async fn handle(State(door): State<Arc<Door>>, mut request: Request) -> Response {
    door.hub.touch();
    let path = request.uri().path().to_owned();
    let query = request.uri().query().map(str::to_owned);
    let route = Route::parse(&path);
    if route.rest == "/" && route.token.is_none() && route.browser.is_none() {
        // Chromium has an empty page here; a person who looks gets a word.
        return format!("bowline {}: a CDP endpoint. Try /json/version.\n", door.hub.version())
            .into_response();
    }
    let Some(wish) = Wish::of(&route) else { return StatusCode::NOT_FOUND.into_response() };
    let authorized = guard::is_authorized(door.hub.token(), route.token, request.headers(), query.as_deref());
    let name = match &wish {
        Wish::Own | Wish::Slot if !authorized => return wants_token(route.browser.unwrap_or_default()),
        Wish::Own | Wish::Slot => match own_name(&door, &route, query.as_deref(), &wish) {
            Ok(name) => name,
            Err(why) => return not_clear(why),
        },
        _ => route.browser.unwrap_or(&door.browser).to_owned(),
    };
    let Ok(browser) = door.hub.browser(&name) else {
        let message = format!("There is no browser named {name}. `bowline launch {name}` makes one.");
        return (StatusCode::NOT_FOUND, message).into_response();
    };
    // A wrong token is refused even where none is needed: it was meant for something.
    if !authorized && (route.token.is_some() || door.hub.needs_token(&browser)) {
        return wants_token(&name);
    }
    // Asked again of the browser that answers in the end: the name may stand for another one by then.
    let admit = |place: &Place| authorized || !(place.needs_token || door.hub.requires_token());
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let authority = host.unwrap_or_default().to_owned();
    // A token from the query goes on in the path, where the URLs that we hand out can have it.
    let prefix = match query.as_deref().and_then(guard::query_token) {
        Some(token) if authorized && route.token.is_none() => format!("/t/{token}{}", Route::prefix(&path)),
        _ => Route::prefix(&path).to_owned(),
    };
    let base = Base { authority: &authority, prefix: &prefix };
    match wish {
        Wish::Slot => answer(StatusCode::OK, door.slots.describe(&name).to_string()),
        Wish::Own => {
            socket(&door, &browser, SocketPath::Browser(None), &mut request, authorized, admit).await
        }
        Wish::Socket(path) => socket(&door, &browser, path, &mut request, authorized, admit).await,
        Wish::Malformed => answer(StatusCode::NOT_FOUND, format!("Malformed query: {}", route.rest)),
        Wish::Json(command, argument) => {
            let asked = Asked { command, argument, method: request.method(), query: query.as_deref() };
            json_command(&browser, &base, asked, admit).await
        }
    }
}

/// The browser that a path without one means, where it may be the user's own.
fn own_name(
    door: &Door,
    route: &Route<'_>,
    query: Option<&str>,
    wish: &Wish<'_>,
) -> Result<String, NotClear> {
    let in_query = words(query).find_map(|word| word.strip_prefix("browser="));
    let of_port = Some(door.browser.as_str()).filter(|name| *name != DEFAULT);
    if let Some(name) = route.browser.or(in_query).or(of_port) {
        return Ok(name.to_owned());
    }
    match extension::own_browser(&door.hub) {
        Err(NotClear::NonePaired) if *wish == Wish::Slot => Ok(DEFAULT.to_owned()),
        other => Ok(other?.name().to_owned()),
    }
}

fn not_clear(why: NotClear) -> Response {
    match why {
        NotClear::NonePaired => {
            let message = "No browser of yours is paired. `bowline extension install` tells how to begin.\n";
            (StatusCode::NOT_FOUND, message).into_response()
        }
        NotClear::Several(names) => {
            let message = format!("Which one? Add &browser=NAME; paired are: {}.\n", names.join(", "));
            (StatusCode::CONFLICT, message).into_response()
        }
    }
}

async fn socket(
    door: &Arc<Door>,
    browser: &Browser,
    path: SocketPath<'_>,
    request: &mut Request,
    authorized: bool,
    admit: impl Fn(&Place) -> bool,
) -> Response {
    let Some(handshake) = Handshake::of(request) else {
        // Chromium answers a plain request for a socket's path with an empty 200.
        return (StatusCode::OK, [(header::CONTENT_TYPE, "text/plain")]).into_response();
    };
    let agent = request.headers().get(header::USER_AGENT).and_then(|agent| agent.to_str().ok());
    let client = agent.unwrap_or("unnamed");
    // Said by what the hub itself has started for an agent, which has the token.
    let agent = request.headers().get(AGENT).filter(|_| authorized).and_then(|name| name.to_str().ok());
    let seat = match agent.map(|name| AgentName::new(&percent_decode(name))) {
        Some(agent) if door.slots.is_taken_by(browser.name(), &agent) => Ok(None),
        agent => door.slots.take(browser.name(), client, agent.as_ref()),
    };
    match seat {
        Ok(seat) => connect(door, browser, path, handshake, seat, admit).await,
        Err(occupant) => occupant.refusal(browser.name()),
    }
}

/// What a path asks for.
#[derive(Debug, PartialEq, Eq)]
enum Wish<'a> {
    /// `/json/COMMAND/ARGUMENT`.
    Json(&'a str, &'a str),
    Socket(SocketPath<'a>),
    /// `/cdp`: the user's own browser.
    Own,
    /// `/client-slot`.
    Slot,
    /// Begins like `/json` and is not.
    Malformed,
}

#[derive(Debug, PartialEq, Eq)]
enum SocketPath<'a> {
    Browser(Option<&'a str>),
    Page(&'a str),
    /// WebDriver BiDi.
    Session,
}

impl<'a> Wish<'a> {
    fn of(route: &Route<'a>) -> Option<Self> {
        let rest = route.rest;
        match rest {
            "/cdp" => return Some(Self::Own),
            "/client-slot" => return Some(Self::Slot),
            // A browser's name and no more.
            "" | "/" if route.browser.is_some() => return Some(Self::Socket(SocketPath::Browser(None))),
            "/session" => return Some(Self::Socket(SocketPath::Session)),
            _ => {}
        }
        if let Some(rest) = rest.strip_prefix("/devtools/") {
            return match rest.split_once('/') {
                None if rest == "browser" => Some(Self::Socket(SocketPath::Browser(None))),
                Some(("browser", id)) => Some(Self::Socket(SocketPath::Browser(Some(id)))),
                Some(("page", id)) => Some(Self::Socket(SocketPath::Page(id))),
                _ => None,
            };
        }
        let rest = rest.strip_prefix("/json")?;
        if rest.is_empty() {
            return Some(Self::Json("list", ""));
        }
        let Some(rest) = rest.strip_prefix('/') else { return Some(Self::Malformed) };
        let (command, argument) = rest.split_once('/').unwrap_or((rest, ""));
        Some(Self::Json(command, argument))
    }
}

async fn connect(
    door: &Arc<Door>,
    browser: &Browser,
    path: SocketPath<'_>,
    handshake: Handshake,
    seat: Option<Seat>,
    admit: impl Fn(&Place) -> bool,
) -> Response {
    let entry = match path {
        SocketPath::Session => return connect_bidi(door, browser, handshake, seat, admit).await,
        SocketPath::Browser(None) => Entry::Browser,
        SocketPath::Browser(Some(id)) if id == browser.id() => Entry::Browser,
        SocketPath::Browser(Some(_)) => return StatusCode::NOT_FOUND.into_response(),
        SocketPath::Page(id) => Entry::Page(TargetId::new(id)),
    };
    let client = match browser.connect_named(entry.clone(), &handshake.client, admit).await {
        Ok(client) => client,
        Err(ConnectError::NotStarted(error)) => return not_started(&error),
        Err(ConnectError::NotAdmitted) => return wants_token(browser.name()),
        Err(ConnectError::Speaks(other)) => return speaks_otherwise(browser.name(), other),
        Err(ConnectError::Gone) => return gone(&CallError::Closed),
        Err(ConnectError::Refused(error)) => {
            return match (error, entry) {
                (CallError::Refused { .. }, Entry::Page(target)) => {
                    // Chromium's own status for it.
                    answer(StatusCode::INTERNAL_SERVER_ERROR, format!("No such target id: {target}"))
                }
                (error, _) => gone(&error),
            };
        }
    };
    carry(door, handshake, seat, client)
}

/// The same for WebDriver BiDi.
async fn connect_bidi(
    door: &Arc<Door>,
    browser: &Browser,
    handshake: Handshake,
    seat: Option<Seat>,
    admit: impl Fn(&Place) -> bool,
) -> Response {
    match browser.connect_bidi(&handshake.client, admit).await {
        Ok(client) => carry(door, handshake, seat, client),
        Err(ConnectError::NotStarted(error)) => not_started(&error),
        Err(ConnectError::NotAdmitted) => wants_token(browser.name()),
        Err(ConnectError::Speaks(other)) => speaks_otherwise(browser.name(), other),
        Err(ConnectError::Gone | ConnectError::Refused(_)) => gone(&CallError::Closed),
    }
}

fn carry(
    door: &Arc<Door>,
    handshake: Handshake,
    seat: Option<Seat>,
    client: impl pump::Seated + 'static,
) -> Response {
    let (response, on_upgrade) = handshake.accept();
    let max_message = door.max_message;
    door.tasks.spawn(async move {
        let _seat = seat;
        match upgrade::socket(on_upgrade, max_message, Some(client.outbox())).await {
            Ok(socket) => pump::run(socket, client).await,
            Err(error) => tracing::debug!(%error, "a client left during its handshake"),
        }
    });
    response
}

struct Asked<'a> {
    command: &'a str,
    argument: &'a str,
    method: &'a Method,
    query: Option<&'a str>,
}

async fn json_command(
    browser: &Browser,
    base: &Base<'_>,
    asked: Asked<'_>,
    admit: impl Fn(&Place) -> bool,
) -> Response {
    // What needs no browser does not launch one.
    match asked.command {
        "version" | "list" | "protocol" | "activate" | "close" => {}
        "new" if asked.method == Method::PUT => {}
        "new" => {
            let message = format!(
                "Using unsafe HTTP verb {} to invoke /json/new. This action supports only PUT verb.",
                asked.method
            );
            return answer(StatusCode::METHOD_NOT_ALLOWED, message);
        }
        unknown => return answer(StatusCode::NOT_FOUND, format!("Unknown command: {unknown}")),
    }
    let place = match browser.ready().await {
        Ok(place) if admit(&place) => place,
        Ok(_) => return wants_token(browser.name()),
        Err(error) => return not_started(&error),
    };
    let router = match place.speech.router() {
        Ok(router) => router,
        Err(other) => return speaks_otherwise(browser.name(), other),
    };
    let snapshot = browser.snapshot();
    // A person's own browser refuses for reasons of its own, which Chromium does not have: they are told.
    let is_own = matches!(snapshot.spec, Spec::Extension(_));
    let version = snapshot.version.unwrap_or_default();
    let result = match asked.command {
        "version" => Ok(discovery::version(base, browser.id(), &version)),
        "protocol" => {
            return match browser.protocol().await {
                Ok(text) => ([(header::CONTENT_TYPE, JSON_TYPE)], text).into_response(),
                Err(error) => answer(StatusCode::NOT_FOUND, error.to_string()),
            };
        }
        "list" => list(router, base, &version.revision, asked.query).await,
        "new" => new(router, base, &version.revision, asked.query, is_own).await,
        "activate" => act(router, "Target.activateTarget", asked.argument, "Target activated").await,
        _ => act(router, "Target.closeTarget", asked.argument, "Target is closing").await,
    };
    match result {
        Ok(text) => answer(StatusCode::OK, text),
        Err(CallError::Refused { code: reply::SERVER_ERROR, message, .. }) if is_own => {
            answer(StatusCode::FORBIDDEN, message)
        }
        Err(CallError::Refused { .. }) => {
            answer(StatusCode::NOT_FOUND, format!("No such target id: {}", asked.argument))
        }
        Err(error) => gone(&error),
    }
}

async fn list(
    router: &Router,
    base: &Base<'_>,
    revision: &str,
    query: Option<&str>,
) -> Result<String, CallError> {
    let filter = if words(query).any(|word| word == "for_tab") {
        json!([{"type": "browser", "exclude": true}, {}])
    } else {
        json!([{"type": "browser", "exclude": true}, {"type": "tab", "exclude": true}, {}])
    };
    let found: TargetInfos = router.call("Target.getTargets", json!({"filter": filter}), PATIENCE).await?;
    Ok(discovery::list(base, revision, &found.target_infos))
}

async fn new(
    router: &Router,
    base: &Base<'_>,
    revision: &str,
    query: Option<&str>,
    is_own: bool,
) -> Result<String, CallError> {
    let for_tab = words(query).any(|word| word == "for_tab");
    let url = words(query).find(|word| *word != "for_tab" && !word.starts_with("token="));
    // The whole rest of the query is the page's URL, and may have an `&` of its own.
    let url = url.and_then(|first| query.and_then(|query| query.find(first).map(|start| &query[start..])));
    let url = url.map(|url| url.trim_end_matches("&for_tab")).map(percent_decode).unwrap_or_default();
    // Chromium opens a blank page for what is no URL.
    let url = if url.contains(':') { url } else { "about:blank".to_owned() };
    let created = match router.create_target(&url, for_tab, PATIENCE).await {
        Err(CallError::Refused { .. }) if !is_own => {
            router.create_target("about:blank", for_tab, PATIENCE).await?
        }
        other => other?,
    };
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Info {
        target_info: TargetInfo,
    }
    let params = json!({"targetId": created.target_id});
    let info: Info = router.call("Target.getTargetInfo", params, PATIENCE).await?;
    let mut info = info.target_info;
    // Chromium answers before anything is loaded: a page has no title yet, but tells where it is going;
    // a tab tells nothing.
    info.title = String::new();
    if for_tab {
        info.url = String::new();
    } else if info.url.is_empty() {
        info.url = url.replace(' ', "%20");
    }
    Ok(discovery::target(base, revision, &info))
}

async fn act(router: &Router, method: &'static str, target: &str, done: &str) -> Result<String, CallError> {
    router.call::<Value>(method, json!({"targetId": target}), PATIENCE).await?;
    Ok(done.to_owned())
}

fn words(query: Option<&str>) -> impl Iterator<Item = &str> {
    query.into_iter().flat_map(|query| query.split('&'))
}

fn percent_decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let hex = after.get(..2).filter(|_| first == b'%').and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

const JSON_TYPE: &str = "application/json; charset=UTF-8";
const FRAME_POLICY: (HeaderName, &str) = (header::CONTENT_SECURITY_POLICY, "frame-ancestors 'none'");

fn answer(status: StatusCode, body: impl Into<String>) -> Response {
    (status, [(header::CONTENT_TYPE, JSON_TYPE), FRAME_POLICY], body.into()).into_response()
}

fn wants_token(name: &str) -> Response {
    guard::unauthorized(&format!(
        "This browser wants the token. `bowline endpoint {name}` prints the URL that has it."
    ))
}

fn not_started(error: &StartError) -> Response {
    let body = format!("{}\nHint: {}\n", error.message, error.hint);
    let headers = [(header::CONTENT_TYPE, "text/plain; charset=UTF-8")];
    (StatusCode::SERVICE_UNAVAILABLE, headers, body).into_response()
}

/// The browser does not speak what was asked for; what does is named.
fn speaks_otherwise(name: &str, other: OtherSpeech) -> Response {
    let hint = match other {
        OtherSpeech::Bidi => format!(
            "connect a BiDi client to /b/{name}/session (Puppeteer: `protocol: 'webDriverBiDi'`), or use MCP, REST or the commands"
        ),
        OtherSpeech::Cdp => format!("connect a CDP client: `bowline endpoint {name}` prints the URL"),
    };
    let headers = [(header::CONTENT_TYPE, "text/plain; charset=UTF-8")];
    (StatusCode::NOT_IMPLEMENTED, headers, format!("{name}: {other}.\nHint: {hint}\n")).into_response()
}

fn gone(error: &CallError) -> Response {
    let headers = [(header::CONTENT_TYPE, "text/plain; charset=UTF-8")];
    (
        StatusCode::SERVICE_UNAVAILABLE,
        headers,
        format!("{error}\nHint: try again; the browser is started anew\n"),
    )
        .into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_as_chromium_reads_them() {
        let wish = |path: &'static str| Wish::of(&Route::parse(path));
        assert_eq!(wish("/json"), Some(Wish::Json("list", "")));
        assert_eq!(wish("/json/version/"), Some(Wish::Json("version", "")));
        assert_eq!(wish("/json/close/AB"), Some(Wish::Json("close", "AB")));
        assert_eq!(wish("/json/"), Some(Wish::Json("", "")));
        assert_eq!(wish("/jsonp"), Some(Wish::Malformed));
        assert_eq!(wish("/devtools/browser"), Some(Wish::Socket(SocketPath::Browser(None))));
        assert_eq!(wish("/devtools/page/A"), Some(Wish::Socket(SocketPath::Page("A"))));
        assert_eq!(wish("/devtools/worker/A"), None);
        assert_eq!(wish("/"), None);
        assert_eq!(wish("/t/abc"), None);
        assert_eq!(wish("/t/abc/b/work"), Some(Wish::Socket(SocketPath::Browser(None))));
        assert_eq!(wish("/cdp"), Some(Wish::Own));
        assert_eq!(wish("/b/work/client-slot"), Some(Wish::Slot));
    }

    #[test]
    fn percent_signs_are_decoded_and_stray_ones_kept() {
        assert_eq!(percent_decode("a%20b%2"), "a b%2");
        assert_eq!(percent_decode("100%zz"), "100%zz");
    }
}
