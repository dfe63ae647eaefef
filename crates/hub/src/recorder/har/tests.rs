use super::timings::Timings;
use super::*;
use crate::recorder::record::{Body, Headers, Initiator, RequestFailure, RequestState, Timing};

fn headers(pairs: &[(&str, &str)]) -> Headers {
    Headers(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
}

/// 2015-10-21T07:28:00.000Z
const START: f64 = 1_445_412_480_000.0;

fn finished(url: &str) -> NetworkRecord {
    NetworkRecord {
        tab: "T".into(),
        navigation: 1,
        timestamp: START,
        url: url.into(),
        method: "GET".into(),
        resource_type: "Document".into(),
        state: RequestState::Finished,
        loading_finished: true,
        status: Some(200),
        status_text: "OK".into(),
        protocol: "h2".into(),
        mime_type: "text/html".into(),
        ..NetworkRecord::default()
    }
}

fn log(requests: &[NetworkRecord]) -> Value {
    har(&[], requests, "0.1.0", None)["log"].take()
}

fn only(request: NetworkRecord) -> Value {
    let mut log = log(&[request]);
    assert_eq!(log["entries"].as_array().unwrap().len(), 1);
    log["entries"][0].take()
}

/// What HAR 1.2 requires of every entry, and of what kind it is.
fn check(entry: &Value) {
    for name in ["time", "timings/send", "timings/wait", "timings/receive"] {
        let number = entry.pointer(&format!("/{name}")).and_then(Value::as_f64);
        assert!(number.is_some_and(|number| number >= 0.0), "{name} in {entry}");
    }
    for name in ["timings/blocked", "timings/dns", "timings/connect", "timings/ssl"] {
        let number = entry.pointer(&format!("/{name}")).and_then(Value::as_f64);
        assert!(number.is_some_and(|number| number >= -1.0), "{name} in {entry}");
    }
    for name in [
        "request/headersSize",
        "request/bodySize",
        "response/status",
        "response/headersSize",
        "response/bodySize",
        "response/content/size",
    ] {
        assert!(entry.pointer(&format!("/{name}")).is_some_and(Value::is_i64), "{name} in {entry}");
    }
    for name in [
        "startedDateTime",
        "request/method",
        "request/url",
        "request/httpVersion",
        "response/statusText",
        "response/httpVersion",
        "response/redirectURL",
        "response/content/mimeType",
    ] {
        assert!(entry.pointer(&format!("/{name}")).is_some_and(Value::is_string), "{name} in {entry}");
    }
    let pairs =
        ["request/headers", "request/cookies", "request/queryString", "response/headers", "response/cookies"];
    for name in pairs {
        let list = entry.pointer(&format!("/{name}")).and_then(Value::as_array);
        let named = |pair: &Value| pair["name"].is_string() && pair["value"].is_string();
        assert!(list.is_some_and(|list| list.iter().all(named)), "{name} in {entry}");
    }
    assert!(entry["cache"].is_object());
}

#[test]
fn an_empty_archive_is_still_one() {
    assert_eq!(
        har(&[], &[], "0.1.0", Some("HeadlessChrome/140.0.1.2")),
        json!({"log": {
            "version": "1.2",
            "creator": {"name": "Bowline", "version": "0.1.0"},
            "browser": {"name": "HeadlessChrome", "version": "140.0.1.2"},
            "pages": [],
            "entries": [],
        }})
    );
    assert_eq!(har(&[], &[], "1", Some("Odd"))["log"]["browser"], json!({"name": "Odd", "version": ""}));
    assert!(log(&[]).get("browser").is_none());
}

#[test]
fn a_whole_request_is_written_out() {
    let request = NetworkRecord {
        url: "https://example.com/a?q=x%20y#top".into(),
        headers: headers(&[("Accept", "*/*"), ("Cookie", "sid=1; b=2")]),
        response_headers: headers(&[
            ("content-length", "100"),
            ("content-encoding", "gzip"),
            ("set-cookie", "a=1; Path=/; HttpOnly\nb=2"),
        ]),
        remote_address: Some("93.184.216.34:443".into()),
        initiator: Some(Initiator {
            kind: "script".into(),
            url: Some("https://example.com/s.js".into()),
            line_number: Some(3),
            column_number: None,
        }),
        priority: "VeryHigh".into(),
        transfer_size: Some(180),
        body_size: Some(300),
        duration: Some(20.0),
        ..finished("")
    };
    let entry = only(request);
    check(&entry);
    assert_eq!(
        entry,
        json!({
            "startedDateTime": "2015-10-21T07:28:00.000Z",
            "time": 20,
            "request": {
                "method": "GET",
                "url": "https://example.com/a?q=x%20y",
                "httpVersion": "HTTP/2.0",
                "cookies": [{"name": "sid", "value": "1"}, {"name": "b", "value": "2"}],
                "headers": [{"name": "Accept", "value": "*/*"}, {"name": "Cookie", "value": "sid=1; b=2"}],
                "queryString": [{"name": "q", "value": "x y"}],
                "headersSize": -1,
                "bodySize": 0,
            },
            "response": {
                "status": 200,
                "statusText": "OK",
                "httpVersion": "HTTP/2.0",
                "cookies": [
                    {"name": "a", "value": "1", "path": "/", "httpOnly": true, "secure": false},
                    {"name": "b", "value": "2", "httpOnly": false, "secure": false},
                ],
                "headers": [
                    {"name": "content-length", "value": "100"},
                    {"name": "content-encoding", "value": "gzip"},
                    {"name": "set-cookie", "value": "a=1; Path=/; HttpOnly"},
                    {"name": "set-cookie", "value": "b=2"},
                ],
                "content": {"size": 300, "mimeType": "text/html", "compression": 200},
                "redirectURL": "",
                "headersSize": -1,
                "bodySize": 100,
                "_transferSize": 180,
            },
            "cache": {},
            "timings": {"blocked": -1, "dns": -1, "connect": -1, "ssl": -1, "send": 0, "wait": 20, "receive": 0},
            "serverIPAddress": "93.184.216.34",
            "connection": "443",
            "_resourceType": "document",
            "_priority": "VeryHigh",
            "_initiator": {"type": "script", "url": "https://example.com/s.js", "lineNumber": 3},
        })
    );
}

#[test]
fn entries_belong_to_the_page_of_their_tab_and_navigation() {
    let page = |id: &str, tab: &str, navigation| Page {
        id: id.into(),
        title: "Title".into(),
        started: START,
        on_content_load: Some(12.5),
        on_load: None,
        navigation,
        tab: tab.into(),
    };
    let pages = [page("p1", "T", 1), page("p2", "T", 2), page("p3", "U", 1)];
    let requests = [
        NetworkRecord { seq: 3, timestamp: START + 2.0, tab: "U".into(), ..finished("https://c/") },
        NetworkRecord { seq: 2, timestamp: START + 1.0, navigation: 2, ..finished("https://b/") },
        NetworkRecord { seq: 4, timestamp: START + 2.0, navigation: 7, ..finished("https://d/") },
        NetworkRecord { seq: 1, ..finished("https://a/") },
    ];
    let log = har(&pages, &requests, "1", None)["log"].take();
    let entries = log["entries"].as_array().unwrap();
    let order: Vec<_> =
        entries.iter().map(|entry| (&entry["request"]["url"], entry.get("pageref"))).collect();
    assert_eq!(
        order,
        [
            (&json!("https://a/"), Some(&json!("p1"))),
            (&json!("https://b/"), Some(&json!("p2"))),
            (&json!("https://c/"), Some(&json!("p3"))),
            (&json!("https://d/"), None),
        ]
    );
    assert_eq!(
        log["pages"][0],
        json!({
            "startedDateTime": "2015-10-21T07:28:00.000Z",
            "id": "p1",
            "title": "Title",
            "pageTimings": {"onContentLoad": 12.5, "onLoad": -1},
        })
    );
}

#[test]
fn each_hop_of_a_redirect_is_an_entry() {
    let hop = NetworkRecord {
        seq: 1,
        status: Some(302),
        status_text: "Found".into(),
        redirected_to: Some("https://h/login".into()),
        response_headers: headers(&[("Location", "/login"), ("Set-Cookie", "to=x")]),
        duration: Some(5.0),
        ..finished("http://h/")
    };
    let last = NetworkRecord {
        seq: 2,
        timestamp: START + 5.0,
        redirected_from: Some(1),
        ..finished("https://h/login")
    };
    let log = log(&[hop, last]);
    let (first, second) = (&log["entries"][0], &log["entries"][1]);
    check(first);
    check(second);
    assert_eq!(first["response"]["status"], 302);
    assert_eq!(first["response"]["redirectURL"], "https://h/login");
    assert_eq!(first["response"]["cookies"][0]["name"], "to");
    assert_eq!(second["startedDateTime"], "2015-10-21T07:28:00.005Z");
    assert_eq!(second["response"]["redirectURL"], "");

    // A redirect that the page did not follow has nothing but its header.
    let manual = NetworkRecord {
        status: Some(307),
        response_headers: headers(&[("location", "/x")]),
        ..finished("https://h/")
    };
    assert_eq!(only(manual)["response"]["redirectURL"], "/x");
    let created = NetworkRecord {
        status: Some(201),
        response_headers: headers(&[("location", "/x")]),
        ..finished("https://h/")
    };
    assert_eq!(only(created)["response"]["redirectURL"], "");
}

#[test]
fn a_failure_has_an_error_and_no_status() {
    let failure =
        Some(RequestFailure { error_text: "net::ERR_CONNECTION_REFUSED".into(), ..Default::default() });
    let refused = NetworkRecord {
        state: RequestState::Failed,
        status: None,
        status_text: String::new(),
        mime_type: String::new(),
        protocol: String::new(),
        failure: failure.clone(),
        duration: Some(2.25),
        ..finished("http://h/")
    };
    let entry = only(refused);
    check(&entry);
    assert_eq!(
        entry["response"],
        json!({
            "status": 0,
            "statusText": "net::ERR_CONNECTION_REFUSED",
            "httpVersion": "unknown",
            "cookies": [],
            "headers": [],
            "content": {"size": 0, "mimeType": "x-unknown"},
            "redirectURL": "",
            "headersSize": -1,
            "bodySize": -1,
            "_transferSize": 0,
            "_error": "net::ERR_CONNECTION_REFUSED",
        })
    );
    assert_eq!((&entry["time"], &entry["timings"]["blocked"]), (&json!(2.25), &json!(2.25)));

    // An answer that broke off keeps what there was of it.
    let broken = NetworkRecord { state: RequestState::Failed, failure, ..finished("http://h/") };
    let response = only(broken)["response"].take();
    assert_eq!((&response["status"], &response["statusText"]), (&json!(200), &json!("OK")));
    assert_eq!(response["_error"], "net::ERR_CONNECTION_REFUSED");
}

#[test]
fn a_request_under_way_is_an_entry_too() {
    let pending = NetworkRecord {
        state: RequestState::Pending,
        status: None,
        status_text: String::new(),
        ..finished("http://h/")
    };
    let entry = only(pending);
    check(&entry);
    assert_eq!((&entry["time"], &entry["response"]["status"]), (&json!(0), &json!(0)));
    assert!(entry["response"].get("_error").is_none());
    check(&only(NetworkRecord::default()));
}

#[test]
fn a_web_socket_has_its_messages() {
    let message = |direction, kind: &str, data: &str| StreamMessage {
        timestamp: START + 500.0,
        direction,
        kind: kind.into(),
        data: data.into(),
        truncated: 0,
    };
    let socket = NetworkRecord {
        resource_type: "WebSocket".into(),
        state: RequestState::Receiving,
        status: Some(101),
        messages: vec![
            message(Direction::Sent, "text", "hi"),
            message(Direction::Received, "binary", "AAE="),
            message(Direction::Received, "close", ""),
            message(Direction::Received, "error", "broken"),
        ],
        ..finished("wss://h/s")
    };
    let entry = only(socket);
    check(&entry);
    assert_eq!(entry["_resourceType"], "websocket");
    assert_eq!(
        entry["_webSocketMessages"],
        json!([
            {"type": "send", "time": 1_445_412_480.5, "opcode": 1, "data": "hi"},
            {"type": "receive", "time": 1_445_412_480.5, "opcode": 2, "data": "AAE="},
            {"type": "receive", "time": 1_445_412_480.5, "opcode": 8, "data": ""},
            {"type": "error", "time": 1_445_412_480.5, "opcode": -1, "data": "broken"},
        ])
    );
    assert!(only(finished("https://h/")).get("_webSocketMessages").is_none());
}

#[test]
fn a_form_has_its_parameters() {
    let post = |mime_type: &str, text: &str| NetworkRecord {
        method: "POST".into(),
        headers: headers(&[("content-type", mime_type)]),
        post_data: Some(text.into()),
        ..finished("https://h/")
    };
    let entry = only(post("application/x-www-form-urlencoded; charset=UTF-8", "name=J%C3%BCrgen&x=1+2"));
    check(&entry);
    assert_eq!(entry["request"]["bodySize"], 22);
    assert_eq!(
        entry["request"]["postData"],
        json!({
            "mimeType": "application/x-www-form-urlencoded; charset=UTF-8",
            "text": "name=J%C3%BCrgen&x=1+2",
            "params": [{"name": "name", "value": "Jürgen"}, {"name": "x", "value": "1 2"}],
        })
    );
    let entry = only(post("application/json", "{\"ü\":1}"));
    assert_eq!(entry["request"]["bodySize"], 8, "in bytes");
    assert_eq!(entry["request"]["postData"], json!({"mimeType": "application/json", "text": "{\"ü\":1}"}));
}

#[test]
fn a_body_is_included_where_there_is_one() {
    let body = Body { body: "AAE=".into(), base64_encoded: true, size: 9, truncated: true };
    let content = |record| only(record)["response"]["content"].take();
    let with_body = NetworkRecord { response_body: Some(body.clone()), ..finished("https://h/") };
    assert_eq!(
        content(with_body),
        json!({
            "size": 9, "mimeType": "text/html", "text": "AAE=", "encoding": "base64",
            "comment": "only the beginning of 9 bytes",
        })
    );
    let text = Body { body: "hi".into(), base64_encoded: false, size: 2, truncated: false };
    let with_text = NetworkRecord { response_body: Some(text), body_size: Some(2), ..finished("https://h/") };
    assert_eq!(
        content(with_text),
        json!({"size": 2, "mimeType": "text/html", "text": "hi", "compression": 0})
    );
}

#[test]
fn the_size_that_was_sent_is_given_where_it_is_known() {
    let size = |record| only(record)["response"]["bodySize"].take();
    let base = || NetworkRecord { body_size: Some(300), transfer_size: Some(180), ..finished("https://h/") };
    assert_eq!(size(base()), 300, "sent as it is");
    let packed = headers(&[("content-encoding", "br")]);
    assert_eq!(size(NetworkRecord { response_headers: packed, ..base() }), -1);
    let both = headers(&[("content-encoding", "br"), ("content-length", "90")]);
    assert_eq!(size(NetworkRecord { response_headers: both.clone(), ..base() }), 90);
    let cached = NetworkRecord { response_headers: both.clone(), from_cache: Some("disk".into()), ..base() };
    let entry = only(cached);
    assert_eq!((&entry["_fromCache"], &entry["response"]["bodySize"]), (&json!("disk"), &json!(0)));
    assert!(entry["response"]["content"].get("compression").is_none());
    assert_eq!(size(NetworkRecord { status: Some(304), ..base() }), 0);
    assert_eq!(size(NetworkRecord { method: "HEAD".into(), response_headers: both.clone(), ..base() }), 0);
    let broken = NetworkRecord { state: RequestState::Failed, response_headers: both, ..base() };
    assert_eq!(size(broken), -1);
}

#[test]
fn addresses_lose_port_and_brackets() {
    for (address, ip, port) in [
        ("93.184.216.34:443", "93.184.216.34", Some(443)),
        ("[2001:db8::1]:8080", "2001:db8::1", Some(8080)),
        ("[::1]", "::1", None),
        ("::1", "::1", None),
        ("127.0.0.1", "127.0.0.1", None),
        ("odd", "odd", None),
    ] {
        assert_eq!(ip_and_port(address), (ip.to_owned(), port));
    }
}

#[test]
fn data_urls_are_left_out() {
    let log =
        log(&[finished("data:text/plain,x"), finished("DATA:,"), finished("https://h/data:"), finished("ü")]);
    assert_eq!(log["entries"].as_array().unwrap().len(), 2);
}

/// A first request to a server: all phases, with a gap before each.
fn timing() -> Timing {
    Timing {
        proxy_start: -1.0,
        proxy_end: -1.0,
        dns_start: 2.0,
        dns_end: 5.0,
        connect_start: 5.5,
        connect_end: 20.0,
        ssl_start: 10.0,
        ssl_end: 19.5,
        worker_start: -1.0,
        worker_ready: -1.0,
        send_start: 21.0,
        send_end: 21.5,
        receive_headers_start: 50.0,
        receive_headers_end: 51.0,
    }
}

fn cut(timing: Timing, duration: Option<f64>) -> Timings {
    Timings::of(&NetworkRecord { timing: Some(timing), duration, ..finished("https://h/") })
}

#[test]
fn phases_follow_each_other_and_add_up() {
    let timings = cut(timing(), Some(60.1));
    let expected =
        Timings { blocked: 2.0, dns: 3.0, connect: 15.0, ssl: 9.5, send: 1.5, wait: 29.5, receive: 9.1 };
    assert_eq!(timings, expected);
    assert_eq!(timings.total(), 60.1);
}

#[test]
fn phases_of_a_kept_connection_are_unknown() {
    let no_connection = Timing {
        dns_start: -1.0,
        dns_end: -1.0,
        connect_start: -1.0,
        connect_end: -1.0,
        ssl_start: -1.0,
        ssl_end: -1.0,
        send_start: 1.0,
        send_end: 1.25,
        ..timing()
    };
    let timings = cut(no_connection, Some(60.0));
    assert_eq!((timings.blocked, timings.dns, timings.connect, timings.ssl), (1.0, -1.0, -1.0, -1.0));
    assert_eq!((timings.send, timings.wait, timings.receive), (0.25, 49.75, 9.0));
    assert_eq!(timings.total(), 60.0);
}

#[test]
fn phases_that_overlap_or_are_missing_are_never_negative() {
    // QUIC may send before it is connected.
    let early = cut(Timing { send_start: 6.0, send_end: 7.0, ..timing() }, Some(60.0));
    assert_eq!((early.send, early.wait, early.total()), (0.0, 31.0, 60.0));
    // The end of a request may be stamped before its headers.
    assert_eq!(cut(timing(), Some(50.0)).receive, 0.0);
    // Not ended yet.
    assert_eq!(cut(timing(), None).receive, 0.0);
    // A browser that does not tell when the headers came.
    let untold = Timing { receive_headers_start: -1.0, receive_headers_end: -1.0, ..timing() };
    let timings = cut(untold, Some(60.0));
    assert_eq!((timings.wait, timings.receive), (38.5, 0.0));
    let nothing = -1.0;
    let unknown = Timing {
        dns_start: nothing,
        dns_end: nothing,
        connect_start: nothing,
        connect_end: nothing,
        ssl_start: nothing,
        ssl_end: nothing,
        send_start: nothing,
        send_end: f64::NAN,
        receive_headers_end: nothing,
        ..timing()
    };
    let timings = cut(unknown, Some(f64::NAN));
    assert_eq!((timings.blocked, timings.send, timings.wait, timings.receive), (-1.0, 0.0, 0.0, 0.0));
}
