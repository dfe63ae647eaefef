//! Pictures of a page over CDP, on the screen and on paper, and traces of its work.

use std::time::Duration;

use base64::Engine as _;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};

use super::page::Page;
use crate::driver::{DriverError, ImageFormat, Paper, Rect, Shot};

/// A picture that takes longer waits for the page to draw.
const REDRAW: Duration = Duration::from_millis(200);

#[derive(Deserialize)]
struct DataAnswer {
    data: String,
}

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

/// Some of a stream.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    data: String,
    #[serde(default)]
    eof: bool,
    #[serde(default)]
    base64_encoded: bool,
}

impl Page {
    /// The visible part of the document, and its size.
    pub(super) async fn measures(&self) -> Result<(Rect, Rect), DriverError> {
        let metrics: Metrics = self.ask(&self.session, "Page.getLayoutMetrics", json!({})).await?;
        let seen = metrics.css_visual_viewport;
        let visible =
            Rect { x: seen.page_x, y: seen.page_y, width: seen.client_width, height: seen.client_height };
        Ok((visible, metrics.css_content_size))
    }

    pub(super) async fn picture(&self, shot: &Shot) -> Result<Bytes, DriverError> {
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
        let taken = self.ask::<DataAnswer>(&self.session, "Page.captureScreenshot", params);
        tokio::pin!(taken);
        loop {
            match tokio::time::timeout(REDRAW, &mut taken).await {
                Ok(answer) => return decoded(&answer?.data),
                Err(_) => self.redraw().await,
            }
        }
    }

    /// A page on which nothing changes draws nothing: the colour behind it changes and changes back.
    async fn redraw(&self) {
        for color in [json!({"color": {"r": 255, "g": 255, "b": 254, "a": 1}}), json!({})] {
            let set = self.send::<Value>(&self.session, "Emulation.setDefaultBackgroundColorOverride", color);
            let _ = tokio::time::timeout(REDRAW, set).await;
        }
    }

    pub(super) async fn print(&self, paper: &Paper) -> Result<Bytes, DriverError> {
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
    }

    pub(super) async fn finished_trace(&self) -> Result<Bytes, DriverError> {
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
    }
}

fn decoded(data: &str) -> Result<Bytes, DriverError> {
    let bytes = base64::engine::general_purpose::STANDARD.decode(data);
    bytes.map(Bytes::from).map_err(|error| DriverError::Refused(error.to_string()))
}
