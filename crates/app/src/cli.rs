//! The command line: one definition feeds the parser, the help and the completions.

mod extension;
mod history;
mod mcp;
mod quick;
mod setup;
mod since;
mod status;
mod verbs;

use clap::{Args, Parser, Subcommand};

pub(crate) use extension::{ExtensionCommand, InstallArgs, PairArgs};
pub(crate) use history::{
    BodyArgs, CdpArgs, ClearArgs, ConsoleArgs, EvalArgs, HarArgs, ListArgs, NetworkArgs, PlaceArgs, TabsArgs,
};
pub(crate) use mcp::McpArgs;
pub(crate) use setup::{HostArgs, Scope, SetupArgs, SetupCommand, SkillArgs};
pub(crate) use since::Since;
pub(crate) use status::Outcome;
pub(crate) use verbs::{Deliver, Spoken, Whose, Wish};

const AFTER_HELP: &str = "\
Examples:
  bowline endpoint                      the URL that never changes (starts the hub)
  bowline launch work --profile work    a second browser that keeps its logins
  bowline mcp                           tools for an agent, over stdio (MCP)
  bowline wrap -- npx @playwright/mcp --cdp-endpoint {cdp_endpoint}
  bowline status                        what runs, and who is connected
  bowline console -f                    what its pages logged, and log now
  bowline open example.com              drive a page: open, snapshot, click, fill, get, ...
  bowline snapshot -i                   what can be acted on, with refs
  bowline click e5                      by a ref, or 'text=Sign in', or CSS
  bowline eval 'document.title'         a value, from the current tab
  bowline extension install             use the browser that you are logged in with
  bowline setup claude                  give an agent its tools; `bowline setup` lists more

Exit codes:
  0  done                     4  the browser did not start or cannot be reached
  1  failed                   5  the hub did not start or cannot be reached
  2  wrong usage or config    6  no browser of that name
  3  no browser is installed  7  nothing matched: no such tab, element or record
  8  timed out                9  the page threw an exception
  `wrap` exits as its command does (128+n for signal n)";

#[derive(Debug, Parser)]
#[command(name = "bowline", version, about, after_help = AFTER_HELP, max_term_width = 100)]
#[command(about = "One CDP endpoint that never changes, before browsers that come, crash and restart")]
pub(crate) struct Cli {
    /// Print the result as JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Who asks: verbs of one session share a current tab, refs and leases [env: BOWLINE_SESSION]
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<String>,

    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// What this process was called with.
    pub(crate) fn read() -> Result<Self, clap::Error> {
        let words: Vec<_> = std::env::args_os().collect();
        quick::read(&words).map_or_else(|| Self::try_parse_from(words), Ok)
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the hub in the foreground (commands start one by themselves)
    #[command(after_help = "Examples:\n  bowline serve\n  bowline serve --port 0 --json")]
    Serve(ServeArgs),
    /// Show the hub, its browsers and their clients
    #[command(
        after_help = "Examples:\n  bowline status\n  bowline status --json | jq '.data.browsers[].state'"
    )]
    Status,
    /// List the browsers installed on this machine
    #[command(after_help = "Examples:\n  bowline browsers\n  bowline browsers --json")]
    Browsers,
    /// Launch a browser, or relaunch it with other options (its port stays)
    #[command(after_help = "Options replace those of an earlier launch as a whole; without any, they stay.

Examples:
  bowline launch                          the default browser, headless, temporary profile
  bowline launch --headed                 with a window
  bowline launch work --profile work      a second one that keeps its logins
  bowline launch --browser brave -- --lang=de https://example.com")]
    Launch(LaunchArgs),
    /// Put a browser that somebody else runs behind a name
    #[command(after_help = "Examples:
  bowline attach 127.0.0.1:9222           the default endpoint now leads there
  bowline attach mine ws://127.0.0.1:9222/devtools/browser/ID
  bowline attach mine --auto              a running Chrome with remote debugging switched on")]
    Attach(AttachArgs),
    /// Stop a browser; the next client starts it again
    #[command(after_help = "Examples:\n  bowline stop\n  bowline stop work --forget\n  bowline stop --all")]
    Stop(StopArgs),
    /// Replace a running browser by a new one; clients reconnect to the same URL
    #[command(after_help = "Examples:\n  bowline restart\n  bowline restart work")]
    Restart(NameArg),
    /// Print the URL to connect to
    #[command(after_help = "Examples:
  bowline endpoint
  bowline endpoint work --ws
  PLAYWRIGHT_MCP_CDP_ENDPOINT=$(bowline endpoint) npx @playwright/mcp")]
    Endpoint(EndpointArgs),
    /// Run a command with the endpoint put into its arguments and environment
    #[command(
        after_help = "Replaces {cdp_port}, {cdp_endpoint} and {cdp_ws}. The hub stays while the command runs.

Examples:
  bowline wrap -- npx @playwright/mcp --cdp-endpoint {cdp_endpoint}
  bowline wrap -- npx chrome-devtools-mcp --browserUrl {cdp_endpoint}
  CDP={cdp_ws} bowline wrap --browser work -- node script.js"
    )]
    Wrap(WrapArgs),
    /// Serve the browsers' tools to an agent over stdio (MCP)
    #[command(
        after_help = "Many may run at once: they share the hub, its browsers and their history. The same is at
http://127.0.0.1:PORT/mcp for hosts that speak HTTP.

Sets: core (default), network, emulation, storage, devtools, playwright, lifecycle, all.

Examples:
  claude mcp add bowline -- bowline mcp
  bowline mcp --browser work --sets core,network
  bowline mcp --session nightly           an agent that keeps its name and tabs"
    )]
    Mcp(McpArgs),
    /// List the tabs of a browser, and how much is remembered of each
    #[command(after_help = "Starts no browser. INDEX, ID, and parts of TITLE and URL name a tab elsewhere.

Examples:
  bowline tabs
  bowline tabs --all                      closed ones and workers too
  bowline tabs --port 9222                of a Chrome that somebody else started")]
    Tabs(TabsArgs),
    /// Show what the pages logged, and what they log from now on
    #[command(after_help = "Times are UTC. Below `--- new ---` is what came after the first look from this
terminal; BOWLINE_CLIENT=NAME makes it a look of somebody else.

Examples:
  bowline console                         all that is remembered, of all tabs
  bowline console 2 --level warn          warnings and errors of the second tab
  bowline console -f --grep 'timeout|ECONN'
  bowline console --since 10m --json | jq '.data.messages[].text'")]
    Console(ConsoleArgs),
    /// Show the requests of the pages, and those that they make from now on
    #[command(after_help = "Times are UTC. Secrets in headers are hidden, unless --reveal is given.

Examples:
  bowline network                         all that is remembered, of all tabs
  bowline network --status 4xx,5xx,failed
  bowline network current -f --type fetch,xhr
  bowline network --url '/api/' --method POST -v
  bowline network --ndjson | jq -r 'select(.duration > 500) | .url'")]
    Network(Box<NetworkArgs>),
    /// Print the body of a response
    #[command(after_help = "Examples:
  bowline body 123                        of the request #123
  bowline body 123 | jq .
  bowline body 124 -o logo.png")]
    Body(BodyArgs),
    /// Print the value of a JavaScript expression; promises are awaited
    #[command(after_help = "A string is printed as it is, other values as a console shows them.

Examples:
  bowline eval 'document.title'
  bowline eval 2 'await fetch(\"/api\").then(r => r.status)'
  bowline eval --file script.js
  echo 'location.href' | bowline eval -
  bowline eval --json 'performance.timing' | jq .data.value")]
    Eval(EvalArgs),
    /// Send a CDP command and print its result
    #[command(after_help = "Commands of Browser, Target, SystemInfo and Tethering go to the browser, all
others to a tab.

Examples:
  bowline cdp Page.reload
  bowline cdp Page.navigate '{\"url\": \"https://example.com\"}' --tab 2
  bowline cdp Browser.getVersion
  bowline cdp --browser firefox browsingContext.reload   a Firefox takes WebDriver BiDi
  echo '{\"expression\": \"1+1\"}' | bowline cdp Runtime.evaluate -")]
    Cdp(CdpArgs),
    #[command(flatten)]
    Verb(Spoken),
    /// Run several commands in order, over one connection
    #[command(
        after_help = "Each command is a line as on the command line, without `bowline`; lines that begin with # are
left out. It stops at the first that fails, or whose answer is no, and exits as that one does.

Examples:
  bowline batch 'open example.com' 'snapshot -i'
  bowline batch --session tests --continue-on-error < steps.txt
  bowline batch --json 'open example.com' 'get title' | jq -c .data"
    )]
    Batch(BatchArgs),
    /// List the ops that verbs, REST and agents can ask for
    #[command(after_help = "Examples:
  bowline ops
  bowline ops click                       its fields
  bowline ops --markdown > docs/ops.md")]
    Ops(OpsArgs),
    /// Write the requests as an HTTP archive (HAR)
    #[command(after_help = "Secrets in headers are hidden, unless --reveal is given.

Examples:
  bowline har -o session.har
  bowline har current --bodies -o page.har
  bowline har | jq '.log.entries | length'")]
    Har(HarArgs),
    /// Forget what was recorded
    #[command(after_help = "Examples:
  bowline clear                           console and requests of all tabs
  bowline clear current --console
  bowline clear --network")]
    Clear(ClearArgs),
    /// Drive the browser that you use yourself, through an extension in it
    #[command(
        subcommand,
        after_help = "Examples:
  bowline extension install               put the extension in place and say how to load it
  bowline extension pair                  then compare the code with the one in its popup
  bowline extension status                which browsers are paired, and which are connected
  bowline endpoint chrome                 the URL of one that is"
    )]
    Extension(ExtensionCommand),
    /// Add Bowline to an agent's configuration, or teach it the command line
    #[command(after_help = "Without a host: which are found here, and which of them have Bowline already.
Nothing else in a file is touched; comments and format stay.

Examples:
  bowline setup                           the hosts, and where each has Bowline
  bowline setup claude                    add the MCP server to Claude Code
  bowline setup zed --dry-run             show the change, write nothing
  bowline setup cursor --remove           take it out again
  bowline setup skill                     a SKILL.md, for agents with a shell")]
    Setup(SetupArgs),
    /// Check everything that Bowline needs and say how to mend it
    #[command(after_help = "Examples:\n  bowline doctor\n  bowline doctor --json")]
    Doctor,
    /// End the hub and the browsers it launched
    #[command(after_help = "Examples:\n  bowline shutdown")]
    Shutdown,
    /// A tour in a few seconds: lazy launch, a click, a crash, the same endpoint
    #[command(after_help = "Examples:\n  bowline demo\n  bowline demo --browser chromium")]
    Demo(DemoArgs),
    /// Show the configuration and where each value comes from
    #[command(
        subcommand,
        after_help = "Examples:\n  bowline config show\n  bowline config example > config.toml"
    )]
    Config(ConfigCommand),
    /// Print a completion script for a shell
    #[command(
        after_help = "Examples:\n  bowline completions bash > ~/.local/share/bash-completion/completions/bowline"
    )]
    Completions {
        /// The shell to print it for
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Port of the hub and the default browser; 0 lets the system choose
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// Leave after this long without clients, such as 5m; 0 = never
    #[arg(long, value_name = "DURATION")]
    pub(crate) idle_timeout: Option<String>,
    /// Browser kind or path for launches that name none
    #[arg(long, value_name = "KIND|PATH")]
    pub(crate) browser: Option<String>,
    /// Take browser actions as plain HTTP too, for trying them out (with the token)
    #[arg(long)]
    pub(crate) debug_http: bool,
    /// Started by another command: announce on stdout, log to the file
    #[arg(long, hide = true)]
    pub(crate) daemon: bool,
}

#[derive(Debug, Args)]
pub(crate) struct NameArg {
    /// Name of the browser
    #[arg(default_value = "default")]
    pub(crate) name: String,
}

#[derive(Debug, Args)]
pub(crate) struct LaunchArgs {
    /// Name of the browser; a kind such as `chromium` also chooses that kind
    #[arg(default_value = "default")]
    pub(crate) name: String,
    /// chrome, edge, chromium, brave, firefox, ... or the path of a program
    #[arg(long, value_name = "KIND|PATH")]
    pub(crate) browser: Option<String>,
    /// Keep the profile under this name (the endpoint then wants the token)
    #[arg(long, value_name = "NAME")]
    pub(crate) profile: Option<String>,
    /// Show a window
    #[arg(long)]
    pub(crate) headed: bool,
    /// No window
    #[arg(long, conflicts_with = "headed")]
    pub(crate) headless: bool,
    /// Run without the browser's sandbox (on by itself for root)
    #[arg(long)]
    pub(crate) no_sandbox: bool,
    /// Further flags for the browser, or pages to open
    #[arg(last = true, value_name = "FLAGS")]
    pub(crate) args: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct AttachArgs {
    /// [NAME] URL: host:port, http://host:port or a ws:// URL
    #[arg(value_name = "[NAME] URL", num_args = 0..=2)]
    pub(crate) words: Vec<String>,
    /// Find a running Chrome that has remote debugging switched on
    #[arg(long)]
    pub(crate) auto: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StopArgs {
    /// Name of the browser
    #[arg(default_value = "default", conflicts_with = "all")]
    pub(crate) name: String,
    /// Stop every browser
    #[arg(long)]
    pub(crate) all: bool,
    /// Also give up its name, options and port
    #[arg(long, conflicts_with = "all")]
    pub(crate) forget: bool,
}

#[derive(Debug, Args)]
pub(crate) struct EndpointArgs {
    /// Name of the browser
    #[arg(default_value = "default")]
    pub(crate) name: String,
    /// Print the WebSocket URL
    #[arg(long)]
    pub(crate) ws: bool,
}

#[derive(Debug, Args)]
pub(crate) struct WrapArgs {
    /// Name of the browser
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub(crate) browser: String,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<std::ffi::OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct BatchArgs {
    /// The commands; read from stdin, one a line, if absent
    #[arg(value_name = "COMMAND")]
    pub(crate) commands: Vec<String>,
    /// Go on after a command that failed; exits 1 if one did
    #[arg(long)]
    pub(crate) continue_on_error: bool,
    #[command(flatten)]
    pub(crate) whose: Whose,
}

#[derive(Debug, Args)]
pub(crate) struct OpsArgs {
    /// Show the fields of this one
    pub(crate) name: Option<String>,
    /// Print all of them as a document
    #[arg(long, conflicts_with = "name")]
    pub(crate) markdown: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Browser kind or path
    #[arg(long, value_name = "KIND|PATH")]
    pub(crate) browser: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the effective values and where each comes from
    #[command(after_help = "Examples:\n  bowline config show\n  BOWLINE_LOG=debug bowline config show")]
    Show,
    /// Print the path of the configuration file
    #[command(after_help = "Examples:\n  bowline config path")]
    Path,
    /// Print an example file with every key
    #[command(after_help = "Examples:\n  bowline config example > ~/.config/bowline/config.toml")]
    Example,
}
