//! The page script's world in a frame: made when it is first needed, and again after the document has changed.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bowline_wire::SessionId;
use serde::Deserialize;
use serde_json::Value;

use crate::driver::FrameId;

/// Where a frame's page script lives.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct World {
    pub(super) session: SessionId,
    pub(super) context: i64,
    /// The script's object.
    pub(super) script: String,
}

#[derive(Default)]
pub(super) struct Worlds(Mutex<HashMap<FrameId, World>>);

impl Worlds {
    /// The frame's world, unless it is now reached through another session.
    pub(super) fn get(&self, frame: &FrameId, session: &SessionId) -> Option<World> {
        self.all().get(frame).filter(|world| world.session == *session).cloned()
    }

    pub(super) fn put(&self, frame: &FrameId, world: World) {
        self.all().insert(frame.clone(), world);
    }

    /// It was found gone; a newer one stays.
    pub(super) fn forget(&self, frame: &FrameId, gone: &World) {
        let mut all = self.all();
        if all.get(frame) == Some(gone) {
            all.remove(frame);
        }
    }

    fn all(&self) -> MutexGuard<'_, HashMap<FrameId, World>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What `Runtime.evaluate` and `Runtime.callFunctionOn` answer.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Outcome {
    pub(super) result: Remote,
    pub(super) exception_details: Option<Details>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Remote {
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) value: Option<Value>,
    pub(super) unserializable_value: Option<String>,
    pub(super) description: Option<String>,
    pub(super) object_id: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Details {
    #[serde(default)]
    text: String,
    exception: Option<Remote>,
}

impl Details {
    /// The exception in words, with its stack.
    pub(super) fn words(self) -> String {
        let Some(exception) = self.exception else { return self.text };
        match (exception.description, exception.value) {
            (Some(description), _) => description,
            (None, Some(Value::String(text))) => format!("{} {text}", self.text),
            (None, Some(value)) => format!("{} {value}", self.text),
            (None, None) => self.text,
        }
    }

    /// The source could not be read, so nothing of it was run: such an error has no place in a script.
    pub(super) fn is_not_run(&self) -> bool {
        let description = self.exception.as_ref().and_then(|exception| exception.description.as_deref());
        description.is_some_and(|text| text.starts_with("SyntaxError") && !text.contains("\n    at "))
    }
}
