//! What the person lets agents do in their browser. A refusal says which rule it was and how to change it.

use bowline_wire::origins::{fits, is_plain, origin};
use bowline_wire::relay::Policy;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Whether a page may be seen at all. A blank page of an agent is a beginning.
pub(super) fn allows_page(policy: &Policy, url: &str, is_agents: bool) -> bool {
    if is_blank(url) {
        return is_agents || (policy.allow.is_empty() && policy.sites.allow.is_empty());
    }
    // Whether a page can be driven at all is another question: a tab may be on its way through one that cannot.
    let scheme = url.split(':').next().unwrap_or_default().to_ascii_lowercase();
    let is_known = matches!(scheme.as_str(), "http" | "https" | "file" | "data" | "blob" | "filesystem");
    !is_known || refused_address(policy, url).is_none()
}

pub(super) fn is_blank(url: &str) -> bool {
    url.is_empty() || url.starts_with("about:")
}

/// Whether there are sites that agents must not use.
pub(super) fn is_locked(policy: &Policy) -> bool {
    !policy.allow.is_empty() || !policy.deny.is_empty() || !policy.sites.is_empty()
}

/// An address without what the browser leaves out of it, and which must not hide what it is.
pub(super) fn as_read(url: &str) -> String {
    let url: String = url.chars().filter(|c| !matches!(c, '\t' | '\n' | '\r')).collect();
    url.trim_start_matches(|c: char| c <= ' ').to_owned()
}

/// Why an address must not be gone to.
pub(super) fn refused_address(policy: &Policy, url: &str) -> Option<String> {
    let url = &as_read(url);
    if is_blank(url) {
        return None;
    }
    let scheme = url.split(':').next().unwrap_or_default().to_ascii_lowercase();
    if scheme == "file" && !policy.allow_files {
        return Some(told("file: addresses are closed to agents", "allow files"));
    }
    if !matches!(scheme.as_str(), "http" | "https" | "file" | "data" | "blob" | "filesystem" | "javascript") {
        return Some(format!("{scheme}: pages cannot be driven through an extension"));
    }
    let inner = url.strip_prefix("blob:").or(url.strip_prefix("filesystem:")).unwrap_or(url);
    let is_site = matches!(scheme.as_str(), "http" | "https" | "blob" | "filesystem");
    if is_locked(policy) && is_site && !is_plain(inner) {
        return Some(told(
            &format!(
                "{url} is not written in full (https://host:port/...), so it cannot be told which site it is"
            ),
            "allowed and denied sites",
        ));
    }
    if let Some(rule) = policy.deny.iter().find(|rule| fits(rule, inner)) {
        let what = format!("{} is on the list of sites that agents must not use (`{rule}`)", origin(inner));
        return Some(told(&what, "denied sites"));
    }
    if !policy.allow.is_empty() && is_site && !policy.allow.iter().any(|rule| fits(rule, inner)) {
        let what = format!("{} is not on the list of sites that agents may use", origin(inner));
        return Some(told(&what, "allowed sites"));
    }
    let refusal = policy.sites.refusal(url).filter(|_| is_site)?;
    Some(format!("Refused by policy: {refusal}. The hub's configuration says so (sites.allow, sites.deny)."))
}

pub(super) fn told(what: &str, switch: &str) -> String {
    format!(
        "Refused by policy: {what}. The person can change it in the Bowline extension's popup ({switch})."
    )
}

/// The parameters of a command that rules look into, as they were understood: what cannot be read is not sent, and
/// what is sent is what was read.
pub(super) fn readable(
    policy: &Policy,
    method: &str,
    params: Option<&str>,
) -> Result<Option<String>, String> {
    let is_looked_into = method.starts_with("Fetch.")
        || method.contains("Cookie")
        || matches!(
            method,
            "Page.navigate"
                | "Network.loadNetworkResource"
                | "DOM.setFileInputFiles"
                | "Input.dispatchDragEvent"
                | "Page.addScriptToEvaluateOnNewDocument"
        )
        || (policy.read_only && matches!(method, "Runtime.evaluate" | "Runtime.callFunctionOn"));
    let Some(params) = params.filter(|_| is_looked_into) else { return Ok(None) };
    match serde_json::from_str::<Map<String, Value>>(params) {
        Ok(params) => Ok(Some(Value::Object(params).to_string())),
        Err(error) => Err(format!("the parameters of {method} cannot be read: {error}")),
    }
}

/// What a command needs that a person may not have allowed: `None` if it may be sent.
pub(super) fn refused_command(
    policy: &Policy,
    page: &str,
    method: &str,
    params: Option<&str>,
) -> Option<String> {
    if policy.read_only && !is_reading(method, params) {
        return Some(refused_reading(method));
    }
    match method {
        "Page.navigate" => {
            #[derive(Deserialize)]
            struct Navigate {
                #[serde(default)]
                url: String,
            }
            let wish: Navigate = serde_json::from_str(params?).ok()?;
            refused_address(policy, &wish.url)
        }
        "Storage.getCookies"
        | "Network.getAllCookies"
        | "Storage.clearCookies"
        | "Network.clearBrowserCookies"
            if !policy.allow_cookies =>
        {
            Some(told(&format!("{method} reaches the cookies of every site"), "allow cookies"))
        }
        "Fetch.continueRequest" => {
            let params: Map<String, Value> = serde_json::from_str(params?).ok()?;
            refused_address(policy, params.get("url").and_then(Value::as_str)?)
        }
        "Network.deleteCookies" if !policy.allow_cookies => {
            let params: Map<String, Value> = serde_json::from_str(params.unwrap_or("{}")).ok()?;
            let url = params.get("url").and_then(Value::as_str).unwrap_or_default();
            let is_own = origin(url) == origin(page) && !params.contains_key("domain");
            (!is_own).then(|| told("cookies of other sites are not this page's", "allow cookies"))
        }
        "Network.getCookies" if !policy.allow_cookies => {
            let params: Map<String, Value> = serde_json::from_str(params.unwrap_or("{}")).ok()?;
            let urls = params.get("urls").and_then(Value::as_array)?;
            let foreign = urls.iter().filter_map(Value::as_str).find(|url| origin(url) != origin(page))?;
            Some(told(&format!("cookies of {} are not this page's", origin(foreign)), "allow cookies"))
        }
        "Storage.setCookies"
        | "Network.setCookie"
        | "Network.setCookies"
        | "Storage.clearDataForOrigin"
        | "Storage.clearDataForStorageKey"
            if !policy.allow_cookies =>
        {
            Some(told(&format!("{method} can change the logins of any site"), "allow cookies"))
        }
        "Network.loadNetworkResource" => {
            let params: Map<String, Value> = serde_json::from_str(params.unwrap_or("{}")).ok()?;
            let url = params.get("url").and_then(Value::as_str).unwrap_or_default();
            refused_address(policy, url).or_else(|| {
                let is_foreign = origin(url) != origin(page) && !policy.allow_cookies;
                is_foreign
                    .then(|| told(&format!("{method} reads {} as its user", origin(url)), "allow cookies"))
            })
        }
        "DOM.setFileInputFiles" if !policy.allow_files => {
            Some(told("DOM.setFileInputFiles hands files of this computer to a page", "allow files"))
        }
        "Input.dispatchDragEvent" if !policy.allow_files => {
            let params: Map<String, Value> = serde_json::from_str(params.unwrap_or("{}")).ok()?;
            let files = params.get("data").and_then(|data| data.get("files")).and_then(Value::as_array)?;
            (!files.is_empty()).then(|| told("dragging files hands them to a page", "allow files"))
        }
        _ => None,
    }
}

pub(super) fn refused_reading(method: &str) -> String {
    told(&format!("{method} would change something, and agents may only read"), "read-only")
}

/// Commands that change nothing, by domain. What may do either is forced to read (`without_effects`).
fn is_reading(method: &str, params: Option<&str>) -> bool {
    let (domain, command) = method.split_once('.').unwrap_or_default();
    let begins = |verbs: &[&str]| verbs.iter().any(|verb| command.starts_with(verb));
    if matches!(command, "enable" | "disable") {
        return domain != "Fetch" && domain != "WebAuthn";
    }
    match domain {
        "Runtime" => {
            begins(&[
                "get",
                "release",
                "query",
                "globalLexical",
                "awaitPromise",
                "runIfWaiting",
                "discardConsole",
            ]) || matches!(command, "evaluate" | "callFunctionOn" | "setAsyncCallStackDepth")
        }
        "Page" => {
            begins(&["get", "capture", "print", "search"])
                || matches!(
                    command,
                    "removeScriptToEvaluateOnNewDocument"
                        | "createIsolatedWorld"
                        | "setLifecycleEventsEnabled"
                        | "startScreencast"
                        | "stopScreencast"
                        | "screencastFrameAck"
                        | "bringToFront"
                        | "setFontFamilies"
                )
                || (command == "addScriptToEvaluateOnNewDocument" && is_empty_script(params))
        }
        // How a page is shown to the agent; frameworks set these at once on every page.
        "Emulation" => {
            !matches!(command, "setDeviceMetricsOverride" | "setScriptExecutionDisabled" | "setVisibleSize")
        }
        "Network" => begins(&["get", "search"]) || command == "setCacheDisabled",
        "Storage" => begins(&["get"]),
        "DOM" | "CSS" | "Accessibility" | "DOMDebugger" | "Animation" | "Media" => begins(&[
            "get",
            "describe",
            "query",
            "resolve",
            "request",
            "performSearch",
            "discardSearch",
            "collect",
            "take",
            "push",
        ]),
        "DOMSnapshot"
        | "LayerTree"
        | "Log"
        | "Performance"
        | "PerformanceTimeline"
        | "Audits"
        | "IO"
        | "Tracing"
        | "Inspector"
        | "Schema"
        | "Overlay"
        | "Target"
        | "Browser" => true,
        _ => false,
    }
}

/// Playwright gives every page a script without text, to have a world of its own in it.
fn is_empty_script(params: Option<&str>) -> bool {
    let params: Map<String, Value> =
        params.and_then(|params| serde_json::from_str(params).ok()).unwrap_or_default();
    params.get("source").and_then(Value::as_str).is_some_and(|source| source.trim().is_empty())
}

/// Without an address, cookies of every frame of the page would be told; so its own is put in.
pub(super) fn own_cookies(policy: &Policy, page: &str, method: &str, params: Option<&str>) -> Option<String> {
    if policy.allow_cookies || method != "Network.getCookies" {
        return None;
    }
    let mut params: Map<String, Value> = serde_json::from_str(params.unwrap_or("{}")).ok()?;
    if params.get("urls").is_none_or(Value::is_null) {
        params.insert("urls".to_owned(), json!([page]));
    }
    Some(Value::Object(params).to_string())
}

/// A command that may change something, made to fail if it would. `None` if there is nothing to make.
pub(super) fn without_effects(method: &str, params: Option<&str>) -> Option<String> {
    if !matches!(method, "Runtime.evaluate" | "Runtime.callFunctionOn") {
        return None;
    }
    let mut params: Map<String, Value> = serde_json::from_str(params.unwrap_or("{}")).ok()?;
    params.insert("throwOnSideEffect".to_owned(), Value::Bool(true));
    params.remove("userGesture");
    Some(Value::Object(params).to_string())
}

/// What V8 says of a script that was made to read and would not.
const SIDE_EFFECT: &str = "EvalError: Possible side-effect in debug-evaluate";

/// The same result with the refusal in the place of V8's words: as an exception of the script, because clients take
/// an error of the command for a page that has gone.
pub(super) fn refused_effect(result: &str) -> Option<String> {
    if !result.contains(SIDE_EFFECT) {
        return None;
    }
    let mut result: Map<String, Value> = serde_json::from_str(result).ok()?;
    let reason = told("this script would change something, and agents may only read", "read-only");
    let described = json!(format!("EvalError: {reason}"));
    result.get_mut("exceptionDetails")?.get_mut("exception")?["description"] = described.clone();
    result.get_mut("result")?["description"] = described;
    Some(Value::Object(result).to_string())
}

#[cfg(test)]
mod tests {
    use bowline_wire::origins::Origins;

    use super::*;

    fn policy(change: impl FnOnce(&mut Policy)) -> Policy {
        let mut policy = Policy::default();
        change(&mut policy);
        policy
    }

    #[test]
    fn lists_hold_for_addresses() {
        let locked = policy(|policy| policy.allow = vec!["example.com".to_owned()]);
        assert!(refused_address(&locked, "https://example.com/").is_none());
        assert!(refused_address(&locked, "https://other.test/").unwrap().contains("allowed sites"));
        assert!(refused_address(&locked, "blob:https://other.test/1").is_some());
        assert!(refused_address(&locked, "about:blank").is_none());
        let denied = policy(|policy| policy.deny = vec!["bank.test".to_owned()]);
        assert!(refused_address(&denied, "https://bank.test/x").unwrap().contains("`bank.test`"));
        assert!(refused_address(&denied, "https://other.test/").is_none());
        assert!(refused_address(&Policy::default(), "file:///etc/passwd").unwrap().contains("allow files"));
        assert!(refused_address(&Policy::default(), "chrome://settings").is_some());
    }

    #[test]
    fn the_hubs_own_lists_hold_beside_the_persons() {
        let sites =
            Origins { allow: vec!["*.example.com".to_owned()], deny: vec!["bank.example.com".to_owned()] };
        let both = policy(|policy| {
            policy.allow = vec!["a.example.com".to_owned(), "other.test".to_owned()];
            policy.sites = sites;
        });
        assert_eq!(refused_address(&both, "https://a.example.com/"), None);
        assert!(
            refused_address(&both, "https://b.example.com/").unwrap().contains("popup"),
            "the person's list"
        );
        assert!(refused_address(&both, "https://other.test/").unwrap().contains("configuration"));
        assert!(is_locked(&both) && !allows_page(&both, "https://bank.example.com/", true));
        assert!(!allows_page(&both, "about:blank", false) && allows_page(&both, "about:blank", true));
    }

    #[test]
    fn an_address_that_hides_its_site_is_refused_where_sites_matter() {
        let denied = policy(|policy| policy.deny = vec!["denied.test".to_owned()]);
        for url in [
            "http:denied.test/",
            "http:/denied.test/",
            "http:\\\\denied.test/",
            "http:///denied.test",
            "http://d%65nied.test/",
            "ht\ntp://denied.test/",
            " http://denied.test/",
            "http://denied.test\\.allowed.test/",
            "http://x@denied.test/",
            "http://2130706433/",
            "http://0x7f.1/",
        ] {
            assert!(refused_address(&denied, url).is_some(), "{url:?}");
        }
        for url in [
            "http://127.0.0.1:8080/x",
            "http://[::1]:1/",
            "https://a-b.example.com/?q=http:x",
            "http://localhost/",
        ] {
            assert!(refused_address(&denied, url).is_none(), "{url:?}");
        }
        assert!(refused_address(&Policy::default(), "fi\nle:///etc/passwd").is_some());
        assert!(refused_address(&Policy::default(), "view-source:file:///etc/passwd").is_some());
    }

    #[test]
    fn what_is_dangerous_is_refused_unless_allowed() {
        let refused = |policy: &Policy, method: &str, params: &str| {
            refused_command(policy, "https://a.test/x", method, Some(params)).is_some()
        };
        let plain = Policy::default();
        assert!(refused(&plain, "Storage.getCookies", "{}"));
        assert!(refused(&plain, "Network.getCookies", r#"{"urls":["https://b.test/"]}"#));
        assert!(!refused(&plain, "Network.getCookies", r#"{"urls":["https://a.test/y"]}"#));
        assert!(!refused(&plain, "Network.getCookies", "{}"));
        assert!(refused(&plain, "DOM.setFileInputFiles", "{}"));
        assert!(refused(&plain, "Storage.setCookies", "{}"));
        assert!(refused(&plain, "Input.dispatchDragEvent", r#"{"data":{"files":["/etc/passwd"]}}"#));
        assert!(!refused(&plain, "Input.dispatchDragEvent", r#"{"data":{"files":[]}}"#));
        assert!(refused(&plain, "Network.loadNetworkResource", r#"{"url":"https://b.test/"}"#));
        assert!(!refused(&plain, "Network.loadNetworkResource", r#"{"url":"https://a.test/y"}"#));
        assert!(refused(&plain, "Page.navigate", r#"{"url":"file:///x"}"#));
        let open = policy(|policy| {
            policy.allow_cookies = true;
            policy.allow_files = true;
        });
        assert!(
            !refused(&open, "Storage.getCookies", "{}") && !refused(&open, "DOM.setFileInputFiles", "{}")
        );
    }

    #[test]
    fn read_only_reads() {
        let reader = policy(|policy| policy.read_only = true);
        let refused = |method| refused_command(&reader, "https://a.test/", method, None).is_some();
        for method in [
            "Page.navigate",
            "Input.dispatchMouseEvent",
            "Page.reload",
            "DOM.removeNode",
            "Fetch.enable",
            "Emulation.setDeviceMetricsOverride",
            "Storage.setCookies",
            "Page.close",
        ] {
            assert!(refused(method), "{method}");
        }
        for method in [
            "Page.captureScreenshot",
            "DOM.getDocument",
            "Runtime.evaluate",
            "Network.getResponseBody",
            "Accessibility.getFullAXTree",
            "Page.enable",
        ] {
            assert!(!refused(method), "{method}");
        }
        let script = |source: &str| {
            let params = json!({"source": source}).to_string();
            refused_command(
                &reader,
                "https://a.test/",
                "Page.addScriptToEvaluateOnNewDocument",
                Some(&params),
            )
            .is_some()
        };
        assert!(script("document.title = 'x'") && !script(""));
        for method in [
            "Runtime.runScript",
            "Runtime.compileScript",
            "Runtime.addBinding",
            "CSS.addRule",
            "DOM.setAttributeValue",
        ] {
            assert!(refused(method), "{method}");
        }
        let forced = without_effects("Runtime.evaluate", Some(r#"{"expression":"1"}"#)).unwrap();
        assert!(forced.contains(r#""throwOnSideEffect":true"#));
    }
}
