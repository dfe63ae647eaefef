//! Payloads and what they become; that actions work is seen with real browsers (tests/e2e/actions.test.mjs).

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::act::{first, quoted, text};
use super::elements::locator_of_text;
use super::forms::fit;
use super::history::{domain, level};
use super::mouse::{ScrollTo, scroll_input};
use super::target::{Common, by_id, by_url};
use super::{ACTIONS, find_action, no_such_action};
use crate::error::Code;
use crate::page::Element;
use crate::schema;

fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

#[test]
fn there_are_46_actions_and_5_that_are_kept_each_under_names_of_its_own() {
    let kept = ["ping", "searchVisibleText", "getElementAtPoint", "listConnected", "setDefaultBrowser"];
    let names: Vec<&str> = ACTIONS.iter().map(|action| action.name).collect();
    assert_eq!(names.len(), 46 + kept.len());
    assert_eq!(names[46..], kept);
    let all: Vec<&str> = ACTIONS
        .iter()
        .flat_map(|action| std::iter::once(&action.name).chain(action.aliases))
        .copied()
        .collect();
    assert_eq!(all.len(), all.iter().collect::<HashSet<_>>().len());
    for (alias, name) in [
        ("go_back", "goBack"),
        ("go_forward", "goForward"),
        ("get_visible_html", "getVisibleHtml"),
        ("press_key", "pressKey"),
        ("upload_file", "uploadFile"),
        ("save_as_pdf", "saveAsPdf"),
    ] {
        assert_eq!(find_action(alias).map(|action| action.name), Some(name), "{alias}");
    }
}

#[test]
fn every_field_is_described() {
    for action in ACTIONS {
        assert!(!action.about.is_empty(), "{}", action.name);
        for field in (action.fields)() {
            assert!(!field.about.is_empty(), "{}: {}", action.name, field.name);
        }
    }
}

#[test]
fn an_unknown_action_names_those_that_are_near() {
    let error = no_such_action("get_tabs");
    assert_eq!(error.code, Code::NoSuchOp);
    assert!(error.hint.contains("getTabs"), "{}", error.hint);
    assert_eq!(no_such_action("teleport").details["nearest"], json!([]));
}

#[test]
fn the_target_is_taken_out_of_a_payload_unless_the_field_is_the_actions_own() {
    let take = |name: &str, payload: Value| {
        let mut payload = object(payload);
        let common = Common::take(find_action(name).unwrap(), &mut payload).map_err(|error| error.message);
        (common, payload)
    };
    let (common, rest) =
        take("hover", json!({"selector": "a", "tabId": "t2", "browser": "chrome", "timeout": 9}));
    let expected = Common {
        tab_id: Some("t2".to_owned()),
        url: None,
        browser: Some("chrome".to_owned()),
        timeout: Some(9),
    };
    assert_eq!((common, rest), (Ok(expected), object(json!({"selector": "a"}))));
    let (common, rest) = take("navigate", json!({"url": "http://a.b", "tabId": null}));
    assert_eq!((common, rest), (Ok(Common::default()), object(json!({"url": "http://a.b"}))));
    let (common, rest) = take("setDefaultBrowser", json!({"browser": "edge"}));
    assert_eq!((common, rest), (Ok(Common::default()), object(json!({"browser": "edge"}))));
    for (payload, field) in [
        (json!({"tabId": 4}), "`tabId`"),
        (json!({"url": []}), "`url`"),
        (json!({"timeout": "1"}), "`timeout`"),
    ] {
        let (common, _) = take("getPageInfo", payload);
        assert!(common.as_ref().is_err_and(|message| message.contains(field)), "{common:?}");
    }
}

#[test]
fn wrong_fields_are_named() {
    let message = |payload: Value| {
        let read = schema::read::<super::elements::FillElement>("fillElement", object(payload));
        read.map(|_| ()).unwrap_err().message
    };
    assert!(message(json!({"selector": "a", "value": "b", "knot": 1})).contains("knot"));
    assert!(message(json!({"selector": 4, "value": "b"})).contains("selector"));
    assert!(message(json!({"selector": " ", "value": "b"})).contains("selector"));
    assert!(message(json!({"selector": "a"})).contains("value"));
    let read = schema::read::<super::look::Listing>("x", object(json!({"filters": {"knot": 1}})));
    assert!(read.unwrap_err().message.contains("filters.knot"));
}

#[test]
fn a_tab_is_found_by_id_or_by_part_of_its_address() {
    let tabs = [
        json!({"tab": "t1", "id": "AA", "url": "http://a.b/one", "current": false}),
        json!({"tab": "t2", "id": "BB", "url": "http://a.b/two?t9", "current": false}),
        json!({"tab": "t3", "id": "CC", "url": "http://a.b/two?x", "current": true}),
    ];
    let id = |word| by_id(&tabs, word).map(|tab| tab["id"].clone()).map_err(|error| error.code);
    assert_eq!((id("t1"), id("CC")), (Ok(json!("AA")), Ok(json!("CC"))));
    assert_eq!(id("t9"), Err(Code::NoSuchTab), "a name that is gone is no part of an address");
    let url = |part| by_url(&tabs, part).map(|tab| tab["id"].clone()).map_err(|error| error.code);
    assert_eq!(url("/ONE"), Ok(json!("AA")));
    assert_eq!(url("/two"), Ok(json!("CC")), "the current one of several");
    assert_eq!(url("http://a.b/two?t9"), Ok(json!("BB")));
    assert_eq!(by_url(&tabs[..2], "a.b").map(|_| ()).map_err(|error| error.code), Err(Code::Ambiguous));
    assert_eq!(url("/three"), Err(Code::NoSuchTab));
}

#[test]
fn a_selector_means_the_first_element_and_a_ref_itself() {
    assert_eq!(first(&Element::parse("#a > b")), "#a > b >> nth=0");
    assert_eq!(first(&Element::parse("@f1e3")), "f1e3");
    assert_eq!(text(&Element::parse(" .x ")), ".x");
    assert_eq!(quoted("say \"a\\b\""), "\"say \\\"a\\\\b\\\"\"");
    assert_eq!(locator_of_text("Go", None), "text=\"Go\"i >> visible=true");
    assert_eq!(locator_of_text("Go", Some("Button")), "role=button[name=\"Go\"] >> visible=true");
    assert_eq!(locator_of_text("Go", Some("span")), "span:has-text(\"Go\") >> visible=true");
}

#[test]
fn scrolling_goes_to_an_end_an_element_or_a_point() {
    let input = |payload: Value| {
        let payload = schema::read::<ScrollTo>("scrollTo", object(payload)).unwrap();
        scroll_input(&payload).map_err(|error| error.code)
    };
    assert_eq!(input(json!({"target": "down"})), Ok(json!({"direction": "down"})));
    assert_eq!(input(json!({"target": "bottom"})), Ok(json!({"to": "bottom"})));
    assert_eq!(input(json!({"target": "#end"})), Ok(json!({"target": "#end >> nth=0"})));
    assert_eq!(input(json!({"y": 40})), Ok(json!({"x": null, "y": 40.0})));
    assert_eq!(input(json!({})), Err(Code::BadInput));
}

#[test]
fn texts_fit_in_any_case_and_without_marks() {
    assert_eq!(fit("name", "Name *"), Some(0));
    assert_eq!(fit("first", "First name:"), Some(1));
    assert_eq!(fit("mail", "Your  E-Mail"), Some(2));
    assert_eq!(fit("name", "Colour"), None);
    assert_eq!(fit("", "Colour"), None);
}

#[test]
fn levels_and_hosts_are_read() {
    assert_eq!((level("Warning"), level("time")), (Some("warn"), None));
    assert_eq!(domain("http://127.0.0.1:80"), "127.0.0.1");
    assert_eq!(domain("https://a.b"), "a.b");
    assert_eq!(domain("http://[::1]:9"), "[::1]");
}
