//! Which browser is meant: by a name of ours, or by its kind. And what is asked of browsers as such.

use bowline_hub::backend::Spec;
use bowline_hub::{Browser, Hub, Life};
use serde_json::{Value, json};

use super::act::Act;
pub(super) use super::tabs::Nothing;
use crate::agent::Agent;
use crate::error::{Code, OpError};

/// The words of a program's name or of a version that tell its kind. The first that fits counts.
const KINDS: [(&str, &str); 8] = [
    ("edg", "edge"),
    ("brave", "brave"),
    ("vivaldi", "vivaldi"),
    ("opera", "opera"),
    ("chromium", "chromium"),
    ("firefox", "firefox"),
    ("safari", "safari"),
    ("chrome", "chrome"),
];

/// The browser that an agent means by a word, or by none.
pub(super) fn meant(hub: &Hub, agent: &Agent, word: Option<&str>) -> Result<String, OpError> {
    match word.filter(|word| !word.trim().is_empty()) {
        Some(word) => resolve(hub, word),
        None => Ok(agent.default_browser().unwrap_or_else(|| bowline_hub::registry::DEFAULT.to_owned())),
    }
}

/// The name of the browser that is meant: one of ours, or the first of a kind, running ones first.
pub(super) fn resolve(hub: &Hub, word: &str) -> Result<String, OpError> {
    let word = word.trim();
    if let Ok(browser) = hub.browser(word) {
        return Ok(browser.name().to_owned());
    }
    let wanted = kind_in(word).unwrap_or(word);
    let mut known = hub.browsers();
    known.sort_by_key(|browser| browser.snapshot().life != Life::Ready);
    let found = known.iter().find(|browser| kinds(hub, browser).contains(&wanted));
    found.map(|browser| browser.name().to_owned()).ok_or_else(|| {
        let there: Vec<String> = known
            .iter()
            .map(|browser| {
                let state = if browser.snapshot().life == Life::Ready { "running" } else { "not running" };
                format!("{} ({}, {state})", browser.name(), kinds(hub, browser).join(" or "))
            })
            .collect();
        let message = format!("no browser is named `{word}`, or of that kind");
        let names: Vec<&str> = known.iter().map(|browser| browser.name()).collect();
        OpError::new(Code::NoSuchBrowser, message, format!("there are: {}", there.join(", ")))
            .with("browsers", json!(names))
    })
}

fn kind_in(words: &str) -> Option<&'static str> {
    let lower = words.to_lowercase();
    KINDS.iter().find(|(part, _)| lower.contains(part)).map(|(_, kind)| *kind)
}

/// What a browser may be called. A Chromium says of itself that it is Chrome, so it may be either.
fn kinds(hub: &Hub, browser: &Browser) -> Vec<&'static str> {
    let now = browser.snapshot();
    let said = match &now.spec {
        Spec::Launched(launch) => launch
            .browser
            .as_deref()
            .and_then(|program| kind_in(program.rsplit(['/', '\\']).next().unwrap_or_default())),
        Spec::Extension(extension) => {
            let paired = hub.pairings().all().into_iter().find(|(id, _)| *id == extension.instance);
            paired.and_then(|(_, paired)| kind_in(&paired.browser.name))
        }
        Spec::Attached(_) => None,
    };
    let told = || now.version.as_ref().and_then(|version| kind_in(&version.product));
    match said.or_else(told) {
        Some(kind) if said.is_some() || kind != "chrome" => vec![kind],
        _ => vec!["chrome", "chromium"],
    }
}

pub(super) async fn ping(act: &Act, _: Nothing) -> Result<Value, OpError> {
    Ok(json!({"success": true, "pong": true, "version": act.ops.hub().version()}))
}

input!(WhichBrowser { browser: Option<String> = "only this one, or of this kind" });

pub(super) async fn list_connected(act: &Act, payload: WhichBrowser) -> Result<Value, OpError> {
    let hub = act.ops.hub();
    let wanted = payload.browser.as_deref().map(str::trim);
    let mut connected = Vec::new();
    for browser in hub.browsers() {
        let (now, kinds) = (browser.snapshot(), kinds(hub, &browser));
        let fits = wanted
            .is_none_or(|word| browser.name() == word || kinds.contains(&kind_in(word).unwrap_or(word)));
        if now.life == Life::Ready && fits {
            connected.push(json!({"browser": browser.name(), "kind": kinds[0], "backend": now.spec.backend(),
                "version": now.version.as_ref().map(|version| version.product.clone()), "clients": now.clients()}));
        }
    }
    Ok(json!({ "connected": connected }))
}

input!(NewDefault { browser: String = "its name, or its kind" });

pub(super) async fn set_default_browser(act: &Act, payload: NewDefault) -> Result<Value, OpError> {
    let name = resolve(act.ops.hub(), &payload.browser)?;
    act.agent.set_default_browser(&name);
    Ok(json!({"success": true, "browser": name}))
}
