//! The page script's world in a frame: made when it is first needed, and again after the document has changed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
pub(super) struct Worlds(Mutex<HashMap<FrameId, Slot>>);

#[derive(Default)]
struct Slot {
    world: Option<World>,
    /// Held by whoever makes the world: two scripts in one frame would not know each other's refs.
    making: Arc<tokio::sync::Mutex<()>>,
}

impl Worlds {
    /// The frame's world, unless it is now reached through another session.
    pub(super) fn get(&self, frame: &FrameId, session: &SessionId) -> Option<World> {
        let all = self.all();
        all.get(frame)?.world.as_ref().filter(|world| world.session == *session).cloned()
    }

    /// The turn to make a frame's world.
    pub(super) fn making(&self, frame: &FrameId) -> Arc<tokio::sync::Mutex<()>> {
        self.all().entry(frame.clone()).or_default().making.clone()
    }

    /// Adds one, and lets go of those of frames that are gone.
    pub(super) fn put(&self, frame: &FrameId, world: World, is_there: impl Fn(&FrameId) -> bool) {
        let mut all = self.all();
        all.retain(|frame, _| is_there(frame));
        all.entry(frame.clone()).or_default().world = Some(world);
    }

    /// It was found gone; a newer one stays.
    pub(super) fn forget(&self, frame: &FrameId, gone: &World) {
        if let Some(slot) = self.all().get_mut(frame) {
            slot.world.take_if(|world| world == gone);
        }
    }

    fn all(&self) -> MutexGuard<'_, HashMap<FrameId, Slot>> {
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
