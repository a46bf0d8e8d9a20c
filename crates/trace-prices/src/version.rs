//! Which prices a cost was computed with.

use alloc::string::String;
use core::fmt;

/// The name of one state of all prices: two tables of one version give the same costs.
///
/// It names the crate that the prices are from with the SHA-256 of its data, the revision of the rules here, and the
/// SHA-256 of the user's own prices if there are any.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PriceVersion(String);

impl PriceVersion {
    pub(crate) const fn new(text: String) -> Self {
        Self(text)
    }

    /// Returns the version's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PriceVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}
