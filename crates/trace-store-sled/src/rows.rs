//! The only mapping between rows and bytes: the JSON of the model, without white space.
//!
//! The names of the fields are in each row, so that a row explains itself, and a newer version may add some. Money is
//! whole nano-dollars here, as in every store: a number with a point is not read back to the last digit.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use trace_model::{
    Entity,
    context::{Asset, Decision},
    control::Reservation,
    launch::Launch,
    money::NanoUsd,
    turn::Turn,
    usage::UsageRecord,
    usage_query::PriceVersion,
    usage_sum::ComputedCost,
};

use crate::error::Cause;

/// What has rows.
pub(crate) trait Row: Clone {
    /// What an error calls it.
    const ENTITY: Entity;

    /// What is written.
    type Stored: Serialize + DeserializeOwned + From<Self> + Into<Self>;
}

/// Says for each row what an error calls it, and what is written if that is not the row itself.
macro_rules! rows {
    ($($row:ident $(as $stored:ident)?,)+) => {
        $(impl Row for $row {
            const ENTITY: Entity = Entity::$row;
            type Stored = rows!(@ $row $($stored)?);
        })+
    };
    (@ $row:ident) => { $row };
    (@ $row:ident $stored:ident) => { $stored };
}

rows! {
    Launch,
    Turn,
    Asset,
    Decision,
    UsageRecord as StoredUsageRecord,
    Reservation,
}

/// A usage record whose money is an integer.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StoredUsageRecord {
    /// The record without its `reported_cost_usd`.
    #[serde(flatten)]
    record: UsageRecord,
    reported_cost_nanousd: Option<u64>,
}

impl From<UsageRecord> for StoredUsageRecord {
    fn from(mut record: UsageRecord) -> Self {
        let reported_cost_nanousd = record.report.reported_cost_usd.take().map(NanoUsd::as_nanos);
        Self { record, reported_cost_nanousd }
    }
}

impl From<StoredUsageRecord> for UsageRecord {
    fn from(StoredUsageRecord { mut record, reported_cost_nanousd }: StoredUsageRecord) -> Self {
        record.report.reported_cost_usd = reported_cost_nanousd.map(NanoUsd::from_nanos);
        record
    }
}

/// What a usage record costs by a version of the prices.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StoredCost {
    version: PriceVersion,
    /// Nothing where those prices do not know the model.
    cost_nanousd: Option<u64>,
}

impl StoredCost {
    pub(crate) fn new(version: &PriceVersion, cost: Option<NanoUsd>) -> Self {
        Self { version: version.clone(), cost_nanousd: cost.map(NanoUsd::as_nanos) }
    }

    /// Returns what is known by the version.
    pub(crate) fn by(&self, version: &PriceVersion) -> ComputedCost {
        match self.cost_nanousd {
            _ if self.version != *version => ComputedCost::NotYet,
            None => ComputedCost::NoPrice,
            Some(nanos) => ComputedCost::Priced(NanoUsd::from_nanos(nanos)),
        }
    }
}

impl Row for StoredCost {
    const ENTITY: Entity = Entity::UsageRecord;
    type Stored = Self;
}

/// Returns the bytes of the row.
pub(crate) fn encode<R: Row>(row: &R) -> Vec<u8> {
    serde_json::to_vec(&R::Stored::from(row.clone())).expect("rows are objects, and a vector takes all bytes")
}

/// Returns the row that the bytes are.
pub(crate) fn decode<R: Row>(bytes: &[u8]) -> Result<R, Cause> {
    let stored: R::Stored =
        serde_json::from_slice(bytes).map_err(|error| Cause::Damaged(format!("a row of a {}: {error}", R::ENTITY)))?;
    Ok(stored.into())
}
