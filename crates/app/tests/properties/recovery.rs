//! A connection that is lost is found again with all it had, or given up and cleaned up, in time.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use crate::hub::{Connected, Home, Hub};
use crate::peer::{Door, Peer};
use crate::runner::{check_in_lanes, fail, until};
use crate::stage::{Watched, logged, string, texts};

#[derive(Debug, Clone)]
enum Outage {
    /// The connection breaks, and whoever comes again is let in.
    Blink,
    /// For so many milliseconds nobody is let in.
    Away(u64, Door),
    /// It does not answer any more, until somebody notices.
    Hang,
}

#[derive(Debug, Clone)]
enum End {
    Stays,
    /// It never comes back.
    Gone(Door),
    /// Its process has ended.
    Dead,
    /// It comes back, without the tab.
    TabClosed,
}

fn door() -> impl Strategy<Value = Door> {
    prop_oneof![Just(Door::Slammed), Just(Door::Unwell), Just(Door::NoSocket)]
}

fn outage() -> impl Strategy<Value = Outage> {
    prop_oneof![
        2 => Just(Outage::Blink),
        2 => (0..150_u64, door()).prop_map(|(time, door)| Outage::Away(time, door)),
        1 => Just(Outage::Hang),
    ]
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![
        2 => Just(End::Stays),
        1 => door().prop_map(End::Gone),
        1 => Just(End::Dead),
        1 => Just(End::TabClosed),
    ]
}

const ATTEMPTS: u32 = 6;
const BACKOFF: Duration = Duration::from_millis(20);
/// After which a browser counts as hung; much longer than one that is only busy takes.
const SILENCE: Duration = Duration::from_millis(1_000);
/// After which one that was reached, and does not answer, is given up.
const ANSWER: Duration = Duration::from_millis(1_500);
const KEEP_CLOSED: Duration = Duration::from_millis(100);
/// How often closed tabs are looked through.
const SWEEP: Duration = Duration::from_secs(1);
/// For a machine that has other things to do.
const SLACK: Duration = Duration::from_secs(8);

/// The longest that all attempts take: pauses that double, each with up to as much again by chance.
fn longest_search() -> Duration {
    let pauses: Duration = (0..ATTEMPTS).map(|attempt| BACKOFF * 2_u32.pow(attempt) * 2).sum();
    pauses + ANSWER * ATTEMPTS
}

#[test]
fn property_05_connection_health_recovery() {
    let home = Home::new()
        .with("BOWLINE_CONNECTIONS_HEALTH_INTERVAL", "50ms")
        .with("BOWLINE_CONNECTIONS_SUSPICIOUS_INTERVAL", "50ms")
        .with("BOWLINE_CONNECTIONS_RECONNECT_ATTEMPTS", ATTEMPTS)
        .with("BOWLINE_CONNECTIONS_RECONNECT_BACKOFF", format!("{}ms", BACKOFF.as_millis()))
        .with("BOWLINE_HEALTH_INTERVAL", "50ms")
        .with("BOWLINE_HEALTH_TIMEOUT", format!("{}ms", SILENCE.as_millis()))
        .with("BOWLINE_LAUNCH_TIMEOUT", format!("{}ms", ANSWER.as_millis()))
        .with("BOWLINE_HISTORY_KEEP_CLOSED", format!("{}ms", KEEP_CLOSED.as_millis()));
    let hub = Hub::start(home);
    let strategy = || (prop::collection::vec(outage(), 0..3), end());
    check_in_lanes(
        20,
        || (),
        strategy,
        |(), (outages, end)| {
            let chrome = Watched::by(&hub);
            let tab = chrome.tab(&hub)?;
            let mut said = Vec::new();
            say(&chrome.peer, &tab, &mut said);
            chrome.settle(&hub)?;
            for (number, outage) in (1..).zip(&outages) {
                lose(&hub, &chrome, &tab, outage, &mut said)?;
                found_again(&hub, &chrome, &tab, number, &mut said)?;
            }
            finish(&hub, chrome, &tab, &end)
        },
    );
}

fn say(peer: &Peer, tab: &Connected, said: &mut Vec<String>) {
    let text = format!("line {}", said.len());
    peer.emit(&tab.tab, "Runtime.consoleAPICalled", logged("log", &[string(&text)]));
    said.push(text);
}

/// The connection is lost for a while, in which the page goes on.
fn lose(
    hub: &Hub,
    chrome: &Watched,
    tab: &Connected,
    outage: &Outage,
    said: &mut Vec<String>,
) -> TestCaseResult {
    let peer = &chrome.peer;
    match outage {
        Outage::Blink => {
            peer.drop_links();
            say(peer, tab, said);
        }
        Outage::Away(time, door) => {
            peer.set_door(*door);
            peer.drop_links();
            say(peer, tab, said);
            let back = Instant::now() + Duration::from_millis(*time);
            until("the time is over", SLACK, || (Instant::now() >= back).then_some(()))?;
            peer.set_door(Door::Open);
        }
        Outage::Hang => {
            peer.set_silent(true);
            let within = SILENCE * 2 + SLACK;
            let noticed = until("the silence is noticed", within, || {
                hub.health(&tab.id).ok().flatten().filter(|state| state == "reconnecting")
            });
            peer.set_silent(false);
            noticed?;
            say(peer, tab, said);
        }
    }
    Ok(())
}

/// It is healthy again, counted, and nothing is missing or there twice.
fn found_again(
    hub: &Hub,
    chrome: &Watched,
    tab: &Connected,
    outages: u64,
    said: &mut Vec<String>,
) -> TestCaseResult {
    for connection in [tab, chrome.anchor()] {
        until("it is found again", longest_search() + SLACK, || {
            let status = hub.connection(&connection.id).ok()??;
            let count = status["metrics"]["reconnectionCount"].as_u64()?;
            // A machine that is busy enough makes outages of its own; they count as well.
            let is_counted = count >= outages && count + 1 == starts_of(hub, &connection.browser)?;
            (status["isHealthy"] == true && is_counted).then_some(())
        })
        .map_err(|error| {
            let status = hub.connection(&connection.id);
            fail(format!("{error}: {status:?}\n{}", hub.log_of(&[&connection.browser, &connection.id])))
        })?;
        until("it is watched again", SLACK, || chrome.peer.is_watched(&connection.tab).then_some(()))?;
    }
    say(&chrome.peer, tab, said);
    chrome.settle(hub)?;
    let history = hub.data(&format!("/api/console/{}", tab.id))?;
    prop_assert_eq!(texts(&history), said.clone());
    let again = hub.connect(&chrome.peer, &tab.tab)?;
    prop_assert_eq!((again.id.as_str(), again.is_new), (tab.id.as_str(), false));
    Ok(())
}

/// How often the browser has become ready.
fn starts_of(hub: &Hub, browser: &str) -> Option<u64> {
    let status = hub.data("/api/status").ok()?;
    let mut browsers = status["browsers"].as_array()?.iter();
    browsers.find(|one| one["name"] == browser)?["starts"].as_u64()
}

fn finish(hub: &Hub, chrome: Watched, tab: &Connected, end: &End) -> TestCaseResult {
    let anchor = chrome.anchor().clone();
    let mut away = None;
    match end {
        End::Stays => {
            for connection in [tab, &anchor] {
                hub.delete(&format!("/api/connection/{}", connection.id))?;
            }
            return Ok(());
        }
        End::TabClosed => {
            chrome.peer.drop_links();
            chrome.peer.close_tab(&tab.tab);
            gone(hub, tab, &["closed"], longest_search() + SLACK)?;
            hub.delete(&format!("/api/connection/{}", anchor.id))?;
            return Ok(());
        }
        End::Gone(door) => {
            chrome.peer.set_door(*door);
            chrome.peer.drop_links();
            away = Some(chrome);
        }
        End::Dead => drop(chrome),
    }
    for connection in [tab, &anchor] {
        gone(hub, connection, &["failed"], longest_search() + SLACK)?;
    }
    // Nobody has a use for a browser that was only reached for its connections.
    until("the browser is let go of", SLACK, || {
        let status = hub.data("/api/status").ok()?;
        let browsers = status["browsers"].as_array()?;
        browsers.iter().all(|browser| browser["name"] != anchor.browser.as_str()).then_some(())
    })?;
    drop(away);
    Ok(())
}

/// A connection comes to its end in this state, and then there is nothing left of it.
fn gone(hub: &Hub, connection: &Connected, states: &[&str], within: Duration) -> TestCaseResult {
    let mut last = String::new();
    let ended = until("it has come to its end", within, || match hub.health(&connection.id) {
        Ok(Some(state)) => {
            last = state;
            states.contains(&last.as_str()).then_some(true)
        }
        // It may be cleaned up as soon as it has failed.
        Ok(None) => Some(false),
        Err(_) => None,
    });
    ended.map_err(|error| fail(format!("{error}; it is {last}")))?;
    until("it is cleaned up", KEEP_CLOSED + SWEEP * 2 + SLACK, || {
        hub.health(&connection.id).ok()?.is_none().then_some(())
    })?;
    until("it is listed no more", SLACK, || hub.connection(&connection.id).ok()?.is_none().then_some(()))?;
    for path in [format!("/api/console/{}", connection.id), format!("/api/network/{}", connection.id)] {
        prop_assert_eq!(hub.get(&path)?.code(), "no_such_connection");
    }
    Ok(())
}
