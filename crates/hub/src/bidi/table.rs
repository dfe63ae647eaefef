//! One BiDi session, many virtual ones: who asked what, who hears what, and what is whose. No I/O.
//!
//! The browser allows one session. Every client has a session of its own here: its command ids, its subscriptions, its
//! intercepts, user contexts, preload scripts and collectors. What is another client's does not exist for it, and what it
//! leaves behind is taken back when it leaves. Tabs of the default user context are everybody's.

mod commands;
mod told;

use std::collections::{BTreeMap, HashMap};

use bowline_wire::bidi::{self, Asker, Refusal, Tree};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::contexts::Contexts;
use super::holds::{Holds, Phase, Step};
use super::owned::Kind;
use super::subscriptions::Subscription;

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

/// Who a client is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    /// The hub's own: the recorder, which sees everything.
    Own,
    /// The hub's own commands on tabs, for whoever has asked for them. The same, but for a person's rules.
    Hands,
    /// An agent, for which an op of the hub asks.
    Agent(String),
    /// Whoever came through the door, by the name that it has given itself.
    Guest(String),
}

impl Who {
    pub(super) fn is_own(&self) -> bool {
        matches!(self, Self::Own | Self::Hands)
    }
}

struct Client {
    who: Who,
    session: Option<String>,
    subscriptions: Vec<Subscription>,
}

/// What waits for an answer of the browser.
enum Then {
    Reply,
    Subscribed(Subscription),
    Tree,
    UserContexts,
    Realms,
    /// A request that was held goes on, unless the browser does not take how; and the event for those who do not hold it.
    GoesOn {
        request: String,
        phase: Phase,
        free: String,
    },
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
    /// The other side of the link is to know who asks.
    names_askers: bool,
}

impl Table {
    pub(super) fn new(names_askers: bool) -> Self {
        Self { names_askers, ..Self::default() }
    }

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
        self.clients.values().filter(|client| !client.who.is_own()).count()
    }

    pub(super) fn close_was_requested(&self) -> bool {
        self.close_requested
    }

    pub(super) fn join(&mut self, who: Who) -> ClientId {
        self.last_client += 1;
        let id = ClientId(self.last_client);
        // The hub's own have their session from the beginning.
        let session = who.is_own().then(String::new);
        self.clients.insert(id, Client { who, session, subscriptions: Vec::new() });
        id
    }

    /// What the other side of the link is told of a client; nothing of the recorder.
    fn asker(&self, client: ClientId) -> Option<Asker> {
        let (name, is_op) = match &self.clients.get(&client).filter(|_| self.names_askers)?.who {
            Who::Own => return None,
            Who::Hands => ("bowline".to_owned(), false),
            Who::Agent(name) => (name.clone(), true),
            Who::Guest(name) => (name.clone(), false),
        };
        Some(Asker { client: client.0, name, is_op })
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
        let asker = self.asker(client);
        let Some(gone) = self.clients.remove(&client) else { return Vec::new() };
        let mut out = Vec::new();
        if let Some(asker) = asker {
            out.push(self.own(bidi::LEFT, &json!({"client": asker.client}), None));
        }
        for subscription in gone.subscriptions {
            out.push(self.own("session.unsubscribe", &json!({"subscriptions": [subscription.id]}), None));
        }
        let owned: Vec<(Kind, String)> =
            self.owners.iter().filter(|(_, owner)| **owner == client).map(|(key, _)| key.clone()).collect();
        for (kind, id) in owned {
            let (member, remove) = kind.names();
            // What is in a user context is nobody else's as long as it is there.
            let then = if kind == Kind::UserContext {
                Then::Removed(kind, id.clone())
            } else {
                self.owners.remove(&(kind, id.clone()));
                Then::Ignore
            };
            out.push(self.ask(None, then, |number| bidi::command(number, remove, &json!({ member: id }))));
        }
        for (request, step) in self.holds.leave(client) {
            out.extend(self.step(&request, step));
        }
        for pending in self.pending.values_mut() {
            if pending.client.is_some_and(|(of, _)| of == client) {
                pending.client = None;
                // What it was just about to get must not stay.
                let stays = matches!(pending.then, Then::Made(_) | Then::Subscribed(_) | Then::GoesOn { .. });
                if !stays {
                    pending.then = Then::Ignore;
                }
            }
        }
        out
    }

    /// Whether what is in a user context is there for a client.
    fn sees(&self, client: ClientId, user_context: Option<&str>) -> bool {
        let Some(user_context) = user_context else { return true };
        let owner = self.owners.get(&(Kind::UserContext, user_context.to_owned()));
        owner.is_none_or(|owner| *owner == client)
            || self.clients.get(&client).is_some_and(|client| client.who.is_own())
    }

    fn ask(&mut self, client: Option<(ClientId, u64)>, then: Then, text: impl FnOnce(u64) -> String) -> Out {
        self.last_id += 1;
        self.pending.insert(self.last_id, Pending { client, then });
        Out::Browser(text(self.last_id))
    }

    fn step(&mut self, request: &str, step: Step) -> Vec<Out> {
        match step {
            Step::Next { client, event } => vec![Out::Client(client, event)],
            Step::Free { phase, mut params } => {
                params["request"] = json!(request);
                let then = Then::GoesOn { request: request.to_owned(), phase, free: String::new() };
                vec![self.ask(None, then, |id| bidi::command(id, phase.free().0, &params))]
            }
        }
    }
}

#[cfg(test)]
mod tests;
