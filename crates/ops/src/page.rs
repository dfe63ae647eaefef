//! One page as an agent sees it: its refs, and how elements are found and acted on, whatever the protocol.

mod acting;
mod element;
mod frames;
mod observe;
mod snapshot;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bowline_wire::TargetId;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::driver::{Driver, DriverError, Frame, FrameId, Rect};
use crate::error::{Code, OpError};
use crate::undo::Undo;

pub(crate) use acting::Click;
pub(crate) use element::{Element, Located, written};
pub(crate) use frames::name_refs;
pub(crate) use observe::Observed;
pub(crate) use snapshot::SnapshotOptions;

/// The script that runs in a world of its own in every frame, below `page/`.
pub(crate) static SCRIPT: LazyLock<String> =
    LazyLock::new(|| format!("(() => {{\n{}\nreturn api;\n}})()", PARTS.join("\n")));

/// Its files, in the order of `page/order.json`.
const PARTS: &[&str] = &[
    include_str!("page/dom.js"),
    include_str!("page/refs.js"),
    include_str!("page/visible.js"),
    include_str!("page/roles.js"),
    include_str!("page/names.js"),
    include_str!("page/states.js"),
    include_str!("page/lines.js"),
    include_str!("page/snapshot.js"),
    include_str!("page/locator.js"),
    include_str!("page/css.js"),
    include_str!("page/locate.js"),
    include_str!("page/describe.js"),
    include_str!("page/ready.js"),
    include_str!("page/frame.js"),
    include_str!("page/arm.js"),
    include_str!("page/drag.js"),
    include_str!("page/fill.js"),
    include_str!("page/select.js"),
    include_str!("page/scroll.js"),
    include_str!("page/storage.js"),
    include_str!("page/markdown.js"),
    include_str!("page/text.js"),
    include_str!("page/html.js"),
    include_str!("page/forms.js"),
    include_str!("page/questions.js"),
    include_str!("page/elements.js"),
    include_str!("page/overlay.js"),
    include_str!("page/pick.js"),
    include_str!("page/watch.js"),
    include_str!("page/api.js"),
];

/// For a frame below the main one, which may be another site's and hang by itself.
const FRAME_PATIENCE: Duration = Duration::from_secs(2);
/// What is remembered of refs that were shown.
const SHOWN: usize = 20_000;
/// Kinds of snapshots whose last one is remembered.
const KINDS: usize = 8;

pub(crate) struct Page {
    pub(crate) target: TargetId,
    pub(crate) driver: Arc<dyn Driver>,
    refs: Mutex<Refs>,
    /// The next free number: one count for all tabs of an agent, so that a ref of one is no other's.
    next: Arc<AtomicU64>,
    /// One act at a time: two at once would move the same mouse.
    pub(crate) turn: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Default)]
struct Refs {
    /// Frames below the main one by their numbers, which begin with 1.
    frames: Vec<FrameId>,
    /// The lines of the last snapshot, by what was asked.
    last: HashMap<String, Vec<String>>,
    /// What each ref was when it was last shown: its line without indentation.
    shown: HashMap<String, String>,
}

impl Refs {
    /// Remembers what a ref was. Of too many, the older half is forgotten: numbers only grow.
    fn show(&mut self, name: &str, line: &str) {
        self.shown.insert(name.to_owned(), line.to_owned());
        if self.shown.len() > SHOWN {
            let mut numbers: Vec<u64> = self.shown.keys().filter_map(|name| number_of(name)).collect();
            numbers.sort_unstable();
            let middle = numbers.get(numbers.len() / 2).copied().unwrap_or_default();
            self.shown.retain(|name, _| number_of(name).is_some_and(|number| number >= middle));
        }
    }
}

/// The number in `e12` or `f1e12`.
fn number_of(name: &str) -> Option<u64> {
    name.rsplit_once('e').and_then(|(_, number)| number.parse().ok())
}

impl Page {
    pub(crate) fn new(target: TargetId, driver: Arc<dyn Driver>, next: Arc<AtomicU64>) -> Self {
        Self { target, driver, refs: Mutex::default(), next, turn: Arc::default() }
    }

    fn refs(&self) -> MutexGuard<'_, Refs> {
        self.refs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn url(&self) -> String {
        self.driver.state().url
    }

    pub(crate) async fn main_frame(&self) -> Result<FrameId, DriverError> {
        let frames = self.driver.frames().await?;
        frames.into_iter().next().map(|frame| frame.id).ok_or(DriverError::Navigated)
    }

    /// Calls the page script, with the next free number of the frame, and notes how far it counted.
    pub(crate) async fn script(
        &self,
        frame: &FrameId,
        name: &str,
        mut input: Value,
    ) -> Result<Value, DriverError> {
        self.frame_number(frame).await?;
        input["next"] = json!(self.next.load(Ordering::Relaxed));
        let answer = self.driver.script(frame, name, input).await?;
        if let Some(next) = answer.get("next").and_then(Value::as_u64) {
            self.next.fetch_max(next, Ordering::Relaxed);
        }
        Ok(answer)
    }

    /// The number of a frame's own element in its parent.
    async fn owner(&self, frame: &Frame) -> Result<u64, DriverError> {
        #[derive(Deserialize)]
        struct Answer {
            r#ref: u64,
            next: u64,
        }
        let parent = frame.parent.as_ref().ok_or(DriverError::Navigated)?;
        self.frame_number(parent).await?;
        let answer = self.driver.owner(frame, self.next.load(Ordering::Relaxed)).await?;
        let answer: Answer = serde_json::from_value(answer).map_err(|_| DriverError::Navigated)?;
        self.next.fetch_max(answer.next, Ordering::Relaxed);
        Ok(answer.r#ref)
    }

    /// 0 for the main frame; others are numbered as they are met, and keep their number.
    async fn frame_number(&self, frame: &FrameId) -> Result<usize, DriverError> {
        if self.main_frame().await? == *frame {
            return Ok(0);
        }
        let mut refs = self.refs();
        if let Some(at) = refs.frames.iter().position(|known| known == frame) {
            return Ok(at + 1);
        }
        refs.frames.push(frame.clone());
        Ok(refs.frames.len())
    }

    /// Where an element is in the page's view; none if it is gone.
    pub(crate) async fn area(&self, located: &Located) -> Result<Option<Rect>, DriverError> {
        let described = self.script(&located.frame, "describe", json!({"ref": located.number})).await?;
        let Ok(rect) = serde_json::from_value::<Rect>(described["rect"].clone()) else { return Ok(None) };
        let (x, y) = self.view_point(&located.frame, rect.x, rect.y).await?;
        Ok(Some(Rect { x, y, ..rect }))
    }

    /// Takes something back if the op does not come to its end: as soon as no dialog is in the way.
    pub(crate) fn undo<F>(&self, undo: impl FnOnce(Arc<dyn Driver>) -> F + Send + 'static) -> Undo
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let driver = self.driver.clone();
        Undo::with(async move {
            let mut changes = driver.changes();
            while driver.state().dialog.is_some()
                && driver.state().end().is_none()
                && changes.changed().await.is_ok()
            {}
            undo(driver).await;
        })
    }

    /// Asks the page once, until the deadline.
    pub(crate) async fn within<T>(
        &self,
        deadline: Instant,
        work: impl Future<Output = Result<T, DriverError>>,
    ) -> Result<T, OpError> {
        match tokio::time::timeout_at(deadline, work).await {
            Ok(result) => result.map_err(|error| self.explain(error)),
            Err(_) => Err(self.no_answer()),
        }
    }

    /// Does again what a new document interrupted.
    pub(crate) async fn settled<T, F>(
        &self,
        deadline: Instant,
        mut work: impl FnMut() -> F + Send,
    ) -> Result<T, OpError>
    where
        F: Future<Output = Result<T, DriverError>> + Send,
    {
        loop {
            match tokio::time::timeout_at(deadline, work()).await {
                Ok(Err(DriverError::Navigated)) if Instant::now() < deadline => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                Ok(result) => return result.map_err(|error| self.explain(error)),
                Err(_) => return Err(self.no_answer()),
            }
        }
    }

    /// A driver's error in the words of an op's.
    pub(crate) fn explain(&self, error: DriverError) -> OpError {
        match (&error, self.driver.state().dialog) {
            (DriverError::DialogOpen, Some(dialog)) => {
                let message = format!("a dialog is open: {} \"{}\"", dialog.kind, dialog.message);
                let hint = "answer it first: dialog, with accept true or false";
                OpError::new(Code::DialogOpen, message, hint)
            }
            _ => error.into(),
        }
    }

    pub(crate) fn no_answer(&self) -> OpError {
        let message = "the page did not answer in time";
        let hint = "its scripts may be busy: try again with a longer `timeout`, reload it, or close the tab";
        OpError::new(Code::Timeout, message, hint)
    }
}

impl From<DriverError> for OpError {
    fn from(error: DriverError) -> Self {
        let message = error.to_string();
        match error {
            DriverError::Closed => Self::new(Code::TabClosed, message, "open a new one with navigate"),
            DriverError::Crashed => Self::new(Code::Gone, message, "reload it"),
            DriverError::Navigated => {
                Self::new(Code::Gone, message, "take a new snapshot; refs of the old document are gone")
            }
            DriverError::DialogOpen => Self::new(Code::DialogOpen, message, "answer it with dialog"),
            DriverError::Threw(_) => Self::new(Code::PageThrew, message, "the script threw this in the page"),
            DriverError::Refused(text) if text.starts_with("Refused by policy") => {
                Self::new(Code::Refused, text, "ask the person whose browser it is")
            }
            DriverError::Unsupported(_) => {
                Self::new(Code::NotSupported, message, "use a Chromium-family browser for it")
            }
            DriverError::Refused(_) => {
                Self::new(Code::BrowserSaid, message, "these are the browser's own words")
            }
            DriverError::Stopped => {
                let message = "the script did not end in time, and was stopped";
                Self::new(Code::Timeout, message, "give a longer `timeout`, or let it do less at once")
            }
            DriverError::NotStopped(_) => {
                Self::new(Code::Timeout, message, "give a longer `timeout`, or close the tab if it hangs")
            }
            DriverError::Gone => Self::new(Code::Gone, message, "try again; it is started anew"),
            DriverError::TimedOut(_) => {
                Self::new(Code::Timeout, message, "try again with a longer `timeout`, or reload the page")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_is_put_together_in_the_order_that_its_tests_use() {
        let names: Vec<String> = serde_json::from_str(include_str!("page/order.json")).unwrap();
        let files = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/page");
        let parts: Vec<String> =
            names.iter().map(|name| std::fs::read_to_string(files.join(name)).unwrap()).collect();
        assert_eq!(PARTS, parts);
    }
}
