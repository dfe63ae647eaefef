//! Interception by several clients on one page: who wants to see which request, and who has it now.
//!
//! Each client sees only what its own patterns ask for. A request that several want goes from one to the
//! next, in the order in which they began, each seeing what the ones before made of it; whoever fails or
//! fulfils it ends its journey.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::session::SessionKey;

/// What one session wants to see.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Interest {
    patterns: Option<Vec<Pattern>>,
    pub(super) handle_auth_requests: bool,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Pattern {
    url_pattern: Option<String>,
    resource_type: Option<String>,
    request_stage: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Request,
    Response,
}

impl Interest {
    pub(super) fn wants(&self, url: &str, kind: &str, stage: Stage) -> bool {
        let Some(patterns) = self.patterns.as_ref().filter(|patterns| !patterns.is_empty()) else {
            return stage == Stage::Request;
        };
        patterns.iter().any(|pattern| {
            let at = pattern.request_stage.as_deref().unwrap_or("Request");
            (at == "Response") == (stage == Stage::Response)
                && pattern.resource_type.as_deref().is_none_or(|wanted| wanted == kind)
                && fits(pattern.url_pattern.as_deref().unwrap_or("*").as_bytes(), url.as_bytes())
        })
    }

    /// Parameters of the page's `Fetch.enable` for all that sessions want, and these kinds, which the hub watches.
    pub(super) fn merged<'a>(all: impl Iterator<Item = &'a Map<String, Value>>, watched: &[&str]) -> Value {
        let (mut patterns, mut auth) = (Vec::new(), false);
        for params in all {
            auth |= params.get("handleAuthRequests").and_then(Value::as_bool) == Some(true);
            match params.get("patterns").and_then(Value::as_array).filter(|own| !own.is_empty()) {
                Some(own) => patterns.extend(own.iter().cloned()),
                None => patterns.push(serde_json::json!({"urlPattern": "*"})),
            }
        }
        patterns
            .extend(watched.iter().map(|kind| serde_json::json!({"urlPattern": "*", "resourceType": kind})));
        serde_json::json!({"patterns": patterns, "handleAuthRequests": auth})
    }
}

/// Chromium's patterns: `*` any text, `?` one character, `\` the next one as it is.
fn fits(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        let (literal, width) = match pattern.get(p) {
            Some(b'\\') if p + 1 < pattern.len() => (pattern.get(p + 1), 2),
            Some(b'*') => {
                star = Some((p + 1, t));
                p += 1;
                continue;
            }
            other => (other, 1),
        };
        let is_any = width == 1 && literal == Some(&b'?');
        if is_any || literal == Some(&text[t]) {
            p += width;
            t += 1;
        } else if let Some((after, from)) = star {
            p = after;
            t = from + 1;
            star = Some((after, t));
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|c| *c == b'*')
}

/// A request that stands still.
#[derive(Debug)]
pub(super) struct Paused {
    pub(super) event: &'static str,
    pub(super) params: Map<String, Value>,
    pub(super) holder: SessionKey,
    /// Who sees it after the holder, the next one last.
    pub(super) next: Vec<SessionKey>,
    /// What the ones before have changed.
    pub(super) changes: Map<String, Value>,
    pub(super) stage: Stage,
}

/// The requests of one page that stand still, and the responses that somebody asked for on the way.
#[derive(Debug, Default)]
pub(super) struct Journeys {
    pub(super) paused: HashMap<String, Paused>,
    /// Requests whose response these sessions want, whatever their patterns say.
    pub(super) responses: HashMap<String, Vec<SessionKey>>,
}

impl Paused {
    /// Takes over what the holder made of a request, for those after it and for the browser.
    pub(super) fn change(&mut self, params: Map<String, Value>) {
        for (name, value) in params {
            if name == "requestId" {
                continue;
            }
            if let Some(Value::Object(request)) = self.params.get_mut("request") {
                match (name.as_str(), &value) {
                    ("url" | "method", Value::String(_)) => drop(request.insert(name.clone(), value.clone())),
                    ("postData", Value::String(_)) => {
                        request.insert("hasPostData".to_owned(), Value::Bool(true));
                        request.remove("postData");
                    }
                    ("headers", Value::Array(entries)) => {
                        let entry = |entry: &Value| {
                            let text = |name| entry.get(name).and_then(Value::as_str).map(str::to_owned);
                            Some((text("name")?, Value::from(text("value")?)))
                        };
                        let headers: Map<String, Value> = entries.iter().filter_map(entry).collect();
                        request.insert("headers".to_owned(), Value::Object(headers));
                    }
                    _ => {}
                }
            }
            self.changes.insert(name, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_chromiums() {
        let fits = |pattern: &str, text: &str| fits(pattern.as_bytes(), text.as_bytes());
        assert!(fits("*", "http://a/"));
        assert!(fits("http://a/*.png", "http://a/b/c.png"));
        assert!(!fits("http://a/*.png", "http://a/b/c.jpg"));
        assert!(fits("*?x=\\?*", "http://a/?x=?1"));
        assert!(!fits("http://a/\\?", "http://a/b"));
        assert!(fits("**a**", "bab"));
        assert!(!fits("", "a") && fits("", ""));
    }

    #[test]
    fn a_session_sees_only_what_it_asked_for() {
        let interest: Interest = serde_json::from_str(
            r#"{"patterns":[{"urlPattern":"*/api/*","resourceType":"Fetch"},{"urlPattern":"*.css","requestStage":"Response"}]}"#,
        )
        .unwrap();
        assert!(interest.wants("http://a/api/x", "Fetch", Stage::Request));
        assert!(!interest.wants("http://a/api/x", "Document", Stage::Request));
        assert!(!interest.wants("http://a/b.css", "Stylesheet", Stage::Request));
        assert!(interest.wants("http://a/b.css", "Stylesheet", Stage::Response));
        assert!(Interest::default().wants("http://a/", "Document", Stage::Request));
    }
}
