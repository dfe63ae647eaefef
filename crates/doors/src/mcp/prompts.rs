//! The prompts that the server offers.

use rmcp::model::{GetPromptResult, Prompt, PromptArgument, PromptMessage, Role};

pub(super) const DEBUG_PAGE: &str = "debug-page";

pub(super) fn listed() -> Vec<Prompt> {
    let arguments = vec![
        PromptArgument::new("problem").with_description("What is wrong, in your words"),
        PromptArgument::new("tab")
            .with_description("Which tab: index, id, or part of its URL or title; default: the newest"),
    ];
    vec![Prompt::new(
        DEBUG_PAGE,
        Some("Find out why a page does not work: console, network, page"),
        Some(arguments),
    )]
}

/// The prompt, with what is known already: the console and the requests of the tab, fenced, or why there are none.
pub(super) fn debug_page(problem: Option<&str>, console: &str, network: &str) -> GetPromptResult {
    let problem = problem
        .filter(|problem| !problem.trim().is_empty())
        .unwrap_or("The page does not work as it should.");
    let text = format!(
        "{problem}\n\nFind the cause in the open page. Look at the errors in its console and at requests that failed \
         or were slow (both below, as recorded since the tab was opened), then at the page itself with the browser \
         tools. Reproduce it if you can, say what causes it and what would mend it, and name the lines and requests \
         that show it.\n\nConsole:\n{console}\n\nNetwork:\n{network}"
    );
    GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]).with_description("Debug a page")
}
