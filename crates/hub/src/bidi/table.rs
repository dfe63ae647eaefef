//! One BiDi session, many virtual ones: who asked what, who hears what, and what is whose. No I/O.
//!
//! The browser allows one session. Every client has a session of its own here: its command ids, its subscriptions, its
//! intercepts, user contexts, preload scripts and collectors. What is another client's does not exist for it, and what it
//! leaves behind is taken back when it leaves. Tabs of the default user context are everybody's.

use std::collections::{BTreeMap, HashMap};

use bowline_wire::bidi::{self, Command, ContextInfo, Malformed, Message, Refusal, Tree};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::contexts::Contexts;
use super::holds::{Holds, Phase, Step, Verdict};
use super::subscriptions::{Subscribe, Subscription, Unsubscribe, without};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClientId(pub(super) u64);

/// What is to be sent, in order.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Out {
    Browser(String),
    Client(ClientId, String),
    /// A client's session is over, and so is its connection.
    Bye(ClientId),
}

pub(super) type OwnAnswer = oneshot::Sender<Result<Box<RawValue>, Refusal>>;

/// What belongs to the client that made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    UserContext,
    Intercept,
    Preload,
    Collector,
}

impl Kind {
    /// The member of the answer and of the parameters that names one, and the command that removes it.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::UserContext => ("userContext", "browser.removeUserContext"),
            Self::Intercept => ("intercept", "network.removeIntercept"),
            Self::Preload => ("script", "script.removePreloadScript"),
            Self::Collector => ("collector", "network.removeDataCollector"),
        }
    }

    fn missing(self) -> &'static str {
        match self {
            Self::UserContext => "no such user context",
            Self::Intercept => "no such intercept",
            Self::Preload => "no such script",
            Self::Collector => "no such network collector",
        }
    }

    fn made_by(method: &str) -> Option<Self> {
        match method {
            "browser.createUserContext" => Some(Self::UserContext),
            "network.addIntercept" => Some(Self::Intercept),
            "script.addPreloadScript" => Some(Self::Preload),
            "network.addDataCollector" => Some(Self::Collector),
            _ => None,
        }
    }

    fn removed_by(method: &str) -> Option<Self> {
        [Self::UserContext, Self::Intercept, Self::Preload, Self::Collector]
            .into_iter()
            .find(|kind| kind.names().1 == method)
    }
}

struct Client {
    /// The hub's own: the recorder, which sees everything.
    is_own: bool,
    session: Option<String>,
    subscriptions: Vec<Subscription>,
}

/// What waits for an answer of the browser.
enum Then {
    Reply,
    Subscribed(Subscription),
    Tree,
    UserContexts,
    Made(Kind),
    Removed(Kind, String),
    Own(OwnAnswer),
    Ignore,
}

struct Pending {
    client: Option<(ClientId, u64)>,
    then: Then,
}

#[derive(Default)]
pub(super) struct Table {
    last_id: u64,
    last_client: u64,
    last_session: u64,
    /// What the browser said of itself.
    capabilities: Value,
    clients: BTreeMap<ClientId, Client>,
    pending: HashMap<u64, Pending>,
    owners: HashMap<(Kind, String), ClientId>,
    contexts: Contexts,
    holds: Holds,
    may_be_closed: bool,
    close_requested: bool,
}

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

/// What of a command's parameters means a context.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Aims {
    context: Option<String>,
    contexts: Vec<String>,
    root: Option<String>,
    reference_context: Option<String>,
    user_context: Option<String>,
    user_contexts: Vec<String>,
    target: Option<Value>,
    request: Option<String>,
}

const CONTEXT_CREATED: &str = "browsingContext.contextCreated";

impl Table {
    /// The browser's session has begun.
    pub(super) fn begun(&mut self, capabilities: Value, may_be_closed: bool) {
        self.capabilities = capabilities;
        self.may_be_closed = may_be_closed;
    }

    /// The browser is gone: every command of a client that still waits is answered with the reason, in the order in
    /// which they came.
    pub(super) fn give_up(&mut self, reason: &str) -> Vec<Out> {
        let refusal = Refusal::new("unknown error", reason);
        let mut waiting: Vec<(u64, Pending)> = self.pending.drain().collect();
        waiting.sort_by_key(|(id, _)| *id);
        let clients = waiting.into_iter().filter_map(|(_, pending)| pending.client);
        clients.map(|(client, id)| Out::Client(client, bidi::failure(Some(id), &refusal))).collect()
    }

    /// Nothing more will be answered: those who wait learn it.
    pub(super) fn drop_own_calls(&mut self) {
        self.pending.retain(|_, pending| !matches!(pending.then, Then::Own(_)));
    }

    pub(super) fn client_count(&self) -> usize {
        self.clients.values().filter(|client| !client.is_own).count()
    }

    pub(super) fn close_was_requested(&self) -> bool {
        self.close_requested
    }

    pub(super) fn join(&mut self, is_own: bool) -> ClientId {
        self.last_client += 1;
        let id = ClientId(self.last_client);
        // The hub's own have their session from the beginning.
        let session = is_own.then(String::new);
        self.clients.insert(id, Client { is_own, session, subscriptions: Vec::new() });
        id
    }

    /// A command of the hub that belongs to no client.
    pub(super) fn own(&mut self, method: &str, params: &Value, answer: Option<OwnAnswer>) -> Out {
        let then = answer.map_or(Then::Ignore, Then::Own);
        self.ask(None, then, |id| bidi::command(id, method, params))
    }

    /// What there is, as `getTree` has told.
    pub(super) fn plant(&mut self, tree: &Tree) {
        for context in &tree.contexts {
            self.contexts.plant(context, None);
        }
    }

    /// A client has left: what is its own goes with it, and what it holds goes on.
    pub(super) fn leave(&mut self, client: ClientId) -> Vec<Out> {
        let Some(gone) = self.clients.remove(&client) else { return Vec::new() };
        let mut out = Vec::new();
        for subscription in gone.subscriptions {
            out.push(self.own("session.unsubscribe", &json!({"subscriptions": [subscription.id]}), None));
        }
        let owned: Vec<(Kind, String)> =
            self.owners.iter().filter(|(_, owner)| **owner == client).map(|(key, _)| key.clone()).collect();
        for (kind, id) in owned {
            self.owners.remove(&(kind, id.clone()));
            let (member, remove) = kind.names();
            out.push(self.own(remove, &json!({ member: id }), None));
        }
        for (request, step) in self.holds.leave(client) {
            out.extend(self.step(&request, step));
        }
        for pending in self.pending.values_mut() {
            if pending.client.is_some_and(|(of, _)| of == client) {
                pending.client = None;
                // What it was just about to get must not stay.
                if !matches!(pending.then, Then::Made(_) | Then::Subscribed(_)) {
                    pending.then = Then::Ignore;
                }
            }
        }
        out
    }

    /// A text of a client.
    pub(super) fn command(&mut self, client: ClientId, text: &str) -> Vec<Out> {
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
        let aims: Aims = serde_json::from_str(command.params.get()).unwrap_or_default();
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
        let contexts = named.chain(&aims.contexts).map(String::as_str).chain(in_target);
        for context in contexts {
            if !self.sees(client, self.contexts.user_context(context)) {
                return Err(Refusal::new(
                    "no such frame",
                    format!("Browsing Context with id {context} not found"),
                ));
            }
        }
        for user_context in aims.user_context.iter().chain(&aims.user_contexts) {
            if !self.sees(client, Some(user_context)) {
                let message = format!("User Context with id {user_context} was not found");
                return Err(Refusal::new("no such user context", message));
            }
        }
        Ok(())
    }

    /// Whether what is in a user context is there for a client.
    fn sees(&self, client: ClientId, user_context: Option<&str>) -> bool {
        let Some(user_context) = user_context else { return true };
        let owner = self.owners.get(&(Kind::UserContext, user_context.to_owned()));
        owner.is_none_or(|owner| *owner == client)
            || self.clients.get(&client).is_some_and(|client| client.is_own)
    }

    fn subscribe(&mut self, client: ClientId, command: &Command<'_>) -> Result<Vec<Out>, Refusal> {
        let wish: Subscribe = serde_json::from_str(command.params.get())
            .map_err(|error| Refusal::new("invalid argument", error.to_string()))?;
        let aims = Aims {
            contexts: wish.contexts.clone(),
            user_contexts: wish.user_contexts.clone(),
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
        self.ask(Some((client, command.id)), then, |id| bidi::raw_command(id, &method, &params))
    }

    fn ask(&mut self, client: Option<(ClientId, u64)>, then: Then, text: impl FnOnce(u64) -> String) -> Out {
        self.last_id += 1;
        self.pending.insert(self.last_id, Pending { client, then });
        Out::Browser(text(self.last_id))
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
        match self.holds.answer(client, request, phase, is_final, params) {
            None => {
                let message = format!("Blocked request with id {request} not found");
                Err(Refusal::new("no such request", message))
            }
            Some(Verdict::Send { params, unheard }) => {
                let mut out = vec![self.forward(client, command, Then::Reply, Some(params.to_string()))];
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

    fn step(&mut self, request: &str, step: Step) -> Vec<Out> {
        match step {
            Step::Next { client, event } => vec![Out::Client(client, event)],
            Step::Free { method, mut params } => {
                params["request"] = json!(request);
                vec![self.own(method, &params, None)]
            }
        }
    }

    /// A text of the browser.
    pub(super) fn message(&mut self, text: &str) -> Vec<Out> {
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
            Then::Reply | Then::Own(_) | Then::Ignore => plain(),
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
        let step = self.holds.hold(request, phase, events, &free);
        out.extend(self.step(request, step));
        out
    }
}

/// Channels of clients are told apart by a mark in their names.
fn marked(client: ClientId, params: &str) -> Option<String> {
    if !params.contains("\"channel\"") {
        return None;
    }
    let mut value: Value = serde_json::from_str(params).ok()?;
    for argument in value["arguments"].as_array_mut()? {
        if argument["type"] == json!("channel")
            && let Some(channel) = argument["value"]["channel"].as_str()
        {
            argument["value"]["channel"] = json!(format!("{}/{channel}", client.0));
        }
    }
    Some(value.to_string())
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

#[cfg(test)]
mod tests;
