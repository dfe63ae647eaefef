//! Looking at a page: snapshot, find, text, html, forms, and single facts of elements.

use serde_json::{Value, json};

use crate::error::{Code, OpError};
use crate::output::Output;
use crate::page::{Element, Located, SnapshotOptions, name_refs};
use crate::registry::{Access, Op, Set};
use crate::request::{Call, cut};

pub(crate) struct Snapshot;

input!(SnapshotInput {
    interactive: Option<bool> = "only what can be acted on",
    compact: Option<bool> = "leave out structure",
    depth: Option<u64> = "levels",
    target ["ref", "selector"]: Option<Element> = "only this part",
    diff: Option<bool> = "only what changed since your last one",
    max_chars: Option<u64> = "cut the text here",
    element: Option<String> = "",
});

impl Op for Snapshot {
    type Input = SnapshotInput;
    const NAME: &'static str = "snapshot";
    const TOOL: &'static str = "browser_snapshot";
    const SET: Set = Set::Core;
    const ACCESS: Access = Access::Read;
    const ABOUT: &'static str = "The page as text, with refs (e12) for acting. Better than a screenshot.";

    async fn run(call: &Call, input: SnapshotInput) -> Result<Output, OpError> {
        let _ = input.element;
        let tab = call.tab().await?;
        let page = call.page_of(&tab).await?;
        let deadline = call.action_deadline();
        let root = match &input.target {
            Some(target) => Some(page.locate(target, deadline).await?),
            None => None,
        };
        let kind = format!(
            "{:?} {:?} {:?} {}",
            input.interactive,
            input.compact,
            input.depth,
            root.as_ref().map_or("", |root| &root.name)
        );
        let options = SnapshotOptions {
            interactive: input.interactive.unwrap_or(false),
            compact: input.compact.unwrap_or(false),
            depth: input.depth,
            root,
        };
        let lines = page.snapshot(&options, deadline).await?;
        let difference = page.difference(&kind, &lines);
        let state = page.driver.state();
        let title = match tokio::time::timeout_at(deadline, page.driver.title()).await {
            Ok(Ok(title)) => title,
            _ => String::new(),
        };
        let count = lines.iter().filter(|line| line.contains("[ref=")).count();
        let (mut text, is_diff) = match difference {
            Some(changed) if input.diff.unwrap_or(false) => (changed.join("\n"), true),
            _ => (lines.join("\n"), false),
        };
        if text.is_empty() {
            text = if is_diff { "nothing has changed".to_owned() } else { "the page is empty".to_owned() };
        }
        cut(&mut text, input.max_chars.map_or(call.max_chars, |max| max as usize));
        let data = json!({"snapshot": text, "url": state.url, "title": title, "elements": count, "diff": is_diff,
            "tab": call.numbers().of(&tab.browser, &tab.target)});
        let text = format!("{} {title}\n{text}", state.url);
        Ok(Output::new(data, text).from_page(&state.url))
    }
}

pub(crate) struct Find;

input!(FindInput {
    target ["ref", "selector", "locator"]: String = "CSS, text=, role=button[name=\"x\"], label=, testid=, xpath=",
    max: Option<u64> = "at most so many (20)",
});

impl Op for Find {
    type Input = FindInput;
    const NAME: &'static str = "find";
    const TOOL: &'static str = "browser_find";
    const SET: Set = Set::Core;
    const ACCESS: Access = Access::Read;
    const ABOUT: &'static str = "Find elements by a locator and get their refs, without a whole snapshot.";

    async fn run(call: &Call, input: FindInput) -> Result<Output, OpError> {
        let page = call.page().await?;
        let deadline = call.action_deadline();
        let max = input.max.unwrap_or(20) as usize;
        let found = page.settled(deadline, || page.found(&input.target, max)).await??;
        let text = match found.lines.is_empty() {
            true => format!("nothing fits {}", input.target),
            false => found.lines.join("\n"),
        };
        Ok(Output::new(json!({"matches": found.matches, "total": found.total}), text).from_page(&page.url()))
    }
}

pub(crate) struct Text;

input!(TextInput {
    target ["ref", "selector"]: Option<Element> = "only of this element",
    readable: Option<bool> = "false: all text instead of the article as markdown",
    max_chars: Option<u64> = "cut the text here",
});

impl Op for Text {
    type Input = TextInput;
    const NAME: &'static str = "text";
    const TOOL: &'static str = "browser_get_text";
    const SET: Set = Set::Core;
    const ACCESS: Access = Access::Read;
    const ABOUT: &'static str = "The page's text to read, its article first, without navigation.";

    async fn run(call: &Call, input: TextInput) -> Result<Output, OpError> {
        let max = input.max_chars.map_or(call.max_chars, |max| max as usize);
        let readable = input.readable.unwrap_or(true);
        let (url, answer) =
            of_page(call, input.target.as_ref(), "text", json!({"readable": readable, "max": max})).await?;
        let mut text = answer["text"].as_str().unwrap_or_default().to_owned();
        cut(&mut text, max);
        Ok(Output::new(answer, text).from_page(&url))
    }
}

pub(crate) struct Html;

input!(HtmlInput {
    target ["ref", "selector"]: Option<Element> = "only of this element",
    clean: Option<bool> = "without scripts, styles and noise",
    remove_scripts ["removeScripts"]: Option<bool> = "",
    remove_styles ["removeStyles"]: Option<bool> = "",
    max_chars: Option<u64> = "cut the text here",
});

impl Op for Html {
    type Input = HtmlInput;
    const NAME: &'static str = "html";
    const TOOL: &'static str = "browser_get_html";
    const SET: Set = Set::Devtools;
    const ACCESS: Access = Access::Read;
    const ABOUT: &'static str = "The HTML of the page or of an element.";

    async fn run(call: &Call, input: HtmlInput) -> Result<Output, OpError> {
        let max = input.max_chars.map_or(call.max_chars, |max| max as usize);
        let clean = input.clean.unwrap_or(false);
        let wish = json!({"clean": clean, "removeScripts": clean || input.remove_scripts.unwrap_or(false),
            "removeStyles": clean || input.remove_styles.unwrap_or(false), "max": max});
        let (url, answer) = of_page(call, input.target.as_ref(), "html", wish).await?;
        let mut text = answer["html"].as_str().unwrap_or_default().to_owned();
        cut(&mut text, max);
        Ok(Output::new(answer, text).from_page(&url))
    }
}

/// Calls the page script for the whole page, or for an element.
async fn of_page(
    call: &Call,
    target: Option<&Element>,
    function: &str,
    input: Value,
) -> Result<(String, Value), OpError> {
    let page = call.page().await?;
    let deadline = call.action_deadline();
    let located = match target {
        Some(target) => Some(page.locate(target, deadline).await?),
        None => None,
    };
    let mut answer = page
        .settled(deadline, || async {
            match &located {
                Some(located) => {
                    let mut input = input.clone();
                    input["ref"] = json!(located.number);
                    page.script(&located.frame, function, input).await
                }
                None => {
                    let main = page.main_frame().await?;
                    page.script(&main, function, input.clone()).await
                }
            }
        })
        .await?;
    let frame = located.as_ref().map_or(0, Located::frame_number);
    name_refs(&mut answer, frame);
    match (answer.get("error").and_then(Value::as_str), located) {
        (Some("stale"), Some(located)) => Err(page.stale(&located.name, deadline).await),
        _ => Ok((page.url(), accepted(function, answer)?)),
    }
}

/// Asks the page script in all frames.
async fn of_frames(call: &Call, function: &str, wish: &Value) -> Result<(String, Value), OpError> {
    let page = call.page().await?;
    let answer = page.settled(call.action_deadline(), || page.gathered(function, wish)).await?;
    Ok((page.url(), accepted(function, answer)?))
}

/// An answer of the page script, unless it is a refusal.
fn accepted(function: &str, answer: Value) -> Result<Value, OpError> {
    let Some(code) = answer.get("error").and_then(Value::as_str) else { return Ok(answer) };
    let message = format!("{function}: {}", answer["message"].as_str().unwrap_or(code));
    Err(OpError::new(Code::BrowserSaid, message, "take a snapshot to see the page"))
}

pub(crate) struct Forms;

input!(FormsInput { structure: Option<bool> = "questions and answers instead of fields" });

impl Op for Forms {
    type Input = FormsInput;
    const NAME: &'static str = "forms";
    const TOOL: &'static str = "browser_get_forms";
    const SET: Set = Set::Devtools;
    const ACCESS: Access = Access::Read;
    const ABOUT: &'static str = "The forms of the page: fields with refs, labels, values and options.";

    async fn run(call: &Call, input: FormsInput) -> Result<Output, OpError> {
        let function = if input.structure.unwrap_or(false) { "structure" } else { "forms" };
        let (url, answer) = of_frames(call, function, &json!({})).await?;
        let data = if answer.is_array() { json!({ "forms": answer }) } else { answer };
        let text = serde_json::to_string_pretty(&data).unwrap_or_default();
        Ok(Output::new(data, text).from_page(&url))
    }
}

choice!(What {
    Text = "text",
    Html = "html",
    Value = "value",
    Attr = "attr",
    Box = "box",
    Count = "count",
    Url = "url",
    Title = "title",
    Describe = "describe",
});

pub(crate) struct Get;

input!(GetInput {
    what: What = "text, html, value, attr, box, count, url, title or describe",
    target ["ref", "selector"]: Option<Element> = "the element",
    name: Option<String> = "of the attribute",
});

impl Op for Get {
    type Input = GetInput;
    const NAME: &'static str = "get";
    const TOOL: &'static str = "browser_get";
    const SET: Set = Set::Devtools;
    const ACCESS: Access = Access::Read;
    const ABOUT: &'static str = "One fact of the page or of an element.";

    async fn run(call: &Call, input: GetInput) -> Result<Output, OpError> {
        let page = call.page().await?;
        let deadline = call.action_deadline();
        let mut name_of_element = None;
        let value = match (input.what, &input.target) {
            (What::Url, _) => json!(page.url()),
            (What::Title, _) => {
                json!(page.within(deadline, page.driver.title()).await?)
            }
            (What::Count, Some(Element::Locator(locator))) => {
                json!(page.settled(deadline, || page.found(locator, 1)).await??.total)
            }
            (what, None) => {
                let message = format!("get: `target`: {} needs an element", what.as_str());
                return Err(OpError::bad_input(message, "give a ref (e12) or a locator"));
            }
            (what, Some(target)) => {
                let name = match (what, &input.name) {
                    (What::Attr, None) => {
                        return Err(OpError::bad_input(
                            "get: `name`: attr needs the attribute's name",
                            "for example href",
                        ));
                    }
                    (_, name) => name.clone().unwrap_or_default(),
                };
                let function = match what {
                    What::Text => "el => el.innerText ?? el.textContent",
                    What::Html => "el => el.innerHTML",
                    What::Value => {
                        "el => 'value' in el ? el.value : (el.isContentEditable ? el.innerText : null)"
                    }
                    What::Attr => "",
                    What::Count => "() => 1",
                    What::Box | What::Describe | What::Url | What::Title => "describe",
                };
                let attribute = format!("el => el.getAttribute({})", json!(name));
                let function = if function.is_empty() { attribute.as_str() } else { function };
                let located = page.locate(target, deadline).await?;
                name_of_element = Some(located.name.clone());
                match function {
                    "describe" if what == What::Box => {
                        // In the page's view, also for what is in a frame.
                        match page.settled(deadline, || page.area(&located)).await? {
                            Some(area) => json!(area),
                            None => return Err(page.stale(&located.name, deadline).await),
                        }
                    }
                    "describe" => {
                        page.settled(deadline, || {
                            page.script(&located.frame, "describe", json!({"ref": located.number}))
                        })
                        .await?
                    }
                    function => {
                        let number = Some(located.number);
                        let evaluated = page.driver.evaluate(&located.frame, function, number, deadline);
                        page.within(deadline, evaluated).await?.value.unwrap_or(Value::Null)
                    }
                }
            }
        };
        let text = match &value {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            other => other.to_string(),
        };
        let mut data = json!({ "value": value });
        if let Some(name) = name_of_element {
            data["ref"] = json!(name);
        }
        Ok(Output::new(data, text).from_page(&page.url()))
    }
}

choice!(Quality {
    Visible = "visible",
    Enabled = "enabled",
    Checked = "checked",
    Editable = "editable",
    Focused = "focused",
});

pub(crate) struct Is;

input!(IsInput {
    what: Quality = "visible, enabled, checked, editable or focused",
    target ["ref", "selector"]: Element = "the element",
});

impl Op for Is {
    type Input = IsInput;
    const NAME: &'static str = "is";
    const TOOL: &'static str = "browser_is";
    const SET: Set = Set::Devtools;
    const ACCESS: Access = Access::Read;
    const ABOUT: &'static str = "Whether an element is visible, enabled, checked, editable or focused.";

    async fn run(call: &Call, input: IsInput) -> Result<Output, OpError> {
        let page = call.page().await?;
        let deadline = call.action_deadline();
        if input.what == Quality::Visible {
            // What is not there is not visible; that is an answer, not an error. A ref of nothing is one.
            let found = page.settled(deadline, || page.presence(&input.target)).await?;
            return match (&input.target, found) {
                (Element::Ref { .. }, None) => Err(page.stale(&input.target.text(), deadline).await),
                (_, found) => Ok(fact(found == Some(true))),
            };
        }
        let located = page.locate(&input.target, deadline).await?;
        let function = match input.what {
            Quality::Checked => "state",
            Quality::Focused => "isFocused",
            _ => "describe",
        };
        let answer = page
            .settled(deadline, || page.script(&located.frame, function, json!({"ref": located.number})))
            .await?;
        let member = match input.what {
            Quality::Checked => "checked",
            Quality::Focused => "focused",
            Quality::Editable => "editable",
            _ => "enabled",
        };
        if let Some(error) = answer.get("error").and_then(Value::as_str) {
            let message = answer["message"].as_str().unwrap_or(error).to_owned();
            return Err(OpError::new(Code::NotFound, message, "choose another element"));
        }
        Ok(fact(answer[member] == json!(true)))
    }
}

fn fact(value: bool) -> Output {
    Output::new(json!({ "value": value }), value.to_string())
}

pub(crate) struct Inspect;

choice!(Question {
    Info = "info",
    Elements = "elements",
    Options = "options",
    Search = "search",
    At = "at",
    Similar = "similar",
    Structure = "structure",
    Changes = "changes",
    Watch = "watch",
    Ready = "ready",
});

input!(InspectInput {
    what: Question = "info, elements, options, search, at, similar, structure, watch, changes or ready",
    target ["ref", "selector"]: Option<Element> = "for options: the select or combobox; for ready: the element",
    query: Option<Value> = "fields of the question: query, x and y, filters, max, on",
});

impl Op for Inspect {
    type Input = InspectInput;
    const NAME: &'static str = "inspect";
    const TOOL: &'static str = "browser_inspect";
    const SET: Set = Set::Devtools;
    const ACCESS: Access = Access::Read;
    const ABOUT: &'static str =
        "More of the page: its measures, interactive elements, options, text search, a point, changes.";

    async fn run(call: &Call, input: InspectInput) -> Result<Output, OpError> {
        let wish = match input.query {
            None | Some(Value::Null) => json!({}),
            Some(wish) if wish.is_object() => wish,
            Some(other) => {
                let message = format!("inspect: `query`: expected an object, not {other}");
                return Err(OpError::bad_input(message, "for example {\"query\": \"total\"}"));
            }
        };
        let (url, answer) = match input.what {
            Question::Elements => {
                let page = call.page().await?;
                let elements = page.settled(call.action_deadline(), || page.elements(&wish)).await?;
                (page.url(), elements)
            }
            what @ (Question::Search | Question::Similar | Question::Structure) => {
                of_frames(call, what.as_str(), &wish).await?
            }
            Question::At => {
                let point = |name: &str| {
                    let missing = || {
                        let message = format!("inspect: `query.{name}`: expected a number");
                        OpError::bad_input(message, "for example {\"x\": 100, \"y\": 200}")
                    };
                    wish[name].as_f64().ok_or_else(missing)
                };
                let (x, y) = (point("x")?, point("y")?);
                let page = call.page().await?;
                let answer = page.settled(call.action_deadline(), || page.at_point(x, y)).await?;
                (page.url(), accepted("at", answer)?)
            }
            what => of_page(call, input.target.as_ref(), what.as_str(), wish).await?,
        };
        let data = if answer.is_object() { answer } else { json!({ "result": answer }) };
        let text = serde_json::to_string_pretty(&data).unwrap_or_default();
        Ok(Output::new(data, text).from_page(&url))
    }
}
