//! `bowline extension status`: which browsers are paired, which are connected, and why not.

use bowline_doors::extension::{ExtensionStatus, ExtensionsStatus};
use serde::Serialize;

use crate::api::Api;
use crate::bundle::{self, Installation, Installed, Package};
use crate::clock;
use crate::commands::Context;
use crate::failure::Failure;
use crate::output::{WARN, table};
use crate::safe_text::one_line;

#[derive(Serialize)]
struct Report {
    /// For Chromium.
    installed: Installation,
    /// The version that is embedded in this binary.
    embedded: Option<String>,
    installed_for_firefox: Installation,
    #[serde(flatten)]
    status: ExtensionsStatus,
}

pub(super) fn run(context: &Context<'_>) -> Result<(), Failure> {
    let state = context.hub()?;
    let status = context.block_on(async { Api::new(&state).get("/api/extensions").await })?;
    let installed = |package| bundle::installation(package, &context.paths.extension(package));
    let report = Report {
        installed: installed(Package::Chrome),
        embedded: Package::Chrome.version(),
        installed_for_firefox: installed(Package::Firefox),
        status,
    };
    context.output.result(&report, text);
    Ok(())
}

fn text(report: &Report) -> String {
    let mut text = installed(report).join("\n");
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

/// One line for Chromium, and one for Firefox; a kind that nobody has asked for is not missing.
fn installed(report: &Report) -> Vec<String> {
    let kinds = [(Package::Chrome, &report.installed), (Package::Firefox, &report.installed_for_firefox)];
    let present: Vec<String> = kinds
        .into_iter()
        .filter(|(_, installed)| installed.state != Installed::Missing)
        .map(|(package, installed)| line(package, installed))
        .collect();
    match present.is_empty() {
        true => vec!["The extension is not installed: bowline extension install".to_owned()],
        false => present,
    }
}

fn line(package: Package, installed: &Installation) -> String {
    let Installation { path, state, version } = installed;
    let (path, version) = (path.display(), version.as_deref().unwrap_or("?"));
    let (whose, flag) = match package {
        Package::Firefox => (" for Firefox", " --firefox"),
        _ => ("", ""),
    };
    match state {
        Installed::Different => format!(
            "{WARN}The extension{whose} {version} in {path} is not that of this bowline ({}):{WARN:#} bowline extension install{flag}",
            package.version().as_deref().unwrap_or("none")
        ),
        Installed::Missing | Installed::Current => format!("The extension{whose} {version} is in {path}"),
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
