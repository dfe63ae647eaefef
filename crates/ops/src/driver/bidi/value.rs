//! Values of the page as BiDi writes them, in JSON as far as JSON has them.

use serde_json::{Map, Value, json};

use crate::driver::Evaluated;

/// What a script gave.
pub(super) fn evaluated(remote: &Value) -> Evaluated {
    let value = plain(remote);
    let text = match &value {
        Some(Value::String(text)) => text.clone(),
        Some(value) => serde_json::to_string_pretty(value).unwrap_or_default(),
        None => remote["value"].as_str().map_or_else(|| kind(remote).to_owned(), str::to_owned),
    };
    Evaluated { value, text }
}

fn kind(remote: &Value) -> &str {
    remote["type"].as_str().unwrap_or_default()
}

/// `None` for what JSON has no word for, as `undefined`, and numbers that are none.
pub(super) fn plain(remote: &Value) -> Option<Value> {
    let inner = &remote["value"];
    match kind(remote) {
        "null" => Some(Value::Null),
        "string" | "boolean" | "date" => Some(inner.clone()),
        // NaN, Infinity and -0 come as texts.
        "number" if inner.as_str() == Some("-0") => Some(json!(0)),
        "number" => Some(inner.clone()).filter(Value::is_number),
        "array" | "nodelist" | "htmlcollection" | "set" => {
            let items = inner.as_array().map(Vec::as_slice).unwrap_or_default();
            Some(items.iter().map(|item| plain(item).unwrap_or(Value::Null)).collect())
        }
        "object" => {
            let mut members = Map::new();
            for pair in inner.as_array().into_iter().flatten() {
                // As JSON does it, members without a value are left out.
                if let (Some(name), Some(value)) = (pair[0].as_str(), plain(&pair[1])) {
                    members.insert(name.to_owned(), value);
                }
            }
            Some(Value::Object(members))
        }
        "undefined" | "bigint" | "symbol" | "function" => None,
        // The others are objects without members of their own, as in JSON.
        _ => Some(json!({})),
    }
}

/// An exception in words, with its stack.
pub(super) fn exception(details: &Value) -> String {
    let mut words = details["text"].as_str().unwrap_or("the script threw").to_owned();
    for frame in details["stackTrace"]["callFrames"].as_array().into_iter().flatten().take(10) {
        let name = frame["functionName"].as_str().filter(|name| !name.is_empty()).unwrap_or("<anonymous>");
        let (url, line) =
            (frame["url"].as_str().unwrap_or_default(), frame["lineNumber"].as_u64().unwrap_or(0));
        words.push_str(&format!("\n    at {name} ({url}:{})", line + 1));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_json_as_far_as_it_goes() {
        let object = json!({"type": "object", "value": [["a", {"type": "number", "value": 1}], ["b", {"type": "undefined"}],
            ["c", {"type": "array", "value": [{"type": "null"}, {"type": "undefined"}]}]]});
        assert_eq!(plain(&object), Some(json!({"a": 1, "c": [null, null]})));
        assert_eq!(plain(&json!({"type": "undefined"})), None);
        let nan = evaluated(&json!({"type": "number", "value": "NaN"}));
        assert_eq!((nan.value, nan.text.as_str()), (None, "NaN"));
        assert_eq!(evaluated(&json!({"type": "undefined"})).text, "undefined");
        assert_eq!(evaluated(&json!({"type": "string", "value": "x"})).text, "x");
        assert_eq!(plain(&json!({"type": "node", "sharedId": "s"})), Some(json!({})));
    }

    #[test]
    fn an_exception_is_told_with_its_stack() {
        let details = json!({"text": "Error: knot", "stackTrace": {"callFrames": [{"functionName": "f", "url": "u", "lineNumber": 2}]}});
        assert_eq!(exception(&details), "Error: knot\n    at f (u:3)");
    }
}
