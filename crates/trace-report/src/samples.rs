//! A small launch for the tests of this crate.

use std::{string::ToString, vec, vec::Vec};

use trace_model::{
    context::{Asset, Decision, Sha256Hex},
    id::{LaunchId, ProcessId, RunId, TurnId},
    launch::{CaptureState, Launch, LaunchHeader, LaunchState},
    money::NanoUsd,
    span::ByteSpan,
    timestamp::Timestamp,
    turn::{EndStatus, Outcome, Turn, TurnRow, TurnState, TurnUsage},
    usage::{UsageRecord, UsageReport, UsageRow},
    words::{
        AssetKind, Channel, Coverage, DecisionKind, Grain, InputOp, PartialReason, Provider, Quality, Scope,
        TokenizerName,
    },
};
use uuid::Uuid;

use crate::launch::{LaunchReport, TurnParts};

const LAUNCH: LaunchId = LaunchId::from_uuid(Uuid::from_u128(0xf));

/// Returns a launch of two turns: one assembled and measured, and an abandoned follow-up without usage.
pub(crate) fn two_turns() -> LaunchReport {
    let first = turn(1, Some(TokenizerName::Cl100kBase));
    let second = turn(2, Some(TokenizerName::Cl100kBase));
    let assets = vec![
        asset(0, Channel::System, AssetKind::RepoInstructions, "GUIDE.md", 0..40, 10),
        asset(1, Channel::System, AssetKind::Assembly, "prompt assembly", 40..42, 1),
        asset(2, Channel::System, AssetKind::RepoInstructions, "GUIDE.md", 42..62, 5),
        asset(3, Channel::Task, AssetKind::Goal, "goal", 0..30, 8),
    ];
    let decisions = vec![decision(0, DecisionKind::Included, Some(10)), decision(1, DecisionKind::Excluded, None)];
    let usage = vec![UsageRow {
        record: UsageRecord {
            launch_id: LAUNCH,
            turn_id: Some(first.id),
            report: UsageReport {
                model: Some("claude-opus-4-8".to_string()),
                input_tokens: Some(700),
                output_tokens: Some(50),
                context_tokens: Some(700),
                reported_cost_usd: Some(NanoUsd::from_nanos(18_110_250)),
                ..UsageReport::new("msg_1", Grain::Request, Quality::Exact)
            },
        },
        replay_of: None,
    }];
    let follow_up = vec![asset(0, Channel::Task, AssetKind::UserMessage, "user message", 0..4, 1)];
    let turns = [(first, assets, decisions, usage.clone()), (second, follow_up, Vec::new(), Vec::new())];
    let parts = turns.map(|(turn, assets, decisions, usage)| TurnParts {
        row: TurnRow { turn, usage: TurnUsage::of(&usage) },
        assets,
        decisions,
    });
    LaunchReport::new(launch(), Vec::new(), parts, usage)
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(1_796_059_090_000_000 + seconds * 1_000_000).unwrap()
}

/// Returns a launch that ended, of a session of Claude Code.
pub(crate) fn launch() -> Launch {
    Launch {
        header: LaunchHeader {
            schema_version: 1,
            id: LAUNCH,
            run_id: RunId::from_uuid(Uuid::from_u128(1)),
            process_id: ProcessId::from_uuid(Uuid::from_u128(2)),
            parent_launch_id: None,
            parent_turn_id: None,
            started_at: at(0),
            repo: "/src/parser".to_string(),
            worktree: "/src/parser".to_string(),
            wave: None,
            project: None,
            task: None,
            flow: None,
            skill: None,
            tags: [("team".parse().unwrap(), "core".to_string())].into(),
            machine_id: None,
            hostname: None,
            os_user: None,
            provider: Provider::Claude,
            model: Some("claude-opus-4-8".to_string()),
            surface: "headless".to_string(),
            raw: true,
            control: None,
        },
        state: LaunchState::Ended { at: at(9), outcome: Outcome::Completed },
        capture: CaptureState::Partial { reason: "the disk was full".to_string() },
        agent_version: None,
        conversation_path: Some("r/p/l/conversation.jsonl".parse().unwrap()),
        provider_events_path: Some("r/p/l/raw/stdout".parse().unwrap()),
        provider_session_id: Some("session-1".to_string()),
        provider_session_path: None,
        conversation_event_count: 12,
        conversation_bytes: 3456,
        launch_ended_sha256: None,
    }
}

/// Returns the ended first turn or the abandoned second one.
pub(crate) fn turn(ordinal: u32, tokenizer: Option<TokenizerName>) -> Turn {
    let status = match ordinal {
        1 => EndStatus::Of(Outcome::Completed),
        _ => EndStatus::Partial(PartialReason::Abandoned),
    };
    Turn {
        id: TurnId::from_uuid(Uuid::from_u128(u128::from(ordinal))),
        launch_id: LAUNCH,
        ordinal,
        provider_turn_id: None,
        started_at: at(i64::from(ordinal)),
        state: TurnState::Ended { at: at(i64::from(ordinal) + 4), status },
        input_op: if ordinal == 1 { InputOp::Initial } else { InputOp::Message },
        context_coverage: if ordinal == 1 { Coverage::Assembled } else { Coverage::ProviderTotalOnly },
        tokenizer,
        system_prompt_path: None,
        task_prompt_path: None,
        system_tokens: (ordinal == 1).then_some(16),
        task_tokens: Some(if ordinal == 1 { 8 } else { 1 }),
        supplied_context_tokens: Some(if ordinal == 1 { 24 } else { 1 }),
        context_gather_ms: 0,
        context_render_ms: 0,
        context_persist_ms: 1,
        first_event_seq: Some(0),
        last_event_seq: Some(11),
        root_output: None,
        basis: None,
    }
}

pub(crate) fn asset(
    position: u32,
    channel: Channel,
    kind: AssetKind,
    label: &str,
    bytes: core::ops::Range<u64>,
    tokens: u64,
) -> Asset {
    Asset {
        position,
        channel,
        kind,
        scope: Scope::Task,
        label: label.to_string(),
        source_path: None,
        included_by: "harness".to_string(),
        content_sha256: Sha256Hex::from_digest([0; 32]),
        span: ByteSpan::new(bytes.start, bytes.end).unwrap(),
        isolated_tokens: tokens,
        attributed_tokens: tokens,
    }
}

fn decision(position: u32, decision: DecisionKind, original_tokens: Option<u64>) -> Decision {
    Decision {
        position,
        kind: AssetKind::RepoInstructions,
        scope: Scope::Repo,
        label: "GUIDE.md".to_string(),
        source_path: None,
        decision,
        reason: "because".to_string(),
        original_bytes: None,
        original_tokens,
        asset_position: None,
    }
}
