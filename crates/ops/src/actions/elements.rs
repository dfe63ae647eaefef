//! Acting on elements: click, fill, press keys, and waiting for one.

use std::time::Duration;

use serde_json::{Value, json};

use super::act::{Act, first, quoted, text};
use crate::error::{Code, OpError};
use crate::page::Element;

/// How long an element may take to appear.
const APPEARS: u64 = 10_000;

input!(OneElement { selector: Element = "CSS, text=, role=, label=, xpath=, or a ref (e12)" });

input!(ClickElement {
    selector: Option<Element> = "CSS, text=, role=, label=, xpath=, or a ref (e12)",
    text: Option<String> = "or the text that it shows",
});

pub(super) async fn click_element(act: &Act, payload: ClickElement) -> Result<Value, OpError> {
    let (target, told) = match (&payload.selector, &payload.text) {
        (Some(selector), _) => (first(selector), text(selector)),
        (None, Some(words)) => {
            let found = act.element(&Element::Locator(format!("text={}i", quoted(words)))).await?;
            let selector = found.text("selector").to_owned();
            (found.name, selector)
        }
        (None, None) => {
            let message = "clickElement: `selector` is missing";
            return Err(OpError::bad_input(message, "give `selector`, or the `text` that it shows"));
        }
    };
    act.op("click", json!({ "target": target })).await?;
    Ok(json!({"success": true, "selector": told}))
}

input!(FillElement {
    selector: Element = "the field",
    value: Value = "its value; true or false for a checkbox, a label for a select",
    simulateTyping: Option<bool> = "key by key",
    clearFirst: Option<bool> = "false: after what is there",
});

pub(super) async fn fill_element(act: &Act, payload: FillElement) -> Result<Value, OpError> {
    let FillElement { selector, value, simulateTyping, clearFirst } = payload;
    let words = match &value {
        Value::String(words) => Some(words.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(_) => None,
        other => {
            let message = format!("fillElement: `value`: expected a text, not {other}");
            return Err(OpError::bad_input(message, "give a text, a number, true or false"));
        }
    };
    let target = first(&selector);
    let is_typed = simulateTyping.unwrap_or(false);
    match (words, clearFirst.unwrap_or(true)) {
        (Some(words), true) if is_typed => {
            act.op("type", json!({"target": target, "text": words, "slowly": true})).await?;
        }
        (Some(words), false) if is_typed => {
            let to_end = "el => { el.focus(); try { el.setSelectionRange(el.value.length, el.value.length); } \
                          catch { getSelection().selectAllChildren(el); getSelection().collapseToEnd(); } }";
            act.op("evaluate", json!({"target": target, "expression": to_end})).await?;
            act.op("type", json!({"text": words, "slowly": true})).await?;
        }
        (Some(words), false) => {
            let known = act.data("get", json!({"what": "value", "target": target})).await?;
            let whole = format!("{}{words}", known["value"].as_str().unwrap_or_default());
            act.op("fill", json!({"target": target, "value": whole})).await?;
        }
        _ => fill_as_it_is(act, &target, &value).await?,
    }
    Ok(json!({"success": true, "selector": text(&selector), "value": value}))
}

/// Does with a field what its kind asks for.
pub(super) async fn fill_as_it_is(act: &Act, target: &str, value: &Value) -> Result<(), OpError> {
    act.op("fill_form", json!({"fields": [{"target": target, "value": value}]})).await?;
    Ok(())
}

input!(PressKey {
    key: String = "Enter, Tab, ArrowDown, a, Control+A",
    selector: Option<Element> = "element to focus first",
});

pub(super) async fn press_key(act: &Act, payload: PressKey) -> Result<Value, OpError> {
    let (target, tag) = match &payload.selector {
        Some(selector) => {
            let found = act.element(selector).await?;
            (Some(found.name), found.about["tag"].clone())
        }
        None => {
            let focused = act.inspect("info", json!({})).await?["focused"]["tag"].take();
            (None, if focused.is_null() { json!("body") } else { focused })
        }
    };
    act.op("press_key", json!({"key": payload.key, "target": target})).await?;
    let selector = payload.selector.as_ref().map(text);
    Ok(json!({"success": true, "key": payload.key, "selector": selector, "targetTag": tag}))
}

input!(ClickByText {
    text: String = "the text, or a part of it",
    index: Option<u64> = "which of several, from 0",
    elementType: Option<String> = "a role (button, link, tab, ...) or a tag",
    waitForNavigation: Option<bool> = "wait until the page that it leads to is loaded",
});

/// Roles by which people call what they click.
const ROLES: [&str; 14] = [
    "button", "link", "tab", "checkbox", "radio", "switch", "menuitem", "option", "treeitem", "heading",
    "combobox", "textbox", "cell", "listitem",
];

/// How elements that show a text are found.
pub(super) fn locator_of_text(words: &str, kind: Option<&str>) -> String {
    let words = quoted(words);
    let found = match kind.map(str::to_lowercase).as_deref() {
        None | Some("" | "any" | "*") => format!("text={words}i"),
        Some("a") => format!("role=link[name={words}]"),
        Some(role) if ROLES.contains(&role) => format!("role={role}[name={words}]"),
        Some(tag) => format!("{tag}:has-text({words})"),
    };
    format!("{found} >> visible=true")
}

pub(super) async fn click_by_text(act: &Act, payload: ClickByText) -> Result<Value, OpError> {
    let locator = locator_of_text(&payload.text, payload.elementType.as_deref());
    let index = payload.index.unwrap_or(0) as usize;
    let find = json!({"target": locator, "max": index + 1});
    let mut found = act.data("find", find.clone()).await?;
    if found["total"] == json!(0) {
        let wait = json!({"target": locator, "state": "attached", "timeout": act.patience(APPEARS)});
        act.op("wait_for", wait).await.map_err(|error| nothing_shows(&payload.text, error))?;
        found = act.data("find", find).await?;
    }
    let total = found["total"].as_u64().unwrap_or_default();
    let Some(name) = found["matches"][index]["ref"].as_str() else {
        let message = format!("clickByText: `index`: {total} elements show \"{}\"", payload.text);
        return Err(OpError::new(Code::NotFound, message, "the first one has index 0"));
    };
    let element = act.described(name).await?;
    act.op("click", json!({"target": element.name})).await?;
    if payload.waitForNavigation.unwrap_or(false) {
        act.op("wait_for", json!({"load": "load"})).await?;
    }
    Ok(json!({"success": true, "clickedText": element.about["text"], "selector": element.about["selector"],
        "totalMatches": total}))
}

fn nothing_shows(words: &str, error: OpError) -> OpError {
    match error.code {
        Code::Timeout => {
            let hint = "searchVisibleText looks for it; getInteractiveElements lists what can be clicked";
            OpError::new(Code::NotFound, format!("nothing that can be seen shows \"{words}\""), hint)
        }
        _ => error,
    }
}

input!(ClickMultiple {
    selectors: Vec<Element> = "what to click, in order",
    delayMs: Option<u64> = "milliseconds between two clicks (100)",
});

pub(super) async fn click_multiple(act: &Act, payload: ClickMultiple) -> Result<Value, OpError> {
    let pause = Duration::from_millis(payload.delayMs.unwrap_or(100));
    let mut results = Vec::new();
    for (at, selector) in payload.selectors.iter().enumerate() {
        if at > 0 {
            tokio::time::sleep(pause).await;
        }
        let clicked = act.op("click", json!({"target": first(selector)})).await;
        results.push(match clicked {
            Ok(_) => json!({"selector": text(selector), "success": true}),
            Err(error) if is_about_element(&error) => {
                let error = super::act::in_words_of_callers(error);
                json!({"selector": text(selector), "success": false, "error": error.to_json()})
            }
            Err(error) => return Err(error),
        });
    }
    let done = results.iter().filter(|result| result["success"] == json!(true)).count();
    let failed = results.len() - done;
    let summary = json!({"total": results.len(), "succeeded": done, "failed": failed});
    Ok(json!({"success": failed == 0, "results": results, "summary": summary}))
}

/// Whether one element is the problem, so that others may still be acted on.
pub(super) fn is_about_element(error: &OpError) -> bool {
    use Code::{Ambiguous, BadInput, BadLocator, FileError, NotActionable, NotFound, StaleRef};
    matches!(error.code, NotFound | Ambiguous | StaleRef | BadLocator | NotActionable | BadInput | FileError)
}

input!(WaitForSelector {
    selector: Element = "what to wait for",
    visible: Option<bool> = "true: until it can be seen",
});

pub(super) async fn wait_for_selector(act: &Act, payload: WaitForSelector) -> Result<Value, OpError> {
    let state = if payload.visible.unwrap_or(false) { "visible" } else { "attached" };
    match act.op("wait_for", json!({"target": text(&payload.selector), "state": state})).await {
        Ok(_) => {
            let element = act.element(&payload.selector).await?.shown();
            Ok(json!({"success": true, "found": true, "element": element}))
        }
        Err(error) if error.code == Code::Timeout => {
            Ok(json!({"success": false, "found": false, "element": null}))
        }
        Err(error) => Err(error),
    }
}
