//! The ids of what was imported: made from what the provider calls it, so that nothing about an imported launch depends
//! on the time or order of reading.
//!
//! They are UUIDs of version 8. A launch's bits are of a hash of its provider and session. A turn's are, from the left:
//!
//! ```text
//! 48 bits  of a hash of its launch
//!  4 bits  the version, 8
//! 12 bits  the upper bits of its ordinal
//!  2 bits  the variant
//! 20 bits  the lower bits of its ordinal
//! 42 bits  of the hash, too
//! ```
//!
//! so turn ids of one launch ascend with their ordinals.

use sha2::{Digest, Sha256};
use uuid::Builder;

use crate::{
    id::{LaunchId, RunId, TurnId},
    words::Provider,
};

impl LaunchId {
    /// Returns the id of the launch that a session of the provider is imported as.
    pub fn of_session(provider: &Provider, session: &str) -> Self {
        let [first, _] = halves(&[b"launch", provider.as_str().as_bytes(), session.as_bytes()]);
        Self::from_uuid(Builder::from_custom_bytes(first).into_uuid())
    }
}

impl TurnId {
    /// Returns the id of the turn at that ordinal of an imported launch.
    ///
    /// ```
    /// use trace_model::{id::{LaunchId, TurnId}, words::Provider};
    ///
    /// let launch = LaunchId::of_session(&Provider::Claude, "5a5a0001");
    /// assert!(TurnId::of_import(launch, 9) < TurnId::of_import(launch, 10));
    /// ```
    pub fn of_import(launch: LaunchId, ordinal: u32) -> Self {
        let [hash, _] = halves(&[b"turn", launch.as_uuid().as_bytes()]);
        let hash = u128::from_be_bytes(hash);
        let ordinal = u128::from(ordinal);
        let (upper, lower) = (ordinal >> 20, ordinal & 0xF_FFFF);
        let bits = (hash & !(u128::MAX >> 48)) | (upper << 64) | (lower << 42) | (hash & ((1 << 42) - 1));
        Self::from_uuid(Builder::from_custom_bytes(bits.to_be_bytes()).into_uuid())
    }
}

impl RunId {
    /// Returns the id of the run that a session of the provider is imported as: the provider and the session, or a hash
    /// of it where it is no part of an id.
    ///
    /// # Panics
    ///
    /// Never: the hash is.
    pub fn of_session(provider: &Provider, session: &str) -> Self {
        let named = alloc::format!("{provider}-{session}").parse();
        named.unwrap_or_else(|_| {
            let id = LaunchId::of_session(provider, session);
            alloc::format!("imported-{}", id.as_uuid().simple()).parse().expect("hexadecimal digits make an id")
        })
    }
}

/// Returns the halves of the hash of the parts, each told from the next by its length.
fn halves(parts: &[&[u8]]) -> [[u8; 16]; 2] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(part);
    }
    let digest: [u8; 32] = hash.finalize().into();
    let (first, second) = digest.split_at(16);
    [first.try_into().unwrap_or_default(), second.try_into().unwrap_or_default()]
}

#[cfg(test)]
mod tests {
    use std::{format, string::ToString, vec::Vec};

    use super::*;

    #[test]
    fn a_session_has_one_launch_and_another_session_another_one() {
        let id = LaunchId::of_session(&Provider::Claude, "s");
        assert_eq!(id, LaunchId::of_session(&Provider::Claude, "s"));
        assert_ne!(id, LaunchId::of_session(&Provider::Codex, "s"));
        assert_ne!(id, LaunchId::of_session(&Provider::Claude, "t"));
        assert_eq!((id.as_uuid().get_version_num(), id.as_uuid().get_variant()), (8, uuid::Variant::RFC4122));
        assert_eq!(id.to_string().parse(), Ok(id));
    }

    #[test]
    fn turn_ids_ascend_with_their_ordinals_and_differ_between_launches() {
        let of = |session: &str| {
            let launch = LaunchId::of_session(&Provider::Gemini, session);
            let ordinals = [1, 2, 3, 0xF_FFFF, 0x10_0000, 0x10_0001, u32::MAX - 1, u32::MAX];
            ordinals.map(|ordinal| TurnId::of_import(launch, ordinal))
        };
        for id in of("s") {
            assert_eq!((id.as_uuid().get_version_num(), id.as_uuid().get_variant()), (8, uuid::Variant::RFC4122));
        }
        assert!(of("s").is_sorted_by(|a, b| a < b), "{:?}", of("s"));
        let all: Vec<TurnId> = of("s").into_iter().chain(of("t")).collect();
        assert!(all.iter().enumerate().all(|(place, id)| all.iter().position(|other| other == id) == Some(place)));
    }

    #[test]
    fn a_run_is_called_by_its_session_where_that_is_an_id() {
        let run = |session: &str| RunId::of_session(&Provider::Claude, session).to_string();
        assert_eq!(run("5a5a0001-0000"), "claude-5a5a0001-0000");
        for odd in ["a/b", "", &"x".repeat(70)] {
            assert!(run(odd).starts_with(if odd.is_empty() { "claude-" } else { "imported-" }), "{}", run(odd));
        }
        assert_eq!(run("a/b"), run("a/b"));
        assert_eq!(format!("{}", RunId::of_session(&Provider::Claude, "a/b")).len(), 41);
    }
}
