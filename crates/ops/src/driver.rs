//! How ops reach a page: what every protocol of browsers can do, and nothing of how.
//!
//! Elements are meant by a frame and a number, whose element the page script in that frame holds.

pub(crate) mod bidi;
pub(crate) mod cdp;
mod connection;
pub(crate) mod keys;
mod opened;
mod tree;

use std::time::Duration;

use bowline_wire::TargetId;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;

pub(crate) use crate::page::Page;
pub(crate) use connection::Connection;

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct FrameId(pub(crate) String);

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Frame {
    pub(crate) id: FrameId,
    pub(crate) parent: Option<FrameId>,
    pub(crate) url: String,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TabInfo {
    pub(crate) target: TargetId,
    pub(crate) url: String,
    pub(crate) title: String,
    pub(crate) opener: Option<TargetId>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dialog {
    /// `alert`, `confirm`, `prompt` or `beforeunload`.
    pub(crate) kind: String,
    pub(crate) message: String,
    pub(crate) default_prompt: String,
}

/// What is known of a page without asking it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct PageState {
    pub(crate) url: String,
    /// Counts documents of the main frame.
    pub(crate) documents: u64,
    /// Counts changes of the address within a document.
    pub(crate) hops: u64,
    /// The document that the browser has begun to fetch, and which is not there yet.
    pub(crate) is_leaving: bool,
    pub(crate) is_dom_ready: bool,
    pub(crate) is_loaded: bool,
    pub(crate) dialog: Option<Dialog>,
    /// Counts dialogs.
    pub(crate) dialogs: u64,
    /// Names of files that the page has begun to download.
    pub(crate) downloads: Vec<String>,
    /// Counts documents that did not come, where the browser tells, and why the last one did not.
    pub(crate) failures: u64,
    pub(crate) failure: String,
    pub(crate) has_crashed: bool,
    pub(crate) is_closed: bool,
    /// Its browser is gone, or the connection to it.
    pub(crate) is_gone: bool,
}

impl PageState {
    /// Why nothing more will happen on the page, if so.
    pub(crate) fn end(&self) -> Option<DriverError> {
        match (self.is_closed, self.is_gone) {
            (true, _) => Some(DriverError::Closed),
            (false, true) => Some(DriverError::Gone),
            (false, false) => None,
        }
    }
}

#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum DriverError {
    #[error("the tab was closed")]
    Closed,
    #[error("the page has crashed")]
    Crashed,
    /// The document is another one now.
    #[error("the page has gone to another document")]
    Navigated,
    #[error("a dialog is open")]
    DialogOpen,
    /// The script's exception, with its stack.
    #[error("{0}")]
    Threw(String),
    /// The browser's own words.
    #[error("{0}")]
    Refused(String),
    /// What this browser cannot do at all.
    #[error("{0}")]
    Unsupported(String),
    #[error("the browser is gone")]
    Gone,
    /// The script did not end in time, and was ended.
    #[error("the script was stopped")]
    Stopped,
    /// The script did not end in time, and why it was not ended.
    #[error("the script did not end in time: {0}")]
    NotStopped(&'static str),
    #[error("the page did not answer within {} ms", .0.as_millis())]
    TimedOut(Duration),
}

pub(crate) type Answer<'a, T> = BoxFuture<'a, Result<T, DriverError>>;

/// How a navigation began.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Going {
    /// A new document is on its way.
    Document,
    /// The document stays (another `#part`).
    Within,
    /// A step in the history: a new document, or another place in this one.
    Step,
    Download,
    Failed(String),
    /// There is no such page in the history.
    Nowhere,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Button {
    Left,
    Right,
    Middle,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Mouse {
    Move,
    Down { button: Button, clicks: u32 },
    Up { button: Button, clicks: u32 },
    Wheel { dx: f64, dy: f64 },
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Modifiers {
    pub(crate) alt: bool,
    pub(crate) control: bool,
    pub(crate) meta: bool,
    pub(crate) shift: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ImageFormat {
    Png,
    Jpeg,
    Webp,
}

/// A part of the document, in CSS pixels from its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, Serialize)]
pub(crate) struct Rect {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shot {
    pub(crate) format: ImageFormat,
    pub(crate) quality: Option<u64>,
    pub(crate) clip: Rect,
    /// Whether more than the view is wanted.
    pub(crate) is_beyond_view: bool,
    pub(crate) scale: f64,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Paper {
    pub(crate) landscape: bool,
    pub(crate) background: bool,
    pub(crate) scale: Option<f64>,
    /// In inches.
    pub(crate) width: Option<f64>,
    pub(crate) height: Option<f64>,
    pub(crate) margin: Option<f64>,
    pub(crate) ranges: String,
}

/// What a script gave.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Evaluated {
    /// For what JSON can hold.
    pub(crate) value: Option<Value>,
    pub(crate) text: String,
}

/// What a page is made to believe; absent members stay as they are, `Null` ones are undone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Emulation {
    pub(crate) viewport: Option<Option<Viewport>>,
    pub(crate) user_agent: Option<Option<String>>,
    pub(crate) locale: Option<Option<String>>,
    pub(crate) timezone: Option<Option<String>>,
    pub(crate) geolocation: Option<Option<(f64, f64, f64)>>,
    pub(crate) color_scheme: Option<Option<String>>,
    pub(crate) network: Option<Option<Line>>,
    pub(crate) cpu: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Viewport {
    pub(crate) width: u64,
    pub(crate) height: u64,
    pub(crate) scale: f64,
    pub(crate) is_mobile: bool,
    pub(crate) has_touch: bool,
}

/// A slow connection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Line {
    pub(crate) is_offline: bool,
    /// Milliseconds.
    pub(crate) latency: f64,
    /// Bytes in a second; negative means as fast as it goes.
    pub(crate) down: f64,
    pub(crate) up: f64,
}

/// A point where the mouse goes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Spot {
    /// In the page's view.
    pub(crate) view: (f64, f64),
    /// The frame that it is in, if not the page itself.
    pub(crate) frame: Option<FrameId>,
    /// In that frame's view.
    pub(crate) inner: (f64, f64),
}

impl Spot {
    /// A point of the page itself.
    pub(crate) fn in_view(x: f64, y: f64) -> Self {
        Self { view: (x, y), frame: None, inner: (x, y) }
    }

    /// Where the same frame begins.
    pub(crate) fn corner(&self) -> Self {
        Self { view: (0.0, 0.0), frame: self.frame.clone(), inner: (0.0, 0.0) }
    }
}

/// One page.
pub(crate) trait Driver: Send + Sync {
    fn state(&self) -> PageState;
    /// Changes with the state.
    fn changes(&self) -> watch::Receiver<u64>;
    /// The main one first, parents before children.
    fn frames(&self) -> Answer<'_, Vec<Frame>>;
    /// Calls a function of the page script in a frame.
    fn script<'a>(&'a self, frame: &'a FrameId, name: &'a str, input: Value) -> Answer<'a, Value>;
    /// The number of a frame's own element in its parent.
    fn owner<'a>(&'a self, frame: &'a Frame, next: u64) -> Answer<'a, Value>;
    /// Runs a function in the page's own world, with an element if one is meant. One that is still busy at the
    /// deadline is stopped, where the browser can do that.
    fn evaluate<'a>(
        &'a self,
        frame: &'a FrameId,
        source: &'a str,
        element: Option<u64>,
        deadline: Instant,
    ) -> Answer<'a, Evaluated>;
    /// Stops the script that keeps a frame busy, if one does.
    fn stop_script<'a>(&'a self, frame: &'a FrameId) -> Answer<'a, ()>;
    fn navigate<'a>(&'a self, url: &'a str) -> Answer<'a, Going>;
    fn reload(&self, without_cache: bool) -> Answer<'_, Going>;
    fn travel(&self, steps: i64) -> Answer<'_, Going>;
    fn stop_loading(&self) -> Answer<'_, ()>;
    /// Whether the mouse goes to a frame, and not to the page's view: a point must then be told with its frame.
    fn aims_at_frames(&self) -> bool;
    fn mouse<'a>(&'a self, at: &'a Spot, act: Mouse, held: Modifiers) -> Answer<'a, ()>;
    /// Presses the button at one point and lets go of it at the other; what is draggable is dropped there.
    fn drag<'a>(&'a self, from: &'a Spot, to: &'a Spot) -> Answer<'a, ()>;
    /// Keys go to what has the focus, in whichever frame.
    fn key<'a>(&'a self, key: &'a keys::Key, is_down: bool, held: Modifiers) -> Answer<'a, ()>;
    fn insert_text<'a>(&'a self, text: &'a str) -> Answer<'a, ()>;
    /// The visible part of the document, and its size.
    fn layout(&self) -> Answer<'_, (Rect, Rect)>;
    fn screenshot<'a>(&'a self, shot: &'a Shot) -> Answer<'a, Bytes>;
    fn pdf<'a>(&'a self, paper: &'a Paper) -> Answer<'a, Bytes>;
    fn answer_dialog<'a>(&'a self, accept: bool, text: Option<&'a str>) -> Answer<'a, ()>;
    /// A dialog was answered elsewhere, of which this page may not be told.
    fn dialog_is_over(&self);
    fn set_files<'a>(&'a self, frame: &'a FrameId, element: u64, files: &'a [String]) -> Answer<'a, ()>;
    /// Those of the page, or of these addresses.
    fn cookies<'a>(&'a self, urls: Option<&'a [String]>) -> Answer<'a, Vec<Value>>;
    fn set_cookies<'a>(&'a self, cookies: &'a [Value]) -> Answer<'a, ()>;
    fn delete_cookie<'a>(&'a self, filter: &'a Value) -> Answer<'a, ()>;
    fn emulate<'a>(&'a self, emulation: &'a Emulation) -> Answer<'a, ()>;
    fn title(&self) -> Answer<'_, String>;
    fn start_trace<'a>(&'a self, categories: &'a [String]) -> Answer<'a, ()>;
    fn stop_trace(&self) -> Answer<'_, Bytes>;
}

/// A browser.
pub(crate) trait BrowserDriver: Send + Sync {
    fn has_ended(&self) -> bool;
    fn tabs(&self) -> Answer<'_, Vec<TabInfo>>;
    fn create<'a>(&'a self, url: &'a str) -> Answer<'a, TargetId>;
    fn close<'a>(&'a self, target: &'a TargetId) -> Answer<'a, ()>;
    /// Whether somebody else works with a tab, too.
    fn shares(&self, target: &TargetId) -> bool;
    /// How many tabs pages have opened so far.
    fn opened_count(&self) -> usize;
    /// Those since there were so many, as far as they are remembered.
    fn opened_since(&self, count: usize) -> Vec<TabInfo>;
    /// One whose dialog was open before anybody listened is told so.
    fn page<'a>(
        &'a self,
        target: &'a TargetId,
        missed: Option<Dialog>,
    ) -> Answer<'a, std::sync::Arc<dyn Driver>>;
    /// Shows a tab to the person.
    fn activate<'a>(&'a self, _target: &'a TargetId) -> Answer<'a, ()> {
        Box::pin(async {
            Err(DriverError::Refused("this browser cannot bring a tab to the front".to_owned()))
        })
    }
    /// The window that a tab is in, for browsers that tell.
    fn window<'a>(&'a self, _target: &'a TargetId) -> Answer<'a, Option<i64>> {
        Box::pin(async { Ok(None) })
    }
}
