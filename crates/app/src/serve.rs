//! The hub's process: composes hub, backends and doors, and runs them until they leave.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;

use bowline_backends::profiles::{self, Profiles};
use bowline_backends::{Backends, Defaults, Transport};
use bowline_doors::{ListenError, Listeners};
use bowline_hub::Hub;
use bowline_hub::auth::Token;
use bowline_hub::backend::{AttachSpec, LaunchSpec, Spec};
use bowline_hub::browser::Timing;
use bowline_hub::files;
use bowline_hub::hub::{Config as HubConfig, HubError};
use bowline_hub::registry::{DEFAULT, Registry};
use bowline_hub::router::Limits;
use serde_json::json;

use crate::config::{self, BrowserConfig, Config, NoSandbox};
use crate::failure::{Failure, exit};
use crate::find_hub;
use crate::output::Output;
use crate::paths::Paths;
use crate::port_holder;

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The log begins anew beyond this size.
const LARGEST_LOG: u64 = 5 << 20;

/// Who wants to hear that the hub is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// A person, or a supervisor, in the foreground.
    Foreground,
    /// The command that started us; it reads one JSON line from our stdout.
    Daemon,
}

pub(crate) fn run(config: &Config, paths: &Paths, mode: Mode, output: Output) -> Result<(), Failure> {
    let result = start_logging(config, paths, mode).and_then(|()| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Failure::io("the runtime", &error))?;
        runtime.block_on(serve(config, paths, mode, output))
    });
    match result {
        Err(failure) if mode == Mode::Daemon => announce_failure(output, failure),
        other => other,
    }
}

/// Tells the command that started us why there will be no hub.
pub(crate) fn announce_failure(output: Output, failure: Failure) -> Result<(), Failure> {
    let Failure { exit, code, message, hint } = &failure;
    output.line(json!({"exit": exit, "code": code, "message": message, "hint": hint}));
    Err(failure)
}

async fn serve(config: &Config, paths: &Paths, mode: Mode, output: Output) -> Result<(), Failure> {
    let lock = take_lock(paths)?;
    if mode == Mode::Daemon {
        leave_the_terminal();
    }
    adopt_orphans();
    for dir in [&paths.state, &paths.data] {
        files::private_dir(dir).map_err(|error| Failure::io("a directory of ours", &error))?;
    }
    match profiles::sweep(&paths.temporary).await {
        Ok(0) => {}
        Ok(runs) => tracing::warn!(runs, "removed what earlier hubs left behind"),
        Err(error) => tracing::warn!(%error, "what earlier hubs left could not be removed"),
    }
    let profiles = Profiles::open(&paths.temporary, &paths.profiles())
        .map_err(|error| Failure::io("temporary profiles", &error))?;
    let backends = Arc::new(Backends::new(defaults(config, paths), profiles));
    let registry = Registry::load(&paths.state.join("browsers.json"))
        .map_err(|error| Failure::io("the list of browsers", &error))?;
    let config_of_hub = HubConfig {
        token: Token::load_or_create(&paths.state.join("token"))
            .map_err(|error| Failure::io("the token", &error))?,
        state_file: paths.state_file(),
        backend: backends.clone(),
        timing: Timing {
            launch: config.launch_timeout,
            stop: config.stop_timeout,
            probe_interval: config.health_interval,
            probe_timeout: config.health_timeout,
            max_quick_deaths: config.max_quick_deaths,
            cooldown: config.cooldown,
        },
        limits: Limits { client_buffer: config.client_buffer, ..Limits::default() },
        idle_timeout: config.idle_timeout,
        require_token: config.require_token,
        version: VERSION,
    };
    let hub = Hub::new(config_of_hub, registry);
    let listeners = Listeners::new(hub.clone(), config.max_message);
    let port = open_doors(config, &hub, &listeners).await?;
    tracing::info!(port, version = VERSION, "ready");
    announce(mode, output, port);
    tokio::select! {
        () = hub.run() => {}
        () = told_to_leave() => {
            tracing::info!("told to leave");
            hub.shutdown();
            hub.run().await;
        }
    }
    listeners.drain().await;
    backends.close();
    drop(lock);
    Ok(())
}

fn take_lock(paths: &Paths) -> Result<File, Failure> {
    files::private_dir(&paths.runtime).map_err(|error| Failure::io("the runtime directory", &error))?;
    let lock =
        files::open_private(&paths.hub_lock()).map_err(|error| Failure::io("the hub's lock", &error))?;
    if lock.try_lock().is_err() {
        let at = match find_hub::running(paths) {
            Ok(Some(state)) => format!(" (pid {}, port {})", state.pid, state.port),
            _ => String::new(),
        };
        return Err(Failure::new(exit::FAILED, "already_running", format!("your hub already runs{at}"))
            .hint("use it as it is, or end it with `bowline shutdown`"));
    }
    // What an earlier hub left is of no use now that we hold the lock.
    match std::fs::remove_file(paths.state_file()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Failure::io("the old state file", &error))
        }
        _ => Ok(lock),
    }
}

/// Makes the browsers known and listens for each. Returns the hub's own port.
async fn open_doors(config: &Config, hub: &Arc<Hub>, listeners: &Arc<Listeners>) -> Result<u16, Failure> {
    let remembered = hub.remembered();
    let mut names: Vec<String> = vec![DEFAULT.to_owned()];
    names.extend(config.browsers.keys().chain(remembered.iter().map(|(name, _)| name)).cloned());
    let mut seen = std::collections::BTreeSet::new();
    for name in names {
        if !seen.insert(name.clone()) {
            continue;
        }
        let configured = config.browsers.get(&name);
        let spec = configured.map(spec_of);
        hub.define(&name, spec).map_err(hub_failure)?;
        let wanted = match configured.and_then(|browser| browser.port) {
            Some(port) => port,
            None if name == DEFAULT => config.port,
            None => 0,
        };
        let port = listen(listeners, &name, wanted, hub.port_of(&name)).await?;
        hub.listens(&name, port).map_err(hub_failure)?;
    }
    Ok(hub.port())
}

/// Listens on the wanted port; if the system may choose, on the one it chose the last time.
async fn listen(listeners: &Arc<Listeners>, name: &str, wanted: u16, before: u16) -> Result<u16, Failure> {
    if wanted == 0 && before != 0 {
        match listeners.open(name, before).await {
            Ok(port) => return Ok(port),
            Err(error) => tracing::warn!(name, %error, "this browser gets another port"),
        }
    }
    listeners.open(name, wanted).await.map_err(|error| match error {
        ListenError::Taken { port } => {
            let holder =
                port_holder::holder_of(port).map_or_else(String::new, |holder| format!(" by {holder}"));
            Failure::new(exit::NO_HUB, "port_taken", format!("port {port} is taken{holder}")).hint(format!(
                "choose another with --port {} or BOWLINE_PORT={0}, or let the system choose with 0",
                port.saturating_add(1)
            ))
        }
        ListenError::Failed { .. } => Failure::new(exit::NO_HUB, "no_port", error.to_string()),
    })
}

fn spec_of(browser: &BrowserConfig) -> Spec {
    match &browser.attach {
        Some(url) => Spec::Attached(AttachSpec { url: url.clone(), profile_dir: None }),
        None => Spec::Launched(LaunchSpec {
            browser: browser.browser.clone(),
            profile: browser.profile.clone(),
            headless: browser.headless,
            no_sandbox: browser.no_sandbox.and_then(no_sandbox),
            args: browser.args.clone(),
            ..LaunchSpec::default()
        }),
    }
}

pub(crate) fn defaults(config: &Config, paths: &Paths) -> Defaults {
    Defaults {
        browser: config.browser.clone(),
        headless: config.headless,
        no_sandbox: no_sandbox(config.no_sandbox),
        args: config.args.clone(),
        transport: match config.launch_transport {
            config::Transport::Auto => Transport::Auto,
            config::Transport::Pipe => Transport::Pipe,
            config::Transport::Port => Transport::Port,
        },
        launch_timeout: config.launch_timeout,
        cache_dir: paths.cache.clone(),
    }
}

fn no_sandbox(choice: NoSandbox) -> Option<bool> {
    match choice {
        NoSandbox::Auto => None,
        NoSandbox::Always => Some(true),
        NoSandbox::Never => Some(false),
    }
}

fn hub_failure(error: HubError) -> Failure {
    Failure::new(exit::NO_HUB, "not_saved", error.to_string())
}

fn announce(mode: Mode, output: Output, port: u16) {
    let endpoint = format!("http://127.0.0.1:{port}");
    let ready = json!({"port": port, "pid": std::process::id(), "endpoint": endpoint});
    match mode {
        Mode::Daemon => output.line(ready),
        Mode::Foreground if output.is_json() => output.line(ready),
        Mode::Foreground => output.line(format!("bowline is ready at {endpoint} (Ctrl-C ends it)")),
    }
    // Whoever waits for the line must not wait for a buffer.
    let _ = io::stdout().flush();
}

fn start_logging(config: &Config, paths: &Paths, mode: Mode) -> Result<(), Failure> {
    let filter = std::env::var("BOWLINE_LOG").unwrap_or_else(|_| config.log.clone());
    let filter = tracing_subscriber::EnvFilter::try_new(&filter).map_err(|error| {
        Failure::new(exit::USAGE, "bad_config", format!("log filter `{filter}`: {error}"))
            .hint("for example `info` or `debug`")
    })?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_target(false);
    match mode {
        Mode::Foreground => {
            builder.with_writer(io::stderr).with_ansi(io::IsTerminal::is_terminal(&io::stderr())).init()
        }
        Mode::Daemon => {
            files::private_dir(&paths.state).map_err(|error| Failure::io("the state directory", &error))?;
            let path = paths.log_file();
            if std::fs::metadata(&path).is_ok_and(|log| log.len() > LARGEST_LOG) {
                std::fs::rename(&path, path.with_extension("log.old"))
                    .map_err(|error| Failure::io("the old log", &error))?;
            }
            let log = files::open_private(&path).map_err(|error| Failure::io("the log", &error))?;
            builder.with_writer(std::sync::Mutex::new(log)).with_ansi(false).init();
        }
    }
    Ok(())
}

#[cfg(unix)]
async fn told_to_leave() {
    use tokio::signal::unix::{SignalKind, signal};
    let kinds = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()];
    let [terminate, interrupt, hangup] = kinds.map(signal);
    let (Ok(mut terminate), Ok(mut interrupt), Ok(mut hangup)) = (terminate, interrupt, hangup) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        _ = hangup.recv() => {}
    }
}

#[cfg(not(unix))]
async fn told_to_leave() {
    let _ = tokio::signal::ctrl_c().await;
}

/// A daemon survives the terminal it was started from, and keeps no directory busy.
fn leave_the_terminal() {
    #[cfg(unix)]
    {
        let _ = rustix::process::setsid();
        let _ = rustix::process::chdir("/");
    }
}

/// A browser's children become ours when it dies, so that they can be reaped.
fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::set_child_subreaper(Some(rustix::process::getpid())) {
        tracing::debug!(%error, "orphans go to init");
    }
}
