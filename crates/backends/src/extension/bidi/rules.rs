//! The person's rules for BiDi: what a client may ask. A refusal says which rule it was and how to change it.
//!
//! `policy.rs` has what is the same for both protocols: addresses, and the words of a refusal.

use bowline_wire::bidi::Asker;
use bowline_wire::relay::{Mode, Policy};
use serde_json::Value;

use crate::extension::policy::{as_read, is_locked, refused_address, refused_reading, told};

/// Where the ops keep their page script. Nothing but the hub's own code runs there, as long as an op asks; what it evaluates
/// puts the script there or looks, and what it does, it does by functions and input.
const SANDBOX: &str = "bowline";
/// How they measure a page before they picture it.
const MEASURE: &str = "(() => { const v = visualViewport, d = document.documentElement; return [v.pageLeft, v.pageTop, v.width, v.height, d.scrollWidth, d.scrollHeight]; })()";
/// The functions of the page script that change nothing.
const LOOKING: [&str; 20] = [
    "snapshot",
    "find",
    "similar",
    "describe",
    "at",
    "info",
    "hits",
    "inner",
    "isFocused",
    "options",
    "state",
    "text",
    "html",
    "forms",
    "structure",
    "elements",
    "search",
    "has",
    "watch",
    "changes",
];

/// What else they call there: an element by its number, the elements that are frames, a picture made smaller.
const HELPERS: [&str; 3] = ["api.node(", "api.frameElements(", "createImageBitmap("];

const PAUSED: &str = "The person has paused agents in this browser. Nothing is done until they resume it in the Bowline extension's popup.";

/// Why a client may not ask this: `None` if it may. What it aims at is there for it.
pub(super) fn refused(policy: &Policy, asker: &Asker, method: &str, params: &Value) -> Option<String> {
    let module = method.split('.').next().unwrap_or_default();
    // The hub asks for titles there, too, for whoever lists tabs.
    if !asker.is_op && names_our_sandbox(params) && params["expression"] != "document.title" {
        return Some(format!("sandboxes whose names begin with `{SANDBOX}` are the hub's own"));
    }
    if policy.paused && module != "session" && method != "browsingContext.getTree" {
        return Some(PAUSED.to_owned());
    }
    if policy.read_only && !is_reading(asker, method, params) {
        return Some(refused_reading(method));
    }
    let url = params["url"].as_str();
    match method {
        "browsingContext.create" if policy.no_new_tabs => {
            Some(told("agents may not open tabs", "no new tabs"))
        }
        "browsingContext.navigate" | "network.continueRequest" => {
            url.and_then(|url| closed_address(policy, url))
        }
        "input.setFiles" if !policy.allow_files => {
            Some(told("input.setFiles hands files of this computer to a page", "allow files"))
        }
        "storage.getCookies" if !policy.allow_cookies && params["partition"]["context"].is_null() => {
            Some(told("storage.getCookies without a page reaches the cookies of every site", "allow cookies"))
        }
        "storage.setCookie" if !policy.allow_cookies => {
            Some(told("storage.setCookie can change the logins of any site", "allow cookies"))
        }
        "storage.deleteCookies" if !policy.allow_cookies => {
            Some(told("storage.deleteCookies can end the logins of any site", "allow cookies"))
        }
        // It would run in pages that are closed to whoever wrote it.
        "script.addPreloadScript" if !has_all_pages_open(policy) => Some(told(
            "script.addPreloadScript runs in every page, and not every page is open to agents",
            "allowed and denied sites, manual mode",
        )),
        _ if module == "webExtension" => {
            Some(format!("{method} is not for agents in a person's own browser"))
        }
        _ => None,
    }
}

/// Requests of the hub's own sandboxes are trusted to stay at their site; other code must not run there.
fn names_our_sandbox(params: &Value) -> bool {
    let named = [&params["sandbox"], &params["target"]["sandbox"]].into_iter().filter_map(Value::as_str);
    let realm = params["target"]["realm"].as_str().and_then(|realm| realm.split_once(":sandbox:"));
    named.chain(realm.map(|(_, name)| name)).any(|name| name.starts_with(SANDBOX))
}

/// Whether there is no page that is closed to agents.
pub(super) fn has_all_pages_open(policy: &Policy) -> bool {
    !is_locked(policy) && policy.mode == Mode::Auto
}

/// Why an address must not be gone to. Firefox keeps its settings on pages that begin with `about:`.
pub(super) fn closed_address(policy: &Policy, url: &str) -> Option<String> {
    let read = as_read(url).to_ascii_lowercase();
    let is_blank = matches!(read.split(['?', '#']).next(), Some("" | "about:blank"));
    if !is_blank && read.starts_with("about:") {
        return Some("about: pages cannot be driven through an extension".to_owned());
    }
    refused_address(policy, url)
}

/// Whether a command changes nothing.
fn is_reading(asker: &Asker, method: &str, params: &Value) -> bool {
    let (module, command) = method.split_once('.').unwrap_or_default();
    match module {
        "session" => true,
        "browsingContext" => {
            matches!(command, "getTree" | "captureScreenshot" | "print" | "locateNodes" | "activate")
        }
        "script" => match command {
            "getRealms" | "disown" | "removePreloadScript" => true,
            "evaluate" => is_reading_script(asker, params),
            "callFunction" => is_reading_call(asker, params),
            _ => false,
        },
        "network" => match command {
            "addDataCollector"
            | "removeDataCollector"
            | "getData"
            | "disownData"
            | "removeIntercept"
            | "setCacheBehavior" => true,
            // What was held before agents were told to read must be let go.
            "continueRequest" | "continueResponse" => {
                params.as_object().is_some_and(|params| params.keys().all(|name| name == "request"))
            }
            "continueWithAuth" => params["action"] == "default",
            _ => false,
        },
        "storage" => command == "getCookies",
        "browser" => command.starts_with("get"),
        _ => false,
    }
}

/// Firefox cannot be told to stop a script that changes something, so only what is known to look may run.
fn is_reading_script(asker: &Asker, params: &Value) -> bool {
    let expression = params["expression"].as_str().unwrap_or_default();
    let is_ours = params["target"]["sandbox"] == SANDBOX || expression == MEASURE;
    is_path(expression) || (asker.is_op && is_ours)
}

/// A property, or a property of one: `document.title`.
pub(super) fn is_path(expression: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'$'))
    };
    expression.trim().split('.').all(is_name)
}

fn is_reading_call(asker: &Asker, params: &Value) -> bool {
    if !asker.is_op || params["target"]["sandbox"] != SANDBOX {
        return false;
    }
    let declaration = params["functionDeclaration"].as_str().unwrap_or_default();
    if !declaration.contains("api[name]") {
        return HELPERS.iter().any(|helper| declaration.contains(helper));
    }
    let argument = |index: usize| params["arguments"][index]["value"].as_str().unwrap_or_default();
    if argument(0) == "storage" {
        let wish: Value = serde_json::from_str(argument(1)).unwrap_or_default();
        return wish
            .as_object()
            .is_some_and(|wish| wish.keys().all(|name| matches!(name.as_str(), "kind" | "get")));
    }
    LOOKING.contains(&argument(0))
}
