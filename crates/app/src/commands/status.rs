//! `bowline status`: what runs, and who is connected. Starts nothing but the hub.

use bowline_doors::control::{BrowserStatus, HubStatus};
use bowline_hub::Life;

use super::Context;
use crate::api::Api;
use crate::failure::Failure;
use crate::output::table;

pub(super) fn run(context: &Context<'_>) -> Result<(), Failure> {
    let state = context.hub()?;
    let status = context.block_on(async { Api::new(&state).status().await })?;
    context.output.result(&status, text);
    Ok(())
}

fn text(status: &HubStatus) -> String {
    let mut lines = vec![format!(
        "bowline {} at http://127.0.0.1:{} (pid {})\n",
        status.version, status.port, status.pid
    )];
    let rows = status.browsers.iter().map(row).collect();
    lines.push(table(&["NAME", "STATE", "PORT", "CLIENTS", "BROWSER"], rows));
    let reasons = status.browsers.iter().filter(|browser| browser.state == Life::Lost);
    lines.extend(
        reasons.filter_map(|browser| {
            browser.reason.as_ref().map(|reason| format!("\n{}: {reason}", browser.name))
        }),
    );
    lines.join("\n")
}

fn row(browser: &BrowserStatus) -> Vec<String> {
    let what = match (&browser.product, browser.pid) {
        (Some(product), Some(pid)) => format!("{product} (pid {pid})"),
        (Some(product), None) => format!("{product} ({})", browser.backend),
        (None, _) => browser.backend.clone(),
    };
    let key = if browser.needs_token { ", wants the token" } else { "" };
    vec![
        browser.name.clone(),
        browser.state.to_string(),
        browser.port.to_string(),
        browser.clients.to_string(),
        format!("{what}{key}"),
    ]
}
