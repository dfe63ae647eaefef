use bowline_wire::TargetId;
use bowline_wire::cdp::TargetInfo;
use serde_json::{Value, json};

use super::*;
use crate::recorder::archive::Count;
use crate::recorder::store::Bounds;

const LAX: Bounds = Bounds {
    console: 100,
    console_bytes: 1 << 20,
    requests: 100,
    network_bytes: 1 << 20,
    total_bytes: 1 << 24,
    keep_closed: 1e9,
};

struct Stage {
    store: Store,
    requests: Requests,
    tab: TabKey,
}

fn stage() -> Stage {
    let mut store = Store::new(LAX, Count::default());
    let info = TargetInfo {
        target_id: TargetId::new("tab"),
        kind: "page".to_owned(),
        title: String::new(),
        url: "http://a.test/".to_owned(),
        attached: false,
        parent_id: None,
        parent_frame_id: None,
        opener_id: None,
        can_access_opener: None,
    };
    let (tab, _) = store.open("firefox", &info, 0.0);
    Stage { store, requests: Requests::default(), tab }
}

fn event(id: &str, hop: u64, more: Value) -> NetworkEvent {
    let mut event = json!({
        "context": "tab", "navigation": null, "redirectCount": hop, "timestamp": 1_030.0,
        "request": {"request": id, "url": format!("http://a.test/{hop}"), "method": "GET", "headers": [],
            "bodySize": 0, "destination": "", "initiatorType": "fetch", "timings": {"requestTime": 1_000.0}},
    });
    for (name, value) in more.as_object().unwrap() {
        match (name.as_str(), value.as_object()) {
            ("request", Some(members)) => {
                for (name, value) in members {
                    event["request"][name] = value.clone();
                }
            }
            _ => event[name] = value.clone(),
        }
    }
    serde_json::from_value(event).unwrap()
}

fn answer(status: u16) -> Value {
    json!({"status": status, "statusText": "OK", "protocol": "http/1.1", "headers": [
        {"name": "Content-Type", "value": {"type": "string", "value": "text/plain"}}],
        "mimeType": "text/plain", "bytesReceived": 120, "bodySize": 20})
}

impl Stage {
    fn send(&mut self, event: NetworkEvent) -> Option<Seq> {
        let from = Sender { tab: self.tab, target: "tab", context: "tab", origin: None, navigation: 3 };
        self.requests.sent(&mut self.store, &from, event)
    }

    fn records(&self) -> Vec<NetworkRecord> {
        self.store.tab(self.tab).unwrap().network.iter().cloned().collect()
    }
}

#[test]
fn a_request_goes_from_pending_to_finished() {
    let mut stage = stage();
    stage.send(event("r", 0, json!({}))).unwrap();
    assert_eq!(stage.send(event("r", 0, json!({}))), None, "it is told once");
    assert_eq!(stage.records()[0].state, RequestState::Pending);
    stage.requests.started(&mut stage.store, event("r", 0, json!({"response": answer(200)})));
    assert_eq!(stage.records()[0].state, RequestState::Receiving);
    let timings =
        json!({"requestTime": 1_000.0, "requestStart": 1_004.0, "responseStart": 1_010.0, "tlsEnd": 1_003.0});
    let done = json!({"response": answer(200), "request": {"timings": timings}});
    stage.requests.completed(&mut stage.store, event("r", 0, done));
    let record = &stage.records()[0];
    assert_eq!(
        (record.state, record.status, record.resource_type.as_str()),
        (RequestState::Finished, Some(200), "Fetch")
    );
    assert_eq!((record.duration, record.transfer_size, record.body_size), (Some(30.0), Some(120), Some(20)));
    let timing = record.timing.as_ref().unwrap();
    assert_eq!((timing.send_start, timing.receive_headers_end, timing.ssl_end), (4.0, 10.0, -1.0));
    assert_eq!((record.navigation, record.response_headers.get("content-type")), (3, Some("text/plain")));
}

#[test]
fn a_redirect_is_a_record_of_its_own() {
    let mut stage = stage();
    let navigation = json!({"navigation": "n", "request": {"destination": "document"}});
    let first = stage.send(event("r", 0, navigation.clone())).unwrap();
    stage.requests.completed(&mut stage.store, event("r", 0, json!({"response": answer(302)})));
    stage.send(event("r", 1, navigation)).unwrap();
    stage.requests.completed(&mut stage.store, event("r", 0, json!({"response": answer(500)})));
    let records = stage.records();
    assert_eq!(records[0].redirected_to.as_deref(), Some("http://a.test/1"));
    assert_eq!((records[0].status, records[1].redirected_from), (Some(302), Some(first)));
    assert_eq!(records[1].state, RequestState::Pending, "what is late of the first is not the second's");
    assert_eq!((records[1].navigation, records[1].resource_type.as_str()), (4, "Document"));
    assert_eq!(stage.requests.begun("n"), Some(1_000.0));
}

#[test]
fn failures_and_closed_tabs_end_what_was_under_way() {
    let mut stage = stage();
    stage.send(event("r", 0, json!({}))).unwrap();
    stage.requests.failed(&mut stage.store, event("r", 0, json!({"errorText": "NS_BINDING_ABORTED"})));
    let failure = stage.records()[0].failure.clone().unwrap();
    assert_eq!((failure.error_text.as_str(), failure.canceled), ("NS_BINDING_ABORTED", true));
    stage.send(event("s", 0, json!({}))).unwrap();
    stage.requests.abandon(&mut stage.store, stage.tab, "the tab was closed");
    let records = stage.records();
    assert_eq!(records[1].failure.as_ref().unwrap().error_text, "the tab was closed");
    assert_eq!(records[0].failure.as_ref().unwrap().error_text, "NS_BINDING_ABORTED");
}

#[test]
fn a_web_socket_is_open_until_its_page_is_left() {
    let mut stage = stage();
    let key = json!([{"name": "Sec-WebSocket-Key", "value": {"type": "string", "value": "k"}}]);
    let socket = json!({"request": {"headers": key, "initiatorType": null}});
    stage.send(event("r", 0, socket)).unwrap();
    stage.requests.completed(&mut stage.store, event("r", 0, json!({"response": answer(101)})));
    let record = &stage.records()[0];
    assert_eq!((record.url.as_str(), record.resource_type.as_str()), ("ws://a.test/0", "WebSocket"));
    assert!(!record.loading_finished);
    stage.requests.left(&mut stage.store, "tab");
    assert_eq!(stage.records()[0].state, RequestState::Finished);
}
