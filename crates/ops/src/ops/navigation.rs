//! Going somewhere: navigate, back, forward, reload.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use crate::driver::{DriverError, Going, Page, PageState};
use crate::error::{Code, OpError};
use crate::output::Output;
use crate::page::Observed;
use crate::registry::{Access, Op, Set};
use crate::request::Call;
use crate::tab::Tab;
use crate::undo::Undo;

choice!(Until {
    Load = "load",
    DomReady = "domcontentloaded",
    Idle = "networkidle",
    Commit = "commit",
});

/// Unless somebody asks for it, a page whose pictures take long is not waited for longer than this.
const LOAD_PATIENCE: Duration = Duration::from_secs(5);

/// A whole address of what a person may have typed.
pub(crate) fn address(text: &str) -> Result<String, OpError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(OpError::bad_input("`url` is empty", "give an address, for example https://example.com"));
    }
    let scheme = text.split_once(':').map(|(scheme, _)| scheme);
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    };
    let has_scheme = text.contains("://")
        || scheme.is_some_and(|scheme| {
            let scheme = scheme.to_lowercase();
            is_scheme(&scheme)
                && matches!(scheme.as_str(), "about" | "data" | "blob" | "javascript" | "view-source")
        });
    if has_scheme {
        return Ok(text.to_owned());
    }
    if text.starts_with('/') {
        return Ok(format!("file://{text}"));
    }
    let host = text.split(['/', '?', '#']).next().unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let is_near =
        name == "localhost" || name.ends_with(".localhost") || name.parse::<std::net::IpAddr>().is_ok();
    if host.contains(' ') || !(is_near || name.contains('.')) {
        let message = format!("`url`: `{text}` is no address");
        return Err(OpError::bad_input(message, "write it whole, for example https://example.com"));
    }
    Ok(format!("{}{text}", if is_near { "http://" } else { "https://" }))
}

/// Waits for a document that has been asked for.
pub(crate) async fn arrive(
    page: &Page,
    before: &PageState,
    until: Option<Until>,
    may_stay: bool,
    deadline: Instant,
) -> Result<(), OpError> {
    let patient = until.is_some();
    let dom_by = deadline;
    let load_by = if patient { deadline } else { deadline.min(Instant::now() + LOAD_PATIENCE) };
    let mut changes = page.driver.changes();
    loop {
        let state = page.driver.state();
        if let Some(error) = state.end() {
            return Err(error.into());
        }
        if state.has_crashed && !before.has_crashed {
            return Err(DriverError::Crashed.into());
        }
        if state.dialog.is_some() {
            return Err(page.explain(DriverError::DialogOpen));
        }
        if state.failures != before.failures {
            return Err(OpError::new(Code::NavigationFailed, state.failure, "check the address"));
        }
        let is_new = state.documents != before.documents;
        let is_done = match until {
            Some(Until::Commit) => is_new,
            Some(Until::DomReady) => is_new && state.is_dom_ready,
            _ => is_new && state.is_loaded,
        };
        // Within a document nothing loads.
        let has_hopped = may_stay && state.hops != before.hops && !state.is_leaving;
        if is_done || has_hopped || state.downloads.len() > before.downloads.len() {
            return Ok(());
        }
        let by = if is_new && state.is_dom_ready { load_by } else { dom_by };
        match tokio::time::timeout_at(by, changes.changed()).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return Err(DriverError::Gone.into()),
            Err(_) if !patient && is_new && state.is_dom_ready => return Ok(()),
            Err(_) => {
                let what = if is_new { "did not finish loading" } else { "did not answer" };
                let message = format!("{} {what} in time", page.url());
                let hint = "try again with a longer `timeout`, or wait_until `domcontentloaded`; what is there can be read";
                return Err(OpError::new(Code::Timeout, message, hint));
            }
        }
    }
}

/// Goes somewhere on a page and waits until it is there.
async fn go(
    call: &Call,
    tab: &Tab,
    page: &Page,
    until: Option<Until>,
    start: impl Future<Output = Result<Going, DriverError>>,
    what: &str,
) -> Result<Output, OpError> {
    let observed = Observed::begin(call, tab, page);
    let before = page.driver.state();
    let deadline = call.navigation_deadline();
    let stop = {
        let driver = page.driver.clone();
        Undo::with(async move {
            let _ = driver.stop_loading().await;
        })
    };
    let going = match tokio::time::timeout_at(deadline, start).await {
        Ok(going) => going.map_err(|error| page.explain(error))?,
        Err(_) => {
            let message = format!("{what}: the server did not answer in time");
            return Err(OpError::new(Code::Timeout, message, "try again with a longer `timeout`"));
        }
    };
    match going {
        Going::Document | Going::Step => {
            let arrived = arrive(page, &before, until, going == Going::Step, deadline).await;
            // What takes long goes on loading; only who is called off stops it.
            stop.forget();
            arrived?;
            if until == Some(Until::Idle) {
                super::wait::network_idle(call, tab, page, deadline).await?;
            }
        }
        Going::Within | Going::Download => stop.forget(),
        Going::Nowhere => {
            let message = format!("{what}: there is no such page in this tab's history");
            return Err(OpError::new(Code::NavigationFailed, message, "navigate to an address instead"));
        }
        Going::Failed(error) => {
            let hint = match error.as_str() {
                "net::ERR_CONNECTION_REFUSED" | "NS_ERROR_CONNECTION_REFUSED" => {
                    "nothing listens there: check the port, or start the server"
                }
                "net::ERR_NAME_NOT_RESOLVED" | "NS_ERROR_UNKNOWN_HOST" => {
                    "there is no such host: check the spelling"
                }
                "net::ERR_INTERNET_DISCONNECTED" | "NS_ERROR_OFFLINE" => {
                    "the tab is offline: undo it with emulate, network `online`"
                }
                "net::ERR_ABORTED" | "NS_BINDING_ABORTED" => {
                    "the page or the server gave it up, or it is a download"
                }
                "net::ERR_BLOCKED_BY_CLIENT" => "a rule forbids this address",
                _ => "check the address",
            };
            return Err(OpError::new(Code::NavigationFailed, format!("{what}: {error}"), hint));
        }
    }
    let title = match tokio::time::timeout(Duration::from_secs(1), page.driver.title()).await {
        Ok(Ok(title)) => title,
        _ => String::new(),
    };
    let url = page.url();
    let name = call.numbers().of(&tab.browser, &tab.target);
    let mut data = json!({"url": url, "title": title, "tab": name, "id": tab.target});
    let mut text = format!("{url}\n{title}");
    if let Some(status) = status(page).await {
        data["status"] = json!(status);
        if status >= 400 {
            text.push_str(&format!("\nThe server answered with status {status}."));
        }
    }
    let mut output = observed.finish(call, page, Output::new(data, text).from_page(&url)).await;
    output.changes.retain(|line| !line.starts_with("The page is now"));
    Ok(output)
}

/// The status that a server gave the document with, as far as the page knows.
async fn status(page: &Page) -> Option<u64> {
    let deadline = Instant::now() + Duration::from_secs(1);
    let source = "performance.getEntriesByType('navigation')[0]?.responseStatus ?? 0";
    let asked = async {
        let main = page.main_frame().await?;
        page.driver.evaluate(&main, source, None, deadline).await
    };
    let known = tokio::time::timeout_at(deadline, asked).await.ok()?.ok()?.value?.as_u64()?;
    Some(known).filter(|status| *status > 0)
}

/// The agent's turn at a page, after what it does there already.
async fn turn<'a>(call: &Call, page: &'a Page) -> Result<tokio::sync::MutexGuard<'a, ()>, OpError> {
    tokio::time::timeout_at(call.navigation_deadline(), page.turn.lock()).await.map_err(|_| {
        let message = "another act of yours in this tab did not end in time";
        OpError::new(Code::Timeout, message, "wait for it, or cancel it, and try again")
    })
}

/// Goes to an address in a tab.
pub(crate) async fn go_to(
    call: &Call,
    tab: &Tab,
    until: Option<Until>,
    url: &str,
) -> Result<Output, OpError> {
    let page = call.page_of(tab).await?;
    let _turn = turn(call, &page).await?;
    go(call, tab, &page, until, page.driver.navigate(url), &format!("navigate to {url}")).await
}

pub(crate) struct Navigate;

input!(NavigateInput {
    url: String = "address",
    new_tab: Option<bool> = "open it in a new tab of yours",
    wait_until ["waitUntil"]: Option<Until> = "",
});

impl Op for Navigate {
    type Input = NavigateInput;
    const NAME: &'static str = "navigate";
    const TOOL: &'static str = "browser_navigate";
    const SET: Set = Set::Core;
    const ACCESS: Access = Access::Act;
    const ABOUT: &'static str = "Go to an address, in your tab (a new one if you have none).";

    async fn run(call: &Call, input: NavigateInput) -> Result<Output, OpError> {
        let url = address(&input.url)?;
        call.permit(&url)?;
        let is_new = input.new_tab.unwrap_or(false);
        let tab = call.tab_to_go(is_new).await?;
        match go_to(call, &tab, input.wait_until, &url).await {
            // The agent's own tab was closed just now; it gets another.
            Err(error) if error.code == Code::TabClosed && call.may_choose_tab() => {
                call.agent.set_current(&tab.browser, None);
                go_to(call, &call.tab_to_go(true).await?, input.wait_until, &url).await
            }
            gone => gone,
        }
    }
}

macro_rules! travels {
    ($name:ident, $op:literal, $tool:literal, $steps:literal, $about:literal) => {
        pub(crate) struct $name;

        impl Op for $name {
            type Input = TravelInput;
            const NAME: &'static str = $op;
            const TOOL: &'static str = $tool;
            const SET: Set = Set::Core;
            const ACCESS: Access = Access::Act;
            const ABOUT: &'static str = $about;

            async fn run(call: &Call, input: TravelInput) -> Result<Output, OpError> {
                let tab = call.tab().await?;
                let page = call.page_of(&tab).await?;
                let _turn = turn(call, &page).await?;
                go(call, &tab, &page, input.wait_until, page.driver.travel($steps), $op).await
            }
        }
    };
}

input!(TravelInput { wait_until ["waitUntil"]: Option<Until> = "" });

travels!(Back, "back", "browser_navigate_back", -1, "Go back in the tab's history.");
travels!(Forward, "forward", "browser_navigate_forward", 1, "Go forward in the tab's history.");

pub(crate) struct Reload;

input!(ReloadInput {
    ignore_cache: Option<bool> = "fetch everything anew",
    wait_until ["waitUntil"]: Option<Until> = "",
});

impl Op for Reload {
    type Input = ReloadInput;
    const NAME: &'static str = "reload";
    const TOOL: &'static str = "browser_reload";
    const SET: Set = Set::Core;
    const ACCESS: Access = Access::Act;
    const ABOUT: &'static str = "Load the page again.";

    async fn run(call: &Call, input: ReloadInput) -> Result<Output, OpError> {
        let tab = call.tab().await?;
        let page = call.page_of(&tab).await?;
        let _turn = turn(call, &page).await?;
        let reload = page.driver.reload(input.ignore_cache.unwrap_or(false));
        go(call, &tab, &page, input.wait_until, reload, "reload").await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_made_whole() {
        let whole = |text: &str| address(text).map_err(|error| error.message);
        assert_eq!(whole("example.com/a?b"), Ok("https://example.com/a?b".to_owned()));
        assert_eq!(whole("localhost:3000"), Ok("http://localhost:3000".to_owned()));
        assert_eq!(whole("127.0.0.1:8080/x"), Ok("http://127.0.0.1:8080/x".to_owned()));
        assert_eq!(whole("about:blank"), Ok("about:blank".to_owned()));
        assert_eq!(whole(" https://a.b "), Ok("https://a.b".to_owned()));
        assert!(
            whole("").is_err()
                && whole("two words").unwrap_err().contains("two words")
                && whole("word").is_err()
        );
    }
}
