//! A scanner that accepts and refuses JSON exactly as Chromium's DevTools parser does.
//!
//! It builds no values: it walks the text once, checks it, and reports where the top-level members
//! lie. Errors carry Chromium's own words and byte positions, because a client that sends broken text
//! through the hub must see what it would have seen from the browser. Its leniency is kept for the same
//! reason: control characters in strings, the `\v` escape, and `nulx` for `null`.

use std::ops::Range;

/// Chromium refuses anything nested deeper.
const STACK_LIMIT: usize = 300;

/// One `"key": value` of the top-level object, as byte ranges without surrounding white space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    /// The key's text between the quotes, still escaped.
    pub(crate) key: Range<usize>,
    pub(crate) value: Range<usize>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Document {
    /// `range` runs from `{` to just behind `}`.
    Object {
        range: Range<usize>,
        members: Vec<Member>,
    },
    Other,
}

/// Why the text is not JSON, in Chromium's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    pub(crate) what: &'static str,
    pub(crate) position: usize,
}

pub(crate) fn scan(text: &[u8]) -> Result<Document, SyntaxError> {
    let mut scanner = Scanner { text, members: Vec::new(), top: None };
    let end = scanner.value(0, 0)?;
    if end != text.len() {
        return Err(SyntaxError { what: "unprocessed input remains", position: end });
    }
    Ok(match scanner.top {
        Some(range) => Document::Object { range, members: scanner.members },
        None => Document::Other,
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Token {
    ObjectBegin,
    ObjectEnd,
    ArrayBegin,
    ArrayEnd,
    Comma,
    Colon,
    Literal,
    Number,
    Text,
    /// A string that scans but does not decode.
    BadText,
    NoInput,
    Invalid,
}

struct Scanner<'a> {
    text: &'a [u8],
    members: Vec<Member>,
    top: Option<Range<usize>>,
}

impl Scanner<'_> {
    /// Scans one value and returns the position behind it and behind the space that follows.
    fn value(&mut self, from: usize, depth: usize) -> Result<usize, SyntaxError> {
        if depth > STACK_LIMIT {
            return Err(SyntaxError { what: "stack limit exceeded", position: from });
        }
        let (token, start, end) = self.token(from);
        let error = |what| Err(SyntaxError { what, position: start });
        let end = match token {
            Token::NoInput => return error("no input"),
            Token::Invalid => return error("invalid token"),
            Token::BadText => return error("invalid string"),
            Token::Number if overflows(&self.text[start..end]) => return error("invalid number"),
            Token::Literal | Token::Number | Token::Text => end,
            Token::ArrayBegin => self.array(end, depth)?,
            Token::ObjectBegin => {
                let end = self.object(end, depth)?;
                if depth == 0 {
                    self.top = Some(start..end);
                }
                end
            }
            Token::ObjectEnd | Token::ArrayEnd | Token::Comma | Token::Colon => {
                return error("value expected");
            }
        };
        Ok(self.skip_space(end))
    }

    fn array(&mut self, mut from: usize, depth: usize) -> Result<usize, SyntaxError> {
        let (mut token, mut start, mut end) = self.token(from);
        while token != Token::ArrayEnd {
            from = self.value(from, depth + 1)?;
            (token, start, end) = self.token(from);
            if token == Token::Comma {
                from = end;
                (token, start, end) = self.token(from);
                if token == Token::ArrayEnd {
                    return Err(SyntaxError { what: "unexpected array end", position: start });
                }
            } else if token != Token::ArrayEnd {
                return Err(SyntaxError { what: "comma or array end expected", position: start });
            }
        }
        let _ = start;
        Ok(end)
    }

    fn object(&mut self, from: usize, depth: usize) -> Result<usize, SyntaxError> {
        let (mut token, mut start, mut end) = self.token(from);
        while token != Token::ObjectEnd {
            if token == Token::BadText {
                return Err(SyntaxError { what: "invalid string", position: start });
            }
            if token != Token::Text {
                return Err(SyntaxError { what: "string literal expected", position: start });
            }
            let key = start + 1..end - 1;
            (token, start, end) = self.token(end);
            if token != Token::Colon {
                return Err(SyntaxError { what: "colon expected", position: start });
            }
            let value_start = self.skip_space(end);
            let after = self.value(end, depth + 1)?;
            if depth == 0 {
                let value = value_start..trim_end(self.text, value_start, after);
                self.members.push(Member { key, value });
            }
            (token, start, end) = self.token(after);
            if token == Token::Comma {
                (token, start, end) = self.token(end);
                if token == Token::ObjectEnd {
                    return Err(SyntaxError { what: "unexpected map end", position: start });
                }
            } else if token != Token::ObjectEnd {
                return Err(SyntaxError { what: "comma or map end expected", position: start });
            }
        }
        Ok(end)
    }

    /// The next token with its start and the position behind it.
    fn token(&self, from: usize) -> (Token, usize, usize) {
        let start = self.skip_space(from);
        let Some(&first) = self.text.get(start) else { return (Token::NoInput, start, start) };
        let one = |token| (token, start, start + 1);
        let end = match first {
            b'{' => return one(Token::ObjectBegin),
            b'}' => return one(Token::ObjectEnd),
            b'[' => return one(Token::ArrayBegin),
            b']' => return one(Token::ArrayEnd),
            b',' => return one(Token::Comma),
            b':' => return one(Token::Colon),
            b'"' => self.string_end(start + 1),
            b'-' | b'0'..=b'9' => self.number_end(start).map(|end| (Token::Number, end)),
            b'n' => self.literal_end(start, b"null"),
            b't' => self.literal_end(start, b"true"),
            b'f' => self.literal_end(start, b"false"),
            _ => None,
        };
        match end {
            Some((token, end)) => (token, start, end),
            None => (Token::Invalid, start, start),
        }
    }

    /// Chromium compares all letters but the last.
    fn literal_end(&self, start: usize, word: &[u8]) -> Option<(Token, usize)> {
        let given = self.text.get(start..start + word.len())?;
        given.starts_with(&word[..word.len() - 1]).then_some((Token::Literal, start + word.len()))
    }

    /// `from` is behind the opening quote; the result is behind the closing one.
    fn string_end(&self, mut from: usize) -> Option<(Token, usize)> {
        let mut token = Token::Text;
        loop {
            from += memchr::memchr2(b'"', b'\\', self.text.get(from..)?)?;
            if self.text[from] == b'"' {
                return Some((token, from + 1));
            }
            let digits = match self.text.get(from + 1)? {
                b'x' => {
                    // Known to Chromium's scanner, but not to its decoder.
                    token = Token::BadText;
                    2
                }
                b'u' => 4,
                b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' | b'v' | b'"' => 0,
                _ => return None,
            };
            if !self.text.get(from + 2..from + 2 + digits)?.iter().all(u8::is_ascii_hexdigit) {
                return None;
            }
            from += 2 + digits;
        }
    }

    fn number_end(&self, mut at: usize) -> Option<usize> {
        if self.text[at] == b'-' {
            at += 1;
        }
        let leading_zero = self.text.get(at) == Some(&b'0');
        let whole = self.digits_end(at)?;
        if leading_zero && whole - at > 1 {
            return None;
        }
        at = whole;
        if self.text.get(at) == Some(&b'.') {
            at = self.digits_end(at + 1)?;
        }
        if matches!(self.text.get(at), Some(b'e' | b'E')) {
            at += 1;
            if matches!(self.text.get(at), Some(b'+' | b'-')) {
                at += 1;
            }
            at = self.digits_end(at)?;
        }
        Some(at)
    }

    fn digits_end(&self, from: usize) -> Option<usize> {
        let count = self.text.get(from..)?.iter().take_while(|c| c.is_ascii_digit()).count();
        (count > 0).then_some(from + count)
    }

    fn skip_space(&self, from: usize) -> usize {
        let rest = self.text.get(from..).unwrap_or_default();
        from + rest.iter().take_while(|c| matches!(c, b' ' | b'\n' | b'\r' | b'\t' | 0x0b | 0x0c)).count()
    }
}

fn overflows(number: &[u8]) -> bool {
    // Only a long number or one with an exponent can leave the range of a double.
    (number.len() > 300 || number.contains(&b'e') || number.contains(&b'E'))
        && std::str::from_utf8(number).ok().and_then(|n| n.parse::<f64>().ok()).is_none_or(f64::is_infinite)
}

fn trim_end(text: &[u8], start: usize, end: usize) -> usize {
    start + text[start..end].trim_ascii_end().len()
}
