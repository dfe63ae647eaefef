use super::told::CONTEXT_CREATED;
use super::*;

fn guest() -> Who {
    Who::Guest("puppeteer".to_owned())
}

/// Two clients with their sessions, and what the browser was told.
struct Stage {
    table: Table,
    one: ClientId,
    two: ClientId,
}

impl Stage {
    fn new() -> Self {
        let mut table = Table::default();
        table.begun(json!({"browserName": "firefox"}), true);
        let (one, two) = (table.join(guest()), table.join(guest()));
        let mut stage = Self { table, one, two };
        for client in [one, two] {
            let out = stage.say(client, 1, "session.new", json!({"capabilities": {}}));
            assert!(matches!(&out[..], [Out::Client(to, text)] if *to == client && text.contains("firefox")));
        }
        stage.event(
            CONTEXT_CREATED,
            json!({"context": "tab", "url": "about:blank", "userContext": "default", "parent": null}),
        );
        stage
    }

    fn say(&mut self, client: ClientId, id: u64, method: &str, params: Value) -> Vec<Out> {
        self.table.command(client, &bidi::command(id, method, &params))
    }

    fn event(&mut self, method: &str, params: Value) -> Vec<Out> {
        self.table.message(&bidi::event(method, &params.to_string()))
    }

    /// Says something that goes to the browser, which answers with a result.
    fn ask(&mut self, client: ClientId, method: &str, params: Value, result: Value) -> Vec<Out> {
        let out = self.say(client, 9, method, params);
        let [Out::Browser(text)] = &out[..] else { panic!("{method} was not sent on: {out:?}") };
        let sent: Value = serde_json::from_str(text).unwrap();
        self.table.message(&bidi::success(sent["id"].as_u64().unwrap(), &result.to_string()))
    }

    fn subscribe(&mut self, client: ClientId, params: Value, id: &str) -> Vec<Out> {
        self.ask(client, "session.subscribe", params, json!({"subscription": id}))
    }
}

fn to_browser(out: &[Out]) -> Vec<Value> {
    let sent = out.iter().filter_map(|out| match out {
        Out::Browser(text) => Some(serde_json::from_str(text).unwrap()),
        _ => None,
    });
    sent.collect()
}

fn heard(out: &[Out], client: ClientId) -> Vec<Value> {
    let told = out.iter().filter_map(|out| match out {
        Out::Client(to, text) if *to == client => Some(serde_json::from_str(text).unwrap()),
        _ => None,
    });
    told.collect()
}

#[test]
fn ids_are_each_clients_own() {
    let mut stage = Stage::new();
    let (one, two) = (stage.one, stage.two);
    let first = to_browser(&stage.say(one, 7, "browsingContext.activate", json!({"context": "tab"})));
    let second = to_browser(&stage.say(two, 7, "browsingContext.activate", json!({"context": "tab"})));
    assert_ne!(first[0]["id"], second[0]["id"]);
    let out = stage.table.message(&bidi::success(second[0]["id"].as_u64().unwrap(), "{}"));
    assert_eq!(heard(&out, two), [json!({"type": "success", "id": 7, "result": {}})]);
    assert!(heard(&out, one).is_empty());
    let refusal = bidi::failure(first[0]["id"].as_u64(), &Refusal::new("no such frame", "gone"));
    let out = stage.table.message(&refusal);
    assert_eq!(heard(&out, one)[0]["error"], "no such frame");
}

#[test]
fn a_session_comes_first_and_only_once() {
    let mut table = Table::default();
    let client = table.join(guest());
    let error = |out: Vec<Out>| heard(&out, client)[0]["error"].clone();
    assert_eq!(
        error(table.command(client, &bidi::command(1, "browsingContext.getTree", &json!({})))),
        "invalid session id"
    );
    table.command(client, &bidi::command(2, "session.new", &json!({})));
    assert_eq!(
        error(table.command(client, &bidi::command(3, "session.new", &json!({})))),
        "session not created"
    );
    assert_eq!(error(table.command(client, "{")), "invalid argument");
    let out = table.command(client, &bidi::command(4, "session.end", &json!({})));
    assert_eq!(out.last(), Some(&Out::Bye(client)));
    assert_eq!(table.client_count(), 0);
}

#[test]
fn events_go_to_those_who_subscribed() {
    let mut stage = Stage::new();
    let (one, two) = (stage.one, stage.two);
    let out = stage.subscribe(one, json!({"events": ["browsingContext"]}), "s1");
    assert_eq!(heard(&out, one)[0]["method"], CONTEXT_CREATED, "what there is is told before the answer");
    assert_eq!(heard(&out, one)[1]["result"]["subscription"], "s1");
    stage.subscribe(two, json!({"events": ["log.entryAdded"], "contexts": ["tab"]}), "s2");
    let entry = json!({"level": "info", "source": {"realm": "r", "context": "tab"}, "text": "hi"});
    let out = stage.event("log.entryAdded", entry.clone());
    assert!(heard(&out, one).is_empty());
    assert_eq!(heard(&out, two)[0]["params"], entry);
    stage.event(CONTEXT_CREATED, json!({"context": "other", "userContext": "default", "parent": null}));
    let elsewhere = json!({"source": {"context": "other"}});
    assert!(stage.event("log.entryAdded", elsewhere).is_empty());
    stage.event(CONTEXT_CREATED, json!({"context": "frame", "userContext": "default", "parent": "tab"}));
    assert_eq!(heard(&stage.event("log.entryAdded", json!({"source": {"context": "frame"}})), two).len(), 1);
    let out = stage.say(two, 3, "session.unsubscribe", json!({"subscriptions": ["s2"]}));
    assert_eq!(to_browser(&out)[0]["params"], json!({"subscriptions": ["s2"]}));
    assert!(stage.event("log.entryAdded", entry).is_empty());
    let unknown = stage.say(two, 4, "session.unsubscribe", json!({"subscriptions": ["s1"]}));
    assert_eq!(heard(&unknown, two)[0]["error"], "invalid argument", "another client's is none of its own");
}

#[test]
fn what_is_in_a_clients_user_context_is_there_for_it_alone() {
    let mut stage = Stage::new();
    let (one, two) = (stage.one, stage.two);
    stage.ask(one, "browser.createUserContext", json!({}), json!({"userContext": "own"}));
    stage.subscribe(one, json!({"events": ["browsingContext"]}), "s1");
    stage.subscribe(two, json!({"events": ["browsingContext"]}), "s2");
    let created = json!({"context": "secret", "userContext": "own", "parent": null, "url": "u"});
    let out = stage.event(CONTEXT_CREATED, created);
    assert_eq!((heard(&out, one).len(), heard(&out, two).len()), (1, 0));
    let tree = json!({"contexts": [{"context": "tab", "userContext": "default", "children": []},
        {"context": "secret", "userContext": "own", "children": []}]});
    let names = |out: &[Out], client| {
        let answer = heard(out, client).remove(0);
        answer["result"]["contexts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|info| info["context"].clone())
            .collect::<Vec<_>>()
    };
    let out = stage.ask(two, "browsingContext.getTree", json!({}), tree.clone());
    assert_eq!(names(&out, two), ["tab"]);
    let out = stage.ask(one, "browsingContext.getTree", json!({}), tree);
    assert_eq!(names(&out, one), ["tab", "secret"]);
    for (method, params, error) in [
        ("browsingContext.close", json!({"context": "secret"}), "no such frame"),
        ("script.evaluate", json!({"target": {"context": "secret"}}), "no such frame"),
        ("browsingContext.create", json!({"type": "tab", "userContext": "own"}), "no such user context"),
        ("browser.removeUserContext", json!({"userContext": "own"}), "no such user context"),
        ("session.subscribe", json!({"events": ["log"], "contexts": ["secret"]}), "no such frame"),
    ] {
        let out = stage.say(two, 5, method, params);
        assert_eq!(heard(&out, two)[0]["error"], error, "{method}");
    }
    let out = stage.table.leave(one);
    let methods: Vec<Value> = to_browser(&out).iter().map(|sent| sent["method"].clone()).collect();
    assert!(
        methods.contains(&json!("browser.removeUserContext"))
            && methods.contains(&json!("session.unsubscribe"))
    );
}

#[test]
fn intercepted_requests_wait_for_their_owners_alone() {
    let mut stage = Stage::new();
    let (one, two) = (stage.one, stage.two);
    stage.ask(
        one,
        "network.addIntercept",
        json!({"phases": ["beforeRequestSent"]}),
        json!({"intercept": "i1"}),
    );
    stage.subscribe(one, json!({"events": ["network"]}), "s1");
    stage.subscribe(two, json!({"events": ["network"]}), "s2");
    let held = json!({"context": "tab", "isBlocked": true, "intercepts": ["i1"], "request": {"request": "r1", "url": "u"}});
    let out = stage.event("network.beforeRequestSent", held.clone());
    assert_eq!(heard(&out, one)[0]["params"]["isBlocked"], true);
    assert_eq!(heard(&out, two)[0]["params"]["isBlocked"], false);
    let refused = stage.say(two, 2, "network.continueRequest", json!({"request": "r1"}));
    assert_eq!(heard(&refused, two)[0]["error"], "no such request");
    let out = stage.say(one, 2, "network.continueRequest", json!({"request": "r1", "method": "PUT"}));
    assert_eq!(to_browser(&out)[0]["params"], json!({"request": "r1", "method": "PUT"}));
    assert_eq!(
        heard(&stage.say(two, 3, "network.removeIntercept", json!({"intercept": "i1"})), two)[0]["error"],
        "no such intercept"
    );
    let out = stage.event("network.beforeRequestSent", held);
    assert_eq!(heard(&out, one).len(), 1);
    let sent = to_browser(&stage.table.leave(one));
    let free = sent.iter().find(|sent| sent["method"] == "network.continueRequest").unwrap();
    assert_eq!(free["params"], json!({"request": "r1"}), "what it held goes on without it");
}

#[test]
fn who_has_not_subscribed_holds_nothing() {
    let mut stage = Stage::new();
    let one = stage.one;
    let everywhere = json!({"phases": ["beforeRequestSent"]});
    stage.ask(one, "network.addIntercept", everywhere, json!({"intercept": "i1"}));
    stage.subscribe(one, json!({"events": ["network"], "contexts": ["other"]}), "s1");
    let held = json!({"context": "tab", "isBlocked": true, "intercepts": ["i1"], "request": {"request": "r1", "url": "u"}});
    let out = stage.event("network.beforeRequestSent", held);
    assert_eq!(heard(&out, one).len(), 0);
    assert_eq!(to_browser(&out)[0]["method"], "network.continueRequest");
}

#[test]
fn channels_of_the_same_name_are_told_apart() {
    let mut stage = Stage::new();
    let (one, two) = (stage.one, stage.two);
    let argument =
        json!({"functionDeclaration": "f", "arguments": [{"type": "channel", "value": {"channel": "c"}}]});
    let sent = to_browser(&stage.say(one, 2, "script.addPreloadScript", argument));
    let channel = sent[0]["params"]["arguments"][0]["value"]["channel"].clone();
    assert_ne!(channel, "c");
    for (client, id) in [(one, "s1"), (two, "s2")] {
        stage.subscribe(client, json!({"events": ["script.message"]}), id);
    }
    let message = json!({"channel": channel, "data": {"type": "undefined"}, "source": {"context": "tab"}});
    let out = stage.event("script.message", message);
    assert_eq!(heard(&out, one)[0]["params"]["channel"], "c");
    assert!(heard(&out, two).is_empty());
}

#[test]
fn what_is_made_for_a_client_that_has_left_is_taken_back() {
    let mut stage = Stage::new();
    let one = stage.one;
    let sent = to_browser(&stage.say(one, 2, "script.addPreloadScript", json!({"functionDeclaration": "f"})));
    stage.table.leave(one);
    let id = sent[0]["id"].as_u64().unwrap();
    let out = stage.table.message(&bidi::success(id, r#"{"script": "p1"}"#));
    assert_eq!(to_browser(&out)[0]["method"], "script.removePreloadScript");
    assert_eq!(to_browser(&out)[0]["params"], json!({"script": "p1"}));
    let mine = Table::default();
    assert!(!mine.close_was_requested());
}

#[test]
fn when_the_browser_is_gone_every_client_has_an_answer_to_what_it_still_waits_for() {
    let mut stage = Stage::new();
    let (one, two) = (stage.one, stage.two);
    for (client, id) in [(one, 2), (two, 2), (one, 3)] {
        stage.say(client, id, "browsingContext.navigate", json!({"context": "tab", "url": "about:blank"}));
    }
    let out = stage.table.give_up("the browser was killed by signal 9");
    let ids = |client| heard(&out, client).iter().map(|answer| answer["id"].clone()).collect::<Vec<_>>();
    assert_eq!((ids(one), ids(two)), (vec![json!(2), json!(3)], vec![json!(2)]));
    for answer in heard(&out, one) {
        assert_eq!((&answer["type"], &answer["error"]), (&json!("error"), &json!("unknown error")));
        assert_eq!(answer["message"], "the browser was killed by signal 9");
    }
    assert!(stage.table.give_up("again").is_empty());
}

#[test]
fn what_keeps_a_persons_rules_is_told_who_asks_and_who_has_left() {
    let mut table = Table::new(true);
    let (client, agent, own) =
        (table.join(guest()), table.join(Who::Agent("agent".to_owned())), table.join(Who::Own));
    let hands = table.join(Who::Hands);
    for client in [client, agent] {
        table.command(client, r#"{"id":1,"method":"session.new","params":{"capabilities":{}}}"#);
    }
    let mut asker = |client| {
        let out =
            table.command(client, r#"{"id":2,"method":"browsingContext.activate","params":{"context":"a"}}"#);
        let [Out::Browser(text)] = out.as_slice() else { panic!("{out:?}") };
        serde_json::from_str::<Value>(text).unwrap()[bidi::ASKER].clone()
    };
    assert_eq!(asker(client), json!({"client": 1, "name": "puppeteer", "is_op": false}));
    assert_eq!(asker(agent), json!({"client": 2, "name": "agent", "is_op": true}));
    assert_eq!(asker(own), Value::Null, "the hub asks for itself");
    assert_eq!(asker(hands), json!({"client": 4, "name": "bowline", "is_op": false}), "for somebody else");
    let Some(Out::Browser(left)) = table.leave(client).into_iter().next() else { panic!("nothing was said") };
    assert!(left.contains(r#""method":"bowline.left""#) && left.contains(r#""client":1"#), "{left}");
    assert!(table.leave(own).is_empty());
}

#[test]
fn a_browser_is_not_told_who_asks() {
    let mut table = Table::default();
    let client = table.join(guest());
    table.command(client, r#"{"id":1,"method":"session.new","params":{"capabilities":{}}}"#);
    let out = table.command(client, r#"{"id":2,"method":"browsingContext.getTree","params":{}}"#);
    assert!(matches!(out.as_slice(), [Out::Browser(text)] if !text.contains("bowline")), "{out:?}");
    assert!(table.leave(client).is_empty());
}

#[test]
fn channels_deep_in_arguments_are_told_apart_too() {
    let mut stage = Stage::new();
    let one = stage.one;
    let channel = json!({"type": "channel", "value": {"channel": "2/c"}});
    let arguments = json!([{"type": "array", "value": [{"type": "object", "value": [["k", channel]]}]}]);
    let sent = to_browser(&stage.say(one, 2, "script.callFunction", json!({"arguments": arguments})));
    assert!(sent[0].to_string().contains(&format!("{}/2/c", one.0)), "{}", sent[0]);
}

#[test]
fn what_the_browser_does_not_take_may_be_said_again() {
    let mut stage = Stage::new();
    let one = stage.one;
    stage.ask(
        one,
        "network.addIntercept",
        json!({"phases": ["beforeRequestSent"]}),
        json!({"intercept": "i1"}),
    );
    stage.subscribe(one, json!({"events": ["network"]}), "s1");
    let held = json!({"context": "tab", "isBlocked": true, "intercepts": ["i1"], "request": {"request": "r1", "url": "u"}});
    stage.event("network.beforeRequestSent", held.clone());
    let sent = to_browser(&stage.say(
        one,
        2,
        "network.continueRequest",
        json!({"request": "r1", "url": "nonsense"}),
    ));
    let refusal = Refusal::new("invalid argument", "no address");
    let out = stage.table.message(&bidi::failure(sent[0]["id"].as_u64(), &refusal));
    assert_eq!(heard(&out, one)[0]["error"], "invalid argument");
    let sent = to_browser(&stage.say(one, 3, "network.continueRequest", json!({"request": "r1"})));
    assert_eq!(sent[0]["params"], json!({"request": "r1"}));
    stage.table.leave(one);
    let out = to_browser(&stage.table.message(&bidi::failure(sent[0]["id"].as_u64(), &refusal)));
    assert_eq!(out[0]["method"], "network.continueRequest", "without its client it goes on as it is");
}

#[test]
fn where_the_recorder_holds_requests_their_address_stays() {
    let mut stage = Stage::new();
    let one = stage.one;
    let own = stage.table.join(Who::Own);
    let intercept = json!({"phases": ["beforeRequestSent"]});
    stage.ask(own, "network.addIntercept", intercept.clone(), json!({"intercept": "i0"}));
    stage.ask(one, "network.addIntercept", intercept, json!({"intercept": "i1"}));
    stage.subscribe(own, json!({"events": ["network"]}), "s0");
    stage.subscribe(one, json!({"events": ["network"]}), "s1");
    let held = json!({"context": "tab", "isBlocked": true, "intercepts": ["i0", "i1"], "request": {"request": "r1", "url": "u"}});
    stage.event("network.beforeRequestSent", held);
    let changed = json!({"request": "r1", "url": "https://elsewhere.test/"});
    for client in [one, own] {
        stage.say(client, 7, "network.continueRequest", json!({"request": "r1"}));
        let refused = stage.say(one, 8, "network.continueRequest", changed.clone());
        assert_eq!(heard(&refused, one)[0]["error"], "unsupported operation");
    }
}

#[test]
fn nothing_is_seen_of_another_clients_user_context() {
    let mut stage = Stage::new();
    let (one, two) = (stage.one, stage.two);
    stage.ask(one, "browser.createUserContext", json!({}), json!({"userContext": "jar"}));
    let tab = json!({"context": "theirs", "userContext": "jar", "parent": null, "url": "u"});
    stage.event(CONTEXT_CREATED, tab);
    for params in [
        json!({"partition": {"type": "context", "context": "theirs"}}),
        json!({"partition": {"type": "storageKey", "userContext": "jar"}}),
        json!({"context": "theirs", "contexts": 7}),
    ] {
        assert!(!heard(&stage.say(two, 2, "storage.getCookies", params), two).is_empty());
    }
    let sent = to_browser(&stage.say(two, 3, "script.getRealms", json!({})));
    let realms = json!({"realms": [{"realm": "a", "context": "theirs"}, {"realm": "b", "context": "tab"}]});
    let answer = bidi::success(sent[0]["id"].as_u64().unwrap(), &realms.to_string());
    let out = stage.table.message(&answer);
    assert_eq!(heard(&out, two)[0]["result"]["realms"], json!([{"realm": "b", "context": "tab"}]));
    let sent = to_browser(&stage.table.leave(one));
    let tree = stage.say(two, 4, "browsingContext.activate", json!({"context": "theirs"}));
    assert_eq!(heard(&tree, two)[0]["error"], "no such frame", "it is being removed");
    assert!(sent.iter().any(|sent| sent["method"] == "browser.removeUserContext"));
}
