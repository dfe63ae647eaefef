//! Tabs, and going somewhere in them.

use serde_json::{Value, json};

use super::act::{Act, only};
use crate::error::OpError;
use crate::ops::navigation::Until;
use crate::ops::wait::url_matcher;

input!(Nothing {});

/// A tab as results show it.
fn row(tab: &Value) -> Value {
    // Ops count from one, as people do; the bridge from zero, as browsers do.
    let index = tab["index"].as_u64().unwrap_or(1).saturating_sub(1);
    json!({"id": tab["tab"], "url": tab["url"], "title": tab["title"], "active": tab["current"],
        "windowId": tab["window"], "index": index})
}

pub(super) async fn get_tabs(act: &Act, _: Nothing) -> Result<Value, OpError> {
    let tabs = act.tabs(json!({"windows": true})).await?;
    Ok(tabs.iter().map(row).collect())
}

pub(super) async fn get_active_tab(act: &Act, _: Nothing) -> Result<Value, OpError> {
    Ok(only(&row(&act.here().await?), &["id", "url", "title", "windowId"]))
}

input!(CreateTab { url: Option<String> = "where to go (about:blank)" });

pub(super) async fn create_tab(act: &Act, payload: CreateTab) -> Result<Value, OpError> {
    let tabs = act.tabs(json!({"action": "new", "url": payload.url})).await?;
    let tab = tabs.into_iter().find(|tab| tab["current"] == json!(true)).unwrap_or_default();
    // The browser's list is late with titles.
    let title = act.data("get", json!({"what": "title"})).await?;
    Ok(json!({"success": true, "tabId": tab["tab"], "url": tab["url"], "title": title["value"]}))
}

pub(super) async fn close_tab(act: &Act, _: Nothing) -> Result<Value, OpError> {
    let tab = act.here().await?;
    act.tabs(json!({"action": "close", "tab": tab["id"]})).await?;
    Ok(json!({"success": true, "tabId": tab["tab"]}))
}

pub(super) async fn focus_tab(act: &Act, _: Nothing) -> Result<Value, OpError> {
    let tab = act.here().await?;
    act.tabs(json!({"action": "select", "tab": tab["id"], "front": true})).await?;
    Ok(json!({"success": true, "tabId": tab["tab"]}))
}

input!(FindTab { urlPattern: String = "part of the address, or with * for anything" });

pub(super) async fn find_tab_by_url(act: &Act, payload: FindTab) -> Result<Value, OpError> {
    let fits = url_matcher(&payload.urlPattern);
    let tabs = act.tabs(json!({"windows": true})).await?;
    let found = tabs.iter().filter(|tab| tab["url"].as_str().is_some_and(&fits));
    let matches: Vec<Value> = found.map(row).collect();
    let tab = matches.first().cloned().unwrap_or_default();
    Ok(
        json!({"found": !matches.is_empty(), "count": matches.len(), "matches": matches, "tab": tab, "tabId": tab["id"]}),
    )
}

input!(Navigate {
    url: String = "address",
    waitUntil: Option<Until> = "load, domcontentloaded, networkidle or commit",
});

pub(super) async fn navigate(act: &Act, payload: Navigate) -> Result<Value, OpError> {
    let until = payload.waitUntil.map(Until::as_str);
    let there = act.data("navigate", json!({"url": payload.url, "wait_until": until})).await?;
    Ok(arrived(&there))
}

pub(super) async fn go_back(act: &Act, _: Nothing) -> Result<Value, OpError> {
    Ok(arrived(&act.data("back", json!({})).await?))
}

pub(super) async fn go_forward(act: &Act, _: Nothing) -> Result<Value, OpError> {
    Ok(arrived(&act.data("forward", json!({})).await?))
}

fn arrived(there: &Value) -> Value {
    json!({"success": true, "tabId": there["tab"], "url": there["url"], "title": there["title"]})
}
