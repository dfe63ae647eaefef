//! The answer of an op as a verb prints it.

use std::path::Path;

use base64::Engine as _;
use serde_json::{Value, json};

use super::Data;
use crate::cli::Deliver;
use crate::commands::history::save;
use crate::failure::{Failure, exit};
use crate::output::{FAINT, Output};
use crate::safe_text::{one_line, safe};

/// Before what has changed, which is no part of the answer itself.
const CHANGED: &str = "* ";

/// Prints an answer. False if it was a no.
pub(super) fn show(output: Output, deliver: &Deliver, mut data: Data) -> Result<bool, Failure> {
    if let Deliver::File(path) = deliver {
        keep(&mut data, path)?;
    }
    let is_so = *deliver != Deliver::Truth || data.get("value") == Some(&json!(true));
    if output.is_json() {
        output.result(&data, |_| String::new());
        return Ok(is_so);
    }
    let text = data.get("text").and_then(Value::as_str).unwrap_or_default();
    if output.is_terminal() {
        output.line(safe(text));
    } else if !text.is_empty() {
        // As it is: it may be meant for another program.
        output.raw(format!("{text}\n").as_bytes());
    }
    for change in data.get("happened").and_then(Value::as_array).into_iter().flatten() {
        let change = one_line(change.as_str().unwrap_or_default());
        output.line(format!("{FAINT}{CHANGED}{change}{FAINT:#}"));
    }
    Ok(is_so)
}

/// Writes what an answer shows to a file, which takes its place in the answer.
fn keep(data: &mut Data, path: &Path) -> Result<(), Failure> {
    // A picture is shown; what is no picture is in the answer itself.
    let (media, document) = (data.remove("media"), data.remove("data"));
    let shown = media.as_ref().and_then(|media| media[0]["data"].as_str());
    let shown = shown.or(document.as_ref().and_then(Value::as_str));
    let bytes = shown.and_then(|shown| base64::engine::general_purpose::STANDARD.decode(shown).ok());
    let Some(bytes) = bytes else {
        return Err(Failure::new(
            exit::FAILED,
            "no_file",
            "the hub sent nothing that could be written to a file",
        ));
    };
    save(path, &bytes)?;
    let path = path.to_string_lossy();
    data.insert("file".to_owned(), json!(path));
    data.insert("text".to_owned(), json!(path));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_goes_to_its_file_and_leaves_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.png");
        let answer =
            json!({"width": 1, "text": "a picture", "media": [{"mime": "image/png", "data": "YWI="}]});
        let Value::Object(mut data) = answer else { panic!("an object") };
        keep(&mut data, &path).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"ab");
        assert_eq!(json!(data), json!({"width": 1, "file": path, "text": path}));
        assert_eq!(keep(&mut data, &path).unwrap_err().code, "no_file");
        data.insert("data".to_owned(), json!("Y2Q="));
        keep(&mut data, &path).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"cd");
    }
}
