//! `bowline extension install`: the extension's files, and the native messaging host.

use std::path::PathBuf;

use bowline_hub::files;
use serde::Serialize;

use super::native::register::{self, Registered};
use crate::bundle::{self, Change};
use crate::cli::InstallArgs;
use crate::commands::Context;
use crate::config::Overrides;
use crate::failure::{Failure, exit};

/// Where the extension looks for the hub by itself.
const USUAL_PORT: u16 = 9223;

#[derive(Serialize)]
struct Report {
    path: PathBuf,
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
    if !bundle::is_embedded() {
        return Err(Failure::new(
            exit::FAILED,
            "no_extension",
            "this build of bowline has no extension in it",
        )
        .hint("build it from a tree that has the directory `extension`"));
    }
    let path = context.paths.extension();
    let change = files::private_dir(&context.paths.data).and_then(|()| bundle::install(&path));
    let change = change.map_err(|error| {
        Failure::io("the extension could not be written", &error)
            .hint("BOWLINE_DATA_DIR names another directory")
    })?;
    let config = context.load_config(&Overrides::default())?.config;
    let native = args
        .native
        .then(|| register::register(&context.paths, &bundle::accepted_ids(&config), &args.user_data_dir))
        .transpose()?;
    let (change, from) = match change {
        Change::New => ("new", None),
        Change::Updated { from } => ("updated", from),
        Change::Unchanged => ("unchanged", None),
    };
    let port = Some(config.port).filter(|port| *port != USUAL_PORT);
    let report =
        Report { path, change, version: bundle::version(), from, id: bundle::own_id(), port, native };
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
            format!(
                "The extension in {path} is updated: {from} is now {version}.\nWhere it is loaded already: reload it on the page of extensions (the round arrow on its card).\n"
            )
        }
        _ => format!("The extension ({version}) is in {path} already; nothing has changed.\n"),
    };
    text.push_str(&format!(
        "\nTo load it into a browser:
  1. Open the page of extensions:
       Chrome, Chromium   chrome://extensions
       Edge               edge://extensions
       Brave              brave://extensions
  2. Switch on Developer mode (Chrome, Chromium, Brave: at the top right; Edge: on the left).
  3. Press Load unpacked and choose the directory
       {path}
  4. Pin Bowline to the toolbar, if you like: its icon shows whether it is connected.
"
    ));
    let mut step = 5;
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
