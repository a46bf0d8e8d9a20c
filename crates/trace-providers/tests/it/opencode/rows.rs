//! Rows of the store that trip up readers.

use trace_model::{
    money::NanoUsd,
    turn::Outcome,
    usage::{Agent, UsageReport},
    words::Quality,
};
use trace_providers::{AgentSeen, NoteKind, Observation};

use super::read_store;
use crate::support::{classes, events, lines, notes, prompts, record, usage};

fn session(id: &str, parent: &str) -> String {
    format!(
        r#"{{"table":"session","row":{{"id":"{id}","parent_id":{parent},"title":"t","directory":"/work","version":"1.2.3","time_created":1700000000000,"time_updated":1700000000001}}}}"#
    )
}

fn message(id: &str, session: &str, data: &str) -> String {
    format!(
        r#"{{"table":"message","row":{{"id":"{id}","session_id":"{session}","time_created":1700000000000,"data":{data}}}}}"#
    )
}

fn part(message: &str, session: &str, id: &str, data: &str) -> String {
    format!(
        r#"{{"table":"part","row":{{"id":"{id}","message_id":"{message}","session_id":"{session}","data":{data}}}}}"#
    )
}

fn user(id: &str, session: &str) -> String {
    message(id, session, r#"{"role":"user","time":{"created":1700000000000}}"#)
}

fn assistant(id: &str, session: &str, more: &str) -> String {
    let data = format!(
        r#"{{"role":"assistant","modelID":"m","providerID":"p","time":{{"created":1700000000500,"completed":1700000000900}}{more}}}"#
    );
    message(id, session, &data)
}

const STEP: &str = r#"{"type":"step-finish","reason":"tool-calls","cost":0.001,"tokens":{"input":10,"output":5,"reasoning":2,"cache":{"read":100,"write":20}}}"#;

const ONE: [Option<u64>; 4] = [Some(10), Some(100), Some(20), Some(7)];
const TWO: [Option<u64>; 4] = [Some(20), Some(200), Some(40), Some(14)];

fn agents(observations: &[Observation]) -> Vec<&AgentSeen> {
    observations
        .iter()
        .filter_map(|seen| match seen {
            Observation::Agent(seen) => Some(seen),
            _ => None,
        })
        .collect()
}

#[test]
fn the_steps_of_a_message_count_and_not_what_it_says_of_itself() {
    let own = r#","finish":"stop","cost":0.002,"tokens":{"input":10,"output":5,"reasoning":2,"cache":{"read":100,"write":20}}"#;
    let rows = [session("r", "null"), assistant("a", "r", own), part("a", "r", "p1", STEP), part("a", "r", "p2", STEP)];
    let observations = read_store(lines(&rows.each_ref().map(String::as_str)));
    let totals = record(&observations).totals();
    assert_eq!((classes(&totals), totals.quality), (TWO, Quality::Exact));
    assert_eq!((totals.cost_usd, totals.requests), (Some(NanoUsd::from_nanos(2_000_000)), Some(2)));
    // Without steps it is all that is known, and may be the last step alone.
    let observations = read_store(lines(&[&rows[0], &rows[1]]));
    let totals = record(&observations).totals();
    assert_eq!((classes(&totals), totals.quality), (ONE, Quality::LowerBound));
    assert_eq!(usage(&observations)[0].key, "a");
}

fn requests(session_id: &str, number: u8) -> Vec<UsageReport> {
    let (message, parts) = (format!("msg_{number}"), [format!("prt_{number}1"), format!("prt_{number}2")]);
    let rows = [
        session(session_id, "null"),
        assistant(&message, session_id, ""),
        part(&message, session_id, &parts[0], STEP),
        part(&message, session_id, &parts[1], STEP),
    ];
    usage(&read_store(lines(&rows.each_ref().map(String::as_str)))).into_iter().cloned().collect()
}

#[test]
fn a_fork_s_copies_have_other_keys_and_the_same_request_keys() {
    let (original, copy) = (requests("ses_a", 1), requests("ses_b", 2));
    for (original, copy) in original.iter().zip(&copy) {
        assert_ne!(original.key, copy.key);
        assert_eq!(original.request_key, copy.request_key);
        assert_eq!(original.observed_at, copy.observed_at);
    }
    assert_ne!(original[0].request_key, original[1].request_key, "two equal steps of a message are two requests");
}

#[test]
fn a_child_session_is_an_agent_of_the_root_and_its_child_one_of_its_own() {
    let task = r#"{"type":"tool","tool":"task","callID":"c1","state":{"status":"completed","input":{"prompt":"look","subagent_type":"general"},"output":"ok","metadata":{"sessionId":"child"}}}"#;
    let rows = [
        session("root", "null"),
        session("child", "\"root\""),
        session("grandchild", "\"child\""),
        user("u", "root"),
        part("u", "root", "p0", r#"{"type":"text","text":"go"}"#),
        assistant("a", "root", ""),
        part("a", "root", "p1", task),
        part("a", "root", "p2", STEP),
        user("cu", "child"),
        part("cu", "child", "p3", r#"{"type":"text","text":"look"}"#),
        assistant("ca", "child", r#","finish":"stop""#),
        part("ca", "child", "p4", STEP),
    ];
    let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
    let observations = read_store(lines(&rows));
    let child = Agent::Sub(String::from("child"));
    assert_eq!(prompts(&observations), [Some("go")], "a subagent's prompt is no turn");
    let seen = agents(&observations);
    assert_eq!((&seen[0].agent, &seen[0].parent), (&child, &Agent::Main));
    assert_eq!(seen[1].parent, child);
    let called = seen.iter().find(|seen| seen.tool_call.is_some()).unwrap();
    assert_eq!(
        (&called.agent, called.tool_call.as_deref(), called.kind.as_deref()),
        (&child, Some("c1"), Some("general"))
    );
    assert!(seen.iter().any(|seen| seen.agent == child && seen.prompt.as_deref() == Some("look")));
    let by_child: Vec<_> = usage(&observations).into_iter().filter(|report| report.agent == child).collect();
    assert_eq!(by_child.len(), 1);
    let totals = record(&observations).totals();
    assert_eq!((classes(&totals), totals.quality), (TWO, Quality::Exact));
    assert_eq!(record(&observations).outcomes, [], "the child's last message ends no turn of the root");
}

#[test]
fn a_turn_ends_as_its_last_message_says() {
    for (more, expected) in [
        (r#","finish":"stop""#, Some(Outcome::Completed)),
        (r#","finish":"tool-calls""#, None),
        (r#","error":{"name":"APIError","data":{"message":"m"}}"#, Some(Outcome::Failed)),
        (r#","error":{"name":"MessageAbortedError","data":{"message":"m"}}"#, Some(Outcome::Interrupted)),
    ] {
        let rows = [
            session("r", "null"),
            user("u", "r"),
            part("u", "r", "p0", r#"{"type":"text","text":"go"}"#),
            assistant("a", "r", more),
            user("u2", "r"),
            part("u2", "r", "p1", r#"{"type":"text","text":"again"}"#),
        ];
        let observations = read_store(lines(&rows.each_ref().map(String::as_str)));
        let recorded = record(&observations);
        assert_eq!(recorded.outcomes, Vec::from_iter(expected), "{more}");
        assert_eq!(recorded.totals().quality, Quality::LowerBound, "nothing tells what the message cost");
        assert_eq!(prompts(&observations), [Some("go"), Some("again")]);
    }
}

#[test]
fn only_what_a_person_wrote_is_a_prompt() {
    let rows = [
        session("r", "null"),
        user("u1", "r"),
        part("u1", "r", "p0", r#"{"type":"text","text":"one"}"#),
        part("u1", "r", "p1", r#"{"type":"text","text":"added","synthetic":true}"#),
        part("u1", "r", "p2", r#"{"type":"text","text":"hidden","ignored":true}"#),
        part("u1", "r", "p3", r#"{"type":"file","url":"x"}"#),
        part("u1", "r", "p4", r#"{"type":"text","text":"two"}"#),
        user("u2", "r"),
        part("u2", "r", "p5", r#"{"type":"text","text":"Continue","synthetic":true}"#),
    ];
    assert_eq!(prompts(&read_store(lines(&rows.each_ref().map(String::as_str)))), [Some("one\ntwo")]);
}

#[test]
fn a_step_that_was_begun_and_has_no_end_leaves_a_lower_bound() {
    let start = r#"{"type":"step-start"}"#;
    let rows = [
        session("r", "null"),
        assistant("a", "r", ""),
        part("a", "r", "p1", start),
        part("a", "r", "p2", STEP),
        part("a", "r", "p3", start),
    ];
    let totals = record(&read_store(lines(&rows.each_ref().map(String::as_str)))).totals();
    assert_eq!((classes(&totals), totals.quality), (ONE, Quality::LowerBound));
}

#[test]
fn rows_that_make_no_sense_are_told_and_the_others_count() {
    let rows = [
        session("r", "null"),
        message("m", "r", r#""not { json""#),
        part("m", "r", "p1", STEP),
        part("m", "r", "p2", "7"),
        message("x", "r", r#"{"role":"system"}"#),
        String::from(r#"{"table":"todo","row":{"id":"t"}}"#),
        part("m", "r", "p3", r#"{"type":"dance"}"#),
    ];
    let observations = read_store(lines(&rows.each_ref().map(String::as_str)));
    let kinds: Vec<_> = notes(&observations).into_iter().map(|(_, kind)| kind).collect();
    let unknown = NoteKind::UnknownType;
    assert_eq!(kinds, [NoteKind::BadLine, NoteKind::BadLine, unknown, unknown, unknown]);
    assert_eq!(classes(&record(&observations).totals()), ONE, "a part whose message is lost was paid for");
}

#[test]
fn a_root_whose_parent_is_not_there_says_whose_child_it_is() {
    let observations = read_store(lines(&[&session("orphan", "\"gone\"")]));
    let Some(Observation::Session(seen)) = observations.first() else { panic!("no session") };
    assert_eq!((seen.id.as_str(), seen.parent.as_deref()), ("orphan", Some("gone")));
    assert_eq!(seen.cwd.as_deref(), Some("/work"));
    let Some(Observation::Receipt(receipt)) = observations.get(1) else { panic!("no receipt") };
    assert_eq!(receipt.agent_version.as_deref(), Some("1.2.3"));
    assert_eq!(events(&observations), []);
}

fn second(id: &str, kind: &str, data: &str) -> String {
    format!(
        r#"{{"table":"session_message","row":{{"id":"{id}","session_id":"r","type":"{kind}","time_created":1700000000500,"data":{data}}}}}"#
    )
}

#[test]
fn a_message_of_version_two_is_whole_and_one_request() {
    let reply = r#"{"model":{"id":"m","providerID":"p"},"time":{"created":1700000000500,"completed":1700000000900},"finish":"stop","cost":0.001,"tokens":{"input":10,"output":5,"reasoning":2,"cache":{"read":100,"write":20}},"content":[{"type":"text","text":"done"},{"type":"tool","id":"c1","name":"bash","state":{"status":"completed","input":{},"output":"x"}}]}"#;
    let rows = [
        session("r", "null"),
        second("m1", "user", r#"{"text":"go"}"#),
        second("m2", "assistant", reply),
        second("m3", "synthetic", r#"{"text":"not asked"}"#),
        second("m4", "model-switched", "{}"),
        second("m5", "compaction", "{}"),
        second("m6", "dance", "{}"),
        second("m7", "user", "7"),
    ];
    let observations = read_store(lines(&rows.each_ref().map(String::as_str)));
    assert_eq!(prompts(&observations), [Some("go")]);
    let recorded = record(&observations);
    let totals = recorded.totals();
    assert_eq!((classes(&totals), totals.quality, totals.requests), (ONE, Quality::Exact, Some(1)));
    assert_eq!((recorded.output(0), recorded.outcomes.as_slice()), (Some("done"), &[Outcome::Completed][..]));
    assert_eq!(events(&observations).len(), 3);
    let kinds: Vec<_> = notes(&observations).into_iter().map(|(_, kind)| kind).collect();
    assert_eq!(kinds, [NoteKind::UnknownType, NoteKind::BadLine]);
    // It is the same request as the one step of a message that was copied from the first table.
    let rows = [session("r", "null"), assistant("a", "r", ""), part("a", "r", "p1", STEP)];
    let of_first = read_store(lines(&rows.each_ref().map(String::as_str)));
    assert_eq!(usage(&of_first)[0].request_key, usage(&observations)[0].request_key);
    assert_eq!(usage(&observations)[0].model.as_deref(), Some("p/m"));
}

#[test]
fn a_command_that_a_person_ran_is_no_request() {
    let shell = r#"{"type":"tool","tool":"bash","callID":"c","state":{"status":"completed","input":{},"output":"x"}}"#;
    let zeros = r#","cost":0,"tokens":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}}"#;
    let rows = [session("r", "null"), assistant("a", "r", zeros), part("a", "r", "p", shell)];
    let observations = read_store(lines(&rows.each_ref().map(String::as_str)));
    assert_eq!(usage(&observations), Vec::<&UsageReport>::new());
    // A model that was asked and ended, and of which nobody counted, is one.
    let rows = [session("r", "null"), assistant("a", "r", &format!(r#","finish":"stop"{zeros}"#))];
    let observations = read_store(lines(&rows.each_ref().map(String::as_str)));
    assert_eq!(record(&observations).totals().quality, Quality::LowerBound);
}
