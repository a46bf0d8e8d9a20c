//! Transcripts of real clients, and small ones that trip up readers, with the right totals.

use serde_json::Value;
use trace_model::{
    turn::Outcome,
    usage::{Agent, UsageReport},
    words::Quality,
};
use trace_providers::{
    AgentSeen, Detail,
    NoteKind::{self, BadLine, IncompleteTail, SyntheticReply, UnknownType},
    Observation, SourceFormat,
};

use super::observe;
use crate::support::{charged, classes, fixture, notes, prompts, read, record, render, usage};

/// The files of a session: the main one, and those of its subagents.
const SESSIONS: &[(&str, &[&str])] = &[
    ("claude-hello", &["transcript"]),
    ("claude-rounds", &["transcript"]),
    ("claude-fail", &["transcript"]),
    ("claude-partial", &["transcript"]),
    ("claude-subagent", &["transcript", "agent-af99eb439b6d285ee"]),
    ("claude-repeated-blocks", &["transcript"]),
    ("claude-subagent-files", &["transcript", "agent-ab12cd3"]),
    ("claude-broken-lines", &["transcript"]),
    ("claude-synthetic-replies", &["transcript"]),
    ("claude-inline-sidechain", &["transcript"]),
    ("claude-two-session-ids", &["transcript"]),
    ("claude-subagent-dir", &["transcript", "agent-a21e2f5"]),
];

fn files(session: &str) -> Vec<Vec<u8>> {
    let (_, files) = SESSIONS.iter().find(|(name, _)| *name == session).unwrap();
    files.iter().map(|file| fixture(&format!("{session}/{file}.jsonl"))).collect()
}

fn observe_file(file: &[u8]) -> Vec<Observation> {
    read(SourceFormat::ClaudeTranscript, Detail::Everything, file)
}

/// Reads all files of a session, one after the other.
fn observe_session(session: &str) -> Vec<Observation> {
    files(session).iter().flat_map(|file| observe_file(file)).collect()
}

fn json(name: &str) -> Value {
    serde_json::from_slice(&fixture(name)).unwrap()
}

fn agents(observations: &[Observation]) -> Vec<&AgentSeen> {
    observations
        .iter()
        .filter_map(|seen| match seen {
            Observation::Agent(agent) => Some(agent),
            _ => None,
        })
        .collect()
}

fn sub(id: &str) -> Agent {
    Agent::Sub(String::from(id))
}

#[test]
fn every_session_adds_up_to_what_is_true() {
    for (session, _) in SESSIONS {
        let recorded = record(&observe_session(session));
        let totals = recorded.totals();
        let is_recording = session.matches('-').count() == 1;
        let (expected, requests) = if is_recording {
            let truth = json(&format!("{session}/truth.json"));
            (charged(&truth["all"]), truth["all"]["model_requests"].as_u64())
        } else {
            let expected = json(&format!("{session}/expected.json"));
            (charged(&expected["usage"]), expected["model_requests"].as_u64())
        };
        let found = classes(&totals).map(|class| class.unwrap_or(0));
        assert_eq!(found, expected.map(Option::unwrap), "{session}");
        assert_eq!(totals.requests.unwrap_or(0), requests.unwrap(), "{session}");
    }
}

#[test]
fn what_the_main_agent_and_a_subagent_spent_is_told_apart() {
    for session in ["claude-subagent-files", "claude-inline-sidechain", "claude-subagent-dir"] {
        let expected = json(&format!("{session}/expected.json"));
        let observations = observe_session(session);
        let of_main: Vec<_> = observations
            .into_iter()
            .filter(|seen| matches!(seen, Observation::Usage(report) if report.agent.is_main()))
            .collect();
        assert_eq!(classes(&record(&of_main).totals()), charged(&expected["usage_main_only"]), "{session}");
    }
}

#[test]
fn a_reply_is_exact_if_a_line_of_it_was_written_when_it_was_whole() {
    for (session, expected) in [
        ("claude-hello", Quality::Exact),
        ("claude-rounds", Quality::Exact),
        ("claude-subagent", Quality::Exact),
        ("claude-repeated-blocks", Quality::Exact),
        ("claude-subagent-dir", Quality::LowerBound),
        ("claude-two-session-ids", Quality::LowerBound),
    ] {
        assert_eq!(record(&observe_session(session)).totals().quality, expected, "{session}");
    }
    let reports = observe_session("claude-inline-sidechain");
    let whole = record(&reports).usage.iter().filter(|row| row.record.report.quality == Quality::Exact).count();
    assert_eq!(whole, 5, "the version wrote a stop reason on few lines");
}

#[test]
fn a_transcript_and_the_stream_of_the_same_run_say_the_same() {
    for scenario in ["hello", "rounds", "fail", "partial", "subagent"] {
        let session = format!("claude-{scenario}");
        let stream = observe(fixture(&format!("{session}/stream.jsonl")));
        let transcript = observe_session(&session);
        let (of_stream, of_transcript) = (record(&stream), record(&transcript));
        assert_eq!(of_stream.outcomes, of_transcript.outcomes, "{session}");
        assert_eq!(of_stream.output(0), of_transcript.output(0), "{session}");
        // The transcript was read after the stream was recorded: what it knows better goes out of the remainders.
        let usages = |seen: &&Observation| matches!(seen, Observation::Usage(_));
        let both: Vec<_> = stream.iter().chain(transcript.iter().filter(usages)).cloned().collect();
        let truth = charged(&json(&format!("{session}/truth.json"))["all"]);
        assert_eq!(classes(&record(&both).totals()), truth, "{session}");
        let keys = |observations: &[Observation]| {
            let requests = usage(observations).into_iter().map(|report| report.key.clone());
            requests.filter(|key| !key.starts_with("remainder:")).collect::<std::collections::BTreeSet<_>>()
        };
        assert!(keys(&stream).is_subset(&keys(&transcript)), "{session}");
    }
}

#[test]
fn cache_writes_are_told_by_how_long_they_are_kept() {
    let observations = observe_session("claude-inline-sidechain");
    let written: Vec<_> = usage(&observations).iter().map(|report| report.cache_write_5m_tokens).collect();
    assert_eq!(written.iter().flatten().max(), Some(&18764));
    assert!(usage(&observations).iter().all(|report| report.cache_write_1h_tokens == Some(0)));
    let first: &UsageReport = usage(&observations)[0];
    assert_eq!((first.context_tokens, first.input_tokens), (Some(18768), Some(4)));
}

#[test]
fn a_subagent_is_tied_to_the_call_that_started_it() {
    for (session, agent, call, kind) in [
        ("claude-subagent", "af99eb439b6d285ee", "toolu_1", Some("general-purpose")),
        ("claude-subagent-files", "ab12cd3", "toolu_T", Some("Explore")),
        ("claude-subagent-dir", "a21e2f5", "toolu_01KA6NusiEvFaq72v4Rgv3T3", Some("Bash")),
    ] {
        let [main, of_subagent] = &files(session)[..] else { panic!("{session} has two files") };
        let (main, of_subagent) = (observe_file(main), observe_file(of_subagent));
        let [seen] = agents(&main)[..] else { panic!("{session}: {:?}", agents(&main)) };
        assert_eq!((&seen.agent, &seen.parent), (&sub(agent), &Agent::Main), "{session}");
        assert_eq!((seen.tool_call.as_deref(), seen.kind.as_deref()), (Some(call), kind), "{session}");
        // Its own file tells the prompt and the time.
        let seen = agents(&of_subagent)[0];
        assert!(seen.agent == sub(agent) && seen.prompt.is_some() && seen.at.is_some(), "{session}: {seen:?}");
        assert!(usage(&of_subagent).iter().all(|report| report.agent == sub(agent)), "{session}");
        assert_eq!(prompts(&of_subagent), Vec::<Option<&str>>::new(), "{session}: its prompt is no person's");
    }
}

#[test]
fn a_subagent_inside_of_the_main_file_is_known_by_its_prompt() {
    let observations = observe_session("claude-inline-sidechain");
    let seen = agents(&observations);
    let ids: Vec<_> = seen.iter().map(|seen| seen.agent.as_str()).collect();
    assert_eq!(ids.len(), 2, "{seen:#?}");
    let [first, second] = seen[..] else { unreachable!() };
    assert_eq!(first.tool_call.as_deref(), Some("toolu_014YF9TXhDRR7BnpasNJ7gjC"));
    assert_eq!(
        (first.kind.as_deref(), first.agent.as_str()),
        (Some("general-purpose"), "toolu_014YF9TXhDRR7BnpasNJ7gjC")
    );
    assert!(first.prompt.as_deref().unwrap().starts_with("Fobivif the package.json"));
    assert!(second.tool_call.is_some() && second.agent != first.agent);
    let spenders: std::collections::BTreeSet<_> =
        usage(&observations).iter().map(|report| report.agent.as_str()).collect();
    assert_eq!(
        spenders.into_iter().collect::<Vec<_>>(),
        [vec!["main"], {
            let mut ids = ids;
            ids.sort_unstable();
            ids
        }]
        .concat()
    );
}

#[test]
fn replies_that_the_client_made_up_are_no_requests_and_fail_their_turns() {
    let observations = observe_session("claude-synthetic-replies");
    let recorded = record(&observations);
    assert_eq!(recorded.outcomes, [Outcome::Completed, Outcome::Failed, Outcome::Failed]);
    let errors = observations.iter().filter_map(|seen| match seen {
        Observation::Event(observed) => match &observed.event {
            trace_model::event::ConversationEvent::Error { code, .. } => Some(code.clone()),
            _ => None,
        },
        _ => None,
    });
    let expected = json("claude-synthetic-replies/expected.json");
    assert_eq!(Value::from(errors.collect::<Vec<_>>()), expected["turn_errors"]);
    assert_eq!(notes(&observations).into_iter().map(|(_, kind)| kind).collect::<Vec<_>>(), [SyntheticReply; 2]);
}

#[test]
fn broken_lines_are_noted_with_their_places_and_read_past() {
    let file = fixture("claude-broken-lines/transcript.jsonl");
    let line_of = |offset: u64| file[..usize::try_from(offset).unwrap()].split(|byte| *byte == b'\n').count();
    let observations = observe_session("claude-broken-lines");
    let found: Vec<(usize, NoteKind)> =
        notes(&observations).into_iter().map(|(at, kind)| (line_of(at), kind)).collect();
    assert_eq!(found, [(3, UnknownType), (4, BadLine), (8, BadLine), (9, IncompleteTail)]);
    assert_eq!(prompts(&observations)[0], Some("hello\u{2028}there"));
}

#[test]
fn sessions_in_one_file_follow_each_other() {
    let observations = observe_session("claude-two-session-ids");
    let ids: std::collections::BTreeSet<_> = observations
        .iter()
        .filter_map(|seen| if let Observation::Session(session) = seen { Some(session.id.as_str()) } else { None })
        .collect();
    assert_eq!(ids.len(), 2);
    let last_of_first = observations
        .iter()
        .rposition(|seen| matches!(seen, Observation::Session(session) if session.id.starts_with("b162")));
    let interrupted =
        observations.iter().filter(|seen| matches!(seen, Observation::Result { status: Outcome::Interrupted, .. }));
    assert_eq!((interrupted.count(), last_of_first.is_some()), (2, true));
    assert_eq!(prompts(&observations).len(), 4);
}

#[test]
fn what_is_observed_of_each_session_stays_as_it_was_reviewed() {
    for session in [
        "claude-hello",
        "claude-fail",
        "claude-subagent",
        "claude-subagent-files",
        "claude-synthetic-replies",
        "claude-broken-lines",
    ] {
        insta::assert_snapshot!(format!("transcript-{session}"), render(&observe_session(session)));
    }
    let usage = read(SourceFormat::ClaudeTranscript, Detail::Usage, &files("claude-inline-sidechain")[0]);
    insta::assert_snapshot!("transcript-claude-inline-sidechain", render(&usage));
    let usage = read(SourceFormat::ClaudeTranscript, Detail::Usage, &files("claude-two-session-ids")[0]);
    insta::assert_snapshot!("transcript-claude-two-session-ids", render(&usage));
}
