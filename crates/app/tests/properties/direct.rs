//! Where there is no hub and none may be started, commands ask Chrome itself, and say what that means.

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use serde_json::{Value, json};

use crate::execute::{any_json, means_the_same, object, result_of};
use crate::hub::{Home, Ran, is_alive};
use crate::peer::{Peer, Reply, Tab};
use crate::runner::{check_in_lanes, fail};
use crate::stage::{logged, string, texts};
use crate::text::{Text, any_text};

#[derive(Debug, Clone)]
enum Command {
    Tabs,
    Console {
        tab: Option<usize>,
    },
    Eval {
        tab: usize,
        expression: String,
        value: Text,
    },
    Cdp {
        tab: Option<usize>,
        params: String,
        result: String,
    },
    /// Nobody is there either.
    Nobody,
}

/// A page's title, and what it has logged.
type Page = (String, Vec<String>);

fn page() -> impl Strategy<Value = Page> {
    ("[a-z]{1,8}", prop::collection::vec("[^%]{0,20}", 0..4))
}

const PAGES: usize = 3;

fn command() -> impl Strategy<Value = Command> {
    let eval = (0..PAGES, "[a-z(][ -~]{0,15}[a-z)]", any_text(20));
    let cdp = (prop::option::of(0..PAGES), object(any_json(true)), object(any_json(true)));
    prop_oneof![
        2 => Just(Command::Tabs),
        3 => prop::option::of(0..PAGES).prop_map(|tab| Command::Console { tab }),
        3 => eval.prop_map(|(tab, expression, value)| Command::Eval { tab, expression, value }),
        3 => cdp.prop_map(|(tab, params, result)| Command::Cdp { tab, params, result }),
        1 => Just(Command::Nobody),
    ]
}

#[test]
fn property_12_fallback_behavior_consistency() {
    let prepare = || Home::new().with("BOWLINE_HUB_AUTOSTART", "false");
    let strategy = || (prop::collection::vec(page(), PAGES), command());
    check_in_lanes(2, prepare, strategy, |home, (pages, command)| {
        let peer = Peer::start();
        let mut lines = Vec::new();
        for (number, (title, logs)) in pages.iter().enumerate() {
            let id = id_of(number);
            peer.open(Tab::page(&id, title, &format!("http://{title}.test/{number}")));
            for text in logs {
                peer.emit(&id, "Runtime.consoleAPICalled", logged("log", &[string(text)]));
                lines.push((number, text.clone()));
            }
        }
        let port = peer.port().to_string();
        match &command {
            Command::Tabs => tabs(&run(home, &["tabs"], &port)?, &pages)?,
            Command::Console { tab } => {
                let id = tab.map(id_of);
                let words: Vec<&str> = ["console"].into_iter().chain(id.as_deref()).collect();
                let history = run(home, &words, &port)?;
                let wanted: Vec<String> = lines
                    .iter()
                    .filter(|(page, _)| tab.is_none_or(|tab| tab == *page))
                    .map(|(_, text)| text.clone())
                    .collect();
                prop_assert_eq!(texts(&history), wanted);
            }
            Command::Eval { tab, expression, value } => {
                let answer = format!(r#"{{"result":{{"type":"string","value":{}}}}}"#, value.json);
                peer.script("Runtime.evaluate", Reply::Result(answer));
                let evaluated = run(home, &["eval", &id_of(*tab), expression], &port)?;
                prop_assert_eq!(&evaluated["value"], &json!(value.plain));
                prop_assert_eq!(&evaluated["tab"], &json!(id_of(*tab)));
                let seen = peer.seen(|seen| seen.method == "Runtime.evaluate");
                prop_assert_eq!(seen.len(), 1);
                let params: Value = serde_json::from_str(&seen[0].params).unwrap_or_default();
                prop_assert_eq!(&params["expression"], &json!(expression));
                prop_assert_eq!(seen[0].tab.clone(), Some(id_of(*tab)));
            }
            Command::Cdp { tab, params, result } => cdp(home, &peer, *tab, params, result)?,
            Command::Nobody => {
                drop(peer);
                let ran = home.run(&["tabs", "--port", &port, "--json"]);
                let json: Value = serde_json::from_str(&ran.stdout).unwrap_or_default();
                prop_assert_eq!(
                    (ran.exit, &json["error"]["code"]),
                    (Some(4), &json!("unreachable")),
                    "{:?}",
                    ran
                );
            }
        }
        prop_assert!(!is_alive(home) && home.state().is_none(), "no hub was started");
        Ok(())
    });
}

fn id_of(page: usize) -> String {
    format!("{page}{}", "F".repeat(31))
}

/// Runs a command that must succeed and warn.
fn run(home: &Home, words: &[&str], port: &str) -> Result<Value, TestCaseError> {
    let ran = home.run(&[words, &["--port", port, "--json"]].concat());
    warned(&ran)?;
    ran.data()
}

fn warned(ran: &Ran) -> TestCaseResult {
    let lines: Vec<&str> = ran.stderr.lines().collect();
    prop_assert!(lines.len() == 1 && lines[0].contains("no hub"), "{ran:?}");
    prop_assert!(lines[0].contains("history is limited"), "{ran:?}");
    Ok(())
}

fn tabs(got: &Value, pages: &[Page]) -> TestCaseResult {
    let text = |tab: &Value, name: &str| tab[name].as_str().unwrap_or_default().to_owned();
    let mut got: Vec<(String, String, String)> = got["tabs"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|tab| (text(tab, "id"), text(tab, "title"), text(tab, "url")))
        .collect();
    let wanted: Vec<(String, String, String)> = pages
        .iter()
        .enumerate()
        .map(|(number, (title, _))| (id_of(number), title.clone(), format!("http://{title}.test/{number}")))
        .collect();
    got.sort();
    prop_assert_eq!(got, wanted);
    Ok(())
}

fn cdp(home: &Home, peer: &Peer, tab: Option<usize>, params: &str, result: &str) -> TestCaseResult {
    let (port, id) = (peer.port().to_string(), tab.map(id_of));
    // What is not for a tab is for the browser.
    let method = if tab.is_some() { "Probe.it" } else { "Browser.probeIt" };
    peer.script(method, Reply::Result(result.to_owned()));
    let mut words = vec!["cdp", method, params, "--port", &port, "--json"];
    if let Some(id) = &id {
        words.extend(["--tab", id]);
    }
    let ran = home.run(&words);
    warned(&ran)?;
    prop_assert_eq!(ran.exit, Some(0), "{:?}", ran);
    let got = result_of(ran.stdout.as_bytes()).ok_or_else(|| fail(format!("{ran:?}")))?;
    prop_assert!(means_the_same(got, result), "{} became {}", result, got);
    let seen = peer.seen(|seen| seen.method == method);
    prop_assert_eq!(seen.len(), 1);
    prop_assert_eq!(&seen[0].tab, &id);
    prop_assert!(means_the_same(&seen[0].params, params), "{} became {}", params, seen[0].params);
    Ok(())
}
