//! The page as a picture or as PDF.

use base64::Engine as _;
use serde::Deserialize;
use serde_json::{Value, json};

use super::act::{Act, first};
use crate::error::OpError;
use crate::ops::picture::{Format, PaperFormat};
use crate::page::Element;
use crate::schema::Described;

input!(Screenshot {
    selector: Option<Element> = "only this element",
    fullPage: Option<bool> = "the whole page",
    format: Option<Format> = "png, jpeg or webp",
    quality: Option<u64> = "0 to 100, for jpeg and webp",
});

pub(super) async fn screenshot(act: &Act, payload: Screenshot) -> Result<Value, OpError> {
    let input = json!({"target": payload.selector.as_ref().map(first), "full": payload.fullPage,
        "format": payload.format.map(Format::as_str), "quality": payload.quality});
    let (screenshot, format) = taken(act, input).await?;
    Ok(json!({"screenshot": screenshot, "format": format}))
}

/// A picture as a data URL, and its format.
pub(super) async fn taken(act: &Act, input: Value) -> Result<(Value, Value), OpError> {
    let output = act.op("screenshot", input).await?;
    let encode = base64::engine::general_purpose::STANDARD;
    let url = output
        .media
        .first()
        .map(|media| format!("data:{};base64,{}", media.mime, encode.encode(&media.data)));
    Ok((json!(url), output.data["format"].clone()))
}

/// How the pages of a PDF are.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PdfOptions {
    format: Option<PaperFormat>,
    landscape: Option<bool>,
    #[serde(alias = "background")]
    printBackground: Option<bool>,
    scale: Option<f64>,
    /// In inches.
    margin: Option<f64>,
    #[serde(alias = "pages")]
    pageRanges: Option<String>,
}

impl Described for PdfOptions {
    fn schema() -> Value {
        json!({"type": "object", "properties": {"format": PaperFormat::schema(), "landscape": {"type": "boolean"},
            "printBackground": {"type": "boolean"}, "scale": {"type": "number"}, "margin": {"type": "number"},
            "pageRanges": {"type": "string"}}})
    }
}

input!(SaveAsPdf {
    outputPath: Option<String> = "where to save it; without it the data is given",
    options: Option<PdfOptions> = "format, landscape, printBackground, scale, margin (inches), pageRanges",
});

pub(super) async fn save_as_pdf(act: &Act, payload: SaveAsPdf) -> Result<Value, OpError> {
    let options = payload.options.unwrap_or_default();
    let input = json!({"file": payload.outputPath, "format": options.format.map(PaperFormat::as_str),
        "landscape": options.landscape, "background": options.printBackground, "scale": options.scale,
        "margin": options.margin, "pages": options.pageRanges});
    let saved = act.data("pdf", input).await?;
    Ok(match saved.get("file") {
        Some(path) => json!({"success": true, "path": path}),
        None => json!({"success": true, "data": saved["data"]}),
    })
}
