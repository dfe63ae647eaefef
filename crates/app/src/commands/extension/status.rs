//! `bowline extension status`: which browsers are paired, which are connected, and why not.

use bowline_doors::extension::{ExtensionStatus, ExtensionsStatus};
use serde::Serialize;

use crate::api::Api;
use crate::bundle::{self, Installation, Installed};
use crate::clock;
use crate::commands::Context;
use crate::failure::Failure;
use crate::output::{WARN, table};
use crate::safe_text::one_line;

#[derive(Serialize)]
struct Report {
    installed: Installation,
    /// The version that is embedded in this binary.
    embedded: Option<String>,
    #[serde(flatten)]
    status: ExtensionsStatus,
}

pub(super) fn run(context: &Context<'_>) -> Result<(), Failure> {
    let state = context.hub()?;
    let status = context.block_on(async { Api::new(&state).get("/api/extensions").await })?;
    let installed = bundle::installation(&context.paths.extension());
    let report = Report { installed, embedded: bundle::version(), status };
    context.output.result(&report, text);
    Ok(())
}

fn text(report: &Report) -> String {
    let mut text = installed(report);
    let extensions = &report.status.extensions;
    if extensions.is_empty() {
        text.push_str("\n\nNo browser is paired: bowline extension pair");
    } else {
        let rows = extensions.iter().map(row).collect();
        text.push_str("\n\n");
        text.push_str(&table(&["NAME", "BROWSER", "EXTENSION", "STATE", "LAST SEEN"], rows));
    }
    for extension in extensions {
        if let Some(refusal) = &extension.last_refusal {
            text.push_str(&format!("\n\n{}: {}", extension.name, one_line(&refusal.message)));
        }
    }
    if let Some(refusal) = &report.status.stranger {
        let at = clock::shown(refusal.at as f64, clock::now());
        text.push_str(&format!("\n\nA browser was turned away at {at}: {}", one_line(&refusal.message)));
    }
    text
}

fn installed(report: &Report) -> String {
    let Installation { path, state, version } = &report.installed;
    let (path, version) = (path.display(), version.as_deref().unwrap_or("?"));
    match state {
        Installed::Missing => "The extension is not installed: bowline extension install".to_owned(),
        Installed::Current => format!("The extension {version} is in {path}"),
        Installed::Different => format!(
            "{WARN}The extension {version} in {path} is not that of this bowline ({}):{WARN:#} bowline extension install",
            report.embedded.as_deref().unwrap_or("none")
        ),
    }
}

fn row(extension: &ExtensionStatus) -> Vec<String> {
    let now = clock::now();
    let browser = format!("{} {}", extension.browser.name, extension.browser.version);
    let version = if extension.version.is_empty() { "-" } else { &extension.version };
    let (state, seen) = if extension.connected {
        ("connected", "now".to_owned())
    } else {
        ("not connected", clock::shown(extension.last_seen as f64, now))
    };
    vec![
        extension.name.clone(),
        one_line(browser.trim()).into_owned(),
        one_line(version).into_owned(),
        state.to_owned(),
        seen,
    ]
}
