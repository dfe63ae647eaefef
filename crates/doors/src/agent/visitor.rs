//! An agent that is here, through whichever door: it does work in its name, and holds its places at browsers.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use bowline_hub::hub::Hold;
use bowline_hub::registry::DEFAULT;
use bowline_ops::{Action, Agent, AgentName, Entry, Presence, Progress, Request, Set, Stay};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::{Desk, actions};
use crate::problem::Problem;
use crate::slot::{Occupant, Seat};
use crate::turn;

/// Something an agent wants done.
pub(crate) struct Work {
    pub(crate) action: String,
    pub(crate) payload: Value,
    pub(crate) browser: Option<String>,
    pub(crate) cancel: CancellationToken,
    pub(crate) progress: Option<Progress>,
}

/// How an agent comes in.
pub(crate) struct Arrival<'a> {
    pub(crate) name: &'a str,
    /// The browser it means if it names none.
    pub(crate) browser: Option<String>,
    /// Whether it has a connection that ends when it leaves.
    pub(crate) is_connected: bool,
}

pub(crate) struct Visitor {
    desk: Arc<Desk>,
    agent: Arc<Agent>,
    name: AgentName,
    browser: Option<String>,
    /// The places it has where there is only one. They are free again when it leaves.
    seats: Mutex<HashMap<String, Seat>>,
    _presence: Option<Presence>,
    /// The hub stays while it is here.
    _hold: Hold,
}

impl Visitor {
    pub(crate) fn arrive(desk: &Arc<Desk>, arrival: Arrival<'_>) -> Arc<Self> {
        let name = AgentName::new(arrival.name);
        let (agent, presence) = match arrival.is_connected {
            true => {
                let (agent, presence) = desk.ops.arrive(&name);
                (agent, Some(presence))
            }
            false => (desk.ops.agent(&name, Stay::Session), None),
        };
        let _hold = desk.hub().hold();
        let browser = arrival.browser;
        Arc::new(Self {
            desk: desk.clone(),
            agent,
            name,
            browser,
            seats: Mutex::default(),
            _presence: presence,
            _hold,
        })
    }

    pub(crate) fn name(&self) -> &AgentName {
        &self.name
    }

    pub(super) fn agent(&self) -> &Arc<Agent> {
        &self.agent
    }

    pub(super) fn desk(&self) -> &Arc<Desk> {
        &self.desk
    }

    /// Does what is asked for.
    pub(crate) async fn work(&self, mut work: Work) -> Result<Value, Problem> {
        let Some(action) = actions::find(&work.action) else {
            let hint = "`op.NAME` is an op (GET /api/ops lists them); browser actions, hello, cancel and ping are taken too";
            return Err(Problem::new(
                "no_such_action",
                format!("there is no action `{}`", work.action),
                hint,
            ));
        };
        work.browser = work.browser.or_else(|| self.browser.clone());
        let (name, cancel) = (work.action.clone(), work.cancel.clone());
        tokio::select! {
            // Work that is done is not called off.
            biased;
            done = actions::run(action, self, work) => done,
            () = cancel.cancelled() => Err(Problem::cancelled(&name)),
        }
    }

    /// Does an op.
    pub(super) async fn op(&self, op: &'static Entry, work: Work) -> Result<Value, Problem> {
        let input = input_of(work.payload)?;
        if op.set != Set::Lifecycle {
            let named = input.get("browser").and_then(Value::as_str).map(str::to_owned);
            let browser = named.or_else(|| work.browser.clone());
            self.take_turn(browser.as_deref().unwrap_or(DEFAULT), work.progress.as_ref()).await?;
        }
        let request = Request {
            agent: self.agent.clone(),
            op: op.name.to_owned(),
            input,
            browser: work.browser,
            tab: None,
            cancel: work.cancel,
            progress: work.progress,
        };
        let output = self.desk.ops.call(request).await?;
        Ok(output.to_json())
    }

    /// Does a browser action.
    pub(super) async fn act(&self, action: &'static Action, work: Work) -> Result<Value, Problem> {
        let input = input_of(work.payload)?;
        let browser = work.browser.as_deref();
        // A kind or the agent's own default may stand for it; what stands for none is told by the action itself.
        if let Ok(meant) = self.desk.ops.browser_of(&self.agent, browser, &input) {
            self.take_turn(&meant, work.progress.as_ref()).await?;
        }
        Ok(self.desk.ops.act(&self.agent, browser, action.name, input, work.cancel).await?)
    }

    /// From now on the agent may name files below these directories alone.
    pub(crate) fn confine(&self, roots: Vec<PathBuf>) {
        self.agent.confine(roots);
    }

    async fn take_turn(&self, browser: &str, progress: Option<&Progress>) -> Result<(), Problem> {
        turn::take(browser, progress, || self.take_seat(browser)).await
    }

    /// A place at a browser, unless somebody else has the only one.
    fn take_seat(&self, browser: &str) -> Result<(), Occupant> {
        let mut seats = self.seats.lock().unwrap_or_else(PoisonError::into_inner);
        // Nobody waits for, or keeps, the place at what is not there.
        if seats.contains_key(browser) || self.desk.hub().browser(browser).is_err() {
            return Ok(());
        }
        if let Some(seat) = self.desk.slots.take(browser, self.name.as_str(), Some(&self.name))? {
            seats.insert(browser.to_owned(), seat);
        }
        Ok(())
    }
}

pub(super) fn input_of(payload: Value) -> Result<Map<String, Value>, Problem> {
    match payload {
        Value::Null => Ok(Map::new()),
        Value::Object(input) => Ok(input),
        other => {
            let message = format!("`payload` must be an object, not {other}");
            Err(Problem::new("bad_input", message, "leave it out if there is nothing to say"))
        }
    }
}
