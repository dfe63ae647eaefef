//! From a door's request to an op that runs: who asks, in which browser, how long it may take.

mod files;
mod tabs;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bowline_hub::{Browser, Hub};
use bowline_wire::TargetId;
use serde_json::{Map, Value};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::agent::{Agent, AgentName, Presence, Stay};
use crate::error::{Code, OpError};
use crate::lease::{Hold, Leases};
use crate::output::Output;
use crate::registry::{self, Access};
use crate::tab::TabNumbers;

pub(crate) use files::real_path;

/// How ops behave unless a request says otherwise.
#[derive(Clone)]
pub struct Settings {
    /// For acting on an element.
    pub action_timeout: Duration,
    /// For a page to load.
    pub navigation_timeout: Duration,
    /// A lease ends after so long without an act.
    pub lease_idle: Duration,
    /// Files that agents name without a directory go here, and they may write nowhere else unless told so.
    pub files: PathBuf,
    /// The browsers of this machine, as a list of `{name, path, ...}`.
    pub installed: Arc<dyn Fn() -> Value + Send + Sync>,
    /// Text for models is cut here unless `max_chars` says otherwise.
    pub max_chars: usize,
    /// Where `execute` looks for Playwright first: its package, or a directory that has it in `node_modules`.
    pub playwright: Option<PathBuf>,
}

/// For what comes before an op knows its own limit: starting the browser, above all.
const BEFORE_ANY_DEADLINE: Duration = Duration::from_secs(120);
/// An op sees to its deadline itself, and says what was late; this much later it is ended in any case.
const GRACE: Duration = Duration::from_secs(5);

/// Characters of an error's message.
const LONGEST_ERROR: usize = 4_000;

/// What is told of long work: how far it is, of how much, and in words.
pub type Progress = Arc<dyn Fn(f64, Option<f64>, &str) + Send + Sync>;

pub struct Request {
    pub agent: Arc<Agent>,
    /// The op's name, or that of its tool.
    pub op: String,
    pub input: Map<String, Value>,
    /// Which browser; its own `browser` in `input` wins.
    pub browser: Option<String>,
    /// Which tab; its own `tab` in `input` wins.
    pub tab: Option<String>,
    pub cancel: CancellationToken,
    pub progress: Option<Progress>,
}

/// All that ops need to know, and what they remember between requests.
#[derive(Clone)]
pub struct Ops(Arc<Shared>);

struct Shared {
    hub: Arc<Hub>,
    settings: Settings,
    agents: Mutex<HashMap<AgentName, Arc<Agent>>>,
    leases: Leases,
    numbers: TabNumbers,
}

impl Ops {
    pub fn new(hub: Arc<Hub>, settings: Settings) -> Self {
        let leases = Leases::new(settings.lease_idle);
        Self(Arc::new(Shared {
            hub,
            settings,
            agents: Mutex::default(),
            leases,
            numbers: TabNumbers::default(),
        }))
    }

    pub fn hub(&self) -> &Arc<Hub> {
        &self.0.hub
    }

    /// The agent of this name; a new one if nobody was called so lately.
    pub fn agent(&self, name: &AgentName, stay: Stay) -> Arc<Agent> {
        let mut agents = self.agents();
        agents.retain(|_, agent| !agent.has_left());
        let agent = agents.entry(name.clone()).or_insert_with(|| Arc::new(Agent::new(name.clone(), stay)));
        agent.heard();
        agent.clone()
    }

    /// The current tab of an agent that is known.
    pub fn current(&self, name: &AgentName, browser: &str) -> Option<TargetId> {
        self.agents().get(name).and_then(|agent| agent.current(browser))
    }

    /// The tab that an agent means by a label of its own, or by a short name.
    pub fn tab_called(&self, name: &AgentName, browser: &str, word: &str) -> Option<TargetId> {
        let labelled = self.agents().get(name).and_then(|agent| agent.labelled(word));
        labelled.or_else(|| self.0.numbers.named(browser, word))
    }

    /// An agent that is there as long as what is returned.
    pub fn arrive(&self, name: &AgentName) -> (Arc<Agent>, Presence) {
        let agent = self.agent(name, Stay::Connected);
        let presence = Presence::new(agent.clone());
        (agent, presence)
    }

    /// Lets go of agents that have left. To be called now and then.
    pub fn sweep(&self) {
        let gone: Vec<Arc<Agent>> = {
            let mut agents = self.agents();
            let gone = agents.values().filter(|agent| agent.has_left()).cloned().collect();
            agents.retain(|_, agent| !agent.has_left());
            gone
        };
        // Their connections to browsers end here, outside the lock.
        drop(gone);
    }

    /// A tab's short name.
    pub fn name_of_tab(&self, browser: &str, target: &TargetId) -> String {
        self.0.numbers.of(browser, target)
    }

    /// Runs an op.
    pub async fn call(&self, request: Request) -> Result<Output, OpError> {
        let Some(op) = registry::find(&request.op) else {
            let hint = "GET /api/ops lists them; `bowline ops` too";
            return Err(OpError::new(Code::NoSuchOp, format!("there is no op `{}`", request.op), hint));
        };
        request.agent.heard();
        let mut input = request.input;
        let browser = take_text(op.name, &mut input, "browser")?.or(request.browser);
        let has_tab_of_its_own = (op.fields)().iter().any(|field| field.name == "tab");
        let tab = if has_tab_of_its_own { None } else { take_text(op.name, &mut input, "tab")? };
        let timeout = take_number(op.name, &mut input, "timeout")?.map(Duration::from_millis);
        let has_limit_of_its_own = (op.fields)().iter().any(|field| field.name == "max_chars");
        let max_chars = match has_limit_of_its_own {
            true => input.get("max_chars").and_then(Value::as_u64),
            false => take_number(op.name, &mut input, "max_chars")?,
        };
        let max_chars = max_chars.map_or(self.0.settings.max_chars, |max| max as usize);
        let call = Call {
            ops: self.clone(),
            agent: request.agent,
            access: op.access,
            browser_name: browser,
            tab_word: tab.or(request.tab).filter(|word| word != "current"),
            timeout,
            max_chars,
            begun: Instant::now(),
            time: Mutex::default(),
            limit_changed: Notify::new(),
            progress: request.progress,
            holds: Mutex::default(),
        };
        let cancelled = OpError::new(Code::Cancelled, format!("{} was cancelled", op.name), "");
        let mut output = tokio::select! {
            // Work that is done is not called off.
            biased;
            output = (op.run)(&call, input) => output.map_err(short)?,
            () = request.cancel.cancelled() => return Err(cancelled),
            () = call.overdue() => return Err(overdue(op.name)),
        };
        cut(&mut output.text, call.max_chars);
        Ok(output)
    }

    fn agents(&self) -> MutexGuard<'_, HashMap<AgentName, Arc<Agent>>> {
        self.0.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn overdue(op: &str) -> OpError {
    let message = format!("{op}: the browser did not answer in time");
    OpError::new(
        Code::Timeout,
        message,
        "try again with a longer `timeout`, reload the page, or close the tab",
    )
}

fn take_text(op: &str, input: &mut Map<String, Value>, name: &str) -> Result<Option<String>, OpError> {
    match input.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(Value::Number(number)) if name == "tab" => Ok(Some(number.to_string())),
        Some(other) => {
            let message = format!("{op}: `{name}`: expected a text, not {other}");
            Err(OpError::bad_input(message, format!("`{name}` chooses a {name} by name")))
        }
    }
}

fn take_number(op: &str, input: &mut Map<String, Value>, name: &str) -> Result<Option<u64>, OpError> {
    match input.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Number(number)) if number.as_u64().is_some() => Ok(number.as_u64()),
        Some(other) => {
            let message = format!("{op}: `{name}`: expected a whole number, not {other}");
            Err(OpError::bad_input(message, "give milliseconds for `timeout`, characters for `max_chars`"))
        }
    }
}

/// What a page threw may be of any length.
fn short(mut error: OpError) -> OpError {
    cut(&mut error.message, LONGEST_ERROR);
    cut(&mut error.hint, LONGEST_ERROR);
    error
}

/// Cuts a text, and says so in it.
pub(crate) fn cut(text: &mut String, max: usize) {
    if text.len() <= max {
        return;
    }
    let total = text.chars().count();
    if total <= max {
        return;
    }
    let end = text.char_indices().nth(max).map_or(text.len(), |(at, _)| at);
    text.truncate(end);
    text.push_str(&format!("\n[cut: {max} of {total} characters; ask for more with max_chars]"));
}

/// A request under way.
pub(crate) struct Call {
    pub(crate) ops: Ops,
    pub(crate) agent: Arc<Agent>,
    access: Access,
    browser_name: Option<String>,
    tab_word: Option<String>,
    timeout: Option<Duration>,
    pub(crate) max_chars: usize,
    begun: Instant,
    time: Mutex<Time>,
    limit_changed: Notify,
    progress: Option<Progress>,
    /// The tabs that it acts on stay the agent's as long as it runs.
    holds: Mutex<Vec<Hold>>,
}

#[derive(Default)]
struct Time {
    /// What it took to reach the browser, which is not the op's.
    reaching: Duration,
    /// The latest deadline that the op has asked for.
    limit: Option<Instant>,
}

impl Call {
    pub(crate) fn hub(&self) -> &Arc<Hub> {
        &self.ops.0.hub
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.ops.0.settings
    }

    pub(crate) fn leases(&self) -> &Leases {
        &self.ops.0.leases
    }

    pub(crate) fn numbers(&self) -> &TabNumbers {
        &self.ops.0.numbers
    }

    /// Says what is being done, to whoever wants to know.
    pub(crate) fn tell(&self, what: &str) {
        if let Some(progress) = &self.progress {
            progress(self.begun.elapsed().as_secs_f64(), None, what);
        }
    }

    /// When an act must be done.
    pub(crate) fn action_deadline(&self) -> Instant {
        self.deadline_or(self.settings().action_timeout)
    }

    pub(crate) fn navigation_deadline(&self) -> Instant {
        self.deadline_or(self.settings().navigation_timeout)
    }

    /// When something with a patience of its own must be done.
    pub(crate) fn deadline_or(&self, patience: Duration) -> Instant {
        let deadline = self.begun + self.time().reaching + self.timeout.unwrap_or(patience);
        self.not_before(deadline);
        deadline
    }

    /// The op may take until then.
    pub(crate) fn not_before(&self, deadline: Instant) {
        let limit = &mut self.time().limit;
        *limit = Some(limit.map_or(deadline, |limit| limit.max(deadline)));
        self.limit_changed.notify_one();
    }

    /// Resolves when the op is later than it ever may be.
    async fn overdue(&self) {
        loop {
            let limit = self.time().limit.unwrap_or(self.begun + BEFORE_ANY_DEADLINE) + GRACE;
            if Instant::now() >= limit {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep_until(limit) => {}
                () = self.limit_changed.notified() => {}
            }
        }
    }

    fn time(&self) -> MutexGuard<'_, Time> {
        self.time.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn browser(&self) -> Result<Arc<Browser>, OpError> {
        let name = self.browser_name.as_deref().unwrap_or(bowline_hub::registry::DEFAULT);
        self.hub().browser(name).map_err(|_| {
            let known: Vec<String> =
                self.hub().browsers().iter().map(|browser| browser.name().to_owned()).collect();
            let message = format!("there is no browser named `{name}`");
            OpError::new(Code::NoSuchBrowser, message, format!("there are: {}", known.join(", ")))
        })
    }

    /// Whether console and network of a browser are known.
    pub(crate) fn is_recorded(&self, browser: &str) -> bool {
        self.hub().recorder().records(browser)
    }

    /// Whether an address may be gone to; otherwise who forbids it.
    pub(crate) fn permit(&self, url: &str) -> Result<(), OpError> {
        let browser = self.browser()?;
        let inner = url.trim().trim_start_matches("view-source:");
        let is_file = inner.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:"));
        if is_file && self.agent.is_confined() {
            let message = "refused by policy: pages of files are closed to you";
            return Err(OpError::new(Code::Refused, message, "serve the files over http, or ask the person"));
        }
        let refusal = self.hub().recorder().origins(browser.name()).and_then(|origins| origins.refusal(url));
        match refusal {
            None => Ok(()),
            Some(refusal) => {
                let hint = "use another site, or ask the person to change sites.allow and sites.deny in the configuration";
                Err(OpError::new(Code::Refused, format!("refused by policy: {refusal}"), hint))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_characters() {
        let mut text = "äöü".repeat(4);
        cut(&mut text, 5);
        assert!(text.starts_with("äöüäö\n[cut: 5 of 12"), "{text}");
    }
}
