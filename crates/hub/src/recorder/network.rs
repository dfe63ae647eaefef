//! From the browser's network events to records.
//!
//! A request's events come on one session or on several (a frame's document begins at its parent), and
//! its extra information (the headers as they really were) before or after them. So what is under way is
//! kept by request id for the whole browser. A redirect ends one record and begins the next.

use std::collections::{HashMap, VecDeque};

use bowline_wire::SessionId;
use serde::Deserialize;

use super::events::{
    self, DataReceived, EventInitiator, EventSourceMessage, LoadingFailed, LoadingFinished, RequestExtraInfo,
    RequestRef, RequestWillBeSent, Response, ResponseExtraInfo, ResponseReceived, WebSocketAnswer,
    WebSocketClosed, WebSocketCreated, WebSocketFrame, WebSocketFrameError, WebSocketHandshake,
};
use super::record::{
    Direction, Headers, Initiator, NetworkRecord, Origin, RequestFailure, RequestState, Seq, StreamMessage,
};
use super::store::{Store, TabKey};

/// Requests that have ended and may still get extra information.
const ENDED: usize = 256;
/// Extra information about requests that have not been announced.
const EARLY: usize = 256;

/// Where a request comes from.
pub(super) struct Sender<'a> {
    pub(super) tab: TabKey,
    pub(super) target: &'a str,
    pub(super) session: &'a SessionId,
    pub(super) origin: Option<&'a Origin>,
    /// The navigation that a record belongs to.
    pub(super) navigation: u32,
    /// Whether the sender is the tab's page itself, whose documents begin navigations.
    pub(super) is_page: bool,
}

/// Bounds of one record.
#[derive(Debug, Clone)]
pub struct Caps {
    pub messages: usize,
    /// Bytes of one frame or event, and of the data that a request posts.
    pub text: usize,
}

pub(super) struct Requests {
    caps: Caps,
    under_way: HashMap<String, UnderWay>,
    /// Ids of those in `under_way` that have ended, oldest first.
    ended: VecDeque<String>,
    early: VecDeque<(String, Extra)>,
}

enum Extra {
    Request(Headers),
    Response(u16, Headers),
}

struct UnderWay {
    tab: TabKey,
    hops: Vec<Hop>,
    /// Milliseconds to add to the browser's clock, in milliseconds, for the time of day.
    offset: f64,
    /// Bytes of the body so far.
    received: f64,
    from_memory: bool,
}

struct Hop {
    seq: Seq,
    has_request_extra: bool,
    has_response_extra: bool,
    /// Known once the response is there.
    expects_extra: Option<bool>,
    /// The headers that extra information took the place of, for as long as it may turn out to be the next
    /// hop's.
    provisional: Option<Headers>,
    /// When it was sent, on the browser's clock in seconds.
    started: f64,
}

impl Requests {
    pub(super) fn new(caps: Caps) -> Self {
        Self { caps, under_way: HashMap::new(), ended: VecDeque::new(), early: VecDeque::new() }
    }

    /// Takes in one event of the domain `Network`. Events that do not concern the record are ignored.
    pub(super) fn event(&mut self, store: &mut Store, from: &Sender<'_>, method: &str, params: &str) {
        match method {
            "Network.requestWillBeSent" => self.with(params, |this, event| this.sent(store, from, event)),
            "Network.requestWillBeSentExtraInfo" => self.with(params, |this, event: RequestExtraInfo| {
                this.extra(store, event.request_id, Extra::Request(event.headers));
            }),
            "Network.responseReceivedExtraInfo" => self.with(params, |this, event: ResponseExtraInfo| {
                this.extra(store, event.request_id, Extra::Response(event.status_code, event.headers));
            }),
            "Network.responseReceived" => {
                self.with(params, |this, event| this.received(store, from, event));
            }
            "Network.requestServedFromCache" => self.with(params, |this, event: RequestRef| {
                if let Some(request) = this.under_way.get_mut(&event.request_id) {
                    request.from_memory = true;
                }
            }),
            "Network.dataReceived" => self.with(params, |this, event: DataReceived| {
                if let Some(request) = this.under_way.get_mut(&event.request_id) {
                    request.received += event.data_length;
                }
            }),
            "Network.loadingFinished" => self.with(params, |this, event| this.finished(store, event)),
            "Network.loadingFailed" => self.with(params, |this, event| this.failed(store, event)),
            "Network.webSocketCreated" => {
                self.with(params, |this, event| this.socket_created(store, from, event));
            }
            "Network.webSocketWillSendHandshakeRequest" => {
                self.with(params, |this, event| this.socket_asks(store, event));
            }
            "Network.webSocketHandshakeResponseReceived" => {
                self.with(params, |this, event| this.socket_answered(store, event));
            }
            "Network.webSocketFrameSent" => {
                self.with(params, |this, event| this.socket_frame(store, event, Direction::Sent));
            }
            "Network.webSocketFrameReceived" => {
                self.with(params, |this, event| this.socket_frame(store, event, Direction::Received));
            }
            "Network.webSocketFrameError" => self.with(params, |this, event: WebSocketFrameError| {
                let WebSocketFrameError { request_id, timestamp, error_message } = event;
                this.message(store, &request_id, timestamp, Direction::Received, "error", error_message);
            }),
            "Network.webSocketClosed" => self.with(params, |this, event| this.socket_closed(store, event)),
            "Network.eventSourceMessageReceived" => self.with(params, |this, event: EventSourceMessage| {
                let EventSourceMessage { request_id, timestamp, event_name, data } = event;
                this.message(store, &request_id, timestamp, Direction::Received, &event_name, data);
            }),
            _ => {}
        }
    }

    fn with<T: for<'de> Deserialize<'de>>(&mut self, params: &str, then: impl FnOnce(&mut Self, T)) {
        match events::read(params) {
            Ok(event) => then(self, event),
            Err(error) => tracing::debug!(%error, "a network event could not be read"),
        }
    }

    fn sent(&mut self, store: &mut Store, from: &Sender<'_>, event: RequestWillBeSent) {
        let id = event.request_id.clone();
        let offset = (event.wall_time - event.timestamp) * 1000.0;
        let mut redirected_from = None;
        match (self.under_way.get_mut(&id), &event.redirect_response) {
            (Some(request), Some(response)) => {
                redirected_from = request.hops.last().map(|hop| hop.seq);
                let to = full_url(&event);
                let has_extra = event.redirect_has_extra_info;
                let strayed = request.redirected(store, response, has_extra, event.timestamp, to);
                // It waits for the hop that begins now.
                self.early.extend(strayed.into_iter().map(|extra| (id.clone(), extra)));
            }
            // Told by a second session that takes part in the same request.
            (Some(_), None) => return,
            (None, _) => {}
        }
        let begins_navigation = from.is_page
            && event.resource_type == "Document"
            && event.request_id == event.loader_id
            && event.frame_id.as_deref() == Some(from.target);
        let mut record = NetworkRecord {
            url: full_url(&event),
            method: event.request.method,
            resource_type: event.resource_type,
            headers: event.request.headers,
            priority: event.request.initial_priority,
            initiator: Some(initiator(event.initiator)),
            redirected_from,
            frame: event.frame_id,
            ..self.begin(from, &id, event.wall_time * 1000.0)
        };
        if begins_navigation {
            record.navigation = from.navigation + 1;
        }
        record.post_data = event.request.post_data.map(|data| cut(data, self.caps.text).0);
        let seq = store.add_network(from.tab, record);
        self.note(store, id, from.tab, seq, event.timestamp, offset);
    }

    /// A record that has only begun.
    fn begin(&self, from: &Sender<'_>, id: &str, timestamp: f64) -> NetworkRecord {
        NetworkRecord {
            request_id: id.to_owned(),
            tab: from.target.to_owned(),
            origin: from.origin.cloned(),
            navigation: from.navigation,
            timestamp,
            session: Some(from.session.clone()),
            ..NetworkRecord::default()
        }
    }

    /// One more hop of a request is under way.
    fn note(&mut self, store: &mut Store, id: String, tab: TabKey, seq: Seq, started: f64, offset: f64) {
        let hop = Hop {
            seq,
            has_request_extra: false,
            has_response_extra: false,
            expects_extra: None,
            provisional: None,
            started,
        };
        let request = self.under_way.entry(id.clone()).or_insert_with(|| UnderWay {
            tab,
            hops: Vec::new(),
            offset,
            received: 0.0,
            from_memory: false,
        });
        request.hops.push(hop);
        request.received = 0.0;
        // What came before its request.
        let mut waiting = std::mem::take(&mut self.early);
        waiting.retain_mut(|(early, extra)| {
            if *early != id {
                return true;
            }
            let extra = std::mem::replace(extra, Extra::Request(Headers::default()));
            request.apply_extra(store, extra);
            false
        });
        self.early = waiting;
    }

    fn extra(&mut self, store: &mut Store, id: String, extra: Extra) {
        let left = match self.under_way.get_mut(&id) {
            Some(request) => request.apply_extra(store, extra),
            None => Some(extra),
        };
        if let Some(extra) = left {
            if self.early.len() >= EARLY {
                self.early.pop_front();
            }
            self.early.push_back((id, extra));
        }
    }

    fn received(&mut self, store: &mut Store, from: &Sender<'_>, event: ResponseReceived) {
        let Some(request) = self.under_way.get_mut(&event.request_id) else { return };
        let from_memory = request.from_memory;
        let Some(hop) = request.hops.last_mut() else { return };
        hop.expects_extra = Some(event.has_extra_info);
        hop.provisional = None;
        let has_extra = hop.has_response_extra;
        let (seq, tab) = (hop.seq, request.tab);
        store.update_network(tab, seq, |record| {
            record.state = RequestState::Receiving;
            record.session = Some(from.session.clone());
            if !event.resource_type.is_empty() {
                record.resource_type = event.resource_type;
            }
            take_response(record, event.response, has_extra);
            if from_memory {
                record.from_cache = Some("memory".to_owned());
            }
        });
    }

    fn finished(&mut self, store: &mut Store, event: LoadingFinished) {
        let Some(request) = self.under_way.get(&event.request_id) else { return };
        let Some(hop) = request.hops.last() else { return };
        let (started, received) = (hop.started, request.received);
        store.update_network(request.tab, hop.seq, |record| {
            record.state = RequestState::Finished;
            record.loading_finished = true;
            record.duration = Some(milliseconds(event.timestamp - started));
            record.transfer_size = Some(event.encoded_data_length.max(0.0) as u64);
            record.body_size = Some(received.max(0.0) as u64);
        });
        self.end(event.request_id);
    }

    fn failed(&mut self, store: &mut Store, event: LoadingFailed) {
        let Some(request) = self.under_way.get(&event.request_id) else { return };
        let Some(hop) = request.hops.last() else { return };
        let started = hop.started;
        let cors_error = event.cors_error_status.as_ref();
        let cors_error = cors_error.and_then(|status| status["corsError"].as_str()).map(str::to_owned);
        store.update_network(request.tab, hop.seq, |record| {
            record.state = RequestState::Failed;
            record.loading_finished = true;
            record.duration = Some(milliseconds(event.timestamp - started));
            record.failure = Some(RequestFailure {
                error_text: event.error_text,
                canceled: event.canceled,
                blocked_reason: event.blocked_reason,
                cors_error,
            });
        });
        self.end(event.request_id);
    }

    fn end(&mut self, id: String) {
        self.ended.push_back(id);
        if self.ended.len() > ENDED
            && let Some(oldest) = self.ended.pop_front()
        {
            self.under_way.remove(&oldest);
        }
    }

    fn socket_created(&mut self, store: &mut Store, from: &Sender<'_>, event: WebSocketCreated) {
        let record = NetworkRecord {
            url: event.url,
            method: "GET".to_owned(),
            resource_type: "WebSocket".to_owned(),
            initiator: Some(initiator(event.initiator)),
            ..self.begin(from, &event.request_id, super::now())
        };
        let seq = store.add_network(from.tab, record);
        self.note(store, event.request_id, from.tab, seq, 0.0, 0.0);
    }

    fn socket_asks(&mut self, store: &mut Store, event: WebSocketHandshake) {
        let Some(request) = self.under_way.get_mut(&event.request_id) else { return };
        request.offset = (event.wall_time - event.timestamp) * 1000.0;
        let Some(hop) = request.hops.last_mut() else { return };
        hop.started = event.timestamp;
        store.update_network(request.tab, hop.seq, |record| {
            record.timestamp = event.wall_time * 1000.0;
            record.headers = event.request.headers;
        });
    }

    fn socket_answered(&mut self, store: &mut Store, event: WebSocketAnswer) {
        let Some(request) = self.under_way.get(&event.request_id) else { return };
        let Some(hop) = request.hops.last() else { return };
        store.update_network(request.tab, hop.seq, |record| {
            record.state = RequestState::Receiving;
            record.status = Some(event.response.status);
            record.status_text = event.response.status_text;
            record.response_headers = event.response.headers;
            record.protocol = "http/1.1".to_owned();
        });
    }

    fn socket_frame(&mut self, store: &mut Store, event: WebSocketFrame, direction: Direction) {
        let kind = match event.response.opcode as i64 {
            1 => "text",
            8 => "close",
            _ => "binary",
        };
        let data = event.response.payload_data;
        self.message(store, &event.request_id, event.timestamp, direction, kind, data);
    }

    fn socket_closed(&mut self, store: &mut Store, event: WebSocketClosed) {
        let Some(request) = self.under_way.get(&event.request_id) else { return };
        let Some(hop) = request.hops.last() else { return };
        let started = hop.started;
        store.update_network(request.tab, hop.seq, |record| {
            let answered = record.status.is_some();
            record.state = if answered { RequestState::Finished } else { RequestState::Failed };
            record.loading_finished = true;
            if started > 0.0 {
                record.duration = Some(milliseconds(event.timestamp - started));
            }
            if !answered {
                let error_text = "the connection was closed before it was open".to_owned();
                record.failure = Some(RequestFailure { error_text, ..RequestFailure::default() });
            }
        });
        self.end(event.request_id);
    }

    fn message(
        &mut self,
        store: &mut Store,
        id: &str,
        timestamp: f64,
        direction: Direction,
        kind: &str,
        data: String,
    ) {
        let Some(request) = self.under_way.get(id) else { return };
        let Some(hop) = request.hops.last() else { return };
        let (data, truncated) = cut(data, self.caps.text);
        let timestamp = timestamp * 1000.0 + request.offset;
        let kind = if kind.is_empty() { "message" } else { kind }.to_owned();
        let most = self.caps.messages;
        store.update_network(request.tab, hop.seq, |record| {
            record.messages.push(StreamMessage { timestamp, direction, kind, data, truncated });
            if record.messages.len() > most {
                record.messages.remove(0);
                record.messages_dropped += 1;
            }
        });
    }

    /// When a request was sent: on the browser's clock in seconds, and in milliseconds since 1970.
    pub(super) fn begun(&self, id: &str) -> Option<(f64, f64)> {
        let request = self.under_way.get(id)?;
        let started = request.hops.first()?.started;
        Some((started, started * 1000.0 + request.offset))
    }

    /// A tab has closed: what was under way there will not end.
    pub(super) fn abandon(&mut self, store: &mut Store, tab: TabKey, reason: &str) {
        let ended: std::collections::HashSet<&String> = self.ended.iter().collect();
        for (id, request) in &self.under_way {
            let Some(hop) = request.hops.last().filter(|_| request.tab == tab && !ended.contains(id)) else {
                continue;
            };
            store.update_network(tab, hop.seq, |record| {
                record.state = RequestState::Failed;
                record.loading_finished = true;
                let error_text = reason.to_owned();
                record.failure = Some(RequestFailure { error_text, canceled: true, ..Default::default() });
            });
        }
        self.under_way.retain(|_, request| request.tab != tab);
        self.ended.retain(|id| self.under_way.contains_key(id));
    }
}

impl UnderWay {
    /// The last hop was answered. Gives back extra information that it had taken and that is not its own.
    fn redirected(
        &mut self,
        store: &mut Store,
        response: &Response,
        has_extra: bool,
        timestamp: f64,
        to: String,
    ) -> Vec<Extra> {
        let Some(hop) = self.hops.last_mut() else { return Vec::new() };
        hop.expects_extra = Some(has_extra);
        let (filled, started) = (hop.has_response_extra, hop.started);
        let provisional = hop.provisional.take().filter(|_| !has_extra);
        let mut strayed = Vec::new();
        store.update_network(self.tab, hop.seq, |record| {
            if let Some(headers) = provisional {
                strayed.push(Extra::Request(std::mem::replace(&mut record.headers, headers)));
            }
            if let Some(status) = record.status.take_if(|_| filled && !has_extra) {
                strayed.push(Extra::Response(status, std::mem::take(&mut record.response_headers)));
            }
            record.state = RequestState::Finished;
            record.loading_finished = true;
            record.duration = Some(milliseconds(timestamp - started));
            record.transfer_size = Some(response.encoded_data_length.max(0.0) as u64);
            record.body_size = Some(0);
            record.redirected_to = Some(to);
            take_response(record, response.clone(), filled && has_extra);
        });
        strayed
    }

    /// Puts extra information to the first hop that lacks it; what fits none is given back.
    fn apply_extra(&mut self, store: &mut Store, extra: Extra) -> Option<Extra> {
        let tab = self.tab;
        match extra {
            Extra::Request(headers) => {
                let lacks = |hop: &&mut Hop| !hop.has_request_extra && hop.expects_extra != Some(false);
                let Some(hop) = self.hops.iter_mut().find(lacks) else {
                    return Some(Extra::Request(headers));
                };
                hop.has_request_extra = true;
                let mut replaced = None;
                store.update_network(tab, hop.seq, |record| {
                    replaced = Some(std::mem::replace(&mut record.headers, headers));
                });
                hop.provisional = replaced.filter(|_| hop.expects_extra.is_none());
            }
            Extra::Response(status, headers) => {
                let lacks = |hop: &&mut Hop| !hop.has_response_extra && hop.expects_extra != Some(false);
                let Some(hop) = self.hops.iter_mut().find(lacks) else {
                    return Some(Extra::Response(status, headers));
                };
                hop.has_response_extra = true;
                store.update_network(tab, hop.seq, |record| {
                    record.status = Some(status);
                    record.response_headers = headers;
                });
            }
        }
        None
    }
}

fn take_response(record: &mut NetworkRecord, response: Response, has_extra: bool) {
    // The extra information has the status and the headers as they were sent.
    if !has_extra {
        record.status = Some(response.status);
        record.response_headers = response.headers;
    }
    record.status_text = response.status_text;
    record.mime_type = response.mime_type;
    record.protocol = response.protocol;
    record.remote_address = response.remote_ip.filter(|ip| !ip.is_empty()).map(|ip| {
        let ip = if ip.contains(':') && !ip.starts_with('[') { format!("[{ip}]") } else { ip };
        format!("{ip}:{}", response.remote_port.unwrap_or_default())
    });
    record.from_service_worker = response.from_service_worker;
    record.from_cache = if response.from_disk_cache {
        Some("disk".to_owned())
    } else if response.from_prefetch_cache {
        Some("prefetch".to_owned())
    } else {
        None
    };
    record.timing = response.timing;
}

fn initiator(from: EventInitiator) -> Initiator {
    let frame = from.stack.and_then(|stack| stack.call_frames.into_iter().next());
    let (url, line, column) = match frame {
        Some(frame) if from.url.is_none() => {
            (Some(frame.url), Some(frame.line_number), Some(frame.column_number))
        }
        _ => (
            from.url,
            from.line_number.map(|line| line as i64),
            from.column_number.map(|column| column as i64),
        ),
    };
    Initiator { kind: from.kind, url, line_number: line, column_number: column }
}

fn full_url(event: &RequestWillBeSent) -> String {
    match &event.request.url_fragment {
        Some(fragment) => format!("{}{fragment}", event.request.url),
        None => event.request.url.clone(),
    }
}

fn milliseconds(seconds: f64) -> f64 {
    (seconds * 1000.0).max(0.0)
}

/// The beginning of a text that is too long, and how many bytes were cut off.
pub(super) fn cut(mut text: String, limit: usize) -> (String, usize) {
    if text.len() <= limit {
        return (text, 0);
    }
    let mut end = limit;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let gone = text.len() - end;
    text.truncate(end);
    text.shrink_to_fit();
    (text, gone)
}

#[cfg(test)]
mod tests;
