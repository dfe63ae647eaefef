//! The verbs: one request to the hub for an op, and its answer shown.

mod show;

use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::Context;
use super::history::encoded;
use crate::cli::{Spoken, Whose, Wish};
use crate::failure::{Failure, exit};
use crate::line::Line;

/// What an op answers.
type Data = Map<String, Value>;

pub(super) fn run(context: &Context<'_>, spoken: &Spoken) -> Result<ExitCode, Failure> {
    let asked = Asked::of(context, spoken.wish()?, &spoken.whose)?;
    let state = context.hub()?;
    context.block_on(async {
        let data = asked.ask(&mut Line::to(&state)).await?;
        asked.show(context, data)
    })
}

/// A wish on its way to the hub.
pub(super) struct Asked {
    wish: Wish,
    path: String,
    session: Option<String>,
    within: Option<Duration>,
}

impl Asked {
    pub(super) fn of(context: &Context<'_>, mut wish: Wish, whose: &Whose) -> Result<Self, Failure> {
        let within = whose.timeout();
        if let Some(time) = within.and_then(|time| u64::try_from(time.as_millis()).ok()) {
            wish.input.insert("timeout".to_owned(), json!(time));
        }
        // Of `wait`, which is told in seconds.
        let time = wish.input.get("time").and_then(Value::as_f64);
        let time = time.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let session = context.session(whose.session())?.map(str::to_owned);
        let path = path(whose.browser()?, whose.tab(), &wish.op);
        Ok(Self { wish, path, session, within: within.into_iter().chain(time).max() })
    }

    pub(super) async fn ask(&self, line: &mut Line) -> Result<Data, Failure> {
        line.post(&self.path, self.session.as_deref(), &self.wish.input, self.within).await
    }

    /// Prints the answer. A no is a failure to those who only look at how it ended.
    pub(super) fn show(&self, context: &Context<'_>, data: Data) -> Result<ExitCode, Failure> {
        let is_so = show::show(*context.output, &self.wish.deliver, data)?;
        Ok(if is_so { ExitCode::SUCCESS } else { ExitCode::from(exit::FAILED) })
    }
}

fn path(browser: &str, tab: Option<&str>, op: &str) -> String {
    let tab = tab.map(|tab| format!("/tabs/{}", encoded(tab))).unwrap_or_default();
    format!("/api/browsers/{}{tab}/ops/{}", encoded(browser), encoded(op))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_browser_tab_and_op() {
        assert_eq!(path("default", None, "click"), "/api/browsers/default/ops/click");
        assert_eq!(path("work", Some("my page"), "a/b"), "/api/browsers/work/tabs/my%20page/ops/a%2Fb");
    }
}
