//! Usage records, and the cells of rollups.

use rusqlite::Row;
use trace_model::{
    context::Sha256Hex,
    id::LaunchId,
    money::NanoUsd,
    timestamp::Timestamp,
    usage::{Agent, UsageRecord, UsageReport, UsageRow},
    usage_sum::{Doubts, UsageSum},
};

use super::Table;
use crate::{
    columns::{Reader, Writer},
    error::Cause,
};

table! {
    USAGE_RECORDS = "usage_records";
    key: "launch_id", "key";
    "turn_id", "request_key", "agent", "model", "observed_at", "input_tokens", "cache_read_tokens",
    "cache_write_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens", "output_tokens", "reasoning_tokens",
    "context_tokens", "context_window_tokens", "reported_cost_nanousd", "grain", "quality", "price_version",
    "computed_cost_nanousd", "request_hash",
}

table! {
    USAGE_CELLS = "usage_cells";
    key: "launch_id", "position";
    "period", "model", "agent", "price_version", "records", "requests", "unlisted", "replays", "input_tokens",
    "cache_read_tokens", "cache_write_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens", "output_tokens",
    "reasoning_tokens", "reported_cost_nanousd", "computed_cost_nanousd", "priced", "unpriced", "uncosted", "doubts",
}

/// A usage record, and what is known of its cost.
#[derive(Debug)]
pub(crate) struct Costed {
    pub(crate) record: UsageRecord,
    pub(crate) cost: Option<Cost>,
}

/// What a record costs by a version of the prices.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    /// The version, as `price_versions` numbers it.
    pub(crate) version: i64,
    /// Nothing where those prices do not know the model.
    pub(crate) cost: Option<NanoUsd>,
}

pub(crate) fn write_usage(to: &mut Writer<'_, '_>, record: &UsageRecord, cost: Option<Cost>) -> rusqlite::Result<()> {
    let report = &record.report;
    to.put(&record.launch_id)?;
    to.put(&report.key)?;
    to.put(&record.turn_id)?;
    to.put(&report.request_key)?;
    to.put(&report.agent)?;
    to.put(&report.model)?;
    to.put(&report.observed_at)?;
    to.put(&report.input_tokens)?;
    to.put(&report.cache_read_tokens)?;
    to.put(&report.cache_write_tokens)?;
    to.put(&report.cache_write_5m_tokens)?;
    to.put(&report.cache_write_1h_tokens)?;
    to.put(&report.output_tokens)?;
    to.put(&report.reasoning_tokens)?;
    to.put(&report.context_tokens)?;
    to.put(&report.context_window_tokens)?;
    to.put(&report.reported_cost_usd)?;
    to.put(&report.grain)?;
    to.put(&report.quality)?;
    to.put(&cost.map(|cost| cost.version))?;
    to.put(&cost.and_then(|cost| cost.cost))?;
    to.put(&report.request_key.as_deref().map(request_hash))
}

/// Returns the number by which the records of a request are looked up: the first eight bytes of the key's SHA-256.
pub(crate) fn request_hash(request_key: &str) -> i64 {
    let digest = Sha256Hex::of(request_key.as_bytes());
    let first = digest.as_digest().first_chunk().copied().unwrap_or_default();
    i64::from_be_bytes(first)
}

/// Reads a usage record with its cost.
pub(crate) fn read_costed(row: &Row<'_>) -> Result<Costed, Cause> {
    next_costed(&mut Reader::new(row, USAGE_RECORDS))
}

/// Reads a usage record with its cost and, after its columns, what it is a replay of.
pub(crate) fn read_usage(row: &Row<'_>) -> Result<(UsageRow, Option<Cost>), Cause> {
    let mut from = Reader::new(row, USAGE_RECORDS);
    let Costed { record, cost } = next_costed(&mut from)?;
    Ok((UsageRow { record, replay_of: from.next()? }, cost))
}

fn next_costed(from: &mut Reader<'_>) -> Result<Costed, Cause> {
    let launch_id = from.next()?;
    let key = from.next()?;
    let turn_id = from.next()?;
    let report = UsageReport {
        key,
        request_key: from.next()?,
        agent: from.next()?,
        model: from.next()?,
        observed_at: from.next()?,
        input_tokens: from.next()?,
        cache_read_tokens: from.next()?,
        cache_write_tokens: from.next()?,
        cache_write_5m_tokens: from.next()?,
        cache_write_1h_tokens: from.next()?,
        output_tokens: from.next()?,
        reasoning_tokens: from.next()?,
        context_tokens: from.next()?,
        context_window_tokens: from.next()?,
        reported_cost_usd: from.next()?,
        grain: from.next()?,
        quality: from.next()?,
    };
    let (version, cost): (Option<i64>, Option<NanoUsd>) = (from.next()?, from.next()?);
    // The hash follows from the key.
    from.skip();
    let cost = version.map(|version| Cost { version, cost });
    Ok(Costed { record: UsageRecord { launch_id, turn_id, report }, cost })
}

/// What usage records of one launch add up to that have a place in common.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) launch: LaunchId,
    pub(crate) place: Place,
    pub(crate) sum: UsageSum,
}

/// What the records of a part have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) period: Option<Timestamp>,
    pub(crate) model: Option<String>,
    pub(crate) agent: Agent,
    /// The version of the prices that their costs are computed by, as `price_versions` numbers it.
    pub(crate) price_version: Option<i64>,
}

pub(crate) fn write_part(to: &mut Writer<'_, '_>, part: &Part, position: u32) -> rusqlite::Result<()> {
    let Part { launch, place, sum } = part;
    to.put(launch)?;
    to.put(&position)?;
    to.put(&place.period)?;
    to.put(&place.model)?;
    to.put(&place.agent)?;
    to.put(&place.price_version)?;
    to.put(&sum.records)?;
    to.put(&sum.requests)?;
    to.put(&sum.unlisted)?;
    to.put(&sum.replays)?;
    to.put(&sum.input_tokens)?;
    to.put(&sum.cache_read_tokens)?;
    to.put(&sum.cache_write_tokens)?;
    to.put(&sum.cache_write_5m_tokens)?;
    to.put(&sum.cache_write_1h_tokens)?;
    to.put(&sum.output_tokens)?;
    to.put(&sum.reasoning_tokens)?;
    to.put(&sum.reported_cost_usd)?;
    to.put(&sum.computed_cost_usd)?;
    to.put(&sum.priced)?;
    to.put(&sum.unpriced)?;
    to.put(&sum.uncosted)?;
    to.put(&Some(sum.doubts).filter(|doubts| *doubts != Doubts::default()))
}

pub(crate) fn read_part(row: &Row<'_>) -> Result<Part, Cause> {
    Ok(read_placed_part(row)?.1)
}

/// Reads a part with its position.
pub(crate) fn read_placed_part(row: &Row<'_>) -> Result<(u32, Part), Cause> {
    let mut from = Reader::new(row, USAGE_CELLS);
    let launch = from.next()?;
    let position = from.next()?;
    let place = Place { period: from.next()?, model: from.next()?, agent: from.next()?, price_version: from.next()? };
    let sum = UsageSum {
        records: from.next()?,
        requests: from.next()?,
        unlisted: from.next()?,
        replays: from.next()?,
        input_tokens: from.next()?,
        cache_read_tokens: from.next()?,
        cache_write_tokens: from.next()?,
        cache_write_5m_tokens: from.next()?,
        cache_write_1h_tokens: from.next()?,
        output_tokens: from.next()?,
        reasoning_tokens: from.next()?,
        reported_cost_usd: from.next()?,
        computed_cost_usd: from.next()?,
        priced: from.next()?,
        unpriced: from.next()?,
        uncosted: from.next()?,
        doubts: from.next::<Option<Doubts>>()?.unwrap_or_default(),
    };
    Ok((position, Part { launch, place, sum }))
}
