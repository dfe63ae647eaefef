//! One page over BiDi.

use std::sync::Arc;

use base64::Engine as _;
use bowline_hub::bidi::Caller;
use bytes::Bytes;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;

use super::state::State;
use super::{cookies, input};
use crate::driver::keys::Key;
use crate::driver::{
    Answer, Driver, DriverError, Emulation, Evaluated, Frame, FrameId, Going, ImageFormat, Modifiers, Mouse,
    PageState, Paper, Rect, Shot,
};

pub(super) struct Page {
    caller: Caller,
    context: String,
    pub(super) state: Arc<State>,
}

#[derive(Deserialize)]
struct DataAnswer {
    data: String,
}

/// Centimetres, which BiDi measures paper in.
const INCH: f64 = 2.54;

impl Page {
    pub(super) fn open(caller: Caller, context: &str, state: Arc<State>) -> Arc<dyn Driver> {
        Arc::new(Self { caller, context: context.to_owned(), state })
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

    async fn act(&self, actions: Value) -> Result<(), DriverError> {
        let params = json!({"context": self.context, "actions": actions});
        self.ask::<Value>("input.performActions", params).await?;
        Ok(())
    }

    async fn measures(&self) -> Result<(Rect, Rect), DriverError> {
        let source = "(() => { const v = visualViewport, d = document.documentElement; return [v.pageLeft, v.pageTop, v.width, v.height, d.scrollWidth, d.scrollHeight]; })()";
        let main = FrameId(self.context.clone());
        let value = self.evaluate_in_page(&main, source, None).await?.value.unwrap_or_default();
        let at = |index: usize| value[index].as_f64().unwrap_or_default();
        let visible = Rect { x: at(0), y: at(1), width: at(2), height: at(3) };
        Ok((visible, Rect { x: 0.0, y: 0.0, width: at(4), height: at(5) }))
    }

    async fn picture(&self, shot: &Shot) -> Result<Bytes, DriverError> {
        let kind = match shot.format {
            ImageFormat::Png => "image/png",
            ImageFormat::Jpeg => "image/jpeg",
            ImageFormat::Webp => "image/webp",
        };
        let mut format = json!({ "type": kind });
        if let Some(quality) = shot.quality.filter(|_| shot.format != ImageFormat::Png) {
            format["quality"] = json!(quality as f64 / 100.0);
        }
        if shot.scale < 1.0 {
            let message = "Firefox gives pictures in their own size only: leave max_width and max_height out";
            return Err(DriverError::Unsupported(message.to_owned()));
        }
        let Rect { x, y, width, height } = shot.clip;
        let clip = json!({"type": "box", "x": x, "y": y, "width": width, "height": height});
        let params = json!({"context": self.context, "origin": "document", "format": format, "clip": clip});
        let answer: DataAnswer = self.ask("browsingContext.captureScreenshot", params).await?;
        decoded(&answer.data)
    }

    async fn print(&self, paper: &Paper) -> Result<Bytes, DriverError> {
        let orientation = if paper.landscape { "landscape" } else { "portrait" };
        let mut params =
            json!({"context": self.context, "background": paper.background, "orientation": orientation});
        if let Some(scale) = paper.scale {
            params["scale"] = json!(scale);
        }
        if let (Some(width), Some(height)) = (paper.width, paper.height) {
            params["page"] = json!({"width": width * INCH, "height": height * INCH});
        }
        if let Some(margin) = paper.margin {
            let margin = margin * INCH;
            params["margin"] = json!({"top": margin, "bottom": margin, "left": margin, "right": margin});
        }
        if !paper.ranges.is_empty() {
            let ranges: Vec<&str> = paper.ranges.split(',').map(str::trim).collect();
            params["pageRanges"] = json!(ranges);
        }
        let answer: DataAnswer = self.ask("browsingContext.print", params).await?;
        decoded(&answer.data)
    }

    async fn pretend(&self, emulation: &Emulation) -> Result<(), DriverError> {
        let contexts = json!([self.context]);
        if let Some(viewport) = &emulation.viewport {
            let params = match viewport {
                Some(view) => {
                    json!({"context": self.context, "viewport": {"width": view.width, "height": view.height},
                    "devicePixelRatio": view.scale})
                }
                None => json!({"context": self.context, "viewport": null, "devicePixelRatio": null}),
            };
            self.ask::<Value>("browsingContext.setViewport", params).await?;
        }
        if let Some(agent) = &emulation.user_agent {
            let params = json!({"contexts": contexts, "userAgent": agent});
            self.ask::<Value>("emulation.setUserAgentOverride", params).await?;
        }
        if let Some(locale) = &emulation.locale {
            let params = json!({"contexts": contexts, "locale": locale});
            self.ask::<Value>("emulation.setLocaleOverride", params).await?;
        }
        if let Some(zone) = &emulation.timezone {
            let params = json!({"contexts": contexts, "timezone": zone});
            self.ask::<Value>("emulation.setTimezoneOverride", params).await?;
        }
        if let Some(place) = &emulation.geolocation {
            let place = place.map(|(latitude, longitude, accuracy)| {
                json!({"latitude": latitude, "longitude": longitude, "accuracy": accuracy})
            });
            let params = json!({"contexts": contexts, "coordinates": place});
            self.ask::<Value>("emulation.setGeolocationOverride", params).await?;
        }
        if let Some(line) = &emulation.network {
            let offline = match line {
                Some(line) if line.is_offline => json!({"type": "offline"}),
                Some(_) => {
                    let message = "Firefox can be offline, and not slow";
                    return Err(DriverError::Unsupported(message.to_owned()));
                }
                None => Value::Null,
            };
            let params = json!({"contexts": contexts, "networkConditions": offline});
            self.ask::<Value>("emulation.setNetworkConditions", params).await?;
        }
        if emulation.color_scheme.as_ref().is_some_and(Option::is_some) {
            return Err(DriverError::Unsupported(
                "Firefox cannot change the colour scheme of a page".to_owned(),
            ));
        }
        if emulation.cpu.is_some_and(|rate| rate > 1.0) {
            return Err(DriverError::Unsupported("Firefox cannot slow the CPU down".to_owned()));
        }
        Ok(())
    }
}

fn decoded(data: &str) -> Result<Bytes, DriverError> {
    let bytes = base64::engine::general_purpose::STANDARD.decode(data);
    bytes.map(Bytes::from).map_err(|error| DriverError::Refused(error.to_string()))
}

fn no_trace<T>() -> Result<T, DriverError> {
    Err(DriverError::Unsupported("Firefox records no trace over WebDriver BiDi".to_owned()))
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
        _: Instant,
    ) -> Answer<'a, Evaluated> {
        Box::pin(self.evaluate_in_page(frame, source, element))
    }

    fn stop_script<'a>(&'a self, _: &'a FrameId) -> Answer<'a, ()> {
        Box::pin(async {
            Err(DriverError::Unsupported("Firefox stops no script over WebDriver BiDi".to_owned()))
        })
    }

    fn navigate<'a>(&'a self, url: &'a str) -> Answer<'a, Going> {
        Box::pin(async move {
            let params = json!({"context": self.context, "url": url, "wait": "none"});
            match self.ask::<Value>("browsingContext.navigate", params).await {
                // Whether it is another document, or another place in this one, is told by what follows.
                Ok(_) => Ok(Going::Step),
                Err(DriverError::Refused(words)) => Ok(Going::Failed(words)),
                Err(error) => Err(error),
            }
        })
    }

    fn reload(&self, without_cache: bool) -> Answer<'_, Going> {
        Box::pin(async move {
            let mut params = json!({"context": self.context, "wait": "none"});
            if without_cache {
                params["ignoreCache"] = json!(true);
            }
            self.ask::<Value>("browsingContext.reload", params).await?;
            Ok(Going::Document)
        })
    }

    fn travel(&self, steps: i64) -> Answer<'_, Going> {
        Box::pin(async move {
            let params = json!({"context": self.context, "delta": steps});
            match self.ask::<Value>("browsingContext.traverseHistory", params).await {
                Ok(_) => Ok(Going::Step),
                Err(DriverError::Refused(_)) => Ok(Going::Nowhere),
                Err(error) => Err(error),
            }
        })
    }

    fn stop_loading(&self) -> Answer<'_, ()> {
        Box::pin(async move {
            let main = FrameId(self.context.clone());
            self.evaluate_in_page(&main, "window.stop()", None).await?;
            Ok(())
        })
    }

    fn mouse(&self, x: f64, y: f64, act: Mouse, held: Modifiers) -> Answer<'_, ()> {
        Box::pin(self.act(input::mouse(x, y, act, held)))
    }

    fn drag(&self, from: (f64, f64), to: (f64, f64)) -> Answer<'_, ()> {
        Box::pin(self.act(input::drag(from, to)))
    }

    fn key<'a>(&'a self, key: &'a Key, is_down: bool, _: Modifiers) -> Answer<'a, ()> {
        Box::pin(self.act(input::key(key, is_down)))
    }

    fn insert_text<'a>(&'a self, text: &'a str) -> Answer<'a, ()> {
        Box::pin(self.act(input::text(text)))
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
        Box::pin(async move {
            let main = FrameId(self.context.clone());
            Ok(self.evaluate_in_page(&main, "document.title", None).await?.text)
        })
    }

    fn start_trace<'a>(&'a self, _: &'a [String]) -> Answer<'a, ()> {
        Box::pin(async { no_trace() })
    }

    fn stop_trace(&self) -> Answer<'_, Bytes> {
        Box::pin(async { no_trace() })
    }
}
