//! Acting on fields: type, fill, select, check, press keys, upload.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::Acting;
use crate::driver::{Button, Modifiers};
use crate::error::{Code, OpError};
use crate::output::Output;
use crate::page::{Click, Element, Located};
use crate::registry::{Access, Op, Set};
use crate::request::Call;
use crate::schema::Described;

/// Between two keys of a text that is typed slowly.
const SLOWLY: Duration = Duration::from_millis(30);

pub(crate) struct Type;

input!(TypeInput {
    target ["ref", "selector"]: Option<Element> = "field; without it what has the focus",
    text: String = "text to type",
    submit: Option<bool> = "press Enter after",
    slowly: Option<bool> = "key by key, for pages that listen to keys",
    element: Option<String> = "",
});

impl Op for Type {
    type Input = TypeInput;
    const NAME: &'static str = "type";
    const TOOL: &'static str = "browser_type";
    const SET: Set = Set::Core;
    const ACCESS: Access = Access::Act;
    const ABOUT: &'static str =
        "Type text into a field, replacing what is in it (without target: where the focus is).";

    async fn run(call: &Call, input: TypeInput) -> Result<Output, OpError> {
        let _ = input.element;
        let acting = Acting::begin(call).await?;
        let located = match &input.target {
            Some(target) => {
                let located = acting.page.locate(target, acting.deadline).await?;
                if input.slowly.unwrap_or(false) {
                    acting.clear(&located).await?;
                } else {
                    acting.fill(&located, &input.text).await?;
                }
                Some(located)
            }
            None => None,
        };
        let pause = if input.slowly.unwrap_or(false) { SLOWLY } else { Duration::ZERO };
        let deadline = acting.deadline + pause * input.text.chars().count() as u32;
        call.not_before(deadline);
        if input.slowly.unwrap_or(false) || located.is_none() {
            acting.page.type_keys(&input.text, pause, deadline).await?;
        }
        if input.submit.unwrap_or(false) {
            acting.page.key_press("Enter", deadline).await?;
        }
        let what = if located.is_some() { "typed into" } else { "typed" };
        acting.done(what, located.as_ref(), json!({})).await
    }
}

pub(crate) struct Fill;

input!(FillInput {
    target ["ref", "selector"]: Element = "field",
    value ["text"]: String = "its new value; dates as 2026-01-31",
    submit: Option<bool> = "press Enter after",
    element: Option<String> = "",
});

impl Op for Fill {
    type Input = FillInput;
    const NAME: &'static str = "fill";
    const TOOL: &'static str = "browser_fill";
    const SET: Set = Set::Devtools;
    const ACCESS: Access = Access::Act;
    const ABOUT: &'static str = "Set the value of a field.";

    async fn run(call: &Call, input: FillInput) -> Result<Output, OpError> {
        let _ = input.element;
        let acting = Acting::begin(call).await?;
        let located = acting.page.locate(&input.target, acting.deadline).await?;
        acting.fill(&located, &input.value).await?;
        if input.submit.unwrap_or(false) {
            acting.page.key_press("Enter", acting.deadline).await?;
        }
        acting.done("filled", Some(&located), json!({})).await
    }
}

/// One field of a form and what it is to be.
#[derive(Debug, Deserialize)]
pub(crate) struct FieldValue {
    #[serde(alias = "ref", alias = "selector")]
    target: Element,
    value: Value,
    /// Sent by clients of another server; what the field is can be seen.
    #[serde(default, rename = "type")]
    _kind: Option<String>,
    #[serde(default, rename = "name")]
    _name: Option<String>,
    #[serde(default, rename = "element")]
    _element: Option<String>,
}

impl Described for FieldValue {
    fn schema() -> Value {
        json!({"type": "object", "required": ["target", "value"], "properties": {
            "target": {"type": "string"},
            "value": {"description": "text, true/false for a checkbox, label for a select"}}})
    }
}

pub(crate) struct FillForm;

input!(FillFormInput {
    fields: Vec<FieldValue> = "fields in order",
    submit: Option<bool> = "press Enter in the last one",
});

impl Op for FillForm {
    type Input = FillFormInput;
    const NAME: &'static str = "fill_form";
    const TOOL: &'static str = "browser_fill_form";
    const SET: Set = Set::Core;
    const ACCESS: Access = Access::Act;
    const ABOUT: &'static str = "Fill several fields at once: text, checkboxes, radios, selects.";

    async fn run(call: &Call, input: FillFormInput) -> Result<Output, OpError> {
        let acting = Acting::begin(call).await?;
        let mut done = Vec::new();
        for (at, field) in input.fields.iter().enumerate() {
            let filled = acting.fill_as_it_is(&field.target, &field.value).await;
            match filled {
                Ok(located) => done.push(located.name),
                Err(mut error) => {
                    error.message = format!(
                        "fill_form: `fields[{at}]`: {} (filled before: {})",
                        error.message,
                        done.len()
                    );
                    return Err(error.with("filled", json!(done)));
                }
            }
            acting.renew();
        }
        if input.submit.unwrap_or(false) {
            acting.page.key_press("Enter", acting.deadline).await?;
        }
        let mut output = acting.done("filled", None, json!({"filled": done})).await?;
        output.text = format!("filled {} fields: {}", done.len(), done.join(", "));
        Ok(output)
    }
}

pub(crate) struct SelectOption;

input!(SelectOptionInput {
    target ["ref", "selector"]: Element = "a select",
    values ["value", "label", "options"]: Value = "value or label, or a list of them",
    element: Option<String> = "",
});

impl Op for SelectOption {
    type Input = SelectOptionInput;
    const NAME: &'static str = "select_option";
    const TOOL: &'static str = "browser_select_option";
    const SET: Set = Set::Core;
    const ACCESS: Access = Access::Act;
    const ABOUT: &'static str = "Choose options of a select, by value or label.";

    async fn run(call: &Call, input: SelectOptionInput) -> Result<Output, OpError> {
        let _ = input.element;
        let acting = Acting::begin(call).await?;
        let located = acting.page.locate(&input.target, acting.deadline).await?;
        let wanted = match input.values {
            Value::Array(list) => list,
            one @ (Value::String(_) | Value::Object(_)) => vec![one],
            Value::Number(number) => vec![json!(number.to_string())],
            other => {
                let message = format!("select_option: `values`: expected a text or a list, not {other}");
                return Err(OpError::bad_input(message, "for example [\"Blue\"]"));
            }
        };
        let answer = acting.select(&located, &wanted).await?;
        let chosen = super::act::members(&answer, &["selected"]);
        acting.done("selected in", Some(&located), chosen).await
    }
}

pub(crate) struct Check;

input!(CheckInput {
    target ["ref", "selector"]: Element = "checkbox, radio or switch",
    checked: Option<bool> = "false unchecks",
    element: Option<String> = "",
});

impl Op for Check {
    type Input = CheckInput;
    const NAME: &'static str = "check";
    const TOOL: &'static str = "browser_check";
    const SET: Set = Set::Core;
    const ACCESS: Access = Access::Act;
    const ABOUT: &'static str = "Check or uncheck a checkbox, radio or switch.";

    async fn run(call: &Call, input: CheckInput) -> Result<Output, OpError> {
        let _ = input.element;
        let acting = Acting::begin(call).await?;
        let located = acting.page.locate(&input.target, acting.deadline).await?;
        let wanted = input.checked.unwrap_or(true);
        let changed = acting.check(&located, wanted).await?;
        let what = if wanted { "checked" } else { "unchecked" };
        acting.done(what, Some(&located), json!({"checked": wanted, "changed": changed})).await
    }
}

pub(crate) struct PressKey;

input!(PressKeyInput {
    key: String = "Enter, Tab, ArrowDown, a, Control+A",
    target ["ref", "selector"]: Option<Element> = "element to focus first",
    element: Option<String> = "",
});

impl Op for PressKey {
    type Input = PressKeyInput;
    const NAME: &'static str = "press_key";
    const TOOL: &'static str = "browser_press_key";
    const SET: Set = Set::Core;
    const ACCESS: Access = Access::Act;
    const ABOUT: &'static str = "Press a key, with others held if wanted.";

    async fn run(call: &Call, input: PressKeyInput) -> Result<Output, OpError> {
        let _ = input.element;
        let acting = Acting::begin(call).await?;
        let located = match &input.target {
            Some(target) => {
                let located = acting.page.locate(target, acting.deadline).await?;
                acting.script(&located, "focus", json!({})).await?;
                Some(located)
            }
            None => None,
        };
        acting.page.key_press(&input.key, acting.deadline).await?;
        let mut output = acting.done("pressed a key in", located.as_ref(), json!({"key": input.key})).await?;
        output.text = format!("pressed {}", input.key);
        Ok(output)
    }
}

pub(crate) struct Upload;

input!(UploadInput {
    target ["ref", "selector"]: Element = "the file field, or what opens it",
    files ["paths", "filePaths", "filePath"]: Value = "path, or a list of paths; empty takes them out",
    element: Option<String> = "",
});

impl Op for Upload {
    type Input = UploadInput;
    const NAME: &'static str = "upload";
    const TOOL: &'static str = "browser_file_upload";
    const SET: Set = Set::Core;
    const ACCESS: Access = Access::Dangerous;
    const ABOUT: &'static str = "Choose files in a file field.";

    async fn run(call: &Call, input: UploadInput) -> Result<Output, OpError> {
        let _ = input.element;
        let paths: Vec<String> = match input.files {
            Value::String(path) => vec![path],
            Value::Array(list) if list.iter().all(Value::is_string) => {
                list.into_iter().filter_map(|path| path.as_str().map(str::to_owned)).collect()
            }
            other => {
                let message = format!("upload: `files`: expected a path or a list of paths, not {other}");
                return Err(OpError::bad_input(message, "for example [\"/home/me/a.txt\"]"));
            }
        };
        let mut files = Vec::new();
        for path in &paths {
            let whole = call.path("files", path)?;
            if !whole.is_file() {
                let message = format!("upload: `files`: there is no file {}", whole.display());
                return Err(OpError::new(
                    Code::FileError,
                    message,
                    "give whole paths of files on the hub's machine",
                ));
            }
            files.push(whole.display().to_string());
        }
        let acting = Acting::begin(call).await?;
        let located = acting.page.locate(&input.target, acting.deadline).await?;
        let field = acting.script(&located, "fileInput", json!({})).await?;
        let number = field["ref"].as_u64().unwrap_or(located.number);
        if files.len() > 1 && field["multiple"] == json!(false) {
            let message = format!("{} takes one file, not {}", located.name, files.len());
            return Err(OpError::bad_input(message, "give one path"));
        }
        let set = acting.page.driver.set_files(&located.frame, number, &files);
        acting.page.within(acting.deadline, set).await?;
        acting.done("gave files to", Some(&located), json!({ "files": files })).await
    }
}

impl Acting<'_> {
    /// Calls the page script on an element; what it refuses is an error.
    pub(crate) async fn script(
        &self,
        located: &Located,
        function: &str,
        mut input: Value,
    ) -> Result<Value, OpError> {
        input["ref"] = json!(located.number);
        let asked = self.page.script(&located.frame, function, input);
        let answer = match tokio::time::timeout_at(self.deadline, asked).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(crate::driver::DriverError::Navigated)) => {
                return Err(self.page.stale(&located.name, self.deadline).await);
            }
            Ok(Err(error)) => return Err(self.page.explain(error)),
            Err(_) => return Err(self.page.no_answer()),
        };
        let Some(code) = answer.get("error").and_then(Value::as_str) else { return Ok(answer) };
        if code == "stale" {
            return Err(self.page.stale(&located.name, self.deadline).await);
        }
        let message = answer["message"].as_str().unwrap_or(code).to_owned();
        let hint = match code {
            "no_option" => "choose one of its options",
            "not_select" => "it is no select: click it and choose from what opens",
            "not_editable" => "choose the field itself",
            _ => "take a snapshot to see what it is",
        };
        let mut error = OpError::new(Code::NotActionable, format!("{}: {message}", located.name), hint);
        if let Some(available) = answer.get("available").or(answer.get("options")) {
            error = error.with("available", available.clone());
        }
        Err(error)
    }

    pub(crate) async fn fill(&self, located: &Located, value: &str) -> Result<(), OpError> {
        self.page.ready(located, "fill", self.deadline).await?;
        let answer = self.script(located, "setValue", json!({ "value": value })).await?;
        if answer["done"] == json!(true) {
            return Ok(());
        }
        match value {
            "" => self.page.key_press("Delete", self.deadline).await,
            value => self.page.insert(value, self.deadline).await,
        }
    }

    async fn clear(&self, located: &Located) -> Result<(), OpError> {
        self.page.ready(located, "fill", self.deadline).await?;
        let answer = self.script(located, "selectText", json!({})).await?;
        match answer["empty"] == json!(true) {
            true => Ok(()),
            false => self.page.key_press("Delete", self.deadline).await,
        }
    }

    async fn select(&self, located: &Located, wanted: &[Value]) -> Result<Value, OpError> {
        self.page.ready(located, "select", self.deadline).await?;
        self.script(located, "select", json!({ "options": wanted })).await
    }

    /// Whether anything had to be done.
    async fn check(&self, located: &Located, wanted: bool) -> Result<bool, OpError> {
        let is_so = |state: &Value| state["checked"] == json!(wanted);
        if is_so(&self.script(located, "state", json!({})).await?) {
            return Ok(false);
        }
        let click = Click { button: Button::Left, count: 1, held: Modifiers::default() };
        self.page.click(located, click, self.deadline).await?;
        if !is_so(&self.script(located, "state", json!({})).await?) {
            let message =
                format!("{} did not become {}", located.name, if wanted { "checked" } else { "unchecked" });
            let hint = "a radio is unchecked by checking another one; or the page refuses it";
            return Err(OpError::new(Code::NotActionable, message, hint));
        }
        Ok(true)
    }

    /// Does with a field what its kind asks for.
    async fn fill_as_it_is(&self, target: &Element, value: &Value) -> Result<Located, OpError> {
        let located = self.page.locate(target, self.deadline).await?;
        let described = self.script(&located, "describe", json!({})).await?;
        let role = described["role"].as_str().unwrap_or_default();
        let tag = described["tag"].as_str().unwrap_or_default();
        let wants = |text: &str| !matches!(text.to_lowercase().as_str(), "false" | "off" | "no" | "0" | "");
        match (tag, role, value) {
            (
                _,
                "checkbox" | "radio" | "switch" | "menuitemcheckbox" | "menuitemradio",
                Value::Bool(wanted),
            ) => {
                self.check(&located, *wanted).await?;
            }
            (
                _,
                "checkbox" | "radio" | "switch" | "menuitemcheckbox" | "menuitemradio",
                Value::String(text),
            ) => {
                self.check(&located, wants(text)).await?;
            }
            ("select", _, Value::Array(list)) => {
                self.select(&located, list).await?;
            }
            ("select", _, one) => {
                let one = one.as_str().map_or_else(|| one.to_string(), str::to_owned);
                self.select(&located, &[json!(one)]).await?;
            }
            (_, _, value) => {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                self.fill(&located, &text).await?;
            }
        }
        Ok(located)
    }
}
