//! Verbs that look at a page.

use serde_json::{Value, json};

use super::arg::{option, optional, switch, word};
use super::wish::{Deliver, Wish, whole};
use super::{Verb, as_it_is};
use crate::clock;
use crate::failure::Failure;

pub(super) const VERBS: &[Verb] = &[
    Verb {
        name: "snapshot",
        op: "snapshot",
        about: "Print the page as text, with refs (e12) to act on",
        examples: &["snapshot -i", "snapshot -s main -d 3", "snapshot --diff"],
        args: &[
            switch("interactive", "interactive", "Only what can be acted on").short('i'),
            switch("compact", "compact", "Leave out structure").short('c'),
            option("depth", "depth", "N", "At most so many levels").short('d').number(),
            option("target", "scope", "TARGET", "Only this part of the page").short('s'),
            switch("diff", "diff", "Only what has changed since your last one"),
            option("max_chars", "max-chars", "N", "Cut the text here").number(),
        ],
        finish: as_it_is,
    },
    Verb {
        name: "find",
        op: "find",
        about: "Find elements by a locator, with their refs",
        examples: &["find 'text=Sign in'", "find 'role=button[name=\"Buy\"]'", "find 'a[href]' --max 5"],
        args: &[
            word("target", "TARGET", "CSS, text=, role=, label=, testid= or xpath="),
            option("max", "max", "N", "At most so many").number(),
        ],
        finish: as_it_is,
    },
    Verb {
        name: "text",
        op: "text",
        about: "Print the page's text to read, or that of an element",
        examples: &["text", "text main", "text --all"],
        args: &[
            optional("target", "TARGET", "Only of this element"),
            switch("all", "all", "All text instead of the article"),
            option("max_chars", "max-chars", "N", "Cut the text here").number(),
        ],
        finish: text,
    },
    Verb {
        name: "get",
        op: "get",
        about: "Print one fact of the page or of an element",
        examples: &["get url", "get text h1", "get attr e5 href", "get count '.item'"],
        args: &[
            word("what", "WHAT", "What to print")
                .one_of(&["text", "html", "url", "title", "value", "attr", "count", "box", "describe"]),
            optional("target", "TARGET", "The element: a ref or a locator"),
            optional("name", "NAME", "Of the attribute"),
        ],
        finish: as_it_is,
    },
    Verb {
        name: "is",
        op: "is",
        about: "Print whether an element is so: true exits 0, false exits 1",
        examples: &["is visible '#done'", "is checked e7 && echo yes"],
        args: &[
            word("what", "WHAT", "How it should be")
                .one_of(&["visible", "enabled", "checked", "editable", "focused"]),
            word("target", "TARGET", "The element: a ref or a locator"),
        ],
        finish: is,
    },
    Verb {
        name: "screenshot",
        op: "screenshot",
        about: "Take a picture of the page, and print where it is",
        examples: &[
            "screenshot page.png",
            "screenshot --full --annotate",
            "screenshot button.png --element e5",
        ],
        args: &[
            optional("path", "FILE", "Where to write it [default: the hub's directory for files]"),
            switch("full", "full", "The whole page, not only what is in view"),
            switch("annotate", "annotate", "With the refs of what can be acted on"),
            option("target", "element", "TARGET", "Only this element"),
            option("format", "format", "FORMAT", "By the file's name if absent")
                .one_of(&["png", "jpeg", "webp"]),
            option("quality", "quality", "PERCENT", "Of jpeg and webp").number(),
            option("max_width", "max-width", "PIXELS", "Scale it down to this").number(),
            option("max_height", "max-height", "PIXELS", "Scale it down to this").number(),
        ],
        finish: screenshot,
    },
    Verb {
        name: "pdf",
        op: "pdf",
        about: "Print the page to a PDF file",
        examples: &["pdf page.pdf", "pdf page.pdf --landscape --format A4"],
        args: &[
            word("path", "FILE", "Where to write it"),
            switch("landscape", "landscape", "Broader than high"),
            switch("plain", "no-background", "Without backgrounds"),
            option("format", "format", "PAPER", "Such as A4 or Letter"),
        ],
        finish: pdf,
    },
    Verb {
        name: "highlight",
        op: "highlight",
        about: "Show in the browser's window which element is meant",
        examples: &["highlight e5", "highlight 'text=Sign in'"],
        args: &[word("target", "TARGET", "The element: a ref or a locator")],
        finish: as_it_is,
    },
    Verb {
        name: "pick",
        op: "pick",
        about: "Let the person choose an element in the browser's window",
        examples: &["pick", "pick --timeout 60s"],
        args: &[],
        finish: as_it_is,
    },
];

fn text(wish: &mut Wish) -> Result<(), Failure> {
    if wish.take_switch("all") {
        wish.set("readable", false);
    }
    Ok(())
}

fn is(wish: &mut Wish) -> Result<(), Failure> {
    wish.deliver = Deliver::Truth;
    Ok(())
}

fn screenshot(wish: &mut Wish) -> Result<(), Failure> {
    let path = wish.take("path");
    if let (Some(path), None) = (&path, wish.input.get("format")) {
        let path = path.to_lowercase();
        let format = [(".jpg", "jpeg"), (".jpeg", "jpeg"), (".webp", "webp")];
        if let Some((_, format)) = format.iter().find(|(ending, _)| path.ends_with(ending)) {
            wish.set("format", *format);
        }
    }
    match path {
        Some(path) => wish.deliver = Deliver::File(whole(&path)),
        None => {
            let ending = wish.input.get("format").and_then(Value::as_str).unwrap_or("png");
            let name = format!("screenshot-{}.{ending}", clock::now());
            wish.set("file", json!(name));
        }
    }
    Ok(())
}

fn pdf(wish: &mut Wish) -> Result<(), Failure> {
    if wish.take_switch("plain") {
        wish.set("background", false);
    }
    if let Some(path) = wish.take("path") {
        wish.deliver = Deliver::File(whole(&path));
    }
    Ok(())
}
