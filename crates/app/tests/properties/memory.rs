//! However much tabs say, what is remembered stays within the bounds: the oldest goes first, and what
//! has gone is counted.

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use serde_json::Value;

use crate::hub::{Connected, Home};
use crate::runner::check;
use crate::stage::{Stage, sent, texts};

const MAX_CONSOLE: usize = 20;
const MAX_REQUESTS: usize = 15;
/// The smallest that can be configured.
const TAB_BYTES: u64 = 16 << 10;
const ALL_BYTES: u64 = 64 << 10;
const MAX_TEXT: usize = 2 << 10;

#[derive(Debug, Clone)]
enum Step {
    /// So many lines of so many bytes.
    Log {
        tab: usize,
        count: usize,
        bytes: usize,
    },
    /// So many requests, each with so many bytes in its URL.
    Fetch {
        tab: usize,
        count: usize,
        bytes: usize,
    },
    Frames {
        tab: usize,
        count: usize,
        bytes: usize,
    },
    Clear {
        tab: usize,
        console: bool,
    },
    Close {
        tab: usize,
    },
}

const TABS: usize = 3;

fn step() -> impl Strategy<Value = Step> {
    let size = || prop_oneof![2 => 0..40_usize, 1 => 0..3_000_usize];
    let several = || (0..TABS, 1..30_usize, size());
    prop_oneof![
        6 => several().prop_map(|(tab, count, bytes)| Step::Log { tab, count, bytes }),
        5 => several().prop_map(|(tab, count, bytes)| Step::Fetch { tab, count, bytes }),
        2 => several().prop_map(|(tab, count, bytes)| Step::Frames { tab, count, bytes }),
        1 => (0..TABS, any::<bool>()).prop_map(|(tab, console)| Step::Clear { tab, console }),
        1 => (0..TABS).prop_map(|tab| Step::Close { tab }),
    ]
}

/// What was said in a tab since it was last emptied.
#[derive(Default)]
struct Said {
    lines: Vec<String>,
    urls: Vec<String>,
    is_closed: bool,
    /// Nearly what all of it takes.
    bytes: usize,
}

/// More than a record takes beside its texts.
const LINE: usize = 600;
const REQUEST: usize = 1_400;

#[test]
fn property_06_memory_management_bounds() {
    let home = Home::new()
        .with("BOWLINE_RECORDER_MAX_CONSOLE", MAX_CONSOLE)
        .with("BOWLINE_RECORDER_MAX_REQUESTS", MAX_REQUESTS)
        .with("BOWLINE_RECORDER_MAX_CONSOLE_BYTES", TAB_BYTES)
        .with("BOWLINE_RECORDER_MAX_NETWORK_BYTES", TAB_BYTES)
        .with("BOWLINE_RECORDER_MAX_TEXT", MAX_TEXT)
        .with("BOWLINE_RECORDER_MAX_FRAMES", 3)
        .with("BOWLINE_HISTORY_MAX_BYTES", ALL_BYTES);
    let stage = Stage::new(home);
    let case = std::cell::Cell::new(0_u32);
    check(prop::collection::vec(step(), 1..15), |steps| {
        case.set(case.get() + 1);
        let tabs = [stage.tab()?, stage.tab()?, stage.tab()?];
        let mut said: [Said; TABS] = Default::default();
        let played = steps.iter().enumerate().try_for_each(|(number, step)| {
            act(&stage, &tabs, &mut said, step, &format!("{}.{number}", case.get()))?;
            stage.settle()?;
            judge(&stage, &tabs, &said)
        });
        for (tab, said) in tabs.iter().zip(&said) {
            if !said.is_closed {
                stage.chrome.peer.close_tab(&tab.tab);
            }
            // It may have made room already.
            let _ = stage.hub.delete(&format!("/api/connection/{}", tab.id));
        }
        played
    });
}

fn judge(stage: &Stage, tabs: &[Connected; TABS], said: &[Said; TABS]) -> TestCaseResult {
    let status = stage.hub.data("/api/status")?;
    let bytes = status["recorder"]["bytes"].as_u64().unwrap_or(u64::MAX);
    prop_assert!(bytes <= ALL_BYTES, "{bytes} bytes in all");
    // The marks have a tab of their own.
    let total: usize = said.iter().map(|said| said.bytes).sum();
    let is_enough = total as u64 + TAB_BYTES < ALL_BYTES;
    for (tab, said) in tabs.iter().zip(said) {
        compare(stage, tab, said, is_enough)?;
    }
    Ok(())
}

fn act(
    stage: &Stage,
    tabs: &[Connected; TABS],
    said: &mut [Said; TABS],
    step: &Step,
    name: &str,
) -> TestCaseResult {
    let (Step::Log { tab, .. }
    | Step::Fetch { tab, .. }
    | Step::Frames { tab, .. }
    | Step::Clear { tab, .. }
    | Step::Close { tab }) = step;
    let (tab, said) = (&tabs[*tab], &mut said[*tab]);
    if said.is_closed {
        return Ok(());
    }
    match step {
        Step::Log { count, bytes, .. } => {
            said.bytes += count * (LINE + bytes);
            for line in 0..*count {
                let text = format!("{name}.{line} {}", "x".repeat(*bytes));
                stage.log(&tab.tab, &text);
                said.lines.push(text.chars().take(MAX_TEXT).collect());
            }
        }
        Step::Fetch { count, bytes, .. } => {
            said.bytes += count * (REQUEST + bytes);
            for request in 0..*count {
                let id = format!("{name}.{request}");
                let url = format!("http://a.test/{id}/{}", "x".repeat(*bytes));
                stage.chrome.peer.emit(&tab.tab, "Network.requestWillBeSent", sent(&id, &url));
                said.urls.push(url);
            }
        }
        Step::Frames { count, bytes, .. } => {
            said.bytes += REQUEST + 3 * (LINE + bytes);
            let url = format!("ws://a.test/{name}");
            let created = serde_json::json!({"requestId": name, "url": url});
            stage.chrome.peer.emit(&tab.tab, "Network.webSocketCreated", created);
            for _ in 0..*count {
                let response = serde_json::json!({"opcode": 1, "payloadData": "x".repeat(*bytes)});
                let frame = serde_json::json!({"requestId": name, "timestamp": 1.0, "response": response});
                stage.chrome.peer.emit(&tab.tab, "Network.webSocketFrameReceived", frame);
            }
            said.urls.push(url);
        }
        Step::Clear { console, .. } => {
            stage.settle()?;
            let what = if *console { "console" } else { "network" };
            // A tab that has closed may have made room.
            if stage.hub.delete(&format!("/api/{what}/{}", tab.id)).is_ok() {
                if *console { said.lines.clear() } else { said.urls.clear() }
            }
        }
        Step::Close { .. } => {
            stage.chrome.peer.close_tab(&tab.tab);
            said.is_closed = true;
        }
    }
    Ok(())
}

/// `is_enough` says that there is room for everything that was said.
fn compare(stage: &Stage, tab: &Connected, said: &Said, is_enough: bool) -> TestCaseResult {
    let (console, network) = (format!("/api/console/{}", tab.id), format!("/api/network/{}", tab.id));
    let answer = stage.hub.get(&console)?;
    if said.is_closed && answer.status == 404 {
        // A closed tab goes as a whole, if something else needs the room.
        prop_assert!(!is_enough, "{}", answer.text());
        return Ok(());
    }
    let console = answer.json().unwrap_or_default()["data"].take();
    let Ok(network) = stage.hub.data(&network) else {
        prop_assert!(said.is_closed);
        return Ok(());
    };
    let is_enough = is_enough && (said.bytes as u64) < TAB_BYTES;
    bounded(&texts(&console), &said.lines, &console, MAX_CONSOLE, is_enough)?;
    let urls: Vec<String> = network["requests"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|record| record["url"].as_str().unwrap_or_default().to_owned())
        .collect();
    bounded(&urls, &said.urls, &network, MAX_REQUESTS, is_enough)
}

/// What is left is the end of what there was, within the bound, and the rest is counted.
fn bounded(left: &[String], all: &[String], history: &Value, most: usize, is_enough: bool) -> TestCaseResult {
    prop_assert!(left.len() <= most, "{} of {most}", left.len());
    prop_assert!(all.ends_with(left), "{left:?} is not the end of {all:?}");
    prop_assert_eq!(history["total"].as_u64(), Some(left.len() as u64));
    prop_assert_eq!(history["dropped"].as_u64(), Some((all.len() - left.len()) as u64), "dropped");
    if is_enough {
        prop_assert_eq!(left.len(), all.len().min(most), "nothing goes without need");
    }
    Ok(())
}
