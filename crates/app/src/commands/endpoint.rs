//! `bowline endpoint`: the URL of a browser. For a known name it reads the state file alone, so that it
//! is quick.

use bowline_doors::control::{self, BrowserStatus};
use bowline_hub::registry;
use bowline_hub::statefile::{BrowserEntry, State};
use serde::Serialize;

use super::Context;
use crate::api::Api;
use crate::cli::EndpointArgs;
use crate::failure::{Failure, exit};

#[derive(Serialize)]
pub(super) struct Endpoint {
    pub(super) name: String,
    pub(super) port: u16,
    pub(super) endpoint: String,
    pub(super) ws_endpoint: String,
    pub(super) needs_token: bool,
}

pub(super) fn run(context: &Context<'_>, args: &EndpointArgs) -> Result<(), Failure> {
    let state = context.hub()?;
    let endpoint = of(context, &state, &args.name)?;
    context.output.result(&endpoint, |endpoint| {
        if args.ws { endpoint.ws_endpoint.clone() } else { endpoint.endpoint.clone() }
    });
    Ok(())
}

/// The endpoint of a name; a new name becomes known, and its first client launches it.
pub(super) fn of(context: &Context<'_>, state: &State, name: &str) -> Result<Endpoint, Failure> {
    if let Ok(browser) = entry(state, name) {
        let token = browser.needs_token.then_some(state.token.as_str());
        let (endpoint, ws_endpoint) = control::endpoints(browser.port, token, &browser.id, browser.protocol);
        let (name, port, needs_token) = (name.to_owned(), browser.port, browser.needs_token);
        return Ok(Endpoint { name, port, endpoint, ws_endpoint, needs_token });
    }
    registry::check_name(name)?;
    let browser = context.block_on(async { Api::new(state).define(name).await })?;
    context.output.faint(format!(
        "`{name}` is a new name: a browser with a temporary profile, which its first client launches."
    ));
    let BrowserStatus { name, port, endpoint, ws_endpoint, needs_token, .. } = browser;
    Ok(Endpoint { name, port, endpoint, ws_endpoint, needs_token })
}

pub(super) fn entry<'a>(state: &'a State, name: &str) -> Result<&'a BrowserEntry, Failure> {
    state.browsers.iter().find(|browser| browser.name == name).ok_or_else(|| {
        let known: Vec<&str> = state.browsers.iter().map(|browser| browser.name.as_str()).collect();
        Failure::new(exit::NO_SUCH_NAME, "no_such_browser", format!("there is no browser named `{name}`"))
            .hint(format!("known: {}; `bowline launch {name}` makes one", known.join(", ")))
    })
}
