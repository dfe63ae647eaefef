//! WebDriver BiDi: the envelope of its messages, and what the hub reads of them.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Numbers beyond this are no JavaScript integers, and so no ids.
const LARGEST_ID: u64 = (1 << 53) - 1;

/// A client's command.
#[derive(Debug, Deserialize)]
pub struct Command<'a> {
    pub id: u64,
    #[serde(borrow)]
    pub method: Cow<'a, str>,
    #[serde(borrow)]
    pub params: &'a RawValue,
}

/// What is wrong with a text that is no command, and the id that it has nevertheless.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    pub id: Option<u64>,
    pub message: String,
}

impl<'a> Command<'a> {
    pub fn parse(text: &'a str) -> Result<Self, Malformed> {
        let whole = || serde_json::from_str::<Value>(text);
        let id = || whole().ok().and_then(|value| value.get("id").and_then(Value::as_u64));
        let command: Self = serde_json::from_str(text)
            .map_err(|error| Malformed { id: id(), message: format!("this is no command: {error}") })?;
        if command.id > LARGEST_ID {
            return Err(Malformed { id: None, message: format!("`id` is too large: {}", command.id) });
        }
        if !command.params.get().starts_with('{') {
            return Err(Malformed { id: Some(command.id), message: "`params` is no object".to_owned() });
        }
        Ok(command)
    }
}

/// What a browser says.
#[derive(Debug)]
pub enum Message<'a> {
    Success { id: u64, result: &'a RawValue },
    Error { id: Option<u64>, error: Refusal },
    Event { method: Cow<'a, str>, params: &'a RawValue },
}

/// Why a command was not carried out: a code of the protocol, such as `no such frame`, and words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    pub error: Cow<'static, str>,
    #[serde(default)]
    pub message: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stacktrace: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.error, self.message)
    }
}

impl Refusal {
    pub fn new(error: &'static str, message: impl Into<String>) -> Self {
        Self { error: Cow::Borrowed(error), message: message.into(), stacktrace: String::new() }
    }

    /// What a script has thrown, of which Firefox makes a failure of its own where it has no stack.
    pub fn thrown(&self) -> Option<&str> {
        let (_, thrown) = self.message.split_once("unable to build exceptionDetails for exception: ")?;
        Some(thrown)
    }
}

#[derive(Deserialize)]
struct Raw<'a> {
    #[serde(default)]
    id: Option<u64>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    message: String,
    #[serde(default)]
    stacktrace: String,
}

impl<'a> Message<'a> {
    pub fn parse(text: &'a str) -> Option<Self> {
        let raw: Raw<'a> = serde_json::from_str(text).ok()?;
        match raw {
            Raw { error: Some(error), id, message, stacktrace, .. } => {
                Some(Self::Error { id, error: Refusal { error: Cow::Owned(error), message, stacktrace } })
            }
            Raw { id: Some(id), result: Some(result), .. } => Some(Self::Success { id, result }),
            Raw { method: Some(method), params: Some(params), .. } => Some(Self::Event { method, params }),
            _ => None,
        }
    }
}

pub fn command(id: u64, method: &str, params: &impl Serialize) -> String {
    json!({"id": id, "method": method, "params": params}).to_string()
}

/// The same with parameters as they came.
pub fn raw_command(id: u64, method: &str, params: &str) -> String {
    format!("{{\"id\":{id},\"method\":{},\"params\":{params}}}", json!(method))
}

/// Who asks. Told only to what keeps a person's rules, which is no browser.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asker {
    /// Told apart by it for as long as the browser runs.
    pub client: u64,
    /// What it calls itself; may be empty.
    pub name: String,
    /// Its scripts are the hub's own where they say so: see the rules of `read-only`.
    pub is_op: bool,
}

/// The member of a command that has it.
pub const ASKER: &str = "bowline:client";
/// Told in the same way, when a client has left.
pub const LEFT: &str = "bowline.left";

/// A command with who asks it.
pub fn asked_command(id: u64, method: &str, params: &str, asker: &Asker) -> String {
    format!("{{\"id\":{id},\"{ASKER}\":{},\"method\":{},\"params\":{params}}}", json!(asker), json!(method))
}

pub fn success(id: u64, result: &str) -> String {
    format!("{{\"type\":\"success\",\"id\":{id},\"result\":{result}}}")
}

pub fn failure(id: Option<u64>, refusal: &Refusal) -> String {
    #[derive(Serialize)]
    struct Failure<'a> {
        r#type: &'static str,
        id: Option<u64>,
        #[serde(flatten)]
        refusal: &'a Refusal,
    }
    serde_json::to_string(&Failure { r#type: "error", id, refusal }).unwrap_or_default()
}

pub fn event(method: &str, params: &str) -> String {
    format!("{{\"type\":\"event\",\"method\":{},\"params\":{params}}}", json!(method))
}

/// A context as `browsingContext.contextCreated` and `getTree` describe it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextInfo {
    pub context: String,
    #[serde(default)]
    pub url: String,
    #[serde(default)]
    pub user_context: String,
    #[serde(default)]
    pub original_opener: Option<String>,
    #[serde(default)]
    pub parent: Option<String>,
    #[serde(default)]
    pub client_window: Option<String>,
    #[serde(default)]
    pub children: Option<Vec<ContextInfo>>,
}

/// The answer to `browsingContext.getTree`.
#[derive(Debug, Clone, Deserialize)]
pub struct Tree {
    pub contexts: Vec<ContextInfo>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_and_what_is_none_is_named() {
        let command =
            Command::parse(r#"{"id": 3, "method": "session.status", "params": {}, "goog:channel": "x"}"#);
        let command = command.unwrap();
        assert_eq!((command.id, &*command.method, command.params.get()), (3, "session.status", "{}"));
        let no_method = Command::parse(r#"{"id": 4, "params": {}}"#).unwrap_err();
        assert_eq!(no_method.id, Some(4));
        assert!(no_method.message.contains("method"));
        assert_eq!(Command::parse("[").unwrap_err().id, None);
        assert!(
            Command::parse(r#"{"id": 4, "method": "a", "params": []}"#)
                .unwrap_err()
                .message
                .contains("params")
        );
        assert!(Command::parse(r#"{"id": 9007199254740993, "method": "a", "params": {}}"#).is_err());
        assert!(Command::parse(r#"{"id": -1, "method": "a", "params": {}}"#).is_err());
    }

    #[test]
    fn messages_are_told_apart() {
        let event = r#"{"type":"event","method":"log.entryAdded","params":{"level":"info"}}"#;
        assert!(
            matches!(Message::parse(event), Some(Message::Event { method, .. }) if method == "log.entryAdded")
        );
        let answer = r#"{"type":"success","id":7,"result":{}}"#;
        assert!(matches!(Message::parse(answer), Some(Message::Success { id: 7, .. })));
        let refusal = r#"{"type":"error","id":7,"error":"no such frame","message":"m","stacktrace":"s"}"#;
        let Some(Message::Error { id: Some(7), error }) = Message::parse(refusal) else { panic!() };
        assert_eq!(error, Refusal { stacktrace: "s".to_owned(), ..Refusal::new("no such frame", "m") });
        assert_eq!(failure(Some(7), &error), refusal);
        assert!(Message::parse("{}").is_none());
        let said = "Error: Missing stack, unable to build exceptionDetails for exception: TypeError: no";
        assert_eq!(Refusal::new("unknown error", said).thrown(), Some("TypeError: no"));
        assert_eq!(Refusal::new("unknown error", "no").thrown(), None);
    }
}
