//! Every request is remembered with all that its events say, in whichever order they come.

mod plan;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use serde_json::{Value, json};

use crate::hub::{Connected, Home};
use crate::runner::{check, fail};
use crate::stage::Stage;
use plan::{Expected, Plan, plan};

#[test]
fn property_03_network_request_capture_completeness() {
    let stage = Stage::new(Home::new());
    let case = std::cell::Cell::new(0_u32);
    let picks = prop::collection::vec(any::<u8>(), 64);
    let plans = prop::collection::vec((0..2_usize, plan()), 1..10);
    check((plans, picks), |(plans, picks)| {
        case.set(case.get() + 1);
        let tabs = [stage.tab()?, stage.tab()?];
        let mut picks = picks.into_iter().cycle();
        let mut lanes = Vec::new();
        for (number, (tab, plan)) in plans.iter().enumerate() {
            let id = format!("{}.{number}", case.get());
            if let Some(body) = plan.body() {
                stage.chrome.peer.put_body(&id, &body.0, body.1);
            }
            let mut events = plan.events(&id, &mut picks);
            events.reverse();
            lanes.push((&tabs[*tab].tab, events));
        }
        // The events of all requests, mixed.
        while !lanes.is_empty() {
            let at = usize::from(picks.next().unwrap_or_default()) % lanes.len();
            match lanes[at].1.pop() {
                Some((method, params)) => stage.chrome.peer.emit(lanes[at].0, method, params),
                None => drop(lanes.swap_remove(at)),
            }
        }
        stage.settle()?;
        for (number, (tab, plan)) in plans.iter().enumerate() {
            let id = format!("{}.{number}", case.get());
            compare(&stage, &tabs[*tab], &id, plan)?;
        }
        let count: usize = plans.iter().map(|(_, plan)| plan.expected().len()).sum();
        let mut found = 0;
        for tab in &tabs {
            let history = stage.hub.data(&format!("/api/network/{}", tab.id))?;
            found += history["requests"].as_array().map_or(0, Vec::len);
        }
        prop_assert_eq!(found, count, "nothing is told twice");
        tabs.iter().try_for_each(|tab| stage.clean_up(tab))
    });
}

/// Compares the hops of one request with what was planned.
fn compare(stage: &Stage, tab: &Connected, id: &str, plan: &Plan) -> TestCaseResult {
    let history = stage.hub.data(&format!("/api/network/{}?reveal=1&includeResponseBody=1", tab.id))?;
    let hops: Vec<&Value> = history["requests"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|record| record["requestId"] == id)
        .collect();
    let expected = plan.expected();
    prop_assert_eq!(hops.len(), expected.len(), "hops of {}", history);
    let mut before = Value::Null;
    for (hop, expected) in hops.iter().zip(&expected) {
        for (name, value) in &expected.fields {
            prop_assert_eq!(&hop[*name], value, "{} of {}", name, hop);
        }
        if let Some(duration) = expected.duration {
            let got = hop["duration"].as_f64().unwrap_or(f64::NAN);
            prop_assert!((got - duration).abs() < 0.1, "{got} is not {duration}");
        }
        prop_assert_eq!(&hop["redirectedFrom"], &before);
        prop_assert_eq!(&hop["tab"], &json!(tab.tab));
        before = hop["seq"].clone();
        if let Plan::Socket(socket) = plan {
            let messages = hop["messages"].as_array().cloned().unwrap_or_default();
            let text = |message: &Value, name: &str| message[name].as_str().unwrap_or_default().to_owned();
            let got: Vec<(String, String)> =
                messages.iter().map(|message| (text(message, "direction"), text(message, "data"))).collect();
            let got: Vec<(&str, &str)> =
                got.iter().map(|(way, data)| (way.as_str(), data.as_str())).collect();
            prop_assert_eq!(got, socket.messages());
        }
        compare_body(stage, tab, hop, expected)?;
    }
    Ok(())
}

fn compare_body(stage: &Stage, tab: &Connected, hop: &Value, expected: &Expected) -> TestCaseResult {
    let answer = stage.hub.get(&format!("/api/network/{}/{}/body", tab.id, hop["seq"]))?;
    let Some((body, base64)) = &expected.body else {
        prop_assert_eq!(answer.status, 404, "{}", answer.text());
        prop_assert_eq!(answer.code(), "body_gone");
        prop_assert_eq!(&hop["responseBody"], &Value::Null);
        return Ok(());
    };
    let size = if *base64 {
        BASE64_STANDARD.decode(body).map_err(|error| fail(error.to_string()))?.len()
    } else {
        body.len()
    };
    let wanted = json!({"body": body, "base64Encoded": base64, "size": size});
    prop_assert_eq!(&answer.json().unwrap_or_default()["data"], &wanted);
    prop_assert_eq!(&hop["responseBody"], &wanted);
    Ok(())
}
