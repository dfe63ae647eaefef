//! The page as a whole: its measures, text and HTML, scripts, and waiting for it.

use serde_json::{Value, json};

use super::act::{Act, first, only, text};
pub(super) use super::tabs::Nothing;
use crate::error::OpError;
use crate::page::Element;

/// Characters of text unless `maxLength` says otherwise.
const TEXT: u64 = 100_000;
const HTML: u64 = 500_000;

pub(super) async fn get_page_info(act: &Act, _: Nothing) -> Result<Value, OpError> {
    Ok(info(&act.inspect("info", json!({})).await?))
}

pub(super) fn info(info: &Value) -> Value {
    json!({"url": info["url"], "title": info["title"], "domain": info["domain"], "scrollPosition": info["scroll"],
        "viewportSize": info["viewport"], "documentSize": info["document"]})
}

input!(VisibleText { maxLength: Option<u64> = "characters (100000)" });

pub(super) async fn get_visible_text(act: &Act, payload: VisibleText) -> Result<Value, OpError> {
    let max = payload.maxLength.unwrap_or(TEXT);
    let output = act.op("text", json!({"readable": false, "max_chars": max})).await?;
    let mut result = only(&output.data, &["text", "length", "truncated", "title"]);
    result["url"] = json!(output.page);
    Ok(result)
}

input!(VisibleHtml {
    selector: Option<Element> = "only of this element",
    removeScripts: Option<bool> = "leave out scripts",
    removeStyles: Option<bool> = "leave out styles",
    cleanHtml: Option<bool> = "leave out scripts, styles and noise",
    maxLength: Option<u64> = "characters (500000)",
});

pub(super) async fn get_visible_html(act: &Act, payload: VisibleHtml) -> Result<Value, OpError> {
    let input = json!({"target": payload.selector.as_ref().map(first), "clean": payload.cleanHtml,
        "remove_scripts": payload.removeScripts, "remove_styles": payload.removeStyles,
        "max_chars": payload.maxLength.unwrap_or(HTML)});
    let output = act.op("html", input).await?;
    let mut result = only(&output.data, &["html", "length"]);
    result["selector"] = json!(payload.selector.as_ref().map(text));
    result["url"] = json!(output.page);
    Ok(result)
}

input!(Script { script: String = "an expression, a function, or statements with `return`" });

pub(super) async fn execute_script(act: &Act, payload: Script) -> Result<Value, OpError> {
    let data = act.data("evaluate", json!({"expression": payload.script})).await?;
    Ok(json!({"success": true, "result": data["value"]}))
}

pub(super) async fn wait_for_page_load(act: &Act, _: Nothing) -> Result<Value, OpError> {
    act.op("wait_for", json!({"load": "load"})).await?;
    let mut result = only(&act.inspect("info", json!({})).await?, &["readyState", "url", "title"]);
    result["success"] = json!(true);
    Ok(result)
}

input!(Search { query: String = "the text" });

pub(super) async fn search_visible_text(act: &Act, payload: Search) -> Result<Value, OpError> {
    let found = act.inspect("search", json!({"query": payload.query})).await?;
    Ok(only(&found, &["found", "matches"]))
}

input!(Point { x: f64 = "pixels from the left of the view", y: f64 = "pixels from its top" });

pub(super) async fn get_element_at_point(act: &Act, payload: Point) -> Result<Value, OpError> {
    let found = act.inspect("at", json!({"x": payload.x, "y": payload.y})).await?;
    let mut result = only(&found, &["ref", "selector", "text", "role", "rect", "visible", "attributes"]);
    result["tagName"] = found["tag"].clone();
    Ok(result)
}
