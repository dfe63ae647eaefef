//! Forms: what they hold, and fields by their labels.

use serde_json::{Value, json};

use super::act::{Act, first, only};
use super::elements::fill_as_it_is;
use super::questions;
pub(super) use super::tabs::Nothing;
use crate::error::OpError;
use crate::page::Element;

pub(super) async fn get_form_data(act: &Act, _: Nothing) -> Result<Value, OpError> {
    let forms = forms(act).await?;
    Ok(forms.iter().map(|form| only(form, &["id", "name", "action", "method", "fields"])).collect())
}

async fn forms(act: &Act) -> Result<Vec<Value>, OpError> {
    let data = act.data("forms", json!({})).await?;
    Ok(data["forms"].as_array().cloned().unwrap_or_default())
}

pub(super) async fn get_form_structure(act: &Act, _: Nothing) -> Result<Value, OpError> {
    Ok(only(&structure(act).await?, &["forms", "questions", "radioGroups", "summary"]))
}

/// The page as a questionnaire.
pub(super) async fn structure(act: &Act) -> Result<Value, OpError> {
    act.data("forms", json!({"structure": true})).await
}

input!(FormField {
    label: Option<String> = "what stands beside the field",
    fieldName: Option<String> = "or its name or id",
    value: Value = "text, true or false, or an option's label",
});

pub(super) async fn fill_form_field(act: &Act, payload: FormField) -> Result<Value, OpError> {
    let FormField { label, fieldName, value } = payload;
    let (wanted, members): (String, &[&str]) = match (label, fieldName) {
        (Some(label), _) => (label, &["label", "placeholder"]),
        (None, Some(name)) => (name, &["name", "id"]),
        (None, None) => {
            let message = "fillFormField: `label` is missing";
            return Err(OpError::bad_input(message, "give `label` or `fieldName`"));
        }
    };
    let forms = forms(act).await?;
    let fields: Vec<&Value> = forms.iter().filter_map(|form| form["fields"].as_array()).flatten().collect();
    let fields: Vec<&Value> = fields.into_iter().filter(|field| is_to_be_filled(field)).collect();
    // Of choices that share a name, the value says which.
    let is_group = |field: &Value| field["type"] == json!("radio") && !value.is_boolean();
    match best_field(&fields, &wanted, members).filter(|field| !is_group(field)) {
        Some(field) => {
            let found = act.described(field["ref"].as_str().unwrap_or_default()).await?;
            fill_as_it_is(act, &found.name, &value).await?;
            Ok(json!({"success": true, "elementLabel": field["label"], "selector": found.about["selector"],
                "value": value}))
        }
        None => match questions::answer_one(act, &wanted, &value).await? {
            Some((question, selector)) => {
                Ok(json!({"success": true, "elementLabel": question, "selector": selector, "value": value}))
            }
            None => {
                let available: Vec<Value> =
                    fields.iter().map(|field| only(field, &["label", "name", "id", "type"])).collect();
                Ok(json!({"success": false, "availableFields": available}))
            }
        },
    }
}

fn is_to_be_filled(field: &Value) -> bool {
    !matches!(field["type"].as_str().unwrap_or_default(), "submit" | "button" | "reset" | "image" | "file")
}

/// The field whose members fit best; of equals the one that can be seen.
fn best_field<'a>(fields: &[&'a Value], wanted: &str, members: &[&str]) -> Option<&'a Value> {
    let rank = |field: &Value| {
        members.iter().filter_map(|member| fit(wanted, field[*member].as_str().unwrap_or_default())).min()
    };
    let ranked =
        fields.iter().filter_map(|field| Some((rank(field)?, field["visible"] != json!(true), *field)));
    ranked.min_by_key(|(rank, is_hidden, _)| (*rank, *is_hidden)).map(|(_, _, field)| field)
}

/// How well a text fits what is wanted: 0 is the same, then its beginning, then a part of it.
pub(super) fn fit(wanted: &str, text: &str) -> Option<u8> {
    let tidy = |text: &str| {
        let text = text.to_lowercase();
        let words: Vec<&str> = text.split_whitespace().collect();
        words.join(" ").trim_end_matches([':', '*', '?', '.', ' ']).to_owned()
    };
    let (wanted, text) = (tidy(wanted), tidy(text));
    if wanted.is_empty() || text.is_empty() {
        return None;
    }
    match () {
        () if wanted == text => Some(0),
        () if text.starts_with(&wanted) => Some(1),
        () if text.contains(&wanted) => Some(2),
        () => None,
    }
}

input!(UploadFile {
    selector: Element = "the file field, or what opens it",
    filePath: Option<String> = "a file of the hub's machine",
    filePaths: Option<Vec<String>> = "or several",
});

pub(super) async fn upload_file(act: &Act, payload: UploadFile) -> Result<Value, OpError> {
    let UploadFile { selector, filePath, filePaths } = payload;
    let Some(paths) = filePaths.or(filePath.map(|path| vec![path])) else {
        let message = "uploadFile: `filePath` is missing";
        return Err(OpError::bad_input(message, "give `filePath`, or a list as `filePaths`"));
    };
    let done = act.data("upload", json!({"target": first(&selector), "files": paths})).await?;
    Ok(json!({"success": true, "files": done["files"]}))
}
