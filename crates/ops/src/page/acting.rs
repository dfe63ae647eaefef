//! Acting on elements as a person would: wait until it can be done, aim, and do it with real input.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Located, Page};
use crate::driver::keys::{self, Key};
use crate::driver::{Button, DriverError, Frame, FrameId, Modifiers, Mouse, Spot};
use crate::error::{Code, OpError};
use crate::undo::Undo;

/// Where an element can be hit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Aim {
    pub(crate) at: Spot,
    /// The element is a frame itself: what hits it is heard inside.
    pub(crate) is_frame: bool,
}

/// A click under way.
pub(crate) struct Pressing {
    pub(crate) is_down: Arc<AtomicBool>,
    undo: Undo,
}

impl Pressing {
    /// It is over.
    pub(crate) fn done(self) {
        self.undo.forget();
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Click {
    pub(crate) button: Button,
    pub(crate) count: u32,
    pub(crate) held: Modifiers,
}

#[derive(Debug, Deserialize)]
struct Ready {
    #[serde(default)]
    ok: bool,
    #[serde(default)]
    x: f64,
    #[serde(default)]
    y: f64,
    #[serde(default)]
    tag: String,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    by: Option<String>,
    error: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Verdict {
    #[serde(default)]
    arrived: bool,
    #[serde(default)]
    hit: bool,
    by: Option<String>,
}

/// Between two looks at an element that cannot be acted on yet.
const PAUSES: [u64; 5] = [10, 20, 50, 100, 200];
/// How often a click is given again that did not arrive at its frame.
const MISSES: usize = 20;

impl Page {
    /// Waits until the element can be acted on, and says where. Some acts need no point (`select`, `focus`).
    pub(crate) async fn ready(
        &self,
        located: &Located,
        action: &str,
        deadline: Instant,
    ) -> Result<Aim, OpError> {
        let mut last = None;
        for pause in PAUSES.iter().chain(std::iter::repeat(&PAUSES[PAUSES.len() - 1])) {
            let looked = tokio::time::timeout_at(deadline, self.look(located, action)).await;
            match looked {
                Ok(Ok(Ok(aim))) => return Ok(aim),
                Ok(Ok(Err(Ready { error: Some(_), .. }))) => {
                    return Err(self.stale(&located.name, deadline).await);
                }
                Ok(Ok(Err(ready))) => last = Some(ready),
                Ok(Err(DriverError::Navigated)) => return Err(self.stale(&located.name, deadline).await),
                Ok(Err(error)) => return Err(self.explain(error)),
                Err(_) if last.is_none() => return Err(self.no_answer()),
                Err(_) => {}
            }
            let pause = Duration::from_millis(*pause);
            if Instant::now() + pause >= deadline {
                break;
            }
            tokio::time::sleep(pause).await;
        }
        Err(self.not_actionable(located, action, last))
    }

    async fn look(&self, located: &Located, action: &str) -> Result<Result<Aim, Ready>, DriverError> {
        let input = json!({"ref": located.number, "action": action});
        let ready: Ready = read(self.script(&located.frame, "ready", input).await?)?;
        if !ready.ok {
            return Ok(Err(ready));
        }
        let is_frame = matches!(ready.tag.as_str(), "iframe" | "frame" | "object" | "embed");
        let at = self.in_view(&located.frame, ready.x, ready.y).await?;
        Ok(at.map(|at| Aim { at, is_frame }))
    }

    /// From a frame's own coordinates to those of the page, if nothing lies above the frame there.
    async fn in_view(&self, frame: &FrameId, x: f64, y: f64) -> Result<Result<Spot, Ready>, DriverError> {
        #[derive(Deserialize)]
        struct Inner {
            #[serde(default)]
            x: f64,
            #[serde(default)]
            y: f64,
            #[serde(default)]
            hits: bool,
            by: Option<String>,
        }
        let frames = self.driver.frames().await?;
        let (inner_frame, inner) = (frame.clone(), (x, y));
        let (mut x, mut y, mut frame) = (x, y, frame.clone());
        loop {
            let Some(known) = frames.iter().find(|known| known.id == frame) else {
                return Err(DriverError::Navigated);
            };
            let Frame { parent: Some(parent), .. } = known else {
                return Ok(Ok(Spot { view: (x, y), frame: Some(inner_frame), inner }));
            };
            let owner = self.owner(known).await?;
            let inner = self.script(parent, "inner", json!({"ref": owner, "x": x, "y": y})).await?;
            let inner: Inner = read(inner)?;
            if !inner.hits {
                let ready = Ready {
                    ok: false,
                    x,
                    y,
                    tag: String::new(),
                    reason: "covered".to_owned(),
                    message: "something lies above its frame".to_owned(),
                    by: inner.by,
                    error: None,
                };
                return Ok(Err(ready));
            }
            (x, y, frame) = (inner.x, inner.y, parent.clone());
        }
    }

    /// The same without a look at what lies above.
    pub(super) async fn view_point(
        &self,
        frame: &FrameId,
        x: f64,
        y: f64,
    ) -> Result<(f64, f64), DriverError> {
        let frames = self.driver.frames().await?;
        let (mut x, mut y, mut frame) = (x, y, frame.clone());
        loop {
            let Some(known) = frames.iter().find(|known| known.id == frame) else {
                return Err(DriverError::Navigated);
            };
            let Frame { parent: Some(parent), .. } = known else { return Ok((x, y)) };
            let owner = self.owner(known).await?;
            let inner = self.script(parent, "inner", json!({"ref": owner, "x": x, "y": y})).await?;
            x = inner["x"].as_f64().ok_or(DriverError::Navigated)?;
            y = inner["y"].as_f64().ok_or(DriverError::Navigated)?;
            frame = parent.clone();
        }
    }

    fn not_actionable(&self, located: &Located, action: &str, last: Option<Ready>) -> OpError {
        let Some(ready) = last else { return self.no_answer() };
        let what = self.shown_line(located).unwrap_or_else(|| located.name.clone());
        let why = match (&ready.by, ready.message.is_empty()) {
            (Some(by), _) => format!("{by} lies above it"),
            (None, false) => ready.message.clone(),
            (None, true) => ready.reason.replace('_', " "),
        };
        let hint = match ready.reason.as_str() {
            "covered" => "close or scroll away what lies above it (a dialog, a banner), then try again",
            "not_visible" => "it is hidden: open what it is in, or wait for it (wait_for)",
            "not_enabled" => "it is disabled: fill in what it waits for first",
            "not_editable" => "it cannot be typed into: choose the field itself",
            "not_stable" => "it moves: wait until it rests, or give a longer `timeout`",
            _ => "take a screenshot to see what is in the way",
        };
        let message = format!("cannot {action} {what}: {why}");
        OpError::new(Code::NotActionable, message, hint).with("reason", Value::String(ready.reason))
    }

    /// Clicks, and sees to it that the click has arrived where it was meant to. What lands on something else is kept
    /// from the page and given again: the element has moved. And a browser gives a click to the outer page as long as
    /// it has not drawn a frame of another site.
    pub(crate) async fn click(
        self: &Arc<Self>,
        located: &Located,
        click: Click,
        deadline: Instant,
    ) -> Result<(), OpError> {
        let is_main = self.within(deadline, self.main_frame()).await? == located.frame;
        let mut by = None;
        for _ in 0..MISSES {
            let aim = self.ready(located, "click", deadline).await?;
            let arm = json!({"ref": located.number, "block": true});
            let armed = tokio::time::timeout_at(deadline, self.script(&located.frame, "arm", arm)).await;
            let pressing = self.pressing(&aim.at, Some(located), click);
            self.press(&aim.at, click, &pressing.is_down.clone(), deadline).await?;
            if !matches!(armed, Ok(Ok(_))) {
                pressing.done();
                return Ok(());
            }
            let verdict =
                tokio::time::timeout_at(deadline, self.script(&located.frame, "verdict", json!({}))).await;
            pressing.done();
            let verdict: Verdict = match verdict {
                Ok(Ok(verdict)) => read(verdict).map_err(|error| self.explain(error))?,
                // It has led elsewhere, or opened a dialog.
                _ => return Ok(()),
            };
            match verdict {
                Verdict { hit: true, .. } => return Ok(()),
                // It has gone into the frame that the element is, or to the browser itself.
                Verdict { arrived: false, .. } if is_main || aim.is_frame => return Ok(()),
                missed => by = missed.by,
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let message = match by {
            Some(by) => format!("the click on {} would have landed on {by}, and was kept back", located.name),
            None => format!("the click on {} did not arrive", located.name),
        };
        let hint = "the page moves it or covers it when the mouse comes: wait until it rests (wait_for), act on what covers it, or use the keyboard";
        Err(OpError::new(Code::NotActionable, message, hint))
    }

    /// What is to be taken back of a click that is called off: the pressed button, and the listeners for its verdict.
    /// The button is let go of elsewhere and unseen by the page, so that no click comes of it.
    pub(crate) fn pressing(self: &Arc<Self>, at: &Spot, located: Option<&Located>, click: Click) -> Pressing {
        let is_down = Arc::new(AtomicBool::new(false));
        let (page, away, located, was_down) = (self.clone(), at.corner(), located.cloned(), is_down.clone());
        let undo = self.undo(move |driver| async move {
            if was_down.load(Ordering::Relaxed) {
                if let Some(Located { frame, number, .. }) = &located {
                    let _ = page.script(frame, "arm", json!({"ref": number, "block": true})).await;
                }
                let up = Mouse::Up { button: click.button, clicks: 1 };
                let _ = driver.mouse(&away, Mouse::Move, click.held).await;
                let _ = driver.mouse(&away, up, click.held).await;
            }
            if let Some(Located { frame, .. }) = &located {
                let _ = page.script(frame, "verdict", json!({})).await;
            }
        });
        Pressing { is_down, undo }
    }

    /// Moves the mouse and presses its button, as often as is asked.
    pub(crate) async fn press(
        &self,
        at: &Spot,
        click: Click,
        is_down: &AtomicBool,
        deadline: Instant,
    ) -> Result<(), OpError> {
        let Click { button, count, held } = click;
        self.mouse(at, Mouse::Move, held, deadline).await?;
        for clicks in 1..=count {
            for act in [Mouse::Down { button, clicks }, Mouse::Up { button, clicks }] {
                // From when it is sent: a page that is busy with it has it all the same.
                is_down.store(matches!(act, Mouse::Down { .. }), Ordering::Relaxed);
                match self.mouse(at, act, held, deadline).await {
                    Ok(()) => {}
                    // It has opened a dialog: that is what it was for. The button comes up when that is answered.
                    Err(error) if error.code == Code::DialogOpen => {
                        if is_down.swap(false, Ordering::Relaxed) {
                            let (at, up) = (at.clone(), Mouse::Up { button, clicks });
                            drop(self.undo(move |driver| async move {
                                let _ = driver.mouse(&at, up, held).await;
                            }));
                        }
                        return Ok(());
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    pub(crate) async fn mouse(
        &self,
        at: &Spot,
        act: Mouse,
        held: Modifiers,
        deadline: Instant,
    ) -> Result<(), OpError> {
        match tokio::time::timeout_at(deadline, self.driver.mouse(at, act, held)).await {
            Ok(Ok(())) => Ok(()),
            // A tab that the click has closed answers nothing more.
            Ok(Err(DriverError::Closed)) if matches!(act, Mouse::Up { .. }) => Ok(()),
            Ok(Err(error)) => Err(self.explain(error)),
            Err(_) => Err(self.no_answer()),
        }
    }

    /// Presses one key, with others held: `Enter`, `Control+A`, `Shift+Tab`.
    pub(crate) async fn key_press(&self, chord: &str, deadline: Instant) -> Result<(), OpError> {
        let (held, key) = parse_chord(chord)?;
        let modifiers: Vec<Key> = held_keys(held).into_iter().filter_map(keys::key).collect();
        let mut down = Modifiers::default();
        let undo = {
            let pressed: Vec<Key> = std::iter::once(&key).chain(&modifiers).cloned().collect();
            self.undo(move |driver| async move {
                for key in &pressed {
                    let _ = driver.key(key, false, Modifiers::default()).await;
                }
            })
        };
        for modifier in &modifiers {
            down = with(down, &modifier.key);
            self.key(modifier, true, down, deadline).await?;
        }
        let pressed = self.key(&key, true, held, deadline).await;
        let released = match pressed {
            Ok(()) => self.key(&key, false, held, deadline).await,
            Err(error) => Err(error),
        };
        for modifier in modifiers.iter().rev() {
            let _ = self.key(modifier, false, Modifiers::default(), deadline).await;
        }
        if released.is_ok() {
            undo.forget();
        }
        match released {
            Err(error) if error.code == Code::DialogOpen || error.code == Code::TabClosed => Ok(()),
            other => other,
        }
    }

    async fn key(&self, key: &Key, is_down: bool, held: Modifiers, deadline: Instant) -> Result<(), OpError> {
        self.within(deadline, self.driver.key(key, is_down, held)).await
    }

    /// Types a text key by key.
    pub(crate) async fn type_keys(
        &self,
        text: &str,
        pause: Duration,
        deadline: Instant,
    ) -> Result<(), OpError> {
        for character in text.chars() {
            let key = keys::of_character(character);
            if key.code.is_empty() {
                self.insert(&character.to_string(), deadline).await?;
            } else {
                let held = Modifiers { shift: keys::needs_shift(character), ..Modifiers::default() };
                self.key(&key, true, held, deadline).await?;
                self.key(&key, false, held, deadline).await?;
            }
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
        }
        Ok(())
    }

    pub(crate) async fn insert(&self, text: &str, deadline: Instant) -> Result<(), OpError> {
        self.within(deadline, self.driver.insert_text(text)).await
    }
}

fn read<T: serde::de::DeserializeOwned>(answer: Value) -> Result<T, DriverError> {
    serde_json::from_value(answer).map_err(|error| DriverError::Refused(error.to_string()))
}

fn held_keys(held: Modifiers) -> Vec<&'static str> {
    let all = [(held.control, "Control"), (held.alt, "Alt"), (held.shift, "Shift"), (held.meta, "Meta")];
    all.into_iter().filter(|(is_held, _)| *is_held).map(|(_, name)| name).collect()
}

fn with(mut held: Modifiers, key: &str) -> Modifiers {
    match key {
        "Control" => held.control = true,
        "Alt" => held.alt = true,
        "Shift" => held.shift = true,
        "Meta" => held.meta = true,
        _ => {}
    }
    held
}

/// `Control+Shift+T`: what is held, and the key. `ControlOrMeta` is the platform's own.
fn parse_chord(chord: &str) -> Result<(Modifiers, Key), OpError> {
    let unknown = |name: &str| {
        let hint =
            "name keys as in KeyboardEvent.key: Enter, Tab, ArrowDown, a, F5; hold others with +: Control+A";
        OpError::bad_input(format!("`key`: there is no key `{name}`"), hint)
    };
    // A plus at the end is the key itself.
    let (before, last) = match chord.strip_suffix('+') {
        Some(before) => (before.trim_end_matches('+'), "+"),
        None => chord.rsplit_once('+').unwrap_or(("", chord)),
    };
    let mut held = Modifiers::default();
    for name in before.split('+').filter(|name| !name.is_empty()) {
        let name = match name.to_lowercase().as_str() {
            "controlormeta" | "mod" if cfg!(target_os = "macos") => "Meta",
            "controlormeta" | "mod" => "Control",
            _ => name,
        };
        let key =
            keys::key(name).filter(|key| matches!(key.key.as_str(), "Control" | "Alt" | "Shift" | "Meta"));
        held = with(held, &key.ok_or_else(|| unknown(name))?.key);
    }
    let mut key = keys::key(last).ok_or_else(|| unknown(last))?;
    if held.shift && key.key.len() == 1 {
        key.key = key.key.to_uppercase();
        key.text = key.text.map(|text| text.to_uppercase());
    }
    Ok((held, key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chords_are_taken_apart() {
        let (held, key) = parse_chord("Control+Shift+t").unwrap();
        assert!(held.control && held.shift && !held.alt);
        assert_eq!(key.key, "T");
        assert_eq!(parse_chord("+").unwrap().1.code, "Equal");
        assert!(parse_chord("Control++").unwrap().0.control);
        assert_eq!(parse_chord("Enter").unwrap().1.key_code, 13);
        assert!(parse_chord("Hyper+x").unwrap_err().message.contains("Hyper"));
    }
}
