//! The hub's process: composes hub, backends and doors, and runs them until they leave.

mod process;

use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bowline_backends::detect::{self, ThisMachine};
use bowline_backends::profiles::{self, Profiles};
use bowline_backends::{Backends, Defaults, Transport};
use bowline_doors::{ClientMode, ListenError, Listeners, Settings as DoorSettings};
use bowline_hub::Hub;
use bowline_hub::audit::Audit;
use bowline_hub::auth::Token;
use bowline_hub::backend::{AttachSpec, Backend, LaunchSpec, Spec};
use bowline_hub::browser::Timing;
use bowline_hub::connections::Care;
use bowline_hub::extensions::Extensions;
use bowline_hub::files;
use bowline_hub::hub::{Config as HubConfig, HubError};
use bowline_hub::pairing::Pairings;
use bowline_hub::recorder::store::Bounds;
use bowline_hub::recorder::{Caps, Recorder, Settings as RecorderSettings};
use bowline_hub::registry::{DEFAULT, Registry};
use bowline_hub::router::Limits;
use bowline_ops::{Ops, Settings as OpsSettings};
use bowline_wire::origins::Sites;
use serde_json::json;

use crate::bundle;
use crate::config::{self, BrowserConfig, Config, NoSandbox};
use crate::failure::{Failure, exit};
use crate::find_hub;
use crate::output::Output;
use crate::paths::{self, Paths};
use crate::port_holder;
use crate::signals::Signals;

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// A command that looks whether a hub runs holds the lock for a moment; a hub holds it for good.
const PROBES: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_millis(10);
/// How long connections may take to close once every browser has ended.
const DRAIN: Duration = Duration::from_secs(3);
/// A Ctrl-C that the terminal and a wrapper such as npm both deliver is still one.
const SAME_WISH: Duration = Duration::from_millis(200);

/// Who wants to hear that the hub is ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// A person, or a supervisor, in the foreground.
    Foreground,
    /// The command that started us; it reads one JSON line from our stdout.
    Daemon,
}

pub(crate) fn run(config: &Config, paths: &Paths, mode: Mode, output: Output) -> Result<(), Failure> {
    let result = process::start_logging(config, paths, mode).and_then(|()| {
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
    let Failure { exit, code, message, hint, .. } = &failure;
    output.line(json!({"exit": exit, "code": code, "message": message, "hint": hint}));
    Err(failure)
}

async fn serve(config: &Config, paths: &Paths, mode: Mode, output: Output) -> Result<(), Failure> {
    let lock = take_lock(paths).await?;
    if mode == Mode::Daemon {
        process::leave_the_terminal();
    }
    process::adopt_orphans();
    process::raise_file_limit();
    // Before anything is made that would stay behind.
    let mut signals =
        Signals::listen().map_err(|error| Failure::io("signals cannot be listened for", &error))?;
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
    let extensions = Extensions::with_audit(Audit::in_file(paths.state.join("audit.log")));
    let backends = Arc::new(Backends::new(defaults(config, paths), profiles, extensions, sites(config)));
    let result = run_hub(config, paths, &backends, &mut signals, mode, output).await;
    // Also after a start that failed: the run directory is there already.
    backends.close();
    drop(lock);
    result
}

/// Opens the doors, and returns when the hub and its browsers have ended.
async fn run_hub(
    config: &Config,
    paths: &Paths,
    backends: &Arc<Backends>,
    signals: &mut Signals,
    mode: Mode,
    output: Output,
) -> Result<(), Failure> {
    sites_are_kept(config)?;
    let registry = Registry::load(&paths.state.join("browsers.json"))
        .map_err(|error| Failure::io("the list of browsers", &error))?;
    let token = Token::load_or_create(&paths.state.join("token"))
        .map_err(|error| Failure::io("the token", &error))?;
    let history = config.recorder.persist.then(|| paths.data.clone());
    let mut config_of_hub = hub_config(config, backends.clone(), token, paths.state_file(), history);
    config_of_hub.extensions = backends.extensions().clone();
    config_of_hub.pairings = Pairings::load(&paths.state.join("extensions.json"))
        .map_err(|error| Failure::io("the keys of extensions", &error))?;
    config_of_hub.cdp_url_file = config.write_cdp_url.then(|| paths.state.join("cdp-url"));
    let hub = Hub::new(config_of_hub, registry);
    let ops = bowline_ops::Ops::new(hub.clone(), ops_settings(config, paths.data.join("files")));
    let listeners = listeners(config, &hub, ops);
    let opened = open_doors(config, paths, mode, &hub, &listeners).await;
    match &opened {
        Ok(port) => {
            tracing::info!(port, version = VERSION, "ready");
            announce(mode, output, *port);
        }
        // A client may have come through the first door while the second would not open.
        Err(_) => hub.shutdown(),
    }
    live(&hub, &listeners, signals).await;
    opened.map(|_| ())
}

/// What a hub needs to know, as it was configured. The history is kept in `history`, or in memory alone.
pub(crate) fn hub_config(
    config: &Config,
    backend: Arc<dyn Backend>,
    token: Token,
    state_file: PathBuf,
    history: Option<PathBuf>,
) -> HubConfig {
    HubConfig {
        token,
        state_file,
        backend,
        extensions: Extensions::default(),
        pairings: Arc::default(),
        cdp_url_file: None,
        timing: Timing {
            launch: config.launch_timeout,
            stop: config.stop_timeout,
            probe_interval: config.health_interval,
            probe_timeout: config.health_timeout,
            max_quick_deaths: config.max_quick_deaths,
            cooldown: config.cooldown,
        },
        limits: Limits { client_buffer: config.client_buffer, ..Limits::default() },
        recorder: Recorder::open(recorder_settings(config, history)),
        care: Care {
            interval: config.reconnect.health_interval,
            suspicious_interval: config.reconnect.suspicious_interval,
            probe_timeout: config.health_timeout,
            attempts: config.reconnect.attempts as usize,
            backoff: config.reconnect.backoff,
            max_idle: config.reconnect.max_idle,
        },
        idle_timeout: config.idle_timeout,
        require_token: config.require_token,
        version: VERSION,
    }
}

pub(crate) fn listeners(config: &Config, hub: &Arc<Hub>, ops: Ops) -> Arc<Listeners> {
    let own_modes = config.browsers.iter().filter_map(|(name, browser)| Some((name, browser.client_mode?)));
    let settings = DoorSettings {
        max_message: config.max_message,
        rate_limit: NonZeroU32::new(config.rate_limit).unwrap_or(NonZeroU32::MIN),
        extension_ids: bundle::accepted_ids(config),
        client_mode: client_mode(config.client_mode),
        client_modes: own_modes.map(|(name, mode)| (name.clone(), client_mode(mode))).collect(),
        debug_http: config.debug_http,
    };
    Listeners::new(hub.clone(), ops, settings)
}

/// How ops behave; what they write without a directory of its own goes to `files`.
pub(crate) fn ops_settings(config: &Config, files: PathBuf) -> OpsSettings {
    OpsSettings {
        action_timeout: Duration::from_secs(10),
        navigation_timeout: Duration::from_secs(30),
        lease_idle: Duration::from_secs(120),
        files,
        max_chars: 50_000,
        installed: Arc::new(|| serde_json::to_value(detect::detect(&ThisMachine)).unwrap_or_default()),
        playwright: config.playwright.clone(),
    }
}

fn client_mode(mode: config::ClientMode) -> ClientMode {
    match mode {
        config::ClientMode::MultiClient => ClientMode::MultiClient,
        config::ClientMode::SingleActive => ClientMode::SingleActive,
    }
}

/// Returns when the hub has ended, for whatever reason, and its connections are closed.
async fn live(hub: &Hub, listeners: &Listeners, signals: &mut Signals) {
    let ended = async {
        hub.run().await;
        // A client that does not take its closing frame is not waited for.
        if tokio::time::timeout(DRAIN, listeners.drain()).await.is_err() {
            tracing::warn!("connections that did not close are dropped");
        }
    };
    let mut ended = std::pin::pin!(ended);
    let mut told: Option<Instant> = None;
    loop {
        let asked = tokio::select! {
            () = &mut ended => return,
            asked = signals.next() => asked,
        };
        match told {
            None => {
                tracing::info!("told to leave");
                told = Some(Instant::now());
                hub.shutdown();
            }
            Some(first) if first.elapsed() > SAME_WISH && asked.is_urgent() => {
                tracing::warn!("told again; leaving at once");
                // The next hub ends and removes what stays behind.
                std::process::exit(i32::from(exit::FAILED));
            }
            Some(_) => {}
        }
    }
}

async fn take_lock(paths: &Paths) -> Result<File, Failure> {
    files::private_dir(&paths.runtime).map_err(|error| Failure::io("the runtime directory", &error))?;
    let lock =
        files::open_private(&paths.hub_lock()).map_err(|error| Failure::io("the hub's lock", &error))?;
    let begun = Instant::now();
    let mut taken = false;
    while !taken && begun.elapsed() < PROBES {
        match lock.try_lock() {
            Ok(()) => taken = true,
            Err(TryLockError::WouldBlock) => tokio::time::sleep(PAUSE).await,
            Err(TryLockError::Error(error)) => return Err(Failure::io("the hub's lock", &error)),
        }
    }
    if !taken {
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
async fn open_doors(
    config: &Config,
    paths: &Paths,
    mode: Mode,
    hub: &Arc<Hub>,
    listeners: &Arc<Listeners>,
) -> Result<u16, Failure> {
    let remembered = hub.remembered();
    let mut names: Vec<String> = vec![DEFAULT.to_owned()];
    names.extend(config.browsers.keys().chain(remembered.iter().map(|(name, _)| name)).cloned());
    let mut seen = std::collections::BTreeSet::new();
    for name in names {
        if !seen.insert(name.clone()) {
            continue;
        }
        let configured = config.browsers.get(&name);
        let is_extension = remembered
            .iter()
            .any(|(known, record)| *known == name && matches!(record.spec, Spec::Extension(_)));
        // A table that says nothing of a launch may stand for the user's own browser.
        let spec = configured
            .filter(|browser| !is_extension || browser.is_about_a_launch())
            .map(|browser| spec_of(&name, browser));
        hub.define(&name, spec).map_err(hub_failure)?;
        let wanted = match configured.and_then(|browser| browser.port) {
            Some(port) => port,
            None if name == DEFAULT => config.port,
            None => 0,
        };
        if wanted == 0 {
            listeners
                .open_any(&name)
                .await
                .map_err(|error| Failure::new(exit::NO_HUB, "no_port", error.to_string()))?;
        } else {
            let port = listeners.open(&name, wanted).await;
            let port = port.map_err(|error| not_opened(&name, error, paths, mode))?;
            hub.listens(&name, port).map_err(hub_failure)?;
        }
    }
    Ok(hub.port())
}

/// Why the port that was asked for is not ours, and how to ask for another.
fn not_opened(name: &str, error: ListenError, paths: &Paths, mode: Mode) -> Failure {
    let ListenError::Taken { port } = error else {
        return Failure::new(exit::NO_HUB, "no_port", error.to_string());
    };
    let holder = port_holder::holder_of(port).map_or_else(String::new, |holder| format!(" by {holder}"));
    let other = port.checked_add(1).unwrap_or(port - 1);
    let file = paths::shown(&paths.config_file);
    let way = match mode {
        _ if name != DEFAULT => format!("`browsers.{name}.port` in {file}"),
        Mode::Foreground => format!("--port {other}"),
        Mode::Daemon => format!("BOWLINE_PORT={other}, or `port` in {file}"),
    };
    Failure::new(exit::NO_HUB, "port_taken", format!("port {port} is taken{holder}"))
        .hint(format!("choose another with {way}; 0 lets the system choose"))
}

fn spec_of(name: &str, browser: &BrowserConfig) -> Spec {
    // `[browsers.firefox]` need not say it twice.
    let kind = detect::BrowserKind::named(name).map(|kind| kind.to_string());
    match &browser.attach {
        Some(url) => Spec::Attached(AttachSpec { url: url.clone(), profile_dir: None }),
        None => Spec::Launched(LaunchSpec {
            browser: browser.browser.clone().or(kind),
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

/// The recorder keeps pages to the sites that may be used; a list that nobody keeps is worse than none.
fn sites_are_kept(config: &Config) -> Result<(), Failure> {
    let is_recorded = |name: &str| {
        config.browsers.get(name).and_then(|browser| browser.recorded).unwrap_or(config.recorder.enabled)
    };
    let own = config.browsers.iter().map(|(name, browser)| (name.as_str(), browser.sites.as_ref()));
    let all = own.chain([(DEFAULT, None)]);
    for (name, sites) in all {
        if !sites.unwrap_or(&config.sites).is_empty() && !is_recorded(name) {
            let message =
                format!("sites.allow or sites.deny is set for browser `{name}`, which is not recorded");
            let failure = Failure::new(exit::USAGE, "bad_config", message);
            return Err(
                failure.hint("set recorder.enabled = true for it: the recorder keeps pages to these sites")
            );
        }
    }
    Ok(())
}

fn sites(config: &Config) -> Sites {
    let own =
        config.browsers.iter().filter_map(|(name, browser)| Some((name.clone(), browser.sites.clone()?)));
    Sites { all: config.sites.clone(), own: own.collect() }
}

fn recorder_settings(config: &Config, directory: Option<PathBuf>) -> RecorderSettings {
    let recorder = &config.recorder;
    let exceptions =
        config.browsers.iter().filter_map(|(name, browser)| Some((name.clone(), browser.recorded?)));
    let unless_zero = |time: Duration| Some(time).filter(|time| !time.is_zero());
    RecorderSettings {
        enabled: recorder.enabled,
        sites: sites(config),
        exceptions: exceptions.collect(),
        bounds: Bounds {
            console: recorder.max_console,
            console_bytes: recorder.max_console_bytes,
            requests: recorder.max_requests,
            network_bytes: recorder.max_network_bytes,
            total_bytes: recorder.max_bytes,
            keep_closed: recorder.keep_closed.as_secs_f64() * 1000.0,
        },
        caps: Caps { messages: recorder.max_frames, text: recorder.max_text },
        body: recorder.max_body,
        body_buffer: recorder.body_buffer,
        dialog_timeout: unless_zero(recorder.dialog_timeout),
        dialog_timeout_headed: unless_zero(recorder.dialog_timeout_headed),
        directory,
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
