//! `bowline browsers`: what is installed here, and what already runs with remote debugging on.

use bowline_backends::detect::{self, Installed, ThisMachine};
use bowline_backends::running::{self, RunningBrowser};
use serde::Serialize;

use super::Context;
use crate::output::table;

#[derive(Serialize)]
struct Found {
    installed: Vec<Installed>,
    /// With a `DevToolsActivePort` in their profile; the file may be stale.
    debuggable: Vec<RunningBrowser>,
}

pub(super) fn run(context: &Context<'_>) {
    let found =
        Found { installed: detect::detect(&ThisMachine), debuggable: running::find_running(&ThisMachine) };
    context.output.result(&found, text);
}

fn text(found: &Found) -> String {
    if found.installed.is_empty() {
        return "No browser is installed here. On Debian or Ubuntu: apt install chromium".to_owned();
    }
    let rows = found.installed.iter().map(|browser| {
        let version = browser.version.clone().unwrap_or_else(|| "?".to_owned());
        vec![browser.kind.to_string(), version, browser.name.clone(), browser.path.display().to_string()]
    });
    let mut text = table(&["KIND", "VERSION", "NAME", "PATH"], rows.collect());
    for browser in &found.debuggable {
        text.push_str(&format!(
            "\n\n{} may be running with remote debugging on port {}: `bowline attach --auto`",
            browser.kind.name(),
            browser.port
        ));
    }
    text
}
