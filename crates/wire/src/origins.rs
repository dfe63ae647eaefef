//! Which sites may be used: lists of origins, as a person or a configuration writes them.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// Sites that agents may use, all if none are named, and sites that they must not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origins {
    pub allow: Vec<String>,
    pub deny: Vec<String>,
}

impl Origins {
    pub fn is_empty(&self) -> bool {
        self.allow.is_empty() && self.deny.is_empty()
    }

    /// Why a document of this address must not be fetched.
    pub fn refusal(&self, url: &str) -> Option<String> {
        let url = url.trim();
        let is_blank = matches!(url, "" | "about:blank" | "about:srcdoc") || url.starts_with("about:blank#");
        if self.is_empty() || is_blank || url.starts_with("data:") {
            return None;
        }
        let inner = url.strip_prefix("blob:").or(url.strip_prefix("filesystem:")).unwrap_or(url);
        let is_site = inner.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("http"));
        if is_site && !is_plain(inner) {
            return Some(format!("{url} is not written in full, so it cannot be told which site it is"));
        }
        if let Some(rule) = self.deny.iter().find(|rule| fits(rule, inner)) {
            return Some(format!("{} is denied (`{rule}`)", origin(inner)));
        }
        let is_allowed = self.allow.is_empty() || self.allow.iter().any(|rule| fits(rule, inner));
        (!is_allowed).then(|| format!("{} is not among the allowed sites", origin(inner)))
    }
}

/// What may come only from sites that may be used, as CDP names kinds of requests: what somebody goes to, and what
/// scripts ask for. A page's own pictures, styles and scripts may come from anywhere.
pub const KEPT: [&str; 5] = ["Document", "XHR", "Fetch", "EventSource", "Ping"];

/// The lists of every browser: its own, or else those for all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sites {
    pub all: Origins,
    pub own: HashMap<String, Origins>,
}

impl Sites {
    pub fn of(&self, browser: &str) -> &Origins {
        self.own.get(browser).unwrap_or(&self.all)
    }
}

/// Whether an address is written as the browser itself would, so that its site can be read off it.
pub fn is_plain(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !authority.ends_with(']') => (host, port),
        _ => (authority, ""),
    };
    let is_bracketed = host.starts_with('[')
        && host.ends_with(']')
        && host[1..host.len() - 1].bytes().all(|c| c.is_ascii_hexdigit() || matches!(c, b':' | b'.'));
    let is_name = !host.is_empty()
        && host.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'.' | b'_'));
    let last = host.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
    let is_number = last.bytes().all(|c| c.is_ascii_digit()) || last.to_ascii_lowercase().starts_with("0x");
    let is_address = host.parse::<std::net::Ipv4Addr>().is_ok();
    matches!(scheme.to_ascii_lowercase().as_str(), "http" | "https")
        && port.bytes().all(|c| c.is_ascii_digit())
        && (is_bracketed || (is_name && (is_address || !is_number)))
}

/// Scheme, host and port of an address, as they stand there.
pub fn origin(url: &str) -> &str {
    match url.find("://") {
        Some(at) => {
            let end = url[at + 3..].find(['/', '?', '#']).map_or(url.len(), |end| at + 3 + end);
            &url[..end]
        }
        None => url.split(':').next().unwrap_or(url),
    }
}

/// Whether an address is of an origin such as `https://*.example.com`, `*.example.com` or `example.com:8080`.
pub fn fits(rule: &str, url: &str) -> bool {
    let rule = rule.trim().trim_end_matches('/').to_ascii_lowercase();
    let origin = origin(url).to_ascii_lowercase();
    let (scheme, authority) = origin.split_once("://").unwrap_or(("", &origin));
    let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let rule = match rule.split_once("://") {
        Some((wanted, rest)) if wanted == scheme => rest,
        Some(_) => return false,
        None => &rule,
    };
    let split = |text: &str| match text.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|c| c.is_ascii_digit()) => {
            (host.to_owned(), Some(port.to_owned()))
        }
        _ => (text.to_owned(), None),
    };
    let ((wanted, wanted_port), (host, port)) = (split(rule), split(authority));
    let default =
        |port: Option<String>| port.unwrap_or_else(|| if scheme == "http" { "80" } else { "443" }.to_owned());
    if let Some(wanted_port) = wanted_port
        && wanted_port != default(port)
    {
        return false;
    }
    let host = host.trim_end_matches('.');
    match wanted.strip_prefix("*.") {
        Some(domain) => host == domain || host.ends_with(&format!(".{domain}")),
        None => wanted == "*" || host == wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_compared_by_scheme_host_and_port() {
        for (rule, url, expected) in [
            ("https://example.com", "https://example.com/a", true),
            ("https://example.com", "http://example.com/a", false),
            ("https://example.com", "https://example.com.evil.test/", false),
            ("*.example.com", "https://a.example.com/", true),
            ("*.example.com", "http://example.com/", true),
            ("*.example.com", "http://notexample.com/", false),
            ("example.com:8080", "http://example.com:8080/", true),
            ("example.com:8080", "http://example.com/", false),
            ("example.com:443", "https://example.com/", true),
            ("example.com", "https://user:pass@example.com/", true),
            ("example.com", "https://example.com@evil.test/", false),
            ("example.com", "https://EXAMPLE.com./", true),
        ] {
            assert_eq!(fits(rule, url), expected, "{rule} {url}");
        }
    }

    #[test]
    fn lists_refuse_what_they_say() {
        let origins =
            Origins { allow: vec!["*.good.test".to_owned()], deny: vec!["bad.good.test".to_owned()] };
        assert_eq!(origins.refusal("https://a.good.test/x"), None);
        assert_eq!(origins.refusal("about:blank"), None);
        assert!(origins.refusal("about:settings").is_some(), "another name for a page of the browser");
        assert!(origins.refusal("https://bad.good.test/").unwrap().contains("denied"));
        assert!(origins.refusal("https://other.test/").unwrap().contains("not among"));
        assert!(
            origins.refusal("file:///etc/passwd").is_some() && origins.refusal("http:a.good.test").is_some()
        );
        assert_eq!(Origins::default().refusal("http://anything.test"), None);
    }
}
