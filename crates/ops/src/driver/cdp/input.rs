//! Mouse and keyboard over CDP.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use super::page::Page;
use crate::driver::keys::Key;
use crate::driver::{Button, DriverError, Modifiers, Mouse};
use crate::undo::Undo;

/// Moves of the mouse while dragging: pages want some on the way.
const DRAG_STEPS: u32 = 8;

impl Page {
    /// A tab behind another one hardly draws, and input and pictures wait for it to draw. While somebody looks it
    /// does: so it is cast to a picture of two pixels, of which nobody takes any.
    pub(super) async fn light(&self) {
        if self.is_lit.swap(true, Ordering::Relaxed) {
            return;
        }
        let cast = json!({"format": "jpeg", "quality": 1, "maxWidth": 2, "maxHeight": 2, "everyNthFrame": 1});
        // One that cannot be cast is worked with all the same.
        let _: Result<Value, _> = self.ask(&self.session, "Page.startScreencast", cast).await;
    }

    pub(super) async fn input(&self, method: &str, params: Value) -> Result<(), DriverError> {
        self.light().await;
        let _: Value = self.ask(&self.session, method, params).await?;
        Ok(())
    }

    pub(super) async fn drag_and_drop(&self, from: (f64, f64), to: (f64, f64)) -> Result<(), DriverError> {
        let undo = {
            let (caller, session) = (self.caller.clone(), self.session.clone());
            // Let go where nothing is dropped, and where no click comes of it.
            let up = Mouse::Up { button: Button::Left, clicks: 1 };
            let (away, up) = (
                mouse_event(0.0, 0.0, Mouse::Move, Modifiers::default()),
                mouse_event(0.0, 0.0, up, Modifiers::default()),
            );
            let nothing = json!({"items": [], "dragOperationsMask": 1});
            let cancel = json!({"type": "dragCancel", "x": 0, "y": 0, "data": nothing});
            Undo::with(async move {
                let off = json!({"enabled": false});
                let _ = tokio::join!(
                    // Without it the page hears of no input any more.
                    caller.call(Some(&session), "Input.dispatchDragEvent", &cancel),
                    caller.call(Some(&session), "Input.dispatchMouseEvent", &away),
                    caller.call(Some(&session), "Input.dispatchMouseEvent", &up),
                    caller.call(Some(&session), "Input.setInterceptDrags", &off),
                );
            })
        };
        // The browser would drag with the mouse of the machine; so it tells what is dragged instead.
        self.input("Input.setInterceptDrags", json!({"enabled": true})).await?;
        self.drag_over(from, to).await?;
        undo.forget();
        self.input("Input.setInterceptDrags", json!({"enabled": false})).await
    }

    async fn drag_over(&self, from: (f64, f64), to: (f64, f64)) -> Result<(), DriverError> {
        let (button, held) = (Button::Left, Modifiers::default());
        self.state.take_dragged();
        self.mouse_at(from.0, from.1, Mouse::Move, held).await?;
        self.mouse_at(from.0, from.1, Mouse::Down { button, clicks: 1 }, held).await?;
        for step in 1..=DRAG_STEPS {
            let part = f64::from(step) / f64::from(DRAG_STEPS);
            let (x, y) = (from.0 + (to.0 - from.0) * part, from.1 + (to.1 - from.1) * part);
            match self.state.take_dragged() {
                None => self.pressed_move(x, y).await?,
                Some(data) => {
                    for kind in ["dragEnter", "dragOver", "drop"] {
                        let params = json!({"type": kind, "x": to.0, "y": to.1, "data": data});
                        self.input("Input.dispatchDragEvent", params).await?;
                    }
                    break;
                }
            }
        }
        self.mouse_at(to.0, to.1, Mouse::Up { button, clicks: 1 }, held).await
    }

    pub(super) async fn mouse_at(
        &self,
        x: f64,
        y: f64,
        act: Mouse,
        held: Modifiers,
    ) -> Result<(), DriverError> {
        self.input("Input.dispatchMouseEvent", mouse_event(x, y, act, held)).await
    }

    async fn pressed_move(&self, x: f64, y: f64) -> Result<(), DriverError> {
        let params = json!({"type": "mouseMoved", "x": x, "y": y, "button": "left", "buttons": 1});
        self.input("Input.dispatchMouseEvent", params).await
    }
}

fn mouse_event(x: f64, y: f64, act: Mouse, held: Modifiers) -> Value {
    let modifiers = bits(held);
    match act {
        Mouse::Move => json!({"type": "mouseMoved", "x": x, "y": y, "modifiers": modifiers}),
        Mouse::Down { button, clicks } => {
            json!({"type": "mousePressed", "x": x, "y": y, "modifiers": modifiers,
            "button": button_name(button), "clickCount": clicks, "buttons": button_bit(button)})
        }
        Mouse::Up { button, clicks } => {
            json!({"type": "mouseReleased", "x": x, "y": y, "modifiers": modifiers,
            "button": button_name(button), "clickCount": clicks})
        }
        Mouse::Wheel { dx, dy } => json!({"type": "mouseWheel", "x": x, "y": y, "modifiers": modifiers,
            "deltaX": dx, "deltaY": dy}),
    }
}

pub(super) fn key_event(key: &Key, is_down: bool, held: Modifiers) -> Value {
    // With these held it is a shortcut and types nothing.
    let text = key.text.as_ref().filter(|_| is_down && !held.control && !held.alt && !held.meta);
    let kind = match (is_down, text) {
        (true, Some(_)) => "keyDown",
        (true, None) => "rawKeyDown",
        (false, _) => "keyUp",
    };
    let mut params = json!({"type": kind, "key": key.key, "code": key.code, "modifiers": bits(held),
        "windowsVirtualKeyCode": key.key_code, "nativeVirtualKeyCode": key.key_code});
    if let Some(text) = text {
        params["text"] = json!(text);
        params["unmodifiedText"] = json!(text);
    }
    if is_down && (held.control || held.meta) {
        let command = match key.code.as_str() {
            "KeyA" => Some("selectAll"),
            "KeyC" => Some("copy"),
            "KeyV" => Some("paste"),
            "KeyX" => Some("cut"),
            "KeyZ" => Some("undo"),
            _ => None,
        };
        if let Some(command) = command {
            params["commands"] = json!([command]);
        }
    }
    params
}

fn bits(held: Modifiers) -> u8 {
    u8::from(held.alt) | u8::from(held.control) << 1 | u8::from(held.meta) << 2 | u8::from(held.shift) << 3
}

fn button_name(button: Button) -> &'static str {
    match button {
        Button::Left => "left",
        Button::Right => "right",
        Button::Middle => "middle",
    }
}

fn button_bit(button: Button) -> u8 {
    match button {
        Button::Left => 1,
        Button::Right => 2,
        Button::Middle => 4,
    }
}
