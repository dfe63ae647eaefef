//! `bowline setup`: puts the MCP server into the configuration of a host, such as Claude Code or Zed,
//! without touching the rest of it, and writes the skill.

mod diff;
mod document;
mod entry;
mod file;
mod host;
mod hosts;
mod jsonc;
mod list;
mod place;
mod skill;
mod toml;

use super::Context;
use crate::cli::{Scope, SetupArgs, SetupCommand};
use crate::failure::Failure;
use place::Place;

pub(super) fn run(context: &Context<'_>, args: &SetupArgs) -> Result<(), Failure> {
    let place = Place::here()?;
    let (host, args, scope) = match &args.command {
        None => return list::run(context, &place),
        Some(SetupCommand::Skill(args)) => return skill::run(context, &place, args),
        Some(SetupCommand::Claude(args)) => (&hosts::CLAUDE, &args.host, args.scope),
        Some(SetupCommand::ClaudeDesktop(args)) => (&hosts::CLAUDE_DESKTOP, args, Scope::User),
        Some(SetupCommand::Cursor(args)) => (&hosts::CURSOR, &args.host, args.scope),
        Some(SetupCommand::Vscode(args)) => (&hosts::VSCODE, &args.host, args.scope),
        Some(SetupCommand::Codex(args)) => (&hosts::CODEX, &args.host, args.scope),
        Some(SetupCommand::Gemini(args)) => (&hosts::GEMINI, &args.host, args.scope),
        Some(SetupCommand::Windsurf(args)) => (&hosts::WINDSURF, args, Scope::User),
        Some(SetupCommand::Zed(args)) => (&hosts::ZED, args, Scope::User),
    };
    host::run(context, &place, host, scope, args)
}
