//! Everything that is logged after a tab is connected to can be had, whoever asks and whenever.

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use serde_json::{Value, json};

use crate::hub::{Connected, Home};
use crate::runner::check;
use crate::stage::{Stage, now};
use crate::text::{Text, any_text};

#[derive(Debug, Clone)]
enum Message {
    Called { kind: &'static str, first: Text, rest: Vec<Argument> },
    Thrown { text: Text },
    Entry { level: &'static str, text: Text },
}

#[derive(Debug, Clone)]
enum Argument {
    Text(Text),
    Number(i32),
    Boolean(bool),
    Undefined,
    Null,
}

impl Argument {
    /// As CDP tells of it, and as it is shown.
    fn told(&self) -> (String, String) {
        match self {
            Self::Text(text) => (format!(r#"{{"type":"string","value":{}}}"#, text.json), text.plain.clone()),
            Self::Number(number) => {
                let told = json!({"type": "number", "value": number, "description": number.to_string()});
                (told.to_string(), number.to_string())
            }
            Self::Boolean(value) => {
                (json!({"type": "boolean", "value": value}).to_string(), value.to_string())
            }
            Self::Undefined => (r#"{"type":"undefined"}"#.to_owned(), "undefined".to_owned()),
            Self::Null => {
                (r#"{"type":"object","subtype":"null","value":null}"#.to_owned(), "null".to_owned())
            }
        }
    }
}

fn message() -> impl Strategy<Value = Message> {
    let kinds = ["log", "info", "warning", "error", "debug", "trace", "dir", "startGroup"];
    let argument = prop_oneof![
        any_text(20).prop_map(Argument::Text),
        any::<i32>().prop_map(Argument::Number),
        any::<bool>().prop_map(Argument::Boolean),
        Just(Argument::Undefined),
        Just(Argument::Null),
    ];
    let called = (prop::sample::select(kinds.to_vec()), any_text(40), prop::collection::vec(argument, 0..4));
    let levels = ["verbose", "info", "warning", "error"];
    prop_oneof![
        6 => called.prop_map(|(kind, first, rest)| Message::Called { kind, first, rest }),
        1 => any_text(40).prop_map(|text| Message::Thrown { text }),
        2 => (prop::sample::select(levels.to_vec()), any_text(40))
            .prop_map(|(level, text)| Message::Entry { level, text }),
    ]
}

/// What the hub is to tell of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Expected {
    tab: String,
    level: String,
    source: String,
    text: String,
}

impl Message {
    /// Says it in a tab.
    fn say(&self, stage: &Stage, tab: &str) -> Expected {
        let timestamp = now();
        let (method, params, level, text) = match self {
            Self::Called { kind, first, rest } => {
                let (mut told, mut shown) = Argument::Text(first.clone()).told();
                // With something to put in, a text is a format; without, only `%%` means anything.
                if rest.is_empty() {
                    shown = shown.replace("%%", "%");
                } else {
                    (told, shown) = (told.replace('%', "_"), shown.replace('%', "_"));
                }
                for (more, text) in rest.iter().map(Argument::told) {
                    told = format!("{told},{more}");
                    shown = format!("{shown} {text}");
                }
                let params = format!(
                    r#"{{"type":"{kind}","args":[{told}],"executionContextId":1,"timestamp":{timestamp}}}"#
                );
                let level = match *kind {
                    "warning" => "warn",
                    known @ ("info" | "error" | "debug") => known,
                    _ => "log",
                };
                ("Runtime.consoleAPICalled", params, level, shown)
            }
            Self::Thrown { text } => {
                let exception =
                    format!(r#"{{"type":"object","subtype":"error","description":{}}}"#, text.json);
                let params = format!(
                    r#"{{"timestamp":{timestamp},"exceptionDetails":{{"exceptionId":1,"text":"Uncaught","lineNumber":1,"columnNumber":2,"exception":{exception}}}}}"#
                );
                ("Runtime.exceptionThrown", params, "error", format!("Uncaught {}", text.plain))
            }
            Self::Entry { level, text } => {
                let params = format!(
                    r#"{{"entry":{{"source":"network","level":"{level}","text":{},"timestamp":{timestamp}}}}}"#,
                    text.json
                );
                let level = match *level {
                    "verbose" => "debug",
                    "warning" => "warn",
                    other => other,
                };
                ("Log.entryAdded", params, level, text.plain.clone())
            }
        };
        stage.chrome.peer.emit(tab, method, params);
        let (tab, level, source) = (tab.to_owned(), level.to_owned(), method.to_owned());
        Expected { tab, level, source, text }
    }
}

#[derive(Debug, Clone)]
enum Step {
    Say(usize, Message),
    Ask(Route),
}

#[derive(Debug, Clone, Copy)]
enum Route {
    Connection(usize),
    Tab(usize),
    Browser,
}

const TABS: usize = 3;

fn step() -> impl Strategy<Value = Step> {
    let route = prop_oneof![
        (0..TABS).prop_map(Route::Connection),
        (0..TABS).prop_map(Route::Tab),
        Just(Route::Browser),
    ];
    prop_oneof![
        8 => (0..TABS, message()).prop_map(|(tab, message)| Step::Say(tab, message)),
        1 => route.prop_map(Step::Ask),
    ]
}

#[test]
fn property_02_message_accumulation_completeness() {
    let stage = Stage::new(Home::new());
    check(prop::collection::vec(step(), 1..40), |steps| {
        let tabs = [stage.tab()?, stage.tab()?, stage.tab()?];
        let mut said: Vec<Expected> = Vec::new();
        for step in &steps {
            match step {
                Step::Say(tab, message) => said.push(message.say(&stage, &tabs[*tab].tab)),
                Step::Ask(route) => compare(&stage, &tabs, *route, &said)?,
            }
        }
        for route in (0..TABS).flat_map(|tab| [Route::Connection(tab), Route::Tab(tab)]) {
            compare(&stage, &tabs, route, &said)?;
        }
        compare(&stage, &tabs, Route::Browser, &said)?;
        tabs.iter().try_for_each(|tab| stage.clean_up(tab))
    });
}

fn compare(stage: &Stage, tabs: &[Connected; TABS], route: Route, said: &[Expected]) -> TestCaseResult {
    stage.settle()?;
    let browser = stage.chrome.browser();
    let (path, tab) = match route {
        Route::Connection(tab) => (format!("/api/console/{}", tabs[tab].id), Some(&tabs[tab].tab)),
        Route::Tab(tab) => {
            (format!("/api/browsers/{browser}/tabs/{}/console", tabs[tab].tab), Some(&tabs[tab].tab))
        }
        Route::Browser => (format!("/api/browsers/{browser}/console"), None),
    };
    let history = stage.hub.data(&path)?;
    let anchor = &stage.chrome.anchor().tab;
    let messages = history["messages"].as_array().cloned().unwrap_or_default();
    let got: Vec<Expected> =
        messages.iter().filter(|message| message["tab"] != anchor.as_str()).map(read).collect();
    let wanted: Vec<&Expected> = said.iter().filter(|one| tab.is_none_or(|tab| one.tab == *tab)).collect();
    prop_assert_eq!(got.iter().collect::<Vec<_>>(), wanted, "{:?}", route);
    // The marks in the anchor become too many after a while.
    prop_assert!(tab.is_none() || history["dropped"] == 0);
    Ok(())
}

fn read(message: &Value) -> Expected {
    let text = |name: &str| message[name].as_str().unwrap_or_default().to_owned();
    Expected { tab: text("tab"), level: text("type"), source: text("source"), text: text("text") }
}
