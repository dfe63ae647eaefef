//! Browsers themselves: which there are, launch, stop, restart.

use std::sync::Arc;
use std::time::Duration;

use bowline_hub::backend::{LaunchSpec, Spec, StartError};
use bowline_hub::{Browser, Life};
use serde_json::{Value, json};

use crate::error::{Code, OpError};
use crate::output::Output;
use crate::registry::{Access, Op, Set};
use crate::request::Call;

pub(crate) struct ListBrowsers;

input!(NoInput {});

impl Op for ListBrowsers {
    type Input = NoInput;
    const NAME: &'static str = "list_browsers";
    const TOOL: &'static str = "coordinator_list_browsers";
    const SET: Set = Set::Lifecycle;
    const ACCESS: Access = Access::Read;
    const ABOUT: &'static str = "The browsers installed on this machine.";

    async fn run(call: &Call, _: NoInput) -> Result<Output, OpError> {
        let installed = (call.settings().installed)();
        let lines: Vec<String> = installed
            .as_array()
            .map(|all| all.iter().map(|one| format!("{} {}", word(one, "name"), word(one, "path"))).collect())
            .unwrap_or_default();
        let text = if lines.is_empty() { "no browser is installed".to_owned() } else { lines.join("\n") };
        Ok(Output::new(json!({ "browsers": installed }), text))
    }
}

fn word(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_default().to_owned()
}

pub(crate) struct Status;

impl Op for Status {
    type Input = NoInput;
    const NAME: &'static str = "status";
    const TOOL: &'static str = "coordinator_status";
    const SET: Set = Set::Lifecycle;
    const ACCESS: Access = Access::Read;
    const ABOUT: &'static str = "The browsers that the hub knows, and what they do.";

    async fn run(call: &Call, _: NoInput) -> Result<Output, OpError> {
        let browsers: Vec<Value> = call.hub().browsers().iter().map(|browser| shown(call, browser)).collect();
        let lines: Vec<String> = browsers
            .iter()
            .map(|one| {
                format!(
                    "{} {} {} clients {}",
                    word(one, "name"),
                    word(one, "state"),
                    word(one, "backend"),
                    one["clients"]
                )
            })
            .collect();
        let data = json!({"browsers": browsers, "version": call.hub().version(), "port": call.hub().port(),
            "agent": call.agent.name.as_str()});
        Ok(Output::new(data, lines.join("\n")))
    }
}

fn shown(call: &Call, browser: &Browser) -> Value {
    let now = browser.snapshot();
    let state = match now.life {
        Life::Absent => "absent",
        Life::Starting => "starting",
        Life::Ready => "running",
        Life::Lost => "lost",
        Life::Stopped => "stopped",
    };
    json!({"name": browser.name(), "state": state, "backend": now.spec.backend(), "pid": now.pid,
        "clients": now.clients(), "version": now.version.as_ref().map(|version| version.product.clone()),
        "port": call.hub().port_of(browser.name()), "reason": now.reason})
}

/// The hub sees to it that a launch and an end do not take for ever.
const LIFECYCLE: Duration = Duration::from_secs(600);

pub(crate) struct LaunchBrowser;

input!(LaunchInput {
    name: Option<String> = "default, or another name",
    kind ["browserType", "type"]: Option<String> = "chrome, edge, chromium, brave, or a path",
    headless: Option<bool> = "without a window",
    profile: Option<String> = "keep logins under this name",
});

impl Op for LaunchBrowser {
    type Input = LaunchInput;
    const NAME: &'static str = "launch_browser";
    const TOOL: &'static str = "coordinator_launch_browser";
    const SET: Set = Set::Lifecycle;
    const ACCESS: Access = Access::Dangerous;
    const ABOUT: &'static str = "Launch a browser, or relaunch it with other options.";

    async fn run(call: &Call, input: LaunchInput) -> Result<Output, OpError> {
        call.deadline_or(LIFECYCLE);
        let has_options = input.kind.is_some() || input.headless.is_some() || input.profile.is_some();
        let spec = has_options.then(|| {
            Spec::Launched(LaunchSpec {
                browser: input.kind.clone(),
                headless: input.headless,
                profile: input.profile.clone(),
                ..LaunchSpec::default()
            })
        });
        let browser = match &input.name {
            Some(name) => call.hub().define(name, spec.clone()).map_err(|error| {
                OpError::bad_input(format!("launch_browser: `name`: {error}"), "letters, digits, - and _")
            })?,
            None => call.browser()?,
        };
        if !matches!(browser.snapshot().spec, Spec::Launched(_)) && spec.is_some() {
            let message = format!("`{}` is not a browser that the hub launches", browser.name());
            return Err(OpError::new(Code::Refused, message, "choose another name"));
        }
        if spec.is_some() && browser.snapshot().life == Life::Ready {
            may_be_ended(call, &browser, false)?;
        }
        browser.launch(spec, false).await.map_err(not_started)?;
        let _ = call.hub().remember_spec(browser.name(), &browser.snapshot().spec);
        Ok(told(call, &browser, "runs"))
    }
}

pub(crate) struct StopBrowser;

input!(EndInput {
    name: Option<String> = "which (default)",
    force: Option<bool> = "although other agents use it",
});

impl Op for StopBrowser {
    type Input = EndInput;
    const NAME: &'static str = "stop_browser";
    const TOOL: &'static str = "coordinator_stop_browser";
    const SET: Set = Set::Lifecycle;
    const ACCESS: Access = Access::Dangerous;
    const ABOUT: &'static str = "Stop a browser; the next use starts it again.";

    async fn run(call: &Call, input: EndInput) -> Result<Output, OpError> {
        call.deadline_or(LIFECYCLE);
        let browser = named(call, input.name.as_deref())?;
        may_be_ended(call, &browser, input.force.unwrap_or(false))?;
        browser.stop().await;
        Ok(told(call, &browser, "is stopped"))
    }
}

pub(crate) struct RestartBrowser;

impl Op for RestartBrowser {
    type Input = EndInput;
    const NAME: &'static str = "restart_browser";
    const TOOL: &'static str = "coordinator_restart_browser";
    const SET: Set = Set::Lifecycle;
    const ACCESS: Access = Access::Dangerous;
    const ABOUT: &'static str = "Replace a browser by a new one; its address stays.";

    async fn run(call: &Call, input: EndInput) -> Result<Output, OpError> {
        call.deadline_or(LIFECYCLE);
        let browser = named(call, input.name.as_deref())?;
        may_be_ended(call, &browser, input.force.unwrap_or(false))?;
        browser.launch(None, true).await.map_err(not_started)?;
        Ok(told(call, &browser, "was restarted"))
    }
}

fn named(call: &Call, name: Option<&str>) -> Result<Arc<Browser>, OpError> {
    let Some(name) = name else { return call.browser() };
    call.hub().browser(name).map_err(|error| {
        OpError::new(Code::NoSuchBrowser, error.to_string(), "coordinator_status lists them")
    })
}

/// Nobody's work is ended by another agent, unless it says that it means it.
fn may_be_ended(call: &Call, browser: &Browser, force: bool) -> Result<(), OpError> {
    let others = call.leases().others(browser.name(), &call.agent);
    if force || others.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = others.iter().map(|name| name.as_str()).collect();
    let message = format!("browser `{}` is used by {}", browser.name(), names.join(", "));
    Err(OpError::new(Code::NotOwner, message, "wait, launch another one by name, or pass force: true"))
}

fn not_started(error: StartError) -> OpError {
    OpError::new(Code::NoBrowser, error.message, error.hint).with("reason", json!(error.code))
}

fn told(call: &Call, browser: &Browser, what: &str) -> Output {
    Output::new(shown(call, browser), format!("{} {what}", browser.name()))
}
