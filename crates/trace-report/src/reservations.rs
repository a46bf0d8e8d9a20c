//! The launches that orchestrators reserved.

use alloc::vec::Vec;

use serde::Serialize;
use trace_model::control::Reservation;

use crate::SCHEMA_VERSION;

/// Reservations, by the time at which they were made.
#[derive(Debug, Clone, Serialize)]
pub struct ReservationsReport {
    /// The schema of the document.
    pub schema_version: u32,
    /// The reservations. The launch that took one over has its `launch_id`.
    pub reservations: Vec<Reservation>,
}

/// One reservation.
#[derive(Debug, Clone, Serialize)]
pub struct ReservationReport<'a> {
    /// The schema of the document.
    pub schema_version: u32,
    /// Its row.
    #[serde(flatten)]
    pub reservation: &'a Reservation,
}

impl ReservationsReport {
    /// Returns the report of the reservations, in the order that a ledger answers.
    pub const fn new(reservations: Vec<Reservation>) -> Self {
        Self { schema_version: SCHEMA_VERSION, reservations }
    }
}

impl<'a> ReservationReport<'a> {
    /// Returns the report of one reservation.
    pub const fn new(reservation: &'a Reservation) -> Self {
        Self { schema_version: SCHEMA_VERSION, reservation }
    }
}
