//! Cookies, as requests send and responses set them.

use serde_json::{Value, json};

use super::date;
use crate::recorder::record::Headers;

/// From `Cookie`.
pub(super) fn sent(headers: &Headers) -> Value {
    let pairs = lines(headers, "cookie").flat_map(|line| line.split(';'));
    let pairs = pairs.map(str::trim).filter(|pair| !pair.is_empty());
    let cookies = pairs.map(|pair| {
        let (name, value) = name_and_value(pair);
        json!({"name": name, "value": value})
    });
    cookies.collect()
}

/// From `Set-Cookie`; `now` is what `Max-Age` counts from, in milliseconds since 1970.
pub(super) fn set(headers: &Headers, now: f64) -> Value {
    lines(headers, "set-cookie")
        .filter(|line| !line.trim().is_empty())
        .map(|line| cookie(line, now))
        .collect()
}

fn cookie(line: &str, now: f64) -> Value {
    let mut parts = line.split(';');
    let (name, value) = name_and_value(parts.next().unwrap_or_default().trim());
    let mut cookie = json!({"name": name, "value": value, "httpOnly": false, "secure": false});
    let (mut expires, mut max_age) = (None, None);
    for part in parts {
        let (attribute, value) = part.split_once('=').unwrap_or((part, ""));
        let value = value.trim();
        match attribute.trim().to_ascii_lowercase().as_str() {
            "path" => cookie["path"] = json!(value),
            "domain" => cookie["domain"] = json!(value),
            "expires" => expires = date::cookie_date(value),
            "max-age" => max_age = value.parse::<i64>().ok(),
            "httponly" => cookie["httpOnly"] = json!(true),
            "secure" => cookie["secure"] = json!(true),
            "samesite" => cookie["sameSite"] = json!(value),
            _ => {}
        }
    }
    // Where both are given, browsers go by the age.
    if let Some(end) = max_age.map(|seconds| now + seconds as f64 * 1000.0).or(expires) {
        cookie["expires"] = json!(date::iso(end));
    }
    cookie
}

/// A cookie may have no name; then it is all value.
fn name_and_value(pair: &str) -> (&str, &str) {
    pair.split_once('=').map_or(("", pair), |(name, value)| (name.trim(), value.trim()))
}

/// The values of a header that may be there more than once, be it in several fields or, as CDP has it,
/// in one with several lines.
fn lines<'a>(headers: &'a Headers, name: &'a str) -> impl Iterator<Item = &'a str> {
    let found = headers.iter().filter(move |(header, _)| header.eq_ignore_ascii_case(name));
    found.flat_map(|(_, value)| value.split('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &str, value: &str) -> Headers {
        Headers(vec![("x".into(), "y=1".into()), (name.into(), value.into())])
    }

    #[test]
    fn sent_cookies_are_names_and_values() {
        assert_eq!(
            sent(&headers("cookie", "a=1; b=x=y;;bare; c=")),
            json!([
                {"name": "a", "value": "1"}, {"name": "b", "value": "x=y"},
                {"name": "", "value": "bare"}, {"name": "c", "value": ""},
            ])
        );
        assert_eq!(sent(&Headers::default()), json!([]));
    }

    #[test]
    fn set_cookies_have_their_attributes() {
        let value = "sid=1; Path=/; Domain=.example.com; Expires=Wed, 21 Oct 2015 07:28:00 GMT; HttpOnly; SECURE; \
                     SameSite=Lax\nb=2;expires=never\nc=3; Max-Age=60; Expires=Wed, 21 Oct 2015 07:28:00 GMT\n";
        assert_eq!(
            set(&headers("Set-Cookie", value), 1000.0),
            json!([
                {
                    "name": "sid", "value": "1", "path": "/", "domain": ".example.com",
                    "expires": "2015-10-21T07:28:00.000Z", "httpOnly": true, "secure": true, "sameSite": "Lax",
                },
                {"name": "b", "value": "2", "httpOnly": false, "secure": false},
                {
                    "name": "c", "value": "3", "httpOnly": false, "secure": false,
                    "expires": "1970-01-01T00:01:01.000Z",
                },
            ])
        );
    }

    #[test]
    fn an_age_beyond_all_time_ends_with_it() {
        for (age, expires) in [
            ("-9223372036854775808", "0000-01-01T00:00:00.000Z"),
            ("9223372036854775807", "9999-12-31T23:59:59.999Z"),
        ] {
            let cookies = set(&headers("set-cookie", &format!("a=1; max-age={age}")), 0.0);
            assert_eq!(cookies[0]["expires"], expires);
        }
    }
}
