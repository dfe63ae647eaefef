//! `bowline mcp`: an MCP server on stdin and stdout. Tools are answered for by the hub; this process is a thin client
//! of it, which outlives the hub's restarts.
//!
//! Nothing is waited for before `initialize` and `tools/list` are answered: the hub is found, or started, when the
//! agent has introduced itself.

mod link;

use bowline_doors::mcp::{Options, serve_stdio};
use tokio_util::sync::CancellationToken;

use super::Context;
use crate::cli::McpArgs;
use crate::failure::Failure;
use crate::signals::Signals;

pub(super) fn run(context: &Context<'_>, args: McpArgs) -> Result<(), Failure> {
    let options = Options {
        sets: args.sets,
        browser: args.browser,
        session: args.session,
        allow_lifecycle: args.allow_lifecycle,
    };
    context.block_on(async {
        let mut signals =
            Signals::listen().map_err(|error| Failure::io("signals cannot be listened for", &error))?;
        let stop = CancellationToken::new();
        let (link, keep) = link::open(context.paths.clone(), *context.output, stop.clone());
        let keeping = tokio::spawn(keep);
        let served = tokio::select! {
            served = serve_stdio(link, env!("CARGO_PKG_VERSION"), options, stop.clone()) => served,
            _ = signals.next() => Ok(()),
        };
        stop.cancel();
        let _ = keeping.await;
        served.map_err(|error| Failure::io("the client", &error))
    })
}
