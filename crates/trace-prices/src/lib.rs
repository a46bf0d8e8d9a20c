//! What the usage of a model costs: an embedded, dated table of prices, and exact sums.
//!
//! Start at [`PriceTable`]. The prices are those of the crate `genai-prices`, reduced to what usage records have tokens
//! for; `cargo xtask prices` takes them out of it, and its checks compare. The crate itself is not used at run time: it
//! finds models by patterns, so that it has a price for a name that nobody ever sold, and computes in floating point.
//!
//! Deliberately not here: prices of batches and service tiers, which no record of a coding agent tells; of searches,
//! pictures and sound, which no usage record counts; and any guess at a model that the table does not name.

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod cost;
mod decimal;
mod error;
mod litellm;
mod name;
mod prices;
mod table;

pub use cost::Cost;
pub use error::PriceError;
pub use prices::ModelPrices;
pub use table::PriceTable;
