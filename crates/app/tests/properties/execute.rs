//! A command through the API reaches the browser as it was written, and its answer the caller as it was
//! given; what fails is told, and what takes too long is given up in time.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use crate::http::Answer;
use crate::hub::{Connected, Home};
use crate::peer::{Reply, late};
use crate::runner::{check, fail};
use crate::stage::Stage;
use crate::text::{Text, any_text};

/// JSON as somebody may write it. `exact` leaves out what two readers may understand differently.
pub(crate) fn any_json(exact: bool) -> impl Strategy<Value = String> {
    let number = if exact {
        prop_oneof![
            any::<i64>().prop_map(|number| number.to_string()),
            any::<f64>()
                .prop_filter("JSON has no such number", |number| number.is_finite())
                .prop_map(|number| format!("{number:?}")),
            Just("1E5".to_owned()),
            Just("-0".to_owned()),
            Just("0.10".to_owned()),
        ]
        .boxed()
    } else {
        prop::sample::select(vec!["123456789012345678901234567890", "1.0e-400", "-0.0"])
            .prop_map(str::to_owned)
            .boxed()
    };
    let leaf = prop_oneof![
        1 => Just("null".to_owned()),
        1 => any::<bool>().prop_map(|value| value.to_string()),
        3 => number,
        3 => any_text(12).prop_map(|text| text.json),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(", "))),
            object(inner),
        ]
    })
}

pub(crate) fn object(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    prop::collection::btree_map("[a-zA-Z ]{1,8}", value, 0..4).prop_map(|members| {
        // Not in the order of the alphabet.
        let members: Vec<String> =
            members.iter().rev().map(|(name, value)| format!("\"{name}\" :{value}")).collect();
        format!("{{{}}}", members.join(","))
    })
}

#[derive(Debug, Clone)]
enum Fate {
    Result(String),
    Error {
        code: i32,
        message: String,
    },
    /// No answer within so many milliseconds.
    Never {
        timeout: u64,
    },
    /// An answer, but too late.
    Late {
        timeout: u64,
    },
}

#[derive(Debug, Clone)]
struct Command {
    method: String,
    params: Option<String>,
    fate: Fate,
    way: usize,
}

impl Command {
    fn reply(&self) -> Reply {
        match &self.fate {
            Fate::Result(result) => Reply::Result(result.clone()),
            Fate::Error { code, message } => Reply::Error { code: *code, message: message.clone() },
            Fate::Never { .. } => Reply::Never,
            Fate::Late { timeout } => late(Duration::from_millis(timeout + 20), "{\"late\":1}"),
        }
    }

    fn timeout(&self) -> Option<u64> {
        match self.fate {
            Fate::Never { timeout } | Fate::Late { timeout } => Some(timeout),
            Fate::Result(_) | Fate::Error { .. } => None,
        }
    }
}

fn command() -> impl Strategy<Value = Command> {
    let result = object(prop_oneof![5 => any_json(true), 1 => any_json(false)]);
    let fate = prop_oneof![
        8 => result.prop_map(Fate::Result),
        3 => (any::<i32>(), any_text(20)).prop_map(|(code, message)| Fate::Error { code, message: message.plain }),
        1 => (5..40_u64).prop_map(|timeout| Fate::Never { timeout }),
        1 => (5..40_u64).prop_map(|timeout| Fate::Late { timeout }),
    ];
    let params = prop::option::of(object(any_json(true)));
    ("[A-Z][a-z]{0,6}\\.[a-zA-Z$_. \"\\\\]{1,10}", params, fate, 0..4_usize)
        .prop_map(|(method, params, fate, way)| Command { method, params, fate, way })
}

#[test]
fn property_08_http_command_execution_reliability() {
    let stage = Stage::new(Home::new());
    let tab = stage.tab().expect("a tab");
    check(
        (prop::collection::vec(command(), 1..8), any_text(20), any_text(20)),
        |(commands, asked, value)| {
            stage.chrome.peer.forget_seen();
            for command in &commands {
                run(&stage, &tab, command)?;
            }
            evaluate(&stage, &tab, &asked, &value)
        },
    );
}

/// An expression gets there as it is, and its value comes back.
fn evaluate(stage: &Stage, tab: &Connected, expression: &Text, value: &Text) -> TestCaseResult {
    // The one thing that a page's text can have and ours cannot is half a character.
    let expression = format!("'{}'", expression.plain);
    let result = format!(r#"{{"result":{{"type":"string","value":{}}}}}"#, value.json);
    stage.chrome.peer.script("Runtime.evaluate", Reply::Result(result));
    let path = format!("/api/browsers/{}/tabs/{}/evaluate", tab.browser, tab.tab);
    let evaluated = stage.hub.post(&path, &json!({ "expression": expression }))?;
    prop_assert_eq!(&evaluated["value"], &json!(value.plain));
    let seen = stage.chrome.peer.seen(|seen| seen.method == "Runtime.evaluate");
    let last = seen.last().ok_or_else(|| fail("nothing was evaluated"))?;
    let params: serde_json::Value = serde_json::from_str(&last.params).unwrap_or_default();
    prop_assert_eq!(&params["expression"], &json!(expression));
    Ok(())
}

fn run(stage: &Stage, tab: &Connected, command: &Command) -> TestCaseResult {
    let peer = &stage.chrome.peer;
    // A name that no other command of the test has had.
    let method = format!("{}{}", command.method, peer.seen(|_| true).len());
    peer.script(&method, command.reply());
    let path = match command.way {
        0 => format!("/api/execute/{}", tab.id),
        1 => format!("/api/browsers/{}/tabs/{}/execute", tab.browser, tab.tab),
        2 => format!("/api/browsers/{}/execute", tab.browser),
        _ => return by_command(stage, tab, &method, command),
    };
    let mut members = vec![format!("\"method\":{}", json!(method))];
    members.extend(command.params.as_ref().map(|params| format!("\"params\":{params}")));
    members.extend(command.timeout().map(|timeout| format!("\"timeout\":{timeout}")));
    let begun = Instant::now();
    let answer = stage.hub.send("POST", &path, Some(&format!("{{{}}}", members.join(","))))?;
    let took = begun.elapsed();

    let seen = peer.seen(|seen| seen.method == method);
    prop_assert_eq!(seen.len(), 1, "sent once: {}", answer.text());
    prop_assert_eq!(&seen[0].tab, &(command.way < 2).then(|| tab.tab.clone()));
    let params = command.params.as_deref().unwrap_or("{}");
    prop_assert!(means_the_same(&seen[0].params, params), "{} became {}", params, seen[0].params);
    judge(&command.fate, &answer, took)
}

/// The same through our own command, which asks the hub.
fn by_command(stage: &Stage, tab: &Connected, method: &str, command: &Command) -> TestCaseResult {
    let url = format!("ws://127.0.0.1:{}/devtools/page/{}", stage.chrome.peer.port(), tab.tab);
    let timeout = format!("{}ms", command.timeout().unwrap_or(30_000));
    let mut words = vec!["cdp", method];
    words.extend(command.params.as_deref());
    words.extend(["--connect", &url, "--timeout", &timeout, "--json"]);
    let ran = stage.hub.home.run(&words);
    let json: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap_or_default();
    let seen = stage.chrome.peer.seen(|seen| seen.method == method);
    prop_assert_eq!(seen.len(), 1, "sent once: {:?}", ran);
    let params = command.params.as_deref().unwrap_or("{}");
    prop_assert!(means_the_same(&seen[0].params, params), "{} became {}", params, seen[0].params);
    match &command.fate {
        Fate::Result(result) => {
            let got = result_of(ran.stdout.as_bytes()).ok_or_else(|| fail(format!("{ran:?}")))?;
            prop_assert!(ran.exit == Some(0) && means_the_same(got, result), "{} became {:?}", result, ran);
        }
        Fate::Error { code, message } => {
            prop_assert_eq!(&json["error"]["cdp"], &json!({"code": code, "message": message}), "{:?}", ran);
            prop_assert_eq!(ran.exit, Some(1));
        }
        Fate::Never { .. } | Fate::Late { .. } => {
            prop_assert_eq!((ran.exit, &json["error"]["code"]), (Some(8), &json!("timeout")), "{:?}", ran);
        }
    }
    Ok(())
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    data: Data<'a>,
}

#[derive(Deserialize)]
struct Data<'a> {
    #[serde(borrow)]
    result: &'a RawValue,
}

/// The result in an answer, as it was written.
pub(crate) fn result_of(answer: &[u8]) -> Option<&str> {
    serde_json::from_slice::<Envelope<'_>>(answer).ok().map(|envelope| envelope.data.result.get())
}

fn judge(fate: &Fate, answer: &Answer, took: Duration) -> TestCaseResult {
    let json = answer.json().unwrap_or_default();
    match fate {
        Fate::Result(result) => {
            let got = result_of(&answer.body).ok_or_else(|| fail(answer.text()))?;
            prop_assert_eq!(got, result, "not one character is changed");
        }
        Fate::Error { code, message } => {
            prop_assert_eq!((answer.status, answer.code()), (422, "cdp_error".to_owned()), "{}", json);
            prop_assert_eq!(&json["error"]["cdp"], &json!({"code": code, "message": message}));
        }
        Fate::Never { timeout } | Fate::Late { timeout } => {
            prop_assert_eq!((answer.status, answer.code()), (408, "timeout".to_owned()), "{}", json);
            let timeout = Duration::from_millis(*timeout);
            prop_assert!(took >= timeout && took < timeout + Duration::from_secs(5), "{took:?}");
        }
    }
    Ok(())
}

/// Whether two texts are the same JSON. Numbers are compared as whole as a double is, names without order.
pub(crate) fn means_the_same(one: &str, other: &str) -> bool {
    fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> Option<T> {
        serde_json::from_str(text).ok()
    }
    match one.as_bytes().first() {
        Some(b'{') => {
            type Members<'a> = BTreeMap<String, &'a RawValue>;
            let (Some(one), Some(other)) = (parse::<Members<'_>>(one), parse::<Members<'_>>(other)) else {
                return false;
            };
            one.len() == other.len()
                && one.iter().all(|(name, value)| {
                    other.get(name).is_some_and(|other| means_the_same(value.get(), other.get()))
                })
        }
        Some(b'[') => {
            let (Some(one), Some(other)) = (parse::<Vec<&RawValue>>(one), parse::<Vec<&RawValue>>(other))
            else {
                return false;
            };
            one.len() == other.len()
                && one.iter().zip(&other).all(|(one, other)| means_the_same(one.get(), other.get()))
        }
        Some(b'"') => units(one).is_some() && units(one) == units(other),
        Some(b'-' | b'0'..=b'9') => {
            let (one, other) = (one.parse::<f64>(), other.parse::<f64>());
            matches!((one, other), (Ok(one), Ok(other)) if one == other)
        }
        _ => one == other,
    }
}

/// The UTF-16 of a JSON string; halves of characters are kept apart.
fn units(text: &str) -> Option<Vec<u16>> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    let mut units = Vec::new();
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            units.extend(c.encode_utf16(&mut [0; 2]).iter());
            continue;
        }
        units.push(match chars.next()? {
            'u' => u16::from_str_radix(&chars.by_ref().take(4).collect::<String>(), 16).ok()?,
            'n' => 10,
            'r' => 13,
            't' => 9,
            'b' => 8,
            'f' => 12,
            plain => u16::try_from(u32::from(plain)).ok()?,
        });
    }
    Some(units)
}
