//! The arguments of `bowline mcp`.

use bowline_doors::mcp::Sets;
use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// Browser to use unless a call names another
    #[arg(long, value_name = "NAME")]
    pub(crate) browser: Option<String>,
    /// Tools to offer from the start, by set; more can be switched on later
    #[arg(long, value_name = "SETS", default_value = "core")]
    pub(crate) sets: Sets,
    /// Name of the agent; without it, one is made of the client's name
    #[arg(long, value_name = "NAME", visible_alias = "label")]
    pub(crate) session: Option<String>,
    /// Let the agent stop and restart browsers that others use too
    #[arg(long)]
    pub(crate) allow_lifecycle: bool,
}
