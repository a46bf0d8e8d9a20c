//! A map that remembers the latest entries and no more.

use alloc::{
    collections::{BTreeMap, VecDeque},
    string::String,
};

use serde::{Deserialize, Serialize};

/// The most that one map remembers, in bytes of its keys and of what its values hold.
const MAX_BYTES: usize = 8 << 20;

/// The most entries that one map remembers.
const MAX_ENTRIES: usize = 4096;

/// A map from a provider's ids that forgets its oldest entries.
///
/// An agent works at a few replies, tools and subagents at a time, and names each for a short while; a run may have
/// millions of them.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Recent<V> {
    max_entries: usize,
    entries: BTreeMap<String, Entry<V>>,
    /// The keys by age, each with the number of its entry; one whose entry is gone or newer is passed over.
    order: VecDeque<(u64, String)>,
    next: u64,
    bytes: usize,
}

#[derive(Debug, Serialize, Deserialize)]
struct Entry<V> {
    number: u64,
    bytes: usize,
    value: V,
}

impl<V> Default for Recent<V> {
    fn default() -> Self {
        Self::with_entries(MAX_ENTRIES)
    }
}

impl<V> Recent<V> {
    /// Returns a map that remembers that many entries, which is less than it could.
    pub(crate) const fn with_entries(max_entries: usize) -> Self {
        Self { max_entries, entries: BTreeMap::new(), order: VecDeque::new(), next: 0, bytes: 0 }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&V> {
        self.entries.get(key).map(|entry| &entry.value)
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut V> {
        self.entries.get_mut(key).map(|entry| &mut entry.value)
    }

    pub(crate) fn remove(&mut self, key: &str) -> Option<V> {
        let entry = self.entries.remove(key)?;
        self.bytes -= entry.bytes;
        Some(entry.value)
    }

    /// Adds an entry as the newest one; `held` is how many bytes its value holds. Nothing is added if that is too much.
    pub(crate) fn insert(&mut self, key: &str, value: V, held: usize) {
        self.remove(key);
        // The key is kept twice.
        let bytes = held.saturating_add(2 * key.len());
        if bytes > MAX_BYTES {
            return;
        }
        self.bytes += bytes;
        self.entries.insert(String::from(key), Entry { number: self.next, bytes, value });
        self.order.push_back((self.next, String::from(key)));
        self.next += 1;
        // An entry that is gone leaves its place in the order, so it is the order that is kept short.
        while self.order.len() > self.max_entries || self.bytes > MAX_BYTES {
            let Some((number, key)) = self.order.pop_front() else { return };
            if self.entries.get(&key).is_some_and(|entry| entry.number == number) {
                self.remove(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn the_oldest_entries_are_forgotten() {
        let mut recent = Recent::default();
        for number in 0..MAX_ENTRIES + 10 {
            recent.insert(&number.to_string(), number, 0);
        }
        assert_eq!((recent.get("9"), recent.get("10")), (None, Some(&10)));
        assert_eq!(recent.entries.len(), MAX_ENTRIES);
    }

    #[test]
    fn what_is_held_counts_in_bytes() {
        let mut recent = Recent::default();
        recent.insert("a", 1, MAX_BYTES / 2);
        recent.insert("b", 2, MAX_BYTES / 2 - 10);
        assert_eq!((recent.get("a"), recent.get("b")), (Some(&1), Some(&2)));
        recent.insert("c", 3, 100);
        assert_eq!((recent.get("a"), recent.get("b"), recent.get("c")), (None, Some(&2), Some(&3)));
        recent.insert("d", 4, MAX_BYTES);
        assert_eq!((recent.get("c"), recent.get("d")), (Some(&3), None));
        assert_eq!(recent.remove("b"), Some(2));
        assert_eq!(recent.remove("c"), Some(3));
        assert_eq!(recent.bytes, 0);
    }

    #[test]
    fn an_entry_that_is_added_again_is_new() {
        let mut recent = Recent::default();
        recent.insert("a", 1, 0);
        for number in 0..MAX_ENTRIES - 1 {
            recent.insert(&number.to_string(), 0, 0);
        }
        recent.insert("a", 2, 0);
        assert_eq!(recent.get("a"), Some(&2));
    }
}
