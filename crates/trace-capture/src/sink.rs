//! The one door to a launch's files.
//!
//! Whatever a launch records comes from a harness or an agent: its labels, its prompts with their assets, every step of
//! the exchange, every byte of output. Each passes here once, before anything is decided about it, hashed or written.
//! The recorder takes [`Passed`] values only, and only this module makes them, so nothing can go around it. A rule
//! about what may be on record belongs here and nowhere else. Today everything passes as it is, byte for byte.

use trace_attribution::PreparedTurnContext;
use trace_model::control::Reservation;

use crate::{
    capture::{Labels, Start},
    recording::Input,
};

/// Something that went through the door.
#[derive(Debug)]
pub(crate) struct Passed<T>(T);

impl<T> Passed<T> {
    pub(crate) fn into_inner(self) -> T {
        self.0
    }

    pub(crate) const fn as_inner(&self) -> &T {
        &self.0
    }
}

/// What a launch can record.
pub(crate) trait Recordable {}

impl Recordable for Labels {}
impl Recordable for Start {}
impl Recordable for PreparedTurnContext {}
impl Recordable for Input {}
impl Recordable for &[u8] {}
/// It is in no file, but the launch that takes it says the same of itself in one.
impl Recordable for Reservation {}

/// Lets a value through.
pub(crate) const fn pass<T: Recordable>(value: T) -> Passed<T> {
    Passed(value)
}
