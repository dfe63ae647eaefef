//! What a verb asks for: an op, its input, and what becomes of the answer.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

#[derive(Debug)]
pub(crate) struct Wish {
    pub(crate) op: String,
    pub(crate) input: Map<String, Value>,
    pub(crate) deliver: Deliver,
}

/// What becomes of the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Deliver {
    /// Its text is printed.
    Text,
    /// It is yes or no, also as the exit code.
    Truth,
    /// What it shows is written to a file of the caller's.
    File(PathBuf),
}

impl Wish {
    pub(super) fn set(&mut self, field: &str, value: impl Into<Value>) {
        self.input.insert(field.to_owned(), value.into());
    }

    /// Takes a text that is no field of the op.
    pub(super) fn take(&mut self, field: &str) -> Option<String> {
        match self.input.remove(field) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    /// Takes a list that is no field of the op.
    pub(super) fn take_words(&mut self, field: &str) -> Vec<String> {
        match self.input.remove(field) {
            Some(Value::Array(words)) => {
                words.into_iter().filter_map(|word| word.as_str().map(str::to_owned)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Takes a switch that is no field of the op.
    pub(super) fn take_switch(&mut self, field: &str) -> bool {
        self.input.remove(field) == Some(json!(true))
    }
}

/// A file of the caller's: the hub has another directory.
pub(super) fn whole(path: &str) -> PathBuf {
    std::path::absolute(Path::new(path)).unwrap_or_else(|_| path.into())
}

/// The same as a value.
pub(super) fn whole_text(path: &str) -> Value {
    json!(whole(path).to_string_lossy())
}

/// `NAME=VALUE`, a field of an op. What is JSON is taken as such, unless the field is a text; anything else as text.
pub(super) fn pair<'a>(op: &str, text: &'a str) -> Option<(&'a str, Value)> {
    let (name, value) = text.split_once('=')?;
    let field =
        bowline_ops::find(op).and_then(|op| (op.fields)().into_iter().find(|field| field.name == name));
    if field.is_some_and(|field| field.schema["type"] == "string" && value != "null") {
        return Some((name, json!(value)));
    }
    Some((name, serde_json::from_str(value).unwrap_or_else(|_| json!(value))))
}
