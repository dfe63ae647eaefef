//! Questions to the API, good and bad.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::http::{self, Answer, encoded};
use crate::runner::fail;
use crate::stage::Stage;
use crate::text::any_text;

#[derive(Debug, Clone)]
pub(super) struct Question {
    method: &'static str,
    path: Vec<Segment>,
    pub(super) query: Vec<(String, String)>,
    body: Option<Body>,
    access: Access,
}

/// A part of a path; what it stands for is known when there is a hub.
#[derive(Debug, Clone)]
enum Segment {
    Word(&'static str),
    /// The name of the browser that is watched.
    Browser,
    /// A tab's id.
    Tab,
    Connection,
    Request,
    /// Anything, percent-encoded.
    Text(String),
    /// As it is.
    Raw(&'static str),
}

#[derive(Debug, Clone)]
struct Body {
    kind: Option<&'static str>,
    bytes: Bytes,
}

#[derive(Debug, Clone)]
enum Bytes {
    Text(String),
    /// To connect to the browser that is watched.
    Connect {
        with_tab: bool,
    },
    /// More than is taken.
    Endless,
}

#[derive(Debug, Clone, Copy)]
enum Access {
    Header,
    Query,
    None,
    Wrong,
}

const METHODS: [&str; 6] = ["GET", "POST", "DELETE", "PUT", "PATCH", "OPTIONS"];

fn segment() -> impl Strategy<Value = Segment> {
    let words = ["default", "nosuch", "Bad Name", "current", "1", "99", "0", "conn_0"];
    prop_oneof![
        4 => Just(Segment::Browser),
        4 => Just(Segment::Tab),
        4 => Just(Segment::Connection),
        2 => Just(Segment::Request),
        3 => prop::sample::select(words.to_vec()).prop_map(|word| Segment::Text(word.to_owned())),
        2 => any_text(12).prop_map(|text| Segment::Text(text.plain)),
        1 => prop::sample::select(vec!["%FF", "%", "%zz", "..", "a%2Fb", "%00"]).prop_map(Segment::Raw),
    ]
}

/// Paths that there are, with anything in their places; and some that there are not.
fn path() -> impl Strategy<Value = Vec<Segment>> {
    let shapes = [
        "status",
        "connections",
        "connect",
        "browsers/*/tabs",
        "browsers/*/console",
        "browsers/*/network",
        "browsers/*/network/*/body",
        "browsers/*/har",
        "browsers/*/execute",
        "browsers/*/tabs/*/console",
        "browsers/*/tabs/*/network",
        "browsers/*/tabs/*/network/*/body",
        "browsers/*/tabs/*/har",
        "browsers/*/tabs/*/execute",
        "browsers/*/tabs/*/evaluate",
        "console/*",
        "network/*",
        "network/*/har",
        "network/*/*/body",
        "execute/*",
        "health/*",
        "connection/*",
        "hold",
        "nothing",
        "browsers",
        "browsers/*",
        "console",
        "*",
        "*/*",
    ];
    let filled = prop::collection::vec(segment(), 3);
    (prop::sample::select(shapes.to_vec()), filled).prop_map(|(shape, filled)| {
        let mut filled = filled.into_iter();
        let part =
            |word| if word == "*" { filled.next().unwrap_or(Segment::Browser) } else { Segment::Word(word) };
        shape.split('/').map(part).collect()
    })
}

fn query() -> impl Strategy<Value = Vec<(String, String)>> {
    let names = [
        "types",
        "textPattern",
        "source",
        "startTime",
        "endTime",
        "max",
        "maxMessages",
        "since",
        "follow",
        "client",
        "methods",
        "statusCodes",
        "urlPattern",
        "resourceTypes",
        "failed",
        "includeResponseBody",
        "reveal",
        "bodies",
        "closed",
        "raw",
        "unknown",
        "",
    ];
    let values = [
        "1",
        "0",
        "true",
        "2",
        "-1",
        "1.5",
        "NaN",
        "inf",
        "1e400",
        "18446744073709551616",
        "log",
        "warn,error",
        "shout",
        "4xx",
        "404",
        "400-499",
        "999-1",
        "GET,post",
        "(",
        ".*",
        "(x{999}){999}",
        "Log.entryAdded",
        "",
    ];
    let value = prop_oneof![
        3 => prop::sample::select(values.to_vec()).prop_map(str::to_owned),
        1 => any_text(12).prop_map(|text| text.plain),
    ];
    prop::collection::vec((prop::sample::select(names.to_vec()).prop_map(str::to_owned), value), 0..4)
}

fn body() -> impl Strategy<Value = Option<Body>> {
    let method = prop_oneof![
        prop::sample::select(vec![
            "Browser.getVersion",
            "Runtime.evaluate",
            "Target.getTargets",
            "Browser.close",
            "No.such",
            "x",
            "",
        ])
        .prop_map(|method| json!(method)),
        any_text(10).prop_map(|text| json!(text.plain)),
        Just(json!(1)),
    ];
    let params =
        prop::sample::select(vec![json!({}), json!({"a": [1, null]}), Value::Null, json!([]), json!("x")]);
    let timeout = prop::sample::select(vec![
        Value::Null,
        json!(1),
        json!(500),
        json!(0),
        json!(600_000),
        json!(600_001),
        json!(-1),
        json!("1"),
        json!(1.5),
    ]);
    let execute = (method, params, timeout.clone(), prop::bool::weighted(0.1)).prop_map(
        |(method, params, timeout, unknown)| {
            let mut body = json!({"method": method, "params": params, "timeout": timeout});
            if unknown {
                body["more"] = json!(1);
            }
            body.to_string()
        },
    );
    let evaluate = (any_text(20), timeout).prop_map(|(expression, timeout)| {
        format!(r#"{{"expression":{},"timeout":{timeout}}}"#, expression.json)
    });
    let connect = prop::sample::select(vec![
        r#"{"port":1}"#,
        r#"{"port":0}"#,
        r#"{"port":65536}"#,
        r#"{"port":1,"host":"example.com"}"#,
        r#"{"port":1,"host":"::1"}"#,
        r#"{"port":1,"host":"localhost","targetId":"x"}"#,
        r#"{"host":"127.0.0.1"}"#,
    ]);
    let junk = prop::sample::select(vec!["", "{", "null", "[]", "\"x\"", "{}", "{\"a\":1}", "\u{0}"]);
    let bytes = prop_oneof![
        4 => execute.prop_map(Bytes::Text),
        3 => evaluate.prop_map(Bytes::Text),
        2 => connect.prop_map(|text| Bytes::Text(text.to_owned())),
        3 => any::<bool>().prop_map(|with_tab| Bytes::Connect { with_tab }),
        2 => junk.prop_map(|text| Bytes::Text(text.to_owned())),
        1 => any_text(20).prop_map(|text| Bytes::Text(text.json)),
    ];
    let bytes = prop_oneof![300 => bytes, 1 => Just(Bytes::Endless)];
    let json = Some("application/json");
    let kind = prop_oneof![12 => Just(json), 1 => Just(Some("text/plain")), 1 => Just(None)];
    prop::option::weighted(0.7, (kind, bytes).prop_map(|(kind, bytes)| Body { kind, bytes }))
}

pub(super) fn question() -> impl Strategy<Value = Question> {
    let method = prop_oneof![
        8 => Just(METHODS[0]),
        8 => Just(METHODS[1]),
        2 => prop::sample::select(METHODS.to_vec()),
    ];
    let access = prop_oneof![
        12 => Just(Access::Header),
        2 => Just(Access::Query),
        1 => Just(Access::None),
        1 => Just(Access::Wrong),
    ];
    (method, path(), query(), body(), access).prop_map(|(method, path, query, body, access)| Question {
        method,
        path,
        query,
        body,
        access,
    })
}

/// What stands in the places of a path.
pub(super) struct Names<'a> {
    pub(super) tab: &'a str,
    pub(super) connection: &'a str,
    pub(super) request: &'a str,
}

impl Question {
    /// Whether whoever asks knows the token.
    pub(super) fn is_authorized(&self) -> bool {
        matches!(self.access, Access::Header | Access::Query)
    }

    pub(super) fn ask(&self, stage: &Stage, names: &Names<'_>) -> Result<Answer, TestCaseError> {
        let mut target = "/api".to_owned();
        for segment in &self.path {
            target.push('/');
            target.push_str(&match segment {
                Segment::Word(word) | Segment::Raw(word) => (*word).to_owned(),
                Segment::Browser => stage.chrome.browser().to_owned(),
                Segment::Tab => names.tab.to_owned(),
                Segment::Connection => names.connection.to_owned(),
                Segment::Request => names.request.to_owned(),
                Segment::Text(text) => encoded(text),
            });
        }
        let mut query: Vec<String> =
            self.query.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect();
        let bearer = stage.hub.bearer();
        let mut headers = Vec::new();
        match self.access {
            Access::Header => headers.push(("Authorization", bearer)),
            Access::Query => query.push(format!("token={}", bearer.trim_start_matches("Bearer "))),
            Access::None => {}
            Access::Wrong => headers.push(("Authorization", "Bearer wrong")),
        }
        if !query.is_empty() {
            target = format!("{target}?{}", query.join("&"));
        }
        if let Some(kind) = self.body.as_ref().and_then(|body| body.kind) {
            headers.push(("Content-Type", kind));
        }
        let body = self.body.as_ref().map(|body| match &body.bytes {
            Bytes::Text(text) => text.clone().into_bytes(),
            Bytes::Connect { with_tab } => {
                let mut request = json!({"port": stage.chrome.peer.port()});
                if *with_tab {
                    request["targetId"] = json!(names.tab);
                }
                request.to_string().into_bytes()
            }
            Bytes::Endless => vec![b' '; 3 << 20],
        });
        http::exchange(stage.hub.port, self.method, &target, &headers, body.as_deref())
            .map_err(|error| fail(format!("{} {target}: {error}", self.method)))
    }
}
