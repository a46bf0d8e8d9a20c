//! Arbitrary rows: every value that a type allows, with those more often that stores get wrong.
//!
//! Rows of one strategy agree with themselves only. Which launch or turn they belong to is for the test to set.
//!
//! The strategies of rows are boxed: unboxed, the many of their fields make frames that the stack of a test has no room
//! for.

use std::{collections::BTreeMap, fmt::Debug};

use proptest::{collection::btree_map, option, prelude::*, sample::select};
use trace_model::{
    context::{Asset, Decision, Sha256Hex},
    control::{Containment, Control, Reservation},
    event::SCHEMA_VERSION,
    id::{LaunchId, ProcessId, RunId, TurnId},
    launch::{CaptureState, Launch, LaunchHeader, LaunchState},
    money::NanoUsd,
    path::ArtifactPath,
    rows::TurnRows,
    span::ByteSpan,
    timestamp::Timestamp,
    turn::{Basis, EndStatus, Outcome, Turn, TurnState},
    usage::{Agent, UsageReport},
    words::{
        AssetKind, CaptureStatus, Channel, Coverage, DecisionKind, Grain, InputOp, PartialReason, Provider, Quality,
        ReservationState, Scope, TagKey, TokenizerName,
    },
};
use uuid::Uuid;

/// A word of a closed list.
pub fn word<T: Copy + Debug + 'static>(all: &'static [T]) -> impl Strategy<Value = T> {
    select(all)
}

/// A short text of any characters, NUL and quotes among them.
pub fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-zA-Z0-9 /._-]{0,12}",
        2 => any::<String>().prop_map(|text| text.chars().take(20).collect()),
        1 => select(vec!["", "it's \"quoted\"", "a\0b", "é", "e\u{301}", "\u{10ffff}", "%_\\"]).prop_map(String::from),
    ]
}

/// A number of 64 bits, small ones and the ends of the range more often.
pub fn number() -> impl Strategy<Value = u64> {
    prop_oneof![6 => 0_u64..100_000, 1 => any::<u64>(), 1 => select(vec![0, (1 << 63) - 1, 1 << 63, u64::MAX])]
}

/// A time between the years 1 and 9999, those of our days more often.
pub fn timestamp() -> impl Strategy<Value = Timestamp> {
    let from_micros = |micros| Timestamp::from_micros(micros).expect("the range holds times only");
    prop_oneof![
        6 => 1_790_000_000_000_000_i64..1_790_000_100_000_000,
        1 => -62_135_596_800_000_000_i64..=253_402_300_799_999_999,
    ]
    .prop_map(from_micros)
}

/// The id of a launch.
pub fn launch_id() -> impl Strategy<Value = LaunchId> {
    any::<u128>().prop_map(|bits| LaunchId::from_uuid(Uuid::from_u128(bits)))
}

/// The id of a turn.
pub fn turn_id() -> impl Strategy<Value = TurnId> {
    any::<u128>().prop_map(|bits| TurnId::from_uuid(Uuid::from_u128(bits)))
}

/// A provider, known or not.
pub fn provider() -> impl Strategy<Value = Provider> {
    prop_oneof!["claude", "codex", "gemini", "opencode", "unknown", "[a-z0-9_.-]{1,64}"]
        .prop_map(|name: String| name.parse().expect("the pattern allows names only"))
}

/// A path below `traces`.
pub fn artifact_path() -> impl Strategy<Value = ArtifactPath> {
    "[a-zé_-][a-z.]{0,6}(/[a-zé_-][a-z.]{0,6}){0,3}".prop_map(|path| path.parse().expect("no part is '.' or '..'"))
}

/// A hash.
pub fn sha256() -> impl Strategy<Value = Sha256Hex> {
    any::<[u8; 32]>().prop_map(Sha256Hex::from_digest)
}

/// How something came to an end of its own.
pub fn outcome() -> impl Strategy<Value = Outcome> {
    word(&[Outcome::Completed, Outcome::Failed, Outcome::Interrupted])
}

/// The header of a launch.
pub fn header() -> BoxedStrategy<LaunchHeader> {
    let maybe = || option::of(text());
    let outside = "[0-9A-Za-z_-][0-9A-Za-z._-]{0,20}";
    let tags = btree_map("[a-z0-9_.-]{1,8}".prop_map(|key| key.parse::<TagKey>().expect("it is a key")), text(), 0..3);
    let names = (launch_id(), outside, outside, option::of(launch_id()), option::of(turn_id()), timestamp());
    let labels = (text(), text(), maybe(), maybe(), maybe(), maybe(), maybe(), tags);
    let circumstances =
        (maybe(), maybe(), maybe(), provider(), maybe(), text(), any::<bool>(), option::weighted(0.3, control()));
    (names, labels, circumstances)
        .prop_map(
            |(
                (id, run_id, process_id, parent_launch_id, parent_turn_id, started_at),
                (repo, worktree, wave, project, task, flow, skill, tags),
                (machine_id, hostname, os_user, provider, model, surface, raw, control),
            )| LaunchHeader {
                schema_version: SCHEMA_VERSION,
                id,
                run_id: run_id.parse::<RunId>().expect("the pattern allows ids only"),
                process_id: process_id.parse::<ProcessId>().expect("the pattern allows ids only"),
                parent_launch_id,
                parent_turn_id,
                started_at,
                repo,
                worktree,
                wave,
                project,
                task,
                flow,
                skill,
                tags,
                machine_id,
                hostname,
                os_user,
                provider,
                model,
                surface,
                raw,
                control,
            },
        )
        .boxed()
}

/// What an orchestrator says of a launch.
pub fn control() -> impl Strategy<Value = Control> {
    let maybe = || option::of(text());
    ("[0-9A-Za-z_-][0-9A-Za-z._-]{0,20}", text(), maybe(), text(), text(), maybe(), maybe()).prop_map(
        |(run_id, home_id, account_id, kind, id, resume_token, opaque_basis)| Control {
            run_id: run_id.parse().expect("the pattern allows ids only"),
            home_id,
            account_id,
            containment: Containment { kind, id },
            resume_token,
            opaque_basis,
        },
    )
}

/// A reservation, waiting seven times of ten.
pub fn reservation() -> BoxedStrategy<Reservation> {
    let state = prop_oneof![
        7 => Just(ReservationState::Waiting),
        3 => word(&[ReservationState::Taken, ReservationState::Released]),
    ];
    (control(), launch_id(), provider(), option::of(text()), text(), timestamp(), state)
        .prop_map(|(control, launch_id, provider, model, surface, reserved_at, state)| Reservation {
            control,
            launch_id,
            provider,
            model,
            surface,
            reserved_at,
            state,
        })
        .boxed()
}

/// A launch, running three times of four.
pub fn launch() -> BoxedStrategy<Launch> {
    let state = prop_oneof![
        3 => Just(LaunchState::Running),
        1 => (timestamp(), outcome()).prop_map(|(at, outcome)| LaunchState::Ended { at, outcome }),
    ];
    let capture = (word(CaptureStatus::ALL), text()).prop_map(|(status, reason)| {
        CaptureState::from_columns(status, None)
            .or_else(|_| CaptureState::from_columns(status, Some(reason)))
            .expect("a status goes with a reason or without")
    });
    let maybe = || option::of(text());
    let paths = (option::of(artifact_path()), artifact_path());
    let rest = (maybe(), maybe(), maybe(), number(), number(), option::of(sha256()));
    (header(), state, capture, paths, rest)
        .prop_map(
            |(
                header,
                state,
                capture,
                (conversation_path, events_path),
                (agent_version, session_id, session_path, event_count, bytes, ended_sha256),
            )| Launch {
                provider_events_path: header.raw.then_some(events_path),
                header,
                state,
                capture,
                agent_version,
                conversation_path,
                provider_session_id: session_id,
                provider_session_path: session_path,
                conversation_event_count: event_count,
                conversation_bytes: bytes,
                launch_ended_sha256: ended_sha256,
            },
        )
        .boxed()
}

/// A turn, running every other time.
pub fn turn() -> BoxedStrategy<Turn> {
    let status = prop_oneof![outcome().prop_map(EndStatus::Of), word(PartialReason::ALL).prop_map(EndStatus::Partial)];
    let state = prop_oneof![
        Just(TurnState::Running),
        (timestamp(), status).prop_map(|(at, status)| TurnState::Ended { at, status }),
    ];
    let basis = option::of((text(), number()).prop_map(|(epoch_id, revision)| Basis { epoch_id, revision }));
    let maybe = || option::of(number());
    let place = (turn_id(), launch_id(), 1_u32.., option::of(text()), timestamp(), state);
    let context = (
        word(InputOp::ALL),
        word(Coverage::ALL),
        option::of(word(TokenizerName::ALL)),
        option::of(artifact_path()),
        option::of(artifact_path()),
    );
    let numbers = (maybe(), maybe(), maybe(), number(), number(), number(), maybe(), maybe());
    (place, context, numbers, option::of(text()), basis)
        .prop_map(
            |(
                (id, launch_id, ordinal, provider_turn_id, started_at, state),
                (input_op, context_coverage, tokenizer, system_prompt_path, task_prompt_path),
                (system_tokens, task_tokens, supplied, gather_ms, render_ms, persist_ms, first_seq, last_seq),
                root_output,
                basis,
            )| Turn {
                id,
                launch_id,
                ordinal,
                provider_turn_id,
                started_at,
                state,
                input_op,
                context_coverage,
                tokenizer,
                system_prompt_path,
                task_prompt_path,
                system_tokens,
                task_tokens,
                supplied_context_tokens: supplied,
                context_gather_ms: gather_ms,
                context_render_ms: render_ms,
                context_persist_ms: persist_ms,
                first_event_seq: first_seq,
                last_event_seq: last_seq,
                root_output,
                basis,
            },
        )
        .boxed()
}

/// A turn with up to three assets and as many decisions, at positions of their own.
pub fn turn_rows() -> BoxedStrategy<TurnRows> {
    let assets = btree_map(0_u32..8, asset(), 0..4);
    let decisions = btree_map(0_u32..8, decision(), 0..4);
    (turn(), assets, decisions)
        .prop_map(|(turn, assets, decisions)| TurnRows {
            turn,
            assets: by_position(assets, |asset, position| asset.position = position),
            decisions: by_position(decisions, |decision, position| decision.position = position),
        })
        .boxed()
}

fn by_position<T>(rows: BTreeMap<u32, T>, set: impl Fn(&mut T, u32)) -> Vec<T> {
    let placed = |(position, mut row)| {
        set(&mut row, position);
        row
    };
    rows.into_iter().map(placed).collect()
}

/// An asset.
pub fn asset() -> BoxedStrategy<Asset> {
    let words = (word(Channel::ALL), word(AssetKind::ALL), word(Scope::ALL));
    let texts = (text(), option::of(text()), text(), sha256());
    let span = (number(), number())
        .prop_map(|(a, b)| ByteSpan::new(a.min(b), a.max(b)).expect("the smaller number is the start"));
    (any::<u32>(), words, texts, span, number(), number())
        .prop_map(
            |(
                position,
                (channel, kind, scope),
                (label, source_path, included_by, content_sha256),
                span,
                isolated_tokens,
                attributed_tokens,
            )| Asset {
                position,
                channel,
                kind,
                scope,
                label,
                source_path,
                included_by,
                content_sha256,
                span,
                isolated_tokens,
                attributed_tokens,
            },
        )
        .boxed()
}

/// A decision.
pub fn decision() -> BoxedStrategy<Decision> {
    let words = (word(AssetKind::ALL), word(Scope::ALL), word(DecisionKind::ALL));
    let texts = (text(), option::of(text()), text());
    let numbers = (option::of(number()), option::of(number()), option::of(any::<u32>()));
    (any::<u32>(), words, texts, numbers)
        .prop_map(
            |(
                position,
                (kind, scope, decision),
                (label, source_path, reason),
                (original_bytes, original_tokens, asset_position),
            )| Decision {
                position,
                kind,
                scope,
                label,
                source_path,
                decision,
                reason,
                original_bytes,
                original_tokens,
                asset_position,
            },
        )
        .boxed()
}

/// A usage report whose keys are any texts.
pub fn usage_report() -> BoxedStrategy<UsageReport> {
    let agent = text().prop_map(|text| text.parse().unwrap_or(Agent::Main));
    let maybe = || option::of(number());
    let names = (text(), option::of(text()), agent, option::of(text()), option::of(timestamp()));
    let classes = (maybe(), maybe(), maybe(), maybe(), maybe(), maybe(), maybe(), maybe(), maybe());
    (names, classes, maybe(), word(Grain::ALL), word(Quality::ALL))
        .prop_map(
            |(
                (key, request_key, agent, model, observed_at),
                (input, cache_read, cache_write, write_5m, write_1h, output, reasoning, context, context_window),
                cost,
                grain,
                quality,
            )| UsageReport {
                key,
                request_key,
                agent,
                model,
                observed_at,
                input_tokens: input,
                cache_read_tokens: cache_read,
                cache_write_tokens: cache_write,
                cache_write_5m_tokens: write_5m,
                cache_write_1h_tokens: write_1h,
                output_tokens: output,
                reasoning_tokens: reasoning,
                context_tokens: context,
                context_window_tokens: context_window,
                reported_cost_usd: cost.map(NanoUsd::from_nanos),
                grain,
                quality,
            },
        )
        .boxed()
}
