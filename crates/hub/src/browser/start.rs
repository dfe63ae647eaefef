//! From a spec to a browser that answers, and back to nothing.

use std::time::Duration;

use bowline_wire::cdp::BrowserVersion;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::{Place, Surroundings, Timing};
use crate::backend::{Exit, Process, Spec, StartError};
use crate::hands::Hands;
use crate::router::{CallError, Router};

/// How long an ended link waits for the exit of the process behind it, which says why. Clients wait too.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How long a browser may take to follow `Browser.close`.
const CLOSE_PATIENCE: Duration = Duration::from_secs(2);

/// How long the recorder may take to join a browser with many tabs.
const ATTEND: Duration = Duration::from_secs(10);

pub(super) struct Running {
    pub(super) router: Router,
    hands: Hands,
    needs_token: bool,
    /// Resolves when the browser no longer answers. Kept here, so that it goes on over interruptions.
    hung: BoxFuture<'static, Duration>,
    pub(super) process: Option<Box<dyn Process>>,
    pub(super) version: BrowserVersion,
    pub(super) ready_at: Instant,
}

/// How a running browser ended.
pub(super) enum End {
    Exited(Exit),
    LinkClosed(String),
    Hung(Duration),
}

/// Starts the browser and waits until it answers. On failure nothing is left behind.
pub(super) async fn start(
    world: &Surroundings,
    name: &str,
    spec: &Spec,
    cancel: CancellationToken,
) -> Result<Running, StartError> {
    let timing = &world.timing;
    let started = tokio::select! {
        () = cancel.cancelled() => return Err(cancelled()),
        started = world.backend.start(name, spec) => started?,
    };
    let router = Router::start(started.link, world.limits.clone());
    let mut process = started.process;
    let error = tokio::select! {
        () = cancel.cancelled() => Some(cancelled()),
        exit = exit_of(process.as_mut()) => process.as_ref().map(|process| process.explain(&exit)),
        version = router.call::<BrowserVersion>("Browser.getVersion", json!({}), timing.launch) => match version {
            Ok(version) => {
                attend(world, name, &router, &version).await;
                let needs_token = !spec.is_throw_away();
                let hands = Hands::new(router.clone(), world.tasks.clone());
                let hung = Box::pin(hung(router.clone(), timing.clone()));
                let ready_at = Instant::now();
                return Ok(Running { router, hands, needs_token, hung, process, version, ready_at });
            }
            Err(CallError::Closed) => None,
            Err(error) => Some(no_answer(timing, &error, process.as_deref())),
        },
    };
    router.close("the browser did not start");
    let Some(mut process) = process else {
        return Err(error.unwrap_or_else(|| no_answer(timing, &CallError::Closed, None)));
    };
    // A link that ended by itself means that the process is about to say why.
    let error = match error {
        Some(error) => error,
        None => match timeout(LAST_WORDS, process.exited()).await {
            Ok(exit) => process.explain(&exit),
            Err(_) => no_answer(timing, &CallError::Closed, Some(&*process)),
        },
    };
    end_by_force(process).await;
    Err(error)
}

/// Lets the recorder in before anybody else. A browser that cannot be recorded is a browser all the same.
async fn attend(world: &Surroundings, name: &str, router: &Router, version: &BrowserVersion) {
    if !world.recorder.records(name) {
        return;
    }
    let is_headed = !version.user_agent.contains("Headless");
    let attended = world.recorder.attend(name, router, is_headed, &world.tasks);
    match timeout(ATTEND, attended).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(browser = name, %error, "not recorded"),
        Err(_) => tracing::warn!(browser = name, "not recorded from the beginning: it does not answer"),
    }
}

impl Running {
    pub(super) fn place(&self) -> Place {
        Place { router: self.router.clone(), hands: self.hands.clone(), needs_token: self.needs_token }
    }

    /// Resolves when the browser has ended or no longer answers.
    pub(super) async fn ended(&mut self) -> End {
        tokio::select! {
            exit = exit_of(self.process.as_mut()) => End::Exited(exit),
            reason = self.router.ended() => End::LinkClosed(reason),
            silence = &mut self.hung => End::Hung(silence),
        }
    }

    /// Takes in an end: every client is answered and told why, then what is left is removed. Returns
    /// the reason in words.
    pub(super) async fn bury(mut self, end: End) -> String {
        let mut reason = match &end {
            End::Exited(exit) => format!("the browser {exit}"),
            End::LinkClosed(reason) => reason.clone(),
            End::Hung(silence) => format!("the browser did not answer for {}s", silence.as_secs()),
        };
        let Some(mut process) = self.process.take() else {
            self.router.close(&reason);
            return reason;
        };
        if let End::LinkClosed(_) = end
            && let Ok(exit) = timeout(LAST_WORDS, process.exited()).await
        {
            reason = format!("the browser {exit}");
        }
        self.router.close(&reason);
        end_by_force(process).await;
        reason
    }

    /// Browser.close, SIGTERM, patience, SIGKILL, reap, remove. A browser of somebody else is let go.
    pub(super) async fn stop(mut self, timing: &Timing, reason: &str) {
        let Some(mut process) = self.process.take() else {
            self.router.close(reason);
            return;
        };
        let asked = timeout(CLOSE_PATIENCE, async {
            let closed = self.router.call::<Value>("Browser.close", json!({}), CLOSE_PATIENCE).await;
            if closed.is_ok() {
                process.exited().await;
            }
            closed.is_ok()
        });
        let gone = asked.await.unwrap_or(false);
        self.router.close(reason);
        if !gone {
            process.terminate();
            // A browser that is stopped by a signal ignores the request.
            let _ = timeout(timing.stop, process.exited()).await;
        }
        end_by_force(process).await;
    }
}

async fn end_by_force(mut process: Box<dyn Process>) {
    // Also after a clean exit: children of the group may be left.
    process.kill();
    process.exited().await;
    process.clean_up().await;
}

async fn exit_of(process: Option<&mut Box<dyn Process>>) -> Exit {
    match process {
        Some(process) => process.exited().await,
        None => std::future::pending().await,
    }
}

/// Resolves when the browser has been silent for the time-out although it was asked something.
async fn hung(router: Router, timing: Timing) -> Duration {
    loop {
        // Whoever speaks lives; only silence is a reason to ask.
        let silence = router.silence();
        if silence < timing.probe_interval {
            tokio::time::sleep(timing.probe_interval - silence).await;
            continue;
        }
        let patience = timing.probe_timeout.saturating_sub(silence).max(timing.probe_interval);
        let probe = router.call::<Value>("Browser.getVersion", json!({}), patience).await;
        let silence = router.silence();
        // Any word of the browser in the meantime shows that it lives, if slowly.
        if matches!(probe, Err(CallError::TimedOut { .. })) && silence >= timing.probe_timeout {
            return silence;
        }
    }
}

fn cancelled() -> StartError {
    StartError {
        code: "stopped",
        message: "the launch was stopped".to_owned(),
        hint: "connect again to launch the browser".to_owned(),
    }
}

fn no_answer(timing: &Timing, error: &CallError, process: Option<&dyn Process>) -> StartError {
    let said = process.map(Process::last_words).filter(|said| !said.is_empty());
    let said = said.map(|said| format!("; it said:\n{said}")).unwrap_or_default();
    let message = match error {
        CallError::TimedOut { .. } => {
            format!("the browser did not answer within {}s{said}", timing.launch.as_secs())
        }
        error => format!("the browser did not become ready: {error}{said}"),
    };
    StartError {
        code: "not_ready",
        message,
        hint: "run `bowline doctor`; on a slow machine raise launch.timeout".to_owned(),
    }
}
