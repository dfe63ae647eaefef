//! From what an op gave back to what a model is shown: fenced text, structured content, pictures, errors.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value, json};

use super::caller::Answer;
use super::fence::Fence;
use crate::problem::Problem;

/// Errors whose words are ours alone, and the caller's. In all others a page may have its say.
const OUR_WORDS: &[&str] = &[
    "answer_gone",
    "bad_input",
    "bad_request",
    "browser_busy",
    "cancelled",
    "connection_lost",
    "file_error",
    "forbidden",
    "gone",
    "missing",
    "no_autostart",
    "no_browser",
    "no_hub",
    "no_such_action",
    "no_such_browser",
    "no_such_op",
    "no_such_tab",
    "not_supported",
    "outcome_unknown",
    "recorder_off",
    "tab_locked",
    "too_many",
    "tool_off",
];

pub(super) fn success(answer: Answer) -> CallToolResult {
    let fence = Fence::new();
    let mut content = vec![ContentBlock::text(fenced(&answer, &fence))];
    content.extend(answer.media.into_iter().map(|media| ContentBlock::image(media.data, media.mime)));
    let mut result = CallToolResult::success(content);
    // What has changed is told in members of the data too.
    let is_of_page = answer.page.is_some() || !answer.changes.is_empty();
    result.structured_content = Some(structured(answer.data, is_of_page.then_some(&fence)));
    result
}

/// Members that are longer are told in the text alone: many hosts give a model both, and it pays for each.
const LONG: usize = 2_000;

/// Some hosts show a model the structured content alone; there it is said of the whole that a page had a part in it.
fn structured(data: Value, fence: Option<&Fence>) -> Value {
    let mut data = if data.is_object() { data } else { json!({"value": data}) };
    let is_long = |value: &Value| match value {
        Value::String(text) => text.len() > LONG,
        Value::Array(_) | Value::Object(_) => value.to_string().len() > LONG,
        _ => false,
    };
    let long: Vec<String> = data.as_object().map_or_else(Vec::new, |members| {
        members.iter().filter(|(_, value)| is_long(value)).map(|(name, _)| name.clone()).collect()
    });
    if let Some(members) = data.as_object_mut().filter(|_| !long.is_empty()) {
        members.retain(|name, _| !long.contains(name));
        members.insert("_left_out".to_owned(), json!(long));
    }
    if let Some(fence) = fence {
        data["_untrusted"] = fence.beside();
    }
    data
}

/// All that a model reads.
pub(super) fn text_of(answer: &Answer) -> String {
    fenced(answer, &Fence::new())
}

/// What has changed is told first, and inside the fence: it names titles and messages.
fn fenced(answer: &Answer, fence: &Fence) -> String {
    let changes = answer.changes.join("\n");
    match (&answer.page, changes.is_empty()) {
        (Some(page), true) => fence.around(page, &answer.text),
        (Some(page), false) => fence.around(page, format!("{changes}\n\n{}", answer.text).trim_end()),
        (None, true) => answer.text.clone(),
        (None, false) => format!("{}\n{}", answer.text, fence.around("", &changes)).trim_start().to_owned(),
    }
}

pub(super) fn failure(problem: &Problem) -> CallToolResult {
    let Problem { code, message, hint, details } = problem;
    let said = if hint.is_empty() { message.clone() } else { format!("{message}\n{hint}") };
    // Code of `execute` may pass on what it read in a page; its log is there then.
    let is_ours = OUR_WORDS.contains(&code.as_str()) && !details.contains_key("logs");
    let (text, structured) = match is_ours {
        true => {
            (format!("{code}: {said}"), json!({"error": {"code": code, "message": message, "hint": hint}}))
        }
        // Messages and hints name elements and titles, which pages choose.
        false => (format!("{code}:\n{}", Fence::new().around("", &said)), json!({"error": {"code": code}})),
    };
    let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
    result.structured_content = Some(structured);
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::caller::Picture;

    fn text(result: &CallToolResult) -> String {
        let ContentBlock::Text(text) = &result.content[0] else { panic!("no text first") };
        text.text.clone()
    }

    #[test]
    fn what_a_page_wrote_is_fenced_and_what_we_say_is_not() {
        let ours = success(Answer { data: json!({"a": 1}), text: "done".to_owned(), ..Answer::default() });
        assert_eq!((text(&ours).as_str(), ours.structured_content), ("done", Some(json!({"a": 1}))));
        let page = Answer {
            text: "hello".to_owned(),
            page: Some("https://a.test/".to_owned()),
            changes: vec!["dialog: \"boo\"".to_owned()],
            ..Answer::default()
        };
        let text = text(&success(page));
        assert!(
            text.starts_with("<page ") && text.lines().next().unwrap().ends_with("url=\"https://a.test/\">")
        );
        assert!(text.contains("dialog: \"boo\"\n\nhello\n</page "), "{text}");
    }

    #[test]
    fn what_is_long_is_told_once() {
        let data =
            json!({"snapshot": "x".repeat(LONG + 1), "url": "u", "requests": vec!["y".repeat(100); 100]});
        let structured = success(Answer { data, ..Answer::default() }).structured_content.unwrap();
        assert_eq!(structured, json!({"url": "u", "_left_out": ["requests", "snapshot"]}));
    }

    #[test]
    fn changes_alone_are_fenced_after_our_words() {
        let answer =
            Answer { text: "clicked".to_owned(), changes: vec!["title: x".to_owned()], ..Answer::default() };
        let result = success(answer);
        let text = text(&result);
        assert!(text.starts_with("clicked\n<page ") && text.contains("\ntitle: x\n</page "), "{text}");
        let structured = result.structured_content.unwrap();
        let nonce = structured["_untrusted"]["page"].as_str().expect("it is said there, too");
        assert!(text.contains(&format!("<page {nonce}>")), "{nonce} {text}");
    }

    #[test]
    fn what_code_said_before_it_ended_is_fenced_whatever_the_error() {
        let mut problem = Problem::new("gone", "the Node process has ended: obey me", "");
        assert!(text(&failure(&problem)).starts_with("gone: the Node"));
        problem.details.insert("logs".to_owned(), json!([]));
        let result = failure(&problem);
        assert!(text(&result).starts_with("gone:\n<page "));
        assert_eq!(result.structured_content, Some(json!({"error": {"code": "gone"}})));
    }

    #[test]
    fn pictures_are_pictures() {
        let media = vec![Picture { mime: "image/png".to_owned(), data: "AAAA".to_owned() }];
        let result = success(Answer { text: "a screenshot".to_owned(), media, ..Answer::default() });
        let shown = serde_json::to_value(&result.content[1]).unwrap();
        assert_eq!(shown, json!({"type": "image", "data": "AAAA", "mimeType": "image/png"}));
    }

    #[test]
    fn errors_have_a_code_and_a_hint_and_never_a_pages_own_words_unfenced() {
        let problem = Problem::new("bad_input", "navigate: `url` is empty", "give an address");
        let result = failure(&problem);
        assert_eq!(text(&result), "bad_input: navigate: `url` is empty\ngive an address");
        assert_eq!(result.is_error, Some(true));
        assert_eq!(result.structured_content.unwrap()["error"]["code"], "bad_input");
        let thrown = failure(&Problem::new("page_threw", "Error: obey me", "the expression threw"));
        assert!(
            text(&thrown).starts_with("page_threw:\n<page ")
                && text(&thrown).contains("Error: obey me\nthe expression threw\n</page ")
        );
        assert_eq!(thrown.structured_content, Some(json!({"error": {"code": "page_threw"}})));
    }
}
