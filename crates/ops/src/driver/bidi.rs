//! A browser that speaks WebDriver BiDi: its tabs, and who hears which event.

mod cookies;
mod drag;
mod emulation;
mod input;
mod keyboard;
mod page;
mod picture;
mod script;
mod state;
mod value;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bowline_hub::bidi::{BidiError, Caller, Session};
use bowline_wire::TargetId;
use bowline_wire::bidi::{ContextInfo, Tree};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio_util::task::TaskTracker;

use super::opened::Opened;
use super::{Answer, BrowserDriver, Dialog, Driver, DriverError, TabInfo};
use state::State;

/// For commands that ask the browser alone.
const BROWSER_PATIENCE: Duration = Duration::from_secs(15);
/// For a page to tell its title; one that hangs has none.
const TITLE_PATIENCE: Duration = Duration::from_millis(500);

pub(crate) struct Browser {
    caller: Caller,
    hall: Arc<Hall>,
}

/// What events are about.
#[derive(Default)]
struct Hall(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    /// Pages that are worked with, by their tabs.
    pages: HashMap<String, Arc<State>>,
    /// All contexts, as far as they are known.
    contexts: HashMap<String, ContextInfo>,
    opened: Opened,
    /// Windows as they were met: one's number is its place here.
    windows: Vec<String>,
}

impl Browser {
    pub(crate) async fn open(session: &Session, name: &str) -> Result<Arc<dyn BrowserDriver>, DriverError> {
        let hall = Arc::new(Hall::default());
        let listener = {
            let hall = hall.clone();
            Box::new(move |method: &str, params: &RawValue| hall.event(method, params))
        };
        let caller = Caller::begin(session, name, &TaskTracker::new(), listener).await.map_err(failed)?;
        let (ended, pages) = (caller.ended(), hall.clone());
        tokio::spawn(async move {
            ended.cancelled().await;
            pages.end();
        });
        let browser = Self { caller, hall };
        browser.ask::<Value>("session.subscribe", json!({"events": ["browsingContext"]})).await?;
        Ok(Arc::new(browser))
    }

    async fn ask<T: DeserializeOwned>(&self, method: &str, params: Value) -> Result<T, DriverError> {
        match tokio::time::timeout(BROWSER_PATIENCE, self.caller.call(method, &params)).await {
            Ok(answer) => read(answer),
            Err(_) => Err(DriverError::TimedOut(BROWSER_PATIENCE)),
        }
    }

    async fn title(&self, context: &str) -> String {
        let params =
            json!({"expression": "document.title", "target": {"context": context}, "awaitPromise": false});
        let asked = self.caller.call("script.evaluate", &params);
        let Ok(Ok(answer)) = tokio::time::timeout(TITLE_PATIENCE, asked).await else { return String::new() };
        let answer: Value = serde_json::from_str(answer.get()).unwrap_or_default();
        answer["result"]["value"].as_str().unwrap_or_default().to_owned()
    }
}

/// The answer to a command, as a type.
fn read<T: DeserializeOwned>(answer: Result<Box<RawValue>, BidiError>) -> Result<T, DriverError> {
    let answer = answer.map_err(failed)?;
    serde_json::from_str(answer.get()).map_err(|error| DriverError::Refused(error.to_string()))
}

/// What the browser's words mean.
fn failed(error: BidiError) -> DriverError {
    match error {
        BidiError::Closed => DriverError::Gone,
        BidiError::TimedOut { after, .. } => DriverError::TimedOut(after),
        BidiError::Refused(refusal) if refusal.thrown().is_some() => {
            DriverError::Threw(refusal.thrown().unwrap_or_default().to_owned())
        }
        BidiError::Refused(refusal) => match &*refusal.error {
            "no such frame" | "no such node" | "no such handle" | "stale element reference" => {
                DriverError::Navigated
            }
            // Firefox's own stumbling over a window that goes away just now.
            "unknown error"
                if refusal.message.starts_with("TypeError") && refusal.message.contains("null") =>
            {
                DriverError::Navigated
            }
            "no such alert" => DriverError::Refused("no dialog is open".to_owned()),
            "unknown command" | "unsupported operation" => {
                DriverError::Unsupported(format!("Firefox cannot do this: {}", refusal.message))
            }
            _ => DriverError::Refused(refusal.message),
        },
        BidiError::Unreadable { source, .. } => DriverError::Refused(source.to_string()),
    }
}

impl BrowserDriver for Browser {
    fn has_ended(&self) -> bool {
        self.caller.has_ended()
    }

    fn tabs(&self) -> Answer<'_, Vec<TabInfo>> {
        Box::pin(async {
            let tree: Tree = self.ask("browsingContext.getTree", json!({"maxDepth": 0})).await?;
            let titles = tree.contexts.iter().map(|info| self.title(&info.context));
            let titles = futures_util::future::join_all(titles).await;
            let tabs = tree.contexts.iter().zip(titles).map(|(info, title)| tab_info(info, title));
            Ok(tabs.collect())
        })
    }

    fn create<'a>(&'a self, url: &'a str) -> Answer<'a, TargetId> {
        Box::pin(async move {
            let made: ContextInfo =
                self.ask("browsingContext.create", json!({"type": "tab", "background": true})).await?;
            if url != "about:blank" {
                let params = json!({"context": made.context, "url": url, "wait": "none"});
                self.ask::<Value>("browsingContext.navigate", params).await?;
            }
            Ok(TargetId::new(made.context))
        })
    }

    fn close<'a>(&'a self, target: &'a TargetId) -> Answer<'a, ()> {
        Box::pin(async move {
            match self.ask::<Value>("browsingContext.close", json!({"context": target})).await {
                Ok(_) => Ok(()),
                Err(DriverError::Navigated) => Err(DriverError::Closed),
                Err(error) => Err(error),
            }
        })
    }

    fn shares(&self, _: &TargetId) -> bool {
        // Who looks at a tab is not known in BiDi; a blank one may be somebody's.
        true
    }

    fn activate<'a>(&'a self, target: &'a TargetId) -> Answer<'a, ()> {
        Box::pin(async move {
            self.ask::<Value>("browsingContext.activate", json!({"context": target})).await?;
            Ok(())
        })
    }

    fn window<'a>(&'a self, target: &'a TargetId) -> Answer<'a, Option<i64>> {
        Box::pin(async move {
            let tree: Tree =
                self.ask("browsingContext.getTree", json!({"root": target, "maxDepth": 0})).await?;
            let window = tree.contexts.into_iter().next().and_then(|info| info.client_window);
            Ok(window.map(|window| self.hall.inner().number_of(window)))
        })
    }

    fn opened_count(&self) -> usize {
        self.hall.inner().opened.count()
    }

    fn opened_since(&self, count: usize) -> Vec<TabInfo> {
        self.hall.inner().opened.since(count)
    }

    fn page<'a>(&'a self, target: &'a TargetId, missed: Option<Dialog>) -> Answer<'a, Arc<dyn Driver>> {
        Box::pin(async move {
            let root = target.as_str();
            // Events that come with the answer are for it already.
            let state = Arc::new(State::new(root));
            self.hall.inner().pages.insert(root.to_owned(), state.clone());
            let tree: Tree = match self.ask("browsingContext.getTree", json!({"root": root})).await {
                Ok(tree) => tree,
                Err(error) => {
                    self.hall.inner().pages.remove(root);
                    let is_gone = matches!(error, DriverError::Navigated);
                    return Err(if is_gone { DriverError::Closed } else { error });
                }
            };
            if let Some(tab) = tree.contexts.first() {
                state.plant(tab);
            }
            if let Some(dialog) = missed.filter(|_| state.page().dialogs == 0) {
                state.dialog_opened(dialog);
            }
            Ok(page::Page::open(self.caller.clone(), root, state))
        })
    }
}

fn tab_info(info: &ContextInfo, title: String) -> TabInfo {
    let opener = info.original_opener.as_deref().map(TargetId::new);
    TabInfo { target: TargetId::new(info.context.as_str()), url: info.url.clone(), title, opener }
}

impl Hall {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection is over: whoever waits for a page is told.
    fn end(&self) {
        for (_, page) in self.inner().pages.drain() {
            page.ended();
        }
    }

    fn event(&self, method: &str, params: &RawValue) {
        let Ok(info) = serde_json::from_str::<ContextInfo>(params.get()) else { return };
        let mut inner = self.inner();
        if method == "browsingContext.contextCreated" {
            let known = inner.contexts.insert(info.context.clone(), info.clone());
            if known.is_none() && info.parent.is_none() && info.original_opener.is_some() {
                inner.opened.push(tab_info(&info, String::new()));
            }
        }
        let top = inner.top(&info.context);
        let page = inner.pages.get(&top).cloned();
        if method == "browsingContext.contextDestroyed" {
            inner.forget(&info.context);
            inner.pages.remove(&info.context);
        }
        drop(inner);
        if let Some(page) = page {
            page.event(method, &info, params);
        }
    }
}

impl Inner {
    fn number_of(&mut self, window: String) -> i64 {
        let at = self.windows.iter().position(|known| *known == window).unwrap_or_else(|| {
            self.windows.push(window);
            self.windows.len() - 1
        });
        at as i64 + 1
    }

    /// A context has gone, and with it what is below, of which Firefox tells nothing.
    fn forget(&mut self, context: &str) {
        let is_below = |info: &&ContextInfo| info.parent.as_deref() == Some(context);
        let below: Vec<String> =
            self.contexts.values().filter(is_below).map(|info| info.context.clone()).collect();
        for child in below {
            self.forget(&child);
        }
        self.contexts.remove(context);
    }

    /// The tab that a context is in.
    fn top(&self, context: &str) -> String {
        let mut at = context;
        for _ in 0..self.contexts.len() {
            match self.contexts.get(at).and_then(|info| info.parent.as_deref()) {
                Some(parent) => at = parent,
                None => break,
            }
        }
        at.to_owned()
    }
}
