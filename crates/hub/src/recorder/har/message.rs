//! The two halves of an entry: what was sent, and what came back.

use serde_json::{Value, json};

use super::{cookies, params};
use crate::recorder::record::{Headers, NetworkRecord, RequestState};

pub(super) fn request(record: &NetworkRecord) -> Value {
    let mut request = json!({
        "method": record.method,
        "url": params::without_fragment(&record.url),
        "httpVersion": http_version(&record.protocol),
        "cookies": cookies::sent(&record.headers),
        "headers": headers(&record.headers),
        "queryString": params::of_url(&record.url),
        "headersSize": -1,
        "bodySize": record.post_data.as_ref().map_or(0, String::len),
    });
    if let Some(text) = &record.post_data {
        let mime_type = record.headers.get("content-type").unwrap_or_default();
        request["postData"] = json!({"mimeType": mime_type, "text": text});
        if is_form(mime_type) {
            request["postData"]["params"] = params::of_form(text);
        }
    }
    request
}

pub(super) fn response(record: &NetworkRecord) -> Value {
    let error = record.failure.as_ref().map(|failure| failure.error_text.as_str());
    let status_text = match error {
        Some(error) if record.status_text.is_empty() => error,
        _ => &record.status_text,
    };
    let body_size = body_size(record);
    let mut response = json!({
        "status": record.status.unwrap_or(0),
        "statusText": status_text,
        "httpVersion": http_version(&record.protocol),
        "cookies": cookies::set(&record.response_headers, record.timestamp),
        "headers": headers(&record.response_headers),
        "content": content(record, body_size),
        "redirectURL": redirect(record),
        "headersSize": -1,
        "bodySize": body_size.map_or(json!(-1), |size| json!(size)),
        "_transferSize": record.transfer_size.unwrap_or(0),
    });
    if let Some(error) = error {
        response["_error"] = json!(error);
    }
    response
}

fn content(record: &NetworkRecord, body_size: Option<u64>) -> Value {
    let body = record.response_body.as_ref();
    let size = record.body_size.or(body.map(|body| body.size));
    let mime_type = if record.mime_type.is_empty() { "x-unknown" } else { &record.mime_type };
    let mut content = json!({"size": size.unwrap_or(0), "mimeType": mime_type});
    // A part of a body, and one that did not come over the network, have nothing to compare with.
    let comparable = !came_from_cache(record) && record.status != Some(206);
    let saved = size.zip(body_size).and_then(|(size, sent)| size.checked_sub(sent));
    if let Some(saved) = saved.filter(|_| comparable) {
        content["compression"] = json!(saved);
    }
    if let Some(body) = body {
        content["text"] = json!(body.body);
        if body.base64_encoded {
            content["encoding"] = json!("base64");
        }
        if body.truncated {
            content["comment"] = json!(format!("only the beginning of {} bytes", body.size));
        }
    }
    content
}

/// Bytes of the body as it was sent. CDP counts headers and body together, so it is known only where
/// the server announced it or did not compress it.
fn body_size(record: &NetworkRecord) -> Option<u64> {
    if came_from_cache(record) {
        return Some(0);
    }
    if record.state != RequestState::Finished || record.status.is_none() {
        return None;
    }
    if record.method.eq_ignore_ascii_case("HEAD") {
        return Some(0);
    }
    let announced = record.response_headers.get("content-length");
    announced.and_then(|length| length.trim().parse().ok()).or_else(|| {
        let encoding = record.response_headers.get("content-encoding").unwrap_or("identity");
        record.body_size.filter(|_| encoding.trim().eq_ignore_ascii_case("identity"))
    })
}

fn came_from_cache(record: &NetworkRecord) -> bool {
    record.from_cache.is_some() || record.status == Some(304)
}

/// Where to: also for a redirect that the page chose not to follow.
fn redirect(record: &NetworkRecord) -> &str {
    let redirects = record.status.is_some_and(|status| (300..400).contains(&status));
    let location = || record.response_headers.get("location").filter(|_| redirects);
    record.redirected_to.as_deref().or_else(location).unwrap_or_default()
}

/// One for each line: CDP joins headers of the same name by line feeds.
fn headers(headers: &Headers) -> Value {
    let lines = headers.iter().flat_map(|(name, value)| value.split('\n').map(move |line| (name, line)));
    lines.map(|(name, value)| json!({"name": name, "value": value})).collect()
}

fn is_form(mime_type: &str) -> bool {
    let essence = mime_type.split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

/// CDP has the name that ALPN has; the format wants the one in a status line.
fn http_version(protocol: &str) -> String {
    match protocol.to_ascii_lowercase().as_str() {
        "" => "unknown".to_owned(),
        "h2" | "h2c" | "http/2" => "HTTP/2.0".to_owned(),
        "http/3" | "http/3.0" | "quic" => "HTTP/3".to_owned(),
        // Drafts are called h3-29 and the like.
        protocol if protocol == "h3" || protocol.starts_with("h3-") => "HTTP/3".to_owned(),
        protocol if protocol.starts_with("http/") => protocol.to_ascii_uppercase(),
        // `blob`, `chrome-extension`, `websocket`, ...: no HTTP was spoken.
        _ => protocol.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocols_have_the_name_of_their_version() {
        for (protocol, version) in [
            ("h2", "HTTP/2.0"),
            ("http/1.1", "HTTP/1.1"),
            ("HTTP/1.0", "HTTP/1.0"),
            ("http/0.9", "HTTP/0.9"),
            ("h3", "HTTP/3"),
            ("h3-29", "HTTP/3"),
            ("blob", "blob"),
            ("", "unknown"),
        ] {
            assert_eq!(http_version(protocol), version);
        }
    }
}
