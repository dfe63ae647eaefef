//! One page over CDP.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use bowline_hub::caller::Caller;
use bowline_wire::SessionId;
use bytes::Bytes;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;

use super::emulation;
use super::input::key_event;
use super::state::{FrameTree, State};
use super::world::{Outcome, Worlds};
use crate::driver::keys::Key;
use crate::driver::{
    Answer, Driver, DriverError, Emulation, Evaluated, Frame, FrameId, Going, Modifiers, Mouse, PageState,
    Paper, Rect, Shot, Spot,
};

/// For a page to take the first commands; one that hangs takes them later.
const SETUP_PATIENCE: Duration = Duration::from_secs(2);
/// For a frame of another site to tell of its frames. One that is slower appears when it has told.
const CHILD_PATIENCE: Duration = Duration::from_millis(500);
/// After so long it is asked again, the next time somebody looks.
const CHILD_LIMIT: Duration = Duration::from_secs(15);

pub(super) struct Page {
    pub(super) caller: Caller,
    pub(super) session: SessionId,
    pub(super) state: Arc<State>,
    pub(super) worlds: Worlds,
    /// Whether the page is made to draw.
    pub(super) is_lit: AtomicBool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TreeAnswer {
    frame_tree: FrameTree,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NavigateAnswer {
    loader_id: Option<String>,
    error_text: Option<String>,
    #[serde(default)]
    is_download: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HistoryAnswer {
    current_index: i64,
    entries: Vec<HistoryEntry>,
}

#[derive(Deserialize)]
struct HistoryEntry {
    id: i64,
}

#[derive(Deserialize)]
struct CookiesAnswer {
    cookies: Vec<Value>,
}

impl Page {
    pub(super) async fn open(
        caller: Caller,
        session: SessionId,
        state: Arc<State>,
    ) -> Result<Arc<dyn Driver>, DriverError> {
        let page = Self { caller, session, state, worlds: Worlds::default(), is_lit: AtomicBool::new(false) };
        // Asked all at once: a page that hangs answers none of them, and is to be worked with all the same.
        let session = &page.session;
        let setup = async {
            let (enabled, tree, _, _) = tokio::join!(
                page.send::<Value>(session, "Page.enable", json!({})),
                page.send::<TreeAnswer>(session, "Page.getFrameTree", json!({})),
                page.send::<Value>(session, "Target.setAutoAttach", auto_attach()),
                page.send::<Value>(session, "Emulation.setFocusEmulationEnabled", json!({"enabled": true})),
            );
            enabled?;
            tree
        };
        // One that shows a dialog answers when that is answered.
        let patience = if page.state.has_dialog() { Duration::ZERO } else { SETUP_PATIENCE };
        match tokio::time::timeout(patience, setup).await {
            Ok(tree) => {
                page.state.tree(&page.session, &tree?.frame_tree);
                // What it was doing before nobody has told; a page that loads tells when it has.
                page.state.loaded();
            }
            Err(_) => tracing::debug!("a page does not answer at once"),
        }
        Ok(Arc::new(page))
    }

    pub(super) async fn send<T: DeserializeOwned>(
        &self,
        session: &SessionId,
        method: &str,
        params: Value,
    ) -> Result<T, DriverError> {
        let answer = super::read(self.caller.call(Some(session), method, &params).await);
        match answer {
            // A frame of another site has gone, and the page is still there.
            Err(DriverError::Closed | DriverError::Crashed) if *session != self.session => {
                Err(DriverError::Navigated)
            }
            answer => answer,
        }
    }

    /// The same, given up as soon as a dialog opens: the page answers nothing until that is answered.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        session: &SessionId,
        method: &str,
        params: Value,
    ) -> Result<T, DriverError> {
        let before = self.state.dialog_count();
        if self.state.has_dialog() {
            return Err(DriverError::DialogOpen);
        }
        let mut changes = self.state.changes();
        // A page that has crashed can still be reloaded.
        let had_crashed = self.state.page().has_crashed;
        let opened = async {
            loop {
                if self.state.dialog_count() != before && self.state.has_dialog() {
                    return DriverError::DialogOpen;
                }
                let page = self.state.page();
                if let Some(error) = page.end() {
                    return error;
                }
                if page.has_crashed && !had_crashed {
                    return DriverError::Crashed;
                }
                if changes.changed().await.is_err() {
                    return DriverError::Gone;
                }
            }
        };
        tokio::select! {
            biased;
            answer = self.send(session, method, params) => answer,
            error = opened => Err(error),
        }
    }

    /// Frames of other sites tell of their own frames only when asked. All are asked at once, and one that hangs is
    /// not waited for: it goes on in the background.
    async fn prepare_children(&self) {
        for session in self.state.take_unprepared() {
            tokio::spawn(prepare(self.caller.clone(), self.state.clone(), session));
        }
        let mut changes = self.state.changes();
        let prepared = async { while self.state.is_preparing() && changes.changed().await.is_ok() {} };
        if self.state.is_preparing() && tokio::time::timeout(CHILD_PATIENCE, prepared).await.is_err() {
            self.state.stop_waiting();
        }
    }

    async fn known_frames(&self) -> Result<Vec<Frame>, DriverError> {
        if self.state.main().is_none() {
            // It did not answer when it was opened.
            let tree: TreeAnswer = self.ask(&self.session, "Page.getFrameTree", json!({})).await?;
            self.state.tree(&self.session, &tree.frame_tree);
            self.state.loaded();
        }
        self.prepare_children().await;
        Ok(self.state.frames())
    }
}

/// Not for ever: it keeps the connection.
async fn prepare(caller: Caller, state: Arc<State>, session: SessionId) {
    let nothing = json!({});
    let auto_attach = auto_attach();
    let asked = async {
        tokio::join!(
            caller.call(Some(&session), "Page.enable", &nothing),
            caller.call(Some(&session), "Page.getFrameTree", &nothing),
            caller.call(Some(&session), "Target.setAutoAttach", &auto_attach),
        )
    };
    match tokio::time::timeout(CHILD_LIMIT, asked).await {
        Ok((_, tree, _)) => {
            // One that failed went away in the meantime.
            let tree: Option<TreeAnswer> = super::read(tree).ok();
            state.prepared(&session, tree.as_ref().map(|tree| &tree.frame_tree));
        }
        Err(_) => state.not_prepared(session),
    }
}

fn auto_attach() -> Value {
    json!({"autoAttach": true, "waitForDebuggerOnStart": false, "flatten": true,
        "filter": [{"type": "iframe"}, {"exclude": true}]})
}

impl Driver for Page {
    fn state(&self) -> PageState {
        self.state.page()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.state.changes()
    }

    fn frames(&self) -> Answer<'_, Vec<Frame>> {
        Box::pin(self.known_frames())
    }

    fn script<'a>(&'a self, frame: &'a FrameId, name: &'a str, input: Value) -> Answer<'a, Value> {
        Box::pin(self.forgetting(frame, self.script_in(frame, name, input)))
    }

    fn owner<'a>(&'a self, frame: &'a Frame, next: u64) -> Answer<'a, Value> {
        Box::pin(self.owner_of(frame, next))
    }

    fn evaluate<'a>(
        &'a self,
        frame: &'a FrameId,
        source: &'a str,
        element: Option<u64>,
        deadline: Instant,
    ) -> Answer<'a, Evaluated> {
        Box::pin(self.forgetting(frame, self.evaluate_in_page(frame, source, element, deadline)))
    }

    fn stop_script<'a>(&'a self, frame: &'a FrameId) -> Answer<'a, ()> {
        Box::pin(self.interrupt(frame))
    }

    fn navigate<'a>(&'a self, url: &'a str) -> Answer<'a, Going> {
        Box::pin(async move {
            let answer: NavigateAnswer =
                self.ask(&self.session, "Page.navigate", json!({"url": url})).await?;
            Ok(match answer {
                NavigateAnswer { is_download: true, .. } => Going::Download,
                NavigateAnswer { error_text: Some(error), .. } if !error.is_empty() => Going::Failed(error),
                NavigateAnswer { loader_id: Some(_), .. } => Going::Document,
                _ => Going::Within,
            })
        })
    }

    fn reload(&self, without_cache: bool) -> Answer<'_, Going> {
        Box::pin(async move {
            let _: Value =
                self.ask(&self.session, "Page.reload", json!({"ignoreCache": without_cache})).await?;
            Ok(Going::Document)
        })
    }

    fn travel(&self, steps: i64) -> Answer<'_, Going> {
        Box::pin(async move {
            let history: HistoryAnswer =
                self.ask(&self.session, "Page.getNavigationHistory", json!({})).await?;
            let index = usize::try_from(history.current_index + steps).ok();
            let Some(entry) = index.and_then(|index| history.entries.get(index)) else {
                return Ok(Going::Nowhere);
            };
            let params = json!({"entryId": entry.id});
            let _: Value = self.ask(&self.session, "Page.navigateToHistoryEntry", params).await?;
            Ok(Going::Step)
        })
    }

    fn stop_loading(&self) -> Answer<'_, ()> {
        Box::pin(async move {
            let _: Value = self.ask(&self.session, "Page.stopLoading", json!({})).await?;
            Ok(())
        })
    }

    fn aims_at_frames(&self) -> bool {
        false
    }

    fn mouse<'a>(&'a self, at: &'a Spot, act: Mouse, held: Modifiers) -> Answer<'a, ()> {
        Box::pin(self.mouse_at(at.view.0, at.view.1, act, held))
    }

    fn drag<'a>(&'a self, from: &'a Spot, to: &'a Spot) -> Answer<'a, ()> {
        Box::pin(self.drag_and_drop(from.view, to.view))
    }

    fn key<'a>(&'a self, key: &'a Key, is_down: bool, held: Modifiers) -> Answer<'a, ()> {
        Box::pin(self.input("Input.dispatchKeyEvent", key_event(key, is_down, held)))
    }

    fn insert_text<'a>(&'a self, text: &'a str) -> Answer<'a, ()> {
        Box::pin(self.input("Input.insertText", json!({"text": text})))
    }

    fn layout(&self) -> Answer<'_, (Rect, Rect)> {
        Box::pin(self.measures())
    }

    fn screenshot<'a>(&'a self, shot: &'a Shot) -> Answer<'a, Bytes> {
        Box::pin(self.picture(shot))
    }

    fn pdf<'a>(&'a self, paper: &'a Paper) -> Answer<'a, Bytes> {
        Box::pin(self.print(paper))
    }

    fn answer_dialog<'a>(&'a self, accept: bool, text: Option<&'a str>) -> Answer<'a, ()> {
        Box::pin(async move {
            let mut params = json!({"accept": accept});
            if let Some(text) = text {
                params["promptText"] = json!(text);
            }
            let before = self.state.dialog_count();
            let mut changes = self.state.changes();
            let _: Value = self.send(&self.session, "Page.handleJavaScriptDialog", params).await?;
            // It is over when the browser has said so; the next one may be open by then.
            while self.state.has_dialog() && self.state.dialog_count() == before {
                if let Some(error) = self.state.page().end() {
                    return Err(error);
                }
                changes.changed().await.map_err(|_| DriverError::Gone)?;
            }
            Ok(())
        })
    }

    fn dialog_is_over(&self) {
        self.state.dialog_answered();
    }

    fn set_files<'a>(&'a self, frame: &'a FrameId, element: u64, files: &'a [String]) -> Answer<'a, ()> {
        Box::pin(async move {
            let (world, object) = self.element(frame, element).await?;
            let params = json!({"files": files, "objectId": object});
            let _: Value = self.ask(&world.session, "DOM.setFileInputFiles", params).await?;
            Ok(())
        })
    }

    fn cookies<'a>(&'a self, urls: Option<&'a [String]>) -> Answer<'a, Vec<Value>> {
        Box::pin(async move {
            let params = match urls {
                Some(urls) => json!({ "urls": urls }),
                None => json!({}),
            };
            let answer: CookiesAnswer = self.ask(&self.session, "Network.getCookies", params).await?;
            Ok(answer.cookies)
        })
    }

    fn set_cookies<'a>(&'a self, cookies: &'a [Value]) -> Answer<'a, ()> {
        Box::pin(async move {
            let _: Value =
                self.ask(&self.session, "Network.setCookies", json!({ "cookies": cookies })).await?;
            Ok(())
        })
    }

    fn delete_cookie<'a>(&'a self, filter: &'a Value) -> Answer<'a, ()> {
        Box::pin(async move {
            let _: Value = self.ask(&self.session, "Network.deleteCookies", filter.clone()).await?;
            Ok(())
        })
    }

    fn emulate<'a>(&'a self, emulation: &'a Emulation) -> Answer<'a, ()> {
        Box::pin(async move {
            for (method, params) in emulation::commands(emulation) {
                let _: Value = self.ask(&self.session, method, params).await?;
            }
            Ok(())
        })
    }

    fn title(&self) -> Answer<'_, String> {
        Box::pin(async move {
            let params = json!({"expression": "document.title", "returnByValue": true});
            let outcome: Outcome = self.ask(&self.session, "Runtime.evaluate", params).await?;
            Ok(outcome.result.value.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned())
        })
    }

    fn start_trace<'a>(&'a self, categories: &'a [String]) -> Answer<'a, ()> {
        Box::pin(async move {
            let config = json!({"includedCategories": categories, "recordMode": "recordUntilFull"});
            let params = json!({"transferMode": "ReturnAsStream", "traceConfig": config});
            // One that nobody has taken is not the next one.
            self.state.forget_trace();
            let _: Value = self.ask(&self.session, "Tracing.start", params).await?;
            Ok(())
        })
    }

    fn stop_trace(&self) -> Answer<'_, Bytes> {
        Box::pin(self.finished_trace())
    }
}
