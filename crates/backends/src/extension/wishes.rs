//! Commands that set something on a page and can be kept: they are answered at once while a tab is not
//! attached, applied in order when it is, and undone for one client without touching the others.
//!
//! docs/protocols/clients.md tells the same rules to people.

use serde_json::{Map, Value, json};

/// How the wishes of several clients for the same thing become one setting of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Merge {
    /// The latest writer decides. When it leaves, the one before it does; when nobody is left, this
    /// command puts the page back.
    Last(Option<(&'static str, &'static str)>),
    /// The browser takes it once; the first decides.
    First,
    /// On, if anybody has it on.
    Any(&'static str),
    /// Headers of all, by name; of the same name the latest.
    Headers,
    /// The URLs of all.
    Urls,
}

/// What a command is, as far as it can be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rule {
    Enable,
    Disable,
    Set {
        key: &'static str,
        merge: Merge,
    },
    /// Takes a setting back.
    Clear {
        key: &'static str,
    },
    Script,
    RemoveScript,
    Binding,
    RemoveBinding,
    World,
    FrameTree,
    Lifecycle,
    Release,
    FetchEnable,
    FetchDisable,
}

/// A wish of one session.
#[derive(Debug, Clone)]
pub(super) struct Wish {
    /// What it replaces: two wishes of the same key are one.
    pub(super) key: String,
    pub(super) method: String,
    pub(super) params: String,
    /// Which of all wishes came later.
    pub(super) serial: u64,
    /// The browser's name for it, where it has one (a script's identifier).
    pub(super) real: Option<String>,
}

const fn last(key: &'static str, method: &'static str, params: &'static str) -> Rule {
    Rule::Set { key, merge: Merge::Last(Some((method, params))) }
}

/// The domains whose `enable` says something that cannot be made up, so that it needs the tab.
const IMPATIENT: [&str; 3] = ["Debugger", "WebAuthn", "Cast"];

/// The domains that chrome.debugger has not, so that nothing need be attached to say so.
const REFUSED: [&str; 9] = [
    "BackgroundService",
    "DOMStorage",
    "HeapProfiler",
    "IndexedDB",
    "Memory",
    "Profiler",
    "Security",
    "ServiceWorker",
    "SystemInfo",
];

/// Whether `enable` and `disable` of a domain can wait for the tab to be attached. All that are not known can:
/// frameworks enable the newest on every page.
pub(super) fn is_patient(domain: &str) -> bool {
    !IMPATIENT.contains(&domain) && !is_refused(domain)
}

pub(super) fn is_refused(domain: &str) -> bool {
    REFUSED.contains(&domain)
}

pub(super) fn rule(method: &str) -> Option<Rule> {
    let (domain, command) = method.split_once('.')?;
    match command {
        "enable" if domain == "Fetch" => return Some(Rule::FetchEnable),
        "disable" if domain == "Fetch" => return Some(Rule::FetchDisable),
        "enable" => return Some(Rule::Enable),
        "disable" => return Some(Rule::Disable),
        _ => {}
    }
    Some(match domain {
        "Emulation" => return emulation(command),
        "Network" => return network(command),
        "Page" => match command {
            "addScriptToEvaluateOnNewDocument" => Rule::Script,
            "removeScriptToEvaluateOnNewDocument" => Rule::RemoveScript,
            "createIsolatedWorld" => Rule::World,
            "getFrameTree" => Rule::FrameTree,
            "setLifecycleEventsEnabled" => Rule::Lifecycle,
            "setBypassCSP" => Rule::Set { key: "Page.setBypassCSP", merge: Merge::Any("enabled") },
            "setInterceptFileChooserDialog" => {
                Rule::Set { key: "Page.setInterceptFileChooserDialog", merge: Merge::Any("enabled") }
            }
            "setAdBlockingEnabled" => {
                Rule::Set { key: "Page.setAdBlockingEnabled", merge: Merge::Any("enabled") }
            }
            "setFontFamilies" => Rule::Set { key: "Page.setFontFamilies", merge: Merge::First },
            "setFontSizes" => Rule::Set { key: "Page.setFontSizes", merge: Merge::First },
            "setPrerenderingAllowed" => {
                last("Page.setPrerenderingAllowed", "Page.setPrerenderingAllowed", r#"{"isAllowed":true}"#)
            }
            _ => return None,
        },
        "Runtime" => match command {
            "addBinding" => Rule::Binding,
            "removeBinding" => Rule::RemoveBinding,
            "runIfWaitingForDebugger" => Rule::Release,
            "setAsyncCallStackDepth" => {
                last("Runtime.setAsyncCallStackDepth", "Runtime.setAsyncCallStackDepth", r#"{"maxDepth":0}"#)
            }
            _ => return None,
        },
        "Input" if command == "setIgnoreInputEvents" => {
            last("Input.setIgnoreInputEvents", "Input.setIgnoreInputEvents", r#"{"ignore":false}"#)
        }
        "Input" if command == "setInterceptDrags" => {
            Rule::Set { key: "Input.setInterceptDrags", merge: Merge::Any("enabled") }
        }
        _ => return None,
    })
}

fn network(command: &str) -> Option<Rule> {
    Some(match command {
        "setExtraHTTPHeaders" => Rule::Set { key: "Network.setExtraHTTPHeaders", merge: Merge::Headers },
        "setBlockedURLs" => Rule::Set { key: "Network.setBlockedURLs", merge: Merge::Urls },
        "setCacheDisabled" => {
            Rule::Set { key: "Network.setCacheDisabled", merge: Merge::Any("cacheDisabled") }
        }
        "setBypassServiceWorker" => {
            Rule::Set { key: "Network.setBypassServiceWorker", merge: Merge::Any("bypass") }
        }
        "setAttachDebugStack" => {
            Rule::Set { key: "Network.setAttachDebugStack", merge: Merge::Any("enabled") }
        }
        "setUserAgentOverride" => {
            last("Emulation.setUserAgentOverride", "Emulation.setUserAgentOverride", r#"{"userAgent":""}"#)
        }
        "emulateNetworkConditions" => last(
            "Network.emulateNetworkConditions",
            "Network.emulateNetworkConditions",
            r#"{"offline":false,"latency":0,"downloadThroughput":-1,"uploadThroughput":-1}"#,
        ),
        "emulateNetworkConditionsByRule" => last(
            "Network.emulateNetworkConditionsByRule",
            "Network.emulateNetworkConditionsByRule",
            r#"{"offline":false,"matchedNetworkConditions":[]}"#,
        ),
        "overrideNetworkState" => last(
            "Network.overrideNetworkState",
            "Network.overrideNetworkState",
            r#"{"offline":false,"latency":0,"downloadThroughput":-1,"uploadThroughput":-1}"#,
        ),
        _ => return None,
    })
}

fn emulation(command: &str) -> Option<Rule> {
    const METRICS: &str = "Emulation.setDeviceMetricsOverride";
    const PLACE: &str = "Emulation.setGeolocationOverride";
    const IDLE: &str = "Emulation.setIdleOverride";
    Some(match command {
        "setDeviceMetricsOverride" => last(METRICS, "Emulation.clearDeviceMetricsOverride", "{}"),
        "clearDeviceMetricsOverride" => Rule::Clear { key: METRICS },
        "setGeolocationOverride" => last(PLACE, "Emulation.clearGeolocationOverride", "{}"),
        "clearGeolocationOverride" => Rule::Clear { key: PLACE },
        "setIdleOverride" => last(IDLE, "Emulation.clearIdleOverride", "{}"),
        "clearIdleOverride" => Rule::Clear { key: IDLE },
        "setTouchEmulationEnabled" => last(
            "Emulation.setTouchEmulationEnabled",
            "Emulation.setTouchEmulationEnabled",
            r#"{"enabled":false}"#,
        ),
        "setEmitTouchEventsForMouse" => last(
            "Emulation.setEmitTouchEventsForMouse",
            "Emulation.setEmitTouchEventsForMouse",
            r#"{"enabled":false}"#,
        ),
        "setEmulatedMedia" => {
            last("Emulation.setEmulatedMedia", "Emulation.setEmulatedMedia", r#"{"media":"","features":[]}"#)
        }
        "setLocaleOverride" => last("Emulation.setLocaleOverride", "Emulation.setLocaleOverride", "{}"),
        "setTimezoneOverride" => {
            last("Emulation.setTimezoneOverride", "Emulation.setTimezoneOverride", r#"{"timezoneId":""}"#)
        }
        "setUserAgentOverride" => {
            last("Emulation.setUserAgentOverride", "Emulation.setUserAgentOverride", r#"{"userAgent":""}"#)
        }
        "setScriptExecutionDisabled" => {
            Rule::Set { key: "Emulation.setScriptExecutionDisabled", merge: Merge::Any("value") }
        }
        "setFocusEmulationEnabled" => {
            Rule::Set { key: "Emulation.setFocusEmulationEnabled", merge: Merge::Any("enabled") }
        }
        "setScrollbarsHidden" => {
            Rule::Set { key: "Emulation.setScrollbarsHidden", merge: Merge::Any("hidden") }
        }
        "setDocumentCookieDisabled" => {
            Rule::Set { key: "Emulation.setDocumentCookieDisabled", merge: Merge::Any("disabled") }
        }
        "setAutomationOverride" => {
            Rule::Set { key: "Emulation.setAutomationOverride", merge: Merge::Any("enabled") }
        }
        "setDefaultBackgroundColorOverride" => last(
            "Emulation.setDefaultBackgroundColorOverride",
            "Emulation.setDefaultBackgroundColorOverride",
            "{}",
        ),
        "setCPUThrottlingRate" => {
            last("Emulation.setCPUThrottlingRate", "Emulation.setCPUThrottlingRate", r#"{"rate":1}"#)
        }
        "setAutoDarkModeOverride" => {
            last("Emulation.setAutoDarkModeOverride", "Emulation.setAutoDarkModeOverride", "{}")
        }
        "setEmulatedVisionDeficiency" => last(
            "Emulation.setEmulatedVisionDeficiency",
            "Emulation.setEmulatedVisionDeficiency",
            r#"{"type":"none"}"#,
        ),
        "setHardwareConcurrencyOverride" => {
            Rule::Set { key: "Emulation.setHardwareConcurrencyOverride", merge: Merge::Last(None) }
        }
        _ => return None,
    })
}

/// The parameters that the page gets, from the wishes of all sessions, the latest last. `None` means that
/// there is nothing to say: nobody wishes for anything any more, and no command puts it back.
pub(super) fn merged(merge: Merge, wishes: &[&Wish]) -> Option<(String, String)> {
    let params = |wish: &&Wish| serde_json::from_str::<Map<String, Value>>(&wish.params).unwrap_or_default();
    // The newest decides how to call it: two methods may set the same thing.
    let method = wishes.last().map(|wish| wish.method.clone());
    match merge {
        Merge::First => wishes.first().map(|wish| (wish.method.clone(), wish.params.clone())),
        Merge::Last(reset) => match wishes.last() {
            Some(wish) => Some((wish.method.clone(), wish.params.clone())),
            None => reset.map(|(method, params)| (method.to_owned(), params.to_owned())),
        },
        Merge::Any(field) => {
            let on = |wish: &&&Wish| params(wish).get(field).and_then(Value::as_bool) == Some(true);
            let method = method?;
            match wishes.iter().rev().find(on) {
                Some(wish) => Some((method, wish.params.clone())),
                None => Some((method, json!({field: false}).to_string())),
            }
        }
        Merge::Headers => {
            let mut headers = Map::new();
            for wish in wishes {
                if let Some(Value::Object(own)) = params(wish).remove("headers") {
                    headers.retain(|name, _| !own.keys().any(|own| own.eq_ignore_ascii_case(name)));
                    headers.extend(own);
                }
            }
            Some(("Network.setExtraHTTPHeaders".to_owned(), json!({"headers": headers}).to_string()))
        }
        Merge::Urls => {
            let mut all = Map::new();
            for wish in wishes {
                for (name, value) in params(wish) {
                    match (all.get_mut(&name), value) {
                        (Some(Value::Array(urls)), Value::Array(more)) => urls.extend(more),
                        (_, value) => drop(all.insert(name, value)),
                    }
                }
            }
            if all.is_empty() {
                all.insert("urls".to_owned(), json!([]));
            }
            Some(("Network.setBlockedURLs".to_owned(), Value::Object(all).to_string()))
        }
    }
}

/// The command that puts a setting back when nobody wishes for it.
pub(super) fn reset(key: &str, merge: Merge) -> Option<(String, String)> {
    match merge {
        Merge::Any(field) => Some((key.to_owned(), json!({field: false}).to_string())),
        merge => merged(merge, &[]),
    }
}

/// Parameters of an `enable` of which several clients want more than one: numbers the largest, switches
/// on if anybody's are.
pub(super) fn merged_enable(all: &[&str]) -> String {
    let mut merged = Map::new();
    for params in all {
        for (name, value) in serde_json::from_str::<Map<String, Value>>(params).unwrap_or_default() {
            let better = match (merged.get(&name), &value) {
                (Some(Value::Number(old)), Value::Number(new)) => new.as_f64() > old.as_f64(),
                (Some(Value::Bool(old)), Value::Bool(new)) => !old && *new,
                _ => true,
            };
            if better {
                merged.insert(name, value);
            }
        }
    }
    Value::Object(merged).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(method: &str, params: Value, serial: u64) -> Wish {
        Wish {
            key: method.to_owned(),
            method: method.to_owned(),
            params: params.to_string(),
            serial,
            real: None,
        }
    }

    fn merge_of(method: &str) -> Merge {
        match rule(method) {
            Some(Rule::Set { merge, .. }) => merge,
            other => panic!("{method}: {other:?}"),
        }
    }

    #[test]
    fn the_last_writer_decides_and_leaves_the_one_before() {
        let merge = merge_of("Emulation.setTimezoneOverride");
        let (a, b) = (
            wish("Emulation.setTimezoneOverride", json!({"timezoneId": "A"}), 1),
            wish("Emulation.setTimezoneOverride", json!({"timezoneId": "B"}), 2),
        );
        assert_eq!(merged(merge, &[&a, &b]).unwrap().1, r#"{"timezoneId":"B"}"#);
        assert_eq!(merged(merge, &[&a]).unwrap().1, r#"{"timezoneId":"A"}"#);
        assert_eq!(merged(merge, &[]).unwrap().1, r#"{"timezoneId":""}"#);
    }

    #[test]
    fn headers_are_joined_by_name() {
        let merge = merge_of("Network.setExtraHTTPHeaders");
        let a = wish("Network.setExtraHTTPHeaders", json!({"headers": {"X-A": "1", "x-both": "a"}}), 1);
        let b = wish("Network.setExtraHTTPHeaders", json!({"headers": {"X-Both": "b"}}), 2);
        let (_, params) = merged(merge, &[&a, &b]).unwrap();
        assert_eq!(params, r#"{"headers":{"X-A":"1","X-Both":"b"}}"#);
        assert_eq!(merged(merge, &[]).unwrap().1, r#"{"headers":{}}"#);
    }

    #[test]
    fn a_switch_is_on_while_anybody_has_it_on() {
        let merge = merge_of("Network.setCacheDisabled");
        let on = wish("Network.setCacheDisabled", json!({"cacheDisabled": true}), 1);
        let off = wish("Network.setCacheDisabled", json!({"cacheDisabled": false}), 2);
        assert_eq!(merged(merge, &[&on, &off]).unwrap().1, r#"{"cacheDisabled":true}"#);
        assert_eq!(merged(merge, &[&off]).unwrap().1, r#"{"cacheDisabled":false}"#);
        assert_eq!(reset("Network.setCacheDisabled", merge).unwrap().1, r#"{"cacheDisabled":false}"#);
    }

    #[test]
    fn the_wider_enable_wins() {
        let merged = merged_enable(&[
            r#"{"maxPostDataSize":10}"#,
            r#"{"maxPostDataSize":5,"reportDirectSocketTraffic":true}"#,
        ]);
        assert_eq!(merged, r#"{"maxPostDataSize":10,"reportDirectSocketTraffic":true}"#);
    }
}
