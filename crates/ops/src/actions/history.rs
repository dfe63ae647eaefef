//! What the recorder remembers of a tab, and what sites keep in the browser.

use regex::Regex;
use serde_json::{Map, Value, json};

use super::act::Act;
pub(super) use super::tabs::Nothing;
use crate::error::OpError;

/// More than the recorder keeps.
const ALL: u64 = 1_000_000;

input!(Filter {
    filter: Option<String> = "text or regular expression; for logs also a level: error, warn, info, log, debug",
    clear: Option<bool> = "forget all of them after",
});

/// A filter as a test of texts. What is no regular expression is a text.
fn pattern(filter: &str) -> Regex {
    let compile = |text: &str| bowline_hub::recorder::filter::pattern(&format!("(?i){text}"));
    match compile(filter).or_else(|_| compile(&regex::escape(filter))) {
        Ok(pattern) => pattern,
        // A text that is too long for a pattern is in no message.
        Err(_) => Regex::new("$^").unwrap_or_else(|_| unreachable!("a pattern that fits nothing")),
    }
}

/// The level that a filter names.
pub(super) fn level(filter: &str) -> Option<&'static str> {
    Some(match filter.trim().to_lowercase().as_str() {
        "error" | "errors" => "error",
        "warn" | "warning" | "warnings" => "warn",
        "info" => "info",
        "log" => "log",
        "debug" | "verbose" => "debug",
        _ => return None,
    })
}

/// How often each word occurs.
fn counts<'a>(words: impl Iterator<Item = &'a str>) -> Value {
    let mut counts: Map<String, Value> = Map::new();
    for word in words {
        let before = counts.get(word).and_then(Value::as_u64).unwrap_or_default();
        counts.insert(word.to_owned(), json!(before + 1));
    }
    Value::Object(counts)
}

pub(super) async fn get_console_logs(act: &Act, payload: Filter) -> Result<Value, OpError> {
    let mut data = act.data("console", json!({"max": ALL, "clear": payload.clear})).await?;
    let mut logs: Vec<Value> = data["messages"].as_array_mut().map(std::mem::take).unwrap_or_default();
    match payload.filter.as_deref() {
        None | Some("" | "all") => {}
        Some(filter) => match level(filter) {
            Some(level) => logs.retain(|log| log["type"] == json!(level)),
            None => {
                let pattern = pattern(filter);
                logs.retain(|log| log["text"].as_str().is_some_and(|text| pattern.is_match(text)));
            }
        },
    }
    let types = counts(logs.iter().filter_map(|log| log["type"].as_str()));
    Ok(json!({"count": logs.len(), "types": types, "logs": logs}))
}

pub(super) async fn get_network_requests(act: &Act, payload: Filter) -> Result<Value, OpError> {
    let mut data = act.data("network", json!({"max": ALL, "clear": payload.clear})).await?;
    let mut requests: Vec<Value> = data["requests"].as_array_mut().map(std::mem::take).unwrap_or_default();
    if let Some(filter) = payload.filter.as_deref().filter(|filter| !matches!(*filter, "" | "all")) {
        let pattern = pattern(filter);
        let fits = |request: &Value, member: &str| {
            request[member].as_str().is_some_and(|text| pattern.is_match(text))
        };
        requests.retain(|request| {
            // By address, or by what it is: `fetch`, `POST`.
            let is_named =
                |member| request[member].as_str().is_some_and(|text| text.eq_ignore_ascii_case(filter));
            fits(request, "url") || is_named("type") || is_named("method")
        });
    }
    let statuses: Vec<String> = requests
        .iter()
        .filter_map(|request| request["status"].as_u64())
        .map(|status| status.to_string())
        .collect();
    let failed = requests.iter().filter(|request| {
        !request["failure"].is_null() || request["status"].as_u64().is_some_and(|status| status >= 400)
    });
    let summary = json!({"total": requests.len(), "failed": failed.count(),
        "byType": counts(requests.iter().filter_map(|request| request["type"].as_str())),
        "byMethod": counts(requests.iter().filter_map(|request| request["method"].as_str())),
        "byStatus": counts(statuses.iter().map(String::as_str))});
    Ok(json!({"count": requests.len(), "summary": summary, "requests": requests}))
}

input!(StorageKey { key: Option<String> = "only this one" });

pub(super) async fn get_local_storage(act: &Act, payload: StorageKey) -> Result<Value, OpError> {
    let kept = act.data("storage", json!({"kind": "local", "get": payload.key})).await?;
    let domain = domain(kept["origin"].as_str().unwrap_or_default());
    Ok(json!({"success": true, "items": kept["items"], "count": kept["count"], "domain": domain}))
}

/// The host of an origin.
pub(super) fn domain(origin: &str) -> &str {
    let host = origin.split_once("://").map_or(origin, |(_, host)| host);
    match host.strip_prefix('[').and_then(|rest| rest.find(']')) {
        Some(end) => &host[..end + 2],
        None => host.split(':').next().unwrap_or_default(),
    }
}

pub(super) async fn get_cookies(act: &Act, _: Nothing) -> Result<Value, OpError> {
    Ok(act.data("cookies", json!({"action": "list"})).await?["cookies"].take())
}
