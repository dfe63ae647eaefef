//! The virtual browser with a scripted extension: what is asked of it, and what clients are told.

use bowline_hub::backend::Outgoing;
use bytes::Bytes;
use serde_json::{Value, json};
use std::time::Duration;

mod stage;
use stage::{Stage, TAB, tab, target};

#[test]
fn a_client_that_connects_to_many_tabs_attaches_none() {
    let tabs: Vec<Value> = (1..=200).map(|id| tab(id, "http://a.test/")).collect();
    let mut stage = Stage::new(&tabs, json!({}));
    let root = stage.client();
    stage
        .call(
            &root,
            "Target.setAutoAttach",
            json!({"autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true}),
        )
        .unwrap();
    let sessions: Vec<String> = std::iter::from_fn(|| stage.event(&root, "Target.attachedToTarget"))
        .map(|event| event["sessionId"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(sessions.len(), 200);
    for session in &sessions {
        for method in [
            "Page.enable",
            "Page.getFrameTree",
            "Runtime.enable",
            "Network.enable",
            "Runtime.runIfWaitingForDebugger",
        ] {
            stage.call(session, method, json!({})).unwrap();
        }
        let tree = stage.call(session, "Page.getFrameTree", json!({})).unwrap();
        assert!(
            tree["frameTree"]["frame"]["id"].as_str().unwrap().ends_with(|c: char| c.is_ascii_hexdigit())
        );
    }
    assert_eq!(stage.asked, Vec::<String>::new());
}

#[test]
fn the_first_real_command_attaches_its_tab_and_comes_after_what_was_kept() {
    let mut stage = Stage::new(&[tab(1, "http://a.test/"), tab(2, "http://b.test/")], json!({}));
    let root = stage.client();
    let session = stage.attach(&root);
    stage.call(&session, "Page.addScriptToEvaluateOnNewDocument", json!({"source": "1"})).unwrap();
    stage.call(&session, "Network.setExtraHTTPHeaders", json!({"headers": {"a": "b"}})).unwrap();
    stage.call(&session, "Emulation.setTimezoneOverride", json!({"timezoneId": "UTC"})).unwrap();
    assert!(stage.asked.is_empty());
    let result = stage.call(&session, "Runtime.evaluate", json!({"expression": "1+1"})).unwrap();
    assert_eq!(result["result"]["value"], json!(2));
    let ours: Vec<&str> = stage
        .asked
        .iter()
        .map(String::as_str)
        .filter(|what| !what.contains("setFocusEmulation") && !what.contains("Screencast"))
        .collect();
    assert_eq!(
        ours,
        [
            "attachTab 1",
            "1 Page.enable",
            "1 Page.getFrameTree",
            "1 Page.addScriptToEvaluateOnNewDocument",
            "1 Network.setExtraHTTPHeaders",
            "1 Emulation.setTimezoneOverride",
            "1 Runtime.evaluate"
        ]
    );
}

#[test]
fn contexts_that_were_promised_stand_for_real_ones() {
    let mut stage = Stage::plain();
    let root = stage.client();
    let session = stage.attach(&root);
    stage.call(&session, "Page.enable", json!({})).unwrap();
    stage.call(&session, "Page.getFrameTree", json!({})).unwrap();
    stage.call(&session, "Runtime.enable", json!({})).unwrap();
    let main = stage.event(&session, "Runtime.executionContextCreated").unwrap()["context"]["id"].clone();
    let world = json!({"frameId": target(TAB), "worldName": "util"});
    let util = stage.call(&session, "Page.createIsolatedWorld", world).unwrap()["executionContextId"].clone();
    assert_ne!(main, util);
    stage.events(&session);
    stage.call(&session, "Runtime.evaluate", json!({"expression": "1", "contextId": main})).unwrap();
    assert_eq!(stage.params_of("Runtime.evaluate")[0]["contextId"], json!(11));
    stage
        .call(
            &session,
            "Runtime.callFunctionOn",
            json!({"functionDeclaration": "f", "executionContextId": util}),
        )
        .unwrap();
    assert_eq!(stage.params_of("Runtime.callFunctionOn")[0]["executionContextId"], json!(12));
    // The frame that was not in the first answer is announced, the known contexts are not told again.
    assert_eq!(stage.events(&session), ["Page.frameAttached", "Page.frameNavigated"]);
    stage.cdp_event(
        None,
        "Runtime.consoleAPICalled",
        json!({"type": "log", "args": [], "executionContextId": 11}),
    );
    assert_eq!(stage.event(&session, "Runtime.consoleAPICalled").unwrap()["executionContextId"], main);
    stage.cdp_event(None, "Runtime.executionContextDestroyed", json!({"executionContextId": 12}));
    assert_eq!(
        stage.event(&session, "Runtime.executionContextDestroyed").unwrap()["executionContextId"],
        util
    );
}

#[test]
fn parallel_first_commands_attach_once() {
    let mut stage = Stage::plain();
    stage.silent = vec!["attachTab"];
    let root = stage.client();
    let session = stage.attach(&root);
    let ids: Vec<i32> =
        (0..5).map(|_| stage.post(&session, "Runtime.evaluate", json!({"expression": "1"}))).collect();
    assert_eq!(stage.asked, ["attachTab 1"]);
    stage.silent.clear();
    let (id, _) = stage.unanswered.remove(0);
    stage.machine.frame(&json!({"id": id, "result": {"targetId": target(TAB)}}).to_string());
    stage.settle();
    for id in ids {
        stage.answer(id).unwrap().unwrap();
    }
}

#[test]
fn a_tab_that_cannot_be_attached_says_why_and_is_tried_again_later() {
    let mut stage = Stage::plain();
    stage.silent = vec!["attachTab"];
    let root = stage.client();
    let session = stage.attach(&root);
    let id = stage.post(&session, "Runtime.evaluate", json!({"expression": "1"}));
    let (request, _) = stage.unanswered.remove(0);
    stage.machine.frame(&json!({"id": request, "error": "Cannot access a chrome:// URL"}).to_string());
    stage.settle();
    let error = stage.answer(id).unwrap().unwrap_err();
    assert!(error.contains("http://a.test/") && error.contains("Cannot access"), "{error}");
    stage.silent.clear();
    stage.call(&session, "Runtime.evaluate", json!({"expression": "1"})).unwrap();
}

#[test]
fn a_debugger_that_was_left_over_is_taken_off_first() {
    let mut stage = Stage::plain();
    stage.silent = vec!["attachTab"];
    let root = stage.client();
    let session = stage.attach(&root);
    let id = stage.post(&session, "Runtime.evaluate", json!({"expression": "1"}));
    stage.silent.clear();
    let (request, _) = stage.unanswered.remove(0);
    stage
        .machine
        .frame(&json!({"id": request, "result": {"targetId": target(TAB), "adopted": true}}).to_string());
    stage.settle();
    stage.answer(id).unwrap().unwrap();
    assert_eq!(stage.asked[..3], ["attachTab 1", "detachTab 1", "attachTab 1"]);
}

#[test]
fn clients_hear_only_the_domains_they_enabled() {
    let mut stage = Stage::plain();
    let (a, b) = (stage.client(), stage.client());
    let (a, b) = (stage.attach(&a), stage.attach(&b));
    stage.call(&a, "Runtime.evaluate", json!({"expression": "1"})).unwrap();
    stage.call(&a, "Network.enable", json!({})).unwrap();
    stage.cdp_event(None, "Network.requestWillBeSent", json!({"requestId": "1"}));
    assert!(stage.event(&a, "Network.requestWillBeSent").is_some());
    assert!(stage.event(&b, "Network.requestWillBeSent").is_none());
    stage.call(&b, "Network.enable", json!({})).unwrap();
    stage.call(&a, "Network.disable", json!({})).unwrap();
    assert!(!stage.asked.contains(&"1 Network.disable".to_owned()), "the other one still listens");
    stage.cdp_event(None, "Network.requestWillBeSent", json!({"requestId": "2"}));
    assert!(stage.event(&a, "Network.requestWillBeSent").is_none());
    assert!(stage.event(&b, "Network.requestWillBeSent").is_some());
    stage.call(&b, "Network.disable", json!({})).unwrap();
    assert!(stage.asked.contains(&"1 Network.disable".to_owned()));
}

#[test]
fn a_late_client_is_told_what_chromium_would_repeat() {
    let mut stage = Stage::plain();
    let (a, b) = (stage.client(), stage.client());
    let (a, b) = (stage.attach(&a), stage.attach(&b));
    stage.call(&a, "Runtime.enable", json!({})).unwrap();
    stage.call(&a, "Runtime.evaluate", json!({"expression": "1"})).unwrap();
    stage.cdp_event(
        None,
        "Runtime.consoleAPICalled",
        json!({"type": "log", "args": [], "executionContextId": 11}),
    );
    stage.events(&a);
    stage.call(&b, "Runtime.enable", json!({})).unwrap();
    let created = "Runtime.executionContextCreated";
    assert_eq!(stage.events(&b), [created, created, "Runtime.consoleAPICalled"]);
    assert_eq!(stage.events(&a), Vec::<String>::new(), "the first one notices nothing");
    assert_eq!(stage.params_of("Runtime.enable").len(), 1);
}

#[test]
fn who_leaves_undoes_only_its_own() {
    let mut stage = Stage::plain();
    let (root, b) = (stage.client(), stage.client());
    let (a, b) = (stage.attach(&root), stage.attach(&b));
    let zone = |zone: &str| json!({"timezoneId": zone});
    stage.call(&a, "Runtime.evaluate", json!({"expression": "1"})).unwrap();
    stage.call(&b, "Runtime.evaluate", json!({"expression": "1"})).unwrap();
    stage.call(&b, "Emulation.setTimezoneOverride", zone("B")).unwrap();
    stage.call(&a, "Emulation.setTimezoneOverride", zone("A")).unwrap();
    stage.call(&a, "Network.setCacheDisabled", json!({"cacheDisabled": true})).unwrap();
    stage.call(&a, "Runtime.addBinding", json!({"name": "mine"})).unwrap();
    stage.call(&b, "Runtime.addBinding", json!({"name": "shared"})).unwrap();
    stage.call(&a, "Runtime.addBinding", json!({"name": "shared"})).unwrap();
    stage.call(&a, "Page.addScriptToEvaluateOnNewDocument", json!({"source": "1"})).unwrap();
    stage.commands.clear();
    stage.call("", "Target.detachFromTarget", json!({"sessionId": root})).unwrap();
    assert_eq!(stage.params_of("Emulation.setTimezoneOverride"), [zone("B")]);
    assert_eq!(stage.params_of("Network.setCacheDisabled"), [json!({"cacheDisabled": false})]);
    assert_eq!(stage.params_of("Runtime.removeBinding"), [json!({"name": "mine"})]);
    assert_eq!(stage.params_of("Page.removeScriptToEvaluateOnNewDocument").len(), 1);
    assert!(stage.call(&a, "Runtime.evaluate", json!({})).is_err());
    stage.call(&b, "Runtime.evaluate", json!({"expression": "1"})).unwrap();
}

#[test]
fn what_the_browser_takes_once_is_sent_once() {
    let mut stage = Stage::plain();
    let (a, b) = (stage.client(), stage.client());
    let (a, b) = (stage.attach(&a), stage.attach(&b));
    let fonts = |name: &str| json!({"fontFamilies": {"standard": name}});
    stage.call(&a, "Page.setFontFamilies", fonts("A")).unwrap();
    stage.call(&a, "Runtime.evaluate", json!({"expression": "1"})).unwrap();
    stage.call(&b, "Page.setFontFamilies", fonts("B")).unwrap();
    stage.call(&a, "Page.setFontFamilies", fonts("C")).unwrap();
    assert_eq!(stage.params_of("Page.setFontFamilies"), [fonts("A")]);
}

#[test]
fn a_request_goes_from_one_client_to_the_next() {
    let mut stage = Stage::plain();
    let (root_a, root_b) = (stage.client(), stage.client());
    let (a, b) = (stage.attach(&root_a), stage.attach(&root_b));
    stage.call(&a, "Runtime.evaluate", json!({"expression": "1"})).unwrap();
    stage.call(&a, "Fetch.enable", json!({"patterns": [{"urlPattern": "*"}]})).unwrap();
    stage.call(&b, "Fetch.enable", json!({"patterns": [{"urlPattern": "*/api*"}]})).unwrap();
    let paused = |id: &str, url: &str| json!({"requestId": id, "resourceType": "Fetch", "request": {"url": url, "method": "GET", "headers": {}}});
    stage.cdp_event(None, "Fetch.requestPaused", paused("1", "http://a.test/x"));
    assert!(stage.event(&b, "Fetch.requestPaused").is_none(), "it did not ask for this one");
    assert!(stage.event(&a, "Fetch.requestPaused").is_some());
    assert!(
        stage.call(&b, "Fetch.continueRequest", json!({"requestId": "1"})).is_err(),
        "nor may it touch it"
    );
    stage.call(&a, "Fetch.continueRequest", json!({"requestId": "1"})).unwrap();
    assert_eq!(stage.params_of("Fetch.continueRequest"), [json!({"requestId": "1"})]);
    stage.cdp_event(None, "Fetch.requestPaused", paused("2", "http://a.test/api"));
    assert!(stage.event(&b, "Fetch.requestPaused").is_none(), "not its turn");
    stage.call(&a, "Fetch.continueRequest", json!({"requestId": "2", "method": "POST"})).unwrap();
    assert_eq!(stage.event(&b, "Fetch.requestPaused").unwrap()["request"]["method"], json!("POST"));
    assert_eq!(stage.params_of("Fetch.continueRequest").len(), 1, "the second has it");
    // Whoever leaves lets go.
    stage.call("", "Target.detachFromTarget", json!({"sessionId": root_b})).unwrap();
    assert_eq!(stage.params_of("Fetch.continueRequest")[1], json!({"requestId": "2", "method": "POST"}));
}

#[test]
fn a_child_that_nobody_waits_for_is_released() {
    let mut stage = Stage::plain();
    let (a, b) = (stage.client(), stage.client());
    let (a, b) = (stage.attach(&a), stage.attach(&b));
    let auto = |waits: bool| json!({"autoAttach": true, "waitForDebuggerOnStart": waits, "flatten": true});
    stage.call(&a, "Target.setAutoAttach", auto(false)).unwrap();
    stage.call(&b, "Target.setAutoAttach", auto(true)).unwrap();
    stage.call(&a, "Runtime.evaluate", json!({"expression": "1"})).unwrap();
    assert_eq!(
        stage.params_of("Target.setAutoAttach"),
        [json!({"autoAttach": true, "flatten": true, "waitForDebuggerOnStart": true})]
    );
    let came = json!({"sessionId": "W", "waitingForDebugger": true, "targetInfo": {"targetId": "T", "type": "worker", "url": "w.js"}});
    stage.cdp_event(None, "Target.attachedToTarget", came);
    let of_a = stage.event(&a, "Target.attachedToTarget").unwrap();
    let of_b = stage.event(&b, "Target.attachedToTarget").unwrap();
    assert_ne!(of_a["sessionId"], of_b["sessionId"]);
    assert_eq!((&of_a["waitingForDebugger"], &of_b["waitingForDebugger"]), (&json!(false), &json!(true)));
    assert!(!stage.asked.contains(&"1/W Runtime.runIfWaitingForDebugger".to_owned()));
    let child = of_b["sessionId"].as_str().unwrap().to_owned();
    stage.call(&child, "Runtime.runIfWaitingForDebugger", json!({})).unwrap();
    assert!(stage.asked.contains(&"1/W Runtime.runIfWaitingForDebugger".to_owned()));
    stage.cdp_event(None, "Target.detachedFromTarget", json!({"sessionId": "W"}));
    assert!(stage.event(&a, "Target.detachedFromTarget").is_some());
    assert!(stage.call(&child, "Runtime.evaluate", json!({})).is_err());
}

#[test]
fn cancel_is_respected_until_somebody_asks_anew() {
    let mut stage = Stage::plain();
    let root = stage.client();
    stage
        .call(
            &root,
            "Target.setAutoAttach",
            json!({"autoAttach": true, "waitForDebuggerOnStart": false, "flatten": true}),
        )
        .unwrap();
    let session =
        stage.event(&root, "Target.attachedToTarget").unwrap()["sessionId"].as_str().unwrap().to_owned();
    stage.call(&session, "Runtime.evaluate", json!({"expression": "1"})).unwrap();
    stage.tell("tabDetached", json!({"tabId": TAB, "reason": "canceled_by_user"}));
    stage.tell("canceled", json!({}));
    assert!(stage.event(&root, "Target.detachedFromTarget").is_some());
    stage.asked.clear();
    let session = stage.attach(&root);
    let error = stage.call(&session, "Runtime.evaluate", json!({"expression": "1"})).unwrap_err();
    assert!(error.contains("cancelled") && error.contains("popup"), "{error}");
    assert!(stage.call(&root, "Target.createTarget", json!({"url": "http://a.test/"})).is_err());
    assert_eq!(stage.asked, Vec::<String>::new());
    let newcomer = stage.client();
    let session = stage.attach(&newcomer);
    stage.call(&session, "Runtime.evaluate", json!({"expression": "1"})).unwrap();
    stage.tell("resumed", json!({}));
    assert!(stage.event(&root, "Target.attachedToTarget").is_some());
}

#[test]
fn what_a_lost_worker_was_asked_is_answered() {
    let mut stage = Stage::plain();
    let root = stage.client();
    let session = stage.attach(&root);
    stage.call(&session, "Runtime.evaluate", json!({"expression": "1"})).unwrap();
    stage.silent = vec!["Runtime.evaluate"];
    let id = stage.post(&session, "Runtime.evaluate", json!({"expression": "1"}));
    stage.machine.relay_lost();
    stage.settle();
    assert!(stage.answer(id).unwrap().unwrap_err().contains("restarted"));
    stage.silent.clear();
    let mut attached = tab(TAB, "http://a.test/");
    attached["attached"] = json!(true);
    stage.asked.clear();
    stage.tell("state", json!({"policy": {}, "tabs": [attached]}));
    stage.call(&session, "Runtime.evaluate", json!({"expression": "1"})).unwrap();
    assert_eq!(stage.asked, ["1 Runtime.evaluate"], "its debugger stayed");
}

#[test]
fn a_debugger_that_did_not_stay_is_put_on_again() {
    let mut stage = Stage::plain();
    let root = stage.client();
    let session = stage.attach(&root);
    stage.call(&session, "Runtime.enable", json!({})).unwrap();
    stage.call(&session, "Runtime.evaluate", json!({"expression": "1"})).unwrap();
    stage.machine.relay_lost();
    stage.settle();
    stage.events(&session);
    stage.asked.clear();
    stage.tell("state", json!({"policy": {}, "tabs": [tab(TAB, "http://a.test/")]}));
    assert_eq!(stage.asked.first().map(String::as_str), Some("attachTab 1"));
    assert!(stage.asked.contains(&"1 Runtime.enable".to_owned()), "with what was set on it");
    assert!(stage.events(&session).contains(&"Runtime.executionContextsCleared".to_owned()));
}

#[test]
fn a_tab_that_nobody_drives_any_more_is_let_go() {
    let mut stage = Stage::plain();
    let recorder = stage.client_as(json!({"own": true}));
    let watching = stage.attach(&recorder);
    stage.call(&watching, "Runtime.enable", json!({})).unwrap();
    let root = stage.client();
    let session = stage.attach(&root);
    stage.call(&session, "Runtime.evaluate", json!({"expression": "1"})).unwrap();
    stage.pass(Duration::from_secs(60));
    assert!(!stage.asked.contains(&"detachTab 1".to_owned()), "it is driven");
    stage.call("", "Target.detachFromTarget", json!({"sessionId": root})).unwrap();
    stage.pass(Duration::from_secs(6));
    assert!(stage.asked.contains(&"detachTab 1".to_owned()), "the recorder alone keeps no debugger");
}

#[test]
fn sites_that_are_not_allowed_are_not_seen_and_not_gone_to() {
    let tabs = [tab(1, "https://good.test/"), tab(2, "https://bank.test/")];
    let mut stage = Stage::new(&tabs, json!({"allow": ["good.test"]}));
    let root = stage.client();
    let targets = stage.call(&root, "Target.getTargets", json!({})).unwrap();
    assert_eq!(targets["targetInfos"].as_array().unwrap().len(), 1);
    let session = stage.attach(&root);
    let error = stage.call(&session, "Page.navigate", json!({"url": "https://bank.test/"})).unwrap_err();
    assert!(error.contains("allowed sites"), "{error}");
    assert!(stage.call(&root, "Target.createTarget", json!({"url": "https://bank.test/"})).is_err());
    stage.call(&session, "Runtime.evaluate", json!({"expression": "1"})).unwrap();
    let by_itself = json!({"requestId": "1", "resourceType": "Document", "request": {"url": "https://bank.test/", "method": "GET", "headers": {}}});
    stage.cdp_event(None, "Fetch.requestPaused", by_itself);
    assert_eq!(stage.params_of("Fetch.failRequest").len(), 1);
    stage.call(&root, "Target.setDiscoverTargets", json!({"discover": true})).unwrap();
    stage.events(&root);
    stage.tell("policy", json!({"deny": ["good.test"]}));
    assert!(stage.events(&root).contains(&"Target.targetDestroyed".to_owned()));
}

#[test]
fn puppeteers_tabs_have_pages_in_them() {
    let mut stage = Stage::plain();
    let root = stage.client();
    let filter = json!([{"type": "page", "exclude": true}, {}]);
    stage
        .call(
            &root,
            "Target.setAutoAttach",
            json!({"autoAttach": true, "flatten": true, "waitForDebuggerOnStart": true, "filter": filter}),
        )
        .unwrap();
    let around = stage.event(&root, "Target.attachedToTarget").unwrap();
    assert_eq!(around["targetInfo"]["type"], json!("tab"));
    let session = around["sessionId"].as_str().unwrap().to_owned();
    stage
        .call(
            &session,
            "Target.setAutoAttach",
            json!({"autoAttach": true, "flatten": true, "waitForDebuggerOnStart": true, "filter": [{}]}),
        )
        .unwrap();
    let page = stage.event(&session, "Target.attachedToTarget").unwrap();
    assert_eq!(
        (&page["targetInfo"]["type"], &page["targetInfo"]["targetId"]),
        (&json!("page"), &json!(target(TAB)))
    );
}

#[test]
fn a_client_ends_only_sessions_of_its_own() {
    let mut stage = Stage::plain();
    let (a, b) = (stage.client(), stage.client());
    let page = stage.attach(&a);
    for foreign in [page.as_str(), a.as_str(), ""] {
        assert!(
            stage.call(&b, "Target.detachFromTarget", json!({"sessionId": foreign})).is_err(),
            "{foreign:?}"
        );
    }
    stage.call(&page, "Runtime.evaluate", json!({"expression": "1"})).unwrap();
    stage.call(&a, "Target.detachFromTarget", json!({"sessionId": page})).unwrap();
    assert!(stage.call(&page, "Runtime.evaluate", json!({})).is_err());
}

#[test]
fn what_rules_look_into_is_sent_as_it_was_understood() {
    let mut stage = Stage::new(&[tab(TAB, "http://a.test/")], json!({"readOnly": true}));
    let root = stage.client();
    let session = stage.attach(&root);
    let raw = |stage: &mut Stage, method: &str, params: &str| {
        stage.last_id += 1;
        let body = format!(
            r#"{{"id":{},"method":"{method}","params":{params},"sessionId":"{session}"}}"#,
            stage.last_id
        );
        stage.machine.command(&Outgoing { session: None, body: Bytes::from(body) });
        stage.settle();
        stage.answer(stage.last_id).unwrap()
    };
    assert!(raw(&mut stage, "Runtime.evaluate", r#"{"expression":"1","z":"\ud800"}"#).is_err());
    raw(&mut stage, "Runtime.evaluate", r#"{"expression":"1","throwOnSideEffect":false}"#).unwrap();
    assert_eq!(stage.params_of("Runtime.evaluate")[0]["throwOnSideEffect"], json!(true));
    stage.tell("policy", json!({}));
    assert!(
        raw(&mut stage, "Page.navigate", r#"{"url":"https://ok.test/","url":"file:///etc/passwd"}"#).is_err()
    );
    assert!(
        raw(&mut stage, "Runtime.evaluate", "{\"expression\":\"a\u{1}b\"}").is_err(),
        "not for JSON.parse"
    );
}

#[test]
fn cookies_of_other_sites_are_not_told_by_the_way() {
    let mut stage = Stage::plain();
    let root = stage.client();
    let session = stage.attach(&root);
    stage.call(&session, "Network.enable", json!({})).unwrap();
    stage.call(&session, "Network.getCookies", json!({})).unwrap();
    assert_eq!(stage.params_of("Network.getCookies"), [json!({"urls": ["http://a.test/"]})]);
    let sent = |host: &str| json!({"requestId": host, "headers": {"Host": host, "Cookie": "x=1"}, "associatedCookies": [{"cookie": {}}]});
    stage.cdp_event(None, "Network.requestWillBeSentExtraInfo", sent("bank.test"));
    let told = stage.event(&session, "Network.requestWillBeSentExtraInfo").unwrap();
    assert_eq!((&told["headers"], &told["associatedCookies"]), (&json!({"Host": "bank.test"}), &json!([])));
    let got = |host: &str| json!({"requestId": host, "headers": {"Set-Cookie": "x=1", "A": "b"}, "blockedCookies": []});
    stage.cdp_event(None, "Network.responseReceivedExtraInfo", got("bank.test"));
    assert_eq!(
        stage.event(&session, "Network.responseReceivedExtraInfo").unwrap()["headers"],
        json!({"A": "b"})
    );
    stage.cdp_event(None, "Network.requestWillBeSentExtraInfo", sent("a.test"));
    assert_eq!(
        stage.event(&session, "Network.requestWillBeSentExtraInfo").unwrap()["headers"]["Cookie"],
        json!("x=1")
    );
}

#[test]
fn a_page_that_is_slow_at_the_beginning_is_made_ready_in_the_end() {
    let mut stage = Stage::plain();
    stage.silent = vec!["Page.getFrameTree"];
    let root = stage.client();
    let session = stage.attach(&root);
    stage.call(&session, "Network.enable", json!({})).unwrap();
    let id = stage.post(&session, "Runtime.evaluate", json!({"expression": "1"}));
    assert!(stage.answer(id).is_none());
    stage.pass(Duration::from_secs(6));
    stage.answer(id).unwrap().unwrap();
    assert!(stage.params_of("Network.enable").is_empty());
    let (request, _) = stage.unanswered.remove(0);
    let tree = json!({"frameTree": {"frame": {"id": target(TAB), "loaderId": "L", "url": "http://a.test/"}}});
    stage.machine.frame(&json!({"id": request, "result": tree}).to_string());
    stage.settle();
    assert_eq!(stage.params_of("Network.enable").len(), 1, "what was kept is applied all the same");
}

#[test]
fn a_worker_lost_while_attaching_leaves_nothing_unanswered() {
    let mut stage = Stage::plain();
    stage.silent = vec!["Page.getFrameTree"];
    let root = stage.client();
    let session = stage.attach(&root);
    let id = stage.post(&session, "Runtime.evaluate", json!({"expression": "1"}));
    stage.machine.relay_lost();
    stage.settle();
    assert!(stage.answer(id).unwrap().is_err());
    stage.silent.clear();
    let mut attached = tab(TAB, "http://a.test/");
    attached["attached"] = json!(true);
    stage.asked.clear();
    stage.tell("state", json!({"policy": {}, "tabs": [attached]}));
    assert_eq!(stage.asked, ["detachTab 1"], "nobody knows what is set on it");
    stage.call(&session, "Runtime.evaluate", json!({"expression": "1"})).unwrap();
}

#[test]
fn a_trace_shows_the_clients_newest_page_though_that_is_still_attaching() {
    let tabs = [tab(TAB, "http://a.test/"), tab(2, "http://a.test/two")];
    let mut stage = Stage::new(&tabs, json!({"allowCookies": true}));
    let root = stage.client();
    let first = stage.attach(&root);
    stage.call(&first, "Runtime.evaluate", json!({"expression": "1"})).unwrap();
    let second = stage.attach_to(&root, 2);
    stage.silent = vec!["attachTab"];
    stage.post(&second, "Runtime.evaluate", json!({"expression": "1"}));
    let cookies = stage.call(&root, "Storage.getCookies", json!({}));
    assert!(cookies.is_ok(), "what is the same on every page does not wait for one: {cookies:?}");
    let id = stage.post(&root, "Tracing.start", json!({}));
    stage.silent.clear();
    let (request, _) = stage.unanswered.remove(0);
    stage.machine.frame(&json!({"id": request, "result": {"targetId": target(2)}}).to_string());
    stage.settle();
    stage.answer(id).unwrap().unwrap();
    stage.call(&root, "Tracing.end", json!({})).unwrap();
    let traced: Vec<&String> = stage.asked.iter().filter(|what| what.contains("Tracing")).collect();
    assert_eq!(traced, ["2 Tracing.start", "2 Tracing.end"]);
}
