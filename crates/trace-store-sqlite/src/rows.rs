//! The only mapping between rows of the model and rows of tables. `columns` has the forms of the single values.

use rusqlite::Row;
use trace_model::{
    context::{Asset, Decision},
    control::Reservation,
    event::SCHEMA_VERSION,
    id::TurnId,
    launch::{CaptureState, Launch, LaunchHeader, LaunchState},
    path::ArtifactPath,
    span::ByteSpan,
    turn::{Basis, Turn, TurnState},
};

use crate::{
    columns::{Reader, Writer},
    error::Cause,
};

/// A table, and the statements that take or give all of its columns in order.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) columns: &'static [&'static str],
    /// Adds a row.
    pub(crate) insert: &'static str,
    /// Adds a row, or changes the one that has its key; the fixed columns stay as they are, and so do their indexes.
    pub(crate) upsert: &'static str,
}

impl Table {
    /// Returns the question for whole rows, with what stands after the table's name.
    pub(crate) fn select(&self, rest: &str) -> String {
        format!("SELECT {} FROM {} {rest}", self.columns.join(", "), self.name)
    }
}

macro_rules! table {
    (
        $constant:ident = $name:literal;
        key: $key:literal $(, $key_part:literal)*;
        $(fixed: $($fixed:literal),+;)?
        $column:literal $(, $columns:literal)* $(,)?
    ) => {
        pub(crate) const $constant: &Table = &Table {
            name: $name,
            columns: &[$key $(, $key_part)* $($(, $fixed)+)?, $column $(, $columns)*],
            insert: concat!(
                "INSERT INTO ", $name, " (", $key $(, ", ", $key_part)* $($(, ", ", $fixed)+)?,
                ", ", $column $(, ", ", $columns)*,
                ") VALUES (?", $(parameter!($key_part),)* $($(parameter!($fixed),)+)?
                ", ?" $(, parameter!($columns))*, ")"
            ),
            upsert: concat!(
                "INSERT INTO ", $name, " (", $key $(, ", ", $key_part)* $($(, ", ", $fixed)+)?,
                ", ", $column $(, ", ", $columns)*,
                ") VALUES (?", $(parameter!($key_part),)* $($(parameter!($fixed),)+)?
                ", ?" $(, parameter!($columns))*,
                ") ON CONFLICT (", $key $(, ", ", $key_part)*, ") DO UPDATE SET (", $column $(, ", ", $columns)*,
                ") = (excluded.", $column $(, ", excluded.", $columns)*, ")"
            ),
        };
    };
}

/// The place of one more value in a list of parameters.
macro_rules! parameter {
    ($column:literal) => {
        ", ?"
    };
}

mod usage;

pub(crate) use self::usage::{
    Cost, Costed, Part, Place, USAGE_CELLS, USAGE_RECORDS, read_costed, read_part, read_placed_part, read_usage,
    request_hash, write_part, write_usage,
};

table! {
    LAUNCHES = "launches";
    key: "id";
    fixed: "id_reversed", "run_id", "process_id", "started_at";
    "parent_launch_id", "parent_turn_id", "repo", "worktree", "wave", "project", "task", "flow", "skill", "tags", "machine_id", "hostname", "os_user", "provider", "model",
    "surface", "ended_at", "outcome", "capture_status", "incomplete_reason", "agent_version", "conversation_path",
    "provider_events_path", "provider_session_id", "provider_session_path", "conversation_event_count",
    "conversation_bytes", "launch_ended_sha256", "control",
}

table! {
    RESERVATIONS = "reservations";
    key: "launch_id";
    fixed: "control_run_id";
    "control", "provider", "model", "surface", "reserved_at", "state",
}

table! {
    TURNS = "turns";
    key: "id";
    fixed: "launch_id", "ordinal", "started_at";
    "provider_turn_id", "ended_at", "status", "partial_reason", "input_op",
    "context_coverage", "tokenizer", "system_prompt_path", "task_prompt_path", "system_tokens", "task_tokens",
    "supplied_context_tokens", "context_gather_ms", "context_render_ms", "context_persist_ms", "first_event_seq",
    "last_event_seq", "root_output", "basis_epoch_id", "basis_revision",
}

table! {
    ASSETS = "assets";
    key: "turn_id", "position";
    "channel", "kind", "scope", "label", "source_path", "included_by", "content_sha256", "byte_start", "byte_end",
    "isolated_tokens", "attributed_tokens",
}

table! {
    DECISIONS = "decisions";
    key: "turn_id", "position";
    "kind", "scope", "label", "source_path", "decision", "reason", "original_bytes", "original_tokens",
    "asset_position",
}

/// Returns the digits of a launch's id, or of the end of one, backwards.
pub(crate) fn reversed(digits: &str) -> String {
    digits.chars().rev().collect()
}

pub(crate) fn write_launch(to: &mut Writer<'_, '_>, launch: &Launch) -> rusqlite::Result<()> {
    let header = &launch.header;
    let (ended_at, outcome) = launch.state.columns();
    let (capture_status, incomplete_reason) = launch.capture.columns();
    to.put(&header.id)?;
    to.put(&reversed(&header.id.as_uuid().simple().to_string()))?;
    to.put(&header.run_id)?;
    to.put(&header.process_id)?;
    to.put(&header.started_at)?;
    to.put(&header.parent_launch_id)?;
    to.put(&header.parent_turn_id)?;
    to.put(&header.repo)?;
    to.put(&header.worktree)?;
    to.put(&header.wave)?;
    to.put(&header.project)?;
    to.put(&header.task)?;
    to.put(&header.flow)?;
    to.put(&header.skill)?;
    to.put(&header.tags)?;
    to.put(&header.machine_id)?;
    to.put(&header.hostname)?;
    to.put(&header.os_user)?;
    to.put(&header.provider)?;
    to.put(&header.model)?;
    to.put(&header.surface)?;
    to.put(&ended_at)?;
    to.put(&outcome)?;
    to.put(&capture_status)?;
    to.put(&incomplete_reason)?;
    to.put(&launch.agent_version)?;
    to.put(&launch.conversation_path)?;
    to.put(&launch.provider_events_path)?;
    to.put(&launch.provider_session_id)?;
    to.put(&launch.provider_session_path)?;
    to.put(&launch.conversation_event_count)?;
    to.put(&launch.conversation_bytes)?;
    to.put(&launch.launch_ended_sha256)?;
    to.put(&header.control)
}

pub(crate) fn read_launch(row: &Row<'_>) -> Result<Launch, Cause> {
    let mut from = Reader::new(row, LAUNCHES);
    let id = from.next()?;
    from.skip();
    let mut header = LaunchHeader {
        schema_version: SCHEMA_VERSION,
        id,
        run_id: from.next()?,
        process_id: from.next()?,
        started_at: from.next()?,
        parent_launch_id: from.next()?,
        parent_turn_id: from.next()?,
        repo: from.next()?,
        worktree: from.next()?,
        wave: from.next()?,
        project: from.next()?,
        task: from.next()?,
        flow: from.next()?,
        skill: from.next()?,
        tags: from.next()?,
        machine_id: from.next()?,
        hostname: from.next()?,
        os_user: from.next()?,
        provider: from.next()?,
        model: from.next()?,
        surface: from.next()?,
        raw: false,
        control: None,
    };
    let (ended_at, outcome) = (from.next()?, from.next()?);
    let (capture_status, incomplete_reason) = (from.next()?, from.next()?);
    let agent_version = from.next()?;
    let conversation_path = from.next()?;
    let provider_events_path: Option<ArtifactPath> = from.next()?;
    header.raw = provider_events_path.is_some();
    let mut launch = Launch {
        header,
        state: LaunchState::from_columns(ended_at, outcome).map_err(|error| from.damage(&error))?,
        capture: CaptureState::from_columns(capture_status, incomplete_reason).map_err(|error| from.damage(&error))?,
        agent_version,
        conversation_path,
        provider_events_path,
        provider_session_id: from.next()?,
        provider_session_path: from.next()?,
        conversation_event_count: from.next()?,
        conversation_bytes: from.next()?,
        launch_ended_sha256: from.next()?,
    };
    launch.header.control = from.next()?;
    Ok(launch)
}

pub(crate) fn write_reservation(to: &mut Writer<'_, '_>, reservation: &Reservation) -> rusqlite::Result<()> {
    to.put(&reservation.launch_id)?;
    to.put(&reservation.control.run_id)?;
    to.put(&reservation.control)?;
    to.put(&reservation.provider)?;
    to.put(&reservation.model)?;
    to.put(&reservation.surface)?;
    to.put(&reservation.reserved_at)?;
    to.put(&reservation.state)
}

pub(crate) fn read_reservation(row: &Row<'_>) -> Result<Reservation, Cause> {
    let mut from = Reader::new(row, RESERVATIONS);
    let launch_id = from.next()?;
    from.skip();
    Ok(Reservation {
        launch_id,
        control: from.next()?,
        provider: from.next()?,
        model: from.next()?,
        surface: from.next()?,
        reserved_at: from.next()?,
        state: from.next()?,
    })
}

pub(crate) fn write_turn(to: &mut Writer<'_, '_>, turn: &Turn) -> rusqlite::Result<()> {
    let (ended_at, status, partial_reason) = turn.state.columns();
    to.put(&turn.id)?;
    to.put(&turn.launch_id)?;
    to.put(&turn.ordinal)?;
    to.put(&turn.started_at)?;
    to.put(&turn.provider_turn_id)?;
    to.put(&ended_at)?;
    to.put(&status)?;
    to.put(&partial_reason)?;
    to.put(&turn.input_op)?;
    to.put(&turn.context_coverage)?;
    to.put(&turn.tokenizer)?;
    to.put(&turn.system_prompt_path)?;
    to.put(&turn.task_prompt_path)?;
    to.put(&turn.system_tokens)?;
    to.put(&turn.task_tokens)?;
    to.put(&turn.supplied_context_tokens)?;
    to.put(&turn.context_gather_ms)?;
    to.put(&turn.context_render_ms)?;
    to.put(&turn.context_persist_ms)?;
    to.put(&turn.first_event_seq)?;
    to.put(&turn.last_event_seq)?;
    to.put(&turn.root_output)?;
    to.put(&turn.basis.as_ref().map(|basis| &basis.epoch_id))?;
    to.put(&turn.basis.as_ref().map(|basis| basis.revision))
}

pub(crate) fn read_turn(row: &Row<'_>) -> Result<Turn, Cause> {
    let mut from = Reader::new(row, TURNS);
    let id = from.next()?;
    let launch_id = from.next()?;
    let ordinal = from.next()?;
    let started_at = from.next()?;
    let provider_turn_id = from.next()?;
    let (ended_at, status, partial_reason) = (from.next()?, from.next()?, from.next()?);
    let mut turn = Turn {
        id,
        launch_id,
        ordinal,
        provider_turn_id,
        started_at,
        state: TurnState::Running,
        input_op: from.next()?,
        context_coverage: from.next()?,
        tokenizer: from.next()?,
        system_prompt_path: from.next()?,
        task_prompt_path: from.next()?,
        system_tokens: from.next()?,
        task_tokens: from.next()?,
        supplied_context_tokens: from.next()?,
        context_gather_ms: from.next()?,
        context_render_ms: from.next()?,
        context_persist_ms: from.next()?,
        first_event_seq: from.next()?,
        last_event_seq: from.next()?,
        root_output: from.next()?,
        basis: None,
    };
    let (epoch_id, revision) = (from.next()?, from.next()?);
    turn.state = TurnState::from_columns(ended_at, status, partial_reason).map_err(|error| from.damage(&error))?;
    turn.basis = match (epoch_id, revision) {
        (Some(epoch_id), Some(revision)) => Some(Basis { epoch_id, revision }),
        (None, None) => None,
        _ => return Err(from.damage(&"basis_epoch_id and basis_revision disagree")),
    };
    Ok(turn)
}

pub(crate) fn write_asset(to: &mut Writer<'_, '_>, turn: TurnId, asset: &Asset) -> rusqlite::Result<()> {
    to.put(&turn)?;
    to.put(&asset.position)?;
    to.put(&asset.channel)?;
    to.put(&asset.kind)?;
    to.put(&asset.scope)?;
    to.put(&asset.label)?;
    to.put(&asset.source_path)?;
    to.put(&asset.included_by)?;
    to.put(&asset.content_sha256)?;
    to.put(&asset.span.start())?;
    to.put(&asset.span.end())?;
    to.put(&asset.isolated_tokens)?;
    to.put(&asset.attributed_tokens)
}

pub(crate) fn read_asset(row: &Row<'_>) -> Result<Asset, Cause> {
    let mut from = Reader::new(row, ASSETS);
    from.skip();
    let position = from.next()?;
    let channel = from.next()?;
    let kind = from.next()?;
    let scope = from.next()?;
    let label = from.next()?;
    let source_path = from.next()?;
    let included_by = from.next()?;
    let content_sha256 = from.next()?;
    let (start, end) = (from.next()?, from.next()?);
    let span = ByteSpan::new(start, end).ok_or_else(|| from.damage(&"byte_end lies before byte_start"))?;
    Ok(Asset {
        position,
        channel,
        kind,
        scope,
        label,
        source_path,
        included_by,
        content_sha256,
        span,
        isolated_tokens: from.next()?,
        attributed_tokens: from.next()?,
    })
}

pub(crate) fn write_decision(to: &mut Writer<'_, '_>, turn: TurnId, decision: &Decision) -> rusqlite::Result<()> {
    to.put(&turn)?;
    to.put(&decision.position)?;
    to.put(&decision.kind)?;
    to.put(&decision.scope)?;
    to.put(&decision.label)?;
    to.put(&decision.source_path)?;
    to.put(&decision.decision)?;
    to.put(&decision.reason)?;
    to.put(&decision.original_bytes)?;
    to.put(&decision.original_tokens)?;
    to.put(&decision.asset_position)
}

pub(crate) fn read_decision(row: &Row<'_>) -> Result<Decision, Cause> {
    let mut from = Reader::new(row, DECISIONS);
    from.skip();
    Ok(Decision {
        position: from.next()?,
        kind: from.next()?,
        scope: from.next()?,
        label: from.next()?,
        source_path: from.next()?,
        decision: from.next()?,
        reason: from.next()?,
        original_bytes: from.next()?,
        original_tokens: from.next()?,
        asset_position: from.next()?,
    })
}
