//! Mouse and keyboard over BiDi.

use serde_json::{Value, json};

use crate::driver::keys::Key;
use crate::driver::{Button, Modifiers, Mouse};

/// Moves of the mouse while dragging: pages want some on the way.
const DRAG_STEPS: u32 = 8;
/// Pixels after which something that is pressed is being dragged, and some more.
const LIFT: f64 = 20.0;

/// The actions of one act of the mouse, with keys held around it.
pub(super) fn mouse((x, y): (f64, f64), act: Mouse, held: Modifiers) -> Value {
    let pointer = match act {
        Mouse::Move => None,
        Mouse::Down { button, .. } => Some(json!({"type": "pointerDown", "button": number(button)})),
        Mouse::Up { button, .. } => Some(json!({"type": "pointerUp", "button": number(button)})),
        Mouse::Wheel { dx, dy } => {
            let scroll = json!({"type": "scroll", "x": whole(x), "y": whole(y), "deltaX": whole(dx), "deltaY": whole(dy)});
            return around(held, "wheel", vec![scroll]);
        }
    };
    // A move, even to where it is, ends a double click.
    let is_there = matches!(act, Mouse::Down { clicks, .. } | Mouse::Up { clicks, .. } if clicks > 1);
    let moved = (!is_there).then(|| move_to(x, y));
    around(held, "pointer", moved.into_iter().chain(pointer).collect())
}

/// The button goes down at one point and up at the other.
pub(super) fn drag(from: (f64, f64), to: (f64, f64)) -> Value {
    let mut steps = pressed_at(from);
    for step in 1..=DRAG_STEPS {
        let part = f64::from(step) / f64::from(DRAG_STEPS);
        steps.push(move_to(from.0 + (to.0 - from.0) * part, from.1 + (to.1 - from.1) * part));
    }
    steps.push(json!({"type": "pointerUp", "button": 0}));
    around(Modifiers::default(), "pointer", steps)
}

/// The button goes down, and what is draggable is lifted. It comes up where it went down.
pub(super) fn lift(from: (f64, f64)) -> Value {
    let mut steps = pressed_at(from);
    // To where the frame has room for it, and back.
    let away = if from.0 >= LIFT { -LIFT } else { LIFT };
    for part in [0.3, 0.6, 1.0, 0.0] {
        steps.push(move_to(from.0 + away * part, from.1));
    }
    steps.push(json!({"type": "pointerUp", "button": 0}));
    around(Modifiers::default(), "pointer", steps)
}

fn pressed_at(from: (f64, f64)) -> Vec<Value> {
    vec![move_to(from.0, from.1), json!({"type": "pointerDown", "button": 0})]
}

pub(super) fn key(key: &Key, is_down: bool) -> Value {
    let kind = if is_down { "keyDown" } else { "keyUp" };
    json!([{"type": "key", "id": "keyboard", "actions": [{"type": kind, "value": value_of(&key.key)}]}])
}

/// A text as the keys that type it.
pub(super) fn text(text: &str) -> Value {
    let mut actions = Vec::new();
    for character in text.chars() {
        let value = if character == '\n' { "\u{e007}".to_owned() } else { character.to_string() };
        actions.push(json!({"type": "keyDown", "value": value}));
        actions.push(json!({"type": "keyUp", "value": value}));
    }
    json!([{"type": "key", "id": "keyboard", "actions": actions}])
}

fn around(held: Modifiers, kind: &str, acts: Vec<Value>) -> Value {
    let mut source = json!({"type": kind, "id": kind});
    if kind == "pointer" {
        source["parameters"] = json!({"pointerType": "mouse"});
    }
    let names = [(held.control, "Control"), (held.alt, "Alt"), (held.shift, "Shift"), (held.meta, "Meta")];
    let names: Vec<&str> = names.into_iter().filter(|(is_held, _)| *is_held).map(|(_, name)| name).collect();
    if names.is_empty() {
        source["actions"] = json!(acts);
        return json!([source]);
    }
    let pause = || json!({"type": "pause"});
    let strokes = |kind: &str| {
        let stroke = |name: &&str| json!({"type": kind, "value": value_of(name)});
        names.iter().map(stroke).collect::<Vec<Value>>()
    };
    let keys: Vec<Value> =
        strokes("keyDown").into_iter().chain(acts.iter().map(|_| pause())).chain(strokes("keyUp")).collect();
    let before = names.iter().map(|_| pause());
    let all: Vec<Value> = before.clone().chain(acts.clone()).chain(names.iter().map(|_| pause())).collect();
    source["actions"] = json!(all);
    json!([{"type": "key", "id": "keyboard", "actions": keys}, source])
}

fn move_to(x: f64, y: f64) -> Value {
    json!({"type": "pointerMove", "x": whole(x), "y": whole(y)})
}

fn whole(number: f64) -> i64 {
    number.round() as i64
}

fn number(button: Button) -> u8 {
    match button {
        Button::Left => 0,
        Button::Middle => 1,
        Button::Right => 2,
    }
}

/// WebDriver's characters for keys that type none.
fn value_of(name: &str) -> String {
    let code = match name {
        "Backspace" => '\u{e003}',
        "Tab" => '\u{e004}',
        "Enter" => '\u{e007}',
        "Shift" => '\u{e008}',
        "Control" => '\u{e009}',
        "Alt" => '\u{e00a}',
        "Escape" => '\u{e00c}',
        "PageUp" => '\u{e00e}',
        "PageDown" => '\u{e00f}',
        "End" => '\u{e010}',
        "Home" => '\u{e011}',
        "ArrowLeft" => '\u{e012}',
        "ArrowUp" => '\u{e013}',
        "ArrowRight" => '\u{e014}',
        "ArrowDown" => '\u{e015}',
        "Insert" => '\u{e016}',
        "Delete" => '\u{e017}',
        "Meta" => '\u{e03d}',
        name => match name.strip_prefix('F').and_then(|number| number.parse::<u32>().ok()) {
            Some(number @ 1..=12) => char::from_u32(0xe030 + number).unwrap_or(' '),
            _ => return name.to_owned(),
        },
    };
    code.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_held_around_what_the_mouse_does() {
        let held = Modifiers { control: true, ..Modifiers::default() };
        let actions = mouse((1.4, 2.6), Mouse::Down { button: Button::Right, clicks: 1 }, held);
        let keys: Vec<&Value> = actions[0]["actions"].as_array().unwrap().iter().collect();
        let acts: Vec<&Value> = actions[1]["actions"].as_array().unwrap().iter().collect();
        assert_eq!(keys.len(), acts.len(), "they go in step");
        assert_eq!((&keys[0]["type"], &acts[0]["type"]), (&json!("keyDown"), &json!("pause")));
        assert_eq!(*acts[1], json!({"type": "pointerMove", "x": 1, "y": 3}));
        assert_eq!(*acts[2], json!({"type": "pointerDown", "button": 2}));
        assert_eq!(keys[3]["type"], "keyUp");
    }

    #[test]
    fn the_second_click_of_a_double_click_moves_nothing() {
        let kinds = |act: Mouse| {
            let actions = mouse((5.0, 5.0), act, Modifiers::default());
            let actions = actions[0]["actions"].as_array().unwrap().clone();
            actions.iter().map(|action| action["type"].as_str().unwrap().to_owned()).collect::<Vec<String>>()
        };
        let button = Button::Left;
        assert_eq!(kinds(Mouse::Up { button, clicks: 1 }), ["pointerMove", "pointerUp"]);
        assert_eq!(kinds(Mouse::Down { button, clicks: 2 }), ["pointerDown"]);
    }

    #[test]
    fn keys_have_webdrivers_characters() {
        assert_eq!(value_of("Enter"), "\u{e007}");
        assert_eq!(value_of("F12"), "\u{e03c}");
        assert_eq!(value_of("a"), "a");
        assert_eq!(text("a\n")[0]["actions"].as_array().unwrap().len(), 4);
    }
}
