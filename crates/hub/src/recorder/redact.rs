//! Credentials in headers are replaced before a record leaves the hub, unless somebody insists.
//!
//! What is kept says that there were credentials and of what kind: names of cookies with their
//! attributes, and the scheme of an authorization. Bodies and addresses are not looked at.

use super::record::{Headers, NetworkRecord};

const REDACTED: &str = "[redacted]";

pub fn redact(record: &mut NetworkRecord) {
    for Headers(headers) in [&mut record.headers, &mut record.response_headers] {
        for (name, value) in headers {
            let each: fn(&str) -> String = match name.to_ascii_lowercase().as_str() {
                "cookie" => cookies,
                "set-cookie" => set_cookie,
                "authorization" | "proxy-authorization" => authorization,
                _ => continue,
            };
            // CDP joins repeated headers by line feeds.
            *value = value.split('\n').map(each).collect::<Vec<_>>().join("\n");
        }
    }
}

/// `sid=1; lang=en`: each is redacted.
fn cookies(line: &str) -> String {
    line.split(';').map(pair).collect::<Vec<_>>().join(";")
}

/// `sid=1; Path=/`: the first is the cookie, the others say for whom it is.
fn set_cookie(line: &str) -> String {
    match line.split_once(';') {
        Some((cookie, attributes)) => format!("{};{attributes}", pair(cookie)),
        None => pair(line),
    }
}

fn pair(text: &str) -> String {
    match text.split_once('=') {
        Some((name, _)) => format!("{name}={REDACTED}"),
        None if text.trim().is_empty() => text.to_owned(),
        // A cookie without a name is all value.
        None => {
            let space = &text[..text.len() - text.trim_start().len()];
            format!("{space}{REDACTED}")
        }
    }
}

/// `Bearer ey...`: a token that stands alone has no scheme to keep.
fn authorization(line: &str) -> String {
    match line.trim().split_once(char::is_whitespace) {
        Some((scheme, _)) if is_scheme(scheme) => format!("{scheme} {REDACTED}"),
        None if line.trim().is_empty() => line.to_owned(),
        _ => REDACTED.to_owned(),
    }
}

/// No registered scheme is longer; a secret with a space in it should not pass for one.
fn is_scheme(word: &str) -> bool {
    word.len() <= 24
        && word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> Headers {
        Headers(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    /// A header's value behind `redact`, wherever it stands.
    fn redacted(name: &str, value: &str) -> String {
        let mut record = NetworkRecord {
            headers: headers(&[("Accept", "*/*"), (name, value)]),
            response_headers: headers(&[(name, value)]),
            ..NetworkRecord::default()
        };
        redact(&mut record);
        assert_eq!(record.headers.get("accept"), Some("*/*"));
        assert_eq!(record.headers.get(name), record.response_headers.get(name));
        let once = record.clone();
        redact(&mut record);
        assert_eq!(record, once, "redacting again changes nothing");
        record.headers.get(name).unwrap().to_owned()
    }

    #[test]
    fn cookies_keep_their_names() {
        for (value, expected) in [
            ("sid=abc", "sid=[redacted]"),
            ("sid=abc; lang=en;x=", "sid=[redacted]; lang=[redacted];x=[redacted]"),
            ("t=a=b==; u=\"q\"", "t=[redacted]; u=[redacted]"),
            ("secret; a=1", "[redacted]; a=[redacted]"),
            ("a=1; secret", "a=[redacted]; [redacted]"),
            ("=secret", "=[redacted]"),
            ("a=1\nb=2", "a=[redacted]\nb=[redacted]"),
            ("", ""),
            ("a=1; ", "a=[redacted]; "),
        ] {
            assert_eq!(redacted("Cookie", value), expected);
        }
    }

    #[test]
    fn set_cookies_keep_their_names_and_attributes() {
        for (value, expected) in [
            ("sid=abc; Path=/", "sid=[redacted]; Path=/"),
            (
                "a=1; Expires=Wed, 21 Oct 2015 07:28:00 GMT; HttpOnly\nb=2; Secure",
                "a=[redacted]; Expires=Wed, 21 Oct 2015 07:28:00 GMT; HttpOnly\nb=[redacted]; Secure",
            ),
            ("a=1", "a=[redacted]"),
            ("secret; Path=/", "[redacted]; Path=/"),
        ] {
            assert_eq!(redacted("Set-Cookie", value), expected);
        }
    }

    #[test]
    fn authorizations_keep_their_scheme() {
        for name in ["Authorization", "Proxy-Authorization"] {
            for (value, expected) in [
                ("Bearer abc.def", "Bearer [redacted]"),
                ("Basic dTpw", "Basic [redacted]"),
                ("Digest username=\"u\", realm=\"r\"", "Digest [redacted]"),
                ("AWS4-HMAC-SHA256 Credential=x, Signature=y", "AWS4-HMAC-SHA256 [redacted]"),
                (" Bearer\tabc", "Bearer [redacted]"),
                ("sometoken", "[redacted]"),
                ("dTpw== more", "[redacted]"),
                ("averylongsecretwithoutanyscheme and more", "[redacted]"),
                ("", ""),
            ] {
                assert_eq!(redacted(name, value), expected);
            }
        }
    }

    #[test]
    fn names_are_compared_without_case_and_other_headers_stay() {
        assert_eq!(redacted("cOOkie", "a=1"), "a=[redacted]");
        assert_eq!(redacted("authorization", "Bearer x"), "Bearer [redacted]");
        assert_eq!(redacted("X-Cookie", "a=1"), "a=1");
    }
}
