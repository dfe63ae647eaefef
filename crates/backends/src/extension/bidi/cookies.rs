//! Which cookies of an answer a client may have.

use bowline_wire::origins::{fits, origin};
use bowline_wire::relay::Policy;
use serde_json::Value;

/// A page's own cookies without the person's leave; with it all but those of sites that are closed to agents.
pub(super) fn visible(policy: &Policy, page: Option<&str>, answer: &str) -> String {
    let mut answer: Value = serde_json::from_str(answer).unwrap_or_default();
    let host = page.map(host_of);
    let may_have = |cookie: &Value| {
        let domain = cookie["domain"].as_str().unwrap_or_default();
        match host {
            Some(host) if !policy.allow_cookies => is_sent_to(domain, host),
            None if !policy.allow_cookies => false,
            _ => !is_denied(policy, domain.trim_start_matches('.')),
        }
    };
    if let Some(cookies) = answer["cookies"].as_array_mut() {
        cookies.retain(may_have);
    }
    answer.to_string()
}

fn is_sent_to(domain: &str, host: &str) -> bool {
    match domain.strip_prefix('.') {
        Some(base) => host == base || host.ends_with(domain),
        None => host == domain,
    }
}

/// Cookies know neither ports nor, mostly, schemes; so a rule counts by its host.
fn is_denied(policy: &Policy, host: &str) -> bool {
    let mut rules = policy.deny.iter().chain(&policy.sites.deny);
    rules.any(|rule| {
        let rule = rule.split_once("://").map_or(rule.as_str(), |(_, rest)| rest);
        fits(without_port(rule.trim_end_matches('/')), &format!("https://{host}/"))
    })
}

fn host_of(url: &str) -> &str {
    let (_, authority) = origin(url).split_once("://").unwrap_or_default();
    without_port(authority)
}

fn without_port(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|c| c.is_ascii_digit()) => host,
        _ => authority,
    }
}

/// An event of a request to another site than the page's, without its cookies, unless all cookies are allowed: a page can be
/// made to ask any site for something.
pub(super) fn without_foreign(policy: &Policy, page: &str, url: &str, params: &str) -> String {
    if policy.allow_cookies || host_of(page) == host_of(url) {
        return params.to_owned();
    }
    let mut fields: Value = serde_json::from_str(params).unwrap_or_default();
    let is_cookie = |header: &Value| {
        let name = header["name"].as_str().unwrap_or_default().to_ascii_lowercase();
        matches!(name.as_str(), "cookie" | "set-cookie")
    };
    if fields["request"].is_object() {
        fields["request"]["cookies"] = Value::Array(Vec::new());
    }
    for part in ["request", "response"] {
        if let Some(headers) = fields[part]["headers"].as_array_mut() {
            headers.retain(|header| !is_cookie(header));
        }
    }
    fields.to_string()
}
