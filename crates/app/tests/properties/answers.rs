//! Whatever is asked, the answer has the envelope and a status that fits, and is never the hub's failure.

mod question;

use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use serde_json::json;

use crate::http::Answer;
use crate::hub::Home;
use crate::runner::{check, fail};
use crate::stage::{Stage, sent};
use question::{Names, Question, question};

#[test]
fn property_07_api_response_consistency() {
    let stage = Stage::new(Home::new());
    check(prop::collection::vec(question(), 1..60), |questions| {
        // What a question took away is there again for the next case.
        let tab = stage.tab()?;
        stage.log(&tab.tab, "a line");
        let request = format!("request-{}", tab.tab);
        stage.chrome.peer.emit(&tab.tab, "Network.requestWillBeSent", sent(&request, "http://a.test/"));
        stage.settle()?;
        for question in &questions {
            let names = Names { tab: &tab.tab, connection: &tab.id, request: &request };
            let answer = question.ask(&stage, &names)?;
            judge(question, &answer)?;
        }
        stage.chrome.peer.close_tab(&tab.tab);
        let _ = stage.hub.delete(&format!("/api/connection/{}", tab.id));
        stage.settle()
    });
}

/// The statuses that go with a code.
fn statuses(code: &str) -> &'static [u16] {
    match code {
        "bad_request" => &[400, 415],
        "bad_name" | "bad_address" | "bad_profile" => &[400],
        "unauthorized" => &[401],
        "not_found" | "no_such_browser" | "no_such_tab" | "no_such_request" | "no_such_connection"
        | "no_such_target" | "body_gone" | "no_browser" | "unreachable" | "refused" | "no_answer" => &[404],
        "bad_method" => &[405],
        "timeout" => &[408],
        "ambiguous_tab" | "recorder_off" | "port_taken" | "not_cdp" | "stopped" => &[409],
        "too_large" => &[413],
        "cdp_error" | "page_threw" => &[422],
        "rate_limited" => &[429],
        _ => &[],
    }
}

fn judge(question: &Question, answer: &Answer) -> TestCaseResult {
    let said = || format!("{question:?}: {} {}", answer.status, answer.text());
    prop_assert!(answer.status < 500, "{}", said());
    let is_stream = answer.header("content-type") == Some("text/event-stream");
    let asked = |name: &str| {
        question.query.iter().any(|(known, value)| known == name && (value == "1" || value == "true"))
    };
    if is_stream {
        prop_assert!(answer.status == 200 && asked("follow"), "{}", said());
        return Ok(());
    }
    let Some(json) = answer.json() else { return Err(fail(said())) };
    if answer.status == 200 && asked("raw") && json["log"].is_object() {
        return Ok(());
    }
    prop_assert!(json["timestamp"].as_u64().is_some_and(|time| time > 1_600_000_000_000), "{}", said());
    if answer.status == 200 {
        prop_assert_eq!(&json["success"], &json!(true), "{}", said());
        prop_assert!(json.get("data").is_some() && json.get("error").is_none(), "{}", said());
        return Ok(());
    }
    prop_assert_eq!(&json["success"], &json!(false), "{}", said());
    prop_assert!(json.get("data").is_none(), "{}", said());
    let error = &json["error"];
    for part in ["code", "message", "hint"] {
        prop_assert!(error[part].as_str().is_some_and(|text| !text.is_empty()), "{part} of {}", said());
    }
    let code = error["code"].as_str().unwrap_or_default();
    prop_assert!(statuses(code).contains(&answer.status), "{}", said());
    prop_assert_eq!(answer.status == 401, !question.is_authorized(), "{}", said());
    let candidates = error["candidates"].as_array().map_or(0, Vec::len);
    prop_assert!(code != "ambiguous_tab" || candidates > 1, "{}", said());
    prop_assert_eq!(code == "cdp_error", error["cdp"].is_object());
    Ok(())
}
