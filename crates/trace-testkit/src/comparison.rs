//! Random calls on two ledgers.
use crate::suite::Handle;
use std::path::Path;
/// Whether.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reopening {
    /// n
    Never,
    /// o
    Often,
}
/// todo
pub fn compare(_open: fn(&Path) -> Handle, _r: Reopening, _s: &'static str) {}
