//! JavaScript over BiDi: in a sandbox of the page, where the page script lives, and in the page's own world.

use serde::Deserialize;
use serde_json::{Value, json};

use super::page::Page;
use super::value::{evaluated, exception};
use crate::driver::{DriverError, Evaluated, Frame, FrameId};
use crate::page::SCRIPT;

/// The sandbox that the page script has to itself.
pub(super) const SANDBOX: &str = "bowline";
/// Said by a sandbox that is new: the document has changed.
const NO_SCRIPT: &str = "no script";
/// Deeper values are cut.
const DEPTH: u64 = 20;

/// What `script.evaluate` and `script.callFunction` answer.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Outcome {
    result: Option<Value>,
    exception_details: Option<Value>,
}

impl Page {
    pub(super) async fn outcome(&self, method: &str, params: Value) -> Result<Value, DriverError> {
        let outcome: Outcome = self.ask(method, params).await?;
        match outcome {
            Outcome { exception_details: Some(details), .. } => Err(DriverError::Threw(exception(&details))),
            Outcome { result, .. } => Ok(result.unwrap_or(Value::Null)),
        }
    }

    /// Calls a function in a frame's sandbox, with the page script as `api`; puts the script there first if need be.
    async fn in_sandbox(
        &self,
        frame: &FrameId,
        function: &str,
        arguments: Value,
    ) -> Result<Value, DriverError> {
        let target = json!({"context": frame, "sandbox": SANDBOX});
        let declaration = format!(
            "async (...args) => {{ const api = globalThis.bowlineApi; if (!api) return '{NO_SCRIPT}'; return ({function})(api, ...args); }}"
        );
        let params = json!({"functionDeclaration": declaration, "arguments": arguments, "target": target,
            "awaitPromise": true, "userActivation": true});
        let result = self.outcome("script.callFunction", params.clone()).await?;
        if result["value"] != json!(NO_SCRIPT) {
            return Ok(result);
        }
        let install = json!({"expression": format!("globalThis.bowlineApi ??= {}; 0", &*SCRIPT), "target": target,
            "awaitPromise": false});
        self.outcome("script.evaluate", install).await?;
        let result = self.outcome("script.callFunction", params).await?;
        if result["value"] == json!(NO_SCRIPT) { Err(DriverError::Navigated) } else { Ok(result) }
    }

    pub(super) async fn script_in(
        &self,
        frame: &FrameId,
        name: &str,
        input: Value,
    ) -> Result<Value, DriverError> {
        let call = "async (api, name, input) => JSON.stringify(await api[name](JSON.parse(input)) ?? null)";
        let arguments =
            json!([{"type": "string", "value": name}, {"type": "string", "value": input.to_string()}]);
        let result = self.in_sandbox(frame, call, arguments).await?;
        let text = result["value"].as_str().ok_or(DriverError::Navigated)?;
        serde_json::from_str(text).map_err(|error| DriverError::Refused(error.to_string()))
    }

    /// The number of a frame's own element in its parent: its elements are asked which frame each of them is.
    pub(super) async fn owner_of(&self, frame: &Frame, next: u64) -> Result<Value, DriverError> {
        let parent = frame.parent.as_ref().ok_or(DriverError::Navigated)?;
        let call = "(api, next) => api.frameElements().map((element) => [element.contentWindow, api.refOf(element, next).ref, api.refOf(element, next).next])";
        let result = self.in_sandbox(parent, call, json!([{"type": "number", "value": next}])).await?;
        let rows = result["value"].as_array().cloned().unwrap_or_default();
        let mut last = next;
        let mut found = None;
        for row in &rows {
            let cells = &row["value"];
            last = last.max(cells[2]["value"].as_u64().unwrap_or_default());
            if cells[0]["value"]["context"].as_str() == Some(frame.id.0.as_str()) {
                found = cells[1]["value"].as_u64();
            }
        }
        Ok(json!({"ref": found.ok_or(DriverError::Navigated)?, "next": last}))
    }

    /// An element that the page script knows, as every world of its frame takes it.
    pub(super) async fn element(&self, frame: &FrameId, element: u64) -> Result<Value, DriverError> {
        let result = self
            .in_sandbox(frame, "(api, ref) => api.node(ref)", json!([{"type": "number", "value": element}]))
            .await?;
        let shared = result["sharedId"].as_str().ok_or(DriverError::Navigated)?;
        Ok(json!({ "sharedId": shared }))
    }

    /// The page's title, when it has done what it was about to do. Firefox answers a page that has just opened a dialog,
    /// before it tells of the dialog; timers stand still in such a page.
    pub(super) async fn title_after_all(&self) -> Result<String, DriverError> {
        let target = json!({"context": self.context, "sandbox": SANDBOX});
        let source = "new Promise((resolve) => setTimeout(() => resolve(document.title)))";
        let params = json!({"expression": source, "target": target, "awaitPromise": true});
        let title = self.outcome("script.evaluate", params).await?;
        Ok(title["value"].as_str().unwrap_or_default().to_owned())
    }

    pub(super) async fn evaluate_in_page(
        &self,
        frame: &FrameId,
        source: &str,
        element: Option<u64>,
    ) -> Result<Evaluated, DriverError> {
        let target = json!({ "context": frame });
        let options = json!({"maxObjectDepth": DEPTH, "maxDomDepth": 0});
        if let Some(element) = element {
            let element = self.element(frame, element).await?;
            let declaration = format!("async (element) => {{ const f = ({source}\n); return f(element); }}");
            let params = json!({"functionDeclaration": declaration, "arguments": [element], "target": target,
                "awaitPromise": true, "userActivation": true, "serializationOptions": options});
            return Ok(evaluated(&self.outcome("script.callFunction", params).await?));
        }
        // As it is; then as a console takes it: with `await` around it, or with `return`.
        let forms = [
            source.to_owned(),
            format!("(async () => ({source}\n))()"),
            format!("(async () => {{ {source}\n}})()"),
        ];
        let mut last = DriverError::Navigated;
        for form in forms {
            let params = json!({"expression": form, "target": target, "awaitPromise": true, "userActivation": true,
                "serializationOptions": options});
            match self.outcome("script.evaluate", params).await {
                Err(DriverError::Threw(words)) if words.starts_with("SyntaxError") => {
                    last = DriverError::Threw(words);
                }
                result => return Ok(evaluated(&result?)),
            }
        }
        Err(last)
    }
}
