//! Requests that clients hold: each waits for those whose intercepts it met, one after the other.

use std::collections::{HashMap, VecDeque};

use serde_json::{Map, Value, json};

use super::table::ClientId;

/// Where a request can be held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    Request,
    Response,
    Auth,
}

impl Phase {
    pub(super) fn begun_by(event: &str) -> Option<Self> {
        match event {
            "network.beforeRequestSent" => Some(Self::Request),
            "network.responseStarted" => Some(Self::Response),
            "network.authRequired" => Some(Self::Auth),
            _ => None,
        }
    }

    pub(super) fn ended_by(command: &str) -> Option<Self> {
        match command {
            "network.continueRequest" | "network.failRequest" => Some(Self::Request),
            "network.continueResponse" | "network.provideResponse" => Some(Self::Response),
            "network.continueWithAuth" => Some(Self::Auth),
            _ => None,
        }
    }

    /// Whether a command decides for all that hold the request. The others only have their say.
    pub(super) fn is_final(command: &str) -> bool {
        matches!(command, "network.failRequest" | "network.provideResponse" | "network.continueWithAuth")
    }

    /// The command that lets go, and what it needs.
    pub(super) fn free(self) -> (&'static str, Value) {
        match self {
            Self::Request => ("network.continueRequest", json!({})),
            Self::Response => ("network.continueResponse", json!({})),
            Self::Auth => ("network.continueWithAuth", json!({"action": "default"})),
        }
    }
}

/// What is to be done with a request next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// It waits for this client, which is told.
    Next { client: ClientId, event: String },
    /// Nobody holds it any more: it goes on by this command.
    Free { phase: Phase, params: Value },
}

/// What follows from a client's answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Another client is asked first.
    Wait(Step),
    /// It is sent, with what all of them have changed. Those whose turn did not come hear of the request all the same.
    /// Should the browser not take it, the request is held as before (`again`).
    Send { params: Value, unheard: Vec<(ClientId, String)>, phase: Phase, free: String },
}

struct Held {
    /// The tab or frame that asks for it.
    context: Option<String>,
    phase: Phase,
    current: ClientId,
    waiting: VecDeque<(ClientId, String)>,
    /// What those before have changed.
    changes: Map<String, Value>,
    /// The event as it is for those who do not hold the request.
    free: String,
}

#[derive(Default)]
pub(super) struct Holds(HashMap<String, Held>);

impl Holds {
    /// A request is held for these clients, in this order.
    pub(super) fn hold(
        &mut self,
        request: &str,
        phase: Phase,
        events: Vec<(ClientId, String)>,
        free: &str,
        context: Option<&str>,
    ) -> Step {
        let mut waiting: VecDeque<(ClientId, String)> = events.into();
        let Some((client, event)) = waiting.pop_front() else {
            return Step::Free { phase, params: phase.free().1 };
        };
        let (context, free) = (context.map(str::to_owned), free.to_owned());
        let held = Held { context, phase, current: client, waiting, changes: Map::new(), free };
        self.0.insert(request.to_owned(), held);
        Step::Next { client, event }
    }

    /// The browser did not take what a client said: it may say something else.
    pub(super) fn again(&mut self, request: &str, phase: Phase, client: ClientId, free: String) {
        let waiting = VecDeque::new();
        let held = Held { context: None, phase, current: client, waiting, changes: Map::new(), free };
        self.0.insert(request.to_owned(), held);
    }

    /// A request is over, whoever held it.
    pub(super) fn forget(&mut self, request: &str) {
        self.0.remove(request);
    }

    /// So are those of a context that has gone: the browser does not tell of them.
    pub(super) fn gone(&mut self, is_gone: impl Fn(&str) -> bool) {
        self.0.retain(|_, held| !held.context.as_deref().is_some_and(&is_gone));
    }

    /// A client answers; `None` if it does not hold the request.
    pub(super) fn answer(
        &mut self,
        client: ClientId,
        request: &str,
        phase: Phase,
        is_final: bool,
        params: Value,
    ) -> Option<Verdict> {
        let held = self.0.get_mut(request).filter(|held| held.current == client)?;
        // `provideResponse` answers a request in either phase.
        if held.phase != phase && !is_final {
            return None;
        }
        if is_final {
            // What others wanted to change of the request is nothing of its answer.
            held.changes.clear();
        }
        if let Value::Object(members) = params {
            held.changes.extend(members);
        }
        if !is_final && let Some((next, event)) = held.waiting.pop_front() {
            held.current = next;
            return Some(Verdict::Wait(Step::Next { client: next, event }));
        }
        let Held { changes, waiting, free, phase, .. } = self.0.remove(request)?;
        let unheard = waiting.into_iter().map(|(client, _)| (client, free.clone())).collect();
        Some(Verdict::Send { params: Value::Object(changes), unheard, phase, free })
    }

    /// A client has left: what it holds goes to the next, or goes on.
    pub(super) fn leave(&mut self, client: ClientId) -> Vec<(String, Step)> {
        for held in self.0.values_mut() {
            held.waiting.retain(|(waiting, _)| *waiting != client);
        }
        let ids: Vec<String> =
            self.0.iter().filter(|(_, held)| held.current == client).map(|(id, _)| id.clone()).collect();
        let mut steps = Vec::new();
        for id in ids {
            let Some(mut held) = self.0.remove(&id) else { continue };
            let step = match held.waiting.pop_front() {
                Some((client, event)) => {
                    held.current = client;
                    self.0.insert(id.clone(), held);
                    Step::Next { client, event }
                }
                None => {
                    let (_, mut params) = held.phase.free();
                    if let Some(members) = params.as_object_mut() {
                        members.extend(held.changes);
                    }
                    Step::Free { phase: held.phase, params }
                }
            };
            steps.push((id, step));
        }
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: ClientId = ClientId(1);
    const TWO: ClientId = ClientId(2);

    fn sent(params: Value, unheard: Vec<(ClientId, String)>) -> Verdict {
        Verdict::Send { params, unheard, phase: Phase::Request, free: "free".to_owned() }
    }

    fn held_by_two() -> Holds {
        let mut holds = Holds::default();
        let events = vec![(ONE, "for one".to_owned()), (TWO, "for two".to_owned())];
        let step = holds.hold("r", Phase::Request, events, "free", Some("tab"));
        assert_eq!(step, Step::Next { client: ONE, event: "for one".to_owned() });
        holds
    }

    #[test]
    fn one_after_the_other_has_its_say() {
        let mut holds = held_by_two();
        let params = json!({"request": "r", "method": "PUT"});
        assert_eq!(holds.answer(TWO, "r", Phase::Request, false, params.clone()), None, "it is not its turn");
        assert_eq!(holds.answer(ONE, "r", Phase::Response, false, json!({})), None, "it is not that far");
        let next = Step::Next { client: TWO, event: "for two".to_owned() };
        assert_eq!(holds.answer(ONE, "r", Phase::Request, false, params), Some(Verdict::Wait(next)));
        let last = holds.answer(TWO, "r", Phase::Request, false, json!({"request": "r", "url": "u"}));
        let params = json!({"request": "r", "method": "PUT", "url": "u"});
        assert_eq!(last, Some(sent(params, Vec::new())));
        assert_eq!(holds.answer(TWO, "r", Phase::Request, false, json!({})), None);
    }

    #[test]
    fn who_decides_decides_for_all() {
        let mut holds = held_by_two();
        let verdict = holds.answer(ONE, "r", Phase::Request, true, json!({"request": "r"}));
        let unheard = vec![(TWO, "free".to_owned())];
        assert_eq!(verdict, Some(sent(json!({"request": "r"}), unheard)));
    }

    #[test]
    fn what_a_client_held_goes_on_without_it() {
        let mut holds = held_by_two();
        let steps = holds.leave(ONE);
        assert_eq!(steps, [("r".to_owned(), Step::Next { client: TWO, event: "for two".to_owned() })]);
        let freed = Step::Free { phase: Phase::Request, params: json!({}) };
        assert_eq!(holds.leave(TWO), [("r".to_owned(), freed.clone())]);
        assert_eq!(holds.hold("s", Phase::Request, Vec::new(), "free", None), freed, "nobody holds it");
    }

    #[test]
    fn an_answer_has_nothing_of_what_was_to_change_in_the_request() {
        let mut holds = held_by_two();
        holds.answer(ONE, "r", Phase::Request, false, json!({"request": "r", "headers": []}));
        let verdict =
            holds.answer(TWO, "r", Phase::Response, true, json!({"request": "r", "statusCode": 200}));
        assert_eq!(verdict, Some(sent(json!({"request": "r", "statusCode": 200}), Vec::new())));
    }

    #[test]
    fn what_the_browser_does_not_take_is_held_again_and_what_has_gone_is_not() {
        let mut holds = held_by_two();
        assert!(holds.answer(ONE, "r", Phase::Request, true, json!({"request": "r"})).is_some());
        holds.again("r", Phase::Request, ONE, "free".to_owned());
        let params = json!({"request": "r"});
        assert_eq!(
            holds.answer(ONE, "r", Phase::Request, false, params.clone()),
            Some(sent(params, Vec::new()))
        );
        let mut holds = held_by_two();
        holds.gone(|context| context == "tab");
        assert!(holds.leave(ONE).is_empty());
    }
}
