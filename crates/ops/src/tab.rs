//! Which tab is meant: the agent's current one, or one by number, label, id, or part of its address or title.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use bowline_hub::Browser;
use bowline_wire::TargetId;
use serde_json::{Value, json};

use crate::driver::{Connection, TabInfo};
use crate::error::{Code, OpError};
use crate::request::Call;

/// A tab that was chosen, and the agent's connection to its browser.
pub(crate) struct Tab {
    pub(crate) browser: String,
    pub(crate) target: TargetId,
    pub(crate) connection: Arc<Connection>,
}

/// Short names of tabs, `t1` and so on: the same for all agents, and never given again.
#[derive(Default)]
pub(crate) struct TabNumbers(Mutex<HashMap<String, Numbers>>);

#[derive(Default)]
struct Numbers {
    last: usize,
    known: BTreeMap<usize, TargetId>,
    of: HashMap<TargetId, usize>,
}

/// Tabs of a browser whose numbers are remembered: those that are open, and many that were.
const NUMBERED: usize = 10_000;

impl TabNumbers {
    pub(crate) fn of(&self, browser: &str, target: &TargetId) -> String {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let numbers = all.entry(browser.to_owned()).or_default();
        if let Some(number) = numbers.of.get(target) {
            return format!("t{number}");
        }
        numbers.last += 1;
        let number = numbers.last;
        numbers.of.insert(target.clone(), number);
        numbers.known.insert(number, target.clone());
        if numbers.known.len() > NUMBERED
            && let Some((_, oldest)) = numbers.known.pop_first()
        {
            numbers.of.remove(&oldest);
        }
        format!("t{number}")
    }

    /// The tab of a short name that was given.
    pub(crate) fn named(&self, browser: &str, name: &str) -> Option<TargetId> {
        let number: usize = name.strip_prefix('t')?.parse().ok()?;
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(browser)?.known.get(&number).cloned()
    }
}

/// Finds the tab that is meant. Without a word it is the agent's own; one that has none yet gets the newest tab
/// that nobody else uses.
pub(crate) async fn choose(
    call: &Call,
    browser: &Browser,
    connection: Arc<Connection>,
    word: Option<&str>,
) -> Result<Tab, OpError> {
    let name = browser.name();
    let current = call.agent.current(name);
    let chosen = |target: TargetId| Tab { browser: name.to_owned(), target, connection: connection.clone() };
    let word = word.map(str::trim).filter(|word| !word.is_empty() && *word != "current");
    if let (None, Some(current)) = (word, &current)
        && connection.has_page(current)
    {
        return Ok(chosen(current.clone()));
    }
    let tabs = connection.tabs().await?;
    // Numbers are given in the order in which tabs are seen.
    for tab in &tabs {
        call.numbers().of(name, &tab.target);
    }
    let Some(word) = word else {
        if let Some(current) = current {
            if tabs.iter().any(|tab| tab.target == current) {
                return Ok(chosen(current));
            }
            call.agent.set_current(name, None);
            return Err(closed(call, name, &current, &tabs));
        }
        let free = tabs
            .iter()
            .rev()
            .find(|tab| call.leases().owner(name, &tab.target).is_none_or(|owner| owner == call.agent.name));
        return match free {
            Some(tab) => {
                call.agent.set_current(name, Some(tab.target.clone()));
                Ok(chosen(tab.target.clone()))
            }
            None => {
                let message = match tabs.is_empty() {
                    true => format!("browser `{name}` has no tab"),
                    false => format!("all tabs of browser `{name}` are used by other agents"),
                };
                Err(OpError::new(Code::NoSuchTab, message, "open one: navigate, or tabs with action `new`"))
            }
        };
    };
    find(call, name, &tabs, word).map(chosen)
}

/// One of these tabs by a word of the agent's.
pub(crate) fn find(call: &Call, browser: &str, tabs: &[TabInfo], word: &str) -> Result<TargetId, OpError> {
    if let Some(target) =
        call.agent.labelled(word).filter(|target| tabs.iter().any(|tab| tab.target == *target))
    {
        return Ok(target);
    }
    let is_named =
        |tab: &&TabInfo| call.numbers().of(browser, &tab.target) == word || tab.target.as_str() == word;
    if let Some(tab) = tabs.iter().find(is_named) {
        return Ok(tab.target.clone());
    }
    // A bare number counts from one in the list.
    if let Ok(index) = word.parse::<usize>()
        && let Some(tab) = index.checked_sub(1).and_then(|at| tabs.get(at))
    {
        return Ok(tab.target.clone());
    }
    let lower = word.to_lowercase();
    let fits = |tab: &&TabInfo| {
        tab.url.to_lowercase().contains(&lower)
            || tab.title.to_lowercase().contains(&lower)
            || (word.len() >= 4 && tab.target.as_str().starts_with(word))
    };
    let found: Vec<&TabInfo> = tabs.iter().filter(fits).collect();
    match found.as_slice() {
        [tab] => Ok(tab.target.clone()),
        [] => {
            let message = format!("no tab of browser `{browser}` is `{word}`");
            let hint = "name it by number (t1), label, id, or part of its address or title";
            Err(OpError::new(Code::NoSuchTab, message, hint).with("tabs", listed(call, browser, tabs)))
        }
        several => {
            let message = format!("{} tabs fit `{word}`", several.len());
            let names: Vec<String> =
                several.iter().map(|tab| call.numbers().of(browser, &tab.target)).collect();
            let hint = format!("name one of {}", names.join(", "));
            Err(OpError::new(Code::Ambiguous, message, hint).with("tabs", listed(call, browser, tabs)))
        }
    }
}

fn closed(call: &Call, browser: &str, target: &TargetId, tabs: &[TabInfo]) -> OpError {
    let message = format!("your tab {} was closed", call.numbers().of(browser, target));
    let hint = "open a new one (navigate, or tabs with action `new`), or choose one (tabs, action `select`)";
    OpError::new(Code::TabClosed, message, hint).with("tabs", listed(call, browser, tabs))
}

/// The tabs as agents are shown them.
pub(crate) fn listed(call: &Call, browser: &str, tabs: &[TabInfo]) -> Value {
    let current = call.agent.current(browser);
    let shown = tabs.iter().enumerate().map(|(at, tab)| {
        let mut shown = json!({
            "tab": call.numbers().of(browser, &tab.target), "index": at + 1, "id": tab.target,
            "url": tab.url, "title": tab.title, "current": current.as_ref() == Some(&tab.target),
        });
        if let Some(owner) = call.leases().owner(browser, &tab.target) {
            shown["owner"] = json!(owner.as_str());
        }
        if let Some(label) = call.agent.label_of(&tab.target) {
            shown["label"] = json!(label);
        }
        shown
    });
    shown.collect()
}
