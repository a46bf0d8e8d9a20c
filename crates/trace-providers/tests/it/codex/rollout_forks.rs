//! Rollouts that begin with a copy of another one.

use std::collections::BTreeSet;

use serde_json::Value;
use trace_model::{totals::Totals, usage::UsageRow};
use trace_providers::{NoteKind, Observation, SessionSeen};

use super::read_rollout;
use crate::support::{fixture, lines, notes, record, usage};

/// Returns the totals of rollouts that a ledger holds together: the first record of a request counts.
fn together(rollouts: &[&str]) -> Option<u64> {
    let mut counted = BTreeSet::new();
    let mut rows: Vec<UsageRow> = Vec::new();
    for rollout in rollouts {
        for mut row in record(&read_rollout(rollout)).usage {
            let launch = row.record.launch_id;
            let request = row.record.report.request_key.clone().unwrap();
            row.replay_of = (!counted.insert(request)).then_some(launch);
            rows.push(row);
        }
    }
    Totals::of(&rows).total_tokens
}

fn text(name: &str) -> String {
    String::from_utf8(fixture(name)).unwrap()
}

#[test]
fn a_fork_and_its_parent_count_the_copied_run_once() {
    let (parent, child) = (text("codex-fork/parent.jsonl"), text("codex-fork/child.jsonl"));
    let expected: Value = serde_json::from_slice(&fixture("codex-fork/expected.json")).unwrap();
    let total = |value: &Value| value["raw_totals"]["total_tokens"].as_u64();
    assert_eq!(together(&[&parent]), total(&expected["parent"]));
    assert_eq!(together(&[&child]), total(&expected["child"]));
    assert_eq!(together(&[&parent, &child]), total(&expected["both"]));
    assert_eq!(together(&[&child, &parent]), total(&expected["both"]));
    let own = expected["both"]["child_own"]["total_tokens"].as_u64().unwrap();
    assert_eq!(together(&[&parent, &child]).unwrap() - together(&[&parent]).unwrap(), own);
    // Its turns have no ids and its times are those of the copying.
    let kinds: Vec<NoteKind> = notes(&read_rollout(child)).into_iter().map(|(_, kind)| kind).collect();
    assert_eq!(kinds, [NoteKind::UnresolvedFork]);
    assert_eq!(notes(&read_rollout(parent)), []);
}

const GRANDPARENT: u16 = 0x1000;
const PARENT: u16 = 0x2000;
const CHILD: u16 = 0x3000;
const SIBLING: u16 = 0x3001;

/// Returns the id of what was made at that time.
fn id(made: u16) -> String {
    format!("01a00000-{made:04x}-7000-8000-000000000000")
}

fn meta(thread: u16, parent: Option<u16>) -> String {
    let parent = parent.map_or(String::new(), |parent| format!(r#","forked_from_id":"{}""#, id(parent)));
    format!(
        r#"{{"timestamp":"2026-03-01T10:00:00Z","type":"session_meta","payload":{{"id":"{}"{parent}}}}}"#,
        id(thread)
    )
}

fn turn(made: u16) -> String {
    format!(
        r#"{{"timestamp":"2026-03-01T10:00:00Z","type":"event_msg","payload":{{"type":"task_started","turn_id":"{}"}}}}"#,
        id(made)
    )
}

fn total(output: u64) -> String {
    let usage = format!(r#"{{"input_tokens":{},"cached_input_tokens":0,"output_tokens":{output}}}"#, output * 10);
    format!(
        r#"{{"timestamp":"2026-03-01T10:00:00Z","type":"event_msg","payload":{{"type":"token_count","info":{{"total_token_usage":{usage}}}}}}}"#
    )
}

fn rollout(metas: &[(u16, Option<u16>)], turns: &[(u16, u64)]) -> String {
    let metas = metas.iter().map(|(thread, parent)| meta(*thread, *parent));
    let all: Vec<String> = metas.chain(turns.iter().flat_map(|(made, output)| [turn(*made), total(*output)])).collect();
    lines(&all.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Whose requests those of a rollout are.
fn owners(rollout: &str) -> Vec<String> {
    let observations = read_rollout(rollout);
    usage(&observations)
        .iter()
        .map(|report| report.request_key.as_deref().unwrap().split(':').nth(1).unwrap().to_owned())
        .collect()
}

#[test]
fn each_turn_of_a_chain_of_forks_is_that_of_the_thread_that_it_began_in() {
    let chain = [(CHILD, Some(PARENT)), (PARENT, Some(GRANDPARENT)), (GRANDPARENT, None)];
    let turns = [(GRANDPARENT + 1, 1), (PARENT + 1, 2), (CHILD + 1, 3)];
    let child = rollout(&chain, &turns);
    assert_eq!(owners(&child), [GRANDPARENT, PARENT, CHILD].map(id));
    assert_eq!(notes(&read_rollout(&child)), []);
    let parent = rollout(&chain[1..], &[turns[0], turns[1], (PARENT + 9, 4)]);
    let grandparent = rollout(&chain[2..], &[turns[0], (GRANDPARENT + 9, 7)]);
    // Each spends one, two or three; the parent and the grandparent went on after they were forked.
    let all = [grandparent.as_str(), &parent, &child];
    assert_eq!(together(&all), Some(11 * (7 + 1 + 2 + 1)));
    assert_eq!(together(&[&child]), Some(11 * 3));
}

#[test]
fn forks_that_did_the_same_are_not_taken_for_copies() {
    let fork = |thread: u16| rollout(&[(thread, Some(PARENT)), (PARENT, None)], &[(PARENT + 1, 5), (thread + 2, 6)]);
    let parent = rollout(&[(PARENT, None)], &[(PARENT + 1, 5)]);
    assert_eq!(together(&[&parent, &fork(CHILD), &fork(SIBLING)]), Some(11 * (5 + 1 + 1)));
    // Without the parent's file, one of them stands for it.
    assert_eq!(together(&[&fork(CHILD), &fork(SIBLING)]), Some(11 * (5 + 1 + 1)));
}

#[test]
fn a_fork_that_did_nothing_adds_nothing() {
    let parent = rollout(&[(PARENT, None)], &[(PARENT + 1, 5)]);
    let child = rollout(&[(CHILD, Some(PARENT)), (PARENT, None)], &[(PARENT + 1, 5)]);
    assert_eq!(together(&[&parent, &child]), Some(55));
}

#[test]
fn a_copy_of_an_ancestor_that_is_not_named_is_noted() {
    let child = rollout(&[(CHILD, Some(PARENT))], &[(GRANDPARENT + 1, 1), (PARENT + 1, 2), (CHILD + 1, 3)]);
    assert_eq!(owners(&child), [PARENT, PARENT, CHILD].map(id));
    let kinds: Vec<NoteKind> = notes(&read_rollout(&child)).into_iter().map(|(_, kind)| kind).collect();
    assert_eq!(kinds, [NoteKind::UnresolvedFork]);
}

#[test]
fn a_session_is_that_of_the_first_line_and_knows_who_started_it() {
    let parents = |fields: &str| {
        let line = format!(
            r#"{{"timestamp":"2026-03-01T10:00:00Z","type":"session_meta","payload":{{"id":"c","cwd":"/r"{fields}}}}}"#
        );
        let other = line.replace(r#""id":"c""#, r#""id":"p""#);
        let sessions: Vec<(String, Option<String>)> = read_rollout(lines(&[&line, &other]))
            .into_iter()
            .filter_map(|seen| match seen {
                Observation::Session(SessionSeen { id, parent, .. }) => Some((id, parent)),
                _ => None,
            })
            .collect();
        assert_eq!((sessions.len(), sessions[0].0.as_str()), (1, "c"), "{fields}");
        sessions[0].1.clone()
    };
    let spawned = r#","source":{"subagent":{"thread_spawn":{"parent_thread_id":"p","depth":1}}}"#;
    for (fields, parent) in [
        ("", None),
        (r#","source":"cli","forked_from_id":null"#, None),
        (r#","forked_from_id":"f""#, Some("f")),
        (r#","parent_thread_id":"p""#, Some("p")),
        (r#","parent_thread_id":"p","forked_from_id":"f""#, Some("p")),
        (spawned, Some("p")),
        (r#","source":{"subagent":"review"}"#, None),
    ] {
        assert_eq!(parents(fields).as_deref(), parent, "{fields}");
    }
}
