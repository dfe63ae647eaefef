//! What our own commands ask about extensions: who is paired, and the pairing that is open.

use std::time::{Duration, UNIX_EPOCH};

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{delete, get, post};
use bowline_hub::hub::HubError;
use bowline_hub::pairing::{ConfirmError, OPEN_FOR, Paired};
use bowline_hub::registry;
use bowline_wire::pairing::{Key, PROTOCOL, is_instance};

use super::model::{
    ConfirmRequest, ExtensionStatus, ExtensionsStatus, NativeRequest, NativeStatus, PairingRequest,
    PairingStatus,
};
use super::seat::{self, Newcomer};
use crate::control::{self, Control, success};
use crate::extract::{Body, Segments};
use crate::failure::Failure;

pub(crate) fn routes() -> Router<Control> {
    Router::new()
        .route("/extensions", get(list))
        .route("/extensions/pairing", get(pairing).post(open).delete(decline))
        .route("/extensions/pairing/confirm", post(confirm))
        .route("/extensions/native", post(native))
        .route("/extensions/{name}", delete(forget))
}

async fn list(State(control): State<Control>) -> Response {
    let pairings = control.hub.pairings();
    let extensions =
        pairings.all().into_iter().map(|(instance, paired)| status_of(&control, instance, paired));
    success(ExtensionsStatus {
        protocol: PROTOCOL,
        extensions: extensions.collect(),
        stranger: pairings.stranger().map(Into::into),
    })
}

fn status_of(control: &Control, instance: String, paired: Paired) -> ExtensionStatus {
    let guest = control.hub.pairings().guest(&instance);
    let since = guest.as_ref().and_then(|guest| guest.since.duration_since(UNIX_EPOCH).ok());
    let since = since.map(|since| since.as_millis() as u64);
    let Paired { name, browser, version, paired_at, last_seen, refusal, .. } = paired;
    ExtensionStatus {
        name,
        instance,
        browser,
        version,
        connected: guest.is_some(),
        since,
        paired_at,
        last_seen: if guest.is_some() { control::now() } else { last_seen },
        last_refusal: refusal.map(Into::into),
    }
}

async fn pairing(State(control): State<Control>) -> Response {
    success(PairingStatus::from(control.hub.pairings().state()))
}

async fn open(
    State(control): State<Control>,
    Body(request): Body<PairingRequest>,
) -> Result<Response, Failure> {
    if let Some(name) = &request.name {
        registry::check_name(name).map_err(HubError::from)?;
        // One that is paired may be paired again under its name.
        let is_paired = control.hub.pairings().instance_of(name).is_some();
        if !is_paired && control.hub.browser(name).is_ok() {
            let message = format!("there is a browser named `{name}` already");
            let hint = "choose another name";
            return Err(Failure::new(StatusCode::CONFLICT, "name_taken", &message, hint));
        }
    }
    let within = request.seconds.map_or(OPEN_FOR, Duration::from_secs);
    if !control.hub.pairings().open(request.name, within) {
        let hint = "finish it with `bowline extension pair`, or close it: DELETE /api/extensions/pairing";
        let message = "a pairing is open already";
        return Err(Failure::new(StatusCode::CONFLICT, "pairing_open", message, hint));
    }
    Ok(pairing(State(control)).await)
}

async fn confirm(
    State(control): State<Control>,
    Body(request): Body<ConfirmRequest>,
) -> Result<Response, Failure> {
    control.hub.pairings().confirm(&request.code).map_err(|error| {
        let (code, hint) = match error {
            ConfirmError::Closed => ("no_pairing", "open one with `bowline extension pair`"),
            ConfirmError::NoCode => ("no_code", "open the extension's popup first"),
            ConfirmError::OtherCode => (
                "wrong_code",
                "do not pair if terminal and popup show different codes; decline and try again",
            ),
        };
        Failure::new(StatusCode::CONFLICT, code, &error.to_string(), hint)
    })?;
    Ok(pairing(State(control)).await)
}

async fn decline(State(control): State<Control>) -> Response {
    // One that has ended already is as good.
    control.hub.pairings().decline();
    pairing(State(control)).await
}

async fn native(
    State(control): State<Control>,
    Body(request): Body<NativeRequest>,
) -> Result<Response, Failure> {
    let NativeRequest { instance, browser, name } = request;
    let browser = browser.shortened();
    if !is_instance(&instance) {
        let hint = "32 hexadecimal digits in lower case";
        return Err(Failure::bad_request("`instance` is none", hint));
    }
    if let Some(name) = &name {
        registry::check_name(name).map_err(HubError::from)?;
    }
    let key = bowline_hub::auth::random_bytes().map(Key::new).map_err(HubError::NotSaved)?;
    let name = seat::place(&control, Newcomer::in_product(&instance, &browser.name), name.as_deref()).await?;
    let hub = &control.hub;
    hub.pairings().store(&instance, &name, key.clone(), browser).map_err(HubError::NotSaved)?;
    hub.write_state()?;
    Ok(success(NativeStatus { name, key: key.reveal(), port: hub.port() }))
}

/// Gives up the key and, if it still stands for this extension, the browser.
async fn forget(
    State(control): State<Control>,
    Segments(name): Segments<String>,
) -> Result<Response, Failure> {
    let Some(instance) = control.hub.pairings().instance_of(&name) else {
        let message = format!("no extension is paired as `{name}`");
        let hint = "`bowline extension status` lists them";
        return Err(Failure::new(StatusCode::NOT_FOUND, "no_such_browser", &message, hint));
    };
    // First, so that it does not come again while its browser ends.
    control.hub.pairings().forget(&instance).map_err(HubError::NotSaved)?;
    if seat::is_behind(&control.hub, &name, &instance) {
        control::give_up(&control, &name).await?;
    }
    control.hub.write_state()?;
    Ok(success(serde_json::json!({"name": name, "forgotten": true})))
}

/// A browser that is forgotten takes its key with it.
pub(crate) fn forget_key(control: &Control, name: &str) -> Result<(), HubError> {
    let pairings = control.hub.pairings();
    match pairings.instance_of(name).filter(|instance| seat::is_behind(&control.hub, name, instance)) {
        Some(instance) => pairings.forget(&instance).map_err(HubError::NotSaved),
        None => Ok(()),
    }
}
