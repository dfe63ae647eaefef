//! The task that owns a browser's life.

use std::fmt;
use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::breaker::{Breaker, Verdict};
use super::start::{self, End, Running};
use super::{Answer, Ask, Snapshot, Surroundings};
use crate::backend::{Spec, StartError};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Life {
    /// Never started since the hub came up.
    Absent,
    Starting,
    Ready,
    /// Ended without anybody asking for it. The next client starts it again.
    Lost,
    /// Ended because somebody asked. The next client starts it again.
    Stopped,
}

impl fmt::Display for Life {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Absent => "absent",
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Lost => "lost",
            Self::Stopped => "stopped",
        })
    }
}

type Launch = BoxFuture<'static, Result<Running, StartError>>;

pub(super) struct Task {
    name: String,
    world: Surroundings,
    snapshot: watch::Sender<Snapshot>,
    breaker: Breaker,
    running: Option<Running>,
    launch: Option<(Launch, CancellationToken)>,
    /// What the name stood for until the launch under way; so again if that fails.
    before: Option<Spec>,
    /// Those who wait for the launch under way.
    waiting: Vec<Answer>,
}

impl Task {
    pub(super) fn new(name: &str, spec: Spec, world: Surroundings) -> (Self, watch::Receiver<Snapshot>) {
        let (snapshot, receiver) = watch::channel(Snapshot {
            life: Life::Absent,
            spec,
            since: SystemTime::now(),
            pid: None,
            version: None,
            reason: None,
            starts: 0,
            place: None,
        });
        let breaker = Breaker::new(world.timing.max_quick_deaths, world.timing.cooldown);
        let task = Self {
            name: name.to_owned(),
            world,
            snapshot,
            breaker,
            running: None,
            launch: None,
            before: None,
            waiting: Vec::new(),
        };
        (task, receiver)
    }

    pub(super) async fn run(mut self, mut asks: mpsc::Receiver<Ask>) {
        loop {
            let shutdown = self.world.shutdown.clone();
            tokio::select! {
                () = shutdown.cancelled() => break,
                ask = asks.recv() => match ask {
                    Some(ask) => self.answer(ask).await,
                    None => break,
                },
                outcome = launched(&mut self.launch) => self.take_outcome(outcome),
                end = ended(&mut self.running) => self.take_end(end).await,
            }
        }
        self.end("the hub is shutting down").await;
    }

    async fn answer(&mut self, ask: Ask) {
        match ask {
            Ask::Ready(answer) => self.want(answer),
            Ask::Launch { spec, again, answer } => {
                let changed = spec.as_ref().is_some_and(|spec| *spec != self.snapshot.borrow().spec);
                if let Some(spec) = spec.as_ref().filter(|_| changed)
                    && let Err(error) = self.world.backend.check(spec).await
                {
                    let _ = answer.send(Err(error));
                    return;
                }
                if again || changed {
                    self.end("the browser is being replaced").await;
                }
                if let Some(spec) = spec {
                    self.snapshot.send_modify(|snapshot| {
                        self.before = Some(std::mem::replace(&mut snapshot.spec, spec));
                    });
                }
                self.breaker.reset();
                self.want(answer);
            }
            Ask::Stop { forget, done } => {
                self.end("the browser was stopped").await;
                if forget {
                    self.snapshot.send_modify(|snapshot| snapshot.spec = Spec::default());
                }
                // Whoever asked may have left.
                let _ = done.send(());
            }
        }
    }

    /// Gives the running browser, or joins the launch, or begins one.
    fn want(&mut self, answer: Answer) {
        if let Some(running) = self.running.as_ref().filter(|running| !running.speech.has_ended()) {
            let _ = answer.send(Ok(running.place()));
            return;
        }
        // With a running browser whose end is still to be taken in, the waiting begins here too.
        if self.launch.is_none() && self.running.is_none() {
            match self.breaker.verdict() {
                Verdict::After(delay) => self.begin(delay),
                Verdict::Open { deaths, remaining } => {
                    let _ = answer.send(Err(self.breaker_error(deaths, remaining)));
                    return;
                }
            }
        }
        self.waiting.push(answer);
    }

    fn begin(&mut self, delay: Duration) {
        let cancel = CancellationToken::new();
        let (world, name) = (self.world.clone(), self.name.clone());
        let (spec, token) = (self.snapshot.borrow().spec.clone(), cancel.clone());
        tracing::info!(browser = name, backend = spec.backend(), "starting");
        let launch = Box::pin(async move {
            tokio::select! {
                () = tokio::time::sleep(delay) => {}
                () = token.cancelled() => {}
            }
            start::start(&world, &name, &spec, token).await
        });
        self.launch = Some((launch, cancel));
        self.publish(Life::Starting, None);
    }

    fn take_outcome(&mut self, outcome: Result<Running, StartError>) {
        self.launch = None;
        match outcome {
            Ok(running) => {
                tracing::info!(browser = self.name, product = running.version.product, "ready");
                for answer in self.waiting.drain(..) {
                    let _ = answer.send(Ok(running.place()));
                }
                self.running = Some(running);
                self.before = None;
                self.snapshot.send_modify(|snapshot| snapshot.starts += 1);
                self.publish(Life::Ready, None);
            }
            Err(error) => {
                tracing::warn!(browser = self.name, code = error.code, %error, "did not start");
                if self.launches() && counts_as_death(&error) {
                    self.breaker.died(Duration::ZERO);
                }
                self.take_spec_back();
                for answer in self.waiting.drain(..) {
                    let _ = answer.send(Err(error.clone()));
                }
                self.publish(Life::Lost, Some(error.message));
            }
        }
    }

    async fn take_end(&mut self, end: End) {
        let Some(running) = self.running.take() else { return };
        let asked = running.speech.close_was_requested() && !matches!(end, End::Hung(_));
        let lived = running.ready_at.elapsed();
        let life = if asked { Life::Stopped } else { Life::Lost };
        // Told before it is buried, which takes a while: nobody is to be sent to what has gone.
        self.publish(life, None);
        let reason = running.bury(end).await;
        if asked {
            tracing::info!(browser = self.name, "closed by a client");
            self.publish(life, Some("a client closed the browser".to_owned()));
        } else {
            tracing::warn!(browser = self.name, reason, "lost");
            if self.launches() {
                self.breaker.died(lived);
            }
            self.publish(life, Some(reason));
        }
        for answer in std::mem::take(&mut self.waiting) {
            self.want(answer);
        }
    }

    /// A spec that never worked leaves no trace.
    fn take_spec_back(&mut self) {
        if let Some(before) = self.before.take() {
            self.snapshot.send_modify(|snapshot| snapshot.spec = before);
        }
    }

    /// Ends whatever runs or starts.
    async fn end(&mut self, reason: &str) {
        if let Some((launch, cancel)) = self.launch.take() {
            cancel.cancel();
            // It may have become ready just now.
            if let Ok(running) = launch.await {
                running.stop(&self.world.timing, reason).await;
            }
            self.take_spec_back();
        }
        let refusal = StartError {
            code: "stopped",
            message: reason.to_owned(),
            hint: "connect again to launch the browser".to_owned(),
        };
        for answer in self.waiting.drain(..) {
            let _ = answer.send(Err(refusal.clone()));
        }
        if let Some(running) = self.running.take() {
            tracing::info!(browser = self.name, reason, "stopping");
            running.stop(&self.world.timing, reason).await;
        }
        if self.snapshot.borrow().life != Life::Absent {
            self.publish(Life::Stopped, None);
        }
    }

    fn publish(&self, life: Life, reason: Option<String>) {
        self.snapshot.send_modify(|snapshot| {
            snapshot.life = life;
            snapshot.since = SystemTime::now();
            snapshot.reason = reason;
            let running = self.running.as_ref();
            snapshot.pid = running.and_then(|running| running.process.as_ref()).map(|process| process.pid());
            snapshot.version = running.map(|running| running.version.clone());
            snapshot.place = running.map(Running::place);
        });
    }

    /// Only launching can do harm when it is repeated; reaching for somebody else's browser cannot.
    fn launches(&self) -> bool {
        matches!(self.snapshot.borrow().spec, Spec::Launched(_))
    }

    fn breaker_error(&self, deaths: u32, remaining: Duration) -> StartError {
        let reason = self.snapshot.borrow().reason.clone().unwrap_or_default();
        StartError {
            code: "breaker_open",
            message: format!(
                "browser `{}` died {deaths} times at once and is not started again for {}s; last: {reason}",
                self.name,
                remaining.as_secs() + 1
            ),
            hint: format!("mend the cause, then `bowline launch {}` starts it at once", self.name),
        }
    }
}

/// Only a browser that was really started and failed counts; that none is installed is told each time.
fn counts_as_death(error: &StartError) -> bool {
    !matches!(error.code, "stopped" | "no_browser" | "bad_profile" | "profile_locked" | "sites_not_kept")
}

async fn launched(launch: &mut Option<(Launch, CancellationToken)>) -> Result<Running, StartError> {
    match launch {
        Some((launch, _)) => launch.await,
        None => std::future::pending().await,
    }
}

async fn ended(running: &mut Option<Running>) -> End {
    match running {
        Some(running) => running.ended().await,
        None => std::future::pending().await,
    }
}
