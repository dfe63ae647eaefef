//! A virtual browser between scripted clients and a scripted extension.

use bowline_hub::backend::Outgoing;
use bowline_hub::extensions::Visitor;
use bytes::Bytes;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::Instant;

use crate::extension::machine::Machine;

/// A machine, what its clients have got, and an extension that does as it is told.
pub(super) struct Stage {
    pub(super) machine: Machine,
    pub(super) last_id: i32,
    /// Everything clients were told and have not looked at.
    pub(super) told: Vec<Value>,
    /// Everything the extension was asked: `attachTab 1`, `1 Page.enable`, `1/child Runtime.enable`.
    pub(super) asked: Vec<String>,
    /// Raw CDP commands, with their parameters.
    pub(super) commands: Vec<(String, Value)>,
    /// Methods that are not answered by themselves.
    pub(super) silent: Vec<&'static str>,
    pub(super) unanswered: Vec<(u64, String)>,
}

pub(super) const TAB: i64 = 1;

pub(super) fn target(tab: i64) -> String {
    format!("{tab:032X}")
}

pub(super) fn tab(id: i64, url: &str) -> Value {
    json!({"tabId": id, "targetId": target(id), "url": url, "title": "t", "status": "complete", "windowId": 1})
}

impl Stage {
    pub(super) fn new(tabs: &[Value], policy: Value) -> Self {
        let machine = Machine::new(Visitor::default(), Instant::now(), 7);
        let mut stage = Self {
            machine,
            last_id: 0,
            told: Vec::new(),
            asked: Vec::new(),
            commands: Vec::new(),
            silent: Vec::new(),
            unanswered: Vec::new(),
        };
        stage.tell("state", json!({"policy": policy, "tabs": tabs}));
        stage
    }

    pub(super) fn plain() -> Self {
        Self::new(&[tab(TAB, "http://a.test/")], json!({}))
    }

    /// An event of the extension.
    pub(super) fn tell(&mut self, method: &str, params: Value) {
        self.machine.frame(&json!({"method": method, "params": params}).to_string());
        self.settle();
    }

    pub(super) fn cdp_event(&mut self, child: Option<&str>, method: &str, params: Value) {
        let mut event = json!({"tabId": TAB, "method": method, "params": params});
        if let Some(child) = child {
            event["childSessionId"] = json!(child);
        }
        self.tell("cdpEvent", event);
    }

    /// Sends a command without waiting for its answer.
    pub(super) fn post(&mut self, session: &str, method: &str, params: Value) -> i32 {
        self.last_id += 1;
        let mut body = json!({"id": self.last_id, "method": method, "params": params});
        if !session.is_empty() {
            body["sessionId"] = json!(session);
        }
        self.machine.command(&Outgoing { session: None, body: Bytes::from(body.to_string()) });
        self.settle();
        self.last_id
    }

    /// The answer to a command: its result, or the message of its error.
    pub(super) fn call(&mut self, session: &str, method: &str, params: Value) -> Result<Value, String> {
        let id = self.post(session, method, params);
        self.answer(id).unwrap_or_else(|| panic!("{method} was not answered"))
    }

    pub(super) fn answer(&mut self, id: i32) -> Option<Result<Value, String>> {
        let at = self.told.iter().position(|message| message["id"] == json!(id))?;
        let message = self.told.remove(at);
        Some(match message.get("error") {
            Some(error) => Err(error["message"].as_str().unwrap_or_default().to_owned()),
            None => Ok(message["result"].clone()),
        })
    }

    /// Takes the events of a session, by name.
    pub(super) fn events(&mut self, session: &str) -> Vec<String> {
        let is_its = |message: &Value| {
            message["sessionId"].as_str().unwrap_or_default() == session && message.get("id").is_none()
        };
        let (its, others) = std::mem::take(&mut self.told).into_iter().partition(is_its);
        self.told = others;
        let its: Vec<Value> = its;
        its.iter().map(|event| event["method"].as_str().unwrap_or_default().to_owned()).collect()
    }

    pub(super) fn event(&mut self, session: &str, method: &str) -> Option<Value> {
        let fits = |message: &Value| {
            message["sessionId"].as_str().unwrap_or_default() == session && message["method"] == json!(method)
        };
        let at = self.told.iter().position(fits)?;
        Some(self.told.remove(at)["params"].clone())
    }

    /// A new client's session on the browser.
    pub(super) fn client(&mut self) -> String {
        self.client_as(json!({}))
    }

    pub(super) fn client_as(&mut self, params: Value) -> String {
        let answer = self.call("", "Target.attachToBrowserTarget", params).unwrap();
        answer["sessionId"].as_str().unwrap().to_owned()
    }

    pub(super) fn attach(&mut self, root: &str) -> String {
        self.attach_to(root, TAB)
    }

    pub(super) fn attach_to(&mut self, root: &str, tab: i64) -> String {
        let answer = self
            .call(root, "Target.attachToTarget", json!({"targetId": target(tab), "flatten": true}))
            .unwrap();
        answer["sessionId"].as_str().unwrap().to_owned()
    }

    /// Lets the extension do what it was asked.
    pub(super) fn settle(&mut self) {
        loop {
            self.told.extend(
                self.machine
                    .out
                    .to_clients
                    .drain(..)
                    .map(|message| serde_json::from_slice(&message).unwrap()),
            );
            let asked: Vec<Bytes> = self.machine.out.to_extension.drain(..).collect();
            if asked.is_empty() {
                return;
            }
            for message in asked {
                let message: Value = serde_json::from_slice(&message).unwrap();
                let (method, params) = (message["method"].as_str().unwrap(), &message["params"]);
                let what = if method == "cdpCommand" {
                    let child = params["childSessionId"]
                        .as_str()
                        .map(|child| format!("/{child}"))
                        .unwrap_or_default();
                    self.commands
                        .push((params["method"].as_str().unwrap().to_owned(), params["params"].clone()));
                    format!("{}{child} {}", params["tabId"], params["method"].as_str().unwrap())
                } else {
                    format!("{method} {}", params["tabId"])
                };
                let Some(id) = message["id"].as_u64() else { continue };
                let cdp = params["method"].as_str().unwrap_or_default().to_owned();
                self.asked.push(what);
                if self.silent.iter().any(|silent| *silent == method || *silent == cdp) {
                    self.unanswered.push((id, cdp));
                    continue;
                }
                let result = match (method, cdp.as_str()) {
                    ("attachTab", _) => json!({"targetId": target(TAB)}),
                    (_, "Page.getFrameTree") => {
                        let url = "http://a.test/";
                        json!({"frameTree": {"frame": {"id": target(TAB), "loaderId": "L", "url": url},
                            "childFrames": [{"frame": {"id": "C", "parentId": target(TAB), "loaderId": "L2", "url": "http://a.test/c"}}]}})
                    }
                    (_, "Page.addScriptToEvaluateOnNewDocument") => {
                        json!({"identifier": format!("real{id}")})
                    }
                    (_, "Page.createIsolatedWorld") => json!({"executionContextId": 12}),
                    (_, "Runtime.enable") => {
                        for (context, name, is_default) in [(11, "", true), (12, "util", false)] {
                            let event = context_created(context, name, is_default);
                            self.machine.frame(&event.to_string());
                        }
                        json!({})
                    }
                    (_, "Runtime.evaluate") => json!({"result": {"type": "number", "value": 2}}),
                    _ => json!({}),
                };
                self.machine.frame(&json!({"id": id, "result": result}).to_string());
            }
        }
    }

    pub(super) fn pass(&mut self, time: Duration) {
        self.machine.now += time;
        self.machine.ring();
        self.settle();
    }

    pub(super) fn params_of(&self, method: &str) -> Vec<Value> {
        self.commands.iter().filter(|(name, _)| name == method).map(|(_, params)| params.clone()).collect()
    }
}

pub(super) fn context_created(id: i64, name: &str, is_default: bool) -> Value {
    json!({"method": "cdpEvent", "params": {"tabId": TAB, "method": "Runtime.executionContextCreated", "params": {"context": {
        "id": id, "origin": "http://a.test", "name": name, "uniqueId": "u",
        "auxData": {"isDefault": is_default, "frameId": target(TAB)}}}}})
}
