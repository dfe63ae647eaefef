//! Pictures: screenshot, PDF, highlight, and an element that a person picks.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use bytes::Bytes;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::driver::{ImageFormat, Page, Paper, Rect, Shot};
use crate::error::{Code, OpError};
use crate::output::{Media, Output};
use crate::page::Element;
use crate::registry::{Access, Op, Set};
use crate::request::Call;
use crate::undo::Undo;

choice!(Format {
    Png = "png",
    Jpeg = "jpeg" | "jpg",
    Webp = "webp",
});

pub(crate) struct Screenshot;

input!(ScreenshotInput {
    target ["ref", "selector"]: Option<Element> = "only this element",
    full ["fullPage", "full_page"]: Option<bool> = "the whole page",
    annotate: Option<bool> = "draw refs onto what can be acted on",
    clip: Option<Value> = "",
    format ["type"]: Option<Format> = "png, jpeg or webp",
    quality: Option<u64> = "",
    max_width: Option<u64> = "",
    max_height: Option<u64> = "",
    file ["filename", "path"]: Option<String> = "save it there instead of showing it",
    element: Option<String> = "",
});

impl Op for Screenshot {
    type Input = ScreenshotInput;
    const NAME: &'static str = "screenshot";
    const TOOL: &'static str = "browser_take_screenshot";
    const SET: Set = Set::Core;
    const ACCESS: Access = Access::Read;
    const ABOUT: &'static str = "A picture of the view, the page or an element. To act, use a snapshot.";

    async fn run(call: &Call, input: ScreenshotInput) -> Result<Output, OpError> {
        let _ = input.element;
        let page = call.page().await?;
        let deadline = call.navigation_deadline();
        let named =
            input.file.as_deref().and_then(|file| file.rsplit_once('.')).map(|(_, end)| end.to_lowercase());
        let format = match (input.format, named.as_deref()) {
            (Some(Format::Png), _) => ImageFormat::Png,
            (Some(Format::Jpeg), _) | (None, Some("jpg" | "jpeg")) => ImageFormat::Jpeg,
            (Some(Format::Webp), _) | (None, Some("webp")) => ImageFormat::Webp,
            (None, _) => ImageFormat::Png,
        };
        if input.quality.is_some_and(|quality| quality > 100) {
            return Err(OpError::bad_input("screenshot: `quality`: expected 0 to 100", "for example 80"));
        }
        let full = input.full.unwrap_or(false);
        let (view, document) = page.within(deadline, page.driver.layout()).await?;
        let area = match (&input.target, &input.clip) {
            (Some(target), _) => element_area(&page, target, view, deadline).await?,
            (None, Some(clip)) => {
                let clip: Rect = serde_json::from_value(clip.clone()).map_err(|error| {
                    let hint = "for example {\"x\": 0, \"y\": 0, \"width\": 100, \"height\": 100}";
                    OpError::bad_input(format!("screenshot: `clip`: {error}"), hint)
                })?;
                Some(clip)
            }
            (None, None) if full => Some(Rect { x: 0.0, y: 0.0, ..document }),
            (None, None) => None,
        };
        let size = area.unwrap_or(view);
        if size.width < 1.0 || size.height < 1.0 {
            let message = "there is nothing to see: the area is empty";
            return Err(OpError::new(Code::NotActionable, message, "choose a visible element"));
        }
        let shrink = |size: f64, max: Option<u64>| max.map_or(1.0, |max| (max.max(1) as f64 / size).min(1.0));
        let scale = shrink(size.width, input.max_width).min(shrink(size.height, input.max_height));
        let annotated = match input.annotate.unwrap_or(false) {
            true => {
                let main = page.within(deadline, page.main_frame()).await?;
                let undo = undo(&page, "unannotate");
                let boxes =
                    page.settled(deadline, || page.script(&main, "annotate", json!({"full": full}))).await?;
                Some((boxes, undo))
            }
            false => None,
        };
        let shot = Shot { format, quality: input.quality, clip: size, is_beyond_view: area.is_some(), scale };
        let picture = page.within(deadline, page.driver.screenshot(&shot)).await?;
        let (mime, ending) = match format {
            ImageFormat::Png => ("image/png", "png"),
            ImageFormat::Jpeg => ("image/jpeg", "jpg"),
            ImageFormat::Webp => ("image/webp", "webp"),
        };
        let (width, height) = ((size.width * scale).round(), (size.height * scale).round());
        let mut data = json!({"width": width, "height": height, "format": format_name(format), "bytes": picture.len(),
            "url": page.url()});
        if let Some((boxes, _)) = &annotated {
            data["boxes"] = boxes["boxes"].clone();
        }
        let text = format!("screenshot of {width} x {height} pixels");
        match &input.file {
            Some(file) => saved(call, file, ending, &picture, data, &text).await,
            None => Ok(Output::new(data, text).with(Media { mime, data: picture })),
        }
    }
}

fn format_name(format: ImageFormat) -> &'static str {
    match format {
        ImageFormat::Png => "png",
        ImageFormat::Jpeg => "jpeg",
        ImageFormat::Webp => "webp",
    }
}

/// Takes back what was drawn over the page, whatever becomes of the op.
fn undo(page: &Arc<Page>, function: &'static str) -> Undo {
    let own = page.clone();
    page.undo(move |_| async move {
        if let Ok(main) = own.main_frame().await {
            let _ = own.script(&main, function, json!({})).await;
        }
    })
}

/// Where an element is in the document.
async fn element_area(
    page: &Page,
    target: &Element,
    view: Rect,
    deadline: Instant,
) -> Result<Option<Rect>, OpError> {
    let located = page.locate(target, deadline).await?;
    let area = page.settled(deadline, || page.area(&located)).await?;
    let Some(Rect { x, y, width, height }) = area else {
        return Err(page.stale(&located.name, deadline).await);
    };
    Ok(Some(Rect { x: x + view.x, y: y + view.y, width, height }))
}

/// Writes a file that an agent named, whole or not at all.
pub(crate) async fn saved(
    call: &Call,
    file: &str,
    ending: &str,
    content: &Bytes,
    mut data: Value,
    what: &str,
) -> Result<Output, OpError> {
    let mut path = call.path("file", file.as_ref())?;
    if path.extension().is_none() {
        path.set_extension(ending);
    }
    write(&path, content).await?;
    data["file"] = json!(path.display().to_string());
    Ok(Output::new(data, format!("{what}, saved to {}", path.display())))
}

pub(crate) async fn write(path: &Path, content: &[u8]) -> Result<(), OpError> {
    let (to, content) = (path.to_owned(), content.to_owned());
    let written = tokio::task::spawn_blocking(move || {
        if let Some(directory) = to.parent() {
            std::fs::create_dir_all(directory)?;
        }
        let mut beside = to.clone().into_os_string();
        beside.push(format!(".{:08x}.part", getrandom::u32().unwrap_or_default()));
        let beside = PathBuf::from(beside);
        let written = std::fs::write(&beside, content).and_then(|()| std::fs::rename(&beside, &to));
        if written.is_err() {
            let _ = std::fs::remove_file(&beside);
        }
        written
    })
    .await;
    let problem = match written {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(error)) => error.to_string(),
        Err(error) => error.to_string(),
    };
    let message = format!("{} cannot be written: {problem}", path.display());
    Err(OpError::new(Code::FileError, message, "name another file, in a directory that you may write to"))
}

pub(crate) struct Pdf;

choice!(PaperFormat {
    A4 = "A4" | "a4",
    A3 = "A3" | "a3",
    A5 = "A5" | "a5",
    Letter = "Letter" | "letter",
    Legal = "Legal" | "legal",
});

input!(PdfInput {
    file ["filename", "path", "outputPath"]: Option<String> = "where to save it",
    format: Option<PaperFormat> = "A4, A3, A5, Letter or Legal",
    landscape: Option<bool> = "landscape",
    background: Option<bool> = "with backgrounds",
    scale: Option<f64> = "0.1 to 2",
    margin: Option<f64> = "inches",
    pages: Option<String> = "for example 1-3",
});

impl Op for Pdf {
    type Input = PdfInput;
    const NAME: &'static str = "pdf";
    const TOOL: &'static str = "browser_pdf_save";
    const SET: Set = Set::Devtools;
    const ACCESS: Access = Access::Read;
    const ABOUT: &'static str = "Save the page as PDF.";

    async fn run(call: &Call, input: PdfInput) -> Result<Output, OpError> {
        let page = call.page().await?;
        let (width, height) = match input.format.unwrap_or(PaperFormat::A4) {
            PaperFormat::A4 => (8.27, 11.7),
            PaperFormat::A3 => (11.7, 16.54),
            PaperFormat::A5 => (5.83, 8.27),
            PaperFormat::Letter => (8.5, 11.0),
            PaperFormat::Legal => (8.5, 14.0),
        };
        let paper = Paper {
            landscape: input.landscape.unwrap_or(false),
            background: input.background.unwrap_or(true),
            scale: input.scale,
            width: Some(width),
            height: Some(height),
            margin: input.margin,
            ranges: input.pages.unwrap_or_default(),
        };
        let content = page.within(call.navigation_deadline(), page.driver.pdf(&paper)).await?;
        let data = json!({"bytes": content.len(), "url": page.url()});
        match &input.file {
            Some(file) => saved(call, file, "pdf", &content, data, "PDF").await,
            None => {
                let mut data = data;
                data["data"] = json!(base64::engine::general_purpose::STANDARD.encode(&content));
                let text = format!("PDF of {} bytes; name a `file` to save it", content.len());
                Ok(Output::new(data, text))
            }
        }
    }
}

pub(crate) struct Highlight;

input!(HighlightInput {
    target ["ref", "selector"]: Element = "the element",
    ms: Option<u64> = "how long (2000)",
    text: Option<String> = "what to write beside it",
});

impl Op for Highlight {
    type Input = HighlightInput;
    const NAME: &'static str = "highlight";
    const TOOL: &'static str = "browser_highlight";
    const SET: Set = Set::Devtools;
    const ACCESS: Access = Access::Read;
    const ABOUT: &'static str = "Show the person an element.";

    async fn run(call: &Call, input: HighlightInput) -> Result<Output, OpError> {
        let page = call.page().await?;
        let deadline = call.action_deadline();
        let located = page.locate(&input.target, deadline).await?;
        let wish = json!({"ref": located.number, "ms": input.ms.unwrap_or(2_000), "text": input.text.unwrap_or_default()});
        page.settled(deadline, || page.script(&located.frame, "highlight", wish.clone())).await?;
        Ok(Output::new(json!({"ref": located.name}), format!("highlighted {}", located.name)))
    }
}

pub(crate) struct Pick;

input!(PickInput { message: Option<String> = "what to ask the person" });

/// A person looks and thinks before a click.
const PICK_PATIENCE: Duration = Duration::from_secs(60);

impl Op for Pick {
    type Input = PickInput;
    const NAME: &'static str = "pick";
    const TOOL: &'static str = "browser_pick";
    const SET: Set = Set::Devtools;
    const ACCESS: Access = Access::Read;
    const ABOUT: &'static str = "Let the person click an element, and learn which (waits a minute).";

    async fn run(call: &Call, input: PickInput) -> Result<Output, OpError> {
        let page = call.page().await?;
        let mut wish = json!({});
        if let Some(message) = input.message {
            wish["message"] = json!(message);
        }
        let deadline = call.deadline_or(PICK_PATIENCE);
        let undo = undo(&page, "unpick");
        // A document that comes meanwhile is covered as well.
        let picked = page
            .settled(deadline, || async {
                let main = page.main_frame().await?;
                page.script(&main, "pick", wish.clone()).await
            })
            .await;
        let answer = match picked {
            Ok(answer) => {
                undo.forget();
                answer
            }
            Err(error) if error.code != Code::Timeout => return Err(error),
            Err(_) => {
                let message = "nobody picked an element in time";
                return Err(OpError::new(
                    Code::Timeout,
                    message,
                    "tell the person to click one, and try again",
                ));
            }
        };
        if answer["cancelled"] == json!(true) {
            return Ok(Output::new(json!({"cancelled": true}), "the person cancelled"));
        }
        let number = answer["ref"].as_u64().unwrap_or_default();
        let mut data = answer.clone();
        data["ref"] = json!(format!("e{number}"));
        let text = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
        let text = format!("picked e{number}: {} \"{}\" {}", text("role"), text("name"), text("selector"));
        Ok(Output::new(data, text).from_page(&page.url()))
    }
}
