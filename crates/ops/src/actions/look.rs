//! Lists of what can be acted on.

use serde::Deserialize;
use serde_json::{Value, json};

use super::act::{Act, only};
use super::page::info;
use super::pictures;
pub(super) use super::tabs::Nothing;
use crate::error::OpError;
use crate::schema::Described;

/// Elements that are listed where nobody says how many.
const MANY: u64 = 1_000;

input!(Verbosity { verbose: Option<bool> = "with roles, attributes and states" });

async fn elements(act: &Act, verbose: Option<bool>) -> Result<Value, OpError> {
    act.inspect("elements", json!({"verbose": verbose.unwrap_or(false), "max": MANY})).await
}

pub(super) async fn get_ui_elements(act: &Act, payload: Verbosity) -> Result<Value, OpError> {
    Ok(only(&elements(act, payload.verbose).await?, &["elements", "summary"]))
}

pub(super) async fn get_interactive_elements(act: &Act, payload: Verbosity) -> Result<Value, OpError> {
    Ok(elements(act, payload.verbose).await?["elements"].take())
}

input!(Inspection { includeScreenshot: Option<bool> = "with a picture of the view" });

pub(super) async fn inspect_current_page(act: &Act, payload: Inspection) -> Result<Value, OpError> {
    let mut result = get_page_context(act, Nothing {}).await?;
    if payload.includeScreenshot.unwrap_or(false) {
        let (screenshot, _) = pictures::taken(act, json!({})).await?;
        result["screenshot"] = screenshot;
    }
    Ok(result)
}

pub(super) async fn get_page_context(act: &Act, _: Nothing) -> Result<Value, OpError> {
    let page = act.inspect("info", json!({})).await?;
    let mut listed = elements(act, None).await?;
    Ok(json!({"pageInfo": info(&page), "elements": listed["elements"].take()}))
}

/// Which elements are wanted.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Filters {
    /// `button`, `link`, `text`, ...: the element's type or role.
    r#type: Option<String>,
    text: Option<String>,
    #[serde(alias = "tagName")]
    tag: Option<String>,
    inViewport: Option<bool>,
}

impl Described for Filters {
    fn schema() -> Value {
        let text = json!({"type": "string"});
        json!({"type": "object", "properties": {"type": text, "text": text, "tag": text,
            "inViewport": {"type": "boolean"}}})
    }
}

input!(Listing {
    filters: Option<Filters> = "type, text, tag, inViewport",
    maxElements: Option<u64> = "at most so many (200)",
});

pub(super) async fn list_interactive_elements(act: &Act, payload: Listing) -> Result<Value, OpError> {
    let Filters { r#type, text, tag, inViewport } = payload.filters.unwrap_or_default();
    let filters = json!({"type": r#type, "text": text, "tag": tag, "inViewport": inViewport});
    let query = json!({"filters": filters, "max": payload.maxElements.unwrap_or(200)});
    let listed = act.inspect("elements", query).await?;
    Ok(only(&listed, &["elements", "total", "filtered", "truncated", "summary"]))
}
