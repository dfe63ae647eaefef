//! JavaScript in the page.

use std::time::Duration;

use serde_json::json;

use crate::driver::FrameId;
use crate::error::OpError;
use crate::output::Output;
use crate::page::{Element, Page};
use crate::registry::{Access, Op, Set};
use crate::request::Call;
use crate::undo::Undo;

/// An expression from an expression or a function. Statements stay what they are; the driver sees to them.
pub(crate) fn callable(source: &str) -> String {
    let trimmed = source.trim().trim_end_matches(';').trim_end();
    if is_function(trimmed) {
        return format!("({trimmed}\n)()");
    }
    if trimmed.starts_with('{') && trimmed.ends_with('}') {
        // Meant as an object; a block is no value.
        return format!("({trimmed}\n)");
    }
    source.to_owned()
}

fn is_function(source: &str) -> bool {
    let is_named = ["function", "async function", "async ("].iter().any(|start| source.starts_with(start));
    let is_arrow = || {
        let Some((head, _)) = source.split_once("=>") else { return false };
        let head = head.trim();
        let is_name = |text: &str| {
            !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$')
        };
        let head = head.strip_prefix("async ").map_or(head, str::trim);
        is_name(head) || (head.starts_with('(') && head.ends_with(')') && balanced(head))
    };
    (is_named && !source.ends_with(")()")) || (is_arrow() && !source.ends_with(")()"))
}

/// Whether the first bracket closes at the end and not before.
fn balanced(head: &str) -> bool {
    let mut depth = 0;
    for (at, c) in head.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + c.len_utf8() == head.len();
        }
    }
    false
}

/// For the browser to say that it has stopped a script.
const STOPPING: Duration = Duration::from_millis(500);

/// What an agent calls off does not go on in the page, and neither does what is late.
pub(crate) fn stop_script(page: &Page, frame: &FrameId) -> Undo {
    let (driver, frame) = (page.driver.clone(), frame.clone());
    Undo::with(async move {
        let _ = driver.stop_script(&frame).await;
    })
}

pub(crate) struct Evaluate;

input!(EvaluateInput {
    expression ["function", "script", "code"]: String = "an expression, `() => ...`, or with target `el => ...`; promises are awaited",
    target ["ref", "selector"]: Option<Element> = "element to pass to the function",
    element: Option<String> = "",
});

impl Op for Evaluate {
    type Input = EvaluateInput;
    const NAME: &'static str = "evaluate";
    const TOOL: &'static str = "browser_evaluate";
    const SET: Set = Set::Core;
    const ACCESS: Access = Access::Act;
    const ABOUT: &'static str = "Run JavaScript in the page and get its value.";

    async fn run(call: &Call, input: EvaluateInput) -> Result<Output, OpError> {
        let _ = input.element;
        let page = call.page().await?;
        let deadline = call.action_deadline();
        let (frame, number, source) = match &input.target {
            None => {
                let main = page.within(deadline, page.main_frame()).await?;
                (main, None, callable(&input.expression))
            }
            Some(target) => {
                let located = page.locate(target, deadline).await?;
                let source = input.expression.trim().trim_end_matches(';').to_owned();
                let source = if is_function(&source) { source } else { format!("element => ({source}\n)") };
                (located.frame, Some(located.number), source)
            }
        };
        let undo = stop_script(&page, &frame);
        let evaluated = page.driver.evaluate(&frame, &source, number, deadline);
        let Ok(evaluated) = tokio::time::timeout_at(deadline + STOPPING, evaluated).await else {
            return Err(page.no_answer());
        };
        undo.forget();
        let evaluated = evaluated.map_err(|error| page.explain(error))?;
        let data = json!({"value": evaluated.value});
        Ok(Output::new(data, evaluated.text).from_page(&page.url()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_called_and_statements_wrapped() {
        assert_eq!(callable("1 + 1"), "1 + 1");
        assert_eq!(callable("() => 1"), "(() => 1\n)()");
        assert_eq!(callable("async () => { await x; }"), "(async () => { await x; }\n)()");
        assert_eq!(callable("x => x;"), "(x => x\n)()");
        assert_eq!(callable("function () { return 1 }"), "(function () { return 1 }\n)()");
        assert_eq!(callable("[1, 2].map(x => x * 2)"), "[1, 2].map(x => x * 2)");
        assert_eq!(callable("(() => 1)()"), "(() => 1)()");
        assert_eq!(callable("(1, 2).map(x => x)"), "(1, 2).map(x => x)");
        assert_eq!(callable("{a: 1}"), "({a: 1}\n)");
    }
}
