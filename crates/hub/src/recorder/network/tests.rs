use serde_json::{Value, json};

use super::*;
use crate::recorder::archive::Count;
use crate::recorder::store::tests::page;

struct Scene {
    store: Store,
    requests: Requests,
    tab: TabKey,
    session: SessionId,
}

fn scene() -> Scene {
    let mut store = Store::new(crate::fake::quiet_recorder().bounds, Count::default());
    let (tab, _) = store.open("default", &page("T", "http://a.test/"), 0.0);
    let requests = Requests::new(Caps { messages: 3, text: 10 });
    Scene { store, requests, tab, session: SessionId::new("S") }
}

impl Scene {
    fn hear(&mut self, method: &str, params: Value) {
        let from = Sender {
            tab: self.tab,
            target: "T",
            session: &self.session,
            origin: None,
            navigation: 4,
            is_page: true,
        };
        self.requests.event(&mut self.store, &from, method, &params.to_string());
    }

    fn records(&self) -> Vec<&NetworkRecord> {
        self.store.tab(self.tab).unwrap().network.iter().collect()
    }

    fn sent(&mut self, id: &str, url: &str, redirect: Option<Value>) {
        let mut params = json!({"requestId": id, "loaderId": "L", "request": {"url": url, "method": "GET", "headers": {"Plain": "1"}},
            "timestamp": 10.0, "wallTime": 1000.0, "initiator": {"type": "script"}, "type": "Fetch", "frameId": "T"});
        if let Some(response) = redirect {
            params["redirectResponse"] = response;
            params["redirectHasExtraInfo"] = json!(true);
        }
        self.hear("Network.requestWillBeSent", params);
    }

    fn extra(&mut self, id: &str, side: &str, mark: &str) {
        let params =
            json!({"requestId": id, "headers": {"Mark": mark}, "statusCode": mark.parse().unwrap_or(200)});
        self.hear(&format!("Network.{side}ExtraInfo"), params);
    }
}

fn response(status: u16) -> Value {
    json!({"status": status, "statusText": "", "headers": {"Seen": "by the page"}, "mimeType": "text/html", "encodedDataLength": 5})
}

#[test]
fn a_request_is_followed_from_its_beginning_to_its_end() {
    let mut scene = scene();
    scene.sent("1", "http://a.test/x", None);
    scene.extra("1", "requestWillBeSent", "asked");
    scene.hear(
        "Network.responseReceived",
        json!({"requestId": "1", "response": response(200), "hasExtraInfo": true, "type": "Fetch"}),
    );
    scene.extra("1", "responseReceived", "200");
    scene.hear("Network.dataReceived", json!({"requestId": "1", "dataLength": 7, "encodedDataLength": 0}));
    scene.hear("Network.dataReceived", json!({"requestId": "1", "dataLength": 4, "encodedDataLength": 0}));
    scene.hear(
        "Network.loadingFinished",
        json!({"requestId": "1", "timestamp": 10.25, "encodedDataLength": 99}),
    );
    let record = scene.records()[0];
    assert_eq!(
        (record.status, record.state, record.loading_finished),
        (Some(200), RequestState::Finished, true)
    );
    assert_eq!((record.body_size, record.transfer_size, record.duration), (Some(11), Some(99), Some(250.0)));
    assert_eq!(
        (record.headers.get("mark"), record.response_headers.get("mark")),
        (Some("asked"), Some("200"))
    );
    assert_eq!((record.timestamp, record.navigation), (1_000_000.0, 4));
}

#[test]
fn each_hop_of_a_redirect_is_a_record_with_its_own_extra_information() {
    // The extra information comes before, between or after the events it belongs to.
    for early in [true, false] {
        let mut scene = scene();
        let extras = |scene: &mut Scene| {
            for (asked, answered) in [("first", "302"), ("second", "200")] {
                scene.extra("1", "requestWillBeSent", asked);
                scene.extra("1", "responseReceived", answered);
            }
        };
        if early {
            scene.sent("1", "http://a.test/from", None);
            extras(&mut scene);
        } else {
            scene.sent("1", "http://a.test/from", None);
        }
        scene.sent("1", "http://a.test/to", Some(response(302)));
        scene.hear(
            "Network.responseReceived",
            json!({"requestId": "1", "response": response(200), "hasExtraInfo": true}),
        );
        if !early {
            extras(&mut scene);
        }
        let records = scene.records();
        assert_eq!(records.len(), 2);
        let hops: Vec<_> = records
            .iter()
            .map(|record| (record.status, record.headers.get("Mark"), record.response_headers.get("Mark")))
            .collect();
        assert_eq!(
            hops,
            [(Some(302), Some("first"), Some("302")), (Some(200), Some("second"), Some("200"))],
            "{early}"
        );
        assert_eq!(records[0].redirected_to.as_deref(), Some("http://a.test/to"));
        assert_eq!(records[1].redirected_from, Some(records[0].seq));
    }
}

#[test]
fn extra_information_that_comes_before_its_request_is_not_lost() {
    let mut scene = scene();
    scene.extra("9", "requestWillBeSent", "early");
    scene.sent("9", "http://a.test/", None);
    assert_eq!(scene.records()[0].headers.get("Mark"), Some("early"));
}

#[test]
fn a_request_that_a_second_session_tells_of_is_one_record() {
    let mut scene = scene();
    scene.sent("1", "http://a.test/w.js", None);
    scene.sent("1", "http://a.test/w.js", None);
    assert_eq!(scene.records().len(), 1);
}

#[test]
fn a_document_belongs_to_the_navigation_that_it_begins() {
    let mut scene = scene();
    scene.hear("Network.requestWillBeSent", json!({"requestId": "L", "loaderId": "L", "type": "Document", "frameId": "T",
        "request": {"url": "http://a.test/", "urlFragment": "#there", "method": "GET", "headers": {}}, "timestamp": 1, "wallTime": 2, "initiator": {"type": "other"}}));
    assert_eq!((scene.records()[0].navigation, scene.records()[0].url.as_str()), (5, "http://a.test/#there"));
    assert_eq!(scene.requests.begun("L"), Some((1.0, 2000.0)));
}

#[test]
fn failures_say_why_and_what_a_closing_tab_leaves_is_one() {
    let mut scene = scene();
    scene.sent("1", "http://a.test/1", None);
    scene.hear(
        "Network.loadingFailed",
        json!({"requestId": "1", "timestamp": 11, "type": "Fetch", "errorText": "net::ERR_FAILED",
        "blockedReason": "csp", "corsErrorStatus": {"corsError": "MissingAllowOriginHeader"}}),
    );
    scene.sent("2", "http://a.test/2", None);
    let Scene { store, requests, tab, .. } = &mut scene;
    requests.abandon(store, *tab, "the tab was closed");
    let failures: Vec<_> = scene.records().iter().map(|record| record.failure.clone().unwrap()).collect();
    assert_eq!(failures[0].blocked_reason.as_deref(), Some("csp"));
    assert_eq!(failures[0].cors_error.as_deref(), Some("MissingAllowOriginHeader"));
    assert_eq!((failures[1].error_text.as_str(), failures[1].canceled), ("the tab was closed", true));
}

#[test]
fn frames_of_a_socket_are_kept_within_bounds() {
    let mut scene = scene();
    scene.hear("Network.webSocketCreated", json!({"requestId": "1", "url": "ws://a.test/"}));
    scene.hear(
        "Network.webSocketWillSendHandshakeRequest",
        json!({"requestId": "1", "timestamp": 5, "wallTime": 1000, "request": {"headers": {"A": "b"}}}),
    );
    scene.hear("Network.webSocketHandshakeResponseReceived", json!({"requestId": "1", "timestamp": 5, "response": {"status": 101, "statusText": "", "headers": {}}}));
    for number in 0..5 {
        let data = format!("{number} and more than ten");
        scene.hear("Network.webSocketFrameSent", json!({"requestId": "1", "timestamp": 6, "response": {"opcode": 1, "mask": true, "payloadData": data}}));
    }
    scene.hear("Network.webSocketClosed", json!({"requestId": "1", "timestamp": 7}));
    let record = scene.records()[0];
    assert_eq!((record.messages.len(), record.messages_dropped), (3, 2));
    assert_eq!((record.messages[0].data.as_str(), record.messages[0].truncated), ("2 and more", 9));
    assert_eq!((record.status, record.state), (Some(101), RequestState::Finished));
    assert_eq!(record.messages[0].timestamp, 1_001_000.0);
}

#[test]
fn texts_are_cut_between_characters() {
    assert_eq!(cut("äöü".to_owned(), 3), ("ä".to_owned(), 4));
    assert_eq!(cut("abc".to_owned(), 3), ("abc".to_owned(), 0));
}
