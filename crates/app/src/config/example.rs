//! The example config file, written from the table of keys. Every setting is commented out, so the
//! file as it stands changes nothing; prose starts with "# ", a setting with "#" alone.

use super::keys::{ATTACH, BROWSER_KEYS, BROWSERS, KEYS, Key, OF_ATTACHED, sections};

const HEAD: &str = "\
# Configuration of Bowline. Every setting is shown with its default; remove the # to change it.
# Environment variables win over this file, and flags win over both.
# Durations: \"1h30m\", \"30s\", \"500ms\" or whole seconds. Sizes: \"32MiB\", \"10MB\" or bytes.
";

const BROWSERS_HEAD: &str = "
# Named browsers. What a browser does not say itself it takes from the settings above.
# A name has lower-case letters, digits, - and _.
";

/// A commented config file that sets nothing.
pub(crate) fn example() -> String {
    let mut text = HEAD.to_owned();
    for key in KEYS.iter().filter(|key| !key.name.contains('.')) {
        describe(&mut text, key, key.name);
    }
    for section in sections() {
        // The header stays active: a setting whose # is removed then lands in the right table.
        text.push_str(&format!("\n[{section}]\n"));
        for key in KEYS {
            if let Some((_, leaf)) = key.name.split_once('.').filter(|(table, _)| *table == section) {
                describe(&mut text, key, leaf);
            }
        }
    }
    text.push_str(BROWSERS_HEAD);
    text.push_str(&format!("\n#[{BROWSERS}.work]\n"));
    for key in BROWSER_KEYS.iter().filter(|key| key.name != ATTACH) {
        describe(&mut text, key, key.name);
    }
    text.push_str(&format!("\n#[{BROWSERS}.running]\n"));
    for key in BROWSER_KEYS.iter().filter(|key| key.name == ATTACH) {
        describe(&mut text, key, key.name);
    }
    let beside: Vec<String> =
        OF_ATTACHED.iter().filter(|name| **name != ATTACH).map(|name| format!("`{name}`")).collect();
    text.push_str(&format!("# Beside `{ATTACH}` only these can be set: {}.\n", beside.join(", ")));
    text
}

fn describe(text: &mut String, key: &Key, leaf: &str) {
    let variable = key.env.map(|variable| format!(" ({variable})")).unwrap_or_default();
    let value = key.preset().to_toml();
    text.push_str(&format!("\n# {}{variable}\n#{leaf} = {value}\n", key.about));
}
