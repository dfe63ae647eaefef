//! Requests as an HTTP Archive 1.2, with the additions that Chrome's own export makes (`_error`,
//! `_webSocketMessages`, ...), so that DevTools and the usual viewers open it.
//!
//! What the records do not tell is left out, or -1 where the format wants a number.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use serde_json::{Map, Value, json};

use super::record::{Direction, NetworkRecord, StreamMessage};

mod cookies;
mod date;
mod message;
mod params;
mod timings;

/// One navigation of a tab.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    pub id: String,
    pub title: String,
    /// Milliseconds since 1970.
    pub started: f64,
    /// Milliseconds after `started`.
    pub on_content_load: Option<f64>,
    pub on_load: Option<f64>,
    /// With `tab`, what its requests are known by.
    pub navigation: u32,
    pub tab: String,
}

/// The pages that a tab has shown.
pub fn pages_of(tab: &super::store::Tab) -> Vec<Page> {
    let page = |page: &super::store::PageMark| Page {
        id: format!("page_{}_{}", tab.key.0, page.navigation),
        title: if page.title.is_empty() { page.url.clone() } else { page.title.clone() },
        started: page.started,
        on_content_load: page.content_loaded,
        on_load: page.loaded,
        navigation: page.navigation,
        tab: tab.target.to_string(),
    };
    tab.pages.iter().map(page).collect()
}

/// `version` is ours, `browser` the browser's product, such as `Chrome/140.0.0.0`.
pub fn har(pages: &[Page], requests: &[NetworkRecord], version: &str, browser: Option<&str>) -> Value {
    let page_ids: HashMap<(&str, u32), &str> =
        pages.iter().map(|page| ((page.tab.as_str(), page.navigation), page.id.as_str())).collect();
    // A data: URL is its own answer; nothing was requested.
    let mut requests: Vec<&NetworkRecord> = requests.iter().filter(|record| !is_data(&record.url)).collect();
    requests.sort_by(|a, b| a.timestamp.total_cmp(&b.timestamp).then(a.seq.cmp(&b.seq)));
    let entries = requests.into_iter().map(|record| {
        let page = page_ids.get(&(record.tab.as_str(), record.navigation));
        entry(record, page.copied())
    });

    let mut log = json!({
        "version": "1.2",
        "creator": {"name": "Bowline", "version": version},
        "pages": pages.iter().map(page).collect::<Value>(),
        "entries": entries.collect::<Value>(),
    });
    if let Some(browser) = browser {
        let (name, version) = browser.split_once('/').unwrap_or((browser, ""));
        log["browser"] = json!({"name": name, "version": version});
    }
    json!({ "log": log })
}

fn page(page: &Page) -> Value {
    json!({
        "startedDateTime": date::iso(page.started),
        "id": page.id,
        "title": page.title,
        "pageTimings": {
            "onContentLoad": page.on_content_load.map_or(json!(-1), timings::number),
            "onLoad": page.on_load.map_or(json!(-1), timings::number),
        },
    })
}

fn entry(record: &NetworkRecord, page: Option<&str>) -> Value {
    let timings = timings::Timings::of(record);
    let mut entry = Map::new();
    let mut put = |name: &str, value: Value| entry.insert(name.to_owned(), value);
    if let Some(page) = page {
        put("pageref", json!(page));
    }
    put("startedDateTime", json!(date::iso(record.timestamp)));
    put("time", timings::number(timings.total()));
    put("request", message::request(record));
    put("response", message::response(record));
    put("cache", json!({}));
    put("timings", timings.json());
    if let Some(address) = &record.remote_address {
        let (ip, port) = ip_and_port(address);
        put("serverIPAddress", json!(ip));
        // The format lets a port name the connection, of which CDP's own number is not recorded.
        if let Some(port) = port {
            put("connection", json!(port.to_string()));
        }
    }
    put("_resourceType", json!(record.resource_type.to_lowercase()));
    if !record.priority.is_empty() {
        put("_priority", json!(record.priority));
    }
    if let Some(initiator) = &record.initiator {
        put("_initiator", json!(initiator));
    }
    if let Some(cache) = &record.from_cache {
        put("_fromCache", json!(cache));
    }
    if record.resource_type.eq_ignore_ascii_case("websocket") {
        put("_webSocketMessages", record.messages.iter().map(frame).collect());
    }
    Value::Object(entry)
}

fn frame(message: &StreamMessage) -> Value {
    let direction = match message.direction {
        Direction::Sent => "send",
        Direction::Received => "receive",
    };
    let (kind, opcode) = match message.kind.as_str() {
        "binary" => (direction, 2),
        "close" => (direction, 8),
        // No frame, but what DevTools writes for an error.
        "error" => ("error", -1),
        _ => (direction, 1),
    };
    json!({"type": kind, "time": message.timestamp / 1000.0, "opcode": opcode, "data": message.data})
}

fn is_data(url: &str) -> bool {
    url.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"))
}

/// `[::1]:443` taken apart; the format wants an IPv6 address without its brackets.
fn ip_and_port(address: &str) -> (String, Option<u16>) {
    if let Ok(address) = address.parse::<SocketAddr>() {
        return (address.ip().to_string(), Some(address.port()));
    }
    let bare = address.trim_start_matches('[').trim_end_matches(']');
    match bare.parse::<IpAddr>() {
        Ok(ip) => (ip.to_string(), None),
        Err(_) => (address.to_owned(), None),
    }
}

#[cfg(test)]
mod tests;
