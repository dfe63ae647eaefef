//! The relay protocol between hub and extension, once both have proved themselves
//! (docs/protocols/extension.md). What a page says travels as the text it arrived in.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::origins::Origins;

/// A tab as the browser numbers it. Numbers are not kept over a restart of the browser.
pub type TabId = i64;

/// One message of the extension: an answer if it has an id, else an event.
#[derive(Debug, Deserialize)]
pub struct Message<'a> {
    pub id: Option<u64>,
    #[serde(borrow)]
    pub method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub params: Option<&'a RawValue>,
    #[serde(borrow)]
    pub result: Option<&'a RawValue>,
    #[serde(borrow)]
    pub error: Option<&'a RawValue>,
}

/// The messages of one frame: an object, or an array of them.
pub fn read_frame(text: &str) -> Result<Vec<Message<'_>>, serde_json::Error> {
    if text.trim_ascii_start().starts_with('[') {
        serde_json::from_str(text)
    } else {
        serde_json::from_str(text).map(|message| vec![message])
    }
}

/// `cdpEvent`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CdpEvent<'a> {
    pub tab_id: TabId,
    #[serde(borrow)]
    pub child_session_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub method: Cow<'a, str>,
    #[serde(borrow)]
    pub params: Option<&'a RawValue>,
}

/// `bidiEvent`.
#[derive(Debug, Deserialize)]
pub struct BidiEvent<'a> {
    #[serde(borrow)]
    pub method: Cow<'a, str>,
    #[serde(borrow)]
    pub params: &'a RawValue,
}

#[derive(Debug, Clone, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct Tab {
    pub tab_id: TabId,
    pub target_id: String,
    pub url: String,
    pub title: String,
    pub window_id: i64,
    pub index: i64,
    pub active: bool,
    pub status: String,
    pub discarded: bool,
    pub frozen: bool,
    pub incognito: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opener_tab_id: Option<TabId>,
    pub attached: bool,
    pub chosen: bool,
}

/// `tabCreated`.
#[derive(Debug, Deserialize)]
pub struct TabCreated {
    #[serde(flatten)]
    pub tab: Tab,
    pub opener: Option<Opener>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Opener {
    pub tab_id: TabId,
    /// Where the new tab is going.
    #[serde(default)]
    pub url: String,
}

/// `tabUpdated`: what is absent has not changed.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TabUpdated {
    pub tab_id: TabId,
    pub target_id: Option<String>,
    pub url: Option<String>,
    pub title: Option<String>,
    pub status: Option<String>,
    pub window_id: Option<i64>,
    pub index: Option<i64>,
    pub active: Option<bool>,
    pub discarded: Option<bool>,
    pub frozen: Option<bool>,
    pub chosen: Option<bool>,
}

/// `tabRemoved`, and the beginning of others.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TabRef {
    pub tab_id: TabId,
}

/// `tabReplaced`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TabReplaced {
    pub tab_id: TabId,
    pub replaced: TabId,
    #[serde(default)]
    pub target_id: String,
}

/// `tabDetached`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TabDetached {
    pub tab_id: TabId,
    #[serde(default)]
    pub reason: String,
}

/// `state`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct State {
    pub policy: Policy,
    pub tabs: Vec<Tab>,
    pub dropped: u64,
    /// Of an extension that speaks BiDi.
    pub session: Session,
}

/// Whether the BiDi session of before, with its subscriptions, is still there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Session {
    #[default]
    Fresh,
    Kept,
}

/// What the person lets agents do.
#[derive(Debug, Clone, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct Policy {
    pub mode: Mode,
    pub read_only: bool,
    pub no_new_tabs: bool,
    pub allow: Vec<String>,
    pub deny: Vec<String>,
    pub allow_cookies: bool,
    pub allow_files: bool,
    pub paused: bool,
    /// What the hub's configuration says beside the person. Never told by the extension.
    #[serde(skip)]
    pub sites: Origins,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Every tab that can be driven.
    #[default]
    Auto,
    /// The tabs that the person attached.
    Manual,
}

/// The result of `createTab`.
#[derive(Debug, Deserialize)]
pub struct CreatedTab {
    pub tab: Tab,
}

/// The result of `attachTab`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attached {
    #[serde(default)]
    pub target_id: String,
    /// The debugger was there already.
    #[serde(default)]
    pub adopted: bool,
}

/// The result of `getWindow`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Window {
    pub window_id: i64,
    #[serde(default)]
    pub left: i64,
    #[serde(default)]
    pub top: i64,
    #[serde(default)]
    pub width: i64,
    #[serde(default)]
    pub height: i64,
    #[serde(default)]
    pub state: String,
}

/// The result of `findDownload`; empty while the browser has none.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Download {
    pub id: Option<i64>,
    pub path: String,
    pub state: String,
    pub bytes: f64,
    pub total: f64,
}
