//! `bowline extension native-host`: what a browser starts when the extension asks for the hub. It hands
//! over a key in one step, because the browser itself has checked the extension's id.
//!
//! Messages have their length in four bytes before them. Stdout belongs to them.

pub(super) mod register;

use std::io::{self, Read, Write};
use std::process::ExitCode;

use bowline_doors::extension::{NativeRequest, NativeStatus};
use bowline_wire::pairing::BrowserInfo;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::api::Api;
use crate::bundle::{self, Package};
use crate::commands::Context;
use crate::failure::{Failure, exit};

/// More than any message of ours.
const LARGEST: u32 = 64 << 10;

#[derive(Deserialize)]
struct Asked {
    method: String,
    #[serde(default)]
    instance: String,
    #[serde(default)]
    browser: BrowserInfo,
    #[serde(default)]
    name: Option<String>,
}

pub(super) fn run(context: &Context<'_>, words: &[String]) -> ExitCode {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let mut served = Ok(());
    while served.is_ok() {
        let message = match read(&mut input) {
            Ok(Some(message)) => message,
            Ok(None) => return ExitCode::SUCCESS,
            Err(_) => return ExitCode::FAILURE,
        };
        let answer = answer(context, words, &message).unwrap_or_else(|failure| {
            let hint = failure.hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
            json!({"error": format!("{}{hint}", failure.message)})
        });
        served = write(&mut output, &answer);
    }
    ExitCode::FAILURE
}

fn answer(context: &Context<'_>, words: &[String], message: &[u8]) -> Result<Value, Failure> {
    let ids = bundle::accepted_ids(&context.config_or_defaults()?);
    if !is_known(&ids, Package::Firefox.id().as_deref(), words) {
        return Err(Failure::new(exit::FAILED, "other_extension", "this extension is not Bowline's")
            .hint("its id can be added to `extension.ids`"));
    }
    let Ok(Asked { method, instance, browser, name }) = serde_json::from_slice(message) else {
        return Err(Failure::usage("this message is not understood"));
    };
    if method != "pair" {
        return Err(Failure::usage(format!("there is no `{method}` here")));
    }
    let state = context.hub()?;
    let request = NativeRequest { instance, browser, name };
    let paired: NativeStatus =
        context.block_on(async { Api::new(&state).post("/api/extensions/native", &request).await })?;
    Ok(json!({"name": paired.name, "key": paired.key, "port": paired.port}))
}

/// Chromium says first who asks; Firefox names the manifest that led here, and then the extension.
fn is_known(ids: &[String], in_firefox: Option<&str>, words: &[String]) -> bool {
    match words {
        [_, id, ..] if in_firefox.is_some_and(|known| known == id) => true,
        [origin, ..] => is_origin_of(ids, origin),
        [] => false,
    }
}

/// A browser says who asks as `chrome-extension://ID/`.
fn is_origin_of(ids: &[String], origin: &str) -> bool {
    let id = origin.strip_prefix("chrome-extension://").and_then(|rest| rest.strip_suffix('/'));
    id.is_some_and(|id| ids.iter().any(|known| known == id))
}

fn read(input: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    match input.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let length = u32::from_ne_bytes(length);
    if length > LARGEST {
        return Err(io::Error::other("the message is too long"));
    }
    let mut message = vec![0; length as usize];
    input.read_exact(&mut message)?;
    Ok(Some(message))
}

fn write(output: &mut impl Write, message: &Value) -> io::Result<()> {
    let text = message.to_string();
    let length = u32::try_from(text.len()).map_err(io::Error::other)?;
    output.write_all(&length.to_ne_bytes())?;
    output.write_all(text.as_bytes())?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_their_length_before_them() {
        let mut bytes = Vec::new();
        write(&mut bytes, &json!({"a": 1})).unwrap();
        assert_eq!(bytes[..4], 7_u32.to_ne_bytes());
        assert_eq!(read(&mut bytes.as_slice()).unwrap().unwrap(), br#"{"a":1}"#);
        assert!(read(&mut [].as_slice()).unwrap().is_none());
        assert!(read(&mut u32::MAX.to_ne_bytes().as_slice()).is_err(), "too long");
        assert!(read(&mut 3_u32.to_ne_bytes().as_slice()).is_err(), "cut off");
    }

    #[test]
    fn only_a_known_extension_may_ask() {
        let ids = ["jpignaibiiemhngfjkcpokkamffknabf".to_owned()];
        assert!(is_origin_of(&ids, "chrome-extension://jpignaibiiemhngfjkcpokkamffknabf/"));
        for other in [
            "chrome-extension://jpignaibiiemhngfjkcpokkamffknabf",
            "chrome-extension://aaaa/",
            "https://jpignaibiiemhngfjkcpokkamffknabf/",
            "",
        ] {
            assert!(!is_origin_of(&ids, other), "{other}");
        }
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let firefox =
            |id: &str| words(&["/home/me/.mozilla/native-messaging-hosts/dev.bowline.hub.json", id]);
        assert!(is_known(&ids, Some("bowline@bowline.dev"), &firefox("bowline@bowline.dev")));
        assert!(!is_known(&ids, Some("bowline@bowline.dev"), &firefox("other@bowline.dev")));
        assert!(!is_known(&ids, None, &firefox("")) && !is_known(&ids, None, &[]));
    }
}
