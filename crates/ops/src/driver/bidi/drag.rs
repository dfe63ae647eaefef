//! Drag and drop over BiDi. Firefox lifts and carries by itself, but its mouse lets go without a drop: the page script drops.

use serde_json::{Value, json};

use super::input;
use super::page::Page;
use crate::differences;
use crate::driver::{DriverError, FrameId, Spot};
use crate::undo::Undo;

impl Page {
    pub(super) async fn drag_and_drop(&self, from: &Spot, to: &Spot) -> Result<(), DriverError> {
        let (source, target) = (self.frame_of(from), self.frame_of(to));
        let at = |spot: &Spot| json!({"x": spot.inner.0, "y": spot.inner.1});
        let watched = self.script_in(&source, "watchDrag", at(from)).await?;
        let undo = self.letting_go(source.clone());
        let is_within = source == target;
        if !is_within && watched["draggable"] != json!(true) {
            return Err(differences::unsupported("drag", Some("to")));
        }
        let actions = if is_within { input::drag(from.inner, to.inner) } else { input::lift(from.inner) };
        self.act_in(&source, actions).await?;
        let mut dragged = self.script_in(&source, "takeDrag", json!({})).await?;
        if dragged["lifted"] == json!(true) {
            dragged["x"] = json!(to.inner.0);
            dragged["y"] = json!(to.inner.1);
            dragged["enters"] = json!(!is_within);
            let dropped = self.script_in(&target, "dropDrag", dragged).await?;
            // What was dropped may have led elsewhere.
            let _: Result<Value, _> =
                self.script_in(&source, "endDrag", json!({"effect": dropped["effect"]})).await;
        }
        undo.forget();
        Ok(())
    }

    /// For a drag that is called off: the button comes up when Firefox has done what it was asked, and nothing is dropped.
    fn letting_go(&self, source: FrameId) -> Undo {
        let page = self.clone();
        Undo::with(async move {
            let _: Result<Value, _> = page.ask("input.releaseActions", json!({ "context": source })).await;
            let _ = page.script_in(&source, "endDrag", json!({})).await;
        })
    }
}
