//! What was closed leaves nothing behind: no route shows it, no count includes it, no file holds it.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use rusqlite::{Connection, OpenFlags};
use serde_json::json;

use crate::hub::{Connected, Home, Hub};
use crate::runner::{SOON, check_in_lanes, fail, until};
use crate::stage::{Watched, logged, sent, string, texts};

#[derive(Debug, Clone)]
struct Plan {
    lines: usize,
    requests: usize,
    way: Way,
    /// Whether it is on disk when it ends.
    is_written: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// `DELETE /api/connection/ID`.
    Deleted,
    /// The same, and then it is connected to again.
    DeletedAndAgain,
    /// The browser closes the tab.
    Closed,
}

fn plan() -> impl Strategy<Value = Plan> {
    let way = prop_oneof![Just(Way::Deleted), Just(Way::DeletedAndAgain), Just(Way::Closed)];
    (0..4_usize, 0..4_usize, way, any::<bool>()).prop_map(|(lines, requests, way, is_written)| Plan {
        lines,
        requests,
        way,
        is_written,
    })
}

const KEEP_CLOSED: Duration = Duration::from_millis(300);
/// How often closed tabs are looked through, and then some.
const SWEEP: Duration = Duration::from_secs(10);

#[test]
fn property_11_connection_cleanup_completeness() {
    let home = Home::new()
        .with("BOWLINE_HISTORY_KEEP_CLOSED", format!("{}ms", KEEP_CLOSED.as_millis()))
        .with("BOWLINE_CONNECTIONS_SUSPICIOUS_INTERVAL", "100ms");
    let mut hub = Hub::start(home);
    let case = AtomicU32::new(0);
    check_in_lanes(
        20,
        || (),
        || prop::collection::vec(plan(), 1..4),
        |(), plans| {
            let number = case.fetch_add(1, Ordering::Relaxed);
            let chrome = Watched::by(&hub);
            let mut tabs = Vec::new();
            for (at, plan) in plans.iter().enumerate() {
                let tab = chrome.tab(&hub)?;
                let mark = format!("mark-{number}-{at}-");
                fill(&chrome, &tab, plan, &mark);
                tabs.push((tab, plan, mark));
            }
            chrome.settle(&hub)?;
            for (tab, plan, mark) in &tabs {
                if plan.is_written && plan.lines + plan.requests > 0 {
                    let database = hub.home.database();
                    until("it is on disk", SOON, || {
                        on_disk(&database, mark).ok().filter(|count| *count > 0)
                    })?;
                }
                match plan.way {
                    Way::Deleted => {
                        hub.delete(&format!("/api/connection/{}", tab.id))?;
                    }
                    Way::DeletedAndAgain => again(&hub, &chrome, tab)?,
                    Way::Closed => close(&hub, &chrome, tab, plan)?,
                }
                nothing_left(&hub, &chrome, tab, mark, plan.way == Way::Closed)?;
            }
            end(&hub, chrome)
        },
    );
    // With the last connection of a browser, the browser and all that it had.
    let empty = json!({"open_tabs": 0, "closed_tabs": 0, "bytes": 0, "connections": 0});
    until("all counts are zero", SWEEP, || {
        let status = hub.data("/api/status").ok()?;
        let recorder = status["recorder"].as_object()?;
        empty.as_object()?.iter().all(|(name, value)| recorder.get(name) == Some(value)).then_some(())
    })
    .expect("nothing is left");
    hub.shut_down().expect("a hub that leaves");
    for (table, query) in [
        ("tabs", "SELECT count(*) FROM tabs"),
        ("records", "SELECT count(*) FROM records"),
        ("connections", "SELECT count(*) FROM meta WHERE name = 'connections' AND value <> '[]'"),
    ] {
        let count = count(&hub.home.database(), query, []).expect("a database");
        assert_eq!(count, 0, "rows of {table}");
    }
}

fn fill(chrome: &Watched, tab: &Connected, plan: &Plan, mark: &str) {
    for line in 0..plan.lines {
        let params = logged("log", &[string(&format!("{mark}{line}"))]);
        chrome.peer.emit(&tab.tab, "Runtime.consoleAPICalled", params);
    }
    for request in 0..plan.requests {
        let params = sent(&format!("{mark}{request}"), &format!("http://a.test/{mark}{request}"));
        chrome.peer.emit(&tab.tab, "Network.requestWillBeSent", params);
    }
}

/// A tab that is still open is connected to anew: there is nothing of before, and all that comes.
fn again(hub: &Hub, chrome: &Watched, tab: &Connected) -> TestCaseResult {
    hub.delete(&format!("/api/connection/{}", tab.id))?;
    let anew = hub.connect(&chrome.peer, &tab.tab)?;
    prop_assert!(anew.is_new && anew.id != tab.id);
    let path = format!("/api/console/{}", anew.id);
    prop_assert_eq!(texts(&hub.data(&path)?), Vec::<String>::new());
    chrome.peer.emit(&tab.tab, "Runtime.consoleAPICalled", logged("log", &[string("anew")]));
    chrome.settle(hub)?;
    prop_assert_eq!(texts(&hub.data(&path)?), ["anew"]);
    hub.delete(&format!("/api/connection/{}", anew.id))?;
    Ok(())
}

/// The history of a closed tab is kept for as long as it is to be kept, and not for longer.
fn close(hub: &Hub, chrome: &Watched, tab: &Connected, plan: &Plan) -> TestCaseResult {
    let closed = Instant::now();
    chrome.peer.close_tab(&tab.tab);
    let path = format!("/api/console/{}", tab.id);
    let mut last = None;
    until("it is forgotten", KEEP_CLOSED + SWEEP, || {
        let answer = hub.get(&path).ok()?;
        if answer.status == 404 {
            return Some(());
        }
        last = Some(texts(&answer.json()?["data"]).len());
        None
    })?;
    // Its connection follows its history.
    until("the connection is gone", SOON, || hub.connection(&tab.id).ok()?.is_none().then_some(()))?;
    prop_assert!(closed.elapsed() >= KEEP_CLOSED);
    // On a machine that is busy enough, the first look may come too late.
    prop_assert!(last.is_none_or(|last| last == plan.lines), "all of it until then");
    Ok(())
}

fn nothing_left(hub: &Hub, chrome: &Watched, tab: &Connected, mark: &str, is_closed: bool) -> TestCaseResult {
    for path in ["console", "network", "health"] {
        prop_assert_eq!(hub.get(&format!("/api/{path}/{}", tab.id))?.code(), "no_such_connection");
    }
    prop_assert_eq!(hub.get(&format!("/api/network/{}/har", tab.id))?.status, 404);
    prop_assert_eq!(hub.send("DELETE", &format!("/api/connection/{}", tab.id), None)?.status, 404);
    let execute = json!({"method": "Browser.getVersion"}).to_string();
    prop_assert_eq!(hub.send("POST", &format!("/api/execute/{}", tab.id), Some(&execute))?.status, 404);
    prop_assert!(hub.connection(&tab.id)?.is_none());
    let browser = chrome.browser();
    for path in ["console", "network", "har"] {
        let answer = hub.get(&format!("/api/browsers/{browser}/{path}"))?;
        prop_assert!(!answer.text().contains(mark), "{path}: {}", answer.text());
    }
    let listed = hub.data(&format!("/api/browsers/{browser}/tabs?closed=1"))?;
    let listed =
        listed["tabs"].as_array().and_then(|tabs| tabs.iter().find(|one| one["id"] == tab.tab.as_str()));
    let console = hub.get(&format!("/api/browsers/{browser}/tabs/{}/console", tab.tab))?;
    let mut gone = vec![mark.to_owned(), tab.id.clone()];
    if is_closed {
        prop_assert!(listed.is_none(), "{listed:?}");
        prop_assert_eq!(console.code(), "no_such_tab");
        gone.push(format!("\"target\":\"{}\"", tab.tab));
    } else if let Some(listed) = listed {
        // It is open, so it is listed; but as if nothing had ever happened in it.
        prop_assert_eq!(&listed["console"], &json!({"count": 0, "dropped": 0}));
        prop_assert_eq!(&listed["network"], &json!({"count": 0, "dropped": 0}));
        prop_assert!(listed.get("connectionId").is_none());
    }
    let database = hub.home.database();
    for what in &gone {
        until("it is off the disk", SOON, || on_disk(&database, what).ok().filter(|count| *count == 0))
            .map_err(|error| fail(format!("{error}: {what}")))?;
    }
    Ok(())
}

/// The last connection of a browser takes it along.
fn end(hub: &Hub, chrome: Watched) -> TestCaseResult {
    hub.delete(&format!("/api/connection/{}", chrome.anchor().id))?;
    let status = hub.get("/api/status")?;
    let name = chrome.browser();
    prop_assert!(!status.text().contains(&format!("\"{name}\"")), "{}", status.text());
    prop_assert_eq!(hub.get(&format!("/api/browsers/{name}/console"))?.code(), "no_such_browser");
    Ok(())
}

/// Rows of the file in which a text is found.
fn on_disk(database: &Path, text: &str) -> rusqlite::Result<i64> {
    let query = "SELECT (SELECT count(*) FROM tabs WHERE instr(data, ?1))
        + (SELECT count(*) FROM records WHERE instr(data, ?1))
        + (SELECT count(*) FROM meta WHERE instr(value, ?1))";
    count(database, query, [text])
}

fn count(database: &Path, query: &str, params: impl rusqlite::Params) -> rusqlite::Result<i64> {
    let connection = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.query_row(query, params, |row| row.get(0))
}
