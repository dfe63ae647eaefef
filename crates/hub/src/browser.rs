//! One named browser and its life: Absent, Starting, Ready, Lost, Stopped.
//!
//! One task owns the life and receives what is asked of it, so however many clients ask there is one
//! launch. How a browser is started is the backend's business; who is connected, the router's.

mod breaker;
mod life;
mod speech;
mod start;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bowline_wire::cdp::BrowserVersion;
use bytes::Bytes;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::backend::{Backend, Protocol, Spec, StartError};
use crate::bidi;
use crate::recorder::Recorder;
use crate::router::{CallError, CdpClient, Entry, Limits};

pub use life::Life;
pub use speech::{OtherSpeech, Speech, Unanswered};

/// How long things may take.
#[derive(Debug, Clone)]
pub struct Timing {
    /// Until a launched browser answers.
    pub launch: Duration,
    /// Between the request to end and the end by force.
    pub stop: Duration,
    /// Between two probes of a silent browser.
    pub probe_interval: Duration,
    /// Silence after which a probed browser counts as hung.
    pub probe_timeout: Duration,
    /// Deaths at once after which launching pauses.
    pub max_quick_deaths: u32,
    /// How long it pauses.
    pub cooldown: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            launch: Duration::from_secs(30),
            stop: Duration::from_secs(5),
            probe_interval: Duration::from_secs(2),
            probe_timeout: Duration::from_secs(7),
            max_quick_deaths: 5,
            cooldown: Duration::from_secs(60),
        }
    }
}

/// What every browser of a hub shares.
#[derive(Clone)]
pub struct Surroundings {
    pub backend: Arc<dyn Backend>,
    pub timing: Timing,
    pub limits: Limits,
    pub recorder: Arc<Recorder>,
    /// Ends every browser.
    pub shutdown: CancellationToken,
    pub tasks: TaskTracker,
}

/// What can be seen of a browser from outside at one moment.
#[derive(Clone)]
pub struct Snapshot {
    pub life: Life,
    pub spec: Spec,
    pub since: SystemTime,
    pub pid: Option<u32>,
    pub version: Option<BrowserVersion>,
    /// Why it was lost, or could not start.
    pub reason: Option<String>,
    /// Times it has become ready.
    pub starts: u64,
    place: Option<Place>,
}

impl Snapshot {
    /// The running browser, if it runs.
    pub fn place(&self) -> Option<Place> {
        self.place.clone().filter(|place| !place.speech.has_ended())
    }

    pub fn clients(&self) -> usize {
        self.place.as_ref().map_or(0, |place| place.speech.client_count())
    }
}

/// Why a client did not get its place at the browser.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error(transparent)]
    NotStarted(#[from] StartError),
    #[error("the browser wants the token")]
    NotAdmitted,
    #[error(transparent)]
    Refused(#[from] CallError),
    #[error(transparent)]
    Speaks(#[from] OtherSpeech),
    #[error("the browser is gone")]
    Gone,
}

pub struct Browser {
    name: String,
    id: String,
    asks: mpsc::Sender<Ask>,
    snapshot: watch::Receiver<Snapshot>,
    backend: Arc<dyn Backend>,
    forgotten: CancellationToken,
}

type Answer = oneshot::Sender<Result<Place, StartError>>;

/// A browser that runs, and what it is: the name may stand for another one a moment later.
#[derive(Clone)]
pub struct Place {
    pub speech: Speech,
    /// Not a throw-away browser, so only for those who know the token.
    pub needs_token: bool,
}

/// What may be asked of a browser's task.
enum Ask {
    /// A client needs it.
    Ready(Answer),
    /// A user wants it to run, with this spec if one is given; what runs with another is replaced.
    Launch {
        spec: Option<Spec>,
        again: bool,
        answer: Answer,
    },
    Stop {
        forget: bool,
        done: oneshot::Sender<()>,
    },
}

impl Browser {
    /// Makes the browser known; nothing is started yet.
    pub fn new(name: &str, id: String, spec: Spec, world: &Surroundings) -> Self {
        // Askers wait for their turn when more than this many ask at once.
        let (asks, receiver) = mpsc::channel(64);
        let (task, snapshot) = life::Task::new(name, spec, world.clone());
        world.tasks.spawn(task.run(receiver));
        let forgotten = world.shutdown.child_token();
        Self { name: name.to_owned(), id, asks, snapshot, backend: world.backend.clone(), forgotten }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The id in `/devtools/browser/ID`, the same for as long as the browser is known by its name.
    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn snapshot(&self) -> Snapshot {
        self.snapshot.borrow().clone()
    }

    /// Cancelled when its name means nothing any more, or the hub leaves.
    pub fn forgotten(&self) -> &CancellationToken {
        &self.forgotten
    }

    pub fn needs_token(&self) -> bool {
        !self.snapshot.borrow().spec.is_throw_away()
    }

    /// What it speaks, or will when it is started.
    pub fn speaks(&self) -> Protocol {
        let snapshot = self.snapshot.borrow();
        match &snapshot.place {
            Some(place) => place.speech.protocol(),
            None => self.backend.speaks(&snapshot.spec),
        }
    }

    /// Whether somebody is, or may be, using it.
    pub fn is_in_use(&self) -> bool {
        let snapshot = self.snapshot.borrow();
        match snapshot.life {
            Life::Starting => true,
            Life::Ready => {
                snapshot.clients() > 0 || (snapshot.pid.is_some() && self.backend.is_headed(&snapshot.spec))
            }
            Life::Absent | Life::Lost | Life::Stopped => false,
        }
    }

    /// Told of every change of its life.
    pub fn changes(&self) -> watch::Receiver<Snapshot> {
        self.snapshot.clone()
    }

    /// The running browser; launched if it is not running.
    pub async fn ready(&self) -> Result<Place, StartError> {
        {
            let snapshot = self.snapshot.borrow();
            // A router that has just closed is ahead of the life that is about to follow.
            if let (Life::Ready, Some(place)) = (snapshot.life, &snapshot.place)
                && !place.speech.has_ended()
            {
                return Ok(place.clone());
            }
        }
        let (answer, result) = oneshot::channel();
        self.ask(Ask::Ready(answer)).await;
        result.await.unwrap_or_else(|_| Err(hub_leaves()))
    }

    /// A new client of the running browser, which is launched if need be. One that is lost just at
    /// this moment is replaced by the next. `admit` decides about the browser that it has become.
    pub async fn connect(
        &self,
        entry: Entry,
        admit: impl Fn(&Place) -> bool,
    ) -> Result<CdpClient, ConnectError> {
        self.connect_named(entry, "", admit).await
    }

    /// The same for a client that calls itself something.
    pub async fn connect_named(
        &self,
        entry: Entry,
        label: &str,
        admit: impl Fn(&Place) -> bool,
    ) -> Result<CdpClient, ConnectError> {
        let mut tries = 2;
        loop {
            tries -= 1;
            let place = self.ready().await?;
            if !admit(&place) {
                return Err(ConnectError::NotAdmitted);
            }
            match place.speech.router()?.connect_named(entry.clone(), label).await {
                Err(CallError::Closed) if tries > 0 => {}
                other => return Ok(other?),
            }
        }
    }

    /// The same for a client that speaks WebDriver BiDi, to a browser that does.
    pub async fn connect_bidi(
        &self,
        label: &str,
        admit: impl Fn(&Place) -> bool,
    ) -> Result<bidi::Client, ConnectError> {
        let mut tries = 2;
        loop {
            tries -= 1;
            let place = self.ready().await?;
            if !admit(&place) {
                return Err(ConnectError::NotAdmitted);
            }
            match place.speech.bidi()?.connect(bidi::Who::Guest(label.to_owned())) {
                Ok(client) => return Ok(client),
                Err(_) if tries > 0 => {}
                Err(_) => return Err(ConnectError::Gone),
            }
        }
    }

    /// Runs it with `spec`. A running browser of the same spec stays; `again` replaces it all the same.
    pub async fn launch(&self, spec: Option<Spec>, again: bool) -> Result<Place, StartError> {
        let (answer, result) = oneshot::channel();
        self.ask(Ask::Launch { spec, again, answer }).await;
        result.await.unwrap_or_else(|_| Err(hub_leaves()))
    }

    /// Ends it, or lets go of it if somebody else runs it.
    pub async fn stop(&self) {
        self.end(false).await;
    }

    /// Ends it; it is a plain launched browser from now on.
    pub async fn forget_spec(&self) {
        self.end(true).await;
    }

    async fn end(&self, forget: bool) {
        let (done, result) = oneshot::channel();
        self.ask(Ask::Stop { forget, done }).await;
        // An error means that the task has ended, and the browser with it.
        let _ = result.await;
    }

    /// Chromium's protocol description for this browser.
    pub async fn protocol(&self) -> Result<Bytes, StartError> {
        self.ready().await?;
        let snapshot = self.snapshot();
        let product = snapshot.version.map(|version| version.product).unwrap_or_default();
        self.backend.protocol(&snapshot.spec, &product).await
    }

    async fn ask(&self, ask: Ask) {
        // The task has ended when nobody receives; the dropped answer tells the asker.
        let _ = self.asks.send(ask).await;
    }
}

/// The answer to everything that is asked too late.
pub fn hub_leaves() -> StartError {
    StartError {
        code: "shutting_down",
        message: "the hub is shutting down".to_owned(),
        hint: "run the command again; it starts a new hub".to_owned(),
    }
}

#[cfg(test)]
mod tests;
