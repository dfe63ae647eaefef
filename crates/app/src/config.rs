//! The configuration of the `bowline` binary: defaults, then the config file, then the environment,
//! then flags, each layer over the one before. Text goes in, a typed `Config` comes out, and every
//! value remembers where it came from. It never touches the process's environment, and files only in
//! `read_file`; finding the file and printing the errors is for the caller.

mod environment;
mod error;
mod example;
mod file;
mod keys;
mod settings;
mod suggest;
mod units;
mod value;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) use environment::Overrides;
pub(crate) use error::ConfigError;
pub(crate) use example::example;
pub(crate) use file::read_file;
pub(crate) use settings::{Origin, Row};
pub(crate) use units::parse_duration;
pub(crate) use value::{ClientMode, NoSandbox, Transport};

use bowline_wire::origins::Origins;
use keys::{BROWSERS, KEYS, join};
use settings::Settings;
use value::Held;

/// Every setting, with its type. The table in `keys` says what each one means and its default.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Config {
    pub(crate) port: u16,
    /// None means the hub never leaves by itself.
    pub(crate) idle_timeout: Option<Duration>,
    pub(crate) log: String,
    /// None means to look for an installed one.
    pub(crate) browser: Option<String>,
    pub(crate) headless: bool,
    pub(crate) no_sandbox: NoSandbox,
    pub(crate) args: Vec<String>,
    pub(crate) autostart: bool,
    pub(crate) launch_timeout: Duration,
    pub(crate) launch_transport: Transport,
    pub(crate) stop_timeout: Duration,
    pub(crate) health_interval: Duration,
    pub(crate) health_timeout: Duration,
    pub(crate) require_token: bool,
    pub(crate) client_buffer: usize,
    pub(crate) max_message: usize,
    pub(crate) client_mode: ClientMode,
    /// Further extensions that may connect.
    pub(crate) extension_ids: Vec<String>,
    pub(crate) write_cdp_url: bool,
    pub(crate) sites: Origins,
    pub(crate) max_quick_deaths: u32,
    pub(crate) cooldown: Duration,
    pub(crate) recorder: RecorderConfig,
    pub(crate) reconnect: ReconnectConfig,
    pub(crate) rate_limit: u32,
    pub(crate) debug_http: bool,
    /// Where `execute` looks for Playwright first.
    pub(crate) playwright: Option<PathBuf>,
    pub(crate) browsers: BTreeMap<String, BrowserConfig>,
}

/// What is remembered, and for how long.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RecorderConfig {
    pub(crate) enabled: bool,
    pub(crate) max_console: usize,
    pub(crate) max_requests: usize,
    pub(crate) max_console_bytes: usize,
    pub(crate) max_network_bytes: usize,
    pub(crate) max_text: usize,
    pub(crate) max_frames: usize,
    pub(crate) max_body: usize,
    pub(crate) body_buffer: usize,
    pub(crate) persist: bool,
    pub(crate) keep_closed: Duration,
    pub(crate) max_bytes: usize,
    /// Zero means never.
    pub(crate) dialog_timeout: Duration,
    pub(crate) dialog_timeout_headed: Duration,
}

/// How connections are looked after.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ReconnectConfig {
    pub(crate) health_interval: Duration,
    pub(crate) suspicious_interval: Duration,
    pub(crate) attempts: u32,
    pub(crate) backoff: Duration,
    pub(crate) max_idle: Duration,
}

/// A browser predefined by a `[browsers.NAME]` table. What is None follows the `Config`.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct BrowserConfig {
    pub(crate) browser: Option<String>,
    pub(crate) profile: Option<String>,
    pub(crate) headless: Option<bool>,
    pub(crate) no_sandbox: Option<NoSandbox>,
    /// These follow the flags for every browser.
    pub(crate) args: Vec<String>,
    pub(crate) port: Option<u16>,
    /// The endpoint of a browser somebody else runs; then nothing about a launch can be set.
    pub(crate) attach: Option<String>,
    pub(crate) recorded: Option<bool>,
    pub(crate) client_mode: Option<ClientMode>,
    /// Instead of those for all.
    pub(crate) sites: Option<Origins>,
}

/// A valid configuration with what there is to say about it.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) config: Config,
    /// Nothing that stops anyone, for example a misspelt variable. One line each.
    pub(crate) warnings: Vec<String>,
    settings: Settings,
}

impl Loaded {
    /// Every setting with its value and origin, in the order of the table of keys.
    pub(crate) fn rows(&self) -> Vec<Row> {
        self.settings.rows()
    }
}

/// Puts the layers together. All problems of all layers are reported at once.
pub(crate) fn load(
    file: Option<(&Path, &str)>,
    env: impl IntoIterator<Item = (String, String)>,
    flags: &Overrides,
) -> Result<Loaded, ConfigError> {
    let mut settings = Settings::default();
    let mut problems = Vec::new();
    let mut warnings = Vec::new();
    for key in KEYS {
        settings.set(key.name, key.preset(), Origin::Default);
    }
    if let Some((path, text)) = file {
        problems.extend(file::apply(path, text, &mut settings));
    }
    environment::apply_environment(env, &mut settings, &mut problems, &mut warnings);
    environment::apply_flags(flags, &mut settings, &mut problems);
    if !problems.is_empty() {
        return Err(ConfigError::Invalid { problems });
    }
    Ok(Loaded { config: Config::from_settings(&settings), warnings, settings })
}

impl Config {
    fn from_settings(settings: &Settings) -> Self {
        let browsers = settings.browsers();
        Config {
            port: required(settings, "port"),
            idle_timeout: Some(required(settings, "idle_timeout"))
                .filter(|timeout: &Duration| !timeout.is_zero()),
            log: required(settings, "log"),
            browser: Some(required(settings, "browser")).filter(|browser: &String| !browser.is_empty()),
            headless: required(settings, "headless"),
            no_sandbox: required(settings, "no_sandbox"),
            args: required(settings, "args"),
            autostart: required(settings, "hub.autostart"),
            launch_timeout: required(settings, "launch.timeout"),
            launch_transport: required(settings, "launch.transport"),
            stop_timeout: required(settings, "stop.timeout"),
            health_interval: required(settings, "health.interval"),
            health_timeout: required(settings, "health.timeout"),
            require_token: required(settings, "cdp.require_token"),
            client_buffer: required(settings, "cdp.client_buffer"),
            max_message: required(settings, "cdp.max_message"),
            client_mode: required(settings, "cdp.client_mode"),
            extension_ids: required(settings, "extension.ids"),
            write_cdp_url: required(settings, "extension.write_cdp_url"),
            sites: Origins {
                allow: required(settings, "sites.allow"),
                deny: required(settings, "sites.deny"),
            },
            max_quick_deaths: required(settings, "restart.max_quick_deaths"),
            cooldown: required(settings, "restart.cooldown"),
            recorder: RecorderConfig {
                enabled: required(settings, "recorder.enabled"),
                max_console: count(settings, "recorder.max_console"),
                max_requests: count(settings, "recorder.max_requests"),
                max_console_bytes: required(settings, "recorder.max_console_bytes"),
                max_network_bytes: required(settings, "recorder.max_network_bytes"),
                max_text: required(settings, "recorder.max_text"),
                max_frames: count(settings, "recorder.max_frames"),
                max_body: required(settings, "recorder.max_body"),
                body_buffer: required(settings, "recorder.body_buffer"),
                persist: required(settings, "history.persist"),
                keep_closed: required(settings, "history.keep_closed"),
                max_bytes: required(settings, "history.max_bytes"),
                dialog_timeout: required(settings, "dialogs.timeout"),
                dialog_timeout_headed: required(settings, "dialogs.timeout_headed"),
            },
            reconnect: ReconnectConfig {
                health_interval: required(settings, "connections.health_interval"),
                suspicious_interval: required(settings, "connections.suspicious_interval"),
                attempts: required(settings, "connections.reconnect_attempts"),
                backoff: required(settings, "connections.reconnect_backoff"),
                max_idle: required(settings, "connections.max_idle"),
            },
            rate_limit: required(settings, "api.rate_limit"),
            debug_http: required(settings, "api.debug_http"),
            playwright: Some(required(settings, "execute.playwright"))
                .filter(|path: &String| !path.is_empty())
                .map(PathBuf::from),
            browsers: browsers
                .map(|name| (name.to_owned(), BrowserConfig::from_settings(settings, name)))
                .collect(),
        }
    }
}

impl BrowserConfig {
    /// Whether it says which browser is to be launched or attached, or how.
    pub(crate) fn is_about_a_launch(&self) -> bool {
        let Self { browser, profile, headless, no_sandbox, args, attach, .. } = self;
        let named = browser.is_some() || profile.is_some() || attach.is_some();
        named || headless.is_some() || no_sandbox.is_some() || !args.is_empty()
    }

    fn from_settings(settings: &Settings, name: &str) -> Self {
        let table = join(BROWSERS, name);
        let sites = |list: &str| settings.get::<Vec<String>>(&join(&table, list));
        let sites = match (sites("sites.allow"), sites("sites.deny")) {
            (None, None) => None,
            (allow, deny) => {
                Some(Origins { allow: allow.unwrap_or_default(), deny: deny.unwrap_or_default() })
            }
        };
        BrowserConfig {
            sites,
            browser: settings.get(&join(&table, "browser")),
            profile: settings.get(&join(&table, "profile")),
            headless: settings.get(&join(&table, "headless")),
            no_sandbox: settings.get(&join(&table, "no_sandbox")),
            args: settings.get(&join(&table, "args")).unwrap_or_default(),
            port: settings.get(&join(&table, "port")),
            attach: settings.get(&join(&table, "attach")),
            recorded: settings.get(&join(&table, "recorder.enabled")),
            client_mode: settings.get(&join(&table, "client_mode")),
        }
    }
}

fn count(settings: &Settings, key: &str) -> usize {
    required::<u32>(settings, key) as usize
}

/// A key of the table always has a value, as its default is one. That the types here and there agree
/// is checked by every test that loads anything.
fn required<T: Held>(settings: &Settings, key: &str) -> T {
    settings.get(key).unwrap_or_else(|| unreachable!("`{key}` is not in the table of keys with this type"))
}
