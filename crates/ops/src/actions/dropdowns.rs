//! Dropdowns: native ones, and those that pages build themselves, which must be opened to show their options.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::act::{Act, Found, only};
use super::forms::fit;
use crate::error::{Code, OpError};
use crate::page::Element;

/// How long a list may take to open where the caller does not say.
const OPENS: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(50);

input!(Dropdown {
    selector: Element = "the select, or what opens the list",
    waitMs: Option<u64> = "milliseconds until the list is open (as long as it takes, 1000 at most)",
    closeAfter: Option<bool> = "false: leave it open",
});

pub(super) async fn get_dropdown_options(act: &Act, payload: Dropdown) -> Result<Value, OpError> {
    let found = act.element(&payload.selector).await?;
    let (mut listed, was_opened) = open(act, &found, payload.waitMs.map(Duration::from_millis)).await?;
    if was_opened && payload.closeAfter.unwrap_or(true) {
        close(act, &found).await?;
        let left = act.inspect_of("options", &found.name, json!({})).await.unwrap_or_default();
        listed["isOpen"] = json!(left["isOpen"] == json!(true));
    }
    Ok(only(&listed, &["type", "isOpen", "options"]))
}

/// The options, and whether the list had to be opened for them.
async fn open(act: &Act, found: &Found, wait: Option<Duration>) -> Result<(Value, bool), OpError> {
    let is_shut = match act.inspect_of("options", &found.name, json!({})).await {
        Ok(listed) => {
            let is_native = listed["type"] == json!("select") || listed["type"] == json!("datalist");
            if is_native || listed["isOpen"] == json!(true) {
                return Ok((listed, false));
            }
            Ok(listed)
        }
        // It does not say that it opens something; it may do so nevertheless.
        Err(error) if error.code == Code::BrowserSaid => Err(error),
        Err(error) => return Err(error),
    };
    act.op("click", json!({"target": found.name})).await?;
    if let Some(wait) = wait {
        tokio::time::sleep(wait).await;
    }
    let until = Instant::now() + if wait.is_some() { Duration::ZERO } else { OPENS };
    loop {
        let listed = act.inspect_of("options", &found.name, json!({})).await;
        let is_late = Instant::now() >= until;
        match listed {
            Ok(listed) if listed["isOpen"] == json!(true) || is_late => return Ok((listed, true)),
            Err(error) if is_late => {
                return is_shut.map(|listed| (listed, true)).map_err(|_| error);
            }
            _ => tokio::time::sleep(PAUSE).await,
        }
    }
}

async fn close(act: &Act, found: &Found) -> Result<(), OpError> {
    // Where the focus is; the list may have it.
    act.op("press_key", json!({"key": "Escape"})).await?;
    let listed = act.inspect_of("options", &found.name, json!({})).await.unwrap_or_default();
    if listed["isOpen"] == json!(true) {
        act.op("press_key", json!({"key": "Escape", "target": found.name})).await?;
    }
    Ok(())
}

input!(SelectOption {
    selector: Element = "the select, or what opens the list",
    value: Option<String> = "the option's value",
    text: Option<String> = "or the text that it shows",
    index: Option<u64> = "or its place, from 0",
});

pub(super) async fn select_option(act: &Act, payload: SelectOption) -> Result<Value, OpError> {
    let SelectOption { selector, value, text, index } = payload;
    let wish = match (value, text, index) {
        (Some(value), ..) => json!({ "value": value }),
        (None, Some(text), _) => json!({ "label": text }),
        (None, None, Some(index)) => json!({ "index": index }),
        (None, None, None) => {
            let message = "selectOption: `value` is missing";
            return Err(OpError::bad_input(message, "give `value`, `text` or `index`"));
        }
    };
    let found = act.element(&selector).await?;
    match choose(act, &found, &wish).await? {
        Chosen::Option { value, text } => {
            Ok(json!({"success": true, "selectedValue": value, "selectedText": text}))
        }
        Chosen::None { available } => Ok(json!({"success": false, "availableOptions": available})),
    }
}

/// What became of a wish.
pub(super) enum Chosen {
    Option { value: Value, text: Value },
    None { available: Value },
}

/// Chooses an option by `{value}`, `{label}` or `{index}`.
pub(super) async fn choose(act: &Act, found: &Found, wish: &Value) -> Result<Chosen, OpError> {
    if found.text("tag") != "select" {
        return choose_custom(act, found, wish).await;
    }
    match act.data("select_option", json!({"target": found.name, "values": [wish]})).await {
        Ok(done) => {
            let selected = &done["selected"][0];
            Ok(Chosen::Option { value: selected["value"].clone(), text: selected["label"].clone() })
        }
        Err(error) => match error.details.get("available") {
            Some(available) => Ok(Chosen::None { available: available.clone() }),
            None => Err(error),
        },
    }
}

async fn choose_custom(act: &Act, found: &Found, wish: &Value) -> Result<Chosen, OpError> {
    let (listed, was_opened) = open(act, found, None).await?;
    let options = listed["options"].as_array().cloned().unwrap_or_default();
    let chosen = match wish["index"].as_u64() {
        Some(index) => options.get(index as usize),
        None => best(&options, wish),
    };
    let Some(option) = chosen.filter(|option| option["disabled"] != json!(true)) else {
        if was_opened {
            close(act, found).await?;
        }
        let available = options.iter().enumerate().map(
            |(index, option)| json!({"value": option["value"], "label": option["text"], "index": index}),
        );
        return Ok(Chosen::None { available: available.collect() });
    };
    act.op("click", json!({"target": option["ref"]})).await?;
    Ok(Chosen::Option { value: option["value"].clone(), text: option["text"].clone() })
}

fn best<'a>(options: &'a [Value], wish: &Value) -> Option<&'a Value> {
    let (member, wanted) = match (wish["value"].as_str(), wish["label"].as_str()) {
        (Some(value), _) => ("value", value),
        (None, label) => ("text", label?),
    };
    let rank = |option: &&Value| {
        let exact = option[member].as_str().is_some_and(|text| text == wanted);
        let other = fit(wanted, option["text"].as_str().unwrap_or_default());
        if exact { Some(0) } else { other.filter(|rank| *rank == 0).map(|_| 1) }
    };
    options
        .iter()
        .filter_map(|option| Some((rank(&option)?, option)))
        .min_by_key(|(rank, _)| *rank)
        .map(|(_, o)| o)
}
