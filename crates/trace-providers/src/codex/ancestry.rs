//! Whose lines the lines of a rollout are.
//!
//! The file of a thread that was forked, or spawned with its parent's history, begins with its own `session_meta`, and
//! then has a copy of the parent's lines, with the parent's `session_meta` and all that it copied itself; then its own
//! lines follow. Nothing marks where the copy ends, and its times may be those of the copying.
//!
//! The ids of threads and turns are UUIDs of version 7, which tell when they were made, and a copied turn keeps its id.
//! So a turn is one of the youngest thread that is not younger than it. Older clients gave turns no ids: then all that
//! is known is that the lines are those of the thread or of an ancestor. They count under the oldest ancestor that is
//! named, so that they are counted once with the parent's own, and that they could not be told apart is noted.

use alloc::{string::String, vec::Vec};

use serde::{Deserialize, Serialize};

/// How many ancestors are remembered; a longer chain is nobody's work.
const MAX_THREADS: usize = 64;

/// The thread of a file, its ancestors, and whose lines are being read.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Ancestry {
    /// The thread itself first, and then each one's parent.
    threads: Vec<String>,
    /// Whether the last one is known to have no parent.
    is_rooted: bool,
    /// Whose turn the last one was, if that can be told.
    owner: Option<usize>,
}

impl Ancestry {
    /// Takes the `session_meta` of a thread, and tells whether it is the first one.
    pub(super) fn meta(&mut self, id: &str, parent: Option<&str>) -> bool {
        let is_first = self.threads.is_empty();
        if is_first {
            self.threads.push(String::from(id));
        }
        let is_last = self.threads.last().is_some_and(|last| last == id);
        if is_last && !self.is_rooted && self.threads.len() < MAX_THREADS {
            match parent.filter(|parent| self.threads.iter().all(|thread| thread != parent)) {
                Some(parent) => self.threads.push(String::from(parent)),
                None => self.is_rooted = true,
            }
        }
        if self.is_rooted && self.threads.len() == 1 {
            self.owner = Some(0);
        }
        is_first
    }

    /// Tells whether the thread is the file's own or an ancestor, as far as is known.
    pub(super) fn names(&self, thread: &str) -> bool {
        self.threads.is_empty() || self.threads.iter().any(|known| known == thread)
    }

    /// Takes the beginning of a turn.
    pub(super) fn turn(&mut self, turn: &str) {
        let Some(begun) = made_at(turn) else { return };
        let mut ages = self.threads.iter().map(|thread| made_at(thread));
        // One whose age is unknown may be the owner, and so may be any after it.
        let decides = |made: &Option<u64>| made.is_none_or(|made| made <= begun);
        let found = ages.by_ref().enumerate().find(|(_, made)| decides(made));
        self.owner = match found {
            Some((position, Some(_))) => Some(position),
            Some((position, None)) if self.is_last(position) => Some(position),
            Some(_) => None,
            // Older than the thread that has no parent: its clock was set back.
            None => self.threads.len().checked_sub(1).filter(|_| self.is_rooted),
        };
    }

    fn is_last(&self, position: usize) -> bool {
        self.is_rooted && position + 1 == self.threads.len()
    }

    /// Returns the thread that what is read now belongs to: where that cannot be told, the oldest one that is named.
    pub(super) fn owner(&self) -> Option<&str> {
        self.owner.and_then(|owner| self.threads.get(owner)).or(self.threads.last()).map(String::as_str)
    }

    /// Tells whether it is known whose lines are being read.
    pub(super) const fn is_resolved(&self) -> bool {
        self.owner.is_some() || self.threads.is_empty()
    }
}

/// Returns when a UUID of version 7 was made, in milliseconds since 1970.
fn made_at(id: &str) -> Option<u64> {
    let groups: Vec<&str> = id.split('-').collect();
    let [high, low, version, _, _] = groups.as_slice() else { return None };
    if high.len() != 8 || low.len() != 4 || !version.starts_with('7') {
        return None;
    }
    Some((u64::from_str_radix(high, 16).ok()? << 16) | u64::from_str_radix(low, 16).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRANDPARENT: &str = "01a00000-0000-7000-8000-000000000001";
    const PARENT: &str = "01a00000-1000-7000-8000-000000000002";
    const CHILD: &str = "01a00000-2000-7000-8000-000000000003";

    fn turn(at: &str) -> String {
        alloc::format!("01a00000-{at}-7abc-8000-00000000000f")
    }

    fn owner_of(ancestry: &mut Ancestry, at: &str) -> (Option<String>, bool) {
        ancestry.turn(&turn(at));
        (ancestry.owner().map(String::from), ancestry.is_resolved())
    }

    #[test]
    fn a_turn_is_one_of_the_youngest_thread_that_is_not_younger() {
        let mut ancestry = Ancestry::default();
        assert!(ancestry.meta(CHILD, Some(PARENT)));
        assert!(!ancestry.meta(PARENT, Some(GRANDPARENT)) && !ancestry.meta(GRANDPARENT, None));
        for (at, owner) in
            [("0fff", GRANDPARENT), ("1000", PARENT), ("1fff", PARENT), ("2001", CHILD), ("0001", GRANDPARENT)]
        {
            assert_eq!(owner_of(&mut ancestry, at), (Some(String::from(owner)), true), "{at}");
        }
    }

    #[test]
    fn what_an_ancestor_that_is_not_named_did_is_not_resolved() {
        let mut ancestry = Ancestry::default();
        ancestry.meta(CHILD, Some(PARENT));
        assert_eq!((ancestry.owner(), ancestry.is_resolved()), (Some(PARENT), false));
        assert_eq!(owner_of(&mut ancestry, "1001"), (Some(String::from(PARENT)), true));
        assert_eq!(owner_of(&mut ancestry, "0fff"), (Some(String::from(PARENT)), false));
        ancestry.meta(PARENT, None);
        assert_eq!(owner_of(&mut ancestry, "0fff"), (Some(String::from(PARENT)), true));
    }

    #[test]
    fn ids_that_tell_no_time_resolve_nothing_unless_there_is_one_thread() {
        let mut ancestry = Ancestry::default();
        ancestry.meta("child", Some("parent"));
        assert_eq!(owner_of(&mut ancestry, "1000"), (Some(String::from("parent")), false));
        let mut alone = Ancestry::default();
        alone.meta("alone", None);
        assert!(alone.is_resolved());
        alone.turn("turn");
        assert_eq!(owner_of(&mut alone, "1000"), (Some(String::from("alone")), true));
    }

    #[test]
    fn threads_that_name_each_other_are_no_endless_chain() {
        let mut ancestry = Ancestry::default();
        ancestry.meta(CHILD, Some(PARENT));
        ancestry.meta(PARENT, Some(CHILD));
        assert_eq!(owner_of(&mut ancestry, "0001"), (Some(String::from(PARENT)), true));
        ancestry.meta(CHILD, Some(CHILD));
        assert_eq!(ancestry.threads, [CHILD, PARENT]);
    }
}
