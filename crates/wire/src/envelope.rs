//! The envelope of a CDP message: id, method and session. Nothing else is looked at.
//!
//! Messages of clients are checked as Chromium checks them, since a broken one would be answered on
//! the browser's root session, where it could not be told whose it was. Messages of the browser are
//! trusted to be JSON and are read from both ends without walking over what lies between.

use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;

use crate::json::{self, Document};
use crate::reply;

/// A well-formed command of a client.
#[derive(Debug, PartialEq)]
pub struct Command<'a> {
    pub id: i32,
    pub method: Cow<'a, str>,
    /// Absent or empty means the client's own root.
    pub session: Option<Cow<'a, str>>,
    pub params: Option<&'a str>,
    object: Range<usize>,
    names_empty_session: bool,
}

/// Why a client's message is no command, in the words of Chromium.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// The id, if it was read before the defect.
    pub id: Option<i32>,
    pub code: i32,
    pub message: String,
}

impl Malformed {
    pub fn reply(&self) -> String {
        reply::error(self.id, None, self.code, &self.message)
    }
}

impl<'a> Command<'a> {
    pub fn parse(text: &'a str) -> Result<Self, Malformed> {
        let (object, members) = match json::scan(text.as_bytes()) {
            Ok(Document::Object { range, members }) => (range, members),
            Ok(Document::Other) => return Err(invalid(None, "Message must be an object")),
            Err(error) => {
                let message = format!("JSON: {} at position {}", error.what, error.position);
                return Err(Malformed { id: None, code: reply::PARSE_ERROR, message });
            }
        };
        let mut fields = Fields::default();
        // Chromium reports a defect at its position in the binary form it converts to.
        let mut position = CBOR_PREAMBLE;
        for member in &members {
            let key = unescape(text, &member.key);
            let value = &text[member.value.clone()];
            fields.take(&key, value, position)?;
            position += cbor_text(&key) + cbor_scalar(value);
        }
        let Some(id) = fields.id else {
            return Err(invalid(None, "Message must have integer 'id' property"));
        };
        let Some(method) = fields.method.filter(|method| !method.is_empty()) else {
            return Err(invalid(Some(id), "Message must have string 'method' property"));
        };
        let names_empty_session = fields.session.as_deref() == Some("");
        let session = fields.session.filter(|session| !session.is_empty());
        Ok(Self { id, method, session, params: fields.params, object, names_empty_session })
    }

    /// The bytes of the command's object, ready to be sent on. `text` is what was parsed.
    pub fn body(&self, text: &Bytes) -> Bytes {
        if self.names_empty_session {
            // The root's session id is put in front on the way; a second one would be a duplicate key.
            let params = self.params.map(|params| format!(",\"params\":{}", params.replace('\0', "\\u0000")));
            let params = params.unwrap_or_default();
            let method = serde_json::json!(self.method);
            return Bytes::from(format!("{{\"id\":{},\"method\":{method}{params}}}", self.id));
        }
        if memchr::memchr(0, text).is_some() {
            // Chromium takes a NUL inside a string, but on a pipe it would end the message.
            let object = String::from_utf8_lossy(&text[self.object.clone()]);
            return Bytes::from(object.replace('\0', "\\u0000"));
        }
        text.slice(self.object.clone())
    }
}

#[derive(Default)]
struct Fields<'a> {
    id: Option<i32>,
    method: Option<Cow<'a, str>>,
    session: Option<Cow<'a, str>>,
    params: Option<&'a str>,
    params_seen: bool,
}

impl<'a> Fields<'a> {
    fn take(&mut self, key: &str, value: &'a str, position: usize) -> Result<(), Malformed> {
        let duplicate = match key {
            "id" => self.id.is_some(),
            "method" => self.method.is_some(),
            "sessionId" => self.session.is_some(),
            "params" => self.params_seen,
            _ => false,
        };
        if duplicate {
            return Err(cbor(self.id, "duplicate map key", position));
        }
        match key {
            "id" => {
                self.id = Some(
                    integer(value)
                        .ok_or_else(|| invalid(self.id, "Message must have integer 'id' property"))?,
                );
            }
            "method" => {
                self.method = Some(
                    ascii_text(value)
                        .ok_or_else(|| invalid(self.id, "Message must have string 'method' property"))?,
                );
            }
            "sessionId" => {
                self.session = Some(
                    ascii_text(value)
                        .ok_or_else(|| invalid(self.id, "Message may have string 'sessionId' property"))?,
                );
            }
            "params" => {
                self.params_seen = true;
                match value.as_bytes().first() {
                    Some(b'{' | b'[') => self.params = Some(value),
                    Some(b'n') => {}
                    _ => return Err(invalid(self.id, "Message may have object 'params' property")),
                }
            }
            key if !key.is_ascii() => return Err(cbor(self.id, "invalid map key", position)),
            _ => {
                let message = "Message has property other than 'id', 'method', 'sessionId', 'params'";
                return Err(invalid(self.id, message));
            }
        }
        Ok(())
    }
}

fn invalid(id: Option<i32>, message: &str) -> Malformed {
    Malformed { id, code: reply::INVALID_REQUEST, message: message.to_owned() }
}

fn cbor(id: Option<i32>, what: &str, position: usize) -> Malformed {
    Malformed { id, code: reply::PARSE_ERROR, message: format!("CBOR: {what} at position {position}") }
}

/// Envelope header and map start of Chromium's binary form.
const CBOR_PREAMBLE: usize = 8;

fn cbor_head(length: usize) -> usize {
    match length {
        0..24 => 1,
        24..256 => 2,
        256..65_536 => 3,
        _ => 5,
    }
}

fn cbor_text(text: &str) -> usize {
    let length = if text.is_ascii() { text.len() } else { text.encode_utf16().count() * 2 };
    cbor_head(length) + length
}

fn cbor_scalar(value: &str) -> usize {
    match (integer(value), serde_json::from_str::<&str>(value)) {
        (Some(number), _) => cbor_head(number.unsigned_abs() as usize),
        (None, Ok(text)) => cbor_text(text),
        _ => value.len(),
    }
}

/// An integer as Chromium reads it: `1`, `1.0` and `1e0` are the same, and it fits 32 bits.
fn integer(value: &str) -> Option<i32> {
    if let Ok(number) = value.parse::<i32>() {
        return Some(number);
    }
    if !value.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
        return None;
    }
    let number = value.parse::<f64>().ok()?;
    let whole = number as i32;
    (f64::from(whole) == number).then_some(whole)
}

/// A JSON string of ASCII characters; Chromium takes no other for names.
fn ascii_text(value: &str) -> Option<Cow<'_, str>> {
    let inner = value.strip_prefix('"')?.strip_suffix('"')?;
    let text = unescape_text(inner);
    text.is_ascii().then_some(text)
}

fn unescape<'a>(text: &'a str, range: &Range<usize>) -> Cow<'a, str> {
    unescape_text(&text[range.clone()])
}

fn unescape_text(inner: &str) -> Cow<'_, str> {
    if !inner.contains('\\') {
        return Cow::Borrowed(inner);
    }
    // An escape that serde does not know (`\v`, half a surrogate pair) is in no name that means anything.
    let unknown = || char::REPLACEMENT_CHARACTER.to_string();
    let text = serde_json::from_str(&format!("\"{}\"", inner.replace("\\v", "\\u000b")));
    Cow::Owned(text.unwrap_or_else(|_| unknown()))
}

/// The envelope of a message from the browser.
#[derive(Debug, PartialEq, Eq)]
pub struct BrowserMessage<'a> {
    pub id: Option<i32>,
    pub method: Option<&'a str>,
    pub session: Option<&'a str>,
    /// The `"sessionId":"..."` with its comma, to be cut out for the client whose root it is.
    session_member: Range<usize>,
}

impl<'a> BrowserMessage<'a> {
    /// `None` when the text is no CDP message at all.
    pub fn parse(text: &'a str) -> Option<Self> {
        Self::parse_ends(text).or_else(|| Self::parse_all(text))
    }

    /// Chromium writes `id` or `method` first and `sessionId` last. In valid JSON a text that ends in
    /// `,"sessionId":"X"}` with no escape in X has that member at the top level: the last brace closes
    /// the message, and every quote in the pattern stands behind an unescaped separator.
    fn parse_ends(text: &'a str) -> Option<Self> {
        const MEMBER: &str = ",\"sessionId\":\"";
        const LONGEST_ID: usize = 80;
        let inner = text.strip_suffix("\"}")?;
        let window = inner.len().saturating_sub(LONGEST_ID);
        let quote = window + memchr::memrchr(b'"', &inner.as_bytes()[window..])?;
        let session = &inner[quote + 1..];
        if !inner[..=quote].ends_with(MEMBER) || !session.bytes().all(|c| c.is_ascii_alphanumeric()) {
            return None;
        }
        let session_member = quote + 1 - MEMBER.len()..text.len() - 1;
        let (id, method) = if let Some(rest) = text.strip_prefix("{\"id\":") {
            let end = rest.bytes().position(|c| c != b'-' && !c.is_ascii_digit())?;
            (Some(rest[..end].parse().ok()?), None)
        } else {
            let rest = text.strip_prefix("{\"method\":\"")?;
            let method = &rest[..memchr::memchr(b'"', rest.as_bytes())?];
            if method.contains('\\') {
                return None;
            }
            (None, Some(method))
        };
        Some(Self { id, method, session: Some(session), session_member })
    }

    fn parse_all(text: &'a str) -> Option<Self> {
        let Ok(Document::Object { members, .. }) = json::scan(text.as_bytes()) else { return None };
        let mut message = Self { id: None, method: None, session: None, session_member: 0..0 };
        for (index, member) in members.iter().enumerate() {
            let value = &text[member.value.clone()];
            let plain = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
            match &text[member.key.clone()] {
                "id" => message.id = integer(value),
                "method" => message.method = plain,
                "sessionId" => {
                    message.session = plain;
                    message.session_member = if index > 0 {
                        members[index - 1].value.end..member.value.end
                    } else {
                        let end = members.get(1).map_or(member.value.end, |next| next.key.start - 1);
                        member.key.start - 1..end
                    };
                }
                _ => {}
            }
        }
        Some(message)
    }

    /// The message without its `sessionId`, as the client whose root that session is expects it.
    pub fn without_session(&self, text: &Bytes) -> Bytes {
        let Range { start, end } = self.session_member.clone();
        let mut stripped = Vec::with_capacity(text.len() - (end - start));
        stripped.extend_from_slice(&text[..start]);
        stripped.extend_from_slice(&text[end..]);
        stripped.into()
    }
}

#[cfg(test)]
mod tests;
