//! Acting with the mouse: click, hover, drag, scroll.

use serde_json::{Value, json};

use super::Acting;
use crate::driver::{Button as MouseButton, DriverError, Modifiers, Mouse};
use crate::error::{Code, OpError};
use crate::output::Output;
use crate::page::{Click as Clicking, Element};
use crate::registry::{Access, Op, Set};
use crate::request::Call;

choice!(Button {
    Left = "left",
    Right = "right",
    Middle = "middle",
});

choice!(Modifier {
    Alt = "Alt",
    Control = "Control" | "Ctrl" | "ControlOrMeta",
    Meta = "Meta",
    Shift = "Shift",
});

pub(crate) struct Click;

input!(ClickInput {
    target ["ref", "selector"]: Element = "ref (e12) or locator",
    button: Option<Button> = "left, right or middle",
    double ["doubleClick"]: Option<bool> = "double click",
    modifiers: Option<Vec<Modifier>> = "keys to hold",
    count: Option<u64> = "",
    element: Option<String> = "",
});

impl Op for Click {
    type Input = ClickInput;
    const NAME: &'static str = "click";
    const TOOL: &'static str = "browser_click";
    const SET: Set = Set::Core;
    const ACCESS: Access = Access::Act;
    const ABOUT: &'static str = "Click an element when it is ready; tells what changed.";

    async fn run(call: &Call, input: ClickInput) -> Result<Output, OpError> {
        let _ = input.element;
        let count = match input.count.unwrap_or(1) {
            count @ 1..=10 => count as u32,
            other => {
                let message = format!("click: `count`: expected 1 to 10, not {other}");
                return Err(OpError::bad_input(message, "2 is a double click"));
            }
        };
        let clicking = Clicking {
            button: match input.button.unwrap_or(Button::Left) {
                Button::Left => MouseButton::Left,
                Button::Right => MouseButton::Right,
                Button::Middle => MouseButton::Middle,
            },
            count: if input.double.unwrap_or(false) { 2 } else { count },
            held: held(input.modifiers.as_deref().unwrap_or_default()),
        };
        let acting = Acting::begin(call).await?;
        let located = acting.page.locate(&input.target, acting.deadline).await?;
        acting.page.click(&located, clicking, acting.deadline).await?;
        let what = if clicking.count == 2 { "double-clicked" } else { "clicked" };
        acting.done(what, Some(&located), json!({})).await
    }
}

fn held(modifiers: &[Modifier]) -> Modifiers {
    Modifiers {
        alt: modifiers.contains(&Modifier::Alt),
        control: modifiers.contains(&Modifier::Control),
        meta: modifiers.contains(&Modifier::Meta),
        shift: modifiers.contains(&Modifier::Shift),
    }
}

pub(crate) struct Hover;

input!(HoverInput {
    target ["ref", "selector"]: Element = "ref or locator",
    element: Option<String> = "",
});

impl Op for Hover {
    type Input = HoverInput;
    const NAME: &'static str = "hover";
    const TOOL: &'static str = "browser_hover";
    const SET: Set = Set::Core;
    const ACCESS: Access = Access::Act;
    const ABOUT: &'static str = "Move the mouse over an element.";

    async fn run(call: &Call, input: HoverInput) -> Result<Output, OpError> {
        let _ = input.element;
        let acting = Acting::begin(call).await?;
        let located = acting.page.locate(&input.target, acting.deadline).await?;
        let aim = acting.page.ready(&located, "hover", acting.deadline).await?;
        acting.page.mouse(&aim.at, Mouse::Move, Modifiers::default(), acting.deadline).await?;
        acting.done("hovered over", Some(&located), json!({})).await
    }
}

pub(crate) struct Drag;

input!(DragInput {
    from ["startTarget", "startRef", "source"]: Element = "ref or locator",
    to ["endTarget", "endRef", "destination"]: Option<Element> = "ref or locator",
    x: Option<f64> = "or a point of the view",
    y: Option<f64> = "its y",
    start_element ["startElement"]: Option<String> = "",
    end_element ["endElement"]: Option<String> = "",
});

impl Op for Drag {
    type Input = DragInput;
    const NAME: &'static str = "drag";
    const TOOL: &'static str = "browser_drag";
    const SET: Set = Set::Core;
    const ACCESS: Access = Access::Act;
    const ABOUT: &'static str = "Drag an element onto another, or to a point.";

    async fn run(call: &Call, input: DragInput) -> Result<Output, OpError> {
        let _ = (input.start_element, input.end_element);
        let acting = Acting::begin(call).await?;
        let (page, deadline) = (&acting.page, acting.deadline);
        let from = page.locate(&input.from, deadline).await?;
        let to = match (&input.to, input.x, input.y) {
            (Some(to), ..) => Some(page.locate(to, deadline).await?),
            (None, Some(_), Some(_)) => None,
            _ => {
                let message = "drag: `to` is missing";
                return Err(OpError::bad_input(
                    message,
                    "give an element as `to`, or a point as `x` and `y`",
                ));
            }
        };
        page.ready(&from, "hover", deadline).await?;
        let end = match &to {
            Some(to) => page.ready(to, "drop", deadline).await?.at,
            None => {
                let (x, y) = (input.x.unwrap_or_default(), input.y.unwrap_or_default());
                page.within(deadline, page.spot(x, y)).await?
            }
        };
        // Looked at again: to show the one may have moved the other.
        let start = page.ready(&from, "hover", deadline).await?;
        match tokio::time::timeout_at(deadline, page.driver.drag(&start.at, &end)).await {
            Ok(Ok(()) | Err(DriverError::DialogOpen)) => {}
            Ok(Err(error)) => return Err(page.explain(error)),
            Err(_) => return Err(page.no_answer()),
        }
        let (x, y) = end.view;
        let data = json!({"to": to.as_ref().map(|to| &to.name), "x": x, "y": y});
        acting.done("dragged", Some(&from), data).await
    }
}

choice!(Direction {
    Up = "up",
    Down = "down",
    Left = "left",
    Right = "right",
});

choice!(End {
    Top = "top",
    Bottom = "bottom",
});

pub(crate) struct Scroll;

input!(ScrollInput {
    target ["ref", "selector"]: Option<Element> = "element to bring into view, or to scroll in with direction",
    direction: Option<Direction> = "up, down, left or right",
    amount: Option<f64> = "pixels (most of the view)",
    to: Option<End> = "top or bottom",
    x: Option<f64> = "",
    y: Option<f64> = "",
});

impl Op for Scroll {
    type Input = ScrollInput;
    const NAME: &'static str = "scroll";
    const TOOL: &'static str = "browser_scroll";
    const SET: Set = Set::Core;
    const ACCESS: Access = Access::Act;
    const ABOUT: &'static str = "Scroll the page or an element.";

    async fn run(call: &Call, input: ScrollInput) -> Result<Output, OpError> {
        let acting = Acting::begin(call).await?;
        let (page, deadline) = (&acting.page, acting.deadline);
        let mut wish = json!({});
        if let Some(direction) = input.direction {
            wish["direction"] = json!(direction.as_str());
        }
        if let Some(to) = input.to {
            wish["to"] = json!(to.as_str());
        }
        for (name, value) in [("amount", input.amount), ("x", input.x), ("y", input.y)] {
            if let Some(value) = value {
                wish[name] = json!(value);
            }
        }
        let located = match &input.target {
            Some(target) => Some(page.locate(target, deadline).await?),
            None => None,
        };
        if located.is_none() && wish.as_object().is_none_or(|wish| wish.is_empty()) {
            wish["direction"] = json!("down");
        }
        let answer = page
            .settled(deadline, || async {
                let mut wish = wish.clone();
                match &located {
                    Some(located) => {
                        wish["ref"] = json!(located.number);
                        page.script(&located.frame, "scroll", wish).await
                    }
                    None => page.script(&page.main_frame().await?, "scroll", wish).await,
                }
            })
            .await?;
        let at = |name: &str| answer[name].as_f64().unwrap_or(0.0).round() as i64;
        let text = format!("scrolled to {},{} of {},{}", at("x"), at("y"), at("maxX"), at("maxY"));
        let mut output = acting.done("scrolled", located.as_ref(), answer).await?;
        output.text = text;
        Ok(output)
    }
}

pub(crate) struct MouseAt;

choice!(MouseAction {
    Click = "click",
    Move = "move",
    Down = "down",
    Up = "up",
    Wheel = "wheel",
});

input!(MouseInput {
    action: MouseAction = "click, move, down, up or wheel",
    x: f64 = "pixels from the left of the view",
    y: f64 = "pixels from its top",
    button: Option<Button> = "left, right or middle",
    double: Option<bool> = "double click",
    dx: Option<f64> = "for wheel",
    dy: Option<f64> = "for wheel",
});

impl Op for MouseAt {
    type Input = MouseInput;
    const NAME: &'static str = "mouse";
    const TOOL: &'static str = "browser_mouse";
    const SET: Set = Set::Devtools;
    const ACCESS: Access = Access::Act;
    const ABOUT: &'static str = "Use the mouse at a point of the view, for canvases and maps.";

    async fn run(call: &Call, input: MouseInput) -> Result<Output, OpError> {
        let acting = Acting::begin(call).await?;
        let (page, deadline) = (&acting.page, acting.deadline);
        let button = match input.button.unwrap_or(Button::Left) {
            Button::Left => MouseButton::Left,
            Button::Right => MouseButton::Right,
            Button::Middle => MouseButton::Middle,
        };
        let (x, y, held) = (input.x, input.y, Modifiers::default());
        let at = page.within(deadline, page.spot(x, y)).await?;
        match input.action {
            MouseAction::Click => {
                let click =
                    Clicking { button, count: if input.double.unwrap_or(false) { 2 } else { 1 }, held };
                let pressing = page.pressing(&at, None, click);
                page.press(&at, click, &pressing.is_down.clone(), deadline).await?;
                pressing.done();
            }
            MouseAction::Move => page.mouse(&at, Mouse::Move, held, deadline).await?,
            MouseAction::Down => page.mouse(&at, Mouse::Down { button, clicks: 1 }, held, deadline).await?,
            MouseAction::Up => page.mouse(&at, Mouse::Up { button, clicks: 1 }, held, deadline).await?,
            MouseAction::Wheel => {
                let wheel = Mouse::Wheel { dx: input.dx.unwrap_or(0.0), dy: input.dy.unwrap_or(0.0) };
                page.mouse(&at, wheel, held, deadline).await?;
            }
        }
        acting.done(&format!("mouse {} at {x},{y}", input.action.as_str()), None, json!({})).await
    }
}

pub(crate) struct Dialog;

input!(DialogInput {
    accept: bool = "true: OK; false: cancel",
    text ["promptText"]: Option<String> = "answer to a prompt",
});

impl Op for Dialog {
    type Input = DialogInput;
    const NAME: &'static str = "dialog";
    const TOOL: &'static str = "browser_handle_dialog";
    const SET: Set = Set::Core;
    const ACCESS: Access = Access::Act;
    const ABOUT: &'static str = "Answer an open alert, confirm or prompt.";

    async fn run(call: &Call, input: DialogInput) -> Result<Output, OpError> {
        let tab = call.tab().await?;
        let page = call.page_of(&tab).await?;
        let Some(dialog) = page.driver.state().dialog else {
            let message = "no dialog is open";
            let hint = "it may have been dismissed: nobody answered it in time (see console)";
            return Err(OpError::new(Code::NoDialog, message, hint));
        };
        let observed = crate::page::Observed::begin(call, &tab, &page);
        let answered = page.driver.answer_dialog(input.accept, input.text.as_deref());
        match page.within(call.action_deadline(), answered).await {
            // It was open before this connection was.
            Err(error) if error.code == Code::BrowserSaid => {
                let recorder = call.hub().recorder();
                let open = recorder.dialogs().of(&tab.browser, &tab.target);
                let Some(open) = open else { return Err(error) };
                if !recorder.answer_dialog(&open, input.accept, input.text.as_deref()).await {
                    return Err(error);
                }
                page.driver.dialog_is_over();
            }
            answered => answered?,
        }
        let what = if input.accept { "accepted" } else { "dismissed" };
        let data = json!({"kind": dialog.kind, "message": dialog.message, "accepted": input.accept});
        let output = Output::new(data, format!("{what} the {}", dialog.kind)).from_page(&page.url());
        Ok(observed.finish(call, &page, output).await)
    }
}

/// Facts of the page script's answer that callers may want.
pub(crate) fn members(answer: &Value, names: &[&str]) -> Value {
    let mut data = json!({});
    for name in names {
        if let Some(value) = answer.get(name) {
            data[*name] = value.clone();
        }
    }
    data
}
