//! Verbs that act on a page.

use serde_json::{Value, json};

use super::arg::{option, optional, options, switch, word, words};
use super::wish::{Wish, whole_text};
use super::{Verb, as_it_is};
use crate::failure::Failure;

const ELEMENT: &str = "A ref of a snapshot (e12), or a locator";

pub(super) const VERBS: &[Verb] = &[
    Verb {
        name: "click",
        op: "click",
        about: "Click an element",
        examples: &["click e5", "click 'text=Sign in'", "click '#row' --double", "click e5 --modifier Shift"],
        args: &[
            word("target", "TARGET", ELEMENT),
            switch("double", "double", "Twice"),
            switch("right", "right", "With the right button"),
            switch("middle", "middle", "With the middle button"),
            options("modifiers", "modifier", "KEY", "Hold Alt, Control, Meta or Shift"),
        ],
        finish: click,
    },
    Verb {
        name: "fill",
        op: "fill",
        about: "Put a value into a field, in place of what is there",
        examples: &["fill e3 ada@example.com", "fill 'label=Search' knots --submit"],
        args: &[
            word("target", "TARGET", ELEMENT),
            word("value", "VALUE", "What to put there"),
            switch("submit", "submit", "Press Enter afterwards"),
        ],
        finish: as_it_is,
    },
    Verb {
        name: "type",
        op: "type",
        about: "Type text into an element, replacing what is in it, or where the focus is",
        examples: &["type 'Hello'", "type e3 'Hello' --submit"],
        args: &[
            words("words", "[TARGET] TEXT", 1, 2, "The element if not the one in focus, and the text"),
            switch("slowly", "slowly", "Key by key, for pages that listen to keys"),
            switch("submit", "submit", "Press Enter afterwards"),
        ],
        finish: type_text,
    },
    Verb {
        name: "press",
        op: "press_key",
        about: "Press a key, or several at once",
        examples: &["press Enter", "press Control+A", "press Escape --on e3"],
        args: &[
            word("key", "KEY", "Such as Enter, ArrowDown or Control+A"),
            option("target", "on", "TARGET", "Focus this element first"),
        ],
        finish: as_it_is,
    },
    Verb {
        name: "hover",
        op: "hover",
        about: "Move the mouse over an element",
        examples: &["hover e5"],
        args: &[word("target", "TARGET", ELEMENT)],
        finish: as_it_is,
    },
    Verb {
        name: "drag",
        op: "drag",
        about: "Drag an element to another",
        examples: &["drag e5 e9"],
        args: &[word("from", "FROM", ELEMENT), word("to", "TO", "The element to drop it on")],
        finish: as_it_is,
    },
    Verb {
        name: "select",
        op: "select_option",
        about: "Choose options of a select",
        examples: &["select e4 Austria", "select '#toppings' ham cheese"],
        args: &[
            word("target", "TARGET", ELEMENT),
            words("values", "VALUE", 1, 100, "Values or labels of the options"),
        ],
        finish: as_it_is,
    },
    Verb {
        name: "check",
        op: "check",
        about: "Check a checkbox, switch or radio button",
        examples: &["check e6"],
        args: &[word("target", "TARGET", ELEMENT)],
        finish: |wish| {
            wish.set("checked", true);
            Ok(())
        },
    },
    Verb {
        name: "uncheck",
        op: "check",
        about: "Uncheck a checkbox or switch",
        examples: &["uncheck e6"],
        args: &[word("target", "TARGET", ELEMENT)],
        finish: |wish| {
            wish.set("checked", false);
            Ok(())
        },
    },
    Verb {
        name: "scroll",
        op: "scroll",
        about: "Scroll the page, or to an element",
        examples: &["scroll", "scroll up 300", "scroll bottom", "scroll e20"],
        args: &[
            optional("where", "WHERE", "up, down, left, right, top, bottom, or an element [default: down]"),
            optional("amount", "PIXELS", "How far").number(),
            option("target", "in", "TARGET", "In this element"),
        ],
        finish: scroll,
    },
    Verb {
        name: "upload",
        op: "upload",
        about: "Choose files for a file field",
        examples: &["upload e8 ./photo.png", "upload 'input[type=file]' a.pdf b.pdf"],
        args: &[word("target", "TARGET", ELEMENT), words("files", "FILE", 1, 100, "The files")],
        finish: upload,
    },
    Verb {
        name: "dialog",
        op: "dialog",
        about: "Answer the dialog that a page has opened",
        examples: &["dialog accept", "dialog accept 'my answer'", "dialog dismiss"],
        args: &[
            word("answer", "accept|dismiss", "Yes or no").one_of(&["accept", "dismiss"]),
            optional("text", "TEXT", "What a prompt asks for"),
        ],
        finish: |wish| {
            let accept = wish.take("answer").as_deref() == Some("accept");
            wish.set("accept", accept);
            Ok(())
        },
    },
];

fn click(wish: &mut Wish) -> Result<(), Failure> {
    if wish.take_switch("double") {
        wish.set("count", 2);
    }
    match (wish.take_switch("right"), wish.take_switch("middle")) {
        (true, true) => return Err(Failure::usage("--right and --middle are two buttons; one at a time")),
        (true, false) => wish.set("button", "right"),
        (false, true) => wish.set("button", "middle"),
        (false, false) => {}
    }
    Ok(())
}

fn type_text(wish: &mut Wish) -> Result<(), Failure> {
    let mut words = wish.take_words("words").into_iter();
    match (words.next(), words.next()) {
        (Some(target), Some(text)) => {
            wish.set("target", target);
            wish.set("text", text);
        }
        (text, _) => wish.set("text", text.unwrap_or_default()),
    }
    Ok(())
}

fn scroll(wish: &mut Wish) -> Result<(), Failure> {
    let place = wish.take("where").unwrap_or_else(|| "down".to_owned());
    match place.as_str() {
        "up" | "down" | "left" | "right" => wish.set("direction", place),
        "top" | "bottom" => wish.set("to", place),
        _ if wish.input.contains_key("target") => {
            return Err(Failure::usage(format!("`{place}` is no direction"))
                .hint("with --in it is up, down, left, right, top or bottom"));
        }
        _ => wish.set("target", place),
    }
    Ok(())
}

fn upload(wish: &mut Wish) -> Result<(), Failure> {
    let files: Vec<Value> = wish.take_words("files").iter().map(|file| whole_text(file)).collect();
    wish.set("files", json!(files));
    Ok(())
}
