//! How people write amounts: durations ("1h30m"), byte sizes ("32MiB") and argument lists with
//! quotes. Text in, numbers out, and back again for display. Knows nothing of keys or limits.

use std::time::Duration;

/// Units of a duration with their milliseconds, largest first: the order they must be written in.
const SPANS: [(&str, u64); 4] = [("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Units of a byte size. The binary ones come first and largest first, as display uses only those.
const SIZES: [(&str, u64); 7] = [
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("KB", 1_000),
    ("B", 1),
];
const BINARY_SIZES: usize = 3;

/// Reads "5m", "1h30m" or "500ms"; digits alone are seconds.
pub(crate) fn parse_duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    if let Some(seconds) = whole_number(text) {
        return Some(Duration::from_secs(seconds));
    }
    if text.is_empty() {
        return None;
    }
    let mut rest = text;
    let mut units = SPANS.as_slice();
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let (number, after) = split_digits(rest);
        let letters = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        // Only smaller units may follow: "30m1h" and "5m5m" are more likely a slip than meant.
        let at = units.iter().position(|(name, _)| *name == unit)?;
        total = total.checked_add(whole_number(number)?.checked_mul(units[at].1)?)?;
        units = &units[at + 1..];
        rest = after;
    }
    Some(Duration::from_millis(total))
}

/// Writes a duration so that `parse_duration` reads it back.
pub(super) fn show_duration(duration: Duration) -> String {
    let mut left = duration.as_millis();
    let mut text = String::new();
    for (unit, size) in SPANS {
        let count = left / u128::from(size);
        left %= u128::from(size);
        if count > 0 {
            text.push_str(&format!("{count}{unit}"));
        }
    }
    if text.is_empty() { "0".to_owned() } else { text }
}

/// Reads "32MiB", "10 MB" or a bare number of bytes; the case of the unit does not matter.
pub(super) fn parse_bytes(text: &str) -> Option<u64> {
    let (number, unit) = split_digits(text.trim());
    let number = whole_number(number)?;
    let unit = unit.trim_start();
    if unit.is_empty() {
        return Some(number);
    }
    let (_, size) = SIZES.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit))?;
    number.checked_mul(*size)
}

/// Writes a byte size in the largest binary unit that expresses it exactly.
pub(super) fn show_bytes(bytes: u64) -> String {
    let exact = SIZES[..BINARY_SIZES].iter().find(|(_, size)| bytes > 0 && bytes.is_multiple_of(*size));
    match exact {
        Some((unit, size)) => format!("{}{unit}", bytes / size),
        None => bytes.to_string(),
    }
}

/// Splits text at whitespace. Quotes keep whitespace: everything between single quotes is literal,
/// between double quotes `\"` and `\\` are escapes. A backslash outside quotes is a plain character,
/// so Windows paths need no doubling. None if a quote is not closed.
pub(super) fn split_words(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    // None between words, so that a pair of quotes alone makes an empty word.
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            c if c.is_whitespace() => words.extend(word.take()),
            '\'' | '"' => quoted(c, &mut chars, word.get_or_insert_default())?,
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
}

/// Moves the rest of a quoted part into `word`; None if the closing quote is missing.
fn quoted(quote: char, chars: &mut std::str::Chars<'_>, word: &mut String) -> Option<()> {
    loop {
        let c = chars.next()?;
        if c == quote {
            return Some(());
        }
        let escape = quote == '"' && c == '\\' && chars.as_str().starts_with(['"', '\\']);
        word.push(if escape { chars.next()? } else { c });
    }
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

/// Digits only: `str::parse` alone would also take a plus sign.
pub(super) fn whole_number(text: &str) -> Option<u64> {
    if text.bytes().all(|b| b.is_ascii_digit()) { text.parse().ok() } else { None }
}
