//! Pictures of a page over BiDi, on the screen and on paper.

use base64::Engine as _;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;

use super::page::Page;
use super::script::SANDBOX;
use crate::driver::{DriverError, ImageFormat, Paper, Rect, Shot};

#[derive(Deserialize)]
struct DataAnswer {
    data: String,
}

/// Centimetres, which BiDi measures paper in.
const INCH: f64 = 2.54;
const SCALE: &str = include_str!("scale.js");

impl Page {
    /// The visible part of the document, and its size.
    pub(super) async fn measures(&self) -> Result<(Rect, Rect), DriverError> {
        let source = "(() => { const v = visualViewport, d = document.documentElement; return [v.pageLeft, v.pageTop, v.width, v.height, d.scrollWidth, d.scrollHeight]; })()";
        let value = self.evaluate_in_page(&self.main(), source, None).await?.value.unwrap_or_default();
        let at = |index: usize| value[index].as_f64().unwrap_or_default();
        let visible = Rect { x: at(0), y: at(1), width: at(2), height: at(3) };
        Ok((visible, Rect { x: 0.0, y: 0.0, width: at(4), height: at(5) }))
    }

    pub(super) async fn picture(&self, shot: &Shot) -> Result<Bytes, DriverError> {
        let kind = match shot.format {
            ImageFormat::Png => "image/png",
            ImageFormat::Jpeg => "image/jpeg",
            ImageFormat::Webp => "image/webp",
        };
        let quality = shot.quality.filter(|_| shot.format != ImageFormat::Png);
        let quality = quality.map(|quality| quality as f64 / 100.0);
        let is_scaled = shot.scale < 1.0;
        // One that is made smaller loses only once.
        let mut format = json!({"type": if is_scaled { "image/png" } else { kind }});
        if let Some(quality) = quality.filter(|_| !is_scaled) {
            format["quality"] = json!(quality);
        }
        let Rect { x, y, width, height } = shot.clip;
        let clip = json!({"type": "box", "x": x, "y": y, "width": width, "height": height});
        let params = json!({"context": self.context, "origin": "document", "format": format, "clip": clip});
        let DataAnswer { data } = self.ask("browsingContext.captureScreenshot", params).await?;
        if is_scaled {
            return decoded(&self.scaled(&data, kind, shot.scale, quality).await?);
        }
        decoded(&data)
    }

    async fn scaled(
        &self,
        data: &str,
        kind: &str,
        factor: f64,
        quality: Option<f64>,
    ) -> Result<String, DriverError> {
        let quality =
            quality.map_or(json!({"type": "undefined"}), |value| json!({"type": "number", "value": value}));
        let arguments = json!([{"type": "string", "value": data}, {"type": "string", "value": kind},
            {"type": "number", "value": factor}, quality]);
        let target = json!({"context": self.context, "sandbox": SANDBOX});
        // The comment before it is not part of the function.
        let function = SCALE.split_once('\n').map_or(SCALE, |(_, function)| function);
        let params = json!({"functionDeclaration": function, "arguments": arguments, "target": target,
            "awaitPromise": true});
        let scaled = self.outcome("script.callFunction", params).await?;
        scaled["value"].as_str().map(str::to_owned).ok_or(DriverError::Navigated)
    }

    pub(super) async fn print(&self, paper: &Paper) -> Result<Bytes, DriverError> {
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
        let DataAnswer { data } = self.ask("browsingContext.print", params).await?;
        decoded(&data)
    }
}

fn decoded(data: &str) -> Result<Bytes, DriverError> {
    let bytes = base64::engine::general_purpose::STANDARD.decode(data);
    bytes.map(Bytes::from).map_err(|error| DriverError::Refused(error.to_string()))
}
