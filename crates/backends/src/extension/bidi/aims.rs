//! What a command is about: which contexts, realms and user contexts it names, wherever it does so.

use serde_json::Value;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Aims {
    pub(super) contexts: Vec<String>,
    pub(super) realms: Vec<String>,
    pub(super) user_contexts: Vec<String>,
}

impl Aims {
    /// What is not of its type is refused: the extension might make a text of it that nobody has looked at here.
    pub(super) fn of(params: &Value) -> Result<Self, String> {
        let (target, partition) = (inside(params, "target")?, inside(params, "partition")?);
        for name in ["url", "request"] {
            text(params, name)?;
        }
        // The extension takes one of them, and it might be the one that was not looked at.
        if !target["context"].is_null() && !target["realm"].is_null() {
            return Err("`target` is to have a context or a realm".to_owned());
        }
        let mut aims = Self::default();
        for (part, name) in [
            (params, "context"),
            (params, "root"),
            (params, "referenceContext"),
            (target, "context"),
            (partition, "context"),
        ] {
            aims.contexts.extend(text(part, name)?);
        }
        for (part, name) in [(params, "realm"), (target, "realm")] {
            aims.realms.extend(text(part, name)?);
        }
        for (part, name) in [(params, "userContext"), (partition, "userContext")] {
            aims.user_contexts.extend(text(part, name)?);
        }
        aims.contexts.extend(texts(params, "contexts")?);
        aims.user_contexts.extend(texts(params, "userContexts")?);
        Ok(aims)
    }
}

fn inside<'a>(params: &'a Value, name: &str) -> Result<&'a Value, String> {
    match &params[name] {
        part @ (Value::Null | Value::Object(_)) => Ok(part),
        _ => Err(format!("`{name}` is no object")),
    }
}

fn text(params: &Value, name: &str) -> Result<Option<String>, String> {
    match &params[name] {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.clone())),
        _ => Err(format!("`{name}` is no string")),
    }
}

fn texts(params: &Value, name: &str) -> Result<Vec<String>, String> {
    let wrong = || format!("`{name}` is no list of strings");
    match &params[name] {
        Value::Null => Ok(Vec::new()),
        Value::Array(list) => {
            list.iter().map(|one| one.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
        }
        _ => Err(wrong()),
    }
}
