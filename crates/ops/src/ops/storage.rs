//! What sites keep: local storage, cookies, and both as a state that can be saved; and requests with them.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::driver::Page;
use crate::error::{Code, OpError};
use crate::output::Output;
use crate::registry::{Access, Op, Set};
use crate::request::Call;
use crate::undo::Undo;

choice!(Kind {
    Local = "local",
    Session = "session",
});

pub(crate) struct Storage;

input!(StorageInput {
    kind: Option<Kind> = "local (default) or session",
    get: Option<String> = "one key",
    set: Option<Map<String, Value>> = "keys and values to set",
    remove: Option<String> = "a key to remove",
    clear: Option<bool> = "remove all",
});

impl Op for Storage {
    type Input = StorageInput;
    const NAME: &'static str = "storage";
    const TOOL: &'static str = "browser_storage";
    const SET: Set = Set::Storage;
    const ACCESS: Access = Access::Act;
    const ABOUT: &'static str = "Read or change localStorage or sessionStorage of the page.";

    async fn run(call: &Call, input: StorageInput) -> Result<Output, OpError> {
        let page = call.page().await?;
        let deadline = call.action_deadline();
        let mut wish = json!({"kind": input.kind.unwrap_or(Kind::Local).as_str()});
        if let Some(key) = input.get {
            wish["get"] = json!(key);
        }
        if let Some(items) = input.set {
            let text = |value: Value| match value {
                Value::String(text) => text,
                other => other.to_string(),
            };
            let items: Map<String, Value> =
                items.into_iter().map(|(key, value)| (key, Value::String(text(value)))).collect();
            wish["set"] = Value::Object(items);
        }
        if let Some(key) = input.remove {
            wish["remove"] = json!(key);
        }
        if input.clear.unwrap_or(false) {
            wish["clear"] = json!(true);
        }
        let main = page.within(deadline, page.main_frame()).await?;
        let answer = page.settled(deadline, || page.script(&main, "storage", wish.clone())).await?;
        if let Some(error) = answer.get("error").and_then(Value::as_str) {
            let message = answer["message"].as_str().unwrap_or(error).to_owned();
            return Err(OpError::new(Code::NotSupported, message, "a page of http or https has storage"));
        }
        let text = serde_json::to_string_pretty(&answer["items"]).unwrap_or_default();
        Ok(Output::new(answer, text).from_page(&page.url()))
    }
}

choice!(CookieAction {
    List = "list" | "get",
    Set = "set",
    Delete = "delete",
    Clear = "clear",
});

pub(crate) struct Cookies;

input!(CookiesInput {
    action: Option<CookieAction> = "list (default), set, delete or clear",
    name: Option<String> = "of the cookie",
    value: Option<String> = "for set",
    url: Option<String> = "of another page than this",
    domain: Option<String> = "",
    path: Option<String> = "",
    expires: Option<f64> = "",
    secure: Option<bool> = "",
    http_only ["httpOnly"]: Option<bool> = "",
    same_site ["sameSite"]: Option<String> = "",
});

impl Op for Cookies {
    type Input = CookiesInput;
    const NAME: &'static str = "cookies";
    const TOOL: &'static str = "browser_cookies";
    const SET: Set = Set::Storage;
    const ACCESS: Access = Access::Dangerous;
    const ABOUT: &'static str = "List, set, delete or clear the cookies of the page.";

    async fn run(call: &Call, input: CookiesInput) -> Result<Output, OpError> {
        let page = call.page().await?;
        let deadline = call.action_deadline();
        let urls = input.url.clone().map(|url| vec![url]);
        let action = input.action.unwrap_or(CookieAction::List);
        let here = page.url();
        let named = || {
            let missing = || OpError::bad_input("cookies: `name` is missing", "which cookie is meant?");
            input.name.clone().ok_or_else(missing)
        };
        match action {
            CookieAction::List => {}
            CookieAction::Set => {
                let mut cookie = json!({"name": named()?, "value": input.value.clone().unwrap_or_default()});
                if input.domain.is_none() {
                    cookie["url"] = json!(input.url.clone().unwrap_or(here));
                }
                let more = [
                    ("domain", json!(input.domain)),
                    ("path", json!(input.path)),
                    ("expires", json!(input.expires)),
                    ("secure", json!(input.secure)),
                    ("httpOnly", json!(input.http_only)),
                    ("sameSite", json!(input.same_site)),
                ];
                for (name, value) in more.into_iter().filter(|(_, value)| !value.is_null()) {
                    cookie[name] = value;
                }
                page.within(deadline, page.driver.set_cookies(&[cookie])).await?;
            }
            CookieAction::Delete | CookieAction::Clear => {
                let name = if action == CookieAction::Delete { Some(named()?) } else { None };
                let found = page.within(deadline, page.driver.cookies(urls.as_deref())).await?;
                for cookie in found
                    .iter()
                    .filter(|cookie| name.as_ref().is_none_or(|name| cookie["name"] == json!(name)))
                {
                    let filter =
                        json!({"name": cookie["name"], "domain": cookie["domain"], "path": cookie["path"]});
                    page.within(deadline, page.driver.delete_cookie(&filter)).await?;
                }
            }
        }
        let mut cookies = page.within(deadline, page.driver.cookies(urls.as_deref())).await?;
        if let (CookieAction::List, Some(name)) = (action, &input.name) {
            cookies.retain(|cookie| cookie["name"] == json!(name));
        }
        let text = |cookie: &Value, name: &str| cookie[name].as_str().unwrap_or_default().to_owned();
        let lines: Vec<String> = cookies
            .iter()
            .map(|cookie| {
                let flags = [("httpOnly", "HttpOnly"), ("secure", "Secure")];
                let flags: Vec<&str> = flags
                    .iter()
                    .filter(|(member, _)| cookie[*member] == json!(true))
                    .map(|(_, flag)| *flag)
                    .collect();
                let all = format!(
                    "{}={} {}{}",
                    text(cookie, "name"),
                    text(cookie, "value"),
                    text(cookie, "domain"),
                    text(cookie, "path")
                );
                format!("{all} {}", flags.join(" ")).trim_end().to_owned()
            })
            .collect();
        let text = if lines.is_empty() { "no cookies".to_owned() } else { lines.join("\n") };
        Ok(Output::new(json!({ "cookies": cookies }), text).from_page(&page.url()))
    }
}

/// What a browser keeps for sites, in the form that Playwright's `storageState` has.
#[derive(Debug, Deserialize)]
struct State {
    #[serde(default)]
    cookies: Vec<Value>,
    #[serde(default)]
    origins: Vec<Origin>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Origin {
    origin: String,
    #[serde(default)]
    local_storage: Vec<Item>,
}

#[derive(Debug, Deserialize)]
struct Item {
    name: String,
    value: String,
}

pub(crate) struct SaveState;

input!(SaveStateInput { file ["filename", "path"]: Option<String> = "where to save it" });

impl Op for SaveState {
    type Input = SaveStateInput;
    const NAME: &'static str = "save_state";
    const TOOL: &'static str = "browser_save_state";
    const SET: Set = Set::Storage;
    const ACCESS: Access = Access::Dangerous;
    const ABOUT: &'static str =
        "Save cookies and localStorage of the page's site (Playwright's storageState form).";

    async fn run(call: &Call, input: SaveStateInput) -> Result<Output, OpError> {
        let page = call.page().await?;
        let deadline = call.action_deadline();
        let main = page.within(deadline, page.main_frame()).await?;
        let cookies = page.within(deadline, page.driver.cookies(None)).await?;
        let kept: Vec<Value> = cookies
            .iter()
            .map(|cookie| {
                json!({"name": cookie["name"], "value": cookie["value"], "domain": cookie["domain"],
                    "path": cookie["path"], "expires": cookie["expires"], "httpOnly": cookie["httpOnly"],
                    "secure": cookie["secure"], "sameSite": cookie.get("sameSite").unwrap_or(&json!("Lax"))})
            })
            .collect();
        let storage =
            page.settled(deadline, || page.script(&main, "storage", json!({"kind": "local"}))).await?;
        let items: Vec<Value> = storage["items"].as_object().map_or_else(Vec::new, |items| {
            items.iter().map(|(name, value)| json!({"name": name, "value": value})).collect()
        });
        let origins = match (storage["origin"].as_str(), items.is_empty()) {
            (Some(origin), false) => json!([{"origin": origin, "localStorage": items}]),
            _ => json!([]),
        };
        let state = json!({"cookies": kept, "origins": origins});
        let counts = json!({"cookies": kept.len(), "items": items.len()});
        let what = format!("{} cookies and {} items", kept.len(), items.len());
        match &input.file {
            Some(file) => {
                let content = serde_json::to_vec_pretty(&state).unwrap_or_default();
                let mut path = call.path("file", file.as_ref())?;
                if path.extension().is_none() {
                    path.set_extension("json");
                }
                write_private(&path, &content)?;
                let mut data = counts;
                data["file"] = json!(path.display().to_string());
                Ok(Output::new(data, format!("{what} saved to {}", path.display())))
            }
            None => {
                let mut data = counts;
                data["state"] = state;
                Ok(Output::new(data, what).from_page(&page.url()))
            }
        }
    }
}

/// Logins are for the owner's eyes only.
fn write_private(path: &std::path::Path, content: &[u8]) -> Result<(), OpError> {
    let failed = |error: std::io::Error| {
        let message = format!("{} cannot be written: {error}", path.display());
        OpError::new(Code::FileError, message, "name another file")
    };
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory).map_err(failed)?;
    }
    bowline_hub::files::write_private(path, content).map_err(failed)
}

pub(crate) struct LoadState;

input!(LoadStateInput {
    file ["filename", "path"]: Option<String> = "a saved state",
    state: Option<Value> = "or the state itself",
});

impl Op for LoadState {
    type Input = LoadStateInput;
    const NAME: &'static str = "load_state";
    const TOOL: &'static str = "browser_load_state";
    const SET: Set = Set::Storage;
    const ACCESS: Access = Access::Dangerous;
    const ABOUT: &'static str =
        "Load a saved state: its cookies at once, localStorage of the page's own site.";

    async fn run(call: &Call, input: LoadStateInput) -> Result<Output, OpError> {
        let state = match (input.file, input.state) {
            (Some(file), _) => {
                let path = call.path("file", file.as_ref())?;
                let text = std::fs::read_to_string(&path).map_err(|error| {
                    let message = format!("load_state: `file`: {}: {error}", path.display());
                    OpError::new(Code::FileError, message, "name a file that save_state wrote")
                })?;
                serde_json::from_str(&text).map_err(|error| {
                    let message = format!("load_state: `file`: {} is no state: {error}", path.display());
                    OpError::new(Code::FileError, message, "name a file that save_state wrote")
                })?
            }
            (None, Some(state)) => serde_json::from_value(state).map_err(|error| {
                OpError::bad_input(format!("load_state: `state`: {error}"), "as save_state gives it")
            })?,
            (None, None) => {
                return Err(OpError::bad_input("load_state: `file` is missing", "give a file or a state"));
            }
        };
        let State { cookies, origins } = state;
        let page = call.page().await?;
        let deadline = call.action_deadline();
        let mut failed = 0;
        for cookie in &cookies {
            let mut cookie = cookie.clone();
            if cookie["expires"].as_f64().is_some_and(|expires| expires < 0.0)
                && let Some(members) = cookie.as_object_mut()
            {
                members.remove("expires");
            }
            if page.within(deadline, page.driver.set_cookies(&[cookie])).await.is_err() {
                failed += 1;
            }
        }
        let (set, others) = set_items(&page, call, &origins).await?;
        let mut text = format!("{} cookies and {set} items loaded", cookies.len() - failed);
        if failed > 0 {
            text.push_str(&format!("; {failed} cookies were refused"));
        }
        if !others.is_empty() {
            text.push_str(&format!("; go to {} and load again for their storage", others.join(", ")));
        }
        let data =
            json!({"cookies": cookies.len() - failed, "refused": failed, "items": set, "others": others});
        Ok(Output::new(data, text))
    }
}

/// Storage is set in pages of its own site; the others are named.
async fn set_items(page: &Page, call: &Call, origins: &[Origin]) -> Result<(usize, Vec<String>), OpError> {
    let deadline = call.action_deadline();
    let main = page.within(deadline, page.main_frame()).await?;
    let known = page.settled(deadline, || page.script(&main, "storage", json!({"kind": "local"}))).await?;
    let here = known["origin"].as_str().unwrap_or_default();
    let mut set = 0;
    let mut others = Vec::new();
    for origin in origins {
        if origin.origin != here {
            others.push(origin.origin.clone());
            continue;
        }
        let items: Map<String, Value> =
            origin.local_storage.iter().map(|item| (item.name.clone(), json!(item.value))).collect();
        let wish = json!({"kind": "local", "set": items});
        page.settled(deadline, || page.script(&main, "storage", wish.clone())).await?;
        set += items.len();
    }
    Ok((set, others))
}

/// For a page to give up a request.
const GIVING_UP: Duration = Duration::from_secs(5);

pub(crate) struct Fetch;

input!(FetchInput {
    url: String = "address, or path on the page's site",
    method: Option<String> = "GET",
    headers: Option<Map<String, Value>> = "",
    body: Option<Value> = "text, or JSON",
});

impl Op for Fetch {
    type Input = FetchInput;
    const NAME: &'static str = "fetch";
    const TOOL: &'static str = "browser_fetch";
    const SET: Set = Set::Network;
    const ACCESS: Access = Access::Act;
    const ABOUT: &'static str = "Request an address as the page would, with its cookies.";

    async fn run(call: &Call, input: FetchInput) -> Result<Output, OpError> {
        let page = call.page().await?;
        let deadline = call.navigation_deadline();
        let main = page.within(deadline, page.main_frame()).await?;
        // As the page would take it: `//host/x` and `..` are addresses too.
        let whole = format!("new URL({}, document.baseURI).href", json!(input.url));
        let whole =
            tokio::time::timeout_at(deadline, page.driver.evaluate(&main, &whole, None, deadline)).await;
        let whole = match whole {
            Ok(Ok(whole)) => whole.text,
            Ok(Err(crate::driver::DriverError::Threw(_))) => {
                let message = format!("fetch: `url`: `{}` is no address", input.url);
                return Err(OpError::bad_input(message, "give an address, or a path on the page's site"));
            }
            Ok(Err(error)) => return Err(page.explain(error)),
            Err(_) => return Err(page.no_answer()),
        };
        call.permit(&whole)?;
        let mut headers = input.headers.unwrap_or_default();
        let body = match input.body {
            None | Some(Value::Null) => Value::Null,
            Some(Value::String(text)) => Value::String(text),
            Some(other) => {
                if !headers.keys().any(|name| name.eq_ignore_ascii_case("content-type")) {
                    headers.insert("content-type".to_owned(), json!("application/json"));
                }
                Value::String(other.to_string())
            }
        };
        let has_body = !body.is_null();
        let method =
            input.method.unwrap_or_else(|| if has_body { "POST".to_owned() } else { "GET".to_owned() });
        let mut init = json!({"method": method.to_uppercase(), "headers": headers, "credentials": "include"});
        if has_body {
            init["body"] = body;
        }
        let max = call.max_chars;
        // By this name it can be given up from outside.
        let name = json!(format!("fetch {:016x}", getrandom::u64().unwrap_or_default()));
        let source = format!(
            "(async () => {{ const abort = new AbortController(), name = Symbol.for({name}); \
             Object.defineProperty(globalThis, name, {{ value: abort, configurable: true, enumerable: false }}); \
             try {{ const r = await fetch({}, {{ ...{init}, signal: abort.signal }}); const text = await r.text(); \
             return {{ status: r.status, statusText: r.statusText, url: r.url, redirected: r.redirected, \
             headers: Object.fromEntries(r.headers), length: text.length, truncated: text.length > {max}, \
             body: text.slice(0, {max}) }}; }} finally {{ delete globalThis[name]; }} }})()",
            json!(whole)
        );
        let undo = {
            let (driver, main) = (page.driver.clone(), main.clone());
            let abort = format!("globalThis[Symbol.for({name})]?.abort()");
            Undo::with(async move {
                let _ = driver.evaluate(&main, &abort, None, Instant::now() + GIVING_UP).await;
            })
        };
        let fetched =
            tokio::time::timeout_at(deadline, page.driver.evaluate(&main, &source, None, deadline)).await;
        if fetched.is_ok() {
            undo.forget();
        }
        let answer = match fetched {
            Ok(Ok(evaluated)) => evaluated.value.unwrap_or(Value::Null),
            Ok(Err(crate::driver::DriverError::Threw(what))) => {
                let message =
                    format!("fetch of {} failed: {}", input.url, what.lines().next().unwrap_or_default());
                let hint =
                    "other sites must allow it (CORS); navigate there first, or see network for the reason";
                return Err(OpError::new(Code::NavigationFailed, message, hint));
            }
            Ok(Err(error)) => return Err(page.explain(error)),
            Err(_) => return Err(page.no_answer()),
        };
        // A redirect may have led elsewhere.
        call.permit(answer["url"].as_str().unwrap_or_default())?;
        let text = format!(
            "{} {} {}\n{}",
            answer["status"],
            answer["statusText"].as_str().unwrap_or_default(),
            answer["url"].as_str().unwrap_or_default(),
            answer["body"].as_str().unwrap_or_default()
        );
        Ok(Output::new(answer, text).from_page(&page.url()))
    }
}
