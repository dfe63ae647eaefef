//! The sets that clients without a session have switched on, by the agents' names: each of their requests stands for
//! itself, so somebody else has to remember.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::sets::Sets;

/// What is not asked for in so long is forgotten.
const MEMORY: Duration = Duration::from_secs(30 * 60);
/// Names that are remembered; then the one that was asked for least lately is forgotten.
const MOST: usize = 1_000;

#[derive(Default)]
pub(super) struct Remembered(Mutex<HashMap<String, Entry>>);

struct Entry {
    sets: Sets,
    asked: Instant,
}

impl Remembered {
    /// What was switched on under this name.
    pub(super) fn of(&self, name: &str) -> Sets {
        let mut entries = self.entries();
        entries.retain(|_, entry| entry.asked.elapsed() < MEMORY);
        let Some(entry) = entries.get_mut(name) else { return Sets::default() };
        entry.asked = Instant::now();
        entry.sets.clone()
    }

    pub(super) fn add(&self, name: &str, sets: &Sets) {
        let mut entries = self.entries();
        if !entries.contains_key(name) && entries.len() >= MOST {
            let oldest = entries.iter().min_by_key(|(_, entry)| entry.asked).map(|(name, _)| name.clone());
            oldest.and_then(|name| entries.remove(&name));
        }
        let fresh = || Entry { sets: Sets::default(), asked: Instant::now() };
        let entry = entries.entry(name.to_owned()).or_insert_with(fresh);
        entry.sets.add(sets);
        entry.asked = Instant::now();
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<String, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn sets_are_remembered_by_name_for_a_while_and_names_are_bounded() {
        let remembered = Remembered::default();
        let network: Sets = "network".parse().unwrap();
        remembered.add("one", &network);
        assert_eq!(remembered.of("one"), network);
        assert_eq!(remembered.of("two"), Sets::default());
        tokio::time::advance(MEMORY / 2).await;
        assert_eq!(remembered.of("one"), network, "and asking keeps them");
        for number in 0..MOST {
            tokio::time::advance(Duration::from_millis(1)).await;
            remembered.add(&number.to_string(), &network);
        }
        assert_eq!(remembered.of("one"), Sets::default());
        assert_eq!(remembered.of("0"), network);
        tokio::time::advance(MEMORY).await;
        remembered.of("one");
        assert!(remembered.entries().is_empty());
    }
}
