//! Where a Chrome that somebody else started listens.

use bowline_backends::attach;

use crate::cli::PlaceArgs;
use crate::failure::{Failure, exit};

const HOST: &str = "127.0.0.1";
const PORT: u16 = 9222;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// The page that a ws:// URL named.
    pub(crate) page: Option<String>,
    /// The path of the browser's own socket, if a ws:// URL named that.
    pub(crate) socket: Option<String>,
}

impl Default for Address {
    fn default() -> Self {
        Self { host: HOST.to_owned(), port: PORT, page: None, socket: None }
    }
}

impl Address {
    /// The address that was given, if one was.
    pub(crate) fn of(args: &PlaceArgs) -> Result<Option<Self>, Failure> {
        if let Some(url) = &args.connect {
            return Self::parse(url).map(Some);
        }
        if args.host.is_none() && args.port.is_none() {
            return Ok(None);
        }
        let host = match &args.host {
            // An IPv6 address, which has colons of its own.
            Some(host) if host.contains(':') && !host.starts_with('[') => format!("[{host}]"),
            Some(host) => host.clone(),
            None => HOST.to_owned(),
        };
        Self::parse(&format!("{host}:{}", args.port.unwrap_or(PORT))).map(Some)
    }

    pub(crate) fn parse(text: &str) -> Result<Self, Failure> {
        let bad = |error: attach::BadAddress| {
            Failure::new(exit::USAGE, "bad_address", error.to_string()).hint(error.hint())
        };
        match attach::Address::parse(text).map_err(bad)? {
            attach::Address::Http(authority) => Ok(Self { page: None, socket: None, ..at(&authority) }),
            attach::Address::Socket(url) => {
                let rest = url.strip_prefix("ws://").unwrap_or(&url);
                let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
                let page = path.strip_prefix("devtools/page/").map(str::to_owned);
                let socket = path.starts_with("devtools/browser/").then(|| format!("/{path}"));
                Ok(Self { page, socket, ..at(authority) })
            }
        }
    }

    pub(crate) fn authority(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// Whether it is on this machine.
    pub(crate) fn is_local(&self) -> bool {
        let bare = self.host.trim_start_matches('[').trim_end_matches(']');
        self.host == "localhost"
            || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    /// As `bowline attach` takes it.
    pub(crate) fn url(&self) -> String {
        match &self.socket {
            Some(path) => format!("ws://{}{path}", self.authority()),
            None => self.authority(),
        }
    }

    /// A name for the browser there.
    pub(crate) fn name(&self) -> String {
        let place: String = format!("{}-{}", self.host, self.port)
            .to_lowercase()
            .chars()
            .map(|c| if c.is_ascii_lowercase() || c.is_ascii_digit() { c } else { '-' })
            .collect();
        let mut name = format!("chrome-{}", place.trim_matches('-'));
        name.truncate(64);
        name
    }
}

/// An authority that was found to be one.
fn at(authority: &str) -> Address {
    let (host, port) = authority.rsplit_once(':').unwrap_or((authority, ""));
    Address { host: host.to_owned(), port: port.parse().unwrap_or(PORT), page: None, socket: None }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    fn given(words: &[&str]) -> Option<Address> {
        let words = [&["bowline", "tabs"], words].concat();
        let Command::Tabs(args) = Cli::try_parse_from(words).unwrap().command else { panic!("tabs") };
        Address::of(&args.place).unwrap()
    }

    #[test]
    fn host_and_port_complete_each_other() {
        assert_eq!(given(&[]), None);
        assert_eq!(given(&["--port", "9333"]).unwrap().authority(), "127.0.0.1:9333");
        assert_eq!(given(&["--host", "box"]).unwrap().authority(), "box:9222");
        assert_eq!(given(&["--host", "::1"]).unwrap().authority(), "[::1]:9222");
    }

    #[test]
    fn a_url_may_name_the_browser_or_a_page() {
        let page = given(&["--connect", "ws://127.0.0.1:9333/devtools/page/ABC"]).unwrap();
        assert_eq!((page.authority().as_str(), page.page.as_deref()), ("127.0.0.1:9333", Some("ABC")));
        let browser = given(&["--connect", "ws://[::1]:1/devtools/browser/x"]).unwrap();
        assert_eq!(browser.authority(), "[::1]:1");
        assert_eq!((browser.page, browser.socket.as_deref()), (None, Some("/devtools/browser/x")));
        assert_eq!(given(&["--connect", "http://h:5/"]).unwrap().authority(), "h:5");
        assert_eq!(given(&["--connect", "9222"]), Some(Address::default()));
    }

    #[test]
    fn a_place_elsewhere_has_a_name_of_its_own() {
        let elsewhere = Address::parse("http://Box.example:9333").unwrap();
        assert_eq!((elsewhere.is_local(), elsewhere.name().as_str()), (false, "chrome-box-example-9333"));
        let socket = Address::parse("ws://[::1]:1/devtools/browser/x").unwrap();
        assert_eq!((socket.is_local(), socket.url().as_str()), (true, "ws://[::1]:1/devtools/browser/x"));
    }

    #[test]
    fn nonsense_and_contradictions_are_wrong_usage() {
        assert_eq!(Address::parse("https://h").unwrap_err().exit, exit::USAGE);
        for words in [["--port", "1", "--connect", "h:1"], ["--browser", "work", "--port", "1"]] {
            assert!(Cli::try_parse_from([&["bowline", "tabs"], &words[..]].concat()).is_err(), "{words:?}");
        }
    }
}
