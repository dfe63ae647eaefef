//! The keyboard over BiDi: keys go to what has the focus, in whichever frame that is.

use serde_json::json;

use super::input;
use super::page::Page;
use super::script::SANDBOX;
use crate::driver::keys::Key;
use crate::driver::{DriverError, FrameId};

/// Frames within frames that are looked into.
const DEPTH: usize = 20;
/// The window of the frame that has the focus, if one has.
const FOCUSED: &str = "(() => { let e = document.activeElement; while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement; return e?.contentWindow ?? null; })()";

impl Page {
    /// Firefox gives keys to the frame that they are sent to, and to none below it that has a process of its own.
    async fn focused(&self) -> Result<FrameId, DriverError> {
        let mut frame = self.main();
        for _ in 0..DEPTH {
            let target = json!({"context": frame, "sandbox": SANDBOX});
            let params = json!({"expression": FOCUSED, "target": target, "awaitPromise": false});
            let window = self.outcome("script.evaluate", params).await?;
            match window["value"]["context"].as_str() {
                Some(inner) => frame = FrameId(inner.to_owned()),
                None => break,
            }
        }
        Ok(frame)
    }

    /// A key comes up in the frame in which it went down: each has a keyboard of its own.
    pub(super) async fn stroke(&self, key: &Key, is_down: bool) -> Result<(), DriverError> {
        let pressed_in = if is_down { None } else { self.held().remove(&key.key) };
        let frame = match pressed_in {
            Some(frame) => frame,
            None => self.focused().await?,
        };
        if is_down {
            self.held().insert(key.key.clone(), frame.clone());
        }
        match self.act_in(&frame, input::key(key, is_down)).await {
            // The frame has gone when the key was pressed.
            Err(DriverError::Navigated) if !is_down => Ok(()),
            acted => acted,
        }
    }

    /// A text all at once, as from an input method.
    pub(super) async fn insert(&self, text: &str) -> Result<(), DriverError> {
        let frame = self.focused().await?;
        let target = json!({"context": frame, "sandbox": SANDBOX});
        let params = json!({"functionDeclaration": "(text) => document.execCommand('insertText', false, text)",
            "arguments": [{"type": "string", "value": text}], "target": target, "awaitPromise": false, "userActivation": true});
        let inserted = self.outcome("script.callFunction", params).await?;
        if inserted["value"] == json!(true) {
            return Ok(());
        }
        // What is no field, and listens to keys.
        self.act_in(&frame, input::text(text)).await
    }
}
