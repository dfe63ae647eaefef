//! The arguments of `bowline extension`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum ExtensionCommand {
    /// Write the extension to the data directory and say how to load it
    #[command(after_help = "Run it again after an update of bowline, then reload the extension.

Examples:
  bowline extension install               Chrome, Edge, Brave, Chromium
  bowline extension install --firefox
  bowline extension install --native      pair with one click, without a code")]
    Install(InstallArgs),
    /// Pair a browser that has the extension with the hub
    #[command(after_help = "Opens a pairing for two minutes. Open the extension's popup meanwhile; pair only
if it shows the same code. Without a terminal, give the code of the popup with --code.

Examples:
  bowline extension pair
  bowline extension pair --name work
  bowline extension pair --code 123456")]
    Pair(PairArgs),
    /// List the paired browsers: connected or not, and why
    #[command(after_help = "Examples:
  bowline extension status
  bowline extension status --json | jq '.data.extensions[].connected'")]
    Status,
    /// Give up a pairing: its key, its name and its endpoint
    #[command(after_help = "Examples:\n  bowline extension forget chrome")]
    Forget {
        /// Name of the browser
        name: String,
    },
    /// Speak native messaging with the browser that has started it
    #[command(hide = true)]
    NativeHost {
        /// What the browser gives: the origin of the extension that asks
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct InstallArgs {
    /// For Firefox: a directory, and an .xpi file
    #[arg(long)]
    pub(crate) firefox: bool,
    /// For Safari: the source that Apple's converter takes
    #[arg(long, conflicts_with_all = ["firefox", "native"])]
    pub(crate) safari: bool,
    /// Let the browsers found here pair without a code, through native messaging
    #[arg(long)]
    pub(crate) native: bool,
    /// Also for a browser that runs with this --user-data-dir
    #[arg(long, value_name = "DIR", requires = "native", conflicts_with = "firefox")]
    pub(crate) user_data_dir: Vec<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct PairArgs {
    /// Name for the browser; without one it is called after its product
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The code that the popup shows; then nothing is asked
    #[arg(long, value_name = "CODE")]
    pub(crate) code: Option<String>,
    /// How long to wait, such as 30s; at most two minutes
    #[arg(long, value_name = "DURATION")]
    pub(crate) timeout: Option<String>,
}
