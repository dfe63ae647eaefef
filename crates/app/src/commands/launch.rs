//! `bowline launch` and `bowline restart`.

use std::collections::BTreeMap;
use std::path::Path;

use bowline_backends::detect::BrowserKind;
use bowline_doors::control::{BrowserStatus, LaunchRequest};
use bowline_hub::backend::{DISPLAY_VARIABLES, LaunchSpec, Protocol, Spec};
use bowline_hub::registry::{self, DEFAULT};

use super::Context;
use crate::api::Api;
use crate::cli::LaunchArgs;
use crate::failure::Failure;

pub(super) fn run(context: &Context<'_>, args: LaunchArgs) -> Result<(), Failure> {
    let name = args.name.clone();
    let spec = spec_of(args);
    launch(context, &name, LaunchRequest { spec, again: false })
}

pub(super) fn restart(context: &Context<'_>, name: &str) -> Result<(), Failure> {
    let state = context.hub()?;
    super::endpoint::entry(&state, name)?;
    launch(context, name, LaunchRequest { spec: None, again: true })
}

pub(super) fn launch(context: &Context<'_>, name: &str, request: LaunchRequest) -> Result<(), Failure> {
    // Before it becomes part of a path.
    registry::check_name(name)?;
    let state = context.hub()?;
    let browser = context.block_on(async { Api::new(&state).launch(name, &request).await })?;
    context.output.result(&browser, text);
    Ok(())
}

/// Without any option, what the name stood for stays.
fn spec_of(args: LaunchArgs) -> Option<Spec> {
    let kind_as_name = (args.name != DEFAULT && args.browser.is_none())
        .then(|| args.name.parse::<BrowserKind>().ok())
        .flatten();
    let headless = match (args.headed, args.headless) {
        (true, _) => Some(false),
        (_, true) => Some(true),
        _ => None,
    };
    let spec = LaunchSpec {
        browser: args
            .browser
            .map(|browser| absolute_program(&browser))
            .or(kind_as_name.map(|kind| kind.to_string())),
        profile: args.profile,
        headless,
        no_sandbox: args.no_sandbox.then_some(true),
        args: args.args,
        display: if args.headed { own_display() } else { BTreeMap::new() },
    };
    // A Firefox's name stands for one without being told.
    let implied = kind_as_name.filter(|kind| kind.is_firefox()).map(|kind| kind.to_string());
    let bare = LaunchSpec { browser: implied, ..LaunchSpec::default() };
    (spec != bare).then_some(Spec::Launched(spec))
}

/// Where this command's user sees windows.
fn own_display() -> BTreeMap<String, String> {
    let set = |name: &&str| std::env::var(name).ok().filter(|value| !value.is_empty());
    DISPLAY_VARIABLES.iter().filter_map(|name| Some(((*name).to_owned(), set(name)?))).collect()
}

/// The hub has another working directory, so a path is sent whole.
pub(super) fn absolute_program(browser: &str) -> String {
    let is_path = browser.contains(std::path::MAIN_SEPARATOR) || browser.contains('/');
    if !is_path {
        return browser.to_owned();
    }
    std::path::absolute(Path::new(browser))
        .map_or_else(|_| browser.to_owned(), |path| path.display().to_string())
}

pub(super) fn text(browser: &BrowserStatus) -> String {
    let product = browser.product.as_deref().unwrap_or("browser");
    let pid = browser.pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default();
    // A Firefox has no `/json` to find its WebSocket by.
    let endpoint = match browser.protocol {
        Protocol::Cdp => &browser.endpoint,
        Protocol::Bidi => &browser.ws_endpoint,
    };
    format!("{} is {}: {product}{pid}\n{endpoint}", browser.name, browser.state)
}
