//! One file per command; this one decides which runs and gives it what it needs.

mod attach;
mod batch;
mod body;
mod browsers;
mod cdp;
mod clear;
mod config;
mod console;
mod demo;
mod doctor;
mod endpoint;
mod eval;
mod extension;
mod har;
mod history;
mod launch;
mod mcp;
mod network;
mod ops;
mod setup;
mod shutdown;
mod status;
mod stop;
mod tabs;
mod verbs;
mod wrap;

use std::process::ExitCode;

use bowline_hub::statefile::State;
use clap::CommandFactory;
use serde_json::json;

use crate::api::NO_HUB;
use crate::cli::{Cli, Command, ServeArgs};
use crate::config::{Config, Loaded, Overrides};
use crate::failure::{Failure, exit};
use crate::output::{Output, WARN};
use crate::paths::Paths;
use crate::serve::{self, Mode};
use crate::{config as settings, find_hub};

/// The code of the failure to find a hub where none may be started.
pub(crate) const NO_AUTOSTART: &str = "no_autostart";

/// The session, where no option names one.
const SESSION: &str = "BOWLINE_SESSION";

/// What most commands need.
pub(crate) struct Context<'a> {
    pub(crate) paths: Paths,
    pub(crate) output: &'a Output,
    /// Who asks, where the command itself does not say.
    session: Option<String>,
}

impl Context<'_> {
    /// The session that asks, as a header can say it.
    pub(crate) fn session<'a>(&'a self, own: Option<&'a str>) -> Result<Option<&'a str>, Failure> {
        match own.or(self.session.as_deref()).filter(|name| !name.trim().is_empty()) {
            Some(name) if name.contains(char::is_control) => {
                Err(Failure::usage("the session's name has a control character in it"))
            }
            name => Ok(name),
        }
    }

    /// The hub; started if none runs, unless the configuration says not to.
    pub(crate) fn hub(&self) -> Result<State, Failure> {
        if let Some(state) = self.running_hub()? {
            return Ok(state);
        }
        // Read only now: a command that finds a hub is not slowed down by it.
        if !self.load_config(&Overrides::default())?.config.autostart {
            return Err(Failure::new(exit::NO_HUB, NO_AUTOSTART, "no hub runs, and `hub.autostart` is off")
                .hint("start one with `bowline serve`"));
        }
        find_hub::running_or_started(&self.paths, *self.output)
    }

    /// Does what waits for locks and processes, such as `hub`, while what else is polled goes on.
    pub(crate) async fn meanwhile<T: Send + 'static>(
        &self,
        work: fn(&Context<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let (paths, output) = (self.paths.clone(), *self.output);
        let done =
            tokio::task::spawn_blocking(move || work(&Context { paths, output: &output, session: None }))
                .await;
        done.unwrap_or_else(|_| Err(Failure::new(exit::NO_HUB, NO_HUB, "the hub could not be looked for")))
    }

    pub(crate) fn running_hub(&self) -> Result<Option<State>, Failure> {
        find_hub::running(&self.paths)
    }

    pub(crate) fn load_config(&self, flags: &Overrides) -> Result<Loaded, Failure> {
        let text = settings::read_file(&self.paths.config_file)?;
        let file = text.as_deref().map(|text| (self.paths.config_file.as_path(), text));
        // What is not UTF-8 can be nobody's setting; it belongs to another program.
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        Ok(settings::load(file, variables, flags)?)
    }

    /// The configuration, or the defaults if it cannot be read; why not was said already.
    pub(crate) fn config_or_defaults(&self) -> Result<Config, Failure> {
        match self.load_config(&Overrides::default()) {
            Ok(loaded) => Ok(loaded.config),
            Err(_) => Ok(settings::load(None, [], &Overrides::default())?.config),
        }
    }

    /// Runs what waits for the network, on one thread. When the result is there, nothing else is waited
    /// for: a thread that still starts a hub must not keep a command that is done.
    pub(crate) fn block_on<T>(&self, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Failure::io("the runtime", &error))?;
        let result = runtime.block_on(work);
        runtime.shutdown_background();
        result
    }
}

pub(crate) fn run(cli: Cli, output: &Output) -> Result<ExitCode, Failure> {
    if let Command::Completions { shell } = cli.command {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut Cli::command(), "bowline", &mut script);
        let script = String::from_utf8_lossy(&script);
        output.result(&json!({ "script": script }), |_| script.trim_end().to_owned());
        return Ok(ExitCode::SUCCESS);
    }
    let session = cli.session.or_else(|| std::env::var(SESSION).ok());
    let context = Context { paths: Paths::from_environment()?, output, session };
    run_command(&context, cli.command)
}

/// One command, of the command line or of a batch.
fn run_command(context: &Context<'_>, command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Serve(args) => serve_hub(context, &args)?,
        Command::Status => status::run(context)?,
        Command::Browsers => browsers::run(context),
        Command::Launch(args) => launch::run(context, args)?,
        Command::Attach(args) => attach::run(context, args)?,
        Command::Stop(args) => stop::run(context, &args)?,
        Command::Restart(args) => launch::restart(context, &args.name)?,
        Command::Endpoint(args) => endpoint::run(context, &args)?,
        Command::Wrap(args) => return wrap::run(context, args),
        Command::Mcp(args) => mcp::run(context, args)?,
        Command::Tabs(args) => tabs::run(context, &args)?,
        Command::Console(args) => return console::run(context, &args),
        Command::Network(args) => return network::run(context, &args),
        Command::Body(args) => body::run(context, &args)?,
        Command::Eval(args) => eval::run(context, &args)?,
        Command::Cdp(args) => cdp::run(context, &args)?,
        Command::Verb(spoken) => return verbs::run(context, &spoken),
        Command::Batch(args) => return batch::run(context, args),
        Command::Ops(args) => ops::run(context, &args)?,
        Command::Har(args) => har::run(context, &args)?,
        Command::Clear(args) => clear::run(context, &args)?,
        Command::Extension(command) => return extension::run(context, &command),
        Command::Setup(args) => setup::run(context, &args)?,
        Command::Doctor => return doctor::run(context),
        Command::Shutdown => shutdown::run(context)?,
        Command::Demo(args) => demo::run(context, &args)?,
        Command::Config(command) => config::run(context, &command)?,
        Command::Completions { .. } => {}
    }
    Ok(ExitCode::SUCCESS)
}

fn serve_hub(context: &Context<'_>, args: &ServeArgs) -> Result<(), Failure> {
    let mode = if args.daemon { Mode::Daemon } else { Mode::Foreground };
    let mut flags = Overrides::default();
    if let Some(port) = args.port {
        flags.set("port", port.to_string(), "--port");
    }
    if let Some(idle) = &args.idle_timeout {
        flags.set("idle_timeout", idle, "--idle-timeout");
    }
    if let Some(browser) = &args.browser {
        flags.set("browser", browser, "--browser");
    }
    if args.debug_http {
        flags.set("api.debug_http", "true", "--debug-http");
    }
    let loaded = context.load_config(&flags);
    let mut loaded = match loaded {
        Ok(loaded) => loaded,
        Err(failure) if mode == Mode::Daemon => return serve::announce_failure(*context.output, failure),
        Err(failure) => return Err(failure),
    };
    if mode == Mode::Foreground {
        for warning in &loaded.warnings {
            context.output.note(format!("{WARN}warning:{WARN:#} {warning}"));
        }
    }
    loaded.config.browser = loaded.config.browser.map(|browser| launch::absolute_program(&browser));
    serve::run(&loaded.config, &context.paths, mode, *context.output)
}
