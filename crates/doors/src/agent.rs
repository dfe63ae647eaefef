//! The door for agents: `/agent`, a WebSocket that takes `{id, action, payload, browser}` and answers
//! `{id, result}` or `{id, error}`.
//!
//! An agent has a name (`hello`), a current tab and leases of its own. An id is safe to send again after a lost
//! connection: the answer is repeated, the action is not.

mod actions;
mod answers;
mod connection;
mod events;
mod visitor;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use bowline_hub::Hub;
use bowline_ops::Ops;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::guard;
use crate::route::Route;
use crate::slot::Slots;
use crate::upgrade::{self, Handshake};

use answers::Answers;
pub(crate) use visitor::{Arrival, Visitor, Work};

/// How often what has been left behind is looked for.
const SWEEP: Duration = Duration::from_secs(10);

/// What all agents share.
pub(crate) struct Desk {
    ops: Ops,
    slots: Arc<Slots>,
    answers: Arc<Answers>,
    tasks: TaskTracker,
    max_message: usize,
    /// Tells this hub from the one before it.
    instance: String,
}

impl Desk {
    pub(crate) fn new(ops: Ops, slots: Arc<Slots>, tasks: TaskTracker, max_message: usize) -> Arc<Self> {
        let instance = random_name::<16>();
        Arc::new(Self { ops, slots, answers: Arc::default(), tasks, max_message, instance })
    }

    pub(crate) fn hub(&self) -> &Arc<Hub> {
        self.ops.hub()
    }

    pub(crate) fn max_message(&self) -> usize {
        self.max_message
    }

    /// Lets go of agents that have left, and of old answers, until told to end.
    pub(crate) async fn sweep(self: Arc<Self>, ended: CancellationToken) {
        while ended.run_until_cancelled(tokio::time::sleep(SWEEP)).await.is_some() {
            self.ops.sweep();
            self.answers.sweep();
        }
    }
}

/// As many hexadecimal digits that nobody can guess.
pub(crate) fn random_name<const DIGITS: usize>() -> String {
    let bytes = bowline_hub::auth::random_bytes().unwrap_or_default();
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| char::from(b"0123456789abcdef"[digit as usize]))
        .take(DIGITS)
        .collect()
}

/// The paths under which a door with a token is found: as it is, and with token and browser before it.
pub(crate) fn paths(path: &str) -> [String; 4] {
    [
        path.to_owned(),
        format!("/b/{{name}}{path}"),
        format!("/t/{{token}}{path}"),
        format!("/t/{{token}}/b/{{name}}{path}"),
    ]
}

pub(crate) fn routes(desk: Arc<Desk>) -> Router<()> {
    let mut router = Router::new();
    for path in paths("/agent") {
        router = router.route(&path, any(handle));
    }
    router.with_state(desk)
}

async fn handle(State(desk): State<Arc<Desk>>, mut request: Request) -> Response {
    let hub = desk.hub();
    hub.touch();
    let uri = request.uri().clone();
    let route = Route::parse(uri.path());
    if !guard::is_authorized(hub.token(), route.token, request.headers(), uri.query()) {
        return guard::unauthorized("This door wants the token; the state file has it.");
    }
    let browser = route.browser.map(str::to_owned);
    let Some(handshake) = Handshake::of(&mut request) else {
        return (StatusCode::BAD_REQUEST, "/agent is a WebSocket\n").into_response();
    };
    let (response, on_upgrade) = handshake.accept();
    let tasks = desk.tasks.clone();
    tasks.spawn(async move {
        match upgrade::socket(on_upgrade, desk.max_message, None).await {
            Ok(socket) => connection::attend(desk, socket, browser).await,
            Err(error) => tracing::debug!(%error, "an agent left during its handshake"),
        }
    });
    response
}
