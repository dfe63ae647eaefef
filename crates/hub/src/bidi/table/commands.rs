//! What clients ask for: carried out, passed on as their own, or refused.

use bowline_wire::bidi::{self, Command, Malformed, Refusal};
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::holds::{Phase, Verdict};
use super::super::owned::Kind;
use super::super::subscriptions::{Subscribe, Subscription, Unsubscribe, without};
use super::{ClientId, Out, Table, Then};

/// What of a command's parameters means a context.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Aims {
    context: Option<String>,
    contexts: Option<Vec<String>>,
    root: Option<String>,
    reference_context: Option<String>,
    user_context: Option<String>,
    user_contexts: Option<Vec<String>>,
    target: Option<Value>,
    /// Of cookies.
    partition: Option<Value>,
    request: Option<String>,
}

impl Table {
    /// A text of a client.
    pub(in crate::bidi) fn command(&mut self, client: ClientId, text: &str) -> Vec<Out> {
        let command = match Command::parse(text) {
            Ok(command) => command,
            Err(Malformed { id, message }) => {
                return vec![Out::Client(
                    client,
                    bidi::failure(id, &Refusal::new("invalid argument", message)),
                )];
            }
        };
        match self.take(client, &command) {
            Ok(out) => out,
            Err(refusal) => vec![Out::Client(client, bidi::failure(Some(command.id), &refusal))],
        }
    }

    fn take(&mut self, client: ClientId, command: &Command<'_>) -> Result<Vec<Out>, Refusal> {
        let Some(known) = self.clients.get(&client) else { return Ok(Vec::new()) };
        let has_session = known.session.is_some();
        let (id, method) = (command.id, &*command.method);
        let answer = |result: Value| vec![Out::Client(client, bidi::success(id, &result.to_string()))];
        match method {
            "session.status" => {
                let message = if has_session { "this connection has its session" } else { "" };
                return Ok(answer(json!({"ready": !has_session, "message": message})));
            }
            "session.new" if has_session => {
                return Err(Refusal::new("session not created", "this connection has a session already"));
            }
            "session.new" => return Ok(answer(self.begin(client))),
            _ if !has_session => {
                return Err(Refusal::new("invalid session id", "begin with session.new"));
            }
            // It would take the hub's hands from the browser for good.
            "session.end" if known.who.is_own() => {
                return Err(Refusal::new("unsupported operation", "this session is the hub's own"));
            }
            "session.end" => {
                let mut out = answer(json!({}));
                out.extend(self.leave(client));
                out.push(Out::Bye(client));
                return Ok(out);
            }
            "session.subscribe" => return self.subscribe(client, command),
            "session.unsubscribe" => {
                return self.unsubscribe(client, command).map(|mut out| {
                    out.extend(answer(json!({})));
                    out
                });
            }
            "browser.close" if !self.may_be_closed => {
                return Err(Refusal::new("unsupported operation", "this browser is not yours to close"));
            }
            "browser.close" => self.close_requested = true,
            _ => {}
        }
        let aims: Aims = serde_json::from_str(command.params.get())
            .map_err(|error| Refusal::new("invalid argument", error.to_string()))?;
        self.see(client, &aims)?;
        if let Some(phase) = Phase::ended_by(method) {
            return self.go_on(client, command, phase, aims.request.as_deref().unwrap_or_default());
        }
        if let Some(kind) = Kind::removed_by(method) {
            let (member, _) = kind.names();
            let params: Value = serde_json::from_str(command.params.get()).unwrap_or_default();
            let name = params[member].as_str().unwrap_or_default().to_owned();
            if self.owners.get(&(kind, name.clone())) != Some(&client) {
                return Err(Refusal::new(kind.missing(), format!("{member} {name} is none of yours")));
            }
            return Ok(vec![self.forward(client, command, Then::Removed(kind, name), None)]);
        }
        let then = match (method, Kind::made_by(method)) {
            ("browsingContext.getTree", _) => Then::Tree,
            ("browser.getUserContexts", _) => Then::UserContexts,
            ("script.getRealms", _) => Then::Realms,
            (_, Some(kind)) => Then::Made(kind),
            (_, None) => Then::Reply,
        };
        let params = match method {
            "script.callFunction" | "script.addPreloadScript" => marked(client, command.params.get()),
            _ => None,
        };
        Ok(vec![self.forward(client, command, then, params)])
    }

    fn begin(&mut self, client: ClientId) -> Value {
        self.last_session += 1;
        let session = format!("{:08x}-{:04x}", self.last_session, client.0);
        if let Some(known) = self.clients.get_mut(&client) {
            known.session = Some(session.clone());
        }
        json!({"sessionId": session, "capabilities": self.capabilities})
    }

    /// What a command aims at must be there for the client.
    fn see(&self, client: ClientId, aims: &Aims) -> Result<(), Refusal> {
        let in_target = aims.target.as_ref().and_then(|target| target["context"].as_str());
        let named = [&aims.context, &aims.root, &aims.reference_context].into_iter().flatten();
        let of_cookies =
            |member: &str| aims.partition.as_ref().and_then(|partition| partition[member].as_str());
        let listed = aims.contexts.iter().flatten();
        let contexts = named.chain(listed).map(String::as_str).chain(in_target).chain(of_cookies("context"));
        for context in contexts {
            if !self.sees(client, self.contexts.user_context(context)) {
                return Err(Refusal::new(
                    "no such frame",
                    format!("Browsing Context with id {context} not found"),
                ));
            }
        }
        let listed = aims.user_contexts.iter().flatten();
        let user_contexts = aims.user_context.iter().chain(listed).map(String::as_str);
        for user_context in user_contexts.chain(of_cookies("userContext")) {
            if !self.sees(client, Some(user_context)) {
                let message = format!("User Context with id {user_context} was not found");
                return Err(Refusal::new("no such user context", message));
            }
        }
        Ok(())
    }

    fn subscribe(&mut self, client: ClientId, command: &Command<'_>) -> Result<Vec<Out>, Refusal> {
        let wish: Subscribe = serde_json::from_str(command.params.get())
            .map_err(|error| Refusal::new("invalid argument", error.to_string()))?;
        let aims = Aims {
            contexts: Some(wish.contexts.clone()),
            user_contexts: Some(wish.user_contexts.clone()),
            ..Aims::default()
        };
        self.see(client, &aims)?;
        let contexts = wish.contexts.iter().map(|context| self.contexts.top(context).to_owned()).collect();
        let subscription = Subscription {
            id: String::new(),
            events: wish.events,
            contexts,
            user_contexts: wish.user_contexts,
        };
        Ok(vec![self.forward(client, command, Then::Subscribed(subscription), None)])
    }

    fn unsubscribe(&mut self, client: ClientId, command: &Command<'_>) -> Result<Vec<Out>, Refusal> {
        let wish: Unsubscribe = serde_json::from_str(command.params.get())
            .map_err(|error| Refusal::new("invalid argument", error.to_string()))?;
        let Some(known) = self.clients.get_mut(&client) else { return Ok(Vec::new()) };
        let before = known.subscriptions.clone();
        known.subscriptions = match wish.subscriptions {
            Some(ids) => {
                if let Some(unknown) = ids.iter().find(|id| !before.iter().any(|one| one.id == **id)) {
                    let message = format!("there is no subscription {unknown}");
                    return Err(Refusal::new("invalid argument", message));
                }
                before.iter().filter(|one| !ids.contains(&one.id)).cloned().collect()
            }
            None => without(&before, &wish.events).ok_or_else(|| {
                Refusal::new("invalid argument", "not all of these events are subscribed to for all contexts")
            })?,
        };
        let left = known.subscriptions.clone();
        let ended = before.iter().filter(|one| !left.iter().any(|left| left.id == one.id));
        let ended: Vec<String> = ended.map(|one| one.id.clone()).collect();
        Ok(ended
            .into_iter()
            .map(|id| self.own("session.unsubscribe", &json!({"subscriptions": [id]}), None))
            .collect())
    }

    fn forward(
        &mut self,
        client: ClientId,
        command: &Command<'_>,
        then: Then,
        params: Option<String>,
    ) -> Out {
        let params = params.unwrap_or_else(|| command.params.get().to_owned());
        let method = command.method.to_string();
        let asker = self.asker(client);
        self.ask(Some((client, command.id)), then, |id| match &asker {
            Some(asker) => bidi::asked_command(id, &method, &params, asker),
            None => bidi::raw_command(id, &method, &params),
        })
    }

    /// Whether every request is looked at by the recorder.
    fn keeps_sites(&self) -> bool {
        let is_own = |owner: &ClientId| self.clients.get(owner).is_some_and(|client| client.who.is_own());
        self.owners.iter().any(|((kind, _), owner)| *kind == Kind::Intercept && is_own(owner))
    }

    /// A client lets a request go on that it has held.
    fn go_on(
        &mut self,
        client: ClientId,
        command: &Command<'_>,
        phase: Phase,
        request: &str,
    ) -> Result<Vec<Out>, Refusal> {
        let params: Value = serde_json::from_str(command.params.get()).unwrap_or_default();
        let is_final = Phase::is_final(&command.method);
        // Firefox tells nobody of the request that this makes, and so nobody could keep it to its sites.
        if self.keeps_sites() && params.get("url").is_some_and(|url| !url.is_null()) {
            let message = "there are lists of sites: the address of a request cannot be changed";
            return Err(Refusal::new("unsupported operation", message));
        }
        match self.holds.answer(client, request, phase, is_final, params) {
            None => {
                let message = format!("Blocked request with id {request} not found");
                Err(Refusal::new("no such request", message))
            }
            Some(Verdict::Send { params, unheard, phase, free }) => {
                let then = Then::GoesOn { request: request.to_owned(), phase, free };
                let mut out = vec![self.forward(client, command, then, Some(params.to_string()))];
                out.extend(unheard.into_iter().map(|(client, event)| Out::Client(client, event)));
                Ok(out)
            }
            Some(Verdict::Wait(step)) => {
                let mut out = vec![Out::Client(client, bidi::success(command.id, "{}"))];
                out.extend(self.step(request, step));
                Ok(out)
            }
        }
    }
}

/// Channels of clients are told apart by a mark in their names.
fn marked(client: ClientId, params: &str) -> Option<String> {
    if !params.contains("\"channel\"") {
        return None;
    }
    let mut value: Value = serde_json::from_str(params).ok()?;
    mark(client, value.get_mut("arguments")?);
    Some(value.to_string())
}

/// However deep in lists and objects they are.
fn mark(client: ClientId, value: &mut Value) {
    if value["type"] == json!("channel")
        && let Some(channel) = value["value"]["channel"].as_str()
    {
        value["value"]["channel"] = json!(format!("{}/{channel}", client.0));
        return;
    }
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| mark(client, item)),
        Value::Object(members) => members.values_mut().for_each(|member| mark(client, member)),
        _ => {}
    }
}
