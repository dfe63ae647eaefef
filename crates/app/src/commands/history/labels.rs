//! Which tab a line belongs to, where lines of several are shown.

use std::collections::HashMap;

use bowline_doors::history::model::Tabs;

/// What stands for a tab that has no index (any more).
const ID_LENGTH: usize = 8;

#[derive(Debug, Default)]
pub(crate) struct Labels {
    /// Off where a command was given one tab.
    on: bool,
    by_id: HashMap<String, String>,
}

impl Labels {
    pub(crate) fn of(tabs: impl IntoIterator<Item = (String, Option<usize>)>) -> Self {
        let mut labels = Self { on: true, by_id: HashMap::new() };
        for (id, index) in tabs {
            labels.learn(&id, index);
        }
        labels
    }

    pub(crate) fn of_tabs(tabs: Tabs) -> Self {
        Self::of(tabs.tabs.into_iter().map(|tab| (tab.id, tab.index)))
    }

    pub(crate) fn learn(&mut self, id: &str, index: Option<usize>) {
        let label = index.map_or_else(|| id.chars().take(ID_LENGTH).collect(), |index| index.to_string());
        self.by_id.insert(id.to_owned(), label);
    }

    pub(crate) fn is_unknown(&self, id: &str) -> bool {
        self.on && !self.by_id.contains_key(id)
    }

    /// What to put before the tab's lines: nothing, if it is the only one.
    pub(crate) fn prefix(&self, id: &str) -> String {
        match self.by_id.get(id) {
            Some(label) if self.on && self.by_id.len() > 1 => format!("[{label}] "),
            _ => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_labelled_only_where_there_are_several_tabs() {
        let mut labels = Labels::of([("AAAAAAAAAAAA".to_owned(), Some(1))]);
        assert_eq!(labels.prefix("AAAAAAAAAAAA"), "");
        assert!(labels.is_unknown("BBBBBBBBBBBB"));
        labels.learn("BBBBBBBBBBBB", None);
        assert_eq!(labels.prefix("AAAAAAAAAAAA"), "[1] ");
        assert_eq!(labels.prefix("BBBBBBBBBBBB"), "[BBBBBBBB] ");
        assert!(!Labels::default().is_unknown("CCCC"));
    }
}
