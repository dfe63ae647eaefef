use serde_json::{Value, json};

use super::*;
use crate::fake::{self, FakeBrowser};

fn router(limits: Limits) -> (Router, FakeBrowser) {
    let (link, browser) = fake::link();
    (Router::start(link, limits), browser)
}

async fn say(client: &CdpClient, message: Value) {
    client.send(Bytes::from(message.to_string())).await;
}

/// Everything that is waiting for the client, at least one message.
async fn hear(client: &CdpClient) -> Vec<Value> {
    let mut batch = Vec::new();
    client.outbox().take(&mut batch).await.expect("the client is connected");
    batch.iter().map(|message| serde_json::from_slice(message).unwrap()).collect()
}

async fn hear_all(client: &CdpClient) -> (Vec<Value>, CloseReason) {
    let (mut heard, mut batch) = (Vec::new(), Vec::new());
    loop {
        if let Err(reason) = client.outbox().take(&mut batch).await {
            return (heard, reason);
        }
        heard.extend(batch.drain(..).map(|message| serde_json::from_slice::<Value>(&message).unwrap()));
    }
}

/// Two clients of one browser, whose roots are ROOT1 and ROOT2.
async fn two_clients(limits: Limits) -> (CdpClient, CdpClient, FakeBrowser, Router) {
    let (router, mut browser) = router(limits);
    let serve = async {
        browser.command().await;
    };
    let connect = async {
        (router.connect(Entry::Browser).await.unwrap(), router.connect(Entry::Browser).await.unwrap())
    };
    let (first, second) = tokio::select! {
        () = serve => unreachable!("nobody sends a command"),
        clients = connect => clients,
    };
    (first, second, browser, router)
}

fn attached(parent: &str, session: &str, target: &str, waiting: bool) -> Value {
    let info = json!({"targetId": target, "type": "page", "title": "", "url": ""});
    let params = json!({"sessionId": session, "targetInfo": info, "waitingForDebugger": waiting});
    json!({"method": "Target.attachedToTarget", "params": params, "sessionId": parent})
}

#[tokio::test]
async fn half_a_million_frames_with_equal_ids_reach_their_own_clients() {
    const CLIENTS: usize = 32;
    const COMMANDS: usize = 250_000 / CLIENTS;
    let (router, browser) = router(Limits::default());
    tokio::spawn(browser.echo());
    let mut work = tokio::task::JoinSet::new();
    for number in 0..CLIENTS {
        let client = router.connect(Entry::Browser).await.unwrap();
        work.spawn(async move {
            let sending = async {
                for n in 0..COMMANDS {
                    // Few ids, so that many clients have the same one in flight, and one client has it twice.
                    say(&client, json!({"id": n % 7, "method": "E.e", "params": {"client": number, "n": n}}))
                        .await;
                }
            };
            let receiving = async {
                let mut next = 0;
                while next < COMMANDS {
                    for answer in hear(&client).await {
                        let params = json!({"client": number, "n": next});
                        assert_eq!((&answer["id"], &answer["result"]["params"]), (&json!(next % 7), &params));
                        assert_eq!(answer.get("sessionId"), None);
                        next += 1;
                    }
                }
            };
            tokio::join!(sending, receiving);
            COMMANDS
        });
    }
    assert_eq!(work.join_all().await.into_iter().sum::<usize>(), COMMANDS * CLIENTS);
}

#[tokio::test]
async fn a_session_belongs_to_one_client() {
    let (first, second, mut browser, _router) = two_clients(Limits::default()).await;
    browser.send(attached("ROOT1", "CHILD", "T", false)).await;
    assert_eq!(hear(&first).await[0]["params"]["sessionId"], "CHILD");
    for session in ["CHILD", "ROOT1", "ROOT2", "nowhere"] {
        say(&second, json!({"id": 5, "method": "A.b", "sessionId": session})).await;
        let error = json!({"code": -32001, "message": "Session with given id not found."});
        assert_eq!(hear(&second).await, [json!({"id": 5, "error": error})], "{session}");
    }
    say(&first, json!({"id": 6, "method": "A.b", "sessionId": "CHILD"})).await;
    assert_eq!(browser.command().await.unwrap()["sessionId"], "CHILD");
    browser.send(json!({"id": 6, "result": {}, "sessionId": "CHILD"})).await;
    assert_eq!(hear(&first).await, [json!({"id": 6, "result": {}, "sessionId": "CHILD"})]);
}

#[tokio::test]
async fn everything_unanswered_is_answered_when_the_browser_goes() {
    let (first, second, browser, router) = two_clients(Limits::default()).await;
    for id in [1, 2, 2] {
        say(&first, json!({"id": id, "method": "A.b"})).await;
    }
    router.close("gone");
    drop(browser);
    let (heard, reason) = hear_all(&first).await;
    let answer = |id| json!({"id": id, "error": {"code": -32000, "message": "gone"}});
    assert_eq!(heard, [answer(1), answer(2), answer(2)]);
    assert_eq!(reason, CloseReason::going_away("gone"));
    assert_eq!(hear_all(&second).await, (vec![], CloseReason::going_away("gone")));
    assert!(matches!(router.connect(Entry::Browser).await, Err(CallError::Closed)));
}

#[tokio::test]
async fn what_a_crashed_page_leaves_open_is_answered_once() {
    let (first, _second, browser, _router) = two_clients(Limits::default()).await;
    browser.send(attached("ROOT1", "PAGE", "T", false)).await;
    hear(&first).await;
    say(&first, json!({"id": 3, "method": "Runtime.evaluate", "sessionId": "PAGE"})).await;
    browser.send(json!({"method": "Inspector.targetCrashed", "params": {}, "sessionId": "PAGE"})).await;
    // Chromium answers late, after a reload.
    browser.send(json!({"id": 3, "error": {"code": -32000, "message": "late"}, "sessionId": "PAGE"})).await;
    browser.send(json!({"method": "A.after", "params": {}, "sessionId": "PAGE"})).await;
    let mut heard = Vec::new();
    while heard.len() < 3 {
        heard.extend(hear(&first).await);
    }
    let error = json!({"code": -32000, "message": "Target crashed"});
    assert_eq!(heard[1], json!({"id": 3, "error": error, "sessionId": "PAGE"}));
    assert_eq!(heard[2]["method"], "A.after");
}

#[tokio::test]
async fn a_detached_session_and_those_below_it_end() {
    let (first, _second, browser, _router) = two_clients(Limits::default()).await;
    browser.send(attached("ROOT1", "PAGE", "T", false)).await;
    browser.send(attached("PAGE", "FRAME", "F", false)).await;
    let mut heard = Vec::new();
    while heard.len() < 2 {
        heard.extend(hear(&first).await);
    }
    say(&first, json!({"id": 1, "method": "A.b", "sessionId": "FRAME"})).await;
    let params = json!({"sessionId": "PAGE"});
    browser
        .send(json!({"method": "Target.detachedFromTarget", "params": params, "sessionId": "ROOT1"}))
        .await;
    let mut heard = Vec::new();
    while heard.len() < 2 {
        heard.extend(hear(&first).await);
    }
    assert_eq!(
        (&heard[0]["method"], &heard[1]["error"]["code"]),
        (&json!("Target.detachedFromTarget"), &json!(-32001))
    );
    say(&first, json!({"id": 2, "method": "A.b", "sessionId": "FRAME"})).await;
    assert_eq!(hear(&first).await[0]["error"]["code"], -32001);
}

#[tokio::test]
async fn a_page_client_is_told_that_its_page_closed() {
    let (router, mut browser) = router(Limits::default());
    let entry = Entry::Page(TargetId::new("T"));
    let client = tokio::select! {
        _ = browser.command() => unreachable!("nobody sends a command"),
        client = router.connect(entry) => client.unwrap(),
    };
    browser.send(json!({"method": "Target.detachedFromTarget", "params": {"sessionId": "ROOT1"}})).await;
    let (heard, reason) = hear_all(&client).await;
    assert_eq!(heard, [json!({"method": "Inspector.detached", "params": {"reason": "target_closed"}})]);
    assert_eq!(reason, CloseReason::normal("target closed"));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_is_closed_and_the_others_do_not_notice() {
    let limits = Limits { client_buffer: 64 << 10, ..Limits::default() };
    let (stuck, reading, browser, _router) = two_clients(limits).await;
    let large = "x".repeat(16 << 10);
    for n in 0..64 {
        for root in ["ROOT1", "ROOT2"] {
            browser
                .send(json!({"method": "A.b", "params": {"n": n, "large": large}, "sessionId": root}))
                .await;
        }
        assert_eq!(hear(&reading).await[0]["params"]["n"], n);
        // Nothing was taken for longer than a reader that is merely slow would need.
        if n == 8 {
            tokio::time::advance(Duration::from_millis(300)).await;
        }
    }
    let (heard, reason) = hear_all(&stuck).await;
    assert_eq!((heard.len(), reason.code), (0, 1008));
    assert!(reason.text.contains("does not read"), "{}", reason.text);
}

#[tokio::test]
async fn one_message_larger_than_the_limit_passes() {
    let limits = Limits { client_buffer: 1 << 10, ..Limits::default() };
    let (first, _second, browser, _router) = two_clients(limits).await;
    browser
        .send(json!({"method": "A.b", "params": {"large": "x".repeat(1 << 20)}, "sessionId": "ROOT1"}))
        .await;
    assert_eq!(hear(&first).await.len(), 1);
}

#[tokio::test]
async fn a_message_that_the_browser_cannot_take_is_answered_instead() {
    let (first, _second, _browser, _router) = two_clients(Limits::default()).await;
    say(&first, json!({"id": 1, "method": "A.b", "params": {"large": "x".repeat(2 << 20)}})).await;
    let answer = &hear(&first).await[0];
    assert_eq!(answer["error"]["code"], -32000);
    assert!(answer["error"]["message"].as_str().unwrap().contains("larger than"));
}

#[tokio::test]
async fn a_target_runs_when_every_client_that_waits_has_released_it() {
    let (first, second, mut browser, _router) = two_clients(Limits::default()).await;
    browser.send(attached("ROOT1", "A", "T", true)).await;
    browser.send(attached("ROOT2", "B", "T", true)).await;
    hear(&first).await;
    hear(&second).await;
    let release = "Runtime.runIfWaitingForDebugger";
    say(&first, json!({"id": 1, "method": release, "sessionId": "A"})).await;
    say(&second, json!({"id": 2, "method": "Page.addScript", "sessionId": "B"})).await;
    assert_eq!(browser.command().await.unwrap()["method"], "Page.addScript", "the release is held");
    say(&second, json!({"id": 3, "method": release, "sessionId": "B"})).await;
    let released = [browser.command().await.unwrap(), browser.command().await.unwrap()];
    assert_eq!(released.map(|command| command["id"].clone()), [json!(1), json!(3)]);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_leaves_or_dawdles_holds_nobody() {
    let (first, second, mut browser, _router) = two_clients(Limits::default()).await;
    let release = "Runtime.runIfWaitingForDebugger";
    for target in ["T", "U"] {
        browser.send(attached("ROOT1", &format!("A{target}"), target, true)).await;
        browser.send(attached("ROOT2", &format!("B{target}"), target, true)).await;
    }
    let (mut one, mut two) = (0, 0);
    while one < 2 || two < 2 {
        tokio::select! {
            heard = hear(&first) => one += heard.len(),
            heard = hear(&second) => two += heard.len(),
        }
    }
    let begun = tokio::time::Instant::now();
    say(&first, json!({"id": 1, "method": release, "sessionId": "AT"})).await;
    assert_eq!(browser.command().await.unwrap()["id"], 1);
    assert_eq!(begun.elapsed().as_secs(), Limits::default().longest_hold.as_secs(), "the second dawdled");
    say(&first, json!({"id": 2, "method": release, "sessionId": "AU"})).await;
    drop(second);
    assert_eq!(browser.command().await.unwrap()["id"], 2);
    assert_eq!(begun.elapsed().as_secs(), Limits::default().longest_hold.as_secs(), "the second left");
}

#[tokio::test]
async fn a_client_that_leaves_is_detached_at_the_browser() {
    let (first, second, mut browser, router) = two_clients(Limits::default()).await;
    drop(first);
    let detach = browser.command().await.unwrap();
    assert_eq!(
        (&detach["method"], &detach["params"]["sessionId"]),
        (&json!("Target.detachFromTarget"), &json!("ROOT1"))
    );
    assert_eq!(router.client_count(), 1);
    drop(second);
}

#[tokio::test]
async fn a_client_that_gives_up_connecting_is_detached_too() {
    let (router, mut browser) = router(Limits::default());
    {
        let connecting = router.connect(Entry::Browser);
        tokio::pin!(connecting);
        let poll = tokio::time::timeout(Duration::ZERO, connecting.as_mut()).await;
        assert!(poll.is_err());
    }
    let detach = browser.command().await.unwrap();
    assert_eq!(
        (&detach["method"], &detach["params"]["sessionId"]),
        (&json!("Target.detachFromTarget"), &json!("ROOT1"))
    );
    assert_eq!(router.client_count(), 0);
}

fn create(id: i32, url: &str) -> Value {
    json!({"id": id, "method": "Target.createTarget", "params": {"url": url, "width": 5}})
}

#[tokio::test(start_paused = true)]
async fn a_new_tab_is_sent_to_its_address_when_the_recorder_watches_it() {
    let (client, recorder, mut browser, router) = two_clients(Limits::default()).await;
    router.watched_by(&recorder);
    say(&client, create(1, "http://a.test/")).await;
    let command = browser.command().await.unwrap();
    assert_eq!(command["params"], json!({"url": "about:blank", "width": 5}));
    browser.send(attached("ROOT2", "S", "T", true)).await;
    browser.send(json!({"id": 1, "result": {"targetId": "T"}, "sessionId": "ROOT1"})).await;
    assert_eq!(hear(&recorder).await[0]["params"]["sessionId"], "S");
    router.settle(TargetId::new("T"), SessionId::new("S"));
    let navigate = browser.command().await.unwrap();
    assert_eq!((&navigate["method"], &navigate["sessionId"]), (&json!("Page.navigate"), &json!("S")));
    assert_eq!(navigate["params"]["url"], "http://a.test/");
    assert_eq!(hear(&client).await, [json!({"id": 1, "result": {"targetId": "T"}})]);
    // The blank page is no part of its history.
    browser.send(json!({"id": navigate["id"], "result": {}, "sessionId": "S"})).await;
    assert_eq!(browser.command().await.unwrap()["method"], "Page.resetNavigationHistory");
}

#[tokio::test(start_paused = true)]
async fn a_tab_that_the_recorder_never_watches_gets_to_its_address_too() {
    let (client, recorder, mut browser, router) = two_clients(Limits::default()).await;
    router.watched_by(&recorder);
    say(&client, create(1, "http://a.test/")).await;
    browser.command().await.unwrap();
    browser.send(json!({"id": 1, "result": {"targetId": "T"}, "sessionId": "ROOT1"})).await;
    let (command, answer) = tokio::join!(browser.command(), hear(&client));
    assert_eq!(answer[0]["result"]["targetId"], "T", "told after the longest hold");
    let navigate = command.unwrap();
    assert_eq!(navigate["params"]["url"], "http://a.test/");
}

#[tokio::test(start_paused = true)]
async fn tabs_without_a_request_are_made_as_asked() {
    let (client, recorder, mut browser, router) = two_clients(Limits::default()).await;
    router.watched_by(&recorder);
    for (id, url) in [(1, "about:blank"), (2, "data:text/html,x"), (3, "")] {
        say(&client, create(id, url)).await;
        assert_eq!(browser.command().await.unwrap()["params"]["url"], url);
    }
    let for_tab = json!({"id": 4, "method": "Target.createTarget", "params": {"url": "http://a.test/", "forTab": true}});
    say(&client, for_tab).await;
    assert_eq!(browser.command().await.unwrap()["params"]["url"], "http://a.test/");
    drop(recorder);
    // Nobody watches any more: nothing is changed, and nothing waits.
    assert_eq!(browser.command().await.unwrap()["method"], "Target.detachFromTarget");
    say(&client, create(5, "http://a.test/")).await;
    assert_eq!(browser.command().await.unwrap()["params"]["url"], "http://a.test/");
    browser.send(json!({"id": 5, "result": {"targetId": "T"}, "sessionId": "ROOT1"})).await;
    assert_eq!(hear(&client).await[0]["id"], 5);
}
