//! The mouse: hover, drag, scroll, and where an element is for a mouse outside of the browser.

use serde_json::{Value, json};

use super::act::{Act, first, text};
pub(super) use super::elements::OneElement;
use crate::error::OpError;
use crate::page::Element;

pub(super) async fn hover(act: &Act, payload: OneElement) -> Result<Value, OpError> {
    let found = act.element(&payload.selector).await?;
    act.op("hover", json!({"target": found.name})).await?;
    Ok(json!({"success": true, "selector": text(&payload.selector), "tagName": found.about["tag"],
        "text": found.about["text"]}))
}

input!(Drag {
    sourceSelector: Element = "what to drag",
    targetSelector: Option<Element> = "where to drop it",
    toX: Option<f64> = "or a point of the view",
    toY: Option<f64> = "its distance from the top",
});

pub(super) async fn drag(act: &Act, payload: Drag) -> Result<Value, OpError> {
    let target = match (&payload.targetSelector, payload.toX, payload.toY) {
        (Some(target), ..) => json!(text(target)),
        (None, Some(x), Some(y)) => json!({"x": x, "y": y}),
        _ => {
            let message = "drag: `targetSelector` is missing";
            return Err(OpError::bad_input(message, "give `targetSelector`, or `toX` and `toY`"));
        }
    };
    let input = json!({"from": first(&payload.sourceSelector), "to": payload.targetSelector.as_ref().map(first),
        "x": payload.toX, "y": payload.toY});
    act.op("drag", input).await?;
    Ok(json!({"success": true, "source": text(&payload.sourceSelector), "target": target}))
}

input!(ScrollTo {
    target: Option<Element> = "up, down, top, bottom, or an element to bring into view",
    x: Option<f64> = "or pixels from the left of the page",
    y: Option<f64> = "and from its top",
});

pub(super) async fn scroll_to(act: &Act, payload: ScrollTo) -> Result<Value, OpError> {
    let input = scroll_input(&payload)?;
    let at = act.data("scroll", input).await?;
    Ok(json!({"success": true, "scrolledTo": {"x": at["x"], "y": at["y"]}}))
}

pub(super) fn scroll_input(payload: &ScrollTo) -> Result<Value, OpError> {
    let ScrollTo { target, x, y } = payload;
    Ok(match target.as_ref().map(|target| (target, text(target))) {
        Some((_, word)) if matches!(word.as_str(), "up" | "down") => json!({"direction": word}),
        Some((_, word)) if matches!(word.as_str(), "top" | "bottom") => json!({"to": word}),
        Some((element, _)) => json!({"target": first(element)}),
        None if x.is_some() || y.is_some() => json!({"x": x, "y": y}),
        None => {
            let message = "scrollTo: `target` is missing";
            return Err(OpError::bad_input(message, "up, down, top, bottom or a selector; or `x` and `y`"));
        }
    })
}

/// Where the view begins on the screen. Browsers tell where the window is; what is drawn around the view lies above
/// it, but for the edges of the window.
const SCREEN: &str = "(() => {
    const edge = Math.max(0, (outerWidth - innerWidth) / 2);
    return {
        left: globalThis.mozInnerScreenX ?? screenX + edge,
        top: globalThis.mozInnerScreenY ?? screenY + Math.max(0, outerHeight - innerHeight - edge),
        width: screen.width, height: screen.height,
    };
})()";

pub(super) async fn get_element_for_native_input(act: &Act, payload: OneElement) -> Result<Value, OpError> {
    let found = act.element(&payload.selector).await?;
    // A mouse outside reaches only what is in the view.
    act.op("scroll", json!({"target": found.name})).await?;
    let area = act.data("get", json!({"what": "box", "target": found.name})).await?["value"].take();
    let screen = act.data("evaluate", json!({"expression": SCREEN})).await?["value"].take();
    let number = |value: &Value, name: &str| value[name].as_f64().unwrap_or_default();
    let (width, height) = (number(&area, "width"), number(&area, "height"));
    let x = number(&screen, "left") + number(&area, "x") + width / 2.0;
    let y = number(&screen, "top") + number(&area, "y") + height / 2.0;
    let part = |at: f64, of: f64| if of > 0.0 { (at / of).clamp(0.0, 1.0) } else { 0.0 };
    let normalized = json!({"x": part(x, number(&screen, "width")), "y": part(y, number(&screen, "height"))});
    Ok(json!({"success": true, "coordinates": {"absolute": {"x": x, "y": y}, "normalized": normalized},
        "size": {"width": width, "height": height}}))
}
