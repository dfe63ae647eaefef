//! The layers that come as plain text: environment variables and flags. The environment is passed
//! in; this part never reads the process's own.

use super::error::{Fault, Place, Problem, did_you_mean};
use super::file::shorten;
use super::keys::{self, FOREIGN_VARIABLES, KEYS, Key};
use super::settings::{Origin, Settings};
use super::suggest;

/// Values given as flags, the strongest layer.
#[derive(Debug, Default, Clone)]
pub(crate) struct Overrides(Vec<Override>);

#[derive(Debug, Clone)]
struct Override {
    key: String,
    value: String,
    flag: String,
}

impl Overrides {
    /// Sets `key` to `value`, written as in the environment; `flag` is what the user typed. Of two
    /// values for one key the last counts.
    pub(crate) fn set(&mut self, key: impl Into<String>, value: impl Into<String>, flag: impl Into<String>) {
        self.0.push(Override { key: key.into(), value: value.into(), flag: flag.into() });
    }
}

/// Adds the variables' values to `settings`. A variable nobody knows is only worth a warning: it may
/// belong to a newer version or to somebody's script.
pub(super) fn apply_environment(
    variables: impl IntoIterator<Item = (String, String)>,
    settings: &mut Settings,
    problems: &mut Vec<Problem>,
    warnings: &mut Vec<String>,
) {
    let mut variables: Vec<_> =
        variables.into_iter().filter(|(variable, _)| variable.starts_with("BOWLINE_")).collect();
    // An environment has no order of its own; messages should not change from run to run.
    variables.sort_by(|(a, _), (b, _)| a.cmp(b));
    for (variable, text) in variables {
        let key = KEYS.iter().find(|key| key.env == Some(variable.as_str()));
        match key {
            Some(key) => {
                let origin = Origin::Environment { variable: variable.clone() };
                let place = Place::Environment { variable };
                problems.extend(apply(key, &text, origin, place, settings));
            }
            None if FOREIGN_VARIABLES.contains(&variable.as_str()) => {}
            None => warnings.push(unknown(&variable)),
        }
    }
}

/// Adds the flags' values to `settings`.
pub(super) fn apply_flags(flags: &Overrides, settings: &mut Settings, problems: &mut Vec<Problem>) {
    for Override { key: name, value, flag } in &flags.0 {
        let place = Place::Flag { flag: flag.clone() };
        match keys::find(name) {
            Some(key) => {
                let origin = Origin::Flag { flag: flag.clone() };
                problems.extend(apply(key, value, origin, place, settings));
            }
            None => {
                let fault = Fault::UnknownKey { key: shorten(name), similar: keys::similar(name) };
                problems.push(Problem { place, fault });
            }
        }
    }
}

fn apply(key: &Key, text: &str, origin: Origin, place: Place, settings: &mut Settings) -> Option<Problem> {
    match key.kind.read_text(text) {
        Ok(value) => {
            settings.set(key.name, value, origin);
            None
        }
        Err(refusal) => {
            let found = format!("\"{}\"", shorten(text));
            let expected = key.kind.expected(&refusal);
            Some(Problem { place, fault: Fault::WrongValue { key: key.name.to_owned(), found, expected } })
        }
    }
}

fn unknown(variable: &str) -> String {
    let known = KEYS.iter().filter_map(|key| key.env).chain(FOREIGN_VARIABLES.iter().copied());
    // The common prefix would make every short name look similar to every other.
    let names = known.filter_map(|name| name.strip_prefix("BOWLINE_"));
    let near = variable.strip_prefix("BOWLINE_").and_then(|name| suggest::nearest(name, names));
    let near: Vec<_> = near.map(|name| format!("BOWLINE_{name}")).into_iter().collect();
    match did_you_mean(&near) {
        Some(hint) => format!("unknown environment variable {variable}: {hint}"),
        None => format!("unknown environment variable {variable}"),
    }
}
