//! One page over BiDi.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bowline_hub::bidi::Caller;
use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;

use super::state::State;
use super::{cookies, input};
use crate::differences;
use crate::driver::keys::Key;
use crate::driver::{
    Answer, Driver, DriverError, Emulation, Evaluated, Frame, FrameId, Going, Modifiers, Mouse, PageState,
    Paper, Rect, Shot, Spot,
};
use crate::undo::Undo;

#[derive(Clone)]
pub(super) struct Page {
    caller: Caller,
    pub(super) context: String,
    pub(super) state: Arc<State>,
    /// Keys that are down, and in which frame each is.
    held: Arc<Mutex<HashMap<String, FrameId>>>,
}

impl Page {
    pub(super) fn open(caller: Caller, context: &str, state: Arc<State>) -> Arc<dyn Driver> {
        Arc::new(Self { caller, context: context.to_owned(), state, held: Arc::default() })
    }

    async fn send<T: DeserializeOwned>(&self, method: &str, params: Value) -> Result<T, DriverError> {
        super::read(self.caller.call(method, &params).await)
    }

    /// The same, given up as soon as a dialog opens: the page answers nothing until that is answered.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        method: &str,
        params: Value,
    ) -> Result<T, DriverError> {
        let before = self.state.page();
        if before.dialog.is_some() {
            return Err(DriverError::DialogOpen);
        }
        let mut changes = self.state.changes();
        let opened = async {
            loop {
                let page = self.state.page();
                if page.dialogs != before.dialogs && page.dialog.is_some() {
                    return DriverError::DialogOpen;
                }
                if let Some(error) = page.end() {
                    return error;
                }
                if changes.changed().await.is_err() {
                    return DriverError::Gone;
                }
            }
        };
        tokio::select! {
            biased;
            answer = self.send(method, params) => answer,
            error = opened => Err(error),
        }
    }

    pub(super) fn main(&self) -> FrameId {
        FrameId(self.context.clone())
    }

    pub(super) fn frame_of(&self, spot: &Spot) -> FrameId {
        spot.frame.clone().unwrap_or_else(|| self.main())
    }

    pub(super) fn held(&self) -> MutexGuard<'_, HashMap<String, FrameId>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Firefox gives what is sent to a frame to no frame of another process below it. So it is sent to the frame itself.
    pub(super) async fn act_in(&self, frame: &FrameId, actions: Value) -> Result<(), DriverError> {
        let params = json!({"context": frame, "actions": actions});
        self.ask::<Value>("input.performActions", params).await?;
        Ok(())
    }

    /// Firefox has no reload that fetches all anew; but it can do without its cache for a while.
    async fn reload_anew(&self) -> Result<(), DriverError> {
        let cache = |behaviour: &str| json!({"cacheBehavior": behaviour, "contexts": [self.context]});
        self.ask::<Value>("network.setCacheBehavior", cache("bypass")).await?;
        let (page, usual) = (self.clone(), cache("default"));
        let before = self.state.page();
        let _undo = Undo::with(async move {
            let mut changes = page.state.changes();
            loop {
                let state = page.state.page();
                let is_done = state.documents != before.documents && state.is_loaded;
                let has_failed = state.failures != before.failures;
                if is_done || has_failed || state.end().is_some() || changes.changed().await.is_err() {
                    break;
                }
            }
            let _: Result<Value, _> = page.send("network.setCacheBehavior", usual).await;
        });
        self.ask::<Value>("browsingContext.reload", json!({"context": self.context, "wait": "none"})).await?;
        Ok(())
    }
}

impl Driver for Page {
    fn state(&self) -> PageState {
        self.state.page()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.state.changes()
    }

    fn frames(&self) -> Answer<'_, Vec<Frame>> {
        Box::pin(async { Ok(self.state.frames()) })
    }

    fn script<'a>(&'a self, frame: &'a FrameId, name: &'a str, input: Value) -> Answer<'a, Value> {
        Box::pin(self.script_in(frame, name, input))
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
        Box::pin(async move {
            let evaluated = self.evaluate_in_page(frame, source, element);
            let late = || DriverError::NotStopped(differences::reason("evaluate", Some("timeout")));
            tokio::time::timeout_at(deadline, evaluated).await.unwrap_or_else(|_| Err(late()))
        })
    }

    fn stop_script<'a>(&'a self, _: &'a FrameId) -> Answer<'a, ()> {
        Box::pin(async { Err(differences::unsupported("evaluate", Some("timeout"))) })
    }

    fn navigate<'a>(&'a self, url: &'a str) -> Answer<'a, Going> {
        Box::pin(async move {
            let params = json!({"context": self.context, "url": url, "wait": "none"});
            self.state.given_up();
            match self.ask::<Value>("browsingContext.navigate", params).await {
                // Whether it is another document, or another place in this one, is told by what follows.
                Ok(_) => Ok(Going::Step),
                Err(DriverError::Refused(words)) => {
                    Ok(Going::Failed(words.trim_start_matches("Error: ").to_owned()))
                }
                Err(DriverError::Unsupported(_)) => Err(differences::unsupported("navigate", Some("url"))),
                Err(error) => Err(error),
            }
        })
    }

    fn reload(&self, without_cache: bool) -> Answer<'_, Going> {
        Box::pin(async move {
            self.state.given_up();
            if without_cache {
                self.reload_anew().await?;
            } else {
                let params = json!({"context": self.context, "wait": "none"});
                self.ask::<Value>("browsingContext.reload", params).await?;
            }
            Ok(Going::Document)
        })
    }

    fn travel(&self, steps: i64) -> Answer<'_, Going> {
        Box::pin(async move {
            let params = json!({"context": self.context, "delta": steps});
            self.state.given_up();
            match self.ask::<Value>("browsingContext.traverseHistory", params).await {
                Ok(_) => Ok(Going::Step),
                Err(DriverError::Refused(_)) => Ok(Going::Nowhere),
                Err(error) => Err(error),
            }
        })
    }

    fn stop_loading(&self) -> Answer<'_, ()> {
        Box::pin(async move {
            self.evaluate_in_page(&self.main(), "window.stop()", None).await?;
            self.state.given_up();
            Ok(())
        })
    }

    fn aims_at_frames(&self) -> bool {
        true
    }

    fn mouse<'a>(&'a self, at: &'a Spot, act: Mouse, held: Modifiers) -> Answer<'a, ()> {
        Box::pin(async move {
            match self.act_in(&self.frame_of(at), input::mouse(at.inner, act, held)).await {
                // The frame has gone when its button was pressed, and its mouse with it.
                Err(DriverError::Navigated) if matches!(act, Mouse::Up { .. }) => Ok(()),
                acted => acted,
            }
        })
    }

    fn drag<'a>(&'a self, from: &'a Spot, to: &'a Spot) -> Answer<'a, ()> {
        Box::pin(self.drag_and_drop(from, to))
    }

    fn key<'a>(&'a self, key: &'a Key, is_down: bool, _: Modifiers) -> Answer<'a, ()> {
        Box::pin(self.stroke(key, is_down))
    }

    fn insert_text<'a>(&'a self, text: &'a str) -> Answer<'a, ()> {
        Box::pin(self.insert(text))
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
            let mut params = json!({"context": self.context, "accept": accept});
            if let Some(text) = text {
                params["userText"] = json!(text);
            }
            let before = self.state.page().dialogs;
            let mut changes = self.state.changes();
            self.send::<Value>("browsingContext.handleUserPrompt", params).await?;
            // It is over when the browser has said so; the next one may be open by then.
            loop {
                let page = self.state.page();
                if page.dialog.is_none() || page.dialogs != before {
                    return Ok(());
                }
                if let Some(error) = page.end() {
                    return Err(error);
                }
                changes.changed().await.map_err(|_| DriverError::Gone)?;
            }
        })
    }

    fn dialog_is_over(&self) {
        self.state.dialog_over();
    }

    fn set_files<'a>(&'a self, frame: &'a FrameId, element: u64, files: &'a [String]) -> Answer<'a, ()> {
        Box::pin(async move {
            let element = self.element(frame, element).await?;
            let params = json!({"context": frame, "element": element, "files": files});
            self.ask::<Value>("input.setFiles", params).await?;
            Ok(())
        })
    }

    fn cookies<'a>(&'a self, urls: Option<&'a [String]>) -> Answer<'a, Vec<Value>> {
        Box::pin(async move {
            let partition = json!({"type": "context", "context": self.context});
            let found: Value = self.ask("storage.getCookies", json!({ "partition": partition })).await?;
            let here = self.state.page().url;
            let urls: Vec<&str> =
                urls.map_or(vec![here.as_str()], |urls| urls.iter().map(String::as_str).collect());
            Ok(cookies::of(&found, &urls))
        })
    }

    fn set_cookies<'a>(&'a self, cookies: &'a [Value]) -> Answer<'a, ()> {
        Box::pin(async move {
            let here = self.state.page().url;
            for cookie in cookies {
                let partition = json!({"type": "context", "context": self.context});
                let params = json!({"cookie": cookies::to_set(cookie, &here), "partition": partition});
                self.ask::<Value>("storage.setCookie", params).await?;
            }
            Ok(())
        })
    }

    fn delete_cookie<'a>(&'a self, filter: &'a Value) -> Answer<'a, ()> {
        Box::pin(async move {
            let partition = json!({"type": "context", "context": self.context});
            let filter = cookies::filter(filter);
            self.ask::<Value>("storage.deleteCookies", json!({"filter": filter, "partition": partition}))
                .await?;
            Ok(())
        })
    }

    fn emulate<'a>(&'a self, emulation: &'a Emulation) -> Answer<'a, ()> {
        Box::pin(self.pretend(emulation))
    }

    fn title(&self) -> Answer<'_, String> {
        Box::pin(self.title_after_all())
    }

    fn start_trace<'a>(&'a self, _: &'a [String]) -> Answer<'a, ()> {
        Box::pin(async { Err(differences::unsupported("trace", None)) })
    }

    fn stop_trace(&self) -> Answer<'_, Bytes> {
        Box::pin(async { Err(differences::unsupported("trace", None)) })
    }
}
