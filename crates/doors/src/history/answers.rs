//! What is answered about the tabs that a path means, however it named them.

use std::time::{Duration, Instant};

use axum::http::StatusCode;
use axum::response::IntoResponse;
use bowline_hub::Hub;
use bowline_hub::recorder::record::{Body, NetworkRecord, RequestState, Seq};
use bowline_hub::recorder::store::{Kind, TabKey};
use bowline_hub::recorder::{filter, har, redact};

use super::Answer;
use super::follow::{self, What};
use super::model::{Cleared, ConsoleHistory, ExecuteRequest, Executed, Extent, NetworkHistory};
use super::query::{ConsoleQuery, HarQuery, NetworkQuery};
use super::scope::Scope;
use crate::control::{Control, success};
use crate::failure::{Failure, body_gone};

/// For a command of which nothing else is said.
const PATIENCE: Duration = Duration::from_secs(30);
const LONGEST: u64 = 600_000;
/// Bodies of one answer.
const BODIES: usize = 100;

pub(super) fn console(control: &Control, scope: Scope, query: ConsoleQuery) -> Answer {
    let filter = query.filter()?;
    let hub = &control.hub;
    if query.follow {
        let since = query.since.unwrap_or_default();
        return Ok(follow::follow(hub.clone(), scope, What::Console(filter), since, query.client));
    }
    let mut store = hub.recorder().store();
    let keys = scope.keys(&store);
    let looks = first_looks(&mut store, &keys, query.client.as_deref());
    let mut extent = extent_of(hub, &store);
    let mut messages = Vec::new();
    for (key, look) in looks {
        let Some(tab) = store.tab(key) else { continue };
        extent.total += tab.console.len();
        extent.dropped += tab.console_dropped;
        let fitting = tab.console.iter().filter(|record| filter.matches(record));
        messages.extend(fitting.map(|record| {
            let mut record = record.clone();
            record.historical = Some(record.seq <= look);
            record
        }));
    }
    messages.sort_by_key(|record| record.seq);
    let messages = filter::keep_latest(messages, filter.max);
    extent.historical = messages.iter().filter(|record| record.historical == Some(true)).count();
    Ok(success(ConsoleHistory { messages, extent }))
}

pub(super) async fn network(control: &Control, scope: Scope, query: NetworkQuery) -> Answer {
    let filter = query.filter()?;
    let hub = &control.hub;
    if query.follow {
        let since = query.since.unwrap_or_default();
        let what = What::Network { filter, reveal: query.reveal };
        return Ok(follow::follow(hub.clone(), scope, what, since, query.client));
    }
    let (mut requests, mut extent) = {
        let mut store = hub.recorder().store();
        let keys = scope.keys(&store);
        let looks = first_looks(&mut store, &keys, query.client.as_deref());
        let mut extent = extent_of(hub, &store);
        let mut requests = Vec::new();
        for (key, look) in looks {
            let Some(tab) = store.tab(key) else { continue };
            extent.total += tab.network.len();
            extent.dropped += tab.network_dropped;
            let fitting = tab.network.iter().filter(|record| filter.matches(record));
            requests.extend(fitting.map(|record| {
                let mut record = record.clone();
                record.historical = Some(record.seq <= look);
                record
            }));
        }
        requests.sort_by_key(|record| record.seq);
        (filter::keep_latest(requests, filter.max), extent)
    };
    extent.historical = requests.iter().filter(|record| record.historical == Some(true)).count();
    if query.include_response_body {
        if requests.len() > BODIES {
            let message = format!("{} requests fit; bodies come with at most {BODIES}", requests.len());
            let hint = "narrow the filter, or ask for the latest with `max`";
            return Err(Failure::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", &message, hint));
        }
        add_bodies(hub, scope.browser(), &mut requests).await;
    }
    if !query.reveal {
        requests.iter_mut().for_each(redact::redact);
    }
    Ok(success(NetworkHistory { requests, extent }))
}

fn first_looks(
    store: &mut bowline_hub::recorder::store::Store,
    keys: &[TabKey],
    client: Option<&str>,
) -> Vec<(TabKey, Seq)> {
    keys.iter().map(|key| (*key, store.first_look(*key, client))).collect()
}

fn extent_of(hub: &Hub, store: &bowline_hub::recorder::store::Store) -> Extent {
    Extent { lost: hub.recorder().lost(), latest: store.last_seq(), ..Extent::default() }
}

/// What the browser still has; the others stay without.
async fn add_bodies(hub: &Hub, browser: &str, requests: &mut [NetworkRecord]) {
    for record in requests.iter_mut().filter(|record| may_have_body(record).is_ok()) {
        if let Some(session) = record.session.clone() {
            record.response_body = hub.recorder().body(browser, &session, &record.request_id).await.ok();
        }
    }
}

fn may_have_body(record: &NetworkRecord) -> Result<(), &'static str> {
    if record.redirected_to.is_some() {
        return Err("a redirect has no body of its own");
    }
    match record.state {
        RequestState::Pending => Err("there is no answer yet"),
        RequestState::Failed if record.status.is_none() => Err("the request failed"),
        _ if record.resource_type == "WebSocket" => Err("a WebSocket has frames, not a body"),
        _ => Ok(()),
    }
}

pub(super) async fn body(control: &Control, scope: Scope, request: &str) -> Answer {
    let hub = &control.hub;
    let (browser, record) = {
        let store = hub.recorder().store();
        let tabs = scope.keys(&store).into_iter().filter_map(|key| store.tab(key));
        let seq = request.parse::<Seq>().ok();
        let mut found = None;
        for tab in tabs {
            // The last hop of a redirected request is the one with a body.
            let record = match seq {
                Some(seq) => tab.request(seq),
                None => tab.network.iter().rev().find(|record| record.request_id == request),
            };
            found =
                found.or_else(|| record.map(|record| (tab.browser.clone(), tab.is_open(), record.clone())));
        }
        let (browser, is_open, record) = found.ok_or_else(|| no_such_request(request))?;
        may_have_body(&record).map_err(body_gone)?;
        if !is_open {
            return Err(body_gone("its tab has closed"));
        }
        (browser, record)
    };
    let session = record.session.ok_or_else(|| body_gone("it was recorded by an earlier hub"))?;
    let body: Body = hub.recorder().body(&browser, &session, &record.request_id).await?;
    Ok(success(body))
}

fn no_such_request(request: &str) -> Failure {
    let message = format!("there is no request `{request}`");
    let hint = "`bowline network` lists them by number; old ones may have been dropped";
    Failure::new(StatusCode::NOT_FOUND, "no_such_request", &message, hint)
}

pub(super) async fn har(control: &Control, scope: Scope, query: HarQuery) -> Answer {
    let hub = &control.hub;
    let (pages, mut requests) = {
        let store = hub.recorder().store();
        let (mut pages, mut requests) = (Vec::new(), Vec::new());
        for tab in scope.keys(&store).into_iter().filter_map(|key| store.tab(key)) {
            pages.extend(har::pages_of(tab));
            requests.extend(tab.network.iter().cloned());
        }
        (pages, requests)
    };
    requests.sort_by_key(|record: &NetworkRecord| record.seq);
    if query.bodies {
        add_bodies(hub, scope.browser(), &mut requests).await;
    }
    if !query.reveal {
        requests.iter_mut().for_each(redact::redact);
    }
    let version = hub.browser(scope.browser()).ok().and_then(|browser| browser.snapshot().version);
    let product = version.map(|version| version.product);
    let har = har::har(&pages, &requests, hub.version(), product.as_deref());
    Ok(if query.raw { axum::Json(har).into_response() } else { success(har) })
}

pub(super) fn clear(control: &Control, scope: &Scope, kind: Kind) -> Answer {
    let mut store = control.hub.recorder().store();
    let keys = scope.keys(&store);
    let count = keys.into_iter().map(|key| store.clear(key, kind)).sum();
    Ok(success(match kind {
        Kind::Console => Cleared { console: count, network: 0 },
        Kind::Network => Cleared { console: 0, network: count },
    }))
}

pub(super) fn patience(timeout: Option<u64>) -> Result<Duration, Failure> {
    match timeout {
        None => Ok(PATIENCE),
        Some(milliseconds @ 1..=LONGEST) => Ok(Duration::from_millis(milliseconds)),
        Some(other) => Err(Failure::bad_request(
            &format!("timeout: {other} is not between 1 and {LONGEST} milliseconds"),
            "leave it out for 30 seconds",
        )),
    }
}

pub(super) async fn execute(
    hub: &Hub,
    place: &bowline_hub::browser::Place,
    target: Option<&bowline_wire::TargetId>,
    request: ExecuteRequest,
) -> Result<Executed, Failure> {
    let within = patience(request.timeout)?;
    if request.method.is_empty() || !request.method.is_ascii() {
        let hint = "name a CDP command, such as Page.reload, or of a Firefox one of BiDi, such as browsingContext.reload";
        return Err(Failure::bad_request("method: is not the name of a command", hint));
    }
    let params = request.params.as_deref();
    if params.is_some_and(|params| !params.get().starts_with('{')) {
        return Err(Failure::bad_request("params: must be an object", "leave it out if there are none"));
    }
    hub.touch();
    let begun = Instant::now();
    let result = place.speech.execute(target, &request.method, params, within).await?;
    Ok(Executed { result, execution_time: milliseconds(begun) })
}

pub(super) fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}
