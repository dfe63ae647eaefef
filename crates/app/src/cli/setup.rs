//! The arguments of `bowline setup`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct SetupArgs {
    #[command(subcommand)]
    pub(crate) command: Option<SetupCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SetupCommand {
    /// Claude Code: ~/.claude.json, or ./.mcp.json
    #[command(after_help = "Examples:
  bowline setup claude
  bowline setup claude --scope project    for all who work on this project
  bowline setup claude --remove")]
    Claude(ScopedArgs),
    /// Claude Desktop: claude_desktop_config.json
    #[command(
        after_help = "Examples:\n  bowline setup claude-desktop\n  bowline setup claude-desktop --dry-run"
    )]
    ClaudeDesktop(HostArgs),
    /// Cursor: ~/.cursor/mcp.json, or ./.cursor/mcp.json
    #[command(after_help = "Examples:\n  bowline setup cursor\n  bowline setup cursor --scope project")]
    Cursor(ScopedArgs),
    /// VS Code: mcp.json of the user's profile, or ./.vscode/mcp.json
    #[command(after_help = "Examples:\n  bowline setup vscode\n  bowline setup vscode --scope project")]
    Vscode(ScopedArgs),
    /// Codex: ~/.codex/config.toml, or ./.codex/config.toml
    #[command(after_help = "Examples:\n  bowline setup codex\n  bowline setup codex --dry-run")]
    Codex(ScopedArgs),
    /// Gemini CLI: ~/.gemini/settings.json, or ./.gemini/settings.json
    #[command(after_help = "Examples:\n  bowline setup gemini\n  bowline setup gemini --scope project")]
    Gemini(ScopedArgs),
    /// Windsurf: ~/.codeium/windsurf/mcp_config.json
    #[command(after_help = "Examples:\n  bowline setup windsurf\n  bowline setup windsurf --remove")]
    Windsurf(HostArgs),
    /// Zed: settings.json, with its comments kept
    #[command(after_help = "Examples:\n  bowline setup zed\n  bowline setup zed --dry-run")]
    Zed(HostArgs),
    /// Write a SKILL.md that teaches an agent this command line
    #[command(after_help = "A skill that was edited by hand is not overwritten, unless --force is given.

Examples:
  bowline setup skill                     ~/.claude/skills/bowline/SKILL.md
  bowline setup skill --scope project     ./.claude/skills/bowline/SKILL.md
  bowline setup skill --dir ~/.codex/skills/bowline
  bowline setup skill --print | less")]
    Skill(SkillArgs),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scope {
    #[default]
    User,
    Project,
}

#[derive(Debug, Args)]
pub(crate) struct HostArgs {
    /// Show the file and the change, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Take the server out again
    #[arg(long, conflicts_with_all = ["sets", "browser"])]
    pub(crate) remove: bool,
    /// Name of the server in the file
    #[arg(long, default_value = "bowline")]
    pub(crate) name: String,
    /// Sets of tools that the server offers, for `bowline mcp --sets`
    #[arg(long, value_name = "SETS")]
    pub(crate) sets: Option<String>,
    /// Name of the browser that the server uses, for `bowline mcp --browser`
    #[arg(long, value_name = "NAME")]
    pub(crate) browser: Option<String>,
    /// Also replace or remove a server of that name that is not Bowline
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ScopedArgs {
    #[command(flatten)]
    pub(crate) host: HostArgs,
    /// For you everywhere, or for the project in this directory
    #[arg(long, value_enum, default_value_t)]
    pub(crate) scope: Scope,
}

#[derive(Debug, Args)]
pub(crate) struct SkillArgs {
    /// Directory to write SKILL.md to
    #[arg(long, value_name = "DIR", conflicts_with = "scope")]
    pub(crate) dir: Option<PathBuf>,
    /// For you everywhere, or for the project in this directory
    #[arg(long, value_enum, default_value_t)]
    pub(crate) scope: Scope,
    /// Print the text, and write nothing
    #[arg(long)]
    pub(crate) print: bool,
    /// Say what would be done, and write nothing
    #[arg(long, conflicts_with = "print")]
    pub(crate) dry_run: bool,
    /// Overwrite a skill that was edited by hand
    #[arg(long)]
    pub(crate) force: bool,
}
