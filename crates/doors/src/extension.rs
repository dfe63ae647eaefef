//! The door for the extension in a person's browser: `/extension` on the hub's own port.
//!
//! `guard` has let the origin of our extension in, and no other. What comes through here has proved in
//! the handshake that it has the key; from then on its frames go to the backend unread.

mod api;
mod handshake;
mod model;
mod pump;
mod seat;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bowline_hub::Life;
use bowline_hub::extensions::{Relay, Visitor};
use bowline_hub::pairing::{Guest, Pulse};
use bowline_wire::pairing::{PROTOCOL, is_instance};
use hyper::upgrade::OnUpgrade;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::control::Control;
use crate::upgrade::{self, Handshake};

pub use model::{
    ConfirmRequest, ExtensionStatus, ExtensionsStatus, NativeRequest, NativeStatus, PairingRequest,
    PairingStatus, RefusalStatus,
};

pub(crate) use api::{forget_key, routes};
pub(crate) use seat::{NotClear, is_given_away, own_browser};

/// The path that the extension connects to.
pub(crate) const PATH: &str = "/extension";

/// A connection of the same installation that gives no sign of life for so long gives way.
const GIVES_WAY: Duration = Duration::from_secs(1);
/// What an extension may send in all before it is welcome.
const BEFORE_WELCOME: usize = 64 << 10;

/// `port` is that of the listener which has the request.
pub(crate) async fn handle(State(control): State<Control>, port: u16, mut request: Request) -> Response {
    // Not a use of the hub: an extension that is not let in knocks again and again.
    let answer = answer(&control, port, &mut request).await;
    with_origin(answer, request.headers())
}

async fn answer(control: &Control, port: u16, request: &mut Request) -> Response {
    let query = request.uri().query().unwrap_or_default();
    let instance = query.split('&').find_map(|pair| pair.strip_prefix("instance=")).unwrap_or_default();
    if !is_instance(instance) {
        let message = "`instance` must be 32 hexadecimal digits in lower case";
        return (StatusCode::BAD_REQUEST, message).into_response();
    }
    let instance = instance.to_owned();
    if control.hub.pairings().is_alive(&instance, GIVES_WAY).await {
        let message = "This browser is connected already, by another copy of the extension or a second profile with its data.";
        return (StatusCode::CONFLICT, message).into_response();
    }
    let Some(handshake) = Handshake::of(request) else {
        return axum::Json(json!({"bowline": control.hub.version(), "protocol": PROTOCOL})).into_response();
    };
    let (response, on_upgrade) = handshake.accept();
    let control = control.clone();
    let tasks = control.listeners.tasks().clone();
    tasks.spawn(async move { attend(&control, on_upgrade, &instance, port).await });
    response
}

/// An extension without a permission for our address may read the answer all the same; nobody else
/// got this far.
fn with_origin(mut response: Response, headers: &HeaderMap) -> Response {
    if let Some(origin) = headers.get(header::ORIGIN) {
        response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        response.headers_mut().insert(header::VARY, HeaderValue::from_static("Origin"));
    }
    response
}

/// One connection, from the upgrade to its end.
async fn attend(control: &Control, on_upgrade: OnUpgrade, instance: &str, port: u16) {
    let hub = &control.hub;
    let mut socket = match upgrade::socket(on_upgrade, control.listeners.max_message(), None).await {
        Ok(socket) => socket,
        Err(error) => return tracing::debug!(%error, "an extension left during its upgrade"),
    };
    socket.get_mut().limit(BEFORE_WELCOME);
    let shutdown = hub.shutdown_token();
    let shaken = tokio::select! {
        shaken = handshake::run(control, &mut socket, instance, port) => shaken,
        () = shutdown.cancelled() => Err(handshake::Ended::HubLeaves),
    };
    let admitted = match shaken {
        Ok(admitted) => admitted,
        Err(ended) => return handshake::turn_away(control, socket, instance, ended).await,
    };
    socket.get_mut().lift_limit();
    let _held = hub.hold();
    let handshake::Admitted { name, hello } = admitted;
    let (pulse, dismissed) = (Arc::<Pulse>::default(), CancellationToken::new());
    let guest = Guest {
        since: SystemTime::now(),
        version: hello.version.clone(),
        browser: hello.browser.clone(),
        pulse: pulse.clone(),
        dismissed: dismissed.clone(),
    };
    let ticket = hub.pairings().enter(instance, guest);
    note_seen(control, instance, &hello);
    tracing::info!(name, version = hello.version, browser = hello.browser.name, "an extension is connected");
    let (relay, side) = Relay::pair(Visitor {
        instance: instance.to_owned(),
        browser: hello.browser.name.clone(),
        browser_version: hello.browser.version.clone(),
        user_agent: hello.browser.user_agent.clone(),
        version: hello.version.clone(),
        speaks: hello.speaks,
    });
    hub.extensions().arrive(relay);
    make_ready(control, &name);
    let ends = pump::Ends { dismissed: &dismissed, shutdown: &shutdown };
    let is_paired = || hub.pairings().key_of(instance).is_some();
    let withdraw = || hub.extensions().withdraw(instance);
    let reason = pump::run(socket, side, &pulse, ends, is_paired, withdraw).await;
    tracing::info!(name, reason, "an extension has left");
    hub.pairings().leave(instance, ticket);
    note_seen(control, instance, &hello);
}

fn note_seen(control: &Control, instance: &str, hello: &bowline_wire::pairing::Hello) {
    if let Err(error) = control.hub.pairings().seen(instance, &hello.version, &hello.browser) {
        tracing::warn!(%error, "when an extension was last seen could not be saved");
    }
}

/// The backend takes the connection at once, unless somebody has stopped this browser: then it waits
/// for the next client.
fn make_ready(control: &Control, name: &str) {
    let Ok(browser) = control.hub.browser(name) else { return };
    if browser.snapshot().life == Life::Stopped {
        return;
    }
    control.listeners.tasks().spawn(async move {
        if let Err(error) = browser.ready().await {
            tracing::warn!(name = browser.name(), %error, "the browser behind an extension is not ready");
        }
    });
}
