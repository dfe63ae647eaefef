//! Agents' JavaScript with Playwright's own API, in a Node process of each agent's own for each browser.
//!
//! The process is a client of the hub like any other: it connects to the CDP door with the token. Calls have it one after
//! another; whatever it keeps in `state` lasts until `reset`, a timeout, or a while without work.

mod child;
mod message;

use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::FuturesUnordered;
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::error::{Code, OpError};
use crate::output::Output;
use crate::request::{Call, Request};
use crate::tab::Tab;
use child::Child;
use message::{Hello, Order, Said, Threw};

pub(crate) use message::{Done, Log};

const NODE: &str = "node";
const BOOT: &str = include_str!("execute/boot.js");
const RUNNER: &str = include_str!("execute/runner.cjs");
const INSTALL: &str = "npm install -g playwright-core";

/// For Node and npm to say what is there.
const CHECK: Duration = Duration::from_secs(20);

/// Lines of the log that are kept of one call; more are counted.
const MAX_LOGS: usize = 1000;
/// A line that was not written by way of the console is cut here.
const MAX_RAW_LINE: usize = 16 << 10;
/// Ops that the code may have under way at once; its next ones wait.
const MAX_ASKS: usize = 32;

/// Where one agent's code runs with one browser. The process ends with it.
#[derive(Default)]
pub(crate) struct Seat {
    /// Calls have it in the order in which they came.
    turn: tokio::sync::Mutex<Past>,
    /// Ends the calls that have come so far.
    stop: Mutex<CancellationToken>,
    tasks: TaskTracker,
}

/// What earlier calls have left.
#[derive(Default)]
struct Past {
    child: Option<Child>,
    /// Why the last process, and with it the state, is gone.
    lost: Option<String>,
}

/// How code has ended, and what it has logged.
pub(crate) struct Ran {
    pub(crate) done: Done,
    pub(crate) logs: Vec<Log>,
    /// The short name of the page's tab.
    pub(crate) tab: String,
    /// Why `state` is empty although there were calls before.
    pub(crate) lost: Option<String>,
}

/// Why a call was given up, and its process with it.
enum GivenUp {
    Late,
    Reset,
    HubLeaves,
    /// The process has ended, with these words.
    Gone(String),
}

/// How a conversation has ended.
enum Ended {
    Done(Done, String),
    Threw(Threw),
    NoPage(String),
    Unconnected(String),
    /// It did not begin.
    Failed(OpError),
}

/// The log of a call so far.
#[derive(Default)]
struct Logs {
    lines: Vec<Log>,
    dropped: u64,
}

impl Logs {
    fn push(&mut self, log: Log) {
        match self.lines.len() < MAX_LOGS {
            true => self.lines.push(log),
            false => self.dropped += 1,
        }
    }
}

impl Seat {
    pub(crate) async fn run(&self, call: &Call, code: &str) -> Result<Ran, OpError> {
        let deadline = call.navigation_deadline();
        let stop = self.stop().child_token();
        let mut past = match give_up(call, deadline, &stop, self.turn.lock()).await {
            Ok(past) => past,
            Err(GivenUp::Late) => {
                let message = "execute: your call before this one is still running";
                return Err(OpError::new(Code::Timeout, message, "wait for it, or end it with reset"));
            }
            Err(why) => return Err(given_up(why, Logs::default())),
        };
        let kept = match past.child.take() {
            None => None,
            Some(child) => match child.ended() {
                None => Some(child),
                Some(reason) => {
                    past.lost = Some(reason);
                    None
                }
            },
        };
        let lost = if kept.is_some() { None } else { past.lost.clone() };
        let mut child = match kept {
            Some(child) => child,
            None => match give_up(call, deadline, &stop, start(call, &self.tasks)).await {
                Ok(started) => started?,
                Err(why) => return Err(given_up(why, Logs::default())),
            },
        };
        // In case that nobody waits for us to the end: the process goes with this future.
        past.lost = Some("its call was cancelled".to_owned());
        let mut logs = Logs::default();
        child.works();
        let work = converse(&mut child, call, code, deadline, &mut logs);
        let ended = match give_up(call, deadline, &stop, work).await {
            Ok(Ok(ended)) => ended,
            Ok(Err(why)) | Err(why) => {
                past.lost = match &why {
                    GivenUp::Late => Some("its call was not done in time".to_owned()),
                    GivenUp::Gone(_) => Some("it ended during a call".to_owned()),
                    // Which is known.
                    GivenUp::Reset | GivenUp::HubLeaves => None,
                };
                return Err(given_up(why, logs));
            }
        };
        child.rests();
        past.child = Some(child);
        past.lost = None;
        match ended {
            Ended::Done(mut done, tab) => {
                done.dropped += logs.dropped;
                Ok(Ran { done, logs: logs.lines, tab, lost })
            }
            Ended::Threw(threw) => Err(thrown(threw, logs)),
            Ended::NoPage(tab) => {
                let message = format!("Playwright does not see your tab {tab}");
                let hint =
                    "it sees tabs of the browser's own context only; open another one (tabs, action `new`)";
                Err(OpError::new(Code::NoSuchTab, message, hint))
            }
            Ended::Unconnected(message) => {
                let message = format!("Playwright could not connect: {message}");
                Err(OpError::new(Code::NoBrowser, message, "try again; `bowline status` shows the browsers"))
            }
            Ended::Failed(error) => Err(error),
        }
    }

    /// Ends the process, also in the middle of a call. Tells whether there was one.
    pub(crate) async fn reset(&self) -> bool {
        // Those that come from now on are not meant.
        let stopped = std::mem::take(&mut *self.stop());
        stopped.cancel();
        let is_running = self.turn.try_lock().is_err();
        let past = std::mem::take(&mut *self.turn.lock().await);
        is_running || past.child.is_some()
    }

    fn stop(&self) -> MutexGuard<'_, CancellationToken> {
        self.stop.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for work no longer than anybody wants it.
async fn give_up<T>(
    call: &Call,
    deadline: Instant,
    stop: &CancellationToken,
    work: impl Future<Output = T>,
) -> Result<T, GivenUp> {
    let leaving = call.hub().shutdown_token();
    tokio::select! {
        biased;
        done = work => Ok(done),
        () = tokio::time::sleep_until(deadline) => Err(GivenUp::Late),
        () = stop.cancelled() => Err(GivenUp::Reset),
        () = leaving.cancelled() => Err(GivenUp::HubLeaves),
    }
}

fn given_up(why: GivenUp, logs: Logs) -> OpError {
    let error = match why {
        GivenUp::Late => {
            let message =
                "execute: the code was not done in time; its Node process was ended, and `state` is lost";
            OpError::new(
                Code::Timeout,
                message,
                "do less in one call, or give a longer `timeout` (milliseconds)",
            )
        }
        GivenUp::Reset => {
            OpError::new(Code::Cancelled, "execute: ended by reset", "the next call starts anew")
        }
        GivenUp::HubLeaves => OpError::new(Code::Gone, "execute: the hub is leaving", "try again"),
        GivenUp::Gone(words) => {
            let message = format!("execute: the Node process that ran the code has ended: {words}");
            OpError::new(Code::Gone, message, "the next call starts a new one, with an empty `state`")
        }
    };
    error.with("logs", json!(logs.lines))
}

fn thrown(threw: Threw, logs: Logs) -> OpError {
    let message = match threw.stack.is_empty() {
        true => threw.message,
        false => format!("{}\n{}", threw.message, threw.stack),
    };
    let error = match threw.is_syntax {
        true => OpError::bad_input(
            message,
            "the code is the body of an async function: `await` and `return` work",
        ),
        false => OpError::new(Code::PageThrew, message, "the code threw this; lines are those of `code`"),
    };
    error.with("logs", json!(logs.lines)).with("url", json!(threw.url))
}

/// What `execute` needs beside the hub, if it is there: Node and Playwright, with their versions.
pub async fn check(playwright: Option<&Path>, files: &Path) -> Result<String, OpError> {
    let nowhere = Hello {
        key: "",
        source: RUNNER,
        endpoint: "",
        token: "",
        agent: "",
        configured: playwright,
        project: None,
        files,
    };
    tokio::time::timeout(CHECK, ready(nowhere, &TaskTracker::new()))
        .await
        .unwrap_or_else(|_| Err(not_started("it did not answer in time")))
        .map(|(_, versions)| versions)
}

/// Starts a process that is ready for code.
async fn start(call: &Call, tasks: &TaskTracker) -> Result<Child, OpError> {
    let browser = call.browser()?;
    let (hub, project) = (call.hub(), call.agent.base());
    let hello = Hello {
        key: "",
        source: RUNNER,
        endpoint: &format!("ws://127.0.0.1:{}/b/{}", hub.port(), browser.name()),
        token: hub.token().as_str(),
        agent: call.agent.name.as_str(),
        configured: call.settings().playwright.as_deref(),
        project: project.as_deref(),
        files: &call.settings().files,
    };
    let (child, versions) = ready(hello, tasks).await?;
    tracing::debug!(pid = child.pid, versions, "node is ready");
    Ok(child)
}

/// A process that has found Playwright, and the versions of both.
async fn ready(hello: Hello<'_>, tasks: &TaskTracker) -> Result<(Child, String), OpError> {
    let key = bowline_hub::registry::new_id().map_err(|error| not_started(&error.to_string()))?;
    let mut child = Child::spawn(NODE, BOOT, key.clone(), tasks).map_err(|error| no_node(&error))?;
    let hello = Hello { key: &key, ..hello };
    // If it cannot be sent, the process says why by its end.
    let _ = child.send(&hello).await;
    // A Playwright that is too new for this Node says so in the console, and ends the process.
    let mut words = String::new();
    loop {
        match child.said().await {
            Some(Ok(Said::Ready { node, playwright })) => {
                return Ok((child, format!("Node.js {node}, {playwright}")));
            }
            Some(Ok(Said::OldNode { version })) => {
                let message = format!("execute needs Node.js 18 or newer; `node` is {version}");
                return Err(OpError::new(Code::Missing, message, "install a newer one: https://nodejs.org"));
            }
            Some(Ok(Said::Missing { looked })) => {
                let message = format!(
                    "execute needs playwright-core, which was found in none of these places: {}",
                    looked.join(", ")
                );
                return Err(OpError::new(Code::Missing, message, format!("run `{INSTALL}`"))
                    .with("looked", json!(looked)));
            }
            Some(Ok(Said::Broken { file, message })) => {
                let message = format!("Playwright ({file}) cannot be loaded: {message}");
                return Err(OpError::new(Code::Missing, message, format!("install it anew: `{INSTALL}`")));
            }
            Some(Ok(Said::Log(log))) => words = format!("{words}\n{}", log.text),
            Some(_) => {}
            None => return Err(not_started(&format!("{}{words}", child.last_words().await))),
        }
    }
}

fn no_node(error: &io::Error) -> OpError {
    let message = match error.kind() {
        io::ErrorKind::NotFound => {
            "execute needs Node.js 18 or newer: there is no `node` on the hub's PATH".to_owned()
        }
        _ => format!("execute needs Node.js 18 or newer: `node` could not be started: {error}"),
    };
    let hint = format!("install Node.js (https://nodejs.org), run `{INSTALL}`, then `bowline shutdown`");
    OpError::new(Code::Missing, message, hint)
}

fn not_started(why: &str) -> OpError {
    let message = format!("the Node process for the code could not be started: {why}");
    OpError::new(
        Code::Missing,
        message,
        "check that `node` works where the hub runs, and is new enough for the Playwright that is installed",
    )
}

/// Has code run, answers what it asks, and listens until it is done.
async fn converse(
    child: &mut Child,
    call: &Call,
    code: &str,
    deadline: Instant,
    logs: &mut Logs,
) -> Result<Ended, GivenUp> {
    let tab = match call.tab_to_go(false).await {
        Ok(tab) => tab,
        Err(error) => return Ok(Ended::Failed(error)),
    };
    if let Err(error) = call.lease(&tab.browser, &tab.target) {
        return Ok(Ended::Failed(error));
    }
    let name = call.numbers().of(&tab.browser, &tab.target);
    let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
    let order = Order::Run { code, target: tab.target.as_str(), timeout: left.as_millis() as u64 };
    if child.send(&order).await.is_err() {
        return Err(GivenUp::Gone(child.last_words().await));
    }
    let mut asks: FuturesUnordered<BoxFuture<'_, (u64, Result<Output, OpError>)>> = FuturesUnordered::new();
    loop {
        let said = tokio::select! {
            Some((id, answer)) = asks.next() => {
                let (ok, error) = match answer {
                    Ok(output) => (Some(output.to_json()), None),
                    Err(error) => (None, Some(error.to_json())),
                };
                // If it does not take the answer, it has ended, which is told by the next line.
                let _ = child.send(&Order::Answer { answer: id, ok, error }).await;
                continue;
            }
            said = child.said(), if asks.len() < MAX_ASKS => said,
        };
        match said {
            Some(Ok(Said::Log(log))) => logs.push(log),
            Some(Ok(Said::Ask { id, op, input })) => asks.push(ask(call, &tab, id, op, input).boxed()),
            Some(Ok(Said::Done(done))) => return Ok(Ended::Done(done, name)),
            Some(Ok(Said::Threw(threw))) => return Ok(Ended::Threw(threw)),
            Some(Ok(Said::NoPage)) => return Ok(Ended::NoPage(name)),
            Some(Ok(Said::Unconnected { message })) => {
                return Ok(Ended::Unconnected(message.replace(call.hub().token().as_str(), "TOKEN")));
            }
            Some(Ok(
                Said::Ready { .. } | Said::OldNode { .. } | Said::Missing { .. } | Said::Broken { .. },
            )) => {}
            Some(Err(raw)) if raw.is_empty() => {}
            Some(Err(raw)) => {
                let text = raw.chars().take(MAX_RAW_LINE).collect();
                logs.push(Log { level: "stdout".to_owned(), text });
            }
            None => return Err(GivenUp::Gone(child.last_words().await)),
        }
    }
}

/// An op that the code wants, in the same agent's name.
async fn ask(
    call: &Call,
    tab: &Tab,
    id: u64,
    op: String,
    input: Map<String, Value>,
) -> (u64, Result<Output, OpError>) {
    if matches!(op.as_str(), "execute" | "reset") {
        let message = format!("{op} cannot be called by code that runs in it");
        return (id, Err(OpError::new(Code::NotSupported, message, "it would wait for itself")));
    }
    let may_end_others = crate::registry::find(&op).is_some_and(|op| {
        op.set == crate::registry::Set::Lifecycle && op.access == crate::registry::Access::Dangerous
    });
    if may_end_others {
        let message = format!("{op} cannot be called by code");
        return (id, Err(OpError::new(Code::Refused, message, "call it as a tool, if you are allowed to")));
    }
    let request = Request {
        agent: call.agent.clone(),
        op,
        input,
        browser: Some(tab.browser.clone()),
        tab: Some(tab.target.to_string()),
        // It is dropped with the call.
        cancel: CancellationToken::new(),
        progress: None,
    };
    (id, call.ops.call(request).await)
}
