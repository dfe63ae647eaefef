//! What the browser says: answers for whoever asked, and events for whoever hears them.

use bowline_wire::bidi::{self, ContextInfo, Message, Refusal, Tree};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::super::holds::Phase;
use super::super::owned::Kind;
use super::super::subscriptions::Subscription;
use super::{Client, ClientId, Out, Pending, Table, Then};

pub(super) const CONTEXT_CREATED: &str = "browsingContext.contextCreated";

/// What of an event's parameters says whose it is.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct About {
    context: Option<String>,
    user_context: Option<String>,
    source: Option<Source>,
    channel: Option<String>,
    is_blocked: bool,
    intercepts: Vec<String>,
    request: Option<RequestRef>,
}

#[derive(Deserialize)]
struct Source {
    context: Option<String>,
}

#[derive(Deserialize)]
struct RequestRef {
    request: String,
}

impl Table {
    /// A text of the browser.
    pub(in crate::bidi) fn message(&mut self, text: &str) -> Vec<Out> {
        match Message::parse(text) {
            Some(Message::Event { method, params }) => self.event(&method, params),
            Some(Message::Success { id, result }) => self.answered(id, Ok(result)),
            Some(Message::Error { id: Some(id), error }) => self.answered(id, Err(error)),
            Some(Message::Error { id: None, error }) => {
                tracing::warn!(%error, "the browser did not understand the hub");
                Vec::new()
            }
            None => Vec::new(),
        }
    }

    fn answered(&mut self, id: u64, result: Result<&RawValue, Refusal>) -> Vec<Out> {
        let Some(Pending { client, then }) = self.pending.remove(&id) else { return Vec::new() };
        let result = match (then, result) {
            (Then::Own(answer), result) => {
                let _ = answer.send(result.map(ToOwned::to_owned));
                return Vec::new();
            }
            (Then::Ignore, _) => return Vec::new(),
            (Then::GoesOn { request, phase, free }, Err(refusal)) => {
                return self.not_taken(client, &request, phase, free, &refusal);
            }
            (_, Err(refusal)) => {
                let failed = |(client, id)| Out::Client(client, bidi::failure(Some(id), &refusal));
                return client.map(failed).into_iter().collect();
            }
            (then, Ok(result)) => self.carried_out(client.map(|(client, _)| client), then, result),
        };
        let (text, mut out) = result;
        if let Some((client, id)) = client {
            // What was to be heard before the answer stands before it.
            out.push(Out::Client(client, bidi::success(id, &text)));
        }
        out
    }

    /// A request that was held could not go on so. Whoever wanted it may try again; without them it goes on as it is.
    fn not_taken(
        &mut self,
        client: Option<(ClientId, u64)>,
        request: &str,
        phase: Phase,
        free: String,
        refusal: &Refusal,
    ) -> Vec<Out> {
        if let Some((client, id)) = client {
            self.holds.again(request, phase, client, free);
            return vec![Out::Client(client, bidi::failure(Some(id), refusal))];
        }
        let (method, mut params) = phase.free();
        params["request"] = json!(request);
        vec![self.own(method, &params, None)]
    }

    /// What follows from a command that the browser has carried out: the answer for its client, and what else is sent.
    fn carried_out(&mut self, client: Option<ClientId>, then: Then, result: &RawValue) -> (String, Vec<Out>) {
        let plain = || (result.get().to_owned(), Vec::new());
        let read = || serde_json::from_str::<Value>(result.get()).unwrap_or_default();
        match then {
            Then::Subscribed(subscription) => {
                let id = read()["subscription"].as_str().unwrap_or_default().to_owned();
                let Some(client) = client else {
                    let undo = self.own("session.unsubscribe", &json!({"subscriptions": [id]}), None);
                    return (String::new(), vec![undo]);
                };
                let subscription = Subscription { id, ..subscription };
                let out = self.replay(client, &subscription);
                if let Some(known) = self.clients.get_mut(&client) {
                    known.subscriptions.push(subscription);
                }
                (result.get().to_owned(), out)
            }
            Then::Made(kind) => {
                let (member, remove) = kind.names();
                let id = read()[member].as_str().unwrap_or_default().to_owned();
                match client {
                    Some(client) => {
                        self.owners.insert((kind, id), client);
                        plain()
                    }
                    None => (String::new(), vec![self.own(remove, &json!({ member: id }), None)]),
                }
            }
            Then::Removed(kind, id) => {
                self.owners.remove(&(kind, id));
                plain()
            }
            Then::Tree => {
                if let Ok(tree) = serde_json::from_str::<Tree>(result.get()) {
                    self.plant(&tree);
                }
                let mut value = read();
                let is_seen = |context: &Value| {
                    client.is_some_and(|client| self.sees(client, context["userContext"].as_str()))
                };
                if let Some(contexts) = value["contexts"].as_array_mut() {
                    contexts.retain(is_seen);
                }
                (value.to_string(), Vec::new())
            }
            Then::Realms => {
                let mut value = read();
                let is_seen = |realm: &Value| {
                    let user_context =
                        realm["context"].as_str().and_then(|context| self.contexts.user_context(context));
                    client.is_some_and(|client| self.sees(client, user_context))
                };
                if let Some(realms) = value["realms"].as_array_mut() {
                    realms.retain(is_seen);
                }
                (value.to_string(), Vec::new())
            }
            Then::UserContexts => {
                let mut value = read();
                let is_seen = |context: &Value| {
                    client.is_some_and(|client| self.sees(client, context["userContext"].as_str()))
                };
                if let Some(contexts) = value["userContexts"].as_array_mut() {
                    contexts.retain(is_seen);
                }
                (value.to_string(), Vec::new())
            }
            Then::Reply | Then::GoesOn { .. } | Then::Own(_) | Then::Ignore => plain(),
        }
    }

    /// A new subscriber is told which contexts there are, as the browser tells the first one.
    fn replay(&self, client: ClientId, subscription: &Subscription) -> Vec<Out> {
        let heard_before = self
            .clients
            .get(&client)
            .is_some_and(|client| client.subscriptions.iter().any(|one| one.hears(CONTEXT_CREATED)));
        if !subscription.hears(CONTEXT_CREATED) || heard_before {
            return Vec::new();
        }
        let is_meant = |info: &&ContextInfo| {
            let (tab, user_context) =
                (self.contexts.top(&info.context), self.contexts.user_context(&info.context));
            self.sees(client, user_context) && subscription.covers_tab(Some(tab), user_context)
        };
        let contexts = self.contexts.in_order().into_iter().filter(is_meant);
        contexts
            .map(|info| Out::Client(client, bidi::event(CONTEXT_CREATED, &json!(info).to_string())))
            .collect()
    }

    fn event(&mut self, method: &str, params: &RawValue) -> Vec<Out> {
        let about: About = serde_json::from_str(params.get()).unwrap_or_default();
        let context = about.context.or(about.source.and_then(|source| source.context));
        let info = || serde_json::from_str::<ContextInfo>(params.get()).ok();
        match method {
            CONTEXT_CREATED => {
                if let Some(info) = info() {
                    self.contexts.put(&info);
                }
            }
            "browsingContext.navigationCommitted"
            | "browsingContext.fragmentNavigated"
            | "browsingContext.historyUpdated" => {
                if let Some(info) = info() {
                    self.contexts.navigated(&info.context, &info.url);
                }
            }
            _ => {}
        }
        let tab = context.as_deref().map(|context| self.contexts.top(context).to_owned());
        let user_context = tab.as_deref().and_then(|tab| self.contexts.user_context(tab)).map(str::to_owned);
        let user_context = user_context.or(about.user_context);
        let hears = |(id, client): (&ClientId, &Client)| {
            let is_wanted = client.subscriptions.iter().any(|subscription| {
                subscription.hears(method) && subscription.covers_tab(tab.as_deref(), user_context.as_deref())
            });
            (is_wanted && self.sees(*id, user_context.as_deref())).then_some(*id)
        };
        let heard_by: Vec<ClientId> = self.clients.iter().filter_map(hears).collect();
        if method == "browsingContext.contextDestroyed"
            && let Some(context) = &context
        {
            self.contexts.remove(context);
            let contexts = &self.contexts;
            self.holds.gone(|held| !contexts.is_known(held));
        }
        if let ("network.fetchError" | "network.responseCompleted", Some(request)) = (method, &about.request)
        {
            self.holds.forget(&request.request);
        }
        if let Some(channel) = &about.channel {
            return message_of(channel, method, params, &heard_by);
        }
        match (about.is_blocked, about.request) {
            (true, Some(request)) => {
                self.held(method, params, &about.intercepts, &request.request, &heard_by)
            }
            _ => {
                let text = bidi::event(method, params.get());
                heard_by.into_iter().map(|client| Out::Client(client, text.clone())).collect()
            }
        }
    }

    /// A request that waits for those whose intercepts it met, one after the other. Others hear that it goes its way.
    fn held(
        &mut self,
        method: &str,
        params: &RawValue,
        intercepts: &[String],
        request: &str,
        heard_by: &[ClientId],
    ) -> Vec<Out> {
        let mut value: Value = serde_json::from_str(params.get()).unwrap_or_default();
        let owner = |intercept: &String| self.owners.get(&(Kind::Intercept, intercept.clone())).copied();
        let mut owners: Vec<ClientId> = intercepts.iter().filter_map(owner).collect();
        // As in the standard: who has not subscribed to the event of this tab holds nothing there.
        owners.retain(|owner| heard_by.contains(owner));
        owners.sort();
        owners.dedup();
        let mut events = Vec::new();
        for client in &owners {
            let own: Vec<&String> = intercepts.iter().filter(|one| owner(one) == Some(*client)).collect();
            value["intercepts"] = json!(own);
            events.push((*client, bidi::event(method, &value.to_string())));
        }
        value["isBlocked"] = json!(false);
        if let Some(members) = value.as_object_mut() {
            members.remove("intercepts");
        }
        let free = bidi::event(method, &value.to_string());
        let others = heard_by.iter().filter(|client| !owners.contains(client));
        let mut out: Vec<Out> = others.map(|client| Out::Client(*client, free.clone())).collect();
        let Some(phase) = Phase::begun_by(method) else { return out };
        let context = value["context"].as_str();
        let step = self.holds.hold(request, phase, events, &free, context);
        out.extend(self.step(request, step));
        out
    }
}

/// A message through a channel, for the client that made it.
fn message_of(channel: &str, method: &str, params: &RawValue, heard_by: &[ClientId]) -> Vec<Out> {
    let Some((client, channel)) = channel.split_once('/') else { return Vec::new() };
    let Some(client) = client.parse().ok().map(ClientId).filter(|client| heard_by.contains(client)) else {
        return Vec::new();
    };
    let mut value: Value = serde_json::from_str(params.get()).unwrap_or_default();
    value["channel"] = json!(channel);
    vec![Out::Client(client, bidi::event(method, &value.to_string()))]
}
