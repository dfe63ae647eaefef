//! What an action is meant for: a tab, a browser, and how long it may take. Every payload may say so.

use serde_json::{Map, Value, json};

use super::Action;
use crate::error::{Code, OpError};

/// What every payload may have.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Common {
    pub(super) tab_id: Option<String>,
    /// Part of a tab's address.
    pub(super) url: Option<String>,
    pub(super) browser: Option<String>,
    /// Milliseconds.
    pub(super) timeout: Option<u64>,
}

impl Common {
    /// Takes it out of a payload. What an action has as a field of its own is left to it.
    pub(super) fn take(action: &Action, payload: &mut Map<String, Value>) -> Result<Self, OpError> {
        let own = (action.fields)();
        let mut text = |name: &str| {
            if own.iter().any(|field| field.name == name) {
                return Ok(None);
            }
            match payload.remove(name) {
                None | Some(Value::Null) => Ok(None),
                Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(text)),
                Some(other) => {
                    let message = format!("{}: `{name}`: expected a text, not {other}", action.name);
                    let hint = match name {
                        "tabId" => "an id that getTabs gives, for example \"t1\"",
                        "url" => "a part of the address of a tab",
                        _ => "a browser's name or kind, for example \"chrome\"",
                    };
                    Err(OpError::bad_input(message, hint))
                }
            }
        };
        let (tab_id, url, browser) = (text("tabId")?, text("url")?, text("browser")?);
        let timeout = match payload.remove("timeout") {
            None | Some(Value::Null) => None,
            Some(Value::Number(number)) if number.as_u64().is_some() => number.as_u64(),
            Some(other) => {
                let message = format!("{}: `timeout`: expected a whole number, not {other}", action.name);
                return Err(OpError::bad_input(message, "give milliseconds, for example 10000"));
            }
        };
        Ok(Self { tab_id, url, browser, timeout })
    }
}

/// By the short name or the target's id, and by nothing else: a name that is gone is no part of an address.
pub(super) fn by_id<'a>(tabs: &'a [Value], word: &str) -> Result<&'a Value, OpError> {
    let word = word.trim();
    tabs.iter().find(|tab| tab["tab"] == json!(word) || tab["id"] == json!(word)).ok_or_else(|| {
        let names: Vec<&str> = tabs.iter().filter_map(|tab| tab["tab"].as_str()).collect();
        let message = format!("`tabId`: there is no tab `{word}`");
        OpError::new(Code::NoSuchTab, message, format!("there are: {}", names.join(", ")))
    })
}

/// The tab with this address, or the one with this part in it; of several, the current one.
pub(super) fn by_url<'a>(tabs: &'a [Value], part: &str) -> Result<&'a Value, OpError> {
    let lower = part.trim().to_lowercase();
    let address = |tab: &&Value| tab["url"].as_str().unwrap_or_default().to_lowercase();
    let whole: Vec<&Value> = tabs.iter().filter(|tab| address(tab) == lower).collect();
    let found = match whole.is_empty() {
        true => tabs.iter().filter(|tab| address(tab).contains(&lower)).collect(),
        false => whole,
    };
    let current = found.iter().find(|tab| tab["current"] == json!(true));
    match (found.as_slice(), current) {
        ([only], _) | (_, Some(only)) => Ok(only),
        ([], _) => {
            let message = format!("`url`: no tab's address has `{part}` in it");
            Err(OpError::new(Code::NoSuchTab, message, "getTabs lists the tabs"))
        }
        (several, None) => {
            let names: Vec<&str> = several.iter().filter_map(|tab| tab["tab"].as_str()).collect();
            let message = format!("`url`: {} tabs have `{part}` in their addresses", several.len());
            let hint = format!("choose one with tabId: {}", names.join(", "));
            Err(OpError::new(Code::Ambiguous, message, hint))
        }
    }
}
