//! From a BiDi browser's network events to records.
//!
//! All hops of a redirected request have its id, and count up. A WebSocket is told as the request that opens it and
//! nothing else: neither its frames nor its end.

use std::collections::{HashMap, VecDeque};

use bowline_wire::SessionId;

use super::events::{NetworkEvent, Request, Response, headers};
use crate::recorder::record::{Initiator, NetworkRecord, Origin, RequestFailure, RequestState, Seq};
use crate::recorder::store::{Store, TabKey};

/// Requests that have ended and may yet be redirected.
const ENDED: usize = 256;

/// Where a request comes from.
pub(super) struct Sender<'a> {
    pub(super) tab: TabKey,
    pub(super) target: &'a str,
    pub(super) context: &'a str,
    pub(super) origin: Option<Origin>,
    /// The navigation that a record belongs to.
    pub(super) navigation: u32,
}

#[derive(Default)]
pub(super) struct Requests {
    under_way: HashMap<String, UnderWay>,
    /// Ids of those in `under_way` that have ended, oldest first.
    ended: VecDeque<String>,
}

struct UnderWay {
    tab: TabKey,
    context: String,
    navigation: Option<String>,
    /// The first of all hops.
    begun: f64,
    hop: Hop,
}

struct Hop {
    seq: Seq,
    count: u64,
    started: f64,
    is_socket: bool,
}

impl Requests {
    /// A request begins, or goes on to where it was redirected. Its number, if it is a new record.
    pub(super) fn sent(&mut self, store: &mut Store, from: &Sender<'_>, event: NetworkEvent) -> Option<Seq> {
        let id = event.request.request.clone();
        let before = self.under_way.get(&id);
        // Told again, by another who holds it.
        if before.is_some_and(|before| before.hop.count >= event.redirect_count) {
            return None;
        }
        let redirected_from = before.map(|before| before.hop.seq);
        let begun = before.map(|before| before.begun);
        let started = match event.request.timings.request_time {
            time if time > 0.0 => time,
            _ => event.timestamp,
        };
        let resource_type = resource_type(&event.request);
        let is_socket = resource_type == "WebSocket";
        let url = address(&event.request, is_socket);
        if let (Some(seq), Some(before)) = (redirected_from, before) {
            store.update_network(before.tab, seq, |record| record.redirected_to = Some(url.clone()));
        }
        let begins_navigation = event.navigation.is_some() && from.context == from.target;
        let record = NetworkRecord {
            request_id: id.clone(),
            tab: from.target.to_owned(),
            frame: Some(from.context.to_owned()),
            origin: from.origin.clone(),
            navigation: from.navigation + u32::from(begins_navigation),
            timestamp: started,
            url,
            method: event.request.method,
            resource_type: resource_type.to_owned(),
            headers: headers(event.request.headers),
            initiator: event.initiator.map(|initiator| Initiator {
                kind: initiator.kind,
                url: None,
                line_number: initiator.line_number,
                column_number: initiator.column_number,
            }),
            redirected_from,
            // By the context the browser is asked for the body.
            session: Some(SessionId::new(from.context)),
            ..NetworkRecord::default()
        };
        let seq = store.add_network(from.tab, record);
        let under_way = UnderWay {
            tab: from.tab,
            context: from.context.to_owned(),
            navigation: event.navigation,
            begun: begun.unwrap_or(started),
            hop: Hop { seq, count: event.redirect_count, started, is_socket },
        };
        self.ended.retain(|ended| *ended != id);
        self.under_way.insert(id, under_way);
        Some(seq)
    }

    pub(super) fn started(&mut self, store: &mut Store, event: NetworkEvent) {
        let Some(request) = self.current(&event) else { return };
        let timing = event.request.timings.since_request();
        let Some(response) = event.response else { return };
        store.update_network(request.tab, request.hop.seq, |record| {
            record.state = RequestState::Receiving;
            // By now they are as they were sent.
            record.headers = headers(event.request.headers);
            record.timing = timing;
            take_response(record, response);
        });
    }

    pub(super) fn completed(&mut self, store: &mut Store, event: NetworkEvent) {
        let Some(request) = self.current(&event) else { return };
        let (started, is_socket) = (request.hop.started, request.hop.is_socket);
        let timing = event.request.timings.since_request();
        let Some(response) = event.response else { return };
        let (received, body) = (response.bytes_received, response.body_size);
        store.update_network(request.tab, request.hop.seq, |record| {
            let is_open = is_socket && response.status == 101;
            if !is_open {
                record.state = RequestState::Finished;
                record.loading_finished = true;
                record.duration = Some((event.timestamp - started).max(0.0));
            }
            record.timing = timing;
            take_response(record, response);
            record.transfer_size = Some(received.max(0.0) as u64);
            // What it is when decompressed is not told.
            let is_plain = record.response_headers.get("content-encoding").is_none();
            record.body_size = body.filter(|_| is_plain).map(|size| size.max(0.0) as u64);
        });
        if !is_socket {
            self.end(event.request.request);
        }
    }

    pub(super) fn failed(&mut self, store: &mut Store, event: NetworkEvent) {
        let Some(request) = self.current(&event) else { return };
        let started = request.hop.started;
        store.update_network(request.tab, request.hop.seq, |record| {
            record.state = RequestState::Failed;
            record.loading_finished = true;
            record.duration = Some((event.timestamp - started).max(0.0));
            record.failure = Some(RequestFailure {
                canceled: event.error_text == "NS_BINDING_ABORTED",
                error_text: event.error_text,
                ..RequestFailure::default()
            });
        });
        self.end(event.request.request);
    }

    /// Whether more of its answer is to come.
    pub(super) fn is_under_way(&self, id: &str) -> bool {
        self.under_way.contains_key(id) && !self.ended.iter().any(|ended| ended == id)
    }

    /// When the document of a navigation was asked for.
    pub(super) fn begun(&self, navigation: &str) -> Option<f64> {
        let of_navigation = |request: &&UnderWay| request.navigation.as_deref() == Some(navigation);
        self.under_way.values().find(of_navigation).map(|request| request.begun)
    }

    /// A document has gone, and its WebSockets with it, of which nothing is told.
    pub(super) fn left(&mut self, store: &mut Store, context: &str) {
        let is_its = |request: &UnderWay| request.hop.is_socket && request.context == context;
        let ended = &self.ended;
        let open = self.under_way.iter().filter(|(id, request)| is_its(request) && !ended.contains(id));
        for (_, request) in open {
            store.update_network(request.tab, request.hop.seq, |record| {
                record.state = RequestState::Finished;
                record.loading_finished = true;
            });
        }
        self.under_way.retain(|_, request| !is_its(request));
        self.ended.retain(|id| self.under_way.contains_key(id));
    }

    /// A tab has closed: what was under way there will not end.
    pub(super) fn abandon(&mut self, store: &mut Store, tab: TabKey, reason: &str) {
        for (id, request) in &self.under_way {
            if request.tab != tab || self.ended.contains(id) {
                continue;
            }
            store.update_network(tab, request.hop.seq, |record| {
                record.state = RequestState::Failed;
                record.loading_finished = true;
                let error_text = reason.to_owned();
                record.failure = Some(RequestFailure { error_text, canceled: true, ..Default::default() });
            });
        }
        self.under_way.retain(|_, request| request.tab != tab);
        self.ended.retain(|id| self.under_way.contains_key(id));
    }

    /// The hop that an event is about.
    fn current(&self, event: &NetworkEvent) -> Option<&UnderWay> {
        let request = self.under_way.get(&event.request.request)?;
        (request.hop.count == event.redirect_count).then_some(request)
    }

    fn end(&mut self, id: String) {
        self.ended.push_back(id);
        if self.ended.len() > ENDED
            && let Some(oldest) = self.ended.pop_front()
        {
            self.under_way.remove(&oldest);
        }
    }
}

fn take_response(record: &mut NetworkRecord, response: Response) {
    record.status = Some(response.status);
    record.status_text = response.status_text;
    record.response_headers = headers(response.headers);
    // A head without a type has one that only Firefox knows.
    record.mime_type = match response.mime_type.as_str() {
        "application/x-unknown-content-type" => String::new(),
        _ => response.mime_type,
    };
    record.protocol = response.protocol;
    record.from_cache = response.from_cache.then(|| "disk".to_owned());
}

fn header<'a>(request: &'a Request, name: &str) -> Option<&'a str> {
    request.headers.iter().find_map(|header| header.text_of(name))
}

/// The kind of a request in CDP's words.
fn resource_type(request: &Request) -> &'static str {
    if header(request, "sec-websocket-key").is_some() {
        return "WebSocket";
    }
    match (request.destination.as_deref().unwrap_or_default(), request.initiator_type.as_deref()) {
        ("document" | "iframe" | "frame" | "embed" | "object", _) => "Document",
        ("script" | "worker" | "sharedworker" | "serviceworker" | "audioworklet" | "paintworklet", _) => {
            "Script"
        }
        ("style" | "xslt", _) => "Stylesheet",
        ("image", _) => "Image",
        ("font", _) => "Font",
        ("audio" | "video", _) => "Media",
        ("track", _) => "TextTrack",
        ("manifest", _) => "Manifest",
        ("report", _) => "CSPViolationReport",
        (_, Some("fetch")) => "Fetch",
        (_, Some("xmlhttprequest")) => "XHR",
        (_, Some("beacon")) => "Ping",
        _ if header(request, "accept").is_some_and(|kinds| kinds == "text/event-stream") => "EventSource",
        // A beacon, or the ping of a link.
        ("", None) if request.method == "POST" => "Ping",
        _ => "Other",
    }
}

/// Firefox tells a WebSocket by the address of the request that opens it.
fn address(request: &Request, is_socket: bool) -> String {
    match request.url.strip_prefix("http") {
        Some(rest) if is_socket => format!("ws{rest}"),
        _ => request.url.clone(),
    }
}

/// Whether a request may come only from sites that may be used.
pub(super) fn is_kept(request: &Request) -> bool {
    bowline_wire::origins::KEPT.contains(&resource_type(request))
}

#[cfg(test)]
mod tests;
