//! `bowline extension`: the user's own browser, through the extension in it.

mod install;
mod native;
mod pair;
mod status;

use std::process::ExitCode;

use bowline_hub::registry;
use serde_json::Value;

use super::Context;
use crate::api::Api;
use crate::cli::ExtensionCommand;
use crate::failure::Failure;

pub(super) fn run(context: &Context<'_>, command: &ExtensionCommand) -> Result<ExitCode, Failure> {
    match command {
        ExtensionCommand::Install(args) => install::run(context, args)?,
        ExtensionCommand::Pair(args) => pair::run(context, args)?,
        ExtensionCommand::Status => status::run(context)?,
        ExtensionCommand::Forget { name } => forget(context, name)?,
        ExtensionCommand::NativeHost { words } => return Ok(native::run(context, words)),
    }
    Ok(ExitCode::SUCCESS)
}

fn forget(context: &Context<'_>, name: &str) -> Result<(), Failure> {
    registry::check_name(name)?;
    let state = context.hub()?;
    let answer: Value =
        context.block_on(async { Api::new(&state).delete(&format!("/api/extensions/{name}")).await })?;
    context.output.result(&answer, |_| format!("{name} is forgotten. In its popup it can be paired again."));
    Ok(())
}
