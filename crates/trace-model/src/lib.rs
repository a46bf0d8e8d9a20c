//! The model of Trace: ids, words, rows, events, the fold from artifacts to rows, and the contract of a ledger.
//!
//! Everything here is a value or a pure function of values. There is no file, clock, randomness, environment or thread;
//! times and ids are arguments. The crate depends on no sibling, and every sibling depends on it.
//!
//! Read in this order: [`words`] and [`id`] (what things are called), [`context`], [`usage`], [`turn`] and [`launch`]
//! (the rows), [`event`] and [`codec`] (the lines of `conversation.jsonl`), [`fold`] (lines to rows) and [`ledger`]
//! (where rows are kept). [`usage_sum`] and [`usage_query`] say what usage adds up to.

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod text_enum;

pub mod codec;
pub mod context;
pub mod control;
pub mod event;
pub mod fold;
pub mod id;
mod imported;
pub mod launch;
pub mod ledger;
pub mod money;
pub mod path;
pub mod query;
pub mod rows;
pub mod span;
pub mod timestamp;
pub mod totals;
pub mod turn;
pub mod usage;
pub mod usage_query;
pub mod usage_sum;
pub mod words;

mod error;

pub use error::{Entity, ModelError};
