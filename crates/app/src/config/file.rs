//! The config file: reads it, and turns its TOML into settings, with line and column for everything
//! that does not fit the table of keys. Knows nothing of the other layers.

use std::fs;
use std::io;
use std::ops::Range;
use std::path::Path;

use bowline_hub::registry::{self, DEFAULT};
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::error::{ConfigError, Fault, Place, Problem};
use super::keys::{self, ATTACH, BROWSERS, Key, OF_ATTACHED, PORT, join};
use super::settings::{Origin, Settings};
use super::suggest;
use super::value::Refusal;

/// Longest piece of the file that an error quotes.
const QUOTED: usize = 60;

/// The text of the config file, or None if there is none.
pub(crate) fn read_file(path: &Path) -> Result<Option<String>, ConfigError> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(ConfigError::Unreadable { path: path.to_owned(), source }),
    };
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + valid.iter().filter(|byte| **byte == b'\n').count();
        ConfigError::NotUtf8 { path: path.to_owned(), line }
    })
}

/// Adds the file's values to `settings` and returns what is wrong with it, in the order of the file.
pub(super) fn apply(path: &Path, text: &str, settings: &mut Settings) -> Vec<Problem> {
    let mut reader = Reader { path, text, settings, faults: Vec::new() };
    match DeTable::parse(text) {
        Ok(root) => reader.table("", root.get_ref()),
        // What follows a syntax error is guesswork, so only the first one is reported.
        Err(error) => {
            let at = error.span().map_or(0, |span| span.start);
            reader.faults.push((at, Fault::Syntax { message: error.message().to_owned() }));
        }
    }
    reader.into_problems()
}

struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
    settings: &'a mut Settings,
    /// Faults with their byte offsets. The parsed tables are sorted by key, so these are not in order.
    faults: Vec<(usize, Fault)>,
}

type Item<'t, 'i> = (&'t Spanned<DeString<'i>>, &'t Spanned<DeValue<'i>>);

impl Reader<'_> {
    /// A table of the hub's own keys; the empty section is the top level.
    fn table(&mut self, section: &str, table: &DeTable<'_>) {
        for item @ (name, value) in table {
            let full = join(section, name.get_ref());
            // A quoted "launch.timeout" is one name with a dot in it, not a key in a table.
            let known = if name.get_ref().contains('.') { None } else { keys::find(&full) };
            match (known, value.get_ref()) {
                (Some(key), DeValue::Table(_)) => {
                    let tables = keys::sections().into_iter().chain([BROWSERS]);
                    let table = suggest::nearest(&full, tables);
                    let expected = key.kind.expected(&Refusal::Form);
                    self.fault(name.span(), Fault::NotATable { key: full, table, expected });
                }
                (Some(key), _) => self.value(full, key, item),
                (None, DeValue::Table(inner)) if full == BROWSERS => self.browsers(inner),
                (None, DeValue::Table(inner)) if keys::sections().contains(&full.as_str()) => {
                    self.table(&full, inner);
                }
                (None, _) if full == BROWSERS => self.not_a_table(format!("{BROWSERS}.NAME"), &full, item),
                (None, _) if keys::sections().contains(&full.as_str()) => {
                    self.not_a_table(full.clone(), &full, item);
                }
                (None, _) => {
                    let similar = keys::similar(&full);
                    self.fault(name.span(), Fault::UnknownKey { key: shorten(&full), similar });
                }
            }
        }
    }

    fn browsers(&mut self, browsers: &DeTable<'_>) {
        for item @ (name, value) in browsers {
            let browser = name.get_ref().as_ref();
            if registry::check_name(browser).is_err() {
                self.fault(name.span(), Fault::BrowserName { name: shorten(browser) });
            } else if let DeValue::Table(table) = value.get_ref() {
                self.settings.define_browser(browser, self.origin(name.span()));
                self.browser(browser, table);
            } else {
                let full = join(BROWSERS, browser);
                self.not_a_table(full.clone(), &full, item);
            }
        }
    }

    fn browser(&mut self, browser: &str, table: &DeTable<'_>) {
        let attached = table.contains_key(ATTACH);
        for item @ (name, value) in table {
            let section = name.get_ref().as_ref();
            match value.get_ref() {
                DeValue::Table(inner) if keys::is_browser_section(section) => {
                    for item @ (name, _) in inner {
                        self.browser_key(browser, attached, &join(section, name.get_ref()), item);
                    }
                }
                _ => self.browser_key(browser, attached, section, item),
            }
        }
    }

    fn browser_key(&mut self, browser: &str, attached: bool, key: &str, item @ (name, _): Item<'_, '_>) {
        let full = join(&join(BROWSERS, browser), key);
        match keys::find_browser_key(key) {
            Some(key) if attached && !OF_ATTACHED.contains(&key.name) => {
                let fault = Fault::LaunchesAndAttaches { browser: browser.to_owned(), key: key.name };
                self.fault(name.span(), fault);
            }
            Some(key) if key.name == PORT && browser == DEFAULT => {
                self.fault(name.span(), Fault::PortOfDefault);
            }
            Some(key) => self.value(full, key, item),
            None => {
                let similar = keys::similar_browser_key(browser, key);
                self.fault(name.span(), Fault::UnknownKey { key: shorten(&full), similar });
            }
        }
    }

    fn value(&mut self, full: String, key: &Key, (name, value): Item<'_, '_>) {
        match key.kind.read_toml(value.get_ref()) {
            Ok(accepted) => {
                let origin = self.origin(name.span());
                self.settings.set(&full, accepted, origin);
            }
            Err(refusal) => {
                let at = match &refusal {
                    Refusal::Element(span) => span.clone(),
                    _ => value.span(),
                };
                let found = shorten(&self.text[at.clone()]);
                let expected = key.kind.expected(&refusal);
                self.fault(at, Fault::WrongValue { key: full, found, expected });
            }
        }
    }

    fn not_a_table(&mut self, header: String, full: &str, (_, value): Item<'_, '_>) {
        let found = shorten(&self.text[value.span()]);
        let expected = format!("a table: [{header}]");
        self.fault(value.span(), Fault::WrongValue { key: full.to_owned(), found, expected });
    }

    fn fault(&mut self, at: Range<usize>, fault: Fault) {
        self.faults.push((at.start, fault));
    }

    fn origin(&self, at: Range<usize>) -> Origin {
        Origin::File { path: self.path.to_owned(), line: position(self.text, at.start).0 }
    }

    fn into_problems(mut self) -> Vec<Problem> {
        self.faults.sort_by_key(|(at, _)| *at);
        let problems = self.faults.into_iter().map(|(at, fault)| {
            let (line, column) = position(self.text, at);
            Problem { place: Place::File { path: self.path.to_owned(), line, column }, fault }
        });
        problems.collect()
    }
}

/// Line and column of a byte offset, both from 1. A byte order mark is no column: editors hide it.
fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let before = before.strip_prefix('\u{feff}').unwrap_or(before);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (1 + before.matches('\n').count(), 1 + before[line_start..].chars().count())
}

/// At most one line of at most `QUOTED` characters, so that a message stays a line; control characters
/// are replaced, so that a pasted value cannot steer the terminal.
pub(super) fn shorten(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let mut short: String = line.chars().take(QUOTED).collect();
    if short.len() < text.trim_end().len() {
        short.push('…');
    }
    short.replace(char::is_control, "\u{FFFD}")
}
