//! What agents wrote themselves, read into rows: for an import, and again whenever the rows are folded anew.
//!
//! [`facts`] takes together what a reader observes, [`rows`] makes rows of it, [`reading`] feeds a reader, [`listed`]
//! reads what a launch's list of sources names, and [`beside`] tells what of a session is on record already.

pub(crate) mod beside;
pub(crate) mod facts;
pub(crate) mod listed;
pub(crate) mod reading;
pub(crate) mod rows;
