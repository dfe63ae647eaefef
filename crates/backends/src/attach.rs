//! Browsers that somebody else runs: a host and port, a WebSocket URL, or a Chrome whose user switched
//! remote debugging on for the running profile. They are never ended by us.

use std::time::Duration;

use bowline_hub::backend::{AttachSpec, Protocol, StartError, Started};
use bytes::Bytes;
use serde::Deserialize;

use crate::detect::ThisMachine;
use crate::running::{self, RunningBrowser};
use crate::socket::DialError;
use crate::{http, launch, socket};

/// An HTTP look-up on the browser's port.
const LOOK_UP: Duration = Duration::from_secs(5);
/// Chrome asks its user before it lets us in.
const CONSENT: Duration = Duration::from_secs(120);

/// Where a user's words point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A browser's HTTP side, as `host:port`.
    Http(String),
    Socket(String),
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{0}` is not an address of a browser")]
pub struct BadAddress(String);

impl BadAddress {
    pub fn hint(&self) -> &'static str {
        "use host:port, http://host:port or ws://host:port/devtools/browser/ID"
    }
}

impl Address {
    pub fn parse(text: &str) -> Result<Self, BadAddress> {
        let bad = || BadAddress(text.to_owned());
        let trimmed = text.trim().trim_end_matches('/');
        if let Some(rest) = trimmed.strip_prefix("ws://") {
            check_authority(rest.split('/').next().unwrap_or(rest)).ok_or_else(bad)?;
            return Ok(Self::Socket(trimmed.to_owned()));
        }
        let authority = trimmed.strip_prefix("http://").unwrap_or(trimmed);
        let authority = match authority.parse::<u16>() {
            Ok(port) => format!("127.0.0.1:{port}"),
            Err(_) => authority
                .strip_prefix(':')
                .map_or_else(|| authority.to_owned(), |port| format!("127.0.0.1:{port}")),
        };
        check_authority(&authority).ok_or_else(bad)?;
        Ok(Self::Http(authority))
    }
}

fn check_authority(authority: &str) -> Option<()> {
    let (host, port) = authority.rsplit_once(':')?;
    let port: u16 = port.parse().ok()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '[' | ']' | ':');
    (port != 0 && !host.is_empty() && host.chars().all(plain)).then_some(())
}

/// The browsers whose users switched remote debugging on, and that still run. Those that say which
/// browser they are come first; one that waits for consent keeps its HTTP side closed.
pub async fn find_running() -> Vec<RunningBrowser> {
    let found = tokio::task::spawn_blocking(|| running::find_running(&ThisMachine)).await.unwrap_or_default();
    let (mut certain, mut likely) = (Vec::new(), Vec::new());
    for browser in found {
        // The file survives the browser, and its port may be somebody else's by now.
        let authority = format!("127.0.0.1:{}", browser.port);
        match http::get(&authority, "/json/version", LOOK_UP).await {
            Ok(answer) if answer.status == 404 => likely.push(browser),
            Ok(answer) => {
                let path =
                    serde_json::from_slice(&answer.body).ok().and_then(|version: Version| version.path());
                if path.is_some() && (browser.ws_path.is_none() || path == browser.ws_path) {
                    certain.push(browser);
                }
            }
            Err(_) => {}
        }
    }
    certain.extend(likely);
    certain
}

/// What matters of `/json/version`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    web_socket_debugger_url: String,
}

impl Version {
    /// The browser names itself as it was asked; the path is what matters.
    fn path(&self) -> Option<String> {
        self.web_socket_debugger_url
            .find("/devtools/")
            .map(|start| self.web_socket_debugger_url[start..].to_owned())
    }
}

/// What to remember of a browser found through its profile.
pub fn spec_of(browser: &RunningBrowser) -> AttachSpec {
    let url = match &browser.ws_path {
        Some(path) => format!("ws://127.0.0.1:{}{path}", browser.port),
        None => format!("http://127.0.0.1:{}", browser.port),
    };
    AttachSpec { url, profile_dir: Some(browser.profile_dir.clone()) }
}

pub async fn start(spec: &AttachSpec) -> Result<Started, StartError> {
    let way = find_way(spec).await?;
    let link = socket::dial(&way.url, way.within).await.map_err(|error| not_attached(&way, &error))?;
    Ok(Started { link, protocol: Protocol::Cdp, process: None })
}

/// Whether somebody is there. Chrome's user is not asked yet.
pub async fn check(spec: &AttachSpec) -> Result<(), StartError> {
    let authority = socket::authority(&find_way(spec).await?.url);
    match tokio::time::timeout(LOOK_UP, tokio::net::TcpStream::connect(&authority)).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(unreachable(&authority, &error.to_string())),
        Err(_) => Err(unreachable(&authority, "no answer in time")),
    }
}

pub async fn protocol(spec: &AttachSpec) -> Result<Bytes, StartError> {
    let authority = socket::authority(&find_way(spec).await?.url);
    match http::get(&authority, "/json/protocol", LOOK_UP).await {
        Ok(answer) if answer.status == 200 => Ok(answer.body),
        _ => Err(StartError {
            code: "no_protocol",
            message: format!("the browser at {authority} does not offer /json/protocol"),
            hint: "a Chrome that shares its running profile keeps its HTTP side closed".to_owned(),
        }),
    }
}

/// How to reach a browser's socket, and how long its answer may take.
struct Way {
    url: String,
    within: Duration,
}

async fn find_way(spec: &AttachSpec) -> Result<Way, StartError> {
    if let Some(profile) = &spec.profile_dir
        && let Some(url) = launch::active_port_url(profile)
    {
        // Chrome writes a new port and path whenever it starts.
        return Ok(Way { url, within: CONSENT });
    }
    let address = Address::parse(&spec.url).map_err(|error| StartError {
        code: "bad_address",
        message: error.to_string(),
        hint: error.hint().to_owned(),
    })?;
    match address {
        Address::Socket(url) => Ok(Way { url, within: CONSENT }),
        Address::Http(authority) => look_up(&authority).await,
    }
}

async fn look_up(authority: &str) -> Result<Way, StartError> {
    let answer = http::get(authority, "/json/version", LOOK_UP)
        .await
        .map_err(|error| unreachable(authority, &error.to_string()))?;
    if answer.status == 404
        && let Some(path) = consent_path(authority).await
    {
        return Ok(Way { url: format!("ws://{authority}{path}"), within: CONSENT });
    }
    let version: Version = serde_json::from_slice(&answer.body).map_err(|_| StartError {
        code: "not_cdp",
        message: format!(
            "{authority} answers, but not like a browser (/json/version gave status {})",
            answer.status
        ),
        hint: "start the browser with --remote-debugging-port=PORT and give that port".to_owned(),
    })?;
    let url = match version.path() {
        Some(path) => format!("ws://{authority}{path}"),
        None => version.web_socket_debugger_url,
    };
    Ok(Way { url, within: LOOK_UP })
}

/// Chrome in consent mode answers 404 on `/json`; the path is in its profile.
async fn consent_path(authority: &str) -> Option<String> {
    let port: u16 = authority.rsplit_once(':')?.1.parse().ok()?;
    find_running().await.into_iter().find(|browser| browser.port == port)?.ws_path
}

fn not_attached(way: &Way, error: &DialError) -> StartError {
    let (code, hint) = match error {
        DialError::Unreachable { address, .. } => return unreachable(address, &error.to_string()),
        DialError::TimedOut { .. } if way.within == CONSENT => {
            ("no_consent", "allow the connection in the window that Chrome shows, then try again")
        }
        DialError::TimedOut { .. } => {
            ("no_answer", "the browser may be hung, or waits for its user's consent")
        }
        DialError::Refused { .. } => (
            "refused",
            "the browser's id may have changed: attach by host:port instead of a ws URL, or allow the connection in Chrome",
        ),
    };
    StartError { code, message: error.to_string(), hint: hint.to_owned() }
}

fn unreachable(address: &str, why: &str) -> StartError {
    // The system's number says nothing that its words do not.
    let why = why.split(" (os error").next().unwrap_or(why);
    StartError {
        code: "unreachable",
        message: format!("no browser can be reached at {address}: {why}"),
        hint: "start it with --remote-debugging-port, or switch remote debugging on in chrome://inspect"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_usual_notation_is_understood() {
        let http = |text: &str| Ok(Address::Http(text.to_owned()));
        assert_eq!(Address::parse("9222"), http("127.0.0.1:9222"));
        assert_eq!(Address::parse(":9222"), http("127.0.0.1:9222"));
        assert_eq!(Address::parse("http://localhost:9222/"), http("localhost:9222"));
        assert_eq!(Address::parse("[::1]:9222"), http("[::1]:9222"));
        let socket = "ws://127.0.0.1:9222/devtools/browser/x";
        assert_eq!(Address::parse(socket), Ok(Address::Socket(socket.to_owned())));
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        for text in ["", "host", "host:0", "host:99999", "https://host:1/x", "ws:///x", "a b:1"] {
            assert_eq!(Address::parse(text), Err(BadAddress(text.to_owned())), "{text}");
        }
    }
}
