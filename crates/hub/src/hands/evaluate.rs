//! An expression in a page, as a person at a console types it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bowline_wire::TargetId;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::{ExecuteError, Hands};
use crate::recorder::{RemoteObject, preview_of, read_json};

/// Everything that one evaluation leaves in the page is let go of under a name of its own: another one may
/// be under way on the same session.
static LAST_GROUP: AtomicU64 = AtomicU64::new(0);
/// For the answer to arrive after the page has been stopped.
const GRACE: Duration = Duration::from_millis(300);

/// What an expression gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    pub kind: String,
    pub subtype: Option<String>,
    /// The value, for what JSON can hold.
    pub value: Option<Json>,
    /// For people.
    pub text: String,
}

#[derive(Debug, thiserror::Error)]
pub enum EvaluateError {
    #[error(transparent)]
    NotRun(#[from] ExecuteError),
    /// The exception, with its stack.
    #[error("{0}")]
    Threw(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Outcome {
    result: RemoteObject,
    exception_details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    #[serde(default)]
    text: String,
    exception: Option<RemoteObject>,
}

impl Details {
    fn text(self) -> String {
        match self.exception {
            Some(exception) => {
                let what = preview_of(&exception).text;
                if exception.subtype.as_deref() == Some("error") {
                    what
                } else {
                    format!("{} {what}", self.text)
                }
            }
            None => self.text,
        }
    }

    fn is_syntax_error(&self) -> bool {
        self.exception
            .as_ref()
            .is_some_and(|exception| exception.class_name.as_deref() == Some("SyntaxError"))
    }
}

impl Hands {
    /// Evaluates an expression in a tab and waits for its promise. Top-level `await` works, and a
    /// script that does not end is stopped.
    pub async fn evaluate(
        &self,
        target: &TargetId,
        expression: &str,
        within: Duration,
    ) -> Result<Value, EvaluateError> {
        let timed_out = || ExecuteError::TimedOut { method: "the expression".to_owned(), after: within };
        let begun = tokio::time::Instant::now();
        let work = self.run(target, expression, within);
        match tokio::time::timeout(within + GRACE, work).await {
            // The browser says no more than "Internal error" about a script that it has stopped.
            Ok(Err(EvaluateError::NotRun(ExecuteError::Refused { .. }))) if begun.elapsed() >= within => {
                Err(timed_out().into())
            }
            Ok(result) => result,
            Err(_) => Err(timed_out().into()),
        }
    }

    async fn run(
        &self,
        target: &TargetId,
        expression: &str,
        within: Duration,
    ) -> Result<Value, EvaluateError> {
        let session = self.session_on(target).await?;
        let group = format!("bowline-eval-{}", LAST_GROUP.fetch_add(1, Ordering::Relaxed));
        let evaluate = async |expression: &str| {
            let params = json!({
                "expression": expression, "replMode": true, "awaitPromise": true, "generatePreview": true,
                "userGesture": true, "objectGroup": group, "allowUnsafeEvalBlockedByCSP": true,
                "timeout": within.as_millis() as u64,
            });
            self.outcome(&session, "Runtime.evaluate", &params).await
        };
        let trimmed = expression.trim();
        let mut outcome = None;
        if trimmed.starts_with('{') && trimmed.trim_end_matches(';').ends_with('}') {
            // Meant as an object, if it is one.
            let wrapped = evaluate(&format!("({})", trimmed.trim_end_matches(';'))).await?;
            let is_block = wrapped.exception_details.as_ref().is_some_and(Details::is_syntax_error);
            outcome = (!is_block).then_some(wrapped);
        }
        let mut outcome = match outcome {
            Some(outcome) => outcome,
            None => evaluate(expression).await?,
        };
        if outcome.exception_details.is_none()
            && outcome.result.subtype.as_deref() == Some("promise")
            && let Some(id) = &outcome.result.object_id
        {
            let params = json!({"promiseObjectId": id, "generatePreview": true});
            outcome = self.outcome(&session, "Runtime.awaitPromise", &params).await?;
        }
        let result = match outcome.exception_details {
            Some(details) => Err(EvaluateError::Threw(details.text())),
            None => Ok(self.describe(&session, &outcome.result).await),
        };
        if outcome.result.object_id.is_some() {
            // Done for manners; nothing waits for it.
            let params = json!({ "objectGroup": group });
            let release = self.call(Some(&session), "Runtime.releaseObjectGroup", &params);
            let _ = tokio::time::timeout(GRACE, release).await;
        }
        result
    }

    async fn outcome(
        &self,
        session: &bowline_wire::SessionId,
        method: &str,
        params: &Json,
    ) -> Result<Outcome, EvaluateError> {
        let answer = self.call(Some(session), method, params).await?;
        Ok(read_json(answer.get()).map_err(ExecuteError::Unreadable)?)
    }

    async fn describe(&self, session: &bowline_wire::SessionId, object: &RemoteObject) -> Value {
        let shown = preview_of(object);
        let value = Value {
            kind: object.kind.clone(),
            subtype: object.subtype.clone(),
            value: object.value.clone(),
            text: shown.text,
        };
        let (Some(id), "object") = (&object.object_id, object.kind.as_str()) else { return value };
        match object.subtype.as_deref() {
            None | Some("array") => {
                let json = self.call_on(session, id, "function () { return this; }").await;
                // What has a `toJSON` of its own, or cannot be JSON, is shown as it is.
                match json.filter(|json| json.is_object() || json.is_array()) {
                    Some(json) => {
                        let text = serde_json::to_string_pretty(&json).unwrap_or_default();
                        Value { value: Some(json), text, ..value }
                    }
                    None => value,
                }
            }
            Some("node") => {
                let html = "function () { return this.outerHTML ?? this.nodeValue ?? this.nodeName; }";
                match self.call_on(session, id, html).await.as_ref().and_then(Json::as_str) {
                    Some(html) => Value { text: html.to_owned(), ..value },
                    None => value,
                }
            }
            _ => value,
        }
    }

    async fn call_on(&self, session: &bowline_wire::SessionId, id: &str, function: &str) -> Option<Json> {
        let params = json!({"objectId": id, "functionDeclaration": function, "returnByValue": true});
        let outcome = self.outcome(session, "Runtime.callFunctionOn", &params).await.ok()?;
        if outcome.exception_details.is_some() {
            return None;
        }
        outcome.result.value
    }
}
