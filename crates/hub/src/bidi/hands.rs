//! The hub's own commands on the tabs of a browser that speaks BiDi.
//!
//! What `crate::hands` is for CDP: it has a session of its own, which disturbs neither the recorder nor any client.

use std::sync::Arc;
use std::time::Duration;

use bowline_wire::TargetId;
use bowline_wire::bidi::{ContextInfo, Tree};
use bowline_wire::cdp::TargetInfo;
use futures_util::future::join_all;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value as Json, json};
use tokio::sync::Mutex;
use tokio_util::task::TaskTracker;

use super::{BidiError, Caller, Session};
use crate::hands::{EvaluateError, Evaluated, ExecuteError};
use crate::recorder::{from_bidi, preview_of};

/// The world in which a page is asked for its title.
const SANDBOX: &str = "bowline-hub";

#[derive(Clone)]
pub struct Hands(Arc<Shared>);

struct Shared {
    session: Session,
    tasks: TaskTracker,
    caller: Mutex<Option<Caller>>,
}

/// The answer to `script.evaluate` and `script.callFunction`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Outcome {
    #[serde(default)]
    realm: String,
    result: Option<Json>,
    exception_details: Option<Details>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Details {
    text: String,
    exception: Json,
    #[serde(default)]
    stack_trace: Json,
}

/// A context as the tab that CDP would tell of.
pub(crate) fn page_info(info: &ContextInfo, title: String) -> TargetInfo {
    TargetInfo {
        target_id: TargetId::new(info.context.as_str()),
        kind: "page".to_owned(),
        title,
        url: info.url.clone(),
        attached: false,
        parent_id: None,
        parent_frame_id: None,
        opener_id: info.original_opener.as_deref().map(TargetId::new),
        can_access_opener: None,
    }
}

impl Hands {
    /// Costs nothing until the first command.
    pub fn new(session: Session, tasks: TaskTracker) -> Self {
        Self(Arc::new(Shared { session, tasks, caller: Mutex::default() }))
    }

    /// Runs a command and gives the result as it came. Where a tab is meant and the parameters name none, it is named.
    pub async fn execute(
        &self,
        target: Option<&TargetId>,
        method: &str,
        params: Option<&RawValue>,
        within: Duration,
    ) -> Result<Box<RawValue>, ExecuteError> {
        let mut params: Json = match params {
            Some(params) => serde_json::from_str(params.get()).map_err(ExecuteError::Unreadable)?,
            None => json!({}),
        };
        if let (Some(target), Some(members)) = (target, params.as_object_mut()) {
            let (module, command) = method.split_once('.').unwrap_or((method, ""));
            match (module, command) {
                ("browsingContext", "getTree" | "create") => {}
                ("browsingContext" | "input", _) => {
                    members.entry("context").or_insert(json!(target));
                }
                ("script", "evaluate" | "callFunction") => {
                    members.entry("target").or_insert(json!({"context": target}));
                }
                _ => {}
            }
        }
        match tokio::time::timeout(within, self.call(method, &params)).await {
            Ok(result) => result,
            Err(_) => Err(ExecuteError::TimedOut { method: method.to_owned(), after: within }),
        }
    }

    /// The open tabs, with their titles.
    pub async fn pages(&self, within: Duration) -> Result<Vec<TargetInfo>, ExecuteError> {
        let work = async {
            let answer = self.call("browsingContext.getTree", &json!({"maxDepth": 0})).await?;
            let tree: Tree = serde_json::from_str(answer.get()).map_err(ExecuteError::Unreadable)?;
            Ok(join_all(tree.contexts.iter().map(|context| self.page(context))).await)
        };
        let method = "browsingContext.getTree".to_owned();
        tokio::time::timeout(within, work)
            .await
            .unwrap_or(Err(ExecuteError::TimedOut { method, after: within }))
    }

    async fn page(&self, info: &ContextInfo) -> TargetInfo {
        let target = json!({"context": info.context, "sandbox": SANDBOX});
        let params = json!({"expression": "document.title", "awaitPromise": false, "target": target});
        let title = self.outcome("script.evaluate", &params).await.ok().and_then(|outcome| outcome.result);
        let title = title.and_then(|title| title["value"].as_str().map(str::to_owned));
        page_info(info, title.unwrap_or_default())
    }

    /// One tab, if it is there.
    pub async fn describe(&self, target: &TargetId) -> Result<Option<TargetInfo>, ExecuteError> {
        let root = json!({"root": target, "maxDepth": 0});
        match self.call("browsingContext.getTree", &root).await {
            Ok(answer) => {
                let tree: Tree = serde_json::from_str(answer.get()).map_err(ExecuteError::Unreadable)?;
                let is_tab = |info: &&ContextInfo| info.parent.is_none();
                Ok(tree.contexts.first().filter(is_tab).map(|info| page_info(info, String::new())))
            }
            Err(ExecuteError::RefusedByBidi(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Evaluates an expression in a tab and waits for its promise, as a person at a console types it. A script that
    /// does not end cannot be stopped.
    pub async fn evaluate(
        &self,
        target: &TargetId,
        expression: &str,
        within: Duration,
    ) -> Result<Evaluated, EvaluateError> {
        match tokio::time::timeout(within, self.run(target, expression)).await {
            Ok(result) => result,
            Err(_) => {
                Err(ExecuteError::TimedOut { method: "the expression".to_owned(), after: within }.into())
            }
        }
    }

    async fn run(&self, target: &TargetId, expression: &str) -> Result<Evaluated, EvaluateError> {
        let mut outcome = None;
        for text in readings(expression) {
            let params = json!({
                "expression": text, "target": {"context": target}, "awaitPromise": true, "userActivation": true,
                "resultOwnership": "root", "serializationOptions": {"maxObjectDepth": 3, "maxDomDepth": 0},
            });
            let read = match self.outcome("script.evaluate", &params).await {
                Err(ExecuteError::RefusedByBidi(refusal)) if refusal.thrown().is_some() => {
                    return Err(EvaluateError::Threw(refusal.thrown().unwrap_or_default().to_owned()));
                }
                read => read?,
            };
            let is_unread = read.exception_details.as_ref().is_some_and(|details| details.is_syntax_error());
            // What cannot be read in any way is told as it was meant in the first.
            outcome = match outcome {
                Some(first) if is_unread => Some(first),
                _ => Some(read),
            };
            if !is_unread {
                break;
            }
        }
        let Some(Outcome { realm, result, exception_details }) = outcome else {
            return Err(EvaluateError::Threw("nothing was evaluated".to_owned()));
        };
        let (remote, told) = match (result, exception_details) {
            (_, Some(details)) => (details.exception.clone(), Err(EvaluateError::Threw(details.words()))),
            (Some(result), None) => {
                let value = self.shown(&realm, &result).await;
                (result, Ok(value))
            }
            (None, None) => (Json::Null, Err(EvaluateError::Threw("no result".to_owned()))),
        };
        if let Some(handle) = remote["handle"].as_str() {
            // Done for manners; what is left goes with the page.
            let params = json!({"handles": [handle], "target": {"realm": realm}});
            let _ = self.call("script.disown", &params).await;
        }
        told
    }

    /// A value in words, and as JSON where it can be that.
    async fn shown(&self, realm: &str, remote: &Json) -> Evaluated {
        let object = from_bidi(remote);
        let mut value = Evaluated {
            kind: object.kind.clone(),
            subtype: object.subtype.clone(),
            value: object.value.clone(),
            text: preview_of(&object).text,
        };
        let function = match remote["type"].as_str() {
            Some("object" | "array") => "(value) => JSON.stringify(value)",
            Some("node") => "(node) => node.outerHTML ?? node.nodeValue ?? node.nodeName",
            Some("error") => "(error) => String(error) + '\\n' + (error.stack ?? '')",
            Some("function" | "symbol" | "date") => "(value) => String(value)",
            _ => return value,
        };
        let Some(handle) = remote["handle"].as_str() else { return value };
        let params = json!({"functionDeclaration": function, "awaitPromise": false, "target": {"realm": realm},
            "arguments": [{"handle": handle}]});
        let answer = self.outcome("script.callFunction", &params).await.ok();
        let answer =
            answer.filter(|answer| answer.exception_details.is_none()).and_then(|answer| answer.result);
        let Some(text) = answer.as_ref().and_then(|answer| answer["value"].as_str()) else { return value };
        if matches!(remote["type"].as_str(), Some("object" | "array")) {
            // What has a `toJSON` of its own is shown as it is.
            let json = serde_json::from_str::<Json>(text).ok();
            if let Some(json) = json.filter(|json| json.is_object() || json.is_array()) {
                value.text = serde_json::to_string_pretty(&json).unwrap_or_default();
                value.value = Some(json);
            }
        } else {
            text.trim_end().clone_into(&mut value.text);
        }
        value
    }

    async fn outcome(&self, method: &str, params: &Json) -> Result<Outcome, ExecuteError> {
        let answer = self.call(method, params).await?;
        crate::recorder::read_json(answer.get()).map_err(ExecuteError::Unreadable)
    }

    async fn call(&self, method: &str, params: &Json) -> Result<Box<RawValue>, ExecuteError> {
        let caller = {
            let mut kept = self.0.caller.lock().await;
            match kept.as_ref().filter(|caller| !caller.has_ended()) {
                Some(caller) => caller.clone(),
                None => {
                    let own = Caller::own(&self.0.session, &self.0.tasks, Box::new(|_, _| {}));
                    kept.insert(own.map_err(|_| ExecuteError::Gone)?).clone()
                }
            }
        };
        caller.call(method, params).await.map_err(|error| match error {
            BidiError::Refused(refusal) => ExecuteError::RefusedByBidi(refusal),
            BidiError::Unreadable { source, .. } => ExecuteError::Unreadable(source),
            BidiError::Closed | BidiError::TimedOut { .. } => ExecuteError::Gone,
        })
    }
}

impl Details {
    fn is_syntax_error(&self) -> bool {
        self.text.starts_with("SyntaxError")
    }

    /// The exception with its stack; what was thrown and is no error, as it is.
    fn words(&self) -> String {
        if self.exception["type"] != "error" {
            return format!("Uncaught {}", preview_of(&from_bidi(&self.exception)).text);
        }
        let mut words = self.text.clone();
        for frame in self.stack_trace["callFrames"].as_array().into_iter().flatten().take(10) {
            let name = frame["functionName"].as_str().filter(|name| !name.is_empty());
            let number = |member: &str| frame[member].as_u64().unwrap_or_default() + 1;
            let url = frame["url"].as_str().unwrap_or_default();
            let place = format!("{url}:{}:{}", number("lineNumber"), number("columnNumber"));
            words.push_str(&match name {
                Some(name) => format!("\n    at {name} ({place})"),
                None => format!("\n    at {place}"),
            });
        }
        words
    }
}

/// The ways in which an expression may be meant, the likeliest first. A console takes an object for one, allows
/// `await`, and lets a name be declared again; a browser's script does none of these.
fn readings(expression: &str) -> Vec<String> {
    let trimmed = expression.trim();
    let bare = trimmed.trim_end_matches(';');
    let mut readings = Vec::new();
    if bare.starts_with('{') && bare.ends_with('}') {
        readings.push(format!("({bare})"));
    }
    let declared = ["const ", "let "].iter().find_map(|word| trimmed.strip_prefix(word));
    if let Some(rest) = declared {
        // Only what was declared so can be declared again.
        readings.push(format!("var {rest}"));
    }
    readings.push(expression.to_owned());
    if expression.contains("await") {
        readings.push(format!("(async () => ({bare}\n))()"));
        readings.push(awaited_statements(bare));
    }
    readings
}

/// Statements with `await` in them; what the last one gives is given.
fn awaited_statements(text: &str) -> String {
    match text.rsplit_once([';', '\n']) {
        Some((before, last)) if !last.trim().is_empty() && !last.contains(['}', '{']) => {
            let last = last.trim();
            let is_statement = ["const ", "let ", "var ", "return ", "throw ", "if ", "for "]
                .iter()
                .any(|word| last.starts_with(word));
            match is_statement {
                true => format!("(async () => {{ {text}\n }})()"),
                false => format!("(async () => {{ {before};\n return ({last}\n); }})()"),
            }
        }
        _ => format!("(async () => {{ {text}\n }})()"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_read_as_a_console_would() {
        assert_eq!(readings("1 + 1"), ["1 + 1"]);
        assert_eq!(readings("{a: 1};"), ["({a: 1})", "{a: 1};"]);
        assert_eq!(readings("const a = 1; a"), ["var a = 1; a", "const a = 1; a"]);
        let awaited = readings("const r = await f(); r.ok");
        assert_eq!(awaited.last().unwrap(), "(async () => { const r = await f();\n return (r.ok\n); })()");
        assert_eq!(readings("await f()")[1], "(async () => (await f()\n))()");
    }
}
