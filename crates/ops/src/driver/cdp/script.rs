//! JavaScript over CDP: in the page script's world, and in the page's own.

use std::time::Duration;

use bowline_wire::SessionId;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::page::Page;
use super::world::{Details, Outcome, Remote, World};
use crate::driver::{DriverError, Evaluated, Frame, FrameId};
use crate::page::SCRIPT;

/// The name under which DevTools shows the page script's world.
const WORLD: &str = "bowline";
/// A page that does not answer for so long runs a script.
const BUSY: Duration = Duration::from_millis(150);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WorldAnswer {
    execution_context_id: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OwnerAnswer {
    backend_node_id: i64,
}

#[derive(Deserialize)]
struct ObjectAnswer {
    object: Remote,
}

impl Page {
    fn session_of(&self, frame: &FrameId) -> Result<SessionId, DriverError> {
        self.state.session_of(frame).ok_or(DriverError::Navigated)
    }

    async fn world(&self, frame: &FrameId) -> Result<World, DriverError> {
        let session = self.session_of(frame)?;
        if let Some(world) = self.worlds.get(frame, &session) {
            return Ok(world);
        }
        let making = self.worlds.making(frame);
        let _turn = making.lock().await;
        if let Some(world) = self.worlds.get(frame, &session) {
            return Ok(world);
        }
        let params = json!({"frameId": frame, "worldName": WORLD, "grantUniveralAccess": true});
        let made: WorldAnswer = self.ask(&session, "Page.createIsolatedWorld", params).await?;
        let context = made.execution_context_id;
        let params = json!({"expression": &*SCRIPT, "contextId": context});
        let made: Outcome = self.ask(&session, "Runtime.evaluate", params).await?;
        if let Some(details) = made.exception_details {
            return Err(DriverError::Threw(details.words()));
        }
        let script = made.result.object_id.ok_or(DriverError::Navigated)?;
        let world = World { session, context, script };
        self.worlds.put(frame, world.clone(), |frame| self.state.session_of(frame).is_some());
        Ok(world)
    }

    /// Calls a function with the page script as `this`.
    async fn call_in(
        &self,
        world: &World,
        function: &str,
        args: Value,
        by_value: bool,
    ) -> Result<Outcome, DriverError> {
        let params = json!({
            "functionDeclaration": function, "objectId": world.script, "arguments": args,
            "returnByValue": by_value, "awaitPromise": true, "userGesture": true,
        });
        let outcome: Outcome = self.ask(&world.session, "Runtime.callFunctionOn", params).await?;
        match outcome.exception_details {
            Some(details) => Err(DriverError::Threw(details.words())),
            None => Ok(outcome),
        }
    }

    /// An element that the page script knows, as an object of its world.
    pub(super) async fn element(
        &self,
        frame: &FrameId,
        element: u64,
    ) -> Result<(World, String), DriverError> {
        let world = self.world(frame).await?;
        let found = self
            .call_in(&world, "function (ref) { return this.node(ref); }", json!([{"value": element}]), false)
            .await?;
        let object = found.result.object_id.ok_or(DriverError::Navigated)?;
        Ok((world, object))
    }

    pub(super) async fn forgetting<T>(
        &self,
        frame: &FrameId,
        work: impl Future<Output = Result<T, DriverError>>,
    ) -> Result<T, DriverError> {
        let before = self.session_of(frame).ok().and_then(|session| self.worlds.get(frame, &session));
        let result = work.await;
        if let (Err(DriverError::Navigated), Some(gone)) = (&result, before) {
            self.worlds.forget(frame, &gone);
        }
        result
    }

    pub(super) async fn evaluate_in_page(
        &self,
        frame: &FrameId,
        source: &str,
        element: Option<u64>,
        deadline: Instant,
    ) -> Result<Evaluated, DriverError> {
        let session = self.session_of(frame)?;
        let is_main = self.state.main().as_ref() == Some(frame);
        let limit = deadline.saturating_duration_since(Instant::now()).as_millis() as u64;
        let outcome: Outcome = match (element, is_main) {
            (None, true) => {
                let mut params = json!({"expression": source, "awaitPromise": true, "returnByValue": true,
                    "userGesture": true, "allowUnsafeEvalBlockedByCSP": true, "timeout": limit.max(1)});
                let outcome: Outcome = match self.ask(&session, "Runtime.evaluate", params.clone()).await {
                    // These are its words for a script that has run out of time.
                    Err(DriverError::Refused(words))
                        if words == "Internal error" && Instant::now() >= deadline =>
                    {
                        return Err(DriverError::Stopped);
                    }
                    outcome => outcome?,
                };
                if outcome.exception_details.as_ref().is_some_and(Details::is_not_run) {
                    let details = outcome.exception_details.map(Details::words).unwrap_or_default();
                    if details.contains("Illegal return statement") {
                        params["expression"] = json!(format!("(async () => {{ {source}\n}})()"));
                    } else {
                        // As a console takes it: top-level await, and names that are declared again.
                        params["replMode"] = json!(true);
                    }
                    self.ask(&session, "Runtime.evaluate", params).await?
                } else {
                    outcome
                }
            }
            (None, false) => {
                let global = self.page_object(frame).await?;
                let function = format!("async function () {{ return ({source}\n); }}");
                let params = json!({"functionDeclaration": function, "objectId": global, "awaitPromise": true,
                    "returnByValue": true, "userGesture": true});
                self.ask(&session, "Runtime.callFunctionOn", params).await?
            }
            (Some(element), _) => {
                let (world, object) = self.element(frame, element).await?;
                let object = self.in_pages_world(&world, &object).await?;
                let function = format!("async function () {{ const f = ({source}\n); return f(this); }}");
                let params = json!({"functionDeclaration": function, "objectId": object, "awaitPromise": true,
                    "returnByValue": true, "userGesture": true});
                self.ask(&session, "Runtime.callFunctionOn", params).await?
            }
        };
        if let Some(details) = outcome.exception_details {
            return Err(DriverError::Threw(details.words()));
        }
        let remote = outcome.result;
        let value = match (&remote.kind[..], remote.value) {
            ("undefined", _) => None,
            (_, value) => value,
        };
        let text = match (&value, remote.unserializable_value) {
            (Some(Value::String(text)), _) => text.clone(),
            (Some(value), _) => serde_json::to_string_pretty(value).unwrap_or_default(),
            (None, Some(text)) => text,
            (None, None) => remote.description.unwrap_or(remote.kind),
        };
        Ok(Evaluated { value, text })
    }

    /// The `document` of a frame in the page's own world.
    async fn page_object(&self, frame: &FrameId) -> Result<String, DriverError> {
        let world = self.world(frame).await?;
        let document = self.call_in(&world, "function () { return document; }", json!([]), false).await?;
        let document = document.result.object_id.ok_or(DriverError::Navigated)?;
        self.in_pages_world(&world, &document).await
    }

    /// The same node, as the page's own scripts see it.
    async fn in_pages_world(&self, world: &World, object: &str) -> Result<String, DriverError> {
        #[derive(Deserialize)]
        struct Described {
            node: OwnerAnswer,
        }
        let described: Described =
            self.ask(&world.session, "DOM.describeNode", json!({"objectId": object})).await?;
        let params = json!({"backendNodeId": described.node.backend_node_id});
        let resolved: ObjectAnswer = self.ask(&world.session, "DOM.resolveNode", params).await?;
        resolved.object.object_id.ok_or(DriverError::Navigated)
    }

    /// Calls a function of the page script.
    pub(super) async fn script_in(
        &self,
        frame: &FrameId,
        name: &str,
        input: Value,
    ) -> Result<Value, DriverError> {
        let world = self.world(frame).await?;
        let call = "function (name, input) { return this[name](input); }";
        let outcome = self.call_in(&world, call, json!([{"value": name}, {"value": input}]), true).await?;
        Ok(outcome.result.value.unwrap_or(Value::Null))
    }

    /// The number of a frame's own element in its parent.
    pub(super) async fn owner_of(&self, frame: &Frame, next: u64) -> Result<Value, DriverError> {
        let parent = frame.parent.as_ref().ok_or(DriverError::Navigated)?;
        let world = self.world(parent).await?;
        let found: OwnerAnswer =
            self.ask(&world.session, "DOM.getFrameOwner", json!({"frameId": frame.id})).await?;
        let params = json!({"backendNodeId": found.backend_node_id, "executionContextId": world.context});
        let resolved: ObjectAnswer = self.ask(&world.session, "DOM.resolveNode", params).await?;
        let args = json!([{"objectId": resolved.object.object_id}, {"value": next}]);
        let call = "function (element, next) { return this.refOf(element, next); }";
        let outcome = self.call_in(&world, call, args, true).await?;
        Ok(outcome.result.value.unwrap_or(Value::Null))
    }

    /// Ends a script that keeps the page busy. One that only waits for something does no harm, and to stop the page
    /// then would hit whatever it does next. In a person's own browser Chrome does not allow it.
    pub(super) async fn interrupt(&self, frame: &FrameId) -> Result<(), DriverError> {
        let session = self.session_of(frame)?;
        let probe = self.send::<Value>(&session, "Runtime.evaluate", json!({"expression": "0"}));
        if tokio::time::timeout(BUSY, probe).await.is_err() {
            let _: Value = self.send(&session, "Runtime.terminateExecution", json!({})).await?;
        }
        Ok(())
    }
}
