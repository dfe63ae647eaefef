//! `bowline status`: what runs, and who is connected. Starts nothing but the hub.

use bowline_doors::control::{BrowserStatus, HubStatus, RecorderStatus};
use bowline_hub::Life;

use super::Context;
use crate::api::Api;
use crate::failure::Failure;
use crate::output::{WARN, table};

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
    lines.push(history(&status.recorder));
    let reasons = status.browsers.iter().filter(|browser| browser.state == Life::Lost);
    lines.extend(
        reasons.filter_map(|browser| {
            browser.reason.as_ref().map(|reason| format!("\n{}: {reason}", browser.name))
        }),
    );
    lines.join("\n")
}

fn history(recorder: &RecorderStatus) -> String {
    let tabs = format!("{} open and {} closed tabs", recorder.open_tabs, recorder.closed_tabs);
    let size = super::history::size(recorder.bytes as u64);
    let lost = match recorder.lost {
        0 => String::new(),
        lost => format!("; {lost} records were lost when the last hub was killed"),
    };
    match (recorder.kept_in.as_str(), &recorder.reason) {
        ("degraded", reason) => {
            let reason = reason.as_deref().unwrap_or("unknown");
            format!("\nhistory: {tabs}, {size}; {WARN}in memory only: {reason}{WARN:#}{lost}")
        }
        (kept_in, _) => {
            let kept_where = if kept_in == "disk" { "on disk".to_owned() } else { format!("in {kept_in}") };
            format!("\nhistory: {tabs}, {size}, kept {kept_where}{lost}")
        }
    }
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
