//! What agents wrote themselves, read into rows: for an import, and again whenever the rows are folded anew.
//!
//! [`facts`] takes together what a reader observes, [`gemini_place`] adds what only the place of a file tells, [`rows`]
//! makes rows of it, [`reading`] feeds a reader, [`listed`] reads what a launch's list of sources names, [`beside`]
//! tells what of a session is on record already, and [`conversation`] makes the events of an imported launch.

mod agents;
pub(crate) mod beside;
mod conversation;
pub(crate) mod facts;
pub(crate) mod gemini_place;
pub(crate) mod listed;
pub(crate) mod reading;
pub(crate) mod rows;

pub use agents::agents;
pub use conversation::{conversation, source_bytes};
