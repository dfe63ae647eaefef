//! Who may ask at all. Runs before anything else: before an upgrade, before a launch.
//!
//! A page in some browser must not reach us: not through a name that resolves to this machine (Host),
//! not across origins (Origin, Sec-Fetch-Site). And whoever asks for more than a throw-away browser
//! must know the token. One path is for extensions alone: those of Chromium that are named, and those of Firefox, which
//! have no names.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use bowline_hub::auth::Token;

use crate::extension;
use crate::route::Route;

/// Chromium's own words, so that a client that shows them leads to the same answers.
const BAD_HOST: &str = "Host header is specified and is not an IP address or localhost.";

/// Prefix of the WebSocket subprotocol that carries the token.
const TOKEN_PROTOCOL: &str = "bowline.token.";

/// What a listener lets in.
#[derive(Clone)]
pub(crate) struct Gate {
    pub(crate) port: u16,
    /// The extensions that may knock; absent where there is no door for them.
    pub(crate) extension_ids: Option<Arc<[String]>>,
}

pub(crate) async fn check(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    match refusal(&gate, request.uri().path(), request.headers()) {
        Some(refusal) => refusal,
        None => next.run(request).await,
    }
}

fn refusal(gate: &Gate, path: &str, headers: &HeaderMap) -> Option<Response> {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let port = gate.port;
    if !text(header::HOST).is_some_and(|host| is_own_authority(host, port))
        || headers.get_all(header::HOST).iter().count() > 1
    {
        // What Chromium has too is answered as Chromium answers it; agents' clients expect a refusal to look like one.
        let status = match Route::parse(path).rest {
            "/mcp" | "/agent" => StatusCode::FORBIDDEN,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        return Some((status, BAD_HOST).into_response());
    }
    if let Some(ids) = gate.extension_ids.as_ref().filter(|_| path == extension::PATH) {
        return (!is_extension(ids, headers)).then(|| {
            let message =
                "This is the door of Bowline's extension. The ids of others can be added to `extension.ids`.";
            (StatusCode::FORBIDDEN, message).into_response()
        });
    }
    let is_own = |origin: &str| {
        origin.strip_prefix("http://").is_some_and(|authority| is_own_authority(authority, port))
    };
    let mut origins = headers.get_all(header::ORIGIN).iter().map(|value| value.to_str().unwrap_or("?"));
    if let Some(origin) = origins.find(|origin| !is_own(origin)) {
        let message = format!(
            "Rejected a request from the {origin} origin. Web pages and other people's extensions may not use this endpoint."
        );
        return Some((StatusCode::FORBIDDEN, message).into_response());
    }
    let mut sites = headers.get_all("sec-fetch-site").iter();
    if sites.any(|site| site != "none" && site != "same-origin") {
        let message = "Rejected a request that a web page of another site made.";
        return Some((StatusCode::FORBIDDEN, message).into_response());
    }
    None
}

/// Whether one of these extensions asks. A browser lets nobody else set this origin.
fn is_extension(ids: &[String], headers: &HeaderMap) -> bool {
    let mut origins = headers.get_all(header::ORIGIN).iter();
    match (origins.next(), origins.next()) {
        (Some(origin), None) => origin.to_str().is_ok_and(|origin| {
            is_firefox_extension(origin)
                || origin
                    .strip_prefix("chrome-extension://")
                    .is_some_and(|id| ids.iter().any(|known| known == id))
        }),
        // An extension that may reach this address sends no origin with a plain GET; that no page made
        // the request is then said by the browser in another way. A WebSocket always has an origin.
        (None, None) => {
            headers.get("sec-fetch-site").is_some_and(|site| site == "none")
                && !headers.contains_key(header::UPGRADE)
        }
        _ => false,
    }
}

/// Firefox gives every installation an origin of its own, so none can be known beforehand. That it is an extension and no
/// page is certain; whose it is, the handshake has to prove.
fn is_firefox_extension(origin: &str) -> bool {
    let Some(id) = origin.strip_prefix("moz-extension://") else { return false };
    let is_digit = |c: u8| matches!(c, b'0'..=b'9' | b'a'..=b'f');
    let parts: Vec<&str> = id.split('-').collect();
    parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12])
        && parts.iter().all(|part| part.bytes().all(is_digit))
}

fn is_own_authority(authority: &str, port: u16) -> bool {
    let Some((host, given)) = authority.rsplit_once(':') else { return false };
    let is_local = host == "127.0.0.1" || host == "[::1]" || host.eq_ignore_ascii_case("localhost");
    // Digits only: `+9223` parses too.
    is_local && given.bytes().all(|c| c.is_ascii_digit()) && given.parse() == Ok(port)
}

/// Whether the request carries the token, in whichever place its client could put it.
pub(crate) fn is_authorized(
    token: &Token,
    in_path: Option<&str>,
    headers: &HeaderMap,
    query: Option<&str>,
) -> bool {
    let bearer = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Bearer "));
    let protocols = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL);
    let protocol = protocols
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .find_map(|protocol| protocol.trim().strip_prefix(TOKEN_PROTOCOL));
    let in_query = query.and_then(query_token);
    [in_path, bearer, protocol, in_query].into_iter().flatten().any(|candidate| token.matches(candidate))
}

/// The token in a query, if there is one.
pub(crate) fn query_token(query: &str) -> Option<&str> {
    query.split('&').find_map(|pair| pair.strip_prefix("token="))
}

/// The answer to one who does not know the token.
pub(crate) fn unauthorized(message: &str) -> Response {
    let headers = [(header::WWW_AUTHENTICATE, "Bearer"), (header::CONTENT_TYPE, "text/plain; charset=UTF-8")];
    (StatusCode::UNAUTHORIZED, headers, message.to_owned()).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(headers: &[(&'static str, &str)]) -> Option<u16> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        refusal(&gate(), "/json", &map).map(|response| response.status().as_u16())
    }

    fn gate() -> Gate {
        Gate { port: 9223, extension_ids: Some(Arc::new([OURS.to_owned()])) }
    }

    const OURS: &str = "jpignaibiiemhngfjkcpokkamffknabf";

    #[test]
    fn only_our_own_names_with_our_port_are_hosts() {
        for host in ["127.0.0.1:9223", "localhost:9223", "LOCALHOST:9223", "[::1]:9223"] {
            assert_eq!(status(&[("host", host)]), None, "{host}");
        }
        for host in [
            "evil.test:9223",
            "127.0.0.1",
            "127.0.0.1:9222",
            "127.0.0.1:+9223",
            "127.0.0.1.evil.test:9223",
            "localhost.:9223",
            "",
        ] {
            assert_eq!(status(&[("host", host)]), Some(500), "{host}");
        }
        assert_eq!(status(&[]), Some(500));
        assert_eq!(status(&[("host", "localhost:9223"), ("host", "localhost:9223")]), Some(500));
    }

    #[test]
    fn pages_of_others_are_refused() {
        let host = ("host", "127.0.0.1:9223");
        for origin in [
            "http://evil.test",
            "https://127.0.0.1:9223",
            "null",
            "chrome-extension://abc",
            "http://127.0.0.1:9222",
        ] {
            assert_eq!(status(&[host, ("origin", origin)]), Some(403), "{origin}");
        }
        let own = ("origin", "http://127.0.0.1:9223");
        assert_eq!(status(&[host, own]), None);
        assert_eq!(status(&[host, own, ("origin", "http://evil.test")]), Some(403), "the second counts, too");
        assert_eq!(status(&[host, ("sec-fetch-site", "cross-site")]), Some(403));
        assert_eq!(status(&[host, ("sec-fetch-site", "none")]), None);
    }

    #[test]
    fn the_token_is_found_wherever_it_may_stand() {
        let token = Token::generate().unwrap();
        let with = |name: &'static str, value: String| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            is_authorized(&token, None, &headers, None)
        };
        let text = token.as_str();
        assert!(with("authorization", format!("Bearer {text}")));
        assert!(with("sec-websocket-protocol", format!("bowline, bowline.token.{text}")));
        assert!(is_authorized(&token, Some(text), &HeaderMap::new(), None));
        assert!(is_authorized(&token, None, &HeaderMap::new(), Some(&format!("a=b&token={text}"))));
        assert!(!with("authorization", format!("Bearer {text}x")));
        assert!(!is_authorized(&token, Some(""), &HeaderMap::new(), Some("token=")));
    }

    #[test]
    fn one_path_is_for_our_extension_alone() {
        let host = ("host", "127.0.0.1:9223");
        let ours = format!("chrome-extension://{OURS}");
        let other = format!("chrome-extension://{}", "a".repeat(32));
        let knock = |gate: &Gate, path: &str, headers: &[(&'static str, &str)]| {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.append(*name, value.parse().unwrap());
            }
            refusal(gate, path, &map).map(|response| response.status().as_u16())
        };
        let gate = gate();
        assert_eq!(knock(&gate, "/extension", &[host, ("origin", &ours)]), None);
        assert_eq!(
            knock(&gate, "/extension", &[host, ("origin", &ours), ("sec-fetch-site", "cross-site")]),
            None
        );
        assert_eq!(knock(&gate, "/extension", &[("host", "evil.test:9223"), ("origin", &ours)]), Some(500));
        for origin in
            [&other, "null", "http://127.0.0.1:9223", "https://evil.test", &ours[..40], &format!("{ours}/")]
        {
            assert_eq!(knock(&gate, "/extension", &[host, ("origin", origin)]), Some(403), "{origin}");
        }
        assert_eq!(knock(&gate, "/extension", &[host]), Some(403));
        assert_eq!(knock(&gate, "/extension", &[host, ("origin", &ours), ("origin", &other)]), Some(403));
        assert_eq!(knock(&gate, "/extension", &[host, ("sec-fetch-site", "none")]), None);
        let socket = [host, ("sec-fetch-site", "none"), ("upgrade", "websocket")];
        assert_eq!(knock(&gate, "/extension", &socket), Some(403));
        for path in ["/extension/", "/json", "/api/status", "/cdp"] {
            assert_eq!(knock(&gate, path, &[host, ("origin", &ours)]), Some(403), "{path}");
        }
        let firefox = "moz-extension://7d1a3c52-8d3c-4c7e-9d2b-0a1b2c3d4e5f";
        assert_eq!(knock(&gate, "/extension", &[host, ("origin", firefox)]), None);
        for path in ["/json", "/api/status", "/mcp"] {
            assert_eq!(knock(&gate, path, &[host, ("origin", firefox)]), Some(403), "{path}");
        }
        for origin in
            ["moz-extension://", "moz-extension://evil.test", &format!("{firefox}/"), &firefox.to_uppercase()]
        {
            assert_eq!(knock(&gate, "/extension", &[host, ("origin", origin)]), Some(403), "{origin}");
        }
        let without = Gate { extension_ids: None, ..gate };
        assert_eq!(knock(&without, "/extension", &[host, ("origin", &ours)]), Some(403));
    }
}
