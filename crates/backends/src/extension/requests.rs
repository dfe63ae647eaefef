//! Requests that stand still for interception, from one client to the next (`fetch.rs` has the rules).

use bowline_wire::origins;
use serde_json::{Map, Value, json};

use super::fetch::{Interest, Paused, Stage};
use super::machine::{INVALID_PARAMS, Machine, Then};
use super::node::NodeId;
use super::policy;
use super::session::SessionKey;

impl Machine {
    /// Tells the browser what to stop, as all clients together want it.
    pub(super) fn intercept(&mut self, node: NodeId, then: Then) {
        let all: Vec<Map<String, Value>> = self
            .on_node(node)
            .filter(|(_, session)| session.interest.is_some())
            .flat_map(|(_, session)| session.wishes.iter().filter(|wish| wish.key == "Fetch.enable"))
            .map(|wish| serde_json::from_str(&wish.params).unwrap_or_default())
            .collect();
        let watched = self.watched(node);
        let is_wanted = !watched.is_empty() || !all.is_empty();
        let wanted = is_wanted.then(|| Interest::merged(all.iter(), watched).to_string());
        let Some(real) = self.nodes.get_mut(&node) else { return };
        if real.intercepts == wanted {
            if let Then::Answer { session, id } = then {
                self.out.reply(&session, id, "{}");
            }
            return;
        }
        real.intercepts.clone_from(&wanted);
        match wanted {
            Some(params) => self.send(node, "Fetch.enable", &params, then),
            None => self.send(node, "Fetch.disable", "{}", then),
        }
    }

    /// The kinds of requests that the hub itself stops, to keep a page where it may be: the person's lists say where it
    /// may go, the hub's also what its scripts may ask for.
    fn watched(&self, node: NodeId) -> &'static [&'static str] {
        let is_page =
            self.nodes.get(&node).is_some_and(|real| matches!(real.kind.as_str(), "page" | "iframe"));
        match is_page && policy::is_locked(&self.policy) {
            false => &[],
            true if self.policy.sites.is_empty() => &origins::KEPT[..1],
            true => &origins::KEPT,
        }
    }

    /// The person has changed where agents may go.
    pub(super) fn watch_documents(&mut self) {
        let open: Vec<NodeId> =
            self.nodes.iter().filter(|(_, real)| real.is_open).map(|(id, _)| *id).collect();
        for node in open {
            self.intercept(node, Then::Ignore);
        }
    }

    pub(super) fn request_paused(&mut self, node: NodeId, method: &str, params: &str) {
        let Ok(params) = serde_json::from_str::<Map<String, Value>>(params) else { return };
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        let request = text(params.get("requestId"));
        let url = text(params.get("request").and_then(|request| request.get("url")));
        let kind = text(params.get("resourceType"));
        let is_auth = method == "Fetch.authRequired";
        let is_response =
            params.contains_key("responseStatusCode") || params.contains_key("responseErrorReason");
        let stage = if is_response { Stage::Response } else { Stage::Request };
        let refused = match kind.as_str() {
            "Document" => policy::refused_address(&self.policy, &url),
            _ => self.policy.sites.refusal(&url),
        };
        if !is_auth
            && !is_response
            && self.watched(node).contains(&kind.as_str())
            && let Some(reason) = refused
        {
            tracing::info!(%reason, "a request was refused");
            let params = json!({"requestId": request, "errorReason": "BlockedByClient"}).to_string();
            return self.send(node, "Fetch.failRequest", &params, Then::Ignore);
        }
        let Some(real) = self.nodes.get_mut(&node) else { return };
        let asked = if is_response { real.journeys.responses.remove(&request) } else { None };
        let mut takers: Vec<SessionKey> = self
            .on_node(node)
            .filter(|(key, session)| {
                session.interest.as_ref().is_some_and(|interest| {
                    if is_auth { interest.handle_auth_requests } else { interest.wants(&url, &kind, stage) }
                }) || asked.as_ref().is_some_and(|asked| asked.contains(key))
            })
            .map(|(key, _)| key.clone())
            .collect();
        takers.reverse();
        let event = if is_auth { "Fetch.authRequired" } else { "Fetch.requestPaused" };
        let Some(holder) = takers.pop() else {
            // Somebody left meanwhile.
            return self.go_on(node, &request, event, stage, &Map::new(), Then::Ignore);
        };
        let paused = Paused { event, params, holder, next: takers, changes: Map::new(), stage };
        self.out.event_value(&paused.holder, event, &Value::Object(paused.params.clone()));
        if let Some(real) = self.nodes.get_mut(&node) {
            real.journeys.paused.insert(request, paused);
        }
    }

    /// Sends a request on its way in the browser.
    fn go_on(
        &mut self,
        node: NodeId,
        request: &str,
        event: &str,
        stage: Stage,
        changes: &Map<String, Value>,
        then: Then,
    ) {
        let mut params = changes.clone();
        params.insert("requestId".to_owned(), json!(request));
        let method = match (event, stage) {
            ("Fetch.authRequired", _) => {
                params.insert("authChallengeResponse".to_owned(), json!({"response": "Default"}));
                "Fetch.continueWithAuth"
            }
            (_, Stage::Response) if !changes.is_empty() => "Fetch.continueResponse",
            _ => "Fetch.continueRequest",
        };
        self.send(node, method, &Value::Object(params).to_string(), then);
    }

    /// A command about a request that stands still. Tells whether it was dealt with.
    pub(super) fn intercepted(
        &mut self,
        node: NodeId,
        key: &SessionKey,
        id: i32,
        method: &str,
        params: Option<&str>,
    ) -> bool {
        let fields: Map<String, Value> =
            params.and_then(|params| serde_json::from_str(params).ok()).unwrap_or_default();
        let Some(request) = fields.get("requestId").and_then(Value::as_str).map(str::to_owned) else {
            return false;
        };
        let Some(real) = self.nodes.get_mut(&node) else { return false };
        let is_holder = real.journeys.paused.get(&request).is_some_and(|paused| paused.holder == *key);
        if !is_holder {
            self.out.fail(key, id, INVALID_PARAMS, "Invalid InterceptionId.");
            return true;
        }
        let is_default_auth = method == "Fetch.continueWithAuth"
            && fields.get("authChallengeResponse").and_then(|response| response.get("response"))
                == Some(&json!("Default"));
        match method {
            "Fetch.continueRequest" | "Fetch.continueResponse" => {
                if fields.get("interceptResponse").and_then(Value::as_bool) == Some(true) {
                    real.journeys.responses.entry(request.clone()).or_default().push(key.clone());
                }
                if let Some(paused) = real.journeys.paused.get_mut(&request) {
                    paused.change(fields);
                }
                self.pass_on(node, &request, Some((key.clone(), id)));
                true
            }
            "Fetch.continueWithAuth" if is_default_auth => {
                self.pass_on(node, &request, Some((key.clone(), id)));
                true
            }
            "Fetch.failRequest" | "Fetch.fulfillRequest" | "Fetch.continueWithAuth" => {
                real.journeys.paused.remove(&request);
                false
            }
            _ => false,
        }
    }

    /// The holder is done with a request; the next one has it, or the browser.
    fn pass_on(&mut self, node: NodeId, request: &str, answer: Option<(SessionKey, i32)>) {
        let Some(real) = self.nodes.get_mut(&node) else { return };
        let Some(paused) = real.journeys.paused.get_mut(request) else { return };
        while let Some(next) = paused.next.pop() {
            if self.sessions.get(&next).is_some_and(|session| session.interest.is_some()) {
                paused.holder = next;
                self.out.event_value(&paused.holder, paused.event, &Value::Object(paused.params.clone()));
                if let Some((key, id)) = answer {
                    self.out.reply(&key, id, "{}");
                }
                return;
            }
        }
        let Some(paused) = real.journeys.paused.remove(request) else { return };
        let then = match answer {
            Some((session, id)) => Then::Answer { session, id },
            None => Then::Ignore,
        };
        self.go_on(node, request, paused.event, paused.stage, &paused.changes, then);
    }

    /// A client that leaves lets go of what it has stopped.
    pub(super) fn give_up_requests(&mut self, node: NodeId, key: &SessionKey) {
        let Some(real) = self.nodes.get_mut(&node) else { return };
        real.journeys.responses.retain(|_, askers| {
            askers.retain(|asker| asker != key);
            !askers.is_empty()
        });
        let held: Vec<String> = real
            .journeys
            .paused
            .iter()
            .filter(|(_, paused)| paused.holder == *key)
            .map(|(id, _)| id.clone())
            .collect();
        for request in held {
            self.pass_on(node, &request, None);
        }
    }
}
