//! What a write changes, collected before anything is changed.

use std::collections::BTreeMap;

use crate::{keys::Key, pieces, trees::Tree};

/// The entries that a write sets and deletes; of several words about one entry, the last one counts.
///
/// Who replaces something deletes all of its entries and sets the new ones: entries that stay as they are are left out
/// when the changes are committed.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    entries: BTreeMap<(Tree, Key), Option<Vec<u8>>>,
}

impl Changes {
    /// Sets an entry that is no row.
    pub(crate) fn set(&mut self, tree: Tree, key: Key, value: Vec<u8>) {
        self.entries.insert((tree, key), Some(value));
    }

    /// Deletes an entry that is no row.
    pub(crate) fn delete(&mut self, tree: Tree, key: Key) {
        self.entries.insert((tree, key), None);
    }

    /// Sets all entries of a row.
    pub(crate) fn set_row(&mut self, tree: Tree, key: &Key, value: &[u8]) {
        for (key, piece) in pieces::of_row(key, value) {
            self.set(tree, key, piece);
        }
    }

    /// Returns the entries, by tree and key, each with its value or none.
    pub(crate) fn into_entries(self) -> impl Iterator<Item = (Tree, Key, Option<Vec<u8>>)> {
        self.entries.into_iter().map(|((tree, key), value)| (tree, key, value))
    }
}
