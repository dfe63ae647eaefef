//! `bowline extension install`: the extension's files, and the native messaging host.

mod steps;

use std::path::PathBuf;

use bowline_hub::files;
use serde::Serialize;

use super::native::register::{self, Registered};
use crate::bundle::{self, Change, Package};
use crate::cli::InstallArgs;
use crate::commands::Context;
use crate::config::Overrides;
use crate::failure::{Failure, exit};

/// Where the extension looks for the hub by itself.
const USUAL_PORT: u16 = 9223;

#[derive(Serialize)]
struct Report {
    package: Package,
    path: PathBuf,
    /// The same in one file, for a Firefox that keeps it.
    #[serde(skip_serializing_if = "Option::is_none")]
    archive: Option<PathBuf>,
    /// `new`, `updated` or `unchanged`.
    change: &'static str,
    version: Option<String>,
    /// The version that was there before.
    from: Option<String>,
    id: Option<String>,
    /// Where the hub listens, if the extension has to be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    port: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    native: Option<Registered>,
}

pub(super) fn run(context: &Context<'_>, args: &InstallArgs) -> Result<(), Failure> {
    let package = match (args.firefox, args.safari) {
        (true, _) => Package::Firefox,
        (_, true) => Package::Safari,
        _ => Package::Chrome,
    };
    if !package.is_embedded() {
        return Err(Failure::new(
            exit::FAILED,
            "no_extension",
            "this build of bowline does not have this extension in it",
        )
        .hint("build it from a tree that has the directory `extension`"));
    }
    let path = context.paths.extension(package);
    let archive = (package == Package::Firefox).then(|| context.paths.extension_archive());
    let written = files::private_dir(&context.paths.data)
        .and_then(|()| bundle::install(package, &path))
        .and_then(|change| match &archive {
            Some(archive) => files::write_private(archive, &package.archive()).map(|()| change),
            None => Ok(change),
        });
    let change = written.map_err(|error| {
        Failure::io("the extension could not be written", &error)
            .hint("BOWLINE_DATA_DIR names another directory")
    })?;
    let config = context.load_config(&Overrides::default())?.config;
    let native = args.native.then(|| match package {
        Package::Firefox => register::for_firefox(&context.paths),
        _ => register::for_chromium(&context.paths, &bundle::accepted_ids(&config), &args.user_data_dir),
    });
    let native = native.transpose()?;
    let (change, from) = match change {
        Change::New => ("new", None),
        Change::Updated { from } => ("updated", from),
        Change::Unchanged => ("unchanged", None),
    };
    let port = Some(config.port).filter(|port| *port != USUAL_PORT);
    let (version, id) = (package.version(), package.id());
    let report = Report { package, path, archive, change, version, from, id, port, native };
    context.output.result(&report, text);
    Ok(())
}

fn text(report: &Report) -> String {
    let version = report.version.as_deref().unwrap_or("?");
    let path = report.path.display();
    let mut text = match report.change {
        "new" => format!("The extension ({version}) is in {path}\n"),
        "updated" => {
            let from = report.from.as_deref().unwrap_or("another version");
            let again = steps::again(report.package);
            format!(
                "The extension in {path} is updated: {from} is now {version}.\nWhere it is loaded already: {again}.\n"
            )
        }
        _ => format!("The extension ({version}) is in {path} already; nothing has changed.\n"),
    };
    let (loading, mut step) = steps::loading(report.package, &report.path, report.archive.as_deref());
    text.push_str(&loading);
    if let Some(port) = report.port {
        let address =
            if port == 0 { "that `bowline status` prints".to_owned() } else { format!("127.0.0.1:{port}") };
        text.push_str(&format!("  {step}. In its popup, set the hub's address to the one {address}.\n"));
        step += 1;
    }
    match &report.native {
        None => text.push_str(&format!("  {step}. Pair it:  bowline extension pair")),
        Some(native) => {
            text.push_str(&format!("  {step}. In its popup, press Pair with one click.\n\n"));
            for manifest in &native.manifests {
                text.push_str(&format!(
                    "Registered with {} ({})\n",
                    manifest.browser,
                    manifest.path.display()
                ));
            }
            for command in &native.steps {
                text.push_str(&format!("Run, to register it:  {command}\n"));
            }
        }
    }
    text.trim_end().to_owned()
}
