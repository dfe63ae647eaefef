//! `bowline doctor`: checks everything that Bowline needs and says how to mend it.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use bowline_backends::Backends;
use bowline_backends::detect::{self, Machine, ThisMachine};
use bowline_backends::profiles::Profiles;
use bowline_hub::backend::{Backend, LaunchSpec, Link, Protocol, Spec};
use bowline_hub::bidi;
use bowline_hub::extensions::Extensions;
use bowline_hub::files;
use bowline_hub::router::{Limits, Router};
use bowline_wire::origins::Sites;
use serde::Serialize;
use serde_json::{Value, json};

use super::Context;
use crate::api::Api;
use crate::bundle::{self, Installation, Installed, Package};
use crate::config::{Config, Overrides};
use crate::failure::{Failure, exit};
use crate::output::{BAD, FAINT, GOOD, WARN};
use crate::{paths, port_holder, serve};

/// A hub that is well answers in milliseconds.
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);
/// How long a browser may take to end, at each request.
const TO_LEAVE: Duration = Duration::from_secs(3);
/// How long a browser that has let go of its link may take to exit.
const LAST_WORDS: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Good,
    /// What some have no need of.
    Note,
    Warning,
    Bad,
}

#[derive(Serialize)]
struct Finding {
    check: &'static str,
    verdict: Verdict,
    detail: String,
    hint: Option<String>,
}

pub(super) fn run(context: &Context<'_>) -> Result<ExitCode, Failure> {
    let mut findings = Vec::new();
    let mut add = |check, verdict, detail: String, hint: Option<String>| {
        let finding = Finding { check, verdict, detail, hint };
        if !context.output.is_json() {
            show(context, &finding);
        }
        findings.push(finding);
    };
    let config = match context.load_config(&Overrides::default()) {
        Ok(loaded) => {
            let verdict = if loaded.warnings.is_empty() { Verdict::Good } else { Verdict::Warning };
            let detail =
                [vec![paths::shown(&context.paths.config_file)], loaded.warnings].concat().join("; ");
            add("configuration", verdict, detail, None);
            Some(loaded.config)
        }
        Err(failure) => {
            add("configuration", Verdict::Bad, failure.message, failure.hint);
            None
        }
    };
    for (check, dir) in [
        ("runtime directory", &context.paths.runtime),
        ("state directory", &context.paths.state),
        ("data directory", &context.paths.data),
        ("temporary profiles", &context.paths.temporary),
    ] {
        match files::private_dir(dir) {
            Ok(()) => add(check, Verdict::Good, paths::shown(dir), None),
            Err(error) => {
                let hint = "it must be a directory of yours that can be written to".to_owned();
                add(check, Verdict::Bad, error.to_string(), Some(hint));
            }
        }
    }
    check_hub(context, config.as_ref(), &mut add);
    let wanted = config.as_ref().and_then(|config| config.browser.clone());
    match detect::choose(&ThisMachine, wanted.as_deref()) {
        Ok(installed) => {
            let installed = installed.with_version(&ThisMachine);
            let version = installed.version.as_deref().unwrap_or("version unknown");
            add(
                "browser",
                Verdict::Good,
                format!("{} {version} at {}", installed.name, installed.path.display()),
                None,
            );
            if let Some(config) = &config {
                check_launch(context, config, &mut add);
            }
        }
        Err(error) => {
            add("browser", Verdict::Bad, error.to_string(), Some(error.hint(ThisMachine.platform())))
        }
    }
    check_extension(context, &mut add);
    check_surroundings(&mut add);
    check_execute(context, config.as_ref(), &mut add);
    let bad = findings.iter().filter(|finding| finding.verdict == Verdict::Bad).count();
    let verdict = match bad {
        0 => "All is well.".to_owned(),
        1 => "One thing needs mending.".to_owned(),
        more => format!("{more} things need mending."),
    };
    if bad == 0 {
        context.output.result(&findings, |_| format!("\n{verdict}"));
        return Ok(ExitCode::SUCCESS);
    }
    let failure = Failure::new(exit::FAILED, "needs_mending", &verdict).hint("see the hints in `data`");
    context.output.failed_result(&findings, &failure, |_| format!("\n{verdict}"));
    Ok(ExitCode::from(exit::FAILED))
}

fn show(context: &Context<'_>, finding: &Finding) {
    let (mark, style) = match finding.verdict {
        Verdict::Good => ("✓", GOOD),
        Verdict::Note => ("-", FAINT),
        Verdict::Warning => ("!", WARN),
        Verdict::Bad => ("✗", BAD),
    };
    context.output.line(format!("{style}{mark}{style:#} {}: {}", finding.check, finding.detail));
    if let Some(hint) = &finding.hint {
        context.output.line(format!("  {FAINT}hint:{FAINT:#} {hint}"));
    }
}

fn check_hub(
    context: &Context<'_>,
    config: Option<&Config>,
    add: &mut impl FnMut(&'static str, Verdict, String, Option<String>),
) {
    match context.running_hub() {
        Ok(Some(state)) => {
            let asked = context.block_on(async {
                match tokio::time::timeout(ANSWERS_WITHIN, Api::new(&state).status()).await {
                    Ok(answer) => answer.map(|_| ()),
                    Err(_) => Err(Failure::new(exit::NO_HUB, "no_hub", "it does not answer")),
                }
            });
            let at = format!("runs on port {} (pid {})", state.port, state.pid);
            match asked {
                Ok(()) => add("hub", Verdict::Good, at, None),
                Err(failure) => {
                    let hint = format!("end it with `bowline shutdown`, else end process {}", state.pid);
                    add("hub", Verdict::Bad, format!("{at}, but {}", failure.message), Some(hint));
                }
            }
        }
        Ok(None) => {
            add("hub", Verdict::Good, "none runs; commands start one".to_owned(), None);
            if let Some(config) = config {
                check_ports(context, config, add);
            }
        }
        Err(failure) => add("hub", Verdict::Bad, failure.message, failure.hint),
    }
}

/// Every port that is asked for must be free, or the hub will not start.
fn check_ports(
    context: &Context<'_>,
    config: &Config,
    add: &mut impl FnMut(&'static str, Verdict, String, Option<String>),
) {
    let named = config
        .browsers
        .iter()
        .filter_map(|(name, browser)| Some((browser.port?, format!("`browsers.{name}.port`"))));
    for (port, key) in std::iter::once((config.port, "`port`".to_owned())).chain(named) {
        if port != 0 && std::net::TcpListener::bind(("127.0.0.1", port)).is_err() {
            let holder = port_holder::holder_of(port).unwrap_or_else(|| "another program".to_owned());
            let hint = format!("end it, or set {key} in {}", paths::shown(&context.paths.config_file));
            add("port", Verdict::Bad, format!("{port} is taken by {holder}"), Some(hint));
        }
    }
}

/// Starts a browser as the hub would, and asks it something.
fn check_launch(
    context: &Context<'_>,
    config: &Config,
    add: &mut impl FnMut(&'static str, Verdict, String, Option<String>),
) {
    let tried = context.block_on(async {
        let profiles = Profiles::open(&context.paths.temporary, &context.paths.profiles())
            .map_err(|error| Failure::io("a temporary profile", &error))?;
        let backends = Backends::new(
            serve::defaults(config, &context.paths),
            profiles,
            Extensions::default(),
            Sites::default(),
        );
        let tried = launch(&backends, config).await;
        backends.close();
        tried
    });
    match tried {
        Ok((product, took)) => {
            add("launch", Verdict::Good, format!("{product} answered after {} ms", took.as_millis()), None);
        }
        Err(failure) => add("launch", Verdict::Bad, failure.message, failure.hint),
    }
}

/// The browser's product, and how long it took to say it.
async fn launch(backends: &Backends, config: &Config) -> Result<(String, Duration), Failure> {
    let begun = Instant::now();
    let spec = Spec::Launched(LaunchSpec { headless: Some(true), ..LaunchSpec::default() });
    let started = backends.start("doctor", &spec).await?;
    let mut process = started.process.ok_or_else(|| Failure::new(exit::FAILED, "doctor", "no process"))?;
    let asked = match started.protocol {
        Protocol::Cdp => ask_over_cdp(started.link, begun, config.launch_timeout).await,
        Protocol::Bidi => ask_over_bidi(started.link, begun, config.launch_timeout).await,
    };
    let answered = match asked {
        Ok(answer) => Ok(answer),
        // Mostly the link ends a moment before the process, which then says why.
        Err(error) => match tokio::time::timeout(LAST_WORDS, process.exited()).await {
            Ok(exit) => Err(process.explain(&exit).into()),
            Err(_) => Err(Failure::new(exit::NOT_STARTED, "not_ready", error)),
        },
    };
    if answered.is_ok() {
        // It was asked to close, and then removes its own files, also those outside the profile.
        let _ = tokio::time::timeout(TO_LEAVE, process.exited()).await;
    }
    process.terminate();
    let _ = tokio::time::timeout(TO_LEAVE, process.exited()).await;
    process.kill();
    process.exited().await;
    process.clean_up().await;
    answered
}

/// The product of a browser that speaks CDP, which is then asked to close, and how long it took to say it.
async fn ask_over_cdp(link: Link, begun: Instant, patience: Duration) -> Result<(String, Duration), String> {
    let router = Router::start(link, Limits::default());
    let asked = router.call::<Value>("Browser.getVersion", json!({}), patience).await;
    let took = begun.elapsed();
    if asked.is_ok() {
        let _ = router.call::<Value>("Browser.close", json!({}), TO_LEAVE).await;
    }
    router.close("checked");
    let version = asked.map_err(|error| error.to_string())?;
    Ok((version["product"].as_str().unwrap_or("?").to_owned(), took))
}

/// The same for WebDriver BiDi.
async fn ask_over_bidi(link: Link, begun: Instant, patience: Duration) -> Result<(String, Duration), String> {
    let started = bidi::Session::start(link, Limits::default(), patience).await;
    let (session, capabilities) = started.map_err(|error| error.to_string())?;
    let took = begun.elapsed();
    let _ = session.call::<Value>("browser.close", &json!({}), TO_LEAVE).await;
    session.close("checked");
    Ok((format!("{}/{}", capabilities.browser_name, capabilities.browser_version), took))
}

/// The extension that lies where browsers load it from: who updates bowline forgets it.
fn check_extension(
    context: &Context<'_>,
    add: &mut impl FnMut(&'static str, Verdict, String, Option<String>),
) {
    let kinds = [
        (Package::Chrome, "extension", "bowline extension install"),
        (Package::Firefox, "extension for Firefox", "bowline extension install --firefox"),
    ];
    for (package, check, command) in kinds {
        let Installation { path, state, version } =
            bundle::installation(package, &context.paths.extension(package));
        let at = format!("{} in {}", version.as_deref().unwrap_or("?"), paths::shown(&path));
        match state {
            Installed::Missing => {}
            Installed::Current => add(check, Verdict::Good, at, None),
            Installed::Different => {
                let hint = format!("run `{command}`, then reload it in the browser");
                add(check, Verdict::Warning, format!("{at} is not that of this bowline"), Some(hint));
            }
        }
    }
}

/// Node and Playwright, which `execute` alone needs.
fn check_execute(
    context: &Context<'_>,
    config: Option<&Config>,
    add: &mut impl FnMut(&'static str, Verdict, String, Option<String>),
) {
    let playwright = config.and_then(|config| config.playwright.as_deref());
    let files = context.paths.data.join("files");
    let checked = context.block_on(async { Ok(bowline_ops::check_execute(playwright, &files).await) });
    match checked {
        Ok(Ok(versions)) => add("execute", Verdict::Good, versions, None),
        Ok(Err(error)) => {
            let detail = format!("{}; all else works without", error.message);
            add("execute", Verdict::Note, detail, Some(error.hint));
        }
        Err(failure) => add("execute", Verdict::Note, failure.message, failure.hint),
    }
}

#[cfg(target_os = "linux")]
fn check_surroundings(add: &mut impl FnMut(&'static str, Verdict, String, Option<String>)) {
    if rustix::process::geteuid().is_root() {
        let hint = "run as an ordinary user where pages are not your own".to_owned();
        add(
            "sandbox",
            Verdict::Warning,
            "you are root, so browsers run without their sandbox".to_owned(),
            Some(hint),
        );
    }
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if !set("DISPLAY") && !set("WAYLAND_DISPLAY") {
        let detail = "no display here, so --headed will not work; headless does".to_owned();
        add("display", Verdict::Good, detail, None);
    }
}

#[cfg(not(target_os = "linux"))]
fn check_surroundings(_: &mut impl FnMut(&'static str, Verdict, String, Option<String>)) {}
