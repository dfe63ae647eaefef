//! Questionnaires: answers find their questions, and are given as each kind of question wants it.

use serde_json::{Map, Value, json};

use super::act::{Act, only};
use super::dropdowns::{self, Chosen};
use super::elements::{fill_as_it_is, is_about_element};
use super::forms::{fit, structure};
use crate::error::{Code, OpError};

input!(Answers {
    answers: Map<String, Value> = "by question: text, an option, a list of options, true or false",
    defaultAnswer: Option<Value> = "for questions that have no answer yet",
});

pub(super) async fn answer_questions(act: &Act, payload: Answers) -> Result<Value, OpError> {
    let mut results = Vec::new();
    let mut taken: Vec<String> = Vec::new();
    // Answers may bring further questions; so those that are not found are looked for once more at the end.
    let mut left: Vec<(&String, &Value)> = payload.answers.iter().collect();
    for is_last in [false, true] {
        for (asked, answer) in std::mem::take(&mut left) {
            let questions = questions(act).await?;
            match best(&questions, asked, &taken) {
                Some(question) => {
                    taken.push(ref_of(question));
                    results.push(answered(act, question, answer).await?);
                }
                None if !is_last => left.push((asked, answer)),
                None => {
                    let known: Vec<&Value> = questions.iter().map(|question| &question["question"]).collect();
                    results.push(json!({"question": asked, "answer": answer, "success": false,
                        "error": "there is no such question", "availableQuestions": known}));
                }
            }
        }
    }
    if let Some(answer) = &payload.defaultAnswer {
        for question in questions(act).await? {
            let is_open = is_unanswered(&question) && !taken.contains(&ref_of(&question));
            if is_open && suits(&question, answer) {
                let mut result = answered(act, &question, answer).await?;
                result["isDefault"] = json!(true);
                results.push(result);
            }
        }
    }
    let unanswered = questions(act).await?.iter().filter(|question| is_unanswered(question)).count();
    let done = results.iter().filter(|result| result["success"] == json!(true)).count();
    let failed = results.len() - done;
    let summary =
        json!({"total": results.len(), "answered": done, "failed": failed, "unanswered": unanswered});
    Ok(json!({"success": failed == 0, "results": results, "summary": summary}))
}

/// Answers the question that fits; tells its words and its selector, or that there is none.
pub(super) async fn answer_one(
    act: &Act,
    asked: &str,
    answer: &Value,
) -> Result<Option<(Value, Value)>, OpError> {
    let structure = structure(act).await?;
    let questions = structure["questions"].as_array().cloned().unwrap_or_default();
    // Choices are also known by their name.
    let groups = structure["radioGroups"].as_array().into_iter().flatten();
    let named = groups.clone().find(|group| group["name"] == json!(asked)).map(|group| &group["options"]);
    let by_name = named.and_then(|options| questions.iter().find(|question| question["options"] == *options));
    let Some(question) = by_name.or_else(|| best(&questions, asked, &[])) else { return Ok(None) };
    let target = give(act, question, answer).await?;
    let found = act.described(&target).await?;
    Ok(Some((question["question"].clone(), found.about["selector"].clone())))
}

async fn questions(act: &Act) -> Result<Vec<Value>, OpError> {
    Ok(structure(act).await?["questions"].as_array().cloned().unwrap_or_default())
}

fn ref_of(question: &Value) -> String {
    question["ref"].as_str().unwrap_or_default().to_owned()
}

fn best<'a>(questions: &'a [Value], asked: &str, taken: &[String]) -> Option<&'a Value> {
    let rank = |question: &Value| {
        let words = question["question"].as_str().unwrap_or_default();
        // Who asks may write more than the page, or less.
        fit(asked, words).or_else(|| fit(words, asked).map(|rank| rank + 3))
    };
    let free = questions.iter().filter(|question| !taken.contains(&ref_of(question)));
    free.filter_map(|question| Some((rank(question)?, question)))
        .min_by_key(|(rank, _)| *rank)
        .map(|(_, q)| q)
}

fn is_unanswered(question: &Value) -> bool {
    match &question["answer"] {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

/// Whether an answer that was not meant for this question can be one: nothing is agreed to by accident.
fn suits(question: &Value, answer: &Value) -> bool {
    match question["type"].as_str().unwrap_or_default() {
        "checkbox" => answer.is_boolean(),
        "radio" | "checkboxes" | "select" | "select-multiple" => {
            words(answer).iter().any(|word| option(question, word).is_some())
        }
        // What they offer is known only once they are open.
        "combobox" | "listbox" => false,
        "file" | "switch" => false,
        _ => !answer.is_boolean(),
    }
}

async fn answered(act: &Act, question: &Value, answer: &Value) -> Result<Value, OpError> {
    match give(act, question, answer).await {
        Ok(_) => Ok(json!({"question": question["question"], "answer": answer, "success": true})),
        Err(error) if is_about_element(&error) => {
            let options: Vec<&Value> =
                question["options"].as_array().into_iter().flatten().map(|option| &option["label"]).collect();
            Ok(json!({"question": question["question"], "answer": answer, "success": false,
                "error": error.message, "availableOptions": options}))
        }
        Err(error) => Err(error),
    }
}

/// Gives an answer; the ref of what it was given to.
async fn give(act: &Act, question: &Value, answer: &Value) -> Result<String, OpError> {
    let target = ref_of(question);
    match question["type"].as_str().unwrap_or_default() {
        "radio" => {
            let wanted = words(answer);
            let chosen = wanted.first().and_then(|word| option(question, word));
            let chosen = chosen.ok_or_else(|| no_option(question, answer))?;
            act.op("check", json!({"target": chosen["ref"]})).await?;
            Ok(ref_of(chosen))
        }
        "checkbox" => {
            let only = &question["options"][0];
            let is_label = words(answer).first().is_some_and(|word| option(question, word).is_some());
            let wanted = if is_label { Some(true) } else { truth(answer) };
            let wanted = wanted.ok_or_else(|| no_option(question, answer))?;
            act.op("check", json!({"target": only["ref"], "checked": wanted})).await?;
            Ok(ref_of(only))
        }
        "checkboxes" => tick(act, question, answer).await,
        "select" | "select-multiple" => {
            let wanted = words(answer);
            act.op("select_option", json!({"target": target, "values": wanted})).await?;
            Ok(target)
        }
        "combobox" | "listbox" => {
            let found = act.described(&target).await?;
            let label = words(answer).into_iter().next().unwrap_or_default();
            match dropdowns::choose(act, &found, &json!({ "label": label })).await? {
                Chosen::Option { .. } => Ok(target),
                Chosen::None { .. } => Err(no_option(question, answer)),
            }
        }
        _ => {
            fill_as_it_is(act, &target, answer).await?;
            Ok(target)
        }
    }
}

/// Ticks what is listed, and nothing else.
async fn tick(act: &Act, question: &Value, answer: &Value) -> Result<String, OpError> {
    let mut wanted = Vec::new();
    for word in words(answer) {
        match option(question, &word) {
            Some(option) => wanted.push(ref_of(option)),
            // A list in one text.
            None => {
                for part in word.split([',', ';']) {
                    let chosen = option(question, part).ok_or_else(|| no_option(question, answer))?;
                    wanted.push(ref_of(chosen));
                }
            }
        }
    }
    for option in question["options"].as_array().into_iter().flatten() {
        let is_wanted = wanted.contains(&ref_of(option));
        if is_wanted != (option["checked"] == json!(true)) {
            act.op("check", json!({"target": option["ref"], "checked": is_wanted})).await?;
        }
    }
    Ok(wanted.into_iter().next().unwrap_or_else(|| ref_of(&question["options"][0])))
}

fn option<'a>(question: &'a Value, word: &str) -> Option<&'a Value> {
    let options = question["options"].as_array()?;
    let rank = |option: &Value| {
        let by_value = fit(word, option["value"].as_str().unwrap_or_default()).filter(|rank| *rank == 0);
        [fit(word, option["label"].as_str().unwrap_or_default()), by_value].into_iter().flatten().min()
    };
    options.iter().filter_map(|one| Some((rank(one)?, one))).min_by_key(|(rank, _)| *rank).map(|(_, one)| one)
}

/// The texts of an answer.
fn words(answer: &Value) -> Vec<String> {
    match answer {
        Value::Array(list) => list.iter().flat_map(words).collect(),
        Value::String(text) => vec![text.clone()],
        Value::Bool(true) => vec!["yes".to_owned()],
        Value::Bool(false) => vec!["no".to_owned()],
        Value::Null => Vec::new(),
        other => vec![other.to_string()],
    }
}

fn truth(answer: &Value) -> Option<bool> {
    match answer {
        Value::Bool(truth) => Some(*truth),
        Value::String(text) => match text.trim().to_lowercase().as_str() {
            "yes" | "true" | "on" | "1" | "checked" => Some(true),
            "no" | "false" | "off" | "0" | "unchecked" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

fn no_option(question: &Value, answer: &Value) -> OpError {
    let message = format!("{} has no option {answer}", question["question"]);
    OpError::new(Code::NotFound, message, "choose one of its options")
        .with("options", only(question, &["options"])["options"].clone())
}
