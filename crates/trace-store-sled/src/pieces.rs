//! Values of any size, as entries that are all small.
//!
//! sled puts a page that outgrows an eighth of a megabyte into a file of its own, which it never syncs. A page holds up
//! to twenty entries, so a value goes into pieces of a few kilobytes: the first one under the key of the row, the next
//! ones under that key and their number, from 1, in 4 bytes. Each piece begins with a byte that says whether another
//! one follows.

use crate::{error::Cause, keys::Key};

/// The most bytes of a value in one piece.
pub(crate) const LONGEST_PIECE: usize = 4096;

/// The first byte of the last piece.
const LAST: u8 = 0;
/// The first byte of a piece that another one follows.
const MORE: u8 = 1;

/// Returns the entries of a row, in order.
pub(crate) fn of_row(key: &Key, value: &[u8]) -> impl Iterator<Item = (Key, Vec<u8>)> {
    let count = count(value.len());
    (0..count).map(move |number| {
        let start = number * LONGEST_PIECE;
        let bytes = &value[start..value.len().min(start + LONGEST_PIECE)];
        let first = if number + 1 == count { LAST } else { MORE };
        let mut piece = Vec::with_capacity(1 + bytes.len());
        piece.push(first);
        piece.extend(bytes);
        (key_of(key, number), piece)
    })
}

/// Returns how many pieces a value has; an empty one has one.
fn count(bytes: usize) -> usize {
    bytes.div_ceil(LONGEST_PIECE).max(1)
}

fn key_of(row: &Key, number: usize) -> Key {
    match u32::try_from(number) {
        Ok(0) => row.clone(),
        number => row.clone().number(number.expect("a value is smaller than 16 TiB")),
    }
}

/// Puts pieces together again.
#[derive(Debug, Default)]
pub(crate) struct Joiner {
    begun: Option<Vec<u8>>,
}

impl Joiner {
    /// Takes the next entry, and returns the value that is whole with it.
    pub(crate) fn add(&mut self, entry: &[u8]) -> Result<Option<Vec<u8>>, Cause> {
        let (first, bytes) = entry.split_first().ok_or_else(|| damaged("a piece of a row is empty"))?;
        let mut value = self.begun.take().unwrap_or_default();
        value.extend(bytes);
        match *first {
            LAST => Ok(Some(value)),
            MORE => {
                self.begun = Some(value);
                Ok(None)
            }
            _ => Err(damaged("a piece of a row does not say whether another one follows")),
        }
    }

    /// Checks that no value was begun and not ended.
    pub(crate) fn finish(self) -> Result<(), Cause> {
        if self.begun.is_some() { Err(damaged("the last piece of a row is missing")) } else { Ok(()) }
    }
}

fn damaged(what: &str) -> Cause {
    Cause::Damaged(String::from(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_any_size_comes_back_from_its_pieces() {
        for bytes in [0, 1, LONGEST_PIECE - 1, LONGEST_PIECE, LONGEST_PIECE + 1, 3 * LONGEST_PIECE, 1_000_000] {
            let key = Key::default().number(7);
            let value: Vec<u8> = (0..=250).cycle().take(bytes).collect();
            let pieces: Vec<_> = of_row(&key, &value).collect();
            assert!(pieces.is_sorted(), "pieces come in the order of their keys");
            assert!(pieces.iter().all(|(piece, _)| piece.as_ref().starts_with(key.as_ref())));
            assert!(pieces.iter().all(|(_, piece)| piece.len() <= 1 + LONGEST_PIECE));

            let mut joiner = Joiner::default();
            let mut found = Vec::new();
            for (_, piece) in &pieces {
                found.extend(joiner.add(piece).unwrap());
            }
            joiner.finish().unwrap();
            assert_eq!(found, [value]);
        }
    }

    #[test]
    fn pieces_that_are_missing_or_spoilt_are_noticed() {
        let value = vec![b'x'; 2 * LONGEST_PIECE];
        let pieces: Vec<_> = of_row(&Key::default(), &value).map(|(_, piece)| piece).collect();
        let mut joiner = Joiner::default();
        assert!(joiner.add(&pieces[0]).unwrap().is_none());
        assert!(joiner.finish().is_err());
        assert!(Joiner::default().add(b"").is_err());
        assert!(Joiner::default().add(b"x").is_err());
    }
}
