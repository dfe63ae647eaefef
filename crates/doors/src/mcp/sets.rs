//! Sets of tools: a model pays for those it uses.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use bowline_ops::Set;

/// The sets that are switched on. `core` always is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sets(BTreeSet<Set>);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no set of tools named `{0}`; there are {known}, all", known = Set::ALL.map(Set::as_str).join(", "))]
pub struct UnknownSet(String);

impl Default for Sets {
    fn default() -> Self {
        Self(BTreeSet::from([Set::Core]))
    }
}

impl Sets {
    pub(super) fn contains(&self, set: Set) -> bool {
        self.0.contains(&set)
    }

    /// Switches these on as well; whether that changed anything.
    pub(super) fn add(&mut self, more: &Self) -> bool {
        let before = self.0.len();
        self.0.extend(more.0.iter().copied());
        self.0.len() != before
    }

    pub(super) fn leave_out(&mut self, set: Set) {
        self.0.remove(&set);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Set> + '_ {
        self.0.iter().copied()
    }
}

impl FromStr for Sets {
    type Err = UnknownSet;

    fn from_str(text: &str) -> Result<Self, UnknownSet> {
        let mut sets = Self::default();
        for word in text.split([',', ' ', '+']).map(str::trim).filter(|word| !word.is_empty()) {
            match Set::ALL.into_iter().find(|set| set.as_str() == word) {
                Some(set) => sets.0.insert(set),
                None if word == "all" => {
                    sets.0.extend(Set::ALL);
                    true
                }
                None => return Err(UnknownSet(word.to_owned())),
            };
        }
        Ok(sets)
    }
}

impl fmt::Display for Sets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.iter().map(Set::as_str).collect();
        f.write_str(&names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn core_is_always_on_and_unknown_names_are_told() {
        let sets: Sets = "network, storage".parse().unwrap();
        assert_eq!(sets.to_string(), "core, network, storage");
        assert_eq!("".parse(), Ok(Sets::default()));
        assert_eq!("all".parse::<Sets>().unwrap().iter().count(), Set::ALL.len());
        let error = "core,netwrok".parse::<Sets>().unwrap_err();
        assert!(error.to_string().contains("`netwrok`"), "{error}");
    }
}
