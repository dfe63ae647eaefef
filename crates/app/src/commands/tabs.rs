//! `bowline tabs`: the tabs of a browser, and how much is remembered of each. Starts no browser.

use bowline_doors::history::model::{Kept, TabStatus, Tabs};

use super::Context;
use super::history::{Place, Query};
use crate::api::Api;
use crate::cli::TabsArgs;
use crate::failure::Failure;
use crate::output::table;
use crate::safe_text::one_line;

/// Enough to name a tab.
const ID_LENGTH: usize = 8;

pub(super) fn run(context: &Context<'_>, args: &TabsArgs) -> Result<(), Failure> {
    let mut place = Place::of(&args.place, None)?;
    let way = place.way(context)?;
    let tabs: Tabs = context.block_on(async {
        let api = Api::new(way.state());
        let mut query = Query::default();
        query.set_if("closed", args.all);
        let path = place.scope(&api).await?.in_browser("tabs", &query);
        api.get(&path).await
    })?;
    if !tabs.running && !context.output.is_json() {
        context.output.faint(format!("({} does not run)", place.browser()));
    }
    context.output.result(&tabs, |tabs| text(tabs, args.all));
    Ok(())
}

fn text(tabs: &Tabs, all: bool) -> String {
    if tabs.tabs.is_empty() {
        return "No tab is open.".to_owned();
    }
    let mut header = vec!["INDEX", "ID", "TITLE", "URL", "CONSOLE", "REQUESTS"];
    if all {
        header.push("STATE");
    }
    table(&header, tabs.tabs.iter().map(|tab| row(tab, all)).collect())
}

fn row(tab: &TabStatus, all: bool) -> Vec<String> {
    let mut row = vec![
        tab.index.map_or_else(|| "-".to_owned(), |index| index.to_string()),
        tab.id.chars().take(ID_LENGTH).collect(),
        one_line(&tab.title).into_owned(),
        one_line(&tab.url).into_owned(),
        kept(tab.console),
        kept(tab.network),
    ];
    if all {
        row.push(state(tab));
    }
    row
}

fn kept(kept: Kept) -> String {
    match kept.dropped {
        0 => kept.count.to_string(),
        dropped => format!("{} (+{dropped} dropped)", kept.count),
    }
}

fn state(tab: &TabStatus) -> String {
    let state = if tab.open { "open" } else { "closed" };
    if tab.kind == "page" { state.to_owned() } else { format!("{state} {}", tab.kind) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_closed_or_a_worker_is_marked() {
        let tab = TabStatus {
            index: Some(1),
            id: "0123456789ABCDEF".to_owned(),
            browser: "default".to_owned(),
            kind: "page".to_owned(),
            title: "A\ttitle".to_owned(),
            url: "http://a/".to_owned(),
            open: true,
            opened_at: 0.0,
            closed_at: None,
            reason: None,
            navigations: 1,
            console: Kept { count: 2, dropped: 3 },
            network: Kept { count: 4, dropped: 0 },
            connection_id: None,
        };
        assert_eq!(row(&tab, false), ["1", "01234567", "A\\x09title", "http://a/", "2 (+3 dropped)", "4"]);
        let closed = TabStatus { index: None, open: false, ..tab.clone() };
        assert_eq!(row(&closed, true)[0], "-");
        assert_eq!(row(&closed, true)[6], "closed");
        let worker = TabStatus { kind: "service_worker".to_owned(), ..tab };
        assert_eq!(row(&worker, true)[6], "open service_worker");
    }
}
