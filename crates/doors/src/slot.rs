//! Who may drive a browser at the same time: all who come, or one after the other.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use bowline_ops::AgentName;
use serde::Serialize;
use serde_json::{Value, json};

/// How many clients a browser takes at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClientMode {
    #[default]
    MultiClient,
    /// A second one is answered 409 while the first is there.
    SingleActive,
}

/// The mode of each browser, and who has the place of one that has only one.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    mode: ClientMode,
    exceptions: BTreeMap<String, ClientMode>,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    by: HashMap<String, Occupant>,
    count: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Occupant {
    id: String,
    /// What it calls itself.
    client: String,
    /// The agent in whose name it came, if any.
    agent: Option<AgentName>,
    /// Seats of the same agent: a connection that was lost may not be known to be gone when it comes back.
    seats: usize,
    since: SystemTime,
}

/// The place of one client. It is free again when this and all others of the same agent are dropped.
pub(crate) struct Seat {
    slots: Arc<Slots>,
    browser: String,
}

impl Slots {
    pub(crate) fn new(mode: ClientMode, exceptions: BTreeMap<String, ClientMode>) -> Arc<Self> {
        Arc::new(Self { mode, exceptions, taken: Mutex::default() })
    }

    fn mode_of(&self, browser: &str) -> ClientMode {
        self.exceptions.get(browser).copied().unwrap_or(self.mode)
    }

    /// A place for a client; `None` where everybody has one. An error says who is there. An agent that has the only
    /// one already is given it once more.
    pub(crate) fn take(
        self: &Arc<Self>,
        browser: &str,
        client: &str,
        agent: Option<&AgentName>,
    ) -> Result<Option<Seat>, Occupant> {
        if self.mode_of(browser) == ClientMode::MultiClient {
            return Ok(None);
        }
        let mut taken = self.taken();
        match taken.by.get_mut(browser) {
            Some(occupant) if occupant.is(agent) => occupant.seats += 1,
            Some(occupant) => return Err(occupant.clone()),
            None => {
                taken.count += 1;
                let id = format!("client-{}", taken.count);
                let (client, agent) = (client.to_owned(), agent.cloned());
                let occupant = Occupant { id, client, agent, seats: 1, since: SystemTime::now() };
                taken.by.insert(browser.to_owned(), occupant);
            }
        }
        Ok(Some(Seat { slots: self.clone(), browser: browser.to_owned() }))
    }

    /// Whether an agent has the only place. What runs in its name needs none of its own then, and keeps nobody waiting
    /// when the agent has left.
    pub(crate) fn is_taken_by(&self, browser: &str, agent: &AgentName) -> bool {
        self.taken().by.get(browser).is_some_and(|occupant| occupant.is(Some(agent)))
    }

    /// As `/client-slot` tells it.
    pub(crate) fn describe(&self, browser: &str) -> Value {
        let occupant = self.taken().by.get(browser).cloned();
        let since = occupant.as_ref().and_then(|occupant| occupant.since.duration_since(UNIX_EPOCH).ok());
        json!({
            "browser": browser,
            "mode": self.mode_of(browser),
            "busy": occupant.is_some(),
            "activeClientId": occupant.map(|occupant| occupant.id),
            "connectedAt": since.map(|since| since.as_millis() as u64),
        })
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Occupant {
    fn is(&self, agent: Option<&AgentName>) -> bool {
        agent.is_some() && self.agent.as_ref() == agent
    }

    /// The answer to the next one.
    pub(crate) fn refusal(&self, browser: &str) -> Response {
        let seconds = self.since.elapsed().map_or(0, |elapsed| elapsed.as_secs());
        let message = format!(
            "Somebody drives {browser} already: {} ({}), for {seconds} s.\nHint: wait until GET /client-slot says that it is not busy, or let several in with `cdp.client_mode = \"multi-client\"` and `bowline shutdown`\n",
            self.id, self.client
        );
        let headers = [(header::CONTENT_TYPE, "text/plain; charset=UTF-8")];
        (StatusCode::CONFLICT, headers, message).into_response()
    }
}

impl fmt::Display for Occupant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.id, self.client)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.slots.taken();
        let Some(occupant) = taken.by.get_mut(&self.browser) else { return };
        occupant.seats -= 1;
        if occupant.seats == 0 {
            taken.by.remove(&self.browser);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_place_is_free_again_when_its_client_has_left() {
        let exceptions = BTreeMap::from([("open".to_owned(), ClientMode::MultiClient)]);
        let slots = Slots::new(ClientMode::SingleActive, exceptions);
        let first = slots.take("work", "one", None).unwrap();
        assert!(first.is_some());
        let occupant = slots.take("work", "two", None).err().expect("it is taken");
        assert_eq!((occupant.id.as_str(), occupant.client.as_str()), ("client-1", "one"));
        assert!(
            slots.take("other", "two", None).is_ok_and(|seat| seat.is_some()),
            "another browser's is free"
        );
        assert!(slots.take("open", "two", None).is_ok_and(|seat| seat.is_none()));
        drop(first);
        assert!(slots.take("work", "two", None).is_ok());
    }

    #[test]
    fn an_agent_does_not_wait_for_itself_and_others_wait_for_all_of_it() {
        let slots = Slots::new(ClientMode::SingleActive, BTreeMap::new());
        let (one, two) = (AgentName::new("one"), AgentName::new("two"));
        let lost = slots.take("work", "one", Some(&one)).unwrap();
        let back = slots.take("work", "one", Some(&one)).unwrap();
        assert!(slots.is_taken_by("work", &one) && !slots.is_taken_by("work", &two));
        drop(lost);
        assert!(slots.take("work", "two", Some(&two)).is_err());
        assert!(slots.take("work", "one", None).is_err(), "a client of that name is nobody's");
        drop(back);
        assert!(slots.take("work", "two", Some(&two)).is_ok());
        let _client = slots.take("work", "three", None).unwrap();
        assert!(slots.take("work", "three", None).is_err(), "clients without an agent are all different");
    }
}
