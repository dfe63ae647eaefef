//! Console arguments as DevTools' console shows them, made of the preview that the browser sends along.
//!
//! It asks the browser for nothing: whoever wants to see one level more fetches it, and passes the
//! texts to `with_properties`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::record::Argument;

pub(crate) use bidi::{error, from_bidi};

mod bidi;
mod format;
mod items;
mod words;

/// `Runtime.RemoteObject`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RemoteObject {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) subtype: Option<String>,
    pub(crate) class_name: Option<String>,
    /// Absent for `null` too, which only `subtype` tells.
    pub(crate) value: Option<Value>,
    pub(crate) unserializable_value: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) object_id: Option<String>,
    pub(crate) preview: Option<ObjectPreview>,
}

/// `Runtime.ObjectPreview`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ObjectPreview {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) subtype: Option<String>,
    pub(crate) description: Option<String>,
    /// Whether there are more properties or entries than these.
    pub(crate) overflow: bool,
    pub(crate) properties: Vec<PropertyPreview>,
    /// Of a map, a set and their iterators; absent if there are none.
    pub(crate) entries: Option<Vec<EntryPreview>>,
}

/// `Runtime.PropertyPreview`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct PropertyPreview {
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) value: Option<String>,
    pub(crate) subtype: Option<String>,
    /// Chromium fills it in for `console.table` only.
    pub(crate) value_preview: Option<ObjectPreview>,
}

/// `Runtime.EntryPreview`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct EntryPreview {
    /// Absent in a set.
    pub(crate) key: Option<ObjectPreview>,
    pub(crate) value: ObjectPreview,
}

pub(crate) fn argument(object: &RemoteObject) -> Argument {
    Argument {
        kind: object.kind.clone(),
        subtype: object.subtype.clone(),
        value: if is_null(object) { Some(Value::Null) } else { object.value.clone() },
        text: text(object),
    }
}

/// The whole line of a console call.
pub(crate) fn line(args: &[RemoteObject]) -> String {
    format::line(args)
}

/// As `argument`'s text, but properties of the object itself that are objects show what `nested` has
/// under their name in place of `{…}` or `Array(2)`.
pub(crate) fn with_properties(object: &RemoteObject, nested: &BTreeMap<String, String>) -> String {
    match (object.kind.as_str(), object.subtype.as_deref()) {
        ("function", _) => words::signature(&described(object)),
        ("object", Some("null")) => "null".to_owned(),
        ("object", Some("trustedtype")) => {
            let class = object.class_name.as_deref().unwrap_or("TrustedType");
            format!("{class} {}", words::quoted(&described(object)))
        }
        ("object", Some("date" | "error" | "node" | "regexp")) => described(object),
        ("object", _) => match &object.preview {
            Some(preview) => whole(preview, nested),
            None => described(object),
        },
        _ => described(object),
    }
}

fn text(object: &RemoteObject) -> String {
    with_properties(object, &BTreeMap::new())
}

fn is_null(object: &RemoteObject) -> bool {
    object.kind == "object" && object.subtype.as_deref() == Some("null")
}

/// The browser's own words for a value.
fn described(object: &RemoteObject) -> String {
    if let Some(Value::String(text)) = &object.value {
        return text.clone();
    }
    // A description comes before the value: it has the number as JavaScript would write it.
    if let Some(text) = object.description.as_ref().or(object.unserializable_value.as_ref()) {
        return text.clone();
    }
    match &object.value {
        Some(value) => value.to_string(),
        // `undefined` has nothing but its type.
        None => object.class_name.as_ref().unwrap_or(&object.kind).clone(),
    }
}

/// `{a: 1}`, `(2) [1, 2]`, `Map(1) {'k' => 1}`.
fn whole(preview: &ObjectPreview, nested: &BTreeMap<String, String>) -> String {
    let description = preview.description.as_deref().unwrap_or_default();
    let subtype = preview.subtype.as_deref();
    if preview.kind != "object" || subtype.is_some_and(speaks_for_itself) {
        return short(&preview.kind, subtype, preview.description.as_deref());
    }
    let array = matches!(subtype, Some("array" | "typedarray"));
    let mut items = match &preview.entries {
        Some(entries) => items::of_entries(entries),
        None if array => items::of_array(preview, words::array_title(description).1, nested),
        None => items::of_object(preview, nested),
    };
    if preview.overflow {
        items.push("…".to_owned());
    }
    let title = if array {
        match words::array_title(description) {
            ("Array", 0 | 1) => String::new(),
            ("Array", length) => format!("({length})"),
            (name, 0 | 1) => name.to_owned(),
            (name, length) => format!("{name}({length})"),
        }
    } else if description == "Object" {
        String::new()
    } else {
        description.to_owned()
    };
    let space = if title.is_empty() { "" } else { " " };
    let (open, close) = if array { ('[', ']') } else { ('{', '}') };
    format!("{title}{space}{open}{}{close}", items.join(", "))
}

/// A preview inside another one: in full as far as the browser filled it in, else in short.
fn inner(preview: &ObjectPreview) -> String {
    let subtype = preview.subtype.as_deref();
    // Of a collection in a collection only its size comes, and the title has that already.
    let collection = matches!(subtype, Some("map" | "set" | "weakmap" | "weakset" | "iterator"));
    let nothing_to_see = preview.entries.is_none() && (collection || preview.properties.is_empty());
    if preview.overflow && nothing_to_see {
        return short(&preview.kind, subtype, preview.description.as_deref());
    }
    whole(preview, &BTreeMap::new())
}

/// A value inside an object: one word.
fn short(kind: &str, subtype: Option<&str>, description: Option<&str>) -> String {
    match (kind, subtype) {
        ("accessor", _) => "(...)".to_owned(),
        ("function", _) => "ƒ".to_owned(),
        ("string", _) | ("object", Some("trustedtype")) => words::quoted(description.unwrap_or_default()),
        ("object", None) => words::class(description.unwrap_or("Object")),
        _ => description.unwrap_or(subtype.unwrap_or(kind)).to_owned(),
    }
}

/// Objects of which DevTools shows the description and no properties.
fn speaks_for_itself(subtype: &str) -> bool {
    let subtypes = ["arraybuffer", "dataview", "date", "error", "internal#entry", "node", "null", "regexp"];
    subtypes.contains(&subtype) || ["trustedtype", "webassemblymemory"].contains(&subtype)
}

#[cfg(test)]
mod tests;
