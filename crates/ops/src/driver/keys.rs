//! Keys of a keyboard by name, as a US layout has them.

/// A key as a browser is told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    /// `KeyboardEvent.key`.
    pub(crate) key: String,
    /// `KeyboardEvent.code`.
    pub(crate) code: String,
    pub(crate) key_code: u32,
    /// What it types, if anything.
    pub(crate) text: Option<String>,
}

/// Names that mean one key, its code, its number and what it types.
const NAMED: &[(&str, &str, u32, &str)] = &[
    ("Enter", "Enter", 13, "\r"),
    ("Tab", "Tab", 9, ""),
    ("Backspace", "Backspace", 8, ""),
    ("Delete", "Delete", 46, ""),
    ("Escape", "Escape", 27, ""),
    (" ", "Space", 32, " "),
    ("ArrowLeft", "ArrowLeft", 37, ""),
    ("ArrowUp", "ArrowUp", 38, ""),
    ("ArrowRight", "ArrowRight", 39, ""),
    ("ArrowDown", "ArrowDown", 40, ""),
    ("Home", "Home", 36, ""),
    ("End", "End", 35, ""),
    ("PageUp", "PageUp", 33, ""),
    ("PageDown", "PageDown", 34, ""),
    ("Insert", "Insert", 45, ""),
    ("Shift", "ShiftLeft", 16, ""),
    ("Control", "ControlLeft", 17, ""),
    ("Alt", "AltLeft", 18, ""),
    ("Meta", "MetaLeft", 91, ""),
    ("CapsLock", "CapsLock", 20, ""),
    ("ContextMenu", "ContextMenu", 93, ""),
    ("F1", "F1", 112, ""),
    ("F2", "F2", 113, ""),
    ("F3", "F3", 114, ""),
    ("F4", "F4", 115, ""),
    ("F5", "F5", 116, ""),
    ("F6", "F6", 117, ""),
    ("F7", "F7", 118, ""),
    ("F8", "F8", 119, ""),
    ("F9", "F9", 120, ""),
    ("F10", "F10", 121, ""),
    ("F11", "F11", 122, ""),
    ("F12", "F12", 123, ""),
];

/// Other words that people and models use.
const ALIASES: &[(&str, &str)] = &[
    ("return", "Enter"),
    ("esc", "Escape"),
    ("del", "Delete"),
    ("space", " "),
    ("spacebar", " "),
    ("left", "ArrowLeft"),
    ("right", "ArrowRight"),
    ("up", "ArrowUp"),
    ("down", "ArrowDown"),
    ("ctrl", "Control"),
    ("cmd", "Meta"),
    ("command", "Meta"),
    ("win", "Meta"),
    ("super", "Meta"),
    ("option", "Alt"),
];

/// Characters beside letters and digits: without and with shift, the code and the number.
const SIGNS: &[(char, char, &str, u32)] = &[
    ('`', '~', "Backquote", 192),
    ('-', '_', "Minus", 189),
    ('=', '+', "Equal", 187),
    ('[', '{', "BracketLeft", 219),
    (']', '}', "BracketRight", 221),
    ('\\', '|', "Backslash", 220),
    (';', ':', "Semicolon", 186),
    ('\'', '"', "Quote", 222),
    (',', '<', "Comma", 188),
    ('.', '>', "Period", 190),
    ('/', '?', "Slash", 191),
];

const SHIFTED_DIGITS: &str = ")!@#$%^&*(";

/// A key by its name: `Enter`, `a`, `ArrowLeft`, `KeyA`, `F5`.
pub(crate) fn key(name: &str) -> Option<Key> {
    let mut characters = name.chars();
    if let (Some(character), None) = (characters.next(), characters.next()) {
        return Some(of_character(character));
    }
    let lower = name.to_lowercase();
    let name = ALIASES.iter().find(|(alias, _)| *alias == lower).map_or(name, |(_, name)| name);
    let named = NAMED
        .iter()
        .find(|(key, code, ..)| key.eq_ignore_ascii_case(name) || code.eq_ignore_ascii_case(name));
    if let Some((key, code, number, text)) = named {
        let text = (!text.is_empty()).then(|| (*text).to_owned());
        return Some(Key { key: (*key).to_owned(), code: (*code).to_owned(), key_code: *number, text });
    }
    let letter = lower.strip_prefix("key").or_else(|| lower.strip_prefix("digit"))?;
    let mut characters = letter.chars();
    match (characters.next(), characters.next()) {
        (Some(character), None) if character.is_ascii_alphanumeric() => Some(of_character(character)),
        _ => None,
    }
}

/// The key that types a character; one that no key types is typed all the same.
pub(crate) fn of_character(character: char) -> Key {
    let text = Some(character.to_string());
    let key = character.to_string();
    if character == '\n' || character == '\r' {
        return Key {
            key: "Enter".to_owned(),
            code: "Enter".to_owned(),
            key_code: 13,
            text: Some("\r".to_owned()),
        };
    }
    if character == '\t' {
        return Key { key: "Tab".to_owned(), code: "Tab".to_owned(), key_code: 9, text: None };
    }
    if character == ' ' {
        return Key { key, code: "Space".to_owned(), key_code: 32, text };
    }
    if character.is_ascii_alphabetic() {
        let upper = character.to_ascii_uppercase();
        return Key { key, code: format!("Key{upper}"), key_code: upper as u32, text };
    }
    if character.is_ascii_digit() {
        return Key { key, code: format!("Digit{character}"), key_code: character as u32, text };
    }
    if let Some(digit) = SHIFTED_DIGITS.chars().position(|shifted| shifted == character) {
        return Key { key, code: format!("Digit{digit}"), key_code: 48 + digit as u32, text };
    }
    let sign = SIGNS.iter().find(|(plain, shifted, ..)| *plain == character || *shifted == character);
    match sign {
        Some((_, _, code, number)) => Key { key, code: (*code).to_owned(), key_code: *number, text },
        None => Key { key, code: String::new(), key_code: 0, text },
    }
}

/// Whether it is typed with shift held.
pub(crate) fn needs_shift(character: char) -> bool {
    character.is_ascii_uppercase()
        || SHIFTED_DIGITS.contains(character)
        || SIGNS.iter().any(|(_, shifted, ..)| *shifted == character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_characters_are_keys() {
        assert_eq!(key("enter").unwrap().key_code, 13);
        assert_eq!(key("Esc").unwrap().key, "Escape");
        assert_eq!(key("a").unwrap().code, "KeyA");
        assert_eq!(key("KeyB").unwrap().key, "b");
        assert_eq!(key("?").unwrap().code, "Slash");
        assert_eq!(key("é").unwrap().text.as_deref(), Some("é"));
        assert_eq!(key("NoSuchKey"), None);
        assert!(needs_shift('A') && needs_shift('!') && needs_shift('?') && !needs_shift('a'));
    }
}
