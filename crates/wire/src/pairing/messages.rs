//! The messages of the handshake, as they are written.

use serde::{Deserialize, Serialize};

use crate::Protocol;

/// What an extension says before it is welcome.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "method", content = "params", rename_all = "lowercase")]
pub enum FromExtension {
    Hello(Hello),
    Proof {
        proof: String,
    },
    Pair {
        #[serde(rename = "publicKey")]
        public_key: String,
        nonce: String,
    },
    Confirm {
        proof: String,
    },
}

/// As much of a `hello` as every version of the protocol has.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Opening {
    pub protocol: u32,
    #[serde(default)]
    pub version: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Hello {
    pub protocol: u32,
    /// The extension's own version.
    pub version: String,
    pub instance: String,
    pub nonce: String,
    /// Whether it has a key for us.
    pub paired: bool,
    #[serde(default)]
    pub browser: BrowserInfo,
    /// What its browser is driven in: CDP through chrome.debugger, or BiDi, which it then answers itself.
    #[serde(default)]
    pub speaks: Protocol,
}

/// What an extension tells of its browser.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct BrowserInfo {
    /// `Chrome`, `Microsoft Edge`, `Chromium`...
    pub name: String,
    pub version: String,
    pub user_agent: String,
}

/// What the hub says until the extension is welcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "method", content = "params", rename_all = "lowercase", rename_all_fields = "camelCase")]
pub enum FromHub<'a> {
    Challenge { protocol: u32, version: &'a str, nonce: &'a str, proof: &'a str },
    Commit { commitment: &'a str },
    Reveal { public_key: &'a str, nonce: &'a str },
    Paired { name: &'a str, proof: &'a str },
    Welcome { name: &'a str },
    Refused { code: RefusalCode, message: &'a str, hint: &'a str },
}

/// Why an extension is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalCode {
    ProtocolVersion,
    NotPaired,
    UnknownInstance,
    WrongProof,
    PairingBusy,
    PairingDeclined,
    PairingTimeout,
}

impl BrowserInfo {
    /// Cut to what a browser would say: it is kept, and shown.
    pub fn shortened(mut self) -> Self {
        const LONGEST: usize = 512;
        for text in [&mut self.name, &mut self.version, &mut self.user_agent] {
            if let Some((end, _)) = text.char_indices().nth(LONGEST) {
                text.truncate(end);
            }
        }
        self
    }
}

impl Opening {
    /// The beginning of a `hello`, whatever else is in it; `None` if it is none.
    pub fn parse(text: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Message {
            method: String,
            params: Opening,
        }
        let Message { method, params } = serde_json::from_str(text).ok()?;
        Some(params).filter(|_| method == "hello")
    }
}

impl FromHub<'_> {
    pub fn text(&self) -> String {
        match serde_json::to_string(self) {
            Ok(text) => text,
            Err(_) => unreachable!("strings and numbers can be written"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_browser_says_of_itself_is_bounded() {
        let long = BrowserInfo { name: "\u{e9}".repeat(600), ..BrowserInfo::default() }.shortened();
        assert_eq!(long.name.chars().count(), 512);
    }

    #[test]
    fn messages_are_those_of_the_protocol() {
        let hello = r#"{"method":"hello","params":{"protocol":1,"version":"0.1.0","instance":"i","nonce":"n","paired":false,"browser":{"name":"Chromium","version":"156.0.8078.73","userAgent":"Mozilla/5.0"}}}"#;
        let Ok(FromExtension::Hello(parsed)) = serde_json::from_str(hello) else { panic!("a hello") };
        assert_eq!((parsed.browser.user_agent.as_str(), parsed.speaks), ("Mozilla/5.0", Protocol::Cdp));
        let firefox = hello.replace("\"paired\"", "\"speaks\":\"bidi\",\"paired\"");
        let Ok(FromExtension::Hello(parsed)) = serde_json::from_str(&firefox) else { panic!("a hello") };
        assert_eq!(parsed.speaks, Protocol::Bidi);
        assert_eq!(Opening::parse(hello), Some(Opening { protocol: 1, version: "0.1.0".to_owned() }));
        let future = r#"{"method":"hello","params":{"protocol":9,"stranger":true}}"#;
        assert_eq!(Opening::parse(future).map(|opening| opening.protocol), Some(9));
        assert_eq!(Opening::parse(r#"{"method":"proof","params":{"protocol":1}}"#), None);
        let pair = r#"{"method":"pair","params":{"publicKey":"k","nonce":"n"}}"#;
        let expected = FromExtension::Pair { public_key: "k".to_owned(), nonce: "n".to_owned() };
        assert_eq!(serde_json::from_str::<FromExtension>(pair).unwrap(), expected);
        let reveal = FromHub::Reveal { public_key: "k", nonce: "n" };
        assert_eq!(reveal.text(), r#"{"method":"reveal","params":{"publicKey":"k","nonce":"n"}}"#);
        let refused = FromHub::Refused { code: RefusalCode::PairingTimeout, message: "m", hint: "h" };
        assert_eq!(
            refused.text(),
            r#"{"method":"refused","params":{"code":"pairing_timeout","message":"m","hint":"h"}}"#
        );
    }
}
