//! The tabs that pages have opened, the newest of them.

use std::collections::VecDeque;

use super::TabInfo;

/// So many are remembered.
const NEWEST: usize = 200;

#[derive(Default)]
pub(crate) struct Opened {
    /// In order.
    newest: VecDeque<TabInfo>,
    /// All that there were.
    count: usize,
}

impl Opened {
    pub(crate) fn push(&mut self, tab: TabInfo) {
        self.newest.push_back(tab);
        self.count += 1;
        if self.newest.len() > NEWEST {
            self.newest.pop_front();
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Those since there were so many, as far as they are remembered.
    pub(crate) fn since(&self, count: usize) -> Vec<TabInfo> {
        let new = self.count.saturating_sub(count).min(self.newest.len());
        self.newest.iter().skip(self.newest.len() - new).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use bowline_wire::TargetId;

    use super::*;

    #[test]
    fn the_newest_are_told_and_the_oldest_forgotten() {
        let mut opened = Opened::default();
        let tab = |id: usize| TabInfo {
            target: TargetId::new(id.to_string()),
            url: String::new(),
            title: String::new(),
            opener: None,
        };
        (0..NEWEST + 3).for_each(|id| opened.push(tab(id)));
        assert_eq!(opened.count(), NEWEST + 3);
        assert_eq!(opened.since(NEWEST + 1), [tab(NEWEST + 1), tab(NEWEST + 2)]);
        assert_eq!(opened.since(0).first(), Some(&tab(3)));
        assert!(opened.since(NEWEST + 9).is_empty());
    }
}
