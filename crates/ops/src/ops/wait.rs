//! Waiting: for text, elements, addresses, loading, quiet, or simply time.

use std::time::Duration;

use regex::Regex;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::script::stop_script;
use crate::driver::{DriverError, Page};
use crate::error::{Code, OpError};
use crate::output::Output;
use crate::page::Element;
use crate::registry::{Access, Op, Set};
use crate::request::Call;
use crate::tab::Tab;

/// No request under way for so long is quiet.
const QUIET: Duration = Duration::from_millis(500);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(50);

choice!(Stage {
    Load = "load",
    DomReady = "domcontentloaded",
    Idle = "networkidle",
});

choice!(Presence {
    Visible = "visible",
    Attached = "attached",
    Hidden = "hidden",
    Detached = "detached",
});

pub(crate) struct WaitFor;

input!(WaitForInput {
    text: Option<String> = "text to appear",
    gone ["textGone", "text_gone"]: Option<String> = "text to disappear",
    target ["ref", "selector"]: Option<Element> = "element to appear (ref or locator)",
    state: Option<Presence> = "of target: visible (default), attached, hidden, detached",
    url: Option<String> = "URL to become: part of it, or with * for anything",
    load: Option<Stage> = "load, domcontentloaded or networkidle",
    expression ["function", "fn"]: Option<String> = "JavaScript that must become true",
    time: Option<f64> = "seconds to wait",
});

impl Op for WaitFor {
    type Input = WaitForInput;
    const NAME: &'static str = "wait_for";
    const TOOL: &'static str = "browser_wait_for";
    const SET: Set = Set::Core;
    const ACCESS: Access = Access::Read;
    const ABOUT: &'static str = "Wait for text, an element, a URL, loading, a condition or time.";

    async fn run(call: &Call, input: WaitForInput) -> Result<Output, OpError> {
        let begun = Instant::now();
        let mut conditions = Vec::new();
        if let Some(seconds) = input.time {
            if !(0.0..=3600.0).contains(&seconds) {
                return Err(OpError::bad_input(
                    "wait_for: `time`: expected 0 to 3600 seconds",
                    "for example 1.5",
                ));
            }
            call.not_before(begun + Duration::from_secs_f64(seconds));
            tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
            conditions.push(format!("{seconds} s"));
        }
        let waits_for_page = input.text.is_some()
            || input.gone.is_some()
            || input.target.is_some()
            || input.url.is_some()
            || input.load.is_some()
            || input.expression.is_some();
        if !waits_for_page && input.time.is_none() {
            let message = "wait_for: nothing to wait for";
            return Err(OpError::bad_input(
                message,
                "give text, gone, target, url, load, expression or time",
            ));
        }
        let mut url = String::new();
        if waits_for_page {
            let tab = call.tab().await?;
            if input.expression.is_some() {
                // It may do anything.
                call.lease(&tab.browser, &tab.target)?;
            }
            let page = call.page_of(&tab).await?;
            let deadline = call.navigation_deadline() + Duration::from_secs_f64(input.time.unwrap_or(0.0));
            call.not_before(deadline);
            let wait = Wait { call, page: &page, deadline };
            if let Some(text) = &input.text {
                wait.until(&format!("text \"{text}\""), || page.has_text(text)).await?;
                conditions.push(format!("text \"{text}\""));
            }
            if let Some(text) = &input.gone {
                wait.until(&format!("text \"{text}\" to go"), || async { Ok(!page.has_text(text).await?) })
                    .await?;
                conditions.push(format!("\"{text}\" is gone"));
            }
            if let Some(target) = &input.target {
                let state = input.state.unwrap_or(Presence::Visible);
                let what = format!("{} to be {}", target.text(), state.as_str());
                wait.until(&what, || is_so(&page, target, state)).await?;
                conditions.push(format!("{} {}", target.text(), state.as_str()));
            }
            if let Some(pattern) = &input.url {
                let fits = url_matcher(pattern);
                wait.until(&format!("URL {pattern}"), || async { Ok(fits(&page.url())) }).await?;
                conditions.push(format!("URL {pattern}"));
            }
            if let Some(expression) = &input.expression {
                wait.until(&format!("`{expression}`"), || is_true(&page, expression, deadline)).await?;
                conditions.push(format!("`{expression}`"));
            }
            match input.load {
                None => {}
                Some(Stage::Idle) => network_idle(call, &tab, &page, deadline).await?,
                Some(load) => {
                    wait.until(load.as_str(), || async {
                        let state = page.driver.state();
                        let is_there = !state.is_leaving;
                        Ok(is_there && if load == Stage::Load { state.is_loaded } else { state.is_dom_ready })
                    })
                    .await?;
                }
            }
            if let Some(load) = input.load {
                conditions.push(load.as_str().to_owned());
            }
            url = page.url();
        }
        let waited = begun.elapsed().as_millis() as u64;
        let data = json!({"waited_ms": waited, "url": url});
        Ok(Output::new(data, format!("{} after {waited} ms", conditions.join(", "))))
    }
}

/// How often whoever waits is told so.
const TOLD: Duration = Duration::from_secs(1);

struct Wait<'a> {
    call: &'a Call,
    page: &'a Page,
    deadline: Instant,
}

impl Wait<'_> {
    /// Looks again and again. A document that goes away meanwhile is not the last one.
    async fn until<F>(&self, what: &str, mut holds: impl FnMut() -> F + Send) -> Result<(), OpError>
    where
        F: Future<Output = Result<bool, DriverError>> + Send,
    {
        let mut told = Instant::now();
        loop {
            if told.elapsed() >= TOLD {
                told = Instant::now();
                self.call.tell(&format!("waiting for {what}"));
            }
            match tokio::time::timeout_at(self.deadline, holds()).await {
                Ok(Ok(true)) => return Ok(()),
                Ok(Ok(false) | Err(DriverError::Navigated)) => {}
                Ok(Err(error)) => return Err(self.page.explain(error)),
                Err(_) => return Err(self.timed_out(what)),
            }
            if Instant::now() + PAUSE >= self.deadline {
                return Err(self.timed_out(what));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn timed_out(&self, what: &str) -> OpError {
        let message = format!("waited in vain for {what} on {}", self.page.url());
        OpError::new(
            Code::Timeout,
            message,
            "take a snapshot to see what is there; give a longer `timeout` if it is slow",
        )
    }
}

async fn is_so(page: &Page, target: &Element, state: Presence) -> Result<bool, DriverError> {
    let found = page.presence(target).await?;
    Ok(match state {
        Presence::Attached => found.is_some(),
        Presence::Detached => found.is_none(),
        Presence::Visible => found == Some(true),
        Presence::Hidden => found != Some(true),
    })
}

async fn is_true(page: &Page, expression: &str, deadline: Instant) -> Result<bool, DriverError> {
    let main = page.main_frame().await?;
    let source = super::script::callable(expression);
    let undo = stop_script(page, &main);
    let value = page.driver.evaluate(&main, &source, None, deadline).await;
    undo.forget();
    let value = value?.value;
    Ok(match value {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::Number(number)) => number.as_f64() != Some(0.0),
        Some(Value::String(text)) => !text.is_empty(),
        Some(_) => true,
    })
}

/// Part of an address, or a pattern with `*`.
pub(crate) fn url_matcher(pattern: &str) -> impl Fn(&str) -> bool {
    let whole = pattern.contains('*').then(|| {
        let parts: Vec<String> =
            pattern.split('*').filter(|part| !part.is_empty()).map(regex::escape).collect();
        let start = if pattern.starts_with('*') { "" } else { "^" };
        let end = if pattern.ends_with('*') { "" } else { "$" };
        Regex::new(&format!("(?s){start}{}{end}", parts.join(".*")))
    });
    let part = pattern.to_owned();
    move |url| match &whole {
        Some(Ok(whole)) => whole.is_match(url),
        _ => url.contains(&part),
    }
}

/// Waits until no request has been under way for a while, as the recorder sees it.
pub(crate) async fn network_idle(
    call: &Call,
    tab: &Tab,
    page: &Page,
    deadline: Instant,
) -> Result<(), OpError> {
    if !call.is_recorded(&tab.browser) {
        let message = format!("browser `{}` is not recorded, so its requests are not known", tab.browser);
        return Err(OpError::new(Code::RecorderOff, message, "wait for load, an element or a text instead"));
    }
    let mut quiet_since = None;
    loop {
        let open = {
            let store = call.hub().recorder().store();
            let found = store.find(&tab.browser, &page.target);
            found.map_or(0, |tab| tab.network.iter().filter(|request| request.is_under_way()).count())
        };
        let is_quiet = open == 0 && page.driver.state().is_dom_ready && !page.driver.state().is_leaving;
        let since = is_quiet.then(|| *quiet_since.get_or_insert_with(Instant::now));
        match since {
            Some(since) if since.elapsed() >= QUIET => return Ok(()),
            Some(_) => {}
            None => quiet_since = None,
        }
        if Instant::now() >= deadline {
            let message = format!("{open} requests of {} are still under way", page.url());
            return Err(OpError::new(Code::Timeout, message, "wait for an element or a text instead"));
        }
        tokio::time::sleep(PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_match_in_part_or_by_pattern() {
        assert!(url_matcher("/done")("http://a/done?x"));
        assert!(url_matcher("**/done")("http://a/done"));
        assert!(!url_matcher("**/done")("http://a/done?x"));
        assert!(url_matcher("http://*/x?*")("http://a/x?1"));
        assert!(!url_matcher("/none")("http://a/done"));
    }
}
