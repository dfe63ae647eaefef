//! `a=1&b=2`, in an address and in a form.

use serde_json::{Value, json};

/// The parameters of an address, which may have a fragment.
pub(super) fn of_url(url: &str) -> Value {
    let url = without_fragment(url);
    url.split_once('?').map_or(json!([]), |(_, query)| of_form(query))
}

pub(super) fn of_form(text: &str) -> Value {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    let parsed = pairs.map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        json!({"name": decoded(name), "value": decoded(value)})
    });
    parsed.collect()
}

/// The format wants addresses without what the browser does not send.
pub(super) fn without_fragment(url: &str) -> &str {
    url.split_once('#').map_or(url, |(url, _)| url)
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        bytes.push(match (first, tail) {
            (b'+', _) => b' ',
            (b'%', [high, low, after @ ..]) => match (hex(*high), hex(*low)) {
                (Some(high), Some(low)) => {
                    rest = after;
                    high << 4 | low
                }
                // Not an escape after all: as it stands.
                _ => b'%',
            },
            (byte, _) => *byte,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_taken_apart_and_decoded() {
        for (url, expected) in [
            ("https://h/", json!([])),
            ("https://h/?", json!([])),
            ("https://h/#?a=1", json!([])),
            ("https://h/?a=1#b=2", json!([{"name": "a", "value": "1"}])),
            ("https://h/?a=b=c&&d", json!([{"name": "a", "value": "b=c"}, {"name": "d", "value": ""}])),
            (
                "https://h/?q=a+b%20%C3%BC&q=%2B?",
                json!([
                    {"name": "q", "value": "a b ü"}, {"name": "q", "value": "+?"},
                ]),
            ),
            (
                "https://h/?a=%&b=%4&c=%zz&d=%FF",
                json!([
                    {"name": "a", "value": "%"}, {"name": "b", "value": "%4"},
                    {"name": "c", "value": "%zz"}, {"name": "d", "value": "\u{fffd}"},
                ]),
            ),
        ] {
            assert_eq!(of_url(url), expected, "{url}");
        }
    }
}
