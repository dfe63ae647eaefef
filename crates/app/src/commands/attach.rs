//! `bowline attach`: a browser that somebody else runs, behind one of our names.

use bowline_backends::attach::{self, Address};
use bowline_doors::control::LaunchRequest;
use bowline_hub::backend::{AttachSpec, Spec};
use bowline_hub::registry::DEFAULT;

use super::{Context, launch};
use crate::cli::AttachArgs;
use crate::failure::{Failure, exit};

pub(super) fn run(context: &Context<'_>, args: AttachArgs) -> Result<(), Failure> {
    let (name, spec) = if args.auto { found(context, args.words)? } else { named(args.words)? };
    launch::launch(context, &name, LaunchRequest { spec: Some(Spec::Attached(spec)), again: false })
}

fn named(mut words: Vec<String>) -> Result<(String, AttachSpec), Failure> {
    let Some(url) = words.pop() else {
        return Err(Failure::new(exit::USAGE, "bad_request", "attach needs the address of a browser")
            .hint("give host:port or a ws:// URL, or --auto to look for a running Chrome"));
    };
    Address::parse(&url)
        .map_err(|error| Failure::new(exit::USAGE, "bad_address", error.to_string()).hint(error.hint()))?;
    Ok((words.pop().unwrap_or_else(|| DEFAULT.to_owned()), AttachSpec { url, profile_dir: None }))
}

fn found(context: &Context<'_>, mut words: Vec<String>) -> Result<(String, AttachSpec), Failure> {
    let name = words.pop().unwrap_or_else(|| DEFAULT.to_owned());
    if !words.is_empty() {
        return Err(Failure::new(exit::USAGE, "bad_request", "with --auto only a name can be given"));
    }
    let found = context.block_on(async { Ok(attach::find_running().await) })?;
    let Some(browser) = found.first() else {
        return Err(Failure::new(exit::NOT_STARTED, "none_running", "no running browser with remote debugging was found").hint(
            "switch it on in Chrome at chrome://inspect/#remote-debugging, or start Chrome with --remote-debugging-port=9222 and a --user-data-dir",
        ));
    };
    context.output.note(format!(
        "Found {} on port {}. If Chrome asks whether to allow remote debugging, allow it.",
        browser.kind.name(),
        browser.port
    ));
    Ok((name, attach::spec_of(browser)))
}
