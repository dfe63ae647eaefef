//! Who asks for the same tab gets the same connection and history, and is told what of it is new to him.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::http::encoded;
use crate::hub::{Connected, Home, connected};
use crate::runner::{check, fail};
use crate::stage::{Stage, sent, texts};
use crate::text::word;

/// Who connects to a tab.
#[derive(Debug, Clone)]
enum Asker {
    /// By the API, under one of the names of this machine.
    Http { host: Option<&'static str> },
    /// A process of its own.
    Command,
}

fn asker() -> impl Strategy<Value = Asker> {
    let host = prop::sample::select(vec![None, Some("127.0.0.1"), Some("localhost"), Some("LOCALHOST")]);
    prop_oneof![3 => host.prop_map(|host| Asker::Http { host }), 1 => Just(Asker::Command)]
}

/// What one asker got: the connection, if it was told, and the texts.
type Got = Result<(Option<Connected>, Vec<String>), TestCaseError>;

fn ask(stage: &Stage, tab: &str, asker: &Asker) -> Got {
    let port = stage.chrome.peer.port();
    match asker {
        Asker::Http { host } => {
            let mut request = json!({"port": port, "targetId": tab});
            if let Some(host) = host {
                request["host"] = json!(host);
            }
            let connected = connected(&stage.hub.post("/api/connect", &request)?);
            let history = stage.hub.data(&format!("/api/console/{}", connected.id))?;
            Ok((Some(connected), texts(&history)))
        }
        Asker::Command => {
            let url = format!("ws://127.0.0.1:{port}/devtools/page/{tab}");
            let data = stage.hub.home.run(&["console", "--connect", &url, "--json"]).data()?;
            Ok((None, texts(&data)))
        }
    }
}

#[test]
fn property_01_connection_persistence_across_cli_processes() {
    let stage = Stage::new(Home::new());
    let logs = || prop::collection::vec(word(), 0..5);
    check((logs(), prop::collection::vec(asker(), 2..6), logs()), |(before, askers, after)| {
        let tab = stage.chrome.peer.open_tab();
        for text in &before {
            stage.log(&tab, text);
        }
        // What is still on its way to the hub nobody can see yet.
        stage.settle()?;
        let got: Vec<Got> = std::thread::scope(|scope| {
            let asked: Vec<_> = askers.iter().map(|asker| scope.spawn(|| ask(&stage, &tab, asker))).collect();
            asked.into_iter().map(|asked| asked.join().unwrap_or_else(|_| Err(fail("panicked")))).collect()
        });
        let got: Vec<(Option<Connected>, Vec<String>)> = got.into_iter().collect::<Result<_, _>>()?;
        for (_, seen) in &got {
            prop_assert_eq!(seen, &before);
        }

        // One connection, which only one of them can have made.
        let all = stage.hub.data("/api/connections")?;
        let of_tab: Vec<&Value> =
            all.as_array().into_iter().flatten().filter(|one| one["targetId"] == tab.as_str()).collect();
        prop_assert_eq!(of_tab.len(), 1, "{}", all);
        let id = of_tab[0]["id"].as_str().unwrap_or_default().to_owned();
        let by_http: Vec<&Connected> = got.iter().filter_map(|(connected, _)| connected.as_ref()).collect();
        prop_assert!(by_http.iter().all(|connected| connected.id == id), "{by_http:?}");
        let made = by_http.iter().filter(|connected| connected.is_new).count();
        prop_assert!(made <= 1 && (made == 1 || by_http.len() < got.len()), "{by_http:?}");

        // What comes later is seen by those who were there, and by one who was not.
        for text in &after {
            stage.log(&tab, text);
        }
        stage.settle()?;
        let whole = [before, after].concat();
        for asker in &askers {
            prop_assert_eq!(&ask(&stage, &tab, asker)?.1, &whole);
        }
        prop_assert_eq!(stage.chrome.peer.links_so_far(), 1, "all over one connection to the browser");
        stage.clean_up(&connected(&json!({"connectionId": id, "targetInfo": {"id": tab}})))
    });
}

#[derive(Debug, Clone)]
enum Step {
    Log { tab: usize },
    Request { tab: usize },
    Look { client: Option<usize>, at: Route, of: What },
}

/// The tab by its connection, by its browser, or all tabs of the browser.
#[derive(Debug, Clone, Copy)]
enum Route {
    Connection(usize),
    Tab(usize),
    Browser,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Console,
    Network,
}

const TABS: usize = 2;
const CLIENTS: usize = 3;

fn step() -> impl Strategy<Value = Step> {
    let route = prop_oneof![
        3 => (0..TABS).prop_map(Route::Connection),
        2 => (0..TABS).prop_map(Route::Tab),
        1 => Just(Route::Browser),
    ];
    let client = prop_oneof![6 => (0..CLIENTS).prop_map(Some), 1 => Just(None)];
    let what = prop_oneof![Just(What::Console), Just(What::Network)];
    prop_oneof![
        3 => (0..TABS).prop_map(|tab| Step::Log { tab }),
        2 => (0..TABS).prop_map(|tab| Step::Request { tab }),
        4 => (client, route, what).prop_map(|(client, at, of)| Step::Look { client, at, of }),
    ]
}

/// What was said in a tab, in order: of which kind, and its text or URL.
type Said = Vec<(What, String)>;

#[test]
fn property_10_historical_data_distinction() {
    let stage = Stage::new(Home::new());
    let case = std::cell::Cell::new(0_u32);
    check(prop::collection::vec(step(), 1..25), |steps| {
        case.set(case.get() + 1);
        let tabs = [stage.tab()?, stage.tab()?];
        let mut said: [Said; TABS] = Default::default();
        // How much had been said in a tab when a client first looked at it.
        let mut looks: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        for (number, step) in steps.iter().enumerate() {
            match step {
                Step::Log { tab } => {
                    let text = format!("line {number}");
                    stage.log(&tabs[*tab].tab, &text);
                    said[*tab].push((What::Console, text));
                }
                Step::Request { tab } => {
                    let (id, url) = (format!("{}.{number}", case.get()), format!("http://a.test/{number}"));
                    stage.chrome.peer.emit(&tabs[*tab].tab, "Network.requestWillBeSent", sent(&id, &url));
                    said[*tab].push((What::Network, url));
                }
                Step::Look { client, at, of } => {
                    stage.settle()?;
                    let name = client.map(|client| format!("{}-client-{client}", case.get()));
                    let history = look(&stage, &tabs, *at, *of, name.as_deref())?;
                    let seen: Vec<usize> = match at {
                        Route::Connection(tab) | Route::Tab(tab) => vec![*tab],
                        Route::Browser => (0..TABS).collect(),
                    };
                    for tab in seen {
                        let all = said[tab].len();
                        let first = match client {
                            Some(client) => *looks.entry((*client, tab)).or_insert(all),
                            None => all,
                        };
                        let expected: Vec<(String, bool)> = said[tab]
                            .iter()
                            .enumerate()
                            .filter(|(_, (what, _))| what == of)
                            .map(|(at, (_, text))| (text.clone(), at < first))
                            .collect();
                        prop_assert_eq!(marked(&history, &tabs[tab].tab), expected, "{:?}", step);
                    }
                    let records = records(&history).filter(|record| record["historical"] == true);
                    prop_assert_eq!(&history["historical"], &json!(records.count()));
                }
            }
        }
        tabs.iter().try_for_each(|tab| stage.clean_up(tab))
    });
}

fn look(
    stage: &Stage,
    tabs: &[Connected; TABS],
    at: Route,
    of: What,
    client: Option<&str>,
) -> Result<Value, TestCaseError> {
    let of = if of == What::Console { "console" } else { "network" };
    let browser = stage.chrome.browser();
    let path = match at {
        Route::Connection(tab) => format!("/api/{of}/{}", tabs[tab].id),
        Route::Tab(tab) => format!("/api/browsers/{browser}/tabs/{}/{of}", tabs[tab].tab),
        Route::Browser => format!("/api/browsers/{browser}/{of}"),
    };
    let query = client.map(|client| format!("?client={}", encoded(client))).unwrap_or_default();
    stage.hub.data(&format!("{path}{query}"))
}

fn records(history: &Value) -> impl Iterator<Item = &Value> {
    let list = |name: &str| history[name].as_array();
    list("messages").or_else(|| list("requests")).into_iter().flatten()
}

/// Text or URL of a tab's records, and whether each is marked as history.
fn marked(history: &Value, tab: &str) -> Vec<(String, bool)> {
    records(history)
        .filter(|record| record["tab"] == tab)
        .map(|record| {
            let text = record["text"].as_str().or_else(|| record["url"].as_str()).unwrap_or_default();
            (text.to_owned(), record["historical"] == true)
        })
        .collect()
}
