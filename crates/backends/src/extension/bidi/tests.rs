//! The link between a scripted hub and a scripted extension.

use bowline_wire::relay::Policy;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::machine::Machine;

/// A machine, and what both of its sides have got.
struct Stage {
    machine: Machine,
    last_id: u64,
    /// Everything the hub was told and has not looked at.
    told: Vec<Value>,
    /// Everything that the extension was asked and has not answered: id, method, parameters.
    asked: Vec<(u64, String, Value)>,
}

fn context(id: &str, url: &str) -> Value {
    json!({"context": id, "url": url, "userContext": "default", "originalOpener": null, "parent": null,
        "children": [], "clientWindow": "w", "bowline:chosen": false, "bowline:incognito": false})
}

impl Stage {
    /// With two tabs, the second with a frame of another site in it.
    fn new(policy: Value) -> Self {
        let machine = Machine::new(Policy::default(), Instant::now());
        let mut stage = Self { machine, last_id: 0, told: Vec::new(), asked: Vec::new() };
        stage.tell("state", json!({"policy": policy, "tabs": [], "dropped": 0, "session": "fresh"}));
        let mut two = context("two", "https://two.test/a?secret");
        let frame = json!({"context": "two.1", "url": "https://other.test/", "userContext": "default", "parent": "two", "children": []});
        two["children"] = json!([frame]);
        let tree = json!({"contexts": [context("one", "https://one.test/"), two]});
        stage.ask(None, "browsingContext.getTree", json!({}));
        stage.reply(tree);
        stage.told.clear();
        stage
    }

    fn tell(&mut self, method: &str, params: Value) {
        self.machine.frame(&json!({"method": method, "params": params}).to_string());
        self.settle();
    }

    fn event(&mut self, method: &str, params: Value) {
        self.tell("bidiEvent", json!({"method": method, "params": params}));
    }

    /// Sends a command of a client, or of the hub itself.
    fn ask(&mut self, asker: Option<Value>, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let mut command = json!({"id": self.last_id, "method": method, "params": params});
        if let Some(asker) = asker {
            command["bowline:client"] = asker;
        }
        self.machine.command(&command.to_string());
        self.settle();
        self.last_id
    }

    /// Answers what the extension was asked last.
    fn reply(&mut self, result: Value) {
        let (id, ..) = self.asked.pop().expect("the extension was asked");
        self.machine.frame(&json!({"id": id, "result": result}).to_string());
        self.settle();
    }

    fn settle(&mut self) {
        self.told.extend(self.machine.to_hub.drain(..).map(|text| serde_json::from_slice(&text).unwrap()));
        for text in self.machine.to_extension.drain(..) {
            let message: Value = serde_json::from_slice(&text).unwrap();
            let params = &message["params"];
            let method = params["method"].as_str().unwrap_or_default().to_owned();
            self.asked.push((message["id"].as_u64().unwrap_or_default(), method, params["params"].clone()));
        }
    }

    /// What became of a client's command: the words of its refusal, or nothing if the extension was asked.
    fn refusal(&mut self, method: &str, params: Value) -> Option<String> {
        self.refusal_of(guest(), method, params)
    }

    fn refusal_of(&mut self, asker: Value, method: &str, params: Value) -> Option<String> {
        self.asked.clear();
        self.told.clear();
        self.ask(Some(asker), method, params);
        match self.told.first() {
            Some(answer) => {
                assert!(self.asked.is_empty() && answer["type"] == "error", "{answer}");
                answer["message"].as_str().map(str::to_owned)
            }
            None => {
                assert_eq!(self.asked.first().map(|(_, asked, _)| asked.as_str()), Some(method));
                None
            }
        }
    }

    /// Takes the events that the hub was told of: method and context.
    fn heard(&mut self) -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let events = std::mem::take(&mut self.told).into_iter().filter(|message| message["type"] == "event");
        events
            .map(|event| {
                (text(&event["method"]).replace("browsingContext.", ""), text(&event["params"]["context"]))
            })
            .collect()
    }

    /// The contexts that a client is told of.
    fn seen(&mut self) -> Vec<String> {
        self.asked.clear();
        self.ask(Some(guest()), "browsingContext.getTree", json!({}));
        let mut two = context("two", "https://two.test/a?secret");
        two["children"] = json!([{"context": "two.1", "url": "https://other.test/", "userContext": "default", "parent": "two"}]);
        self.reply(json!({"contexts": [context("one", "https://one.test/"), two]}));
        let answer = self.told.pop().unwrap();
        assert!(!answer.to_string().contains("bowline:"), "{answer}");
        super::contexts::named_in(&answer["result"])
    }
}

fn guest() -> Value {
    json!({"client": 3, "name": "puppeteer", "is_op": false})
}

fn agent() -> Value {
    json!({"client": 4, "name": "bowline", "is_op": true})
}

#[test]
fn a_command_goes_to_the_extension_and_its_answer_back() {
    let mut stage = Stage::new(json!({}));
    let id = stage.ask(Some(guest()), "browsingContext.activate", json!({"context": "one"}));
    let (request, method, params) = stage.asked.pop().unwrap();
    assert_eq!((method.as_str(), params), ("browsingContext.activate", json!({"context": "one"})));
    stage.machine.frame(&json!({"id": request, "result": {}}).to_string());
    stage.settle();
    assert_eq!(stage.told, [json!({"type": "success", "id": id, "result": {}})]);
    stage.told.clear();

    let id = stage.ask(Some(guest()), "browsingContext.reload", json!({"context": "one"}));
    let (request, ..) = stage.asked.pop().unwrap();
    let error = json!({"error": "no such frame", "message": "gone"}).to_string();
    stage.machine.frame(&json!({"id": request, "error": error}).to_string());
    stage.settle();
    assert_eq!(stage.told, [json!({"type": "error", "id": id, "error": "no such frame", "message": "gone"})]);
}

#[test]
fn a_new_session_ends_the_one_that_an_earlier_hub_has_left() {
    let mut stage = Stage::new(json!({}));
    stage.ask(None, "session.new", json!({"capabilities": {}}));
    let asked: Vec<&str> = stage.asked.iter().map(|(_, method, _)| method.as_str()).collect();
    assert_eq!(asked, ["session.end", "session.new"]);
    stage
        .machine
        .frame(&json!({"id": stage.asked[0].0, "error": "{\"error\":\"invalid session id\"}"}).to_string());
    stage.settle();
    assert!(stage.told.is_empty(), "nobody waits for the end");
}

#[test]
fn what_is_in_the_hands_of_a_lost_connection_is_answered_and_the_rest_goes_on() {
    let mut stage = Stage::new(json!({}));
    let id = stage.ask(Some(guest()), "browsingContext.reload", json!({"context": "one"}));
    stage.machine.relay_lost();
    stage.settle();
    assert!(stage.told[0]["id"] == json!(id) && stage.told[0]["message"].as_str().unwrap().contains("broke"));
    assert!(stage.machine.session.is_none());
    stage.asked.clear();
    stage.heard();
    stage.tell("state", json!({"policy": {}, "tabs": [], "dropped": 1, "session": "kept"}));
    stage.machine.resync();
    stage.settle();
    // One tab has gone meanwhile, and another has come.
    stage.reply(
        json!({"contexts": [context("one", "https://one.test/b"), context("three", "https://three.test/")]}),
    );
    let expected = [("contextDestroyed", "two.1"), ("contextDestroyed", "two"), ("contextCreated", "three")];
    assert_eq!(stage.heard(), expected.map(|(method, context)| (method.to_owned(), context.to_owned())));
}

#[test]
fn in_manual_mode_only_chosen_tabs_and_those_of_agents_are_there() {
    let mut stage = Stage::new(json!({"mode": "manual"}));
    assert_eq!(stage.seen(), Vec::<String>::new());
    assert!(
        stage
            .refusal("browsingContext.navigate", json!({"context": "one", "url": "https://a.test/"}))
            .unwrap()
            .contains("not found")
    );
    stage.heard();
    stage.event("bowline.chosen", json!({"context": "two", "chosen": true}));
    let came = [("contextCreated", "two"), ("contextCreated", "two.1")];
    assert_eq!(stage.heard(), came.map(|(method, context)| (method.to_owned(), context.to_owned())));
    stage.event("log.entryAdded", json!({"source": {"context": "one", "realm": "r"}, "text": "secret"}));
    stage.event(
        "network.beforeRequestSent",
        json!({"context": null, "request": {"request": "9", "url": "https://a.test/"}}),
    );
    assert!(stage.heard().is_empty(), "neither of a tab that is hidden nor of none");
    stage.event("log.entryAdded", json!({"source": {"context": "two", "realm": "r"}, "text": "open"}));
    assert_eq!(stage.heard().len(), 1);
    assert_eq!(stage.refusal("browsingContext.reload", json!({"context": "two"})), None);
    assert!(
        stage
            .refusal("script.evaluate", json!({"expression": "1", "target": {"realm": "unknown"}}))
            .is_some()
    );

    stage.ask(Some(guest()), "browsingContext.create", json!({"type": "tab"}));
    stage.event("browsingContext.contextCreated", context("new", "about:blank"));
    assert!(stage.heard().is_empty(), "not yet an agent's");
    stage.reply(context("new", "about:blank"));
    assert_eq!(stage.heard(), [("contextCreated".to_owned(), "new".to_owned())]);

    stage.event("bowline.chosen", json!({"context": "two", "chosen": false}));
    let went = [("contextDestroyed", "two.1"), ("contextDestroyed", "two")];
    assert_eq!(stage.heard(), went.map(|(method, context)| (method.to_owned(), context.to_owned())));
}

#[test]
fn what_is_named_in_another_way_than_by_its_name_is_not_sent() {
    let mut stage = Stage::new(json!({"mode": "manual", "deny": ["two.test"]}));
    stage.event("bowline.chosen", json!({"context": "one", "chosen": true}));
    for (method, params) in [
        // What JavaScript would make the same texts of.
        ("browsingContext.captureScreenshot", json!({"context": ["two"]})),
        ("script.evaluate", json!({"expression": "1", "target": {"context": ["two"]}})),
        ("script.evaluate", json!({"expression": "1", "target": [{"context": "two"}]})),
        ("script.evaluate", json!({"expression": "1", "target": {"context": "one", "realm": "two:page"}})),
        ("browsingContext.navigate", json!({"context": "one", "url": ["https://two.test/"]})),
        ("browsingContext.getTree", json!({"root": ["two"]})),
        ("session.subscribe", json!({"events": ["log"], "contexts": [["two"]]})),
        ("session.subscribe", json!({"events": ["log"], "contexts": "two"})),
        ("storage.getCookies", json!({"partition": {"type": "context", "context": ["two"]}})),
        ("network.getData", json!({"dataType": "response", "request": ["7"]})),
    ] {
        assert!(stage.refusal(method, params.clone()).is_some(), "{method} {params}");
    }
}

#[test]
fn private_windows_are_nobodys() {
    let mut stage = Stage::new(json!({}));
    let mut private = context("private", "https://secret.test/");
    private["bowline:incognito"] = json!(true);
    stage.event("browsingContext.contextCreated", private);
    stage.event("browsingContext.load", json!({"context": "private", "url": "https://secret.test/x"}));
    assert!(stage.heard().is_empty());
    assert!(stage.refusal("browsingContext.captureScreenshot", json!({"context": "private"})).is_some());
    stage.tell("policy", json!({"allowCookies": true}));
    let jar = |user_context: &str| json!({"partition": {"type": "storageKey", "userContext": user_context}});
    assert!(stage.refusal("storage.getCookies", jar("firefox-private")).is_some());
    assert_eq!(stage.refusal("storage.getCookies", jar("firefox-container-1")), None);
}

#[test]
fn sites_that_are_closed_are_not_gone_to_and_their_pages_are_not_there() {
    let mut stage = Stage::new(json!({"deny": ["two.test", "other.test"]}));
    assert_eq!(stage.seen(), ["one"]);
    let navigate = |url: &str| json!({"context": "one", "url": url});
    assert!(
        stage
            .refusal("browsingContext.navigate", navigate("https://two.test/"))
            .unwrap()
            .contains("`two.test`")
    );
    assert_eq!(stage.refusal("browsingContext.navigate", navigate("https://three.test/")), None);
    for url in [
        "about:config",
        "ab\nout:preferences",
        "moz-extension://x/",
        "file:///etc/passwd",
        "view-source:https://a.test/",
    ] {
        assert!(stage.refusal("browsingContext.navigate", navigate(url)).is_some(), "{url}");
    }
    assert!(
        stage
            .refusal("network.continueRequest", json!({"request": "1", "url": "https://two.test/"}))
            .is_some()
    );
    assert!(stage.refusal("script.addPreloadScript", json!({"functionDeclaration": "() => 1"})).is_some());

    stage.heard();
    stage.event(
        "browsingContext.navigationCommitted",
        json!({"context": "one", "url": "https://two.test/", "navigation": "n"}),
    );
    assert_eq!(stage.heard(), [("contextDestroyed".to_owned(), "one".to_owned())]);
    assert!(
        stage.refusal("script.evaluate", json!({"expression": "1", "target": {"context": "one"}})).is_some()
    );
    stage.heard();
    stage.event(
        "browsingContext.navigationCommitted",
        json!({"context": "one", "url": "https://one.test/", "navigation": "n"}),
    );
    let back = [("contextCreated", "one"), ("navigationCommitted", "one")];
    assert_eq!(stage.heard(), back.map(|(method, context)| (method.to_owned(), context.to_owned())));
}

#[test]
fn a_frame_of_a_closed_site_is_not_there_and_what_holds_its_requests_lets_go() {
    let mut stage = Stage::new(json!({"deny": ["other.test"]}));
    assert_eq!(stage.seen(), ["one", "two"]);
    assert!(
        stage
            .refusal("script.evaluate", json!({"expression": "1", "target": {"context": "two.1"}}))
            .is_some()
    );
    stage.asked.clear();
    let held = json!({"context": "two.1", "isBlocked": true, "intercepts": ["i"], "request": {"request": "7", "url": "https://other.test/x"}});
    stage.event("network.beforeRequestSent", held);
    assert_eq!(
        stage.asked.pop().map(|(_, method, params)| (method, params)),
        Some(("network.continueRequest".to_owned(), json!({"request": "7"})))
    );
    let data = |request: &str| json!({"dataType": "response", "request": request});
    assert!(stage.refusal("network.getData", data("7")).is_some(), "nor is what it got");
    stage.event(
        "network.responseCompleted",
        json!({"context": "one", "request": {"request": "8", "url": "https://one.test/"}}),
    );
    assert_eq!(stage.refusal("network.getData", data("8")), None);
}

#[test]
fn cookies_and_files_need_the_persons_leave() {
    let mut stage = Stage::new(json!({}));
    assert!(stage.refusal("storage.getCookies", json!({})).unwrap().contains("(allow cookies)"));
    assert!(stage.refusal("storage.getCookies", json!({"filter": {"domain": "one.test"}})).is_some());
    assert!(stage.refusal("storage.setCookie", json!({"cookie": {}})).is_some());
    assert!(stage.refusal("storage.deleteCookies", json!({})).is_some());
    assert!(
        stage
            .refusal("input.setFiles", json!({"context": "one", "files": ["/etc/passwd"]}))
            .unwrap()
            .contains("(allow files)")
    );
    assert!(stage.machine.readings.is_empty());

    let jar = json!({"cookies": [{"name": "own", "domain": "one.test"}, {"name": "wide", "domain": ".test"}, {"name": "other", "domain": "two.test"}]});
    let names = |stage: &mut Stage, params: Value| -> Vec<String> {
        stage.asked.clear();
        stage.ask(Some(guest()), "storage.getCookies", params);
        stage.reply(jar.clone());
        let answer = stage.told.pop().unwrap();
        let cookies = answer["result"]["cookies"].as_array().unwrap();
        cookies.iter().map(|cookie| cookie["name"].as_str().unwrap().to_owned()).collect()
    };
    let own = json!({"partition": {"type": "context", "context": "one"}});
    assert_eq!(names(&mut stage, own.clone()), ["own", "wide"], "a page's own");
    stage.tell("policy", json!({"allowCookies": true, "allowFiles": true, "deny": ["two.test:8443"]}));
    assert_eq!(names(&mut stage, json!({})), ["own", "wide"], "not those of a closed site");
    stage.ask(Some(guest()), "input.setFiles", json!({"context": "one", "files": []}));
    assert_eq!(stage.machine.readings.len(), 1);
}

#[test]
fn read_only_reads() {
    let mut stage = Stage::new(json!({"readOnly": true}));
    let page = |params: Value| {
        let mut params = params;
        params["context"] = json!("one");
        params
    };
    for (method, params) in [
        ("browsingContext.navigate", page(json!({"url": "https://one.test/"}))),
        ("browsingContext.reload", page(json!({}))),
        ("browsingContext.close", page(json!({}))),
        ("browsingContext.create", json!({"type": "tab"})),
        ("browsingContext.handleUserPrompt", page(json!({}))),
        ("input.performActions", page(json!({"actions": []}))),
        ("network.addIntercept", json!({"phases": []})),
        ("network.continueRequest", json!({"request": "1", "method": "POST"})),
        ("script.addPreloadScript", json!({"functionDeclaration": "() => 1"})),
        ("script.evaluate", json!({"expression": "document.title = 1", "target": {"context": "one"}})),
        (
            "script.callFunction",
            json!({"functionDeclaration": "() => document.title", "target": {"context": "one"}}),
        ),
        ("future.command", json!({})),
    ] {
        let refusal = stage.refusal(method, params);
        assert!(refusal.is_some_and(|words| words.contains("(read-only)")), "{method}");
    }
    for (method, params) in [
        ("browsingContext.captureScreenshot", page(json!({}))),
        ("network.continueRequest", json!({"request": "1"})),
        ("script.evaluate", json!({"expression": "document.title", "target": {"context": "one"}})),
        ("session.subscribe", json!({"events": ["log"]})),
    ] {
        assert_eq!(stage.refusal(method, params), None, "{method}");
    }
    let call = |function: &str, wish: &str| {
        json!({"functionDeclaration": "async (api, name, input) => api[name](input)", "target": {"context": "one", "sandbox": "bowline"},
            "arguments": [{"type": "string", "value": function}, {"type": "string", "value": wish}]})
    };
    for (function, wish, may) in [
        ("snapshot", "{}", true),
        ("storage", r#"{"kind":"local"}"#, true),
        ("storage", r#"{"kind":"local","clear":true}"#, false),
        ("setValue", "{}", false),
        ("future", "{}", false),
    ] {
        let refusal = stage.refusal_of(agent(), "script.callFunction", call(function, wish));
        assert_eq!(refusal.is_none(), may, "{function} {wish}");
        assert!(stage.refusal("script.callFunction", call(function, wish)).is_some(), "only for an op");
    }
}

#[test]
fn the_hubs_own_sandboxes_are_not_for_clients() {
    let mut stage = Stage::new(json!({}));
    let script = |target: Value| json!({"expression": "1", "target": target});
    for target in [
        json!({"context": "one", "sandbox": "bowline"}),
        json!({"context": "one", "sandbox": "bowline-hub"}),
        json!({"realm": "one:sandbox:bowline"}),
    ] {
        assert!(stage.refusal("script.evaluate", script(target)).is_some());
    }
    let preload = json!({"functionDeclaration": "() => 1", "sandbox": "bowline"});
    assert!(stage.refusal("script.addPreloadScript", preload).unwrap().contains("the hub's own"));
    let other = script(json!({"context": "one", "sandbox": "mine"}));
    assert_eq!(stage.refusal("script.evaluate", other), None);
    let title =
        json!({"expression": "document.title", "target": {"context": "one", "sandbox": "bowline-hub"}});
    assert_eq!(stage.refusal("script.evaluate", title), None, "who lists tabs");
}

#[test]
fn scripts_for_every_document_go_when_not_every_document_is_open_any_more() {
    let mut stage = Stage::new(json!({}));
    stage.ask(Some(guest()), "script.addPreloadScript", json!({"functionDeclaration": "() => 1"}));
    stage.reply(json!({"script": "s1"}));
    stage.tell("policy", json!({"deny": ["two.test"]}));
    assert_eq!(
        stage.asked.pop().map(|(_, method, params)| (method, params)),
        Some(("script.removePreloadScript".to_owned(), json!({"script": "s1"})))
    );
}

#[test]
fn no_new_tabs_and_a_pause_hold_until_the_person_ends_them() {
    let mut stage = Stage::new(json!({"noNewTabs": true}));
    assert!(
        stage.refusal("browsingContext.create", json!({"type": "tab"})).unwrap().contains("(no new tabs)")
    );
    stage.tell("policy", json!({"paused": true}));
    assert!(
        stage
            .refusal("browsingContext.captureScreenshot", json!({"context": "one"}))
            .unwrap()
            .contains("paused")
    );
    assert_eq!(stage.refusal("browsingContext.getTree", json!({})), None);
    stage.tell("resumed", json!({}));
    assert_eq!(stage.refusal("browsingContext.captureScreenshot", json!({"context": "one"})), None);
}

#[test]
fn acts_are_written_down_and_the_extension_knows_who_drives_what() {
    let mut stage = Stage::new(json!({}));
    stage.refusal("browsingContext.navigate", json!({"context": "two.1", "url": "https://a.test/x?secret"}));
    stage.refusal("script.evaluate", json!({"expression": "document.title", "target": {"context": "one"}}));
    stage.refusal("storage.getCookies", json!({}));
    let acts = std::mem::take(&mut stage.machine.acts.new);
    let lines: Vec<_> = acts
        .iter()
        .map(|act| (act.method.as_str(), act.page.as_str(), act.to.as_deref(), act.refused.is_some()))
        .collect();
    assert_eq!(
        lines,
        [
            ("browsingContext.navigate", "https://two.test/a", Some("https://a.test/x"), false),
            ("storage.getCookies", "", None, true),
        ]
    );
    let drivers = |stage: &mut Stage| {
        stage.machine.acts.drivers_to_tell().map(|text| serde_json::from_str::<Value>(&text).unwrap())
    };
    assert_eq!(drivers(&mut stage), Some(json!({"tabs": [{"context": "two", "clients": ["puppeteer"]}]})));
    assert_eq!(drivers(&mut stage), None, "told once");
    stage.ask(Some(agent()), "bowline.left", json!({"client": 3}));
    assert_eq!(drivers(&mut stage), None, "no client says it for another");
    stage.ask(None, "bowline.left", json!({"client": 3}));
    assert_eq!(drivers(&mut stage), Some(json!({"tabs": []})));
}

#[test]
fn a_popup_of_a_page_that_is_driven_is_an_agents() {
    let mut stage = Stage::new(json!({"mode": "manual"}));
    stage.event("bowline.chosen", json!({"context": "one", "chosen": true}));
    stage.refusal("input.performActions", json!({"context": "one", "actions": []}));
    stage.heard();
    let mut popup = context("popup", "about:blank");
    popup["originalOpener"] = json!("one");
    stage.event("browsingContext.contextCreated", popup);
    assert_eq!(stage.heard(), [("contextCreated".to_owned(), "popup".to_owned())]);
}

#[test]
fn parameters_that_cannot_be_read_are_not_sent() {
    let mut stage = Stage::new(json!({"readOnly": true}));
    for odd in [r#""\ud800""#, "1e999"] {
        let command = format!(
            r#"{{"id":9,"method":"script.evaluate","params":{{"expression":"x()","target":{{"context":"one"}},"odd":{odd}}},"bowline:client":{}}}"#,
            guest()
        );
        stage.machine.command(&command);
        stage.settle();
        assert!(stage.asked.is_empty(), "{odd}");
        assert_eq!(stage.told.pop().unwrap()["error"], "invalid argument", "{odd}");
    }
}

#[test]
fn a_realm_is_not_lent_to_another_page() {
    let mut stage = Stage::new(json!({"deny": ["bank.test"]}));
    let in_realm = |realm: &str| json!({"expression": "1", "target": {"realm": realm}});
    stage.ask(Some(guest()), "script.evaluate", json!({"expression": "1", "target": {"context": "two"}}));
    stage.reply(json!({"type": "success", "realm": "two:page", "result": {"type": "undefined"}}));
    assert_eq!(stage.refusal("script.evaluate", in_realm("two:page")), None);
    let both = json!({"expression": "1", "target": {"context": "one", "realm": "two:page"}});
    assert!(stage.refusal("script.evaluate", both).is_some());
    stage
        .event("browsingContext.navigationCommitted", json!({"context": "two", "url": "https://bank.test/"}));
    assert!(stage.refusal("script.evaluate", in_realm("two:page")).is_some());
}

#[test]
fn pages_that_are_closed_are_not_told_by_their_requests() {
    let mut stage = Stage::new(json!({"deny": ["bank.test"]}));
    let request = |id: &str, url: &str, navigation: Value| {
        json!({"context": "one", "navigation": navigation, "isBlocked": false, "request": {"request": id, "url": url,
            "cookies": [{"name": "sid"}], "headers": [{"name": "Cookie", "value": {"type": "string", "value": "sid=1"}}]}})
    };
    let data = |id: &str| json!({"dataType": "response", "request": id});
    stage.event("network.beforeRequestSent", request("1", "https://bank.test/", json!("n")));
    assert!(stage.heard().is_empty());
    assert!(stage.refusal("network.getData", data("1")).is_some());
    let mut held = request("1", "https://bank.test/", json!("n"));
    held["isBlocked"] = json!(true);
    stage.event("network.beforeRequestSent", held);
    assert_eq!(stage.asked.pop().map(|(_, method, _)| method).as_deref(), Some("network.failRequest"));
    stage.event("network.beforeRequestSent", request("2", "https://one.test/go", json!("n")));
    assert_eq!(stage.refusal("network.getData", data("2")), None);
    stage.event("network.beforeRequestSent", request("2", "https://bank.test/redirected", json!("n")));
    assert!(stage.refusal("network.getData", data("2")).is_some(), "a redirect has led there");
    stage.told.clear();
    stage.event("network.beforeRequestSent", request("3", "https://one.test/own", Value::Null));
    assert!(stage.told.pop().unwrap().to_string().contains("sid=1"), "a page's own");
    stage.event("network.beforeRequestSent", request("4", "https://foreign.test/", Value::Null));
    let foreign = stage.told.pop().unwrap().to_string();
    assert!(foreign.contains("foreign.test") && !foreign.contains("sid"), "{foreign}");
}

#[test]
fn a_tab_that_is_hidden_is_driven_by_nobody() {
    let mut stage = Stage::new(json!({}));
    stage.ask(Some(guest()), "input.performActions", json!({"context": "one", "actions": []}));
    stage.machine.tell_drivers();
    stage.asked.clear();
    stage.tell("policy", json!({"deny": ["one.test"]}));
    stage.machine.tell_drivers();
    let told = stage.machine.to_extension.pop().map(|text| String::from_utf8_lossy(&text).into_owned());
    assert_eq!(told.as_deref(), Some(r#"{"method":"drivers","params":{"tabs":[]}}"#));
}
