//! Which tabs a path means: all of a browser's, one by index, id, address or title, or that of a connection.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use bowline_hub::browser::Place;
use bowline_hub::recorder::store::{Store, Tab, TabKey};
use bowline_hub::{Browser, Hub};
use bowline_wire::TargetId;
use serde_json::json;

use super::model::{Kept, TabStatus};
use crate::failure::Failure;

/// The word for the tab that was opened last.
pub(super) const CURRENT: &str = "current";
/// A longer number may be the beginning of an id.
const INDEX_DIGITS: usize = 3;
const PATIENCE: Duration = Duration::from_secs(10);

/// What a path means, by name. Looked up anew each time, since tabs come and go.
#[derive(Debug, Clone)]
pub(crate) enum Scope {
    Browser(String),
    Tab { browser: String, key: TabKey },
    Connection { id: String, browser: String, target: TargetId },
}

impl Scope {
    pub(crate) fn browser(&self) -> &str {
        match self {
            Self::Browser(browser) | Self::Tab { browser, .. } | Self::Connection { browser, .. } => browser,
        }
    }

    pub(crate) fn connection(&self) -> Option<&str> {
        match self {
            Self::Connection { id, .. } => Some(id),
            _ => None,
        }
    }

    /// The one tab that is meant, without the workers it has a part in.
    pub(crate) fn tab<'a>(&self, store: &'a Store) -> Option<&'a Tab> {
        match self {
            Self::Browser(_) => None,
            Self::Tab { key, .. } => store.tab(*key),
            Self::Connection { browser, target, .. } => store.find(browser, target),
        }
    }

    pub(crate) fn keys(&self, store: &Store) -> Vec<TabKey> {
        match self {
            Self::Browser(browser) => {
                store.tabs().filter(|tab| tab.browser == *browser).map(|tab| tab.key).collect()
            }
            _ => {
                let tab = self.tab(store);
                tab.map(|tab| std::iter::once(tab.key).chain(tab.workers.iter().copied()).collect())
                    .unwrap_or_default()
            }
        }
    }
}

/// All tabs of a browser that is known.
pub(crate) fn of_browser(hub: &Hub, name: &str) -> Result<Scope, Failure> {
    hub.browser(name)?;
    if !hub.recorder().records(name) {
        return Err(recorder_off(name));
    }
    Ok(Scope::Browser(name.to_owned()))
}

/// One tab of a browser, open or not. Starts nothing.
pub(crate) async fn of_tab(hub: &Hub, name: &str, word: &str) -> Result<Scope, Failure> {
    of_browser(hub, name)?;
    refresh(hub, name, word).await;
    let store = hub.recorder().store();
    let tabs: Vec<TabStatus> = listed(&store, name, true);
    let found = choose(&tabs, word)?;
    let tab = store.find(name, &TargetId::new(found.id.as_str()));
    let key = tab.map(|tab| tab.key).ok_or_else(|| no_such_tab(word, &tabs))?;
    Ok(Scope::Tab { browser: name.to_owned(), key })
}

pub(crate) fn of_connection(hub: &Hub, id: &str, client: Option<&str>) -> Result<Scope, Failure> {
    let connection = hub.connections().get(id).ok_or_else(|| no_such_connection(id))?;
    hub.connections().used(id, client);
    Ok(Scope::Connection { id: connection.id, browser: connection.browser, target: connection.target })
}

pub(crate) fn no_such_connection(id: &str) -> Failure {
    let message = format!("there is no connection `{id}`");
    let hint = "GET /api/connections lists them; POST /api/connect makes one";
    Failure::new(StatusCode::NOT_FOUND, "no_such_connection", &message, hint)
}

pub(crate) fn recorder_off(name: &str) -> Failure {
    let message = format!("browser `{name}` is not recorded");
    let hint = "set recorder.enabled = true (or browsers.NAME.recorder.enabled) and restart the hub";
    Failure::new(StatusCode::CONFLICT, "recorder_off", &message, hint)
}

/// What is remembered of a browser's tabs: the open pages in the order in which they were opened, then,
/// if `all` are wanted, workers and what has closed.
pub(crate) fn listed(store: &Store, browser: &str, all: bool) -> Vec<TabStatus> {
    let of_browser = || store.tabs().filter(|tab| tab.browser == browser);
    let is_listed = |tab: &&Tab| tab.is_open() && tab.is_page();
    let open = of_browser().filter(is_listed).enumerate();
    let mut tabs: Vec<TabStatus> = open.map(|(at, tab)| status(tab, Some(at + 1))).collect();
    if all {
        tabs.extend(of_browser().filter(|tab| !is_listed(tab)).map(|tab| status(tab, None)));
    }
    tabs
}

fn status(tab: &Tab, index: Option<usize>) -> TabStatus {
    TabStatus {
        index,
        id: tab.target.to_string(),
        browser: tab.browser.clone(),
        kind: tab.kind.clone(),
        title: tab.title.clone(),
        url: tab.url.clone(),
        open: tab.is_open(),
        opened_at: tab.opened_at,
        closed_at: tab.closed.as_ref().map(|closed| closed.at),
        reason: tab.closed.as_ref().map(|closed| closed.reason.clone()),
        navigations: tab.navigations,
        console: Kept { count: tab.console.len(), dropped: tab.console_dropped },
        network: Kept { count: tab.network.len(), dropped: tab.network_dropped },
        connection_id: None,
    }
}

/// Asks the browser for the titles of its tabs, which it does not tell by itself when a page changes its
/// own. Left out where the tab is meant by its place.
pub(crate) async fn refresh(hub: &Hub, browser: &str, word: &str) {
    if word == CURRENT || word.parse::<usize>().is_ok() || !hub.recorder().records(browser) {
        return;
    }
    let Some(place) = hub.browser(browser).ok().and_then(|browser| browser.snapshot().place()) else {
        return;
    };
    // A browser that does not answer has no better titles.
    let Ok(found) = place.speech.pages(PATIENCE).await else { return };
    let mut store = hub.recorder().store();
    for info in found {
        let Some(tab) = store.find(browser, &info.target_id) else { continue };
        if tab.title != info.title || tab.url != info.url {
            let key = tab.key;
            store.change(key, |tab| {
                tab.title = info.title;
                tab.url = info.url;
            });
        }
    }
}

/// The tabs of a browser that runs but is not recorded, as it lists them itself.
pub(crate) async fn listed_by(place: &Place, browser: &str) -> Result<Vec<TabStatus>, Failure> {
    let found = place.speech.pages(PATIENCE).await;
    let found = found.map_err(|error| {
        let hint = "try again; the browser is started anew";
        Failure::new(StatusCode::SERVICE_UNAVAILABLE, "gone", &error.to_string(), hint)
    })?;
    let tabs = found.into_iter().enumerate().map(|(at, info)| TabStatus {
        index: Some(at + 1),
        id: info.target_id.to_string(),
        browser: browser.to_owned(),
        kind: info.kind,
        title: info.title,
        url: info.url,
        open: true,
        opened_at: 0.0,
        closed_at: None,
        reason: None,
        navigations: 0,
        console: Kept::default(),
        network: Kept::default(),
        connection_id: None,
    });
    Ok(tabs.collect())
}

/// An open tab of a browser, which is launched if it does not run.
pub(crate) async fn open_tab(
    hub: &Hub,
    browser: &Arc<Browser>,
    word: &str,
) -> Result<(Place, TargetId), Failure> {
    let place = browser.ready().await?;
    let name = browser.name();
    let tabs = if hub.recorder().records(name) {
        refresh(hub, name, word).await;
        listed(&hub.recorder().store(), name, true).into_iter().filter(|tab| tab.open).collect()
    } else {
        listed_by(&place, name).await?
    };
    let found = choose(&tabs, word)?;
    Ok((place, TargetId::new(found.id.as_str())))
}

/// The same for a tab that is known by its id. Where the recorder sees it open, the browser is not asked for its tabs.
pub(crate) async fn open_target(
    hub: &Hub,
    browser: &Arc<Browser>,
    target: TargetId,
) -> Result<(Place, TargetId), Failure> {
    let place = browser.ready().await?;
    let name = browser.name();
    let is_open = hub.recorder().records(name)
        && hub.recorder().store().find(name, &target).is_some_and(|tab| tab.is_open());
    match is_open {
        true => Ok((place, target)),
        false => open_tab(hub, browser, target.as_str()).await,
    }
}

/// The tab that a word means: an index, `current`, the beginning of an id, or a part of address or
/// title, in this order; pages that are open before everything else.
fn choose<'a>(tabs: &'a [TabStatus], word: &str) -> Result<&'a TabStatus, Failure> {
    if word == CURRENT {
        let last = tabs.iter().filter(|tab| tab.index.is_some()).max_by_key(|tab| tab.index);
        return last.ok_or_else(|| no_such_tab(word, tabs));
    }
    if let Some(tab) = word.parse().ok().and_then(|index| tabs.iter().find(|tab| tab.index == Some(index))) {
        return Ok(tab);
    }
    // A number that is no index is not looked for in addresses: what is done there would be done elsewhere.
    if word.len() <= INDEX_DIGITS && word.parse::<usize>().is_ok() {
        return Err(no_such_tab(word, tabs));
    }
    let lower = word.to_lowercase();
    let by_id = |tab: &TabStatus| tab.id.to_lowercase().starts_with(&lower);
    let by_text = |tab: &TabStatus| {
        tab.url.to_lowercase().contains(&lower) || tab.title.to_lowercase().contains(&lower)
    };
    for fits in [&by_id as &dyn Fn(&TabStatus) -> bool, &by_text] {
        for is_open_page in [true, false] {
            let found: Vec<&TabStatus> = tabs
                .iter()
                .filter(|tab| !word.is_empty() && tab.index.is_some() == is_open_page && fits(tab))
                .collect();
            match found.as_slice() {
                [] => {}
                [only] => return Ok(only),
                [..] if found.iter().any(|tab| tab.id.eq_ignore_ascii_case(word)) => {
                    let exact = found.into_iter().find(|tab| tab.id.eq_ignore_ascii_case(word));
                    return exact.ok_or_else(|| no_such_tab(word, tabs));
                }
                [..] => return Err(ambiguous(word, &found)),
            }
        }
    }
    Err(no_such_tab(word, tabs))
}

fn ambiguous(word: &str, found: &[&TabStatus]) -> Failure {
    let message = format!("`{word}` may mean {} tabs", found.len());
    let hint = "name it by its index or by more of its id, address or title";
    Failure::new(StatusCode::CONFLICT, "ambiguous_tab", &message, hint).with("candidates", candidates(found))
}

fn no_such_tab(word: &str, tabs: &[TabStatus]) -> Failure {
    let open: Vec<&TabStatus> = tabs.iter().filter(|tab| tab.index.is_some()).collect();
    let (message, hint) = if open.is_empty() {
        let hint = "`bowline cdp Target.createTarget '{\"url\":\"about:blank\"}'` opens one";
        (format!("there is no tab `{word}`: none is open"), hint)
    } else {
        (format!("there is no tab `{word}`"), "`bowline tabs` lists them")
    };
    Failure::new(StatusCode::NOT_FOUND, "no_such_tab", &message, hint).with("candidates", candidates(&open))
}

fn candidates(tabs: &[&TabStatus]) -> serde_json::Value {
    let tab =
        |tab: &&TabStatus| json!({"index": tab.index, "id": tab.id, "title": tab.title, "url": tab.url});
    tabs.iter().take(20).map(tab).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tab(index: Option<usize>, id: &str, url: &str, title: &str) -> TabStatus {
        TabStatus {
            index,
            id: id.to_owned(),
            browser: "default".to_owned(),
            kind: "page".to_owned(),
            title: title.to_owned(),
            url: url.to_owned(),
            open: index.is_some(),
            opened_at: 0.0,
            closed_at: None,
            reason: None,
            navigations: 0,
            console: Kept::default(),
            network: Kept::default(),
            connection_id: None,
        }
    }

    #[test]
    fn a_tab_is_found_by_index_id_address_and_title() {
        let tabs = [
            tab(Some(1), "AB12", "http://one.test/", "Home"),
            tab(Some(2), "AC34", "http://two.test/cart", "Cart"),
            tab(None, "AD56", "http://three.test/cart", "Old"),
        ];
        let id = |word: &str| choose(&tabs, word).ok().map(|tab| tab.id.clone());
        assert_eq!(id("1").as_deref(), Some("AB12"));
        assert_eq!(id("current").as_deref(), Some("AC34"));
        assert_eq!(id("ac").as_deref(), Some("AC34"));
        assert_eq!(id("cart").as_deref(), Some("AC34"), "open ones come first");
        assert_eq!(id("three").as_deref(), Some("AD56"), "closed ones are found too");
        assert_eq!(id("HOME").as_deref(), Some("AB12"));
        assert!(choose(&tabs, "test").is_err(), "two open ones fit");
        assert!(choose(&tabs, "a").is_err());
        assert!(choose(&tabs, "9").is_err());
        assert!(choose(&tabs, "").is_err());
        assert!(choose(&[], "current").is_err());
    }
}
