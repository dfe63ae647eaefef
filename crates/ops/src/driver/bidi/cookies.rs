//! Cookies as BiDi has them, and as the ops write them (Playwright's form).

use serde_json::{Value, json};

/// The cookies that a browser would send to these addresses.
pub(super) fn of(found: &Value, urls: &[&str]) -> Vec<Value> {
    let cookies = found["cookies"].as_array().map(Vec::as_slice).unwrap_or_default();
    cookies.iter().filter(|cookie| urls.iter().any(|url| is_sent(cookie, url))).map(shown).collect()
}

fn is_sent(cookie: &Value, url: &str) -> bool {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let host = host_of(&rest[..end]);
    let path = rest[end..].split(['?', '#']).next().filter(|path| !path.is_empty()).unwrap_or("/");
    let domain = cookie["domain"].as_str().unwrap_or_default();
    let is_here = match domain.strip_prefix('.') {
        Some(base) => host == base || host.ends_with(domain),
        None => host == domain,
    };
    let below = cookie["path"].as_str().unwrap_or("/");
    let is_below = path == below
        || path.starts_with(below) && (below.ends_with('/') || path[below.len()..].starts_with('/'));
    is_here && is_below && (cookie["secure"] != json!(true) || scheme == "https" || host == "localhost")
}

fn host_of(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    }
}

fn shown(cookie: &Value) -> Value {
    let same_site = match cookie["sameSite"].as_str() {
        Some("strict") => "Strict",
        Some("none") => "None",
        _ => "Lax",
    };
    json!({"name": cookie["name"], "value": cookie["value"]["value"], "domain": cookie["domain"], "path": cookie["path"],
        "expires": cookie.get("expiry").cloned().unwrap_or(json!(-1)), "size": cookie["size"],
        "httpOnly": cookie["httpOnly"], "secure": cookie["secure"], "session": cookie.get("expiry").is_none(),
        "sameSite": same_site})
}

/// A cookie of an op as one to set.
pub(super) fn to_set(cookie: &Value, here: &str) -> Value {
    let url = cookie["url"].as_str().unwrap_or(here);
    let (_, rest) = url.split_once("://").unwrap_or(("", url));
    let host = host_of(&rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())]);
    let domain = cookie["domain"].as_str().unwrap_or(host);
    let mut set = json!({"name": cookie["name"], "value": {"type": "string", "value": cookie["value"]}, "domain": domain,
        "path": cookie["path"].as_str().unwrap_or("/")});
    for name in ["httpOnly", "secure"] {
        if let Some(value) = cookie[name].as_bool() {
            set[name] = json!(value);
        }
    }
    if let Some(same_site) = cookie["sameSite"].as_str() {
        set["sameSite"] = json!(same_site.to_lowercase());
    }
    if let Some(expires) = cookie["expires"].as_f64().filter(|expires| *expires > 0.0) {
        set["expiry"] = json!(expires.round() as u64);
    }
    set
}

pub(super) fn filter(filter: &Value) -> Value {
    let mut wanted = json!({});
    for name in ["name", "domain", "path"] {
        if let Some(value) = filter[name].as_str() {
            wanted[name] = json!(value);
        }
    }
    wanted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_go_where_a_browser_sends_them() {
        let cookie = |domain: &str, path: &str| json!({"domain": domain, "path": path, "secure": false});
        assert!(is_sent(&cookie("a.test", "/"), "http://a.test:80/x?y"));
        assert!(!is_sent(&cookie("a.test", "/"), "http://b.a.test/"));
        assert!(
            is_sent(&cookie(".a.test", "/"), "http://b.a.test/")
                && is_sent(&cookie(".a.test", "/"), "http://a.test")
        );
        assert!(
            is_sent(&cookie("a.test", "/x"), "http://a.test/x/y")
                && !is_sent(&cookie("a.test", "/x"), "http://a.test/xy")
        );
        let secure = json!({"domain": "a.test", "path": "/", "secure": true});
        assert!(!is_sent(&secure, "http://a.test/") && is_sent(&secure, "https://a.test/"));
    }

    #[test]
    fn what_is_set_names_its_site() {
        let set = to_set(
            &json!({"name": "a", "value": "1", "sameSite": "Lax", "expires": 99.6}),
            "http://127.0.0.1:8080/x",
        );
        assert_eq!(
            set,
            json!({"name": "a", "value": {"type": "string", "value": "1"}, "domain": "127.0.0.1", "path": "/",
            "sameSite": "lax", "expiry": 100})
        );
    }
}
