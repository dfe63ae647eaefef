//! Traces of the browser's own work, for DevTools' performance panel.

use serde_json::json;

use crate::error::OpError;
use crate::output::Output;
use crate::registry::{Access, Op, Set};
use crate::request::Call;

choice!(Action {
    Start = "start",
    Stop = "stop",
});

pub(crate) struct Trace;

input!(TraceInput {
    action: Action = "start or stop",
    file ["filename", "path"]: Option<String> = "for stop: where to save it",
    categories: Option<Vec<String>> = "",
});

/// What the performance panel needs.
const CATEGORIES: [&str; 5] = [
    "devtools.timeline",
    "disabled-by-default-devtools.timeline",
    "v8.execute",
    "loading",
    "blink.user_timing",
];

impl Op for Trace {
    type Input = TraceInput;
    const NAME: &'static str = "trace";
    const TOOL: &'static str = "browser_trace";
    const SET: Set = Set::Devtools;
    const ACCESS: Access = Access::Act;
    const ABOUT: &'static str = "Record a performance trace of the tab, for DevTools.";

    async fn run(call: &Call, input: TraceInput) -> Result<Output, OpError> {
        let page = call.page().await?;
        let deadline = call.navigation_deadline();
        match input.action {
            Action::Start => {
                let categories = input
                    .categories
                    .unwrap_or_else(|| CATEGORIES.iter().map(|name| (*name).to_owned()).collect());
                page.within(deadline, page.driver.start_trace(&categories)).await?;
                Ok(Output::new(json!({"recording": true}), "recording; stop it with trace, action stop"))
            }
            Action::Stop => {
                let trace = page.within(deadline, page.driver.stop_trace()).await?;
                let file = input.file.unwrap_or_else(|| format!("trace-{}.json", page.target));
                let data = json!({"bytes": trace.len()});
                super::picture::saved(call, &file, "json", &trace, data, "trace").await
            }
        }
    }
}
