//! Verbs that go somewhere, wait, and choose tabs.

use serde_json::json;

use super::arg::{option, optional, switch, word, words};
use super::wish::{Wish, whole_text};
use super::{Verb, as_it_is};
use crate::failure::Failure;

pub(super) const VERBS: &[Verb] = &[
    Verb {
        name: "open",
        op: "navigate",
        about: "Go to an address, in the session's tab",
        examples: &["open example.com", "open localhost:3000 --new", "open ./page.html --session tests"],
        args: &[
            word("url", "URL", "The address; https:// may be left out"),
            switch("new_tab", "new", "In a new tab"),
            option("wait_until", "wait-until", "WHEN", "How far it must be").one_of(&[
                "load",
                "domcontentloaded",
                "networkidle",
                "commit",
            ]),
        ],
        finish: open,
    },
    Verb {
        name: "back",
        op: "back",
        about: "Go back in the tab's history",
        examples: &["back"],
        args: &[],
        finish: as_it_is,
    },
    Verb {
        name: "forward",
        op: "forward",
        about: "Go forward in the tab's history",
        examples: &["forward"],
        args: &[],
        finish: as_it_is,
    },
    Verb {
        name: "reload",
        op: "reload",
        about: "Load the page again",
        examples: &["reload", "reload --ignore-cache"],
        args: &[switch("ignore_cache", "ignore-cache", "Fetch everything anew")],
        finish: as_it_is,
    },
    Verb {
        name: "wait",
        op: "wait_for",
        about: "Wait for time, an element, text, an address, loading or a condition",
        examples: &[
            "wait 500",
            "wait '#done'",
            "wait --text 'Order placed'",
            "wait --idle",
            "wait --fn 'window.ready'",
        ],
        args: &[
            optional("for", "MS|TARGET", "So many milliseconds, or for an element"),
            option("target", "for", "TARGET", "For an element"),
            option("state", "state", "STATE", "Of the element")
                .one_of(&["visible", "attached", "hidden", "detached"]),
            option("text", "text", "TEXT", "For text to appear"),
            option("gone", "gone", "TEXT", "For text to disappear"),
            option("url", "url", "URL", "For the address: a part of it, or with * for anything"),
            switch("loaded", "load", "Until the page has loaded"),
            switch("idle", "idle", "Until nothing is fetched any more"),
            option("expression", "fn", "EXPRESSION", "Until it is true"),
        ],
        finish: wait,
    },
    Verb {
        name: "tab",
        op: "tabs",
        about: "List, open, choose, close and hand over the session's tabs",
        examples: &[
            "tab",
            "tab new example.com --label shop",
            "tab t2",
            "tab shop",
            "tab close t2",
            "tab take t1              from another session",
            "tab release t1",
        ],
        args: &[
            words(
                "words",
                "ACTION",
                0,
                2,
                "list, new URL, close TAB, take TAB, release TAB, or a tab to choose [default: list]",
            ),
            option("label", "label", "NAME", "Your name for it, with `new` or a tab"),
        ],
        finish: tab,
    },
];

fn open(wish: &mut Wish) -> Result<(), Failure> {
    // What looks like a file here is one of the caller's.
    let url = wish.input["url"].as_str().unwrap_or_default();
    if url.starts_with("./") || url.starts_with("../") {
        let path = whole_text(url);
        wish.set("url", path);
    }
    Ok(())
}

fn wait(wish: &mut Wish) -> Result<(), Failure> {
    match (wish.take("for"), wish.input.contains_key("target")) {
        (None, _) => {}
        (Some(word), is_told) => match (word.parse::<f64>(), is_told) {
            (Ok(ms), _) => wish.set("time", ms / 1000.0),
            (Err(_), false) => wish.set("target", word),
            (Err(_), true) => return Err(Failure::usage("two elements to wait for; one at a time")),
        },
    }
    let (loaded, idle) = (wish.take_switch("loaded"), wish.take_switch("idle"));
    if loaded || idle {
        wish.set("load", if idle { "networkidle" } else { "load" });
    }
    if wish.input.is_empty() {
        return Err(Failure::usage("nothing to wait for")
            .hint("such as bowline wait 500, or bowline wait --text Done"));
    }
    Ok(())
}

fn tab(wish: &mut Wish) -> Result<(), Failure> {
    let words = wish.take_words("words");
    let mut words = words.iter().map(String::as_str);
    let (first, second) = (words.next().unwrap_or("list"), words.next());
    let (action, field, value) = match (first, second) {
        ("list" | "ls", None) => ("list", "tab", None),
        ("new", url) => ("new", "url", url),
        ("select", tab) => ("select", "tab", tab),
        (action @ ("close" | "take" | "release"), tab) => (action, "tab", tab),
        (tab, None) => ("select", "tab", Some(tab)),
        (_, Some(extra)) => {
            let hint = "tab list, tab new URL, tab close TAB, tab take TAB, tab release TAB, or tab TAB";
            return Err(Failure::usage(format!("unexpected `{extra}`")).hint(hint));
        }
    };
    wish.set("action", action);
    if let Some(value) = value {
        wish.set(field, json!(value));
    }
    Ok(())
}
