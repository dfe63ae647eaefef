//! What some browsers cannot do, as data with a reason. Ops refuse with these words, `bowline ops` and `docs/ops.md` list
//! them, and the tests take from here what must fail.

use serde_json::{Value, json};

use crate::driver::DriverError;

/// Browsers that differ from a Chromium that the hub has launched, which can do all there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// One that the hub has launched, over WebDriver BiDi.
    Firefox,
    /// A person's own, through the extension.
    OwnFirefox,
    OwnChrome,
}

impl Engine {
    pub const ALL: [Self; 3] = [Self::Firefox, Self::OwnFirefox, Self::OwnChrome];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Firefox => "firefox",
            Self::OwnFirefox => "own-firefox",
            Self::OwnChrome => "own-chrome",
        }
    }

    /// In a sentence.
    pub fn words(self) -> &'static str {
        match self {
            Self::Firefox => "a launched Firefox",
            Self::OwnFirefox => "a person's own Firefox",
            Self::OwnChrome => "a person's own Chrome",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It is refused, with the reason.
    Refused,
    /// It is done without that.
    LeftOut,
}

impl Effect {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::LeftOut => "left out",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Difference {
    pub op: &'static str,
    /// The field of its input that it is about; none: the whole op.
    pub field: Option<&'static str>,
    pub engine: Engine,
    pub effect: Effect,
    /// What cannot be done, and why.
    pub reason: &'static str,
}

impl Difference {
    /// As doors tell it, beside the op.
    pub fn as_json(&self) -> Value {
        json!({"engine": self.engine.as_str(), "field": self.field, "effect": self.effect.as_str(), "reason": self.reason})
    }
}

const fn refused(
    op: &'static str,
    field: Option<&'static str>,
    engine: Engine,
    reason: &'static str,
) -> Difference {
    Difference { op, field, engine, effect: Effect::Refused, reason }
}

const fn left_out(
    op: &'static str,
    field: Option<&'static str>,
    engine: Engine,
    reason: &'static str,
) -> Difference {
    Difference { op, field, engine, effect: Effect::LeftOut, reason }
}

const NO_STOP: &str = "a script that is busy is not stopped at the deadline and goes on: WebDriver BiDi has no command that stops one; closing the tab ends it";

pub static DIFFERENCES: &[Difference] = &[
    left_out("evaluate", Some("timeout"), Engine::Firefox, NO_STOP),
    left_out("wait_for", Some("expression"), Engine::Firefox, NO_STOP),
    refused("trace", None, Engine::Firefox, "Firefox records no trace: WebDriver BiDi has no command for it"),
    refused(
        "emulate",
        Some("cpu"),
        Engine::Firefox,
        "Firefox cannot slow the processor down: WebDriver BiDi has no command for it",
    ),
    refused(
        "emulate",
        Some("color_scheme"),
        Engine::Firefox,
        "Firefox cannot change the colour scheme of a page: WebDriver BiDi has no command for it",
    ),
    refused(
        "emulate",
        Some("network"),
        Engine::Firefox,
        "Firefox can be offline, and not slow: emulation.setNetworkConditions knows no other condition",
    ),
    left_out(
        "emulate",
        Some("device"),
        Engine::Firefox,
        "size, scale and user agent of the device are pretended, its touch screen is not: WebDriver BiDi has no command for it",
    ),
    refused(
        "execute",
        None,
        Engine::Firefox,
        "Playwright reaches browsers that others have launched over CDP alone, and Firefox speaks WebDriver BiDi",
    ),
    refused(
        "navigate",
        Some("url"),
        Engine::Firefox,
        "pages of the browser itself (about:config and the like) cannot be gone to: Firefox allows it to no client",
    ),
    refused(
        "drag",
        Some("to"),
        Engine::Firefox,
        "what is not `draggable` cannot be dragged from one frame into another: Firefox has a mouse for each frame",
    ),
    left_out("evaluate", Some("timeout"), Engine::OwnFirefox, NO_STOP),
    left_out("wait_for", Some("expression"), Engine::OwnFirefox, NO_STOP),
    refused(
        "trace",
        None,
        Engine::OwnFirefox,
        "Firefox records no trace: WebDriver BiDi has no command for it",
    ),
    refused(
        "emulate",
        None,
        Engine::OwnFirefox,
        "an extension in Firefox can pretend nothing to a page: neither size nor place nor language",
    ),
    refused(
        "resize",
        None,
        Engine::OwnFirefox,
        "an extension in Firefox cannot change the size of a page; the window is the person's",
    ),
    refused(
        "emulate",
        Some("color_scheme"),
        Engine::OwnFirefox,
        "an extension in Firefox cannot change the colour scheme of a page",
    ),
    refused("pdf", None, Engine::OwnFirefox, "an extension in Firefox cannot print a page into data"),
    refused(
        "execute",
        None,
        Engine::OwnFirefox,
        "Playwright reaches browsers that others have launched over CDP alone, and Firefox speaks WebDriver BiDi",
    ),
    refused(
        "navigate",
        Some("url"),
        Engine::OwnFirefox,
        "pages of the browser itself (about:), file: and data: cannot be gone to: Firefox allows it to no extension",
    ),
    left_out(
        "click",
        None,
        Engine::OwnFirefox,
        "input is made of events by the extension: `isTrusted` is false and there is no user activation; focus, text, forms, choices and drags are done by hand",
    ),
    left_out(
        "dialog",
        None,
        Engine::OwnFirefox,
        "the question before a page is left (beforeunload) is Firefox's own: an extension is not told of it",
    ),
    left_out(
        "evaluate",
        Some("timeout"),
        Engine::OwnChrome,
        "a busy script that is called off runs until its deadline: chrome.debugger does not allow Runtime.terminateExecution",
    ),
    refused(
        "navigate",
        Some("url"),
        Engine::OwnChrome,
        "pages of the browser itself (chrome:) cannot be gone to: chrome.debugger may not lead a tab there",
    ),
];

/// What an op, or a field of it, cannot do.
pub fn of(op: &str) -> impl Iterator<Item = &'static Difference> {
    DIFFERENCES.iter().filter(move |row| row.op == op)
}

/// The reason that the table has for a launched Firefox.
pub(crate) fn reason(op: &str, field: Option<&str>) -> &'static str {
    let row = of(op).find(|row| row.field == field && row.engine == Engine::Firefox);
    row.map_or("Firefox cannot do this", |row| row.reason)
}

/// What a launched Firefox refuses with.
pub(crate) fn unsupported(op: &str, field: Option<&str>) -> DriverError {
    DriverError::Unsupported(reason(op, field).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    #[test]
    fn every_row_is_about_an_op_and_a_field_of_it_and_none_is_there_twice() {
        for (at, row) in DIFFERENCES.iter().enumerate() {
            let op = registry::find(row.op).unwrap_or_else(|| panic!("no op {}", row.op));
            // Every op takes a timeout.
            let is_field =
                |name: &str| name == "timeout" || (op.fields)().iter().any(|field| field.name == name);
            assert!(row.field.is_none_or(is_field), "{row:?}");
            let is_same = |other: &&Difference| {
                (other.op, other.field, other.engine) == (row.op, row.field, row.engine)
            };
            assert!(!DIFFERENCES[..at].iter().any(|other| is_same(&other)), "{row:?}");
        }
    }
}
