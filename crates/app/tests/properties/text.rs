//! Random texts, as JavaScript has them: any character, and now and then half of one.

use std::fmt;

use proptest::prelude::*;

/// A text as it is written in JSON, and as it is read.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Text {
    /// With quotes.
    pub(crate) json: String,
    pub(crate) plain: String,
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.json)
    }
}

#[derive(Debug, Clone)]
enum Piece {
    Char(char),
    /// The first half of a character, without its second.
    Half(u16),
}

pub(crate) fn any_text(longest: usize) -> impl Strategy<Value = Text> + Clone {
    let piece = prop_oneof![
        20 => any::<char>().prop_map(Piece::Char),
        20 => prop::char::range(' ', '~').prop_map(Piece::Char),
        1 => (0xD800_u16..0xDC00).prop_map(Piece::Half),
    ];
    prop::collection::vec(piece, 0..longest).prop_map(|pieces| text(&pieces))
}

fn text(pieces: &[Piece]) -> Text {
    let (mut json, mut plain) = ("\"".to_owned(), String::new());
    for piece in pieces {
        match piece {
            Piece::Char(c) => {
                let quoted = serde_json::to_string(&c.to_string()).expect("a string");
                json.push_str(&quoted[1..quoted.len() - 1]);
                plain.push(*c);
            }
            Piece::Half(unit) => {
                json.push_str(&format!("\\u{unit:04x}"));
                plain.push(char::REPLACEMENT_CHARACTER);
            }
        }
    }
    json.push('"');
    Text { json, plain }
}

/// Plain words, for what is not to be about texts.
pub(crate) fn word() -> impl Strategy<Value = String> + Clone {
    "[a-z]{1,12}"
}
