//! From a spec to a browser that answers, and back to nothing.

use std::time::Duration;

use bowline_wire::cdp::BrowserVersion;
use futures_util::future::BoxFuture;
use serde_json::json;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::speech::{Speech, version_of};
use super::{Place, Surroundings, Timing};
use crate::backend::{Exit, Link, Process, Protocol, Spec, StartError};
use crate::bidi::{self, BidiError};
use crate::hands::Hands;
use crate::router::{CallError, Router};

/// How long an ended link waits for the exit of the process behind it, which says why. Clients wait too.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How long a browser may take to follow `Browser.close`.
const CLOSE_PATIENCE: Duration = Duration::from_secs(2);

/// How long the recorder may take to join a browser with many tabs.
const ATTEND: Duration = Duration::from_secs(10);

pub(super) struct Running {
    pub(super) speech: Speech,
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
    let mut process = started.process;
    let greeting = greet(world, name, started.link, started.protocol);
    let error = tokio::select! {
        () = cancel.cancelled() => Some(cancelled()),
        exit = exit_of(process.as_mut()) => process.as_ref().map(|process| process.explain(&exit)),
        greeted = greeting => match greeted {
            Ok((speech, version)) => {
                let needs_token = !spec.is_throw_away();
                let hung = Box::pin(hung(speech.clone(), timing.clone()));
                let ready_at = Instant::now();
                return Ok(Running { speech, needs_token, hung, process, version, ready_at });
            }
            Err(Unready::Closed) => None,
            Err(error) => Some(no_answer(timing, &error, process.as_deref())),
        },
    };
    let Some(mut process) = process else {
        return Err(error.unwrap_or_else(|| no_answer(timing, &Unready::Closed, None)));
    };
    // A link that ended by itself means that the process is about to say why.
    let error = match error {
        Some(error) => error,
        None => match timeout(LAST_WORDS, process.exited()).await {
            Ok(exit) => process.explain(&exit),
            Err(_) => no_answer(timing, &Unready::Closed, Some(&*process)),
        },
    };
    end_by_force(process).await;
    Err(error)
}

/// Why a browser that was started cannot be used.
enum Unready {
    Closed,
    TimedOut,
    Refused(String),
}

/// Takes over the link, and waits until the browser answers and is recorded. What is left behind on failure, or when
/// nobody waits any longer, is closed.
async fn greet(
    world: &Surroundings,
    name: &str,
    link: Link,
    protocol: Protocol,
) -> Result<(Speech, BrowserVersion), Unready> {
    let within = world.timing.launch;
    match protocol {
        Protocol::Cdp => {
            let router = Router::start(link, world.limits.clone());
            let leaving = CloseUnlessReady(Some(Left::Cdp(router.clone())));
            let version: BrowserVersion = router.call("Browser.getVersion", json!({}), within).await?;
            attend(world, name, &router, &version).await;
            leaving.ready();
            let hands = Hands::new(router.clone(), world.tasks.clone());
            Ok((Speech::Cdp { router, hands }, version))
        }
        Protocol::Bidi => {
            let (session, capabilities) = bidi::Session::start(link, world.limits.clone(), within).await?;
            let leaving = CloseUnlessReady(Some(Left::Bidi(session.clone())));
            attend_bidi(world, name, &session, !capabilities.is_headless).await?;
            leaving.ready();
            let hands = bidi::Hands::new(session.clone(), world.tasks.clone());
            Ok((Speech::Bidi { session, hands }, version_of(&capabilities)))
        }
    }
}

struct CloseUnlessReady(Option<Left>);

enum Left {
    Cdp(Router),
    Bidi(bidi::Session),
}

impl CloseUnlessReady {
    fn ready(mut self) {
        self.0 = None;
    }
}

impl Drop for CloseUnlessReady {
    fn drop(&mut self) {
        let reason = "the browser did not start";
        match &self.0 {
            Some(Left::Cdp(router)) => router.close(reason),
            Some(Left::Bidi(session)) => session.close(reason),
            None => {}
        }
    }
}

impl From<CallError> for Unready {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Closed => Self::Closed,
            CallError::TimedOut { .. } => Self::TimedOut,
            error => Self::Refused(error.to_string()),
        }
    }
}

impl From<BidiError> for Unready {
    fn from(error: BidiError) -> Self {
        match error {
            BidiError::Closed => Self::Closed,
            BidiError::TimedOut { .. } => Self::TimedOut,
            error => Self::Refused(error.to_string()),
        }
    }
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

/// The same of a browser that speaks BiDi. One that has sites to keep to is none without.
async fn attend_bidi(
    world: &Surroundings,
    name: &str,
    session: &bidi::Session,
    is_headed: bool,
) -> Result<(), Unready> {
    let recorder = &world.recorder;
    if !recorder.records(name) {
        return Ok(());
    }
    let attended = timeout(ATTEND, recorder.attend_bidi(name, session, is_headed, &world.tasks)).await;
    let error = match attended {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "it does not answer".to_owned(),
    };
    if recorder.origins(name).is_some() {
        return Err(Unready::Refused(format!("its sites cannot be kept to: {error}")));
    }
    tracing::warn!(browser = name, %error, "not recorded");
    Ok(())
}

impl Running {
    pub(super) fn place(&self) -> Place {
        Place { speech: self.speech.clone(), needs_token: self.needs_token }
    }

    /// Resolves when the browser has ended or no longer answers.
    pub(super) async fn ended(&mut self) -> End {
        tokio::select! {
            exit = exit_of(self.process.as_mut()) => End::Exited(exit),
            reason = self.speech.ended() => End::LinkClosed(reason),
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
            self.speech.close(&reason);
            return reason;
        };
        if let End::LinkClosed(_) = end
            && let Ok(exit) = timeout(LAST_WORDS, process.exited()).await
        {
            reason = format!("the browser {exit}");
        }
        self.speech.close(&reason);
        end_by_force(process).await;
        reason
    }

    /// Browser.close, SIGTERM, patience, SIGKILL, reap, remove. A browser of somebody else is let go.
    pub(super) async fn stop(mut self, timing: &Timing, reason: &str) {
        let Some(mut process) = self.process.take() else {
            self.speech.close(reason);
            return;
        };
        let asked = timeout(CLOSE_PATIENCE, async {
            let agrees = self.speech.ask_to_end(CLOSE_PATIENCE).await;
            if agrees {
                process.exited().await;
            }
            agrees
        });
        let gone = asked.await.unwrap_or(false);
        self.speech.close(reason);
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
async fn hung(speech: Speech, timing: Timing) -> Duration {
    loop {
        // Whoever speaks lives; only silence is a reason to ask.
        let silence = speech.silence();
        if silence < timing.probe_interval {
            tokio::time::sleep(timing.probe_interval - silence).await;
            continue;
        }
        let patience = timing.probe_timeout.saturating_sub(silence).max(timing.probe_interval);
        let is_mute = speech.is_mute(patience).await;
        let silence = speech.silence();
        // Any word of the browser in the meantime shows that it lives, if slowly.
        if is_mute && silence >= timing.probe_timeout {
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

fn no_answer(timing: &Timing, error: &Unready, process: Option<&dyn Process>) -> StartError {
    let said = process.map(Process::last_words).filter(|said| !said.is_empty());
    let said = said.map(|said| format!("; it said:\n{said}")).unwrap_or_default();
    let message = match error {
        Unready::TimedOut => format!("the browser did not answer within {}s{said}", timing.launch.as_secs()),
        Unready::Closed => format!("the browser did not become ready: the browser is gone{said}"),
        Unready::Refused(why) => format!("the browser did not become ready: {why}{said}"),
    };
    StartError {
        code: "not_ready",
        message,
        hint: "run `bowline doctor`; on a slow machine raise launch.timeout".to_owned(),
    }
}
