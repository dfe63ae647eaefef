//! Why an element is not found, not seen, or cannot be clicked.

use serde_json::{Value, json};

use super::act::{Act, Found, text};
pub(super) use super::elements::OneElement;
use super::elements::is_about_element;
use super::nearest::nearest;
use crate::error::OpError;
use crate::page::Element;

/// Elements that are looked at closely.
const CANDIDATES: u64 = 5;
/// Whoever wants to know why does not want to wait long.
const PATIENCE: u64 = 3_000;

pub(super) async fn find_element_with_debug(act: &Act, payload: OneElement) -> Result<Value, OpError> {
    let (count, candidates) = candidates(act, &payload.selector).await?;
    let suggestions = suggestions(act, &payload.selector, &candidates).await?;
    Ok(json!({"found": count > 0, "matchCount": count, "candidates": candidates, "suggestions": suggestions}))
}

pub(super) async fn click_element_with_debug(act: &Act, payload: OneElement) -> Result<Value, OpError> {
    let Some((found, _)) = act.peek(&payload.selector).await? else {
        let error = format!("no element fits `{}`", text(&payload.selector));
        let suggestions = suggestions(act, &payload.selector, &[]).await?;
        let debug = json!({"error": error, "candidates": [], "visibility": null, "coveredBy": null,
            "suggestions": suggestions});
        return Ok(json!({"success": false, "debug": debug}));
    };
    let click = json!({"target": found.name, "timeout": act.patience(PATIENCE)});
    match act.op("click", click).await {
        Ok(_) => Ok(json!({"success": true, "clickedElement": found.shown()})),
        Err(error) if is_about_element(&error) => {
            let (_, candidates) = candidates(act, &payload.selector).await?;
            let looked = candidates.first().cloned().unwrap_or_default();
            let visibility = json!({"visible": looked["visible"], "inViewport": looked["inViewport"],
                "enabled": looked["enabled"], "reason": looked["reason"]});
            let mut suggestions = suggestions(act, &payload.selector, &candidates).await?;
            suggestions.insert(0, json!({"hint": error.hint}));
            let debug = json!({"error": error.message, "candidates": candidates, "visibility": visibility,
                "coveredBy": looked["coveredBy"], "suggestions": suggestions});
            Ok(json!({"success": false, "debug": debug}))
        }
        Err(error) => Err(error),
    }
}

/// How many elements fit, and the first of them with what would keep one from clicking them.
async fn candidates(act: &Act, selector: &Element) -> Result<(u64, Vec<Value>), OpError> {
    let (total, names) = match selector {
        Element::Ref { .. } => {
            let found = act.peek(selector).await?;
            (u64::from(found.is_some()), found.into_iter().map(|(found, _)| found.name).collect())
        }
        Element::Locator(locator) => {
            let data = act.data("find", json!({"target": locator, "max": CANDIDATES})).await?;
            let matches = data["matches"].as_array().cloned().unwrap_or_default();
            let names: Vec<String> =
                matches.iter().filter_map(|one| one["ref"].as_str().map(str::to_owned)).collect();
            (data["total"].as_u64().unwrap_or_default(), names)
        }
    };
    let mut candidates = Vec::new();
    for name in names {
        // What goes away meanwhile is no candidate.
        let Ok(found) = act.described(&name).await else { continue };
        let ready = act.inspect_of("ready", &name, json!({"action": "click"})).await.unwrap_or_default();
        let mut shown = found.shown();
        shown["enabled"] = found.about["enabled"].clone();
        shown["inViewport"] = found.about["inViewport"].clone();
        shown["clickable"] = json!(ready["ok"] == json!(true));
        shown["reason"] = ready["message"].clone();
        shown["coveredBy"] = ready["by"].clone();
        candidates.push(shown);
    }
    Ok((total, candidates))
}

/// What to try instead: what is like a selector that fits nothing, or what to do about what is in the way.
async fn suggestions(act: &Act, selector: &Element, candidates: &[Value]) -> Result<Vec<Value>, OpError> {
    if let Some(candidate) = candidates.first() {
        let mut hints = Vec::new();
        if candidates.len() > 1 {
            hints.push(json!({"hint": "several elements fit; the first is meant. Use the selector of one."}));
        }
        if let Some(by) = candidate["coveredBy"].as_str() {
            hints.push(json!({"hint": format!("close or scroll away what covers it: {by}")}));
        } else if candidate["visible"] == json!(false) {
            hints.push(json!({"hint": "it is hidden: open what it is in, or wait for it (waitForSelector)"}));
        } else if candidate["enabled"] == json!(false) {
            hints.push(json!({"hint": "it is disabled: fill in what it waits for first"}));
        }
        return Ok(hints);
    }
    let wanted = text(selector);
    let listed = act.inspect("elements", json!({"max": 500})).await?;
    let rows = listed["elements"].as_array().cloned().unwrap_or_default();
    let spelled = rows.iter().filter_map(|row| row["selector"].as_str());
    let mut alike: Vec<String> = nearest(&wanted, spelled, 3).into_iter().map(str::to_owned).collect();
    let words: Vec<&str> =
        wanted.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 1).collect();
    let similar =
        act.inspect("similar", json!({"role": "", "name": words.join(" "), "max": CANDIDATES})).await?;
    for one in similar["matches"].as_array().into_iter().flatten() {
        let row = rows.iter().find(|row| row["ref"] == one["ref"]);
        alike.extend(row.and_then(|row| row["selector"].as_str()).map(str::to_owned));
    }
    let mut seen = std::collections::HashSet::new();
    alike.retain(|selector| seen.insert(selector.clone()));
    let shown =
        alike.iter().filter_map(|selector| rows.iter().find(|row| row["selector"] == json!(selector)));
    let shown = shown.take(CANDIDATES as usize).map(|row| {
        json!({"selector": row["selector"], "tagName": row["tagName"], "text": row["text"], "ref": row["ref"]})
    });
    Ok(shown.collect())
}

pub(super) async fn is_element_visible(act: &Act, payload: OneElement) -> Result<Value, OpError> {
    let Some((found, _)) = act.peek(&payload.selector).await? else {
        let reason = format!("no element fits `{}`", text(&payload.selector));
        return Ok(
            json!({"exists": false, "visible": false, "rect": null, "inViewport": false, "reason": reason}),
        );
    };
    let Found { name, about } = found;
    let reason = match (about["visible"] == json!(true), about["inViewport"] == json!(true)) {
        (true, true) => Value::Null,
        (true, false) => json!("it is outside of the view; scrollTo brings it there"),
        // What is not drawn is not scrolled to by the look.
        (false, _) => act.inspect_of("ready", &name, json!({})).await?["message"].take(),
    };
    Ok(json!({"exists": true, "visible": about["visible"], "rect": about["rect"],
        "inViewport": about["inViewport"], "reason": reason}))
}
