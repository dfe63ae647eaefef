//! A request over HTTP, with its redirects.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Event, Expected, Headers, START, STEP, headers, object};
use crate::stage::now;
use crate::text::{Text, any_text, word};

#[derive(Debug, Clone)]
pub(crate) struct Request {
    method: String,
    url: String,
    kind: &'static str,
    priority: &'static str,
    post: Option<Text>,
    /// Those that were redirected.
    redirects: Vec<Exchange>,
    last: Last,
}

/// A question and its answer.
#[derive(Debug, Clone)]
struct Exchange {
    headers: Headers,
    status: u16,
    answer: Headers,
    /// The headers as they really were, and the status.
    extra: Option<(Headers, u16, Headers)>,
    mime: String,
    size: u32,
}

#[derive(Debug, Clone)]
struct Last {
    exchange: Exchange,
    outcome: Outcome,
    /// Of a request that gets no answer: whether its real headers are told.
    tells_headers: bool,
    chunks: Vec<u16>,
    from_memory: bool,
    body: Option<(Text, bool)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Outcome {
    /// Nothing has come.
    Pending,
    /// The head of the answer has come.
    Answered,
    Finished,
    /// Before an answer came.
    Failed {
        canceled: bool,
    },
    /// While the answer came.
    Broken,
}

impl Outcome {
    fn has_answer(&self) -> bool {
        matches!(self, Self::Answered | Self::Finished | Self::Broken)
    }
}

fn exchange(status: impl Strategy<Value = u16> + Clone) -> impl Strategy<Value = Exchange> {
    let extra = prop::option::of((headers(), status.clone(), headers()));
    (headers(), status, headers(), extra, word(), 0..100_000_u32).prop_map(
        |(headers, status, answer, extra, mime, size)| Exchange {
            headers,
            status,
            answer,
            extra,
            mime,
            size,
        },
    )
}

fn last() -> impl Strategy<Value = Last> {
    let outcome = prop_oneof![
        1 => Just(Outcome::Pending),
        1 => Just(Outcome::Answered),
        4 => Just(Outcome::Finished),
        1 => any::<bool>().prop_map(|canceled| Outcome::Failed { canceled }),
        1 => Just(Outcome::Broken),
    ];
    let chunks = prop::collection::vec(any::<u16>(), 0..4);
    let body = prop::option::of((any_text(30), any::<bool>()));
    (exchange(200..600_u16), outcome, any::<bool>(), chunks, prop::bool::weighted(0.2), body).prop_map(
        |(exchange, outcome, tells_headers, chunks, from_memory, body)| Last {
            exchange,
            outcome,
            tells_headers,
            chunks,
            from_memory,
            body,
        },
    )
}

pub(super) fn request() -> impl Strategy<Value = Request> {
    let kinds = ["Document", "Fetch", "XHR", "Script", "Image"];
    let redirects = prop::collection::vec(exchange(301..309_u16), 0..3);
    (
        prop::sample::select(vec!["GET", "POST", "PUT", "DELETE"]),
        "http://[a-z]{1,8}\\.test/[a-z]{0,8}(#[a-z]{1,4})?",
        prop::sample::select(kinds.to_vec()),
        prop::sample::select(vec!["VeryLow", "Medium", "VeryHigh"]),
        prop::option::of(any_text(30)),
        redirects,
        last(),
    )
        .prop_map(|(method, url, kind, priority, post, redirects, last)| Request {
            method: method.to_owned(),
            url,
            kind,
            priority,
            post,
            redirects,
            last,
        })
}

fn body_text((text, base64): &(Text, bool)) -> (String, bool) {
    let plain = text.plain.clone();
    (if *base64 { BASE64_STANDARD.encode(plain) } else { plain }, *base64)
}

impl Request {
    /// What the browser has for whoever asks for the body.
    pub(super) fn body(&self) -> Option<(String, bool)> {
        self.last.body.as_ref().map(body_text)
    }

    /// Each hop has an address of its own.
    fn url_of(&self, hop: usize) -> String {
        let (address, fragment) = self.url.split_once('#').unwrap_or((&self.url, ""));
        let fragment = if fragment.is_empty() { String::new() } else { format!("#{fragment}") };
        format!("{address}?hop={hop}{fragment}")
    }

    fn will_be_sent(&self, id: &str, hop: usize, clock: f64, wall: f64) -> Event {
        let exchange = self.redirects.get(hop).unwrap_or(&self.last.exchange);
        let url = self.url_of(hop);
        let (address, fragment) =
            url.split_once('#').map_or((url.as_str(), None), |(url, rest)| (url, Some(rest)));
        let mut request = json!({
            "url": address, "method": self.method, "headers": object(&exchange.headers),
            "initialPriority": self.priority,
        });
        if let Some(fragment) = fragment {
            request["urlFragment"] = json!(format!("#{fragment}"));
        }
        let mut params = json!({
            "requestId": id, "loaderId": "L", "documentURL": address, "request": request,
            "timestamp": clock, "wallTime": wall + (clock - START), "type": self.kind, "frameId": "F",
            "initiator": {"type": "script", "url": "http://from.test/x.js", "lineNumber": 3, "columnNumber": 4},
            "redirectHasExtraInfo": false,
        });
        if let Some(before) = hop.checked_sub(1).and_then(|before| self.redirects.get(before)) {
            params["redirectHasExtraInfo"] = json!(before.extra.is_some());
            params["redirectResponse"] = response(before, &self.url_of(hop - 1));
        }
        let mut params = params.to_string();
        if let Some(post) = &self.post {
            // In the place of a member that is there already, so that half characters stay halves.
            let member = format!("\"request\":{{\"postData\":{},", post.json);
            params = params.replacen("\"request\":{", &member, 1);
        }
        ("Network.requestWillBeSent", params)
    }

    pub(super) fn events(&self, id: &str, picks: &mut impl Iterator<Item = u8>) -> Vec<Event> {
        let wall = now() / 1000.0;
        let mut clock = START;
        let mut main: Vec<(usize, Event)> = Vec::new();
        let hops = self.redirects.len() + 1;
        for hop in 0..hops {
            main.push((hop, self.will_be_sent(id, hop, clock, wall)));
            clock += STEP;
        }
        let hop = hops - 1;
        let last = &self.last;
        if last.from_memory {
            main.push((hop, ("Network.requestServedFromCache", json!({ "requestId": id }).to_string())));
        }
        if last.outcome.has_answer() {
            let params = json!({
                "requestId": id, "loaderId": "L", "timestamp": clock, "type": self.kind,
                "response": response(&last.exchange, &self.url_of(hop)),
                "hasExtraInfo": last.exchange.extra.is_some(), "frameId": "F",
            });
            main.push((hop, ("Network.responseReceived", params.to_string())));
            for length in &last.chunks {
                let params = json!({
                    "requestId": id, "timestamp": clock, "dataLength": length, "encodedDataLength": 1,
                });
                main.push((hop, ("Network.dataReceived", params.to_string())));
            }
        }
        clock += STEP;
        match &last.outcome {
            Outcome::Finished => {
                let size = last.exchange.size;
                let params = json!({"requestId": id, "timestamp": clock, "encodedDataLength": size});
                main.push((hop, ("Network.loadingFinished", params.to_string())));
            }
            Outcome::Failed { canceled } => main.push((hop, failed(id, clock, self.kind, *canceled))),
            Outcome::Broken => main.push((hop, failed(id, clock, self.kind, false))),
            Outcome::Pending | Outcome::Answered => {}
        }
        mixed(main, self.extras(id), picks)
    }

    /// The extra information of all hops, in the order in which it always comes.
    fn extras(&self, id: &str) -> Vec<(usize, Event)> {
        let mut extras = Vec::new();
        let exchanges = self.redirects.iter().chain([&self.last.exchange]).enumerate();
        for (hop, exchange) in exchanges {
            let Some((headers, status, answer)) = &exchange.extra else { continue };
            let is_answered = hop < self.redirects.len() || self.last.outcome.has_answer();
            if is_answered || self.last.tells_headers {
                let params = json!({"requestId": id, "associatedCookies": [], "headers": object(headers),
                    "connectTiming": {"requestTime": 1.0}});
                extras.push((hop, ("Network.requestWillBeSentExtraInfo", params.to_string())));
            }
            if is_answered {
                let params = json!({"requestId": id, "blockedCookies": [], "headers": object(answer),
                    "resourceIPAddressSpace": "Public", "statusCode": status});
                extras.push((hop, ("Network.responseReceivedExtraInfo", params.to_string())));
            }
        }
        extras
    }

    pub(super) fn expected(&self) -> Vec<Expected> {
        let mut all = Vec::new();
        for (hop, exchange) in self.redirects.iter().enumerate() {
            let mut fields = self.question(hop, exchange, exchange.extra.is_some());
            fields.extend(self.answer(exchange));
            fields.extend([
                ("state", json!("finished")),
                ("loadingFinished", json!(true)),
                ("redirectedTo", json!(self.url_of(hop + 1))),
                ("transferSize", json!(exchange.size)),
            ]);
            all.push(Expected { fields, duration: Some(STEP * 1000.0), body: None });
        }
        all.push(self.expected_last());
        all
    }

    fn expected_last(&self) -> Expected {
        let Last { exchange, outcome, tells_headers, chunks, from_memory, body } = &self.last;
        let has_answer = outcome.has_answer();
        let has_extra = exchange.extra.is_some() && (has_answer || *tells_headers);
        let mut fields = self.question(self.redirects.len(), exchange, has_extra);
        let state = match outcome {
            Outcome::Pending => "pending",
            Outcome::Answered => "receiving",
            Outcome::Finished => "finished",
            Outcome::Failed { .. } | Outcome::Broken => "failed",
        };
        let has_ended = !matches!(outcome, Outcome::Pending | Outcome::Answered);
        fields.extend([("state", json!(state)), ("loadingFinished", json!(has_ended))]);
        fields.push(("redirectedTo", Value::Null));
        if has_answer {
            fields.extend(self.answer(exchange));
            let cache = if *from_memory { json!("memory") } else { Value::Null };
            fields.push(("fromCache", cache));
        } else {
            fields.push(("status", Value::Null));
        }
        if *outcome == Outcome::Finished {
            let sum: u64 = chunks.iter().copied().map(u64::from).sum();
            fields.extend([("transferSize", json!(exchange.size)), ("bodySize", json!(sum))]);
        }
        let failure = match outcome {
            Outcome::Failed { canceled: true } => json!({"errorText": "net::ERR_X", "canceled": true}),
            Outcome::Failed { canceled: false } | Outcome::Broken => json!({"errorText": "net::ERR_X"}),
            _ => Value::Null,
        };
        fields.push(("failure", failure));
        let duration = has_ended.then_some(2.0 * STEP * 1000.0);
        // While it comes, too: the browser has what has come.
        let body = body.as_ref().filter(|_| has_answer).map(body_text);
        Expected { fields, duration, body }
    }

    fn question(&self, hop: usize, exchange: &Exchange, has_extra: bool) -> Vec<(&'static str, Value)> {
        let headers = match &exchange.extra {
            Some((headers, ..)) if has_extra => headers,
            _ => &exchange.headers,
        };
        vec![
            ("url", json!(self.url_of(hop))),
            ("method", json!(self.method)),
            ("type", json!(self.kind)),
            ("priority", json!(self.priority)),
            ("headers", object(headers)),
            ("frame", json!("F")),
            ("postData", json!(self.post.as_ref().map(|post| &post.plain))),
            (
                "initiator",
                json!({"type": "script", "url": "http://from.test/x.js", "lineNumber": 3, "columnNumber": 4}),
            ),
        ]
    }

    fn answer(&self, exchange: &Exchange) -> Vec<(&'static str, Value)> {
        let (status, headers) = match &exchange.extra {
            Some((_, status, answer)) => (*status, answer),
            None => (exchange.status, &exchange.answer),
        };
        // What has no headers does not say so.
        let headers = if headers.is_empty() { Value::Null } else { object(headers) };
        vec![
            ("status", json!(status)),
            ("statusText", json!("Text")),
            ("responseHeaders", headers),
            ("mimeType", json!(exchange.mime)),
            ("protocol", json!("h2")),
            ("remoteAddress", json!("[::1]:443")),
        ]
    }
}

fn response(exchange: &Exchange, url: &str) -> Value {
    json!({
        "url": url, "status": exchange.status, "statusText": "Text", "headers": object(&exchange.answer),
        "mimeType": exchange.mime, "charset": "", "connectionReused": false, "connectionId": 1,
        "remoteIPAddress": "::1", "remotePort": 443, "fromDiskCache": false, "fromServiceWorker": false,
        "encodedDataLength": exchange.size, "protocol": "h2", "securityState": "secure",
    })
}

fn failed(id: &str, clock: f64, kind: &str, canceled: bool) -> Event {
    let params = json!({
        "requestId": id, "timestamp": clock, "type": kind, "errorText": "net::ERR_X", "canceled": canceled,
    });
    ("Network.loadingFailed", params.to_string())
}

/// Puts the extra information in between. It comes from another process than the rest, so it may come
/// at any time after the hop before has been told of.
fn mixed(
    main: Vec<(usize, Event)>,
    extras: Vec<(usize, Event)>,
    picks: &mut impl Iterator<Item = u8>,
) -> Vec<Event> {
    let (mut main, mut extras) = (main.into_iter().peekable(), extras.into_iter().peekable());
    let mut events = Vec::new();
    let mut told = None;
    loop {
        let may_come = extras.peek().is_some_and(|(hop, _)| *hop == 0 || told >= Some(*hop - 1));
        let takes_extra = main.peek().is_none() || picks.next().unwrap_or_default().is_multiple_of(2);
        let next = if may_come && takes_extra { extras.next() } else { main.next() };
        match next {
            Some((hop, event)) => {
                if event.0 == "Network.requestWillBeSent" {
                    told = Some(hop);
                }
                events.push(event);
            }
            None => return events,
        }
    }
}
