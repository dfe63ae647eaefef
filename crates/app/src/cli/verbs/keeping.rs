//! Verbs for what a browser keeps, for what a page is made to believe, and for any op by its name.

use std::io::Read;

use serde_json::{Map, Value, json};

use super::arg::{option, options, word, words};
use super::wish::{Wish, pair, whole_text};
use super::{Verb, as_it_is};
use crate::failure::Failure;

pub(super) const VERBS: &[Verb] = &[
    Verb {
        name: "cookies",
        op: "cookies",
        about: "List, set and delete cookies",
        examples: &["cookies", "cookies set theme dark", "cookies delete theme", "cookies clear"],
        args: &[
            words("words", "ACTION", 0, 3, "list, set NAME VALUE, delete NAME, or clear [default: list]"),
            option("url", "url", "URL", "Of the page if absent"),
            option("domain", "domain", "DOMAIN", "To which it belongs"),
            option("path", "path", "PATH", "To which it belongs"),
        ],
        finish: cookies,
    },
    Verb {
        name: "storage",
        op: "storage",
        about: "Read and change the page's local or session storage",
        examples: &[
            "storage local",
            "storage local get cart",
            "storage session set step 2",
            "storage local clear",
        ],
        args: &[
            word("kind", "local|session", "Which storage").one_of(&["local", "session"]),
            words(
                "words",
                "ACTION",
                0,
                3,
                "get KEY, set KEY VALUE, remove KEY, or clear; all is listed if absent",
            ),
        ],
        finish: storage,
    },
    Verb {
        name: "state",
        op: "save_state",
        about: "Save cookies and storage to a file, and load them again",
        examples: &["state save login.json", "state load login.json --browser work"],
        args: &[
            word("action", "save|load", "What to do").one_of(&["save", "load"]),
            word("path", "FILE", "The file; it has secrets in it"),
        ],
        finish: state,
    },
    Verb {
        name: "emulate",
        op: "emulate",
        about: "Make the page believe something: a device, a place, a slow network",
        examples: &[
            "emulate device='iPhone 15'",
            "emulate color_scheme=dark locale=de-DE",
            "ops emulate       what there is",
        ],
        args: &[words("pairs", "NAME=VALUE", 1, 50, "Fields of the op; values may be JSON, null undoes")],
        finish: |wish| pairs(wish, "pairs"),
    },
    Verb {
        name: "resize",
        op: "resize",
        about: "Resize the page",
        examples: &["resize 1280 720"],
        args: &[word("width", "WIDTH", "In pixels").number(), word("height", "HEIGHT", "In pixels").number()],
        finish: as_it_is,
    },
    Verb {
        name: "fetch",
        op: "fetch",
        about: "Fetch an address as the page would, with its cookies",
        examples: &[
            "fetch /api/me",
            "fetch https://example.com/api -X POST -d '{\"a\": 1}' -H 'Accept: text/plain'",
        ],
        args: &[
            word("url", "URL", "The address"),
            option("method", "method", "METHOD", "GET if there is no body").short('X'),
            options("header", "header", "NAME: VALUE", "A header; may be repeated").short('H'),
            option("body", "data", "BODY", "What to send").short('d'),
        ],
        finish: fetch,
    },
    Verb {
        name: "run",
        op: "",
        about: "Run any op by its name (`bowline ops` lists them)",
        examples: &[
            "run evaluate '{\"expression\": \"1 + 1\"}'",
            "run scroll to=bottom",
            "echo '{}' | bowline run reload -",
        ],
        args: &[
            word("op", "OP", "The op, or the name of its tool"),
            words("pairs", "JSON|NAME=VALUE", 0, 50, "Its fields: an object, `-` for one on stdin, or pairs"),
        ],
        finish: run,
    },
];

fn cookies(wish: &mut Wish) -> Result<(), Failure> {
    let words = wish.take_words("words");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (action, name, value) = match words.as_slice() {
        [] | ["list"] => ("list", None, None),
        ["set", name, value] => ("set", Some(*name), Some(*value)),
        ["delete" | "remove", name] => ("delete", Some(*name), None),
        ["clear"] => ("clear", None, None),
        _ => {
            let hint = "cookies list, cookies set NAME VALUE, cookies delete NAME or cookies clear";
            return Err(
                Failure::usage(format!("cookies: `{}` is not understood", words.join(" "))).hint(hint)
            );
        }
    };
    wish.set("action", action);
    for (field, value) in [("name", name), ("value", value)] {
        if let Some(value) = value {
            wish.set(field, value);
        }
    }
    Ok(())
}

fn storage(wish: &mut Wish) -> Result<(), Failure> {
    let words = wish.take_words("words");
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] | ["list"] => {}
        ["get", key] => wish.set("get", *key),
        ["set", key, value] => wish.set("set", Map::from_iter([((*key).to_owned(), json!(value))])),
        ["remove" | "delete", key] => wish.set("remove", *key),
        ["clear"] => wish.set("clear", true),
        _ => {
            let hint = "storage local get KEY, set KEY VALUE, remove KEY or clear";
            return Err(
                Failure::usage(format!("storage: `{}` is not understood", words.join(" "))).hint(hint)
            );
        }
    }
    Ok(())
}

fn state(wish: &mut Wish) -> Result<(), Failure> {
    if wish.take("action").as_deref() == Some("load") {
        wish.op = "load_state".to_owned();
    }
    let path = wish.take("path").unwrap_or_default();
    wish.set("file", whole_text(&path));
    Ok(())
}

fn fetch(wish: &mut Wish) -> Result<(), Failure> {
    let mut headers = Map::new();
    for header in wish.take_words("header") {
        let Some((name, value)) = header.split_once(':') else {
            return Err(Failure::usage(format!("`{header}` is no header")).hint("write it as NAME: VALUE"));
        };
        headers.insert(name.trim().to_owned(), json!(value.trim()));
    }
    if !headers.is_empty() {
        wish.set("headers", headers);
    }
    if wish.input.contains_key("body") && !wish.input.contains_key("method") {
        wish.set("method", "POST");
    }
    Ok(())
}

fn run(wish: &mut Wish) -> Result<(), Failure> {
    wish.op = wish.take("op").unwrap_or_default();
    let words = wish.take_words("pairs");
    let object = match words.as_slice() {
        [stdin] if stdin == "-" => {
            let mut text = String::new();
            std::io::stdin()
                .read_to_string(&mut text)
                .map_err(|error| Failure::io("the fields on stdin", &error))?;
            text
        }
        [object] if object.trim_start().starts_with('{') => object.clone(),
        _ => {
            wish.set("pairs", words);
            return pairs(wish, "pairs");
        }
    };
    let object: Map<String, Value> = serde_json::from_str(&object).map_err(|error| {
        Failure::usage(format!("the fields are no JSON object: {error}"))
            .hint("such as '{\"target\": \"e5\"}'")
    })?;
    wish.input.extend(object);
    Ok(())
}

fn pairs(wish: &mut Wish, field: &str) -> Result<(), Failure> {
    for text in wish.take_words(field) {
        let Some((name, value)) = pair(&wish.op, &text) else {
            return Err(Failure::usage(format!("`{text}` is no field")).hint("write it as NAME=VALUE"));
        };
        wish.set(name, value);
    }
    Ok(())
}
