//! Fixed values of every kind of row. Two calls with the same arguments return the same value.

use std::collections::BTreeMap;

use trace_model::{
    context::{Asset, Decision, Sha256Hex},
    control::{Containment, Control, Reservation},
    event::SCHEMA_VERSION,
    id::{LaunchId, RunId, TurnId},
    launch::{CaptureState, Launch, LaunchHeader, LaunchState},
    money::NanoUsd,
    path::ArtifactPath,
    rows::{BoundaryRows, LaunchChange, LaunchRows, TurnRows, UsageChange},
    span::ByteSpan,
    timestamp::Timestamp,
    turn::{Basis, EndStatus, Outcome, Turn, TurnState},
    usage::{UsageRecord, UsageReport},
    words::{
        AssetKind, Channel, Coverage, DecisionKind, Grain, InputOp, Provider, Quality, ReservationState, Scope,
        TokenizerName,
    },
};
use uuid::Uuid;

/// Returns a time: that many seconds after 09:00 on 1 October 2026, in UTC.
pub fn time(seconds: u32) -> Timestamp {
    let start = 1_790_845_200_000_000;
    Timestamp::from_micros(start + i64::from(seconds) * 1_000_000).expect("the time lies in this century")
}

/// Returns the id of the n-th launch: its last eight digits are n, and ids ascend with it.
pub const fn launch_id(n: u32) -> LaunchId {
    LaunchId::from_uuid(uuid(n, 0))
}

/// Returns the id of a turn of the n-th launch; ids of one launch ascend with the ordinal.
pub const fn turn_id(n: u32, ordinal: u32) -> TurnId {
    TurnId::from_uuid(uuid(n, ordinal))
}

/// Returns a version 7 UUID whose last eight digits are n.
#[expect(clippy::as_conversions, reason = "`From` is not const, and every u32 fits")]
const fn uuid(n: u32, ordinal: u32) -> Uuid {
    let base = 0x01a0_1d2e_5c00_7000_8000_0000_0000_0000;
    Uuid::from_u128(base + ((ordinal as u128) << 32) + n as u128)
}

/// Returns the header of the n-th launch, with every label set. It starts n seconds after [`time`]`(0)`.
pub fn header(n: u32) -> LaunchHeader {
    let text = |text: &str| Some(String::from(text));
    LaunchHeader {
        schema_version: SCHEMA_VERSION,
        id: launch_id(n),
        run_id: RunId::from_uuid(uuid(0, 1)),
        process_id: "worker-1".parse().expect("it is a process id"),
        parent_launch_id: Some(launch_id(9_000)),
        parent_turn_id: Some(turn_id(9_000, 1)),
        started_at: time(n),
        repo: String::from("/src/example"),
        worktree: String::from("/src/example/worktrees/näher"),
        wave: text("spring"),
        project: text("search"),
        task: text("index the names"),
        flow: text("review"),
        skill: text("rust"),
        tags: BTreeMap::from([("team".parse().expect("it is a tag key"), String::from("core \"one\""))]),
        machine_id: text("6f1d"),
        hostname: text("builder"),
        os_user: text("sam"),
        provider: Provider::Claude,
        model: text("claude-opus-4-8"),
        surface: String::from("headless"),
        raw: true,
        control: Some(control(n)),
    }
}

/// Returns the n-th control, with every value set.
pub fn control(n: u32) -> Control {
    Control {
        run_id: format!("control-{n}").parse().expect("it is the id of a control run"),
        home_id: String::from("home-7"),
        account_id: Some(String::from("account-2")),
        containment: Containment { kind: String::from("container"), id: format!("box-{n}") },
        resume_token: Some(String::from("token \"1\"")),
        opaque_basis: Some(String::from("{\"plan\":3}")),
    }
}

/// Returns the reservation of the n-th launch, made at its start. It waits.
pub fn reservation(n: u32) -> Reservation {
    let header = header(n);
    Reservation {
        control: control(n),
        launch_id: header.id,
        provider: header.provider,
        model: header.model,
        surface: header.surface,
        reserved_at: header.started_at,
        state: ReservationState::Waiting,
    }
}

/// Returns the n-th launch as it is while it runs, with every value set that a running launch can have.
pub fn launch(n: u32) -> Launch {
    let header = header(n);
    let file = |name| -> Option<ArtifactPath> { header.artifact_dir().join(name).ok() };
    Launch {
        state: LaunchState::Running,
        capture: CaptureState::Capturing,
        agent_version: Some(String::from("2.1.0")),
        conversation_path: file("conversation.jsonl"),
        provider_events_path: file("raw/stdout"),
        provider_session_id: Some(format!("session-{n}")),
        provider_session_path: Some(String::from("/home/sam/.claude/projects/example/session.jsonl")),
        conversation_event_count: 3,
        conversation_bytes: 1_234,
        launch_ended_sha256: None,
        header,
    }
}

/// Returns the n-th launch of which nothing is known that may be unknown.
pub fn bare_launch(n: u32) -> Launch {
    let header = LaunchHeader {
        parent_launch_id: None,
        parent_turn_id: None,
        wave: None,
        project: None,
        task: None,
        flow: None,
        skill: None,
        tags: BTreeMap::new(),
        machine_id: None,
        hostname: None,
        os_user: None,
        provider: Provider::Unknown,
        model: None,
        raw: false,
        control: None,
        ..header(n)
    };
    Launch {
        agent_version: None,
        conversation_path: None,
        provider_events_path: None,
        provider_session_id: None,
        provider_session_path: None,
        header,
        ..launch(n)
    }
}

/// Returns the launch as it is after an end, a minute after its start.
pub fn ended(mut launch: Launch, outcome: Outcome) -> Launch {
    let at = launch.header.started_at + std::time::Duration::from_mins(1);
    launch.state = LaunchState::Ended { at, outcome };
    launch.capture = CaptureState::Complete;
    launch.launch_ended_sha256 = Some(Sha256Hex::of(b"{}"));
    launch
}

/// Returns a turn of the n-th launch as it is while it runs, with every value set that a running turn can have.
pub fn turn(n: u32, ordinal: u32) -> Turn {
    let file = |name: &str| header(n).artifact_dir().join(&format!("turns/{ordinal:04}-{name}.md")).ok();
    Turn {
        id: turn_id(n, ordinal),
        launch_id: launch_id(n),
        ordinal,
        provider_turn_id: Some(format!("provider-turn-{ordinal}")),
        started_at: time(n + ordinal),
        state: TurnState::Running,
        input_op: InputOp::Initial,
        context_coverage: Coverage::Assembled,
        tokenizer: Some(TokenizerName::Cl100kBase),
        system_prompt_path: file("system"),
        task_prompt_path: file("task"),
        system_tokens: Some(10),
        task_tokens: Some(20),
        supplied_context_tokens: Some(30),
        context_gather_ms: 4,
        context_render_ms: 5,
        context_persist_ms: 6,
        first_event_seq: Some(1),
        last_event_seq: Some(2),
        root_output: None,
        basis: Some(Basis { epoch_id: String::from("epoch"), revision: 7 }),
    }
}

/// Returns a turn of the n-th launch of which nothing is known that may be unknown.
pub fn bare_turn(n: u32, ordinal: u32) -> Turn {
    Turn {
        provider_turn_id: None,
        context_coverage: Coverage::Unknown,
        tokenizer: None,
        system_prompt_path: None,
        task_prompt_path: None,
        system_tokens: None,
        task_tokens: None,
        supplied_context_tokens: None,
        first_event_seq: None,
        last_event_seq: None,
        basis: None,
        ..turn(n, ordinal)
    }
}

/// Returns the turn as it is after an end, half a minute after its start.
pub fn ended_turn(mut turn: Turn, status: EndStatus) -> Turn {
    turn.state = TurnState::Ended { at: turn.started_at + std::time::Duration::from_secs(30), status };
    turn.root_output = Some(String::from("Done.\nAll names are indexed."));
    turn
}

/// Returns an asset of ten bytes.
pub fn asset(position: u32) -> Asset {
    let start = u64::from(position) * 10;
    Asset {
        position,
        channel: if position == 0 { Channel::System } else { Channel::Task },
        kind: AssetKind::Document,
        scope: Scope::Repo,
        label: format!("guide {position}"),
        source_path: Some(format!("docs/guide-{position}.md")),
        included_by: String::from("samples"),
        content_sha256: Sha256Hex::of(&position.to_be_bytes()),
        span: ByteSpan::new(start, start + 10).expect("it ends behind its start"),
        isolated_tokens: 3,
        attributed_tokens: 2,
    }
}

/// Returns a decision that included the asset of the same position.
pub fn decision(position: u32) -> Decision {
    Decision {
        position,
        kind: AssetKind::Document,
        scope: Scope::Repo,
        label: format!("guide {position}"),
        source_path: Some(format!("docs/guide-{position}.md")),
        decision: DecisionKind::Included,
        reason: String::from("included by samples"),
        original_bytes: Some(10),
        original_tokens: Some(3),
        asset_position: Some(position),
    }
}

/// Returns a turn with that many assets and as many decisions.
pub fn turn_rows(turn: Turn, contexts: u32) -> TurnRows {
    TurnRows { turn, assets: (0..contexts).map(asset).collect(), decisions: (0..contexts).map(decision).collect() }
}

/// Returns a report of one request, with every value set. Each of its numbers is another one.
pub fn usage_report(key: &str) -> UsageReport {
    UsageReport {
        request_key: Some(format!("request of {key}")),
        model: Some(String::from("claude-opus-4-8")),
        observed_at: Some(time(90)),
        input_tokens: Some(100),
        cache_read_tokens: Some(2_000),
        cache_write_tokens: Some(300),
        cache_write_5m_tokens: Some(200),
        cache_write_1h_tokens: Some(101),
        output_tokens: Some(40),
        reasoning_tokens: Some(8),
        context_tokens: Some(2_400),
        context_window_tokens: Some(200_000),
        reported_cost_usd: Some(NanoUsd::from_nanos(12_345_678)),
        ..UsageReport::new(key, Grain::Request, Quality::Exact)
    }
}

/// Returns a record of one request of a turn of the n-th launch.
pub fn usage_record(n: u32, turn: Option<u32>, key: &str) -> UsageRecord {
    UsageRecord { launch_id: launch_id(n), turn_id: turn.map(|ordinal| turn_id(n, ordinal)), report: usage_report(key) }
}

/// Returns the boundary at which the n-th launch and its first turn are opened: with two assets and two decisions.
pub fn beginning(n: u32) -> BoundaryRows {
    BoundaryRows {
        turns_opened: vec![turn_rows(turn(n, 1), 2)],
        ..BoundaryRows::of_launch(LaunchChange::Opened(launch(n)))
    }
}

/// Returns the boundary at which records of one launch are saved, and nothing else changes in the n-th launch.
pub fn usage_boundary(n: u32, records: impl IntoIterator<Item = UsageRecord>) -> BoundaryRows {
    let by_key = |record: UsageRecord| (record.report.key.clone(), UsageChange::Saved(record));
    BoundaryRows {
        usage: records.into_iter().map(by_key).collect(),
        ..BoundaryRows::of_launch(LaunchChange::Updated(launch(n)))
    }
}

/// Returns all rows of the n-th launch after it completed: two turns, and a usage record of each.
pub fn whole_launch(n: u32) -> LaunchRows {
    let turns =
        [1, 2].map(|ordinal| turn_rows(ended_turn(turn(n, ordinal), EndStatus::Of(Outcome::Completed)), ordinal));
    let record = |ordinal| {
        let record = usage_record(n, Some(ordinal), &format!("msg-{n}-{ordinal}"));
        (record.report.key.clone(), record)
    };
    LaunchRows {
        launch: ended(launch(n), Outcome::Completed),
        turns: Vec::from(turns),
        usage: BTreeMap::from([1, 2].map(record)),
    }
}
