//! Values as WebDriver BiDi writes them, made into what CDP would have sent, so that they are shown alike.

use serde_json::Value;

use super::{EntryPreview, ObjectPreview, PropertyPreview, RemoteObject};

/// How much of an object Chromium sends along.
const PROPERTIES: usize = 5;
const ELEMENTS: usize = 100;
/// Objects in objects that are shown.
const DEPTH: usize = 2;

pub(crate) fn from_bidi(value: &Value) -> RemoteObject {
    let preview = preview(value, DEPTH);
    let inner = &value["value"];
    let number = || inner.as_f64().is_some();
    let (plain, unserializable) = match kind(value) {
        "string" | "boolean" => (Some(inner.clone()), None),
        "number" if number() => (Some(inner.clone()), None),
        "number" | "bigint" => (None, preview.description.clone()),
        _ => (None, None),
    };
    RemoteObject {
        kind: preview.kind.clone(),
        subtype: preview.subtype.clone(),
        value: plain,
        unserializable_value: unserializable,
        description: preview.description.clone(),
        preview: (preview.kind == "object" && preview.subtype.as_deref() != Some("null")).then_some(preview),
        ..RemoteObject::default()
    }
}

/// An error as CDP would describe it, of which BiDi tells nothing but that it is one.
pub(crate) fn error(description: String) -> RemoteObject {
    RemoteObject {
        kind: "object".to_owned(),
        subtype: Some("error".to_owned()),
        description: Some(description),
        ..RemoteObject::default()
    }
}

fn kind(value: &Value) -> &str {
    value["type"].as_str().unwrap_or_default()
}

/// The type, the subtype and the words of a value.
fn nature(value: &Value) -> (&'static str, Option<&'static str>, String) {
    let inner = &value["value"];
    let sized = |name: &str| match inner.as_array() {
        Some(items) => format!("{name}({})", items.len()),
        None => name.to_owned(),
    };
    let text = || match inner {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match kind(value) {
        "string" => ("string", None, text()),
        "number" => ("number", None, text()),
        "boolean" => ("boolean", None, text()),
        "undefined" => ("undefined", None, "undefined".to_owned()),
        "null" => ("object", Some("null"), "null".to_owned()),
        "bigint" => ("bigint", None, format!("{}n", text())),
        "symbol" => ("symbol", None, "Symbol()".to_owned()),
        // Its source is not told.
        "function" => ("function", None, "function () {…}".to_owned()),
        "array" => ("object", Some("array"), sized("Array")),
        "nodelist" => ("object", Some("array"), sized("NodeList")),
        "htmlcollection" => ("object", Some("array"), sized("HTMLCollection")),
        "map" => ("object", Some("map"), sized("Map")),
        "set" => ("object", Some("set"), sized("Set")),
        "date" => ("object", Some("date"), text()),
        "regexp" => {
            let part = |name: &str| inner[name].as_str().unwrap_or_default().to_owned();
            ("object", Some("regexp"), format!("/{}/{}", part("pattern"), part("flags")))
        }
        "error" => ("object", Some("error"), "Error".to_owned()),
        "node" => ("object", Some("node"), node(inner)),
        "window" => ("object", None, "Window".to_owned()),
        "promise" => ("object", Some("promise"), "Promise".to_owned()),
        "proxy" => ("object", Some("proxy"), "Proxy".to_owned()),
        "generator" => ("object", Some("generator"), "Generator".to_owned()),
        "weakmap" => ("object", Some("weakmap"), "WeakMap".to_owned()),
        "weakset" => ("object", Some("weakset"), "WeakSet".to_owned()),
        "typedarray" => ("object", Some("typedarray"), "TypedArray".to_owned()),
        "arraybuffer" => ("object", Some("arraybuffer"), "ArrayBuffer".to_owned()),
        _ => ("object", None, "Object".to_owned()),
    }
}

/// `div#id.class`, as Chromium names a node.
fn node(inner: &Value) -> String {
    let attribute = |name: &str| inner["attributes"][name].as_str().filter(|text| !text.trim().is_empty());
    let mut words = match inner["localName"].as_str() {
        Some(name) => name.to_owned(),
        None => return inner["nodeValue"].as_str().map_or("#node".to_owned(), |_| "#text".to_owned()),
    };
    if let Some(id) = attribute("id") {
        words.push('#');
        words.push_str(id);
    }
    for class in attribute("class").into_iter().flat_map(str::split_whitespace) {
        words.push('.');
        words.push_str(class);
    }
    words
}

fn preview(value: &Value, depth: usize) -> ObjectPreview {
    let (kind, subtype, description) = nature(value);
    let mut preview = ObjectPreview {
        kind: kind.to_owned(),
        subtype: subtype.map(str::to_owned),
        description: Some(description),
        ..ObjectPreview::default()
    };
    let items = value["value"].as_array().filter(|_| depth > 0);
    let Some(items) = items else {
        // What it has is not shown, or has not been sent.
        preview.overflow =
            kind == "object" && value["value"].as_array().is_none_or(|items| !items.is_empty());
        return preview;
    };
    match (subtype, self::kind(value)) {
        (Some("array"), _) => {
            let shown = items.iter().take(ELEMENTS).enumerate();
            preview.properties = shown.map(|(at, item)| property(at.to_string(), item, depth)).collect();
            preview.overflow = items.len() > ELEMENTS;
        }
        (Some("set"), _) => {
            let entry = |item| EntryPreview { key: None, value: self::preview(item, depth - 1) };
            preview.entries = Some(items.iter().take(PROPERTIES).map(entry).collect());
            preview.overflow = items.len() > PROPERTIES;
        }
        (Some("map"), _) => {
            let entry = |pair: &Value| EntryPreview {
                key: Some(key(&pair[0], depth)),
                value: self::preview(&pair[1], depth - 1),
            };
            preview.entries = Some(items.iter().take(PROPERTIES).map(entry).collect());
            preview.overflow = items.len() > PROPERTIES;
        }
        (None, "object") => {
            let name = |pair: &Value| pair[0].as_str().unwrap_or_default().to_owned();
            let shown = items.iter().take(PROPERTIES);
            preview.properties = shown.map(|pair| property(name(pair), &pair[1], depth)).collect();
            preview.overflow = items.len() > PROPERTIES;
        }
        _ => {}
    }
    preview
}

/// A map's key: a text stands for itself.
fn key(value: &Value, depth: usize) -> ObjectPreview {
    match value {
        Value::String(text) => ObjectPreview {
            kind: "string".to_owned(),
            description: Some(text.clone()),
            ..ObjectPreview::default()
        },
        value => preview(value, depth - 1),
    }
}

fn property(name: String, value: &Value, depth: usize) -> PropertyPreview {
    let inner = preview(value, depth - 1);
    PropertyPreview {
        name,
        kind: inner.kind.clone(),
        subtype: inner.subtype.clone(),
        value: inner.description.clone(),
        value_preview: (inner.kind == "object").then_some(inner),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::recorder::preview::argument;

    fn text(value: &Value) -> String {
        argument(&from_bidi(value)).text
    }

    #[test]
    fn values_of_bidi_are_shown_as_those_of_cdp() {
        let number = |number: i64| json!({"type": "number", "value": number});
        let object = |pairs: Value| json!({"type": "object", "value": pairs});
        let array = |items: Value| json!({"type": "array", "value": items});
        let nested = object(json!([
            ["a", object(json!([["b", number(1)]]))],
            ["list", array(json!([number(1), number(2)]))]
        ]));
        assert_eq!(text(&nested), "{a: {b: 1}, list: (2) [1, 2]}");
        let deep = object(json!([["a", object(json!([["b", object(json!([["c", number(1)]]))]]))]]));
        assert_eq!(text(&deep), "{a: {b: {…}}}");
        assert_eq!(text(&array(json!([number(1), {"type": "string", "value": "x"}]))), "(2) [1, 'x']");
        assert_eq!(text(&object(json!([]))), "{}");
        let map = json!({"type": "map", "value": [["k", object(json!([["v", number(1)]]))]]});
        assert_eq!(text(&map), "Map(1) {'k' => {v: 1}}");
        assert_eq!(text(&json!({"type": "set", "value": [number(3)]})), "Set(1) {3}");
        assert_eq!(text(&json!({"type": "null"})), "null");
        assert_eq!(text(&json!({"type": "undefined"})), "undefined");
        assert_eq!(text(&json!({"type": "bigint", "value": "12"})), "12n");
        assert_eq!(text(&json!({"type": "number", "value": "-0"})), "-0");
        assert_eq!(text(&json!({"type": "regexp", "value": {"pattern": "x", "flags": "g"}})), "/x/g");
        assert_eq!(text(&json!({"type": "promise"})), "Promise {…}");
        let body = json!({"type": "node", "value": {"nodeType": 1, "localName": "p", "attributes": {"id": "a", "class": "b c"}}});
        assert_eq!(text(&body), "p#a.b.c");
        assert_eq!(text(&json!({"type": "function"})), "ƒ ()");
        let wide: Vec<Value> = (0..7).map(|at| json!([format!("p{at}"), number(at)])).collect();
        assert_eq!(text(&object(json!(wide))), "{p0: 0, p1: 1, p2: 2, p3: 3, p4: 4, …}");
    }
}
