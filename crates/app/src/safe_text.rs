//! What a page wrote, made fit for a terminal: a page must not move the cursor, nor set the title of the
//! window, of whoever reads its console.

use std::borrow::Cow;
use std::fmt::Write;

/// Control characters written out, but for the ends of lines and tabs.
pub(crate) fn safe(text: &str) -> Cow<'_, str> {
    written_out(text, |c| c.is_control() && c != '\n' && c != '\t')
}

/// As `safe`, for what must stay on one line.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    written_out(text, char::is_control)
}

fn written_out(text: &str, unfit: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&unfit) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' if unfit(c) => safe.push_str("\\n"),
            // A part of the line's end.
            '\r' if chars.peek() == Some(&'\n') => {}
            c if unfit(c) => {
                // Writing into a String does not fail.
                let _ = write!(safe, "\\x{:02x}", u32::from(c));
            }
            c => safe.push(c),
        }
    }
    Cow::Owned(safe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_written_out() {
        assert_eq!(safe("a\tb\nc"), "a\tb\nc");
        assert_eq!(safe("\u{1b}[2Jx\u{9b}y\r\nz"), "\\x1b[2Jx\\x9by\nz");
        assert_eq!(safe("a\rb"), "a\\x0db");
        assert_eq!(one_line("a\nb\tc\rd"), "a\\nb\\x09c\\x0dd");
        assert!(matches!(one_line("Käse"), Cow::Borrowed(_)));
    }
}
