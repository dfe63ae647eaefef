//! One page over CDP.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use base64::Engine as _;
use bowline_hub::caller::Caller;
use bowline_wire::SessionId;
use bytes::Bytes;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::state::{FrameTree, State};
use super::world::{Details, Outcome, World, Worlds};
use crate::driver::keys::Key;
use crate::driver::{
    Answer, Button, Driver, DriverError, Emulation, Evaluated, Frame, FrameId, Going, ImageFormat, Modifiers,
    Mouse, PageState, Paper, Rect, Shot,
};
use crate::page::SCRIPT;

/// The name under which DevTools shows the page script's world.
const WORLD: &str = "bowline";
/// A picture that takes longer waits for the page to draw.
const REDRAW: Duration = Duration::from_millis(200);
/// Moves of the mouse while dragging: pages want some on the way.
const DRAG_STEPS: u32 = 8;
/// For a page to take the first commands; one that hangs takes them later.
const SETUP_PATIENCE: Duration = Duration::from_secs(2);

pub(super) struct Page {
    caller: Caller,
    session: SessionId,
    state: Arc<State>,
    worlds: Worlds,
    /// Whether the page is made to draw.
    is_lit: AtomicBool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TreeAnswer {
    frame_tree: FrameTree,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WorldAnswer {
    execution_context_id: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OwnerAnswer {
    backend_node_id: i64,
}

#[derive(Deserialize)]
struct ObjectAnswer {
    object: super::world::Remote,
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
struct DataAnswer {
    data: String,
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
            let auto_attach = json!({"autoAttach": true, "waitForDebuggerOnStart": false, "flatten": true,
                "filter": [{"type": "iframe"}, {"exclude": true}]});
            let (enabled, tree, _, _) = tokio::join!(
                page.send::<Value>(session, "Page.enable", json!({})),
                page.send::<TreeAnswer>(session, "Page.getFrameTree", json!({})),
                page.send::<Value>(session, "Target.setAutoAttach", auto_attach),
                page.send::<Value>(session, "Emulation.setFocusEmulationEnabled", json!({"enabled": true})),
            );
            enabled?;
            tree
        };
        match tokio::time::timeout(SETUP_PATIENCE, setup).await {
            Ok(tree) => {
                page.state.tree(&page.session, &tree?.frame_tree);
                // What it was doing before nobody has told; a page that loads tells when it has.
                page.state.loaded();
            }
            Err(_) => tracing::debug!("a page does not answer at once"),
        }
        Ok(Arc::new(page))
    }

    async fn send<T: DeserializeOwned>(
        &self,
        session: &SessionId,
        method: &str,
        params: Value,
    ) -> Result<T, DriverError> {
        super::read(self.caller.call(Some(session), method, &params).await)
    }

    /// The same, given up as soon as a dialog opens: the page answers nothing until that is answered.
    async fn ask<T: DeserializeOwned>(
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
                if page.is_closed {
                    return DriverError::Closed;
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

    /// A tab behind another one hardly draws, and input and pictures wait for it to draw. While somebody looks it
    /// does: so it is cast to a picture of two pixels, of which nobody takes any.
    async fn light(&self) {
        if self.is_lit.swap(true, Ordering::Relaxed) {
            return;
        }
        let cast = json!({"format": "jpeg", "quality": 1, "maxWidth": 2, "maxHeight": 2, "everyNthFrame": 1});
        // One that cannot be cast is worked with all the same.
        let _: Result<Value, _> = self.ask(&self.session, "Page.startScreencast", cast).await;
    }

    /// A page on which nothing changes draws nothing: the colour behind it changes and changes back.
    async fn redraw(&self) {
        for color in [json!({"color": {"r": 255, "g": 255, "b": 254, "a": 1}}), json!({})] {
            let set = self.send::<Value>(&self.session, "Emulation.setDefaultBackgroundColorOverride", color);
            let _ = tokio::time::timeout(REDRAW, set).await;
        }
    }

    async fn input(&self, method: &str, params: Value) -> Result<(), DriverError> {
        self.light().await;
        match self.ask::<Value>(&self.session, method, params).await {
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn drag_over(&self, from: (f64, f64), to: (f64, f64)) -> Result<(), DriverError> {
        let (button, held) = (Button::Left, Modifiers::default());
        self.state.take_dragged();
        self.mouse(from.0, from.1, Mouse::Move, held).await?;
        self.mouse(from.0, from.1, Mouse::Down { button, clicks: 1 }, held).await?;
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
        self.mouse(to.0, to.1, Mouse::Up { button, clicks: 1 }, held).await
    }

    async fn pressed_move(&self, x: f64, y: f64) -> Result<(), DriverError> {
        let params = json!({"type": "mouseMoved", "x": x, "y": y, "button": "left", "buttons": 1});
        self.input("Input.dispatchMouseEvent", params).await
    }

    fn session_of(&self, frame: &FrameId) -> Result<SessionId, DriverError> {
        self.state.session_of(frame).ok_or(DriverError::Navigated)
    }

    async fn world(&self, frame: &FrameId) -> Result<World, DriverError> {
        let session = self.session_of(frame)?;
        if let Some(world) = self.worlds.get(frame, &session) {
            return Ok(world);
        }
        let params = json!({"frameId": frame, "worldName": WORLD, "grantUniveralAccess": true});
        let made: WorldAnswer = self.ask(&session, "Page.createIsolatedWorld", params).await?;
        let context = made.execution_context_id;
        let params = json!({"expression": &*SCRIPT, "contextId": context});
        let made: Outcome = self.ask(&session, "Runtime.evaluate", params).await?;
        if let Some(details) = made.exception_details {
            return Err(DriverError::Threw(details.words()));
        }
        let script = made.result.object_id.ok_or(DriverError::Navigated)?;
        let world = World { session, context, script };
        self.worlds.put(frame, world.clone());
        Ok(world)
    }

    /// Calls a function with the page script as `this`.
    async fn call_in(
        &self,
        world: &World,
        function: &str,
        args: Value,
        by_value: bool,
    ) -> Result<Outcome, DriverError> {
        let params = json!({
            "functionDeclaration": function, "objectId": world.script, "arguments": args,
            "returnByValue": by_value, "awaitPromise": true, "userGesture": true,
        });
        let outcome: Outcome = self.ask(&world.session, "Runtime.callFunctionOn", params).await?;
        match outcome.exception_details {
            Some(details) => Err(DriverError::Threw(details.words())),
            None => Ok(outcome),
        }
    }

    /// An element that the page script knows, as an object of its world.
    async fn element(&self, frame: &FrameId, element: u64) -> Result<(World, String), DriverError> {
        let world = self.world(frame).await?;
        let found = self
            .call_in(&world, "function (ref) { return this.node(ref); }", json!([{"value": element}]), false)
            .await?;
        let object = found.result.object_id.ok_or(DriverError::Navigated)?;
        Ok((world, object))
    }

    async fn forgetting<T>(
        &self,
        frame: &FrameId,
        work: impl Future<Output = Result<T, DriverError>>,
    ) -> Result<T, DriverError> {
        let before = self.session_of(frame).ok().and_then(|session| self.worlds.get(frame, &session));
        let result = work.await;
        if let (Err(DriverError::Navigated), Some(gone)) = (&result, before) {
            self.worlds.forget(frame, &gone);
        }
        result
    }

    async fn evaluate_in_page(
        &self,
        frame: &FrameId,
        source: &str,
        element: Option<u64>,
    ) -> Result<Evaluated, DriverError> {
        let session = self.session_of(frame)?;
        let is_main = self.state.main().as_ref() == Some(frame);
        let outcome: Outcome = match (element, is_main) {
            (None, true) => {
                let mut params = json!({"expression": source, "awaitPromise": true, "returnByValue": true,
                    "userGesture": true, "allowUnsafeEvalBlockedByCSP": true});
                let outcome: Outcome = self.ask(&session, "Runtime.evaluate", params.clone()).await?;
                if outcome.exception_details.as_ref().is_some_and(Details::is_not_run) {
                    let details = outcome.exception_details.map(Details::words).unwrap_or_default();
                    if details.contains("Illegal return statement") {
                        params["expression"] = json!(format!("(async () => {{ {source}\n}})()"));
                    } else {
                        // As a console takes it: top-level await, and names that are declared again.
                        params["replMode"] = json!(true);
                    }
                    self.ask(&session, "Runtime.evaluate", params).await?
                } else {
                    outcome
                }
            }
            (None, false) => {
                let global = self.page_object(frame, &session).await?;
                let function = format!("async function () {{ return ({source}\n); }}");
                let params = json!({"functionDeclaration": function, "objectId": global, "awaitPromise": true,
                    "returnByValue": true, "userGesture": true});
                self.ask(&session, "Runtime.callFunctionOn", params).await?
            }
            (Some(element), _) => {
                let (world, object) = self.element(frame, element).await?;
                let object = self.in_pages_world(&world, &object).await?;
                let function = format!("async function () {{ const f = ({source}\n); return f(this); }}");
                let params = json!({"functionDeclaration": function, "objectId": object, "awaitPromise": true,
                    "returnByValue": true, "userGesture": true});
                self.ask(&session, "Runtime.callFunctionOn", params).await?
            }
        };
        if let Some(details) = outcome.exception_details {
            return Err(DriverError::Threw(details.words()));
        }
        let remote = outcome.result;
        let value = match (&remote.kind[..], remote.value) {
            ("undefined", _) => None,
            (_, value) => value,
        };
        let text = match (&value, remote.unserializable_value) {
            (Some(Value::String(text)), _) => text.clone(),
            (Some(value), _) => serde_json::to_string_pretty(value).unwrap_or_default(),
            (None, Some(text)) => text,
            (None, None) => remote.description.unwrap_or(remote.kind),
        };
        Ok(Evaluated { value, text })
    }

    /// The `document` of a frame in the page's own world.
    async fn page_object(&self, frame: &FrameId, session: &SessionId) -> Result<String, DriverError> {
        let world = self.world(frame).await?;
        let document = self.call_in(&world, "function () { return document; }", json!([]), false).await?;
        let document = document.result.object_id.ok_or(DriverError::Navigated)?;
        let _ = session;
        self.in_pages_world(&world, &document).await
    }

    /// The same node, as the page's own scripts see it.
    async fn in_pages_world(&self, world: &World, object: &str) -> Result<String, DriverError> {
        #[derive(Deserialize)]
        struct Described {
            node: OwnerAnswer,
        }
        let described: Described =
            self.ask(&world.session, "DOM.describeNode", json!({"objectId": object})).await?;
        let params = json!({"backendNodeId": described.node.backend_node_id});
        let resolved: ObjectAnswer = self.ask(&world.session, "DOM.resolveNode", params).await?;
        resolved.object.object_id.ok_or(DriverError::Navigated)
    }

    /// Frames of other sites tell of their own frames only when asked.
    async fn prepare_children(&self) -> Result<(), DriverError> {
        loop {
            let unprepared = self.state.take_unprepared();
            if unprepared.is_empty() {
                return Ok(());
            }
            for session in unprepared {
                let auto_attach = json!({"autoAttach": true, "waitForDebuggerOnStart": false, "flatten": true,
                    "filter": [{"type": "iframe"}, {"exclude": true}]});
                let (_, tree, _) = tokio::join!(
                    self.ask::<Value>(&session, "Page.enable", json!({})),
                    self.ask::<TreeAnswer>(&session, "Page.getFrameTree", json!({})),
                    self.ask::<Value>(&session, "Target.setAutoAttach", auto_attach),
                );
                match tree {
                    Ok(tree) => self.state.tree(&session, &tree.frame_tree),
                    // It went away in the meantime.
                    Err(DriverError::Closed | DriverError::Navigated | DriverError::Refused(_)) => {}
                    Err(error) => return Err(error),
                }
            }
        }
    }

    async fn known_frames(&self) -> Result<Vec<Frame>, DriverError> {
        if self.state.main().is_none() {
            // It did not answer when it was opened.
            let tree: TreeAnswer = self.ask(&self.session, "Page.getFrameTree", json!({})).await?;
            self.state.tree(&self.session, &tree.frame_tree);
            self.state.loaded();
        }
        self.prepare_children().await?;
        Ok(self.state.frames())
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
        Box::pin(self.known_frames())
    }

    fn script<'a>(&'a self, frame: &'a FrameId, name: &'a str, input: Value) -> Answer<'a, Value> {
        Box::pin(self.forgetting(frame, async move {
            let world = self.world(frame).await?;
            let call = "function (name, input) { return this[name](input); }";
            let outcome =
                self.call_in(&world, call, json!([{"value": name}, {"value": input}]), true).await?;
            Ok(outcome.result.value.unwrap_or(Value::Null))
        }))
    }

    fn owner<'a>(&'a self, frame: &'a Frame, next: u64) -> Answer<'a, Value> {
        Box::pin(async move {
            let parent = frame.parent.as_ref().ok_or(DriverError::Navigated)?;
            let world = self.world(parent).await?;
            let found: OwnerAnswer =
                self.ask(&world.session, "DOM.getFrameOwner", json!({"frameId": frame.id})).await?;
            let params = json!({"backendNodeId": found.backend_node_id, "executionContextId": world.context});
            let resolved: ObjectAnswer = self.ask(&world.session, "DOM.resolveNode", params).await?;
            let args = json!([{"objectId": resolved.object.object_id}, {"value": next}]);
            let call = "function (element, next) { return this.refOf(element, next); }";
            let outcome = self.call_in(&world, call, args, true).await?;
            Ok(outcome.result.value.unwrap_or(Value::Null))
        })
    }

    fn evaluate<'a>(
        &'a self,
        frame: &'a FrameId,
        source: &'a str,
        element: Option<u64>,
    ) -> Answer<'a, Evaluated> {
        Box::pin(self.forgetting(frame, self.evaluate_in_page(frame, source, element)))
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

    fn mouse(&self, x: f64, y: f64, act: Mouse, held: Modifiers) -> Answer<'_, ()> {
        let modifiers = bits(held);
        let params = match act {
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
        };
        Box::pin(self.input("Input.dispatchMouseEvent", params))
    }

    fn drag(&self, from: (f64, f64), to: (f64, f64)) -> Answer<'_, ()> {
        Box::pin(async move {
            // The browser would drag with the mouse of the machine; so it tells what is dragged instead.
            self.input("Input.setInterceptDrags", json!({"enabled": true})).await?;
            let moved = self.drag_over(from, to).await;
            self.input("Input.setInterceptDrags", json!({"enabled": false})).await?;
            moved
        })
    }

    fn key<'a>(&'a self, key: &'a Key, is_down: bool, held: Modifiers) -> Answer<'a, ()> {
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
            let commands = match key.code.as_str() {
                "KeyA" => Some("selectAll"),
                "KeyC" => Some("copy"),
                "KeyV" => Some("paste"),
                "KeyX" => Some("cut"),
                "KeyZ" => Some("undo"),
                _ => None,
            };
            if let Some(command) = commands {
                params["commands"] = json!([command]);
            }
        }
        Box::pin(self.input("Input.dispatchKeyEvent", params))
    }

    fn insert_text<'a>(&'a self, text: &'a str) -> Answer<'a, ()> {
        Box::pin(self.input("Input.insertText", json!({"text": text})))
    }

    fn layout(&self) -> Answer<'_, (Rect, Rect)> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Metrics {
            css_visual_viewport: Visual,
            css_content_size: Rect,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Visual {
            page_x: f64,
            page_y: f64,
            client_width: f64,
            client_height: f64,
        }
        Box::pin(async move {
            let metrics: Metrics = self.ask(&self.session, "Page.getLayoutMetrics", json!({})).await?;
            let seen = metrics.css_visual_viewport;
            let visible =
                Rect { x: seen.page_x, y: seen.page_y, width: seen.client_width, height: seen.client_height };
            Ok((visible, metrics.css_content_size))
        })
    }

    fn screenshot<'a>(&'a self, shot: &'a Shot) -> Answer<'a, Bytes> {
        Box::pin(async move {
            let format = match shot.format {
                ImageFormat::Png => "png",
                ImageFormat::Jpeg => "jpeg",
                ImageFormat::Webp => "webp",
            };
            let Rect { x, y, width, height } = shot.clip;
            let clip = json!({"x": x, "y": y, "width": width, "height": height, "scale": shot.scale});
            let mut params =
                json!({"format": format, "captureBeyondViewport": shot.is_beyond_view, "clip": clip});
            if let Some(quality) = shot.quality.filter(|_| shot.format != ImageFormat::Png) {
                params["quality"] = json!(quality);
            }
            self.light().await;
            let answer: DataAnswer = {
                let taken = self.ask(&self.session, "Page.captureScreenshot", params);
                tokio::pin!(taken);
                loop {
                    match tokio::time::timeout(REDRAW, &mut taken).await {
                        Ok(answer) => break answer?,
                        Err(_) => self.redraw().await,
                    }
                }
            };
            decoded(&answer.data)
        })
    }

    fn pdf<'a>(&'a self, paper: &'a Paper) -> Answer<'a, Bytes> {
        Box::pin(async move {
            let mut params = json!({"landscape": paper.landscape, "printBackground": paper.background,
                "pageRanges": paper.ranges, "generateTaggedPDF": true});
            let mut set = |name: &str, value: Option<f64>| {
                if let Some(value) = value {
                    params[name] = json!(value);
                }
            };
            set("scale", paper.scale);
            set("paperWidth", paper.width);
            set("paperHeight", paper.height);
            for side in ["marginTop", "marginBottom", "marginLeft", "marginRight"] {
                set(side, paper.margin);
            }
            let answer: DataAnswer = self.ask(&self.session, "Page.printToPDF", params).await?;
            decoded(&answer.data)
        })
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
                changes.changed().await.map_err(|_| DriverError::Gone)?;
            }
            Ok(())
        })
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
            for (method, params) in emulation_commands(emulation) {
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
            let _: Value = self.ask(&self.session, "Tracing.start", params).await?;
            Ok(())
        })
    }

    fn stop_trace(&self) -> Answer<'_, Bytes> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Part {
            data: String,
            #[serde(default)]
            eof: bool,
            #[serde(default)]
            base64_encoded: bool,
        }
        Box::pin(async move {
            let _: Value = self.ask(&self.session, "Tracing.end", json!({})).await?;
            let stream = self.state.trace_stream().await.ok_or(DriverError::Gone)?;
            let mut trace = Vec::new();
            loop {
                let part: Part = self.ask(&self.session, "IO.read", json!({"handle": stream})).await?;
                match part.base64_encoded {
                    true => trace.extend_from_slice(&decoded(&part.data)?),
                    false => trace.extend_from_slice(part.data.as_bytes()),
                }
                if part.eof {
                    break;
                }
            }
            let _: Value = self.ask(&self.session, "IO.close", json!({"handle": stream})).await?;
            Ok(Bytes::from(trace))
        })
    }
}

fn decoded(data: &str) -> Result<Bytes, DriverError> {
    let bytes = base64::engine::general_purpose::STANDARD.decode(data);
    bytes.map(Bytes::from).map_err(|error| DriverError::Refused(error.to_string()))
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

/// The commands that make a page believe something, or undo it.
fn emulation_commands(emulation: &Emulation) -> Vec<(&'static str, Value)> {
    let mut commands = Vec::new();
    match emulation.viewport {
        None => {}
        Some(None) => {
            commands.push(("Emulation.clearDeviceMetricsOverride", json!({})));
            commands.push(("Emulation.setTouchEmulationEnabled", json!({"enabled": false})));
        }
        Some(Some(view)) => {
            commands.push((
                "Emulation.setDeviceMetricsOverride",
                json!({"width": view.width, "height": view.height, "deviceScaleFactor": view.scale,
                    "mobile": view.is_mobile}),
            ));
            commands.push((
                "Emulation.setTouchEmulationEnabled",
                json!({"enabled": view.has_touch, "maxTouchPoints": if view.has_touch { 5 } else { 1 }}),
            ));
        }
    }
    if let Some(agent) = &emulation.user_agent {
        let agent = agent.clone().unwrap_or_default();
        commands.push(("Emulation.setUserAgentOverride", json!({ "userAgent": agent })));
    }
    if let Some(locale) = &emulation.locale {
        let params = locale.as_ref().map_or(json!({}), |locale| json!({ "locale": locale }));
        commands.push(("Emulation.setLocaleOverride", params));
    }
    if let Some(zone) = &emulation.timezone {
        let zone = zone.clone().unwrap_or_default();
        commands.push(("Emulation.setTimezoneOverride", json!({ "timezoneId": zone })));
    }
    match emulation.geolocation {
        None => {}
        Some(None) => commands.push(("Emulation.clearGeolocationOverride", json!({}))),
        Some(Some((latitude, longitude, accuracy))) => commands.push((
            "Emulation.setGeolocationOverride",
            json!({"latitude": latitude, "longitude": longitude, "accuracy": accuracy}),
        )),
    }
    if let Some(scheme) = &emulation.color_scheme {
        let scheme = scheme.clone().unwrap_or_default();
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        commands.push(("Emulation.setEmulatedMedia", json!({ "features": features })));
    }
    if let Some(line) = emulation.network {
        let params = match line {
            Some(line) => json!({"offline": line.is_offline, "latency": line.latency,
                "downloadThroughput": line.down, "uploadThroughput": line.up}),
            None => json!({"offline": false, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}),
        };
        commands.push(("Network.enable", json!({"maxTotalBufferSize": 0, "maxResourceBufferSize": 0})));
        commands.push(("Network.emulateNetworkConditions", params));
    }
    if let Some(rate) = emulation.cpu {
        commands.push(("Emulation.setCPUThrottlingRate", json!({ "rate": rate })));
    }
    commands
}
