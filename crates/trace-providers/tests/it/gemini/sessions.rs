//! Lines of session files that trip up readers.

use trace_model::{turn::Outcome, usage::Agent, words::Quality};
use trace_providers::{AgentSeen, Detail, NoteKind, Observation, SourceFormat, reader_for, resume_reader};

use super::{read_document, read_session};
use crate::support::{classes, events, fixture, lines, notes, prompts, record, usage};

const HEADER: &str = r#"{"sessionId":"s-1","projectHash":"h","startTime":"2026-01-01T00:00:00.000Z","lastUpdated":"2026-01-01T00:00:00.000Z","kind":"main"}"#;

fn message(kind: &str, id: &str, content: &str, more: &str) -> String {
    format!(r#"{{"id":"{id}","timestamp":"2026-01-01T00:00:01.000Z","type":"{kind}","content":{content}{more}}}"#)
}

fn asked(id: &str, text: &str) -> String {
    message("user", id, &format!(r#"[{{"text":"{text}"}}]"#), "")
}

fn reply(id: &str, text: &str, output: u64) -> String {
    let total = 100 + output;
    let tokens = format!(
        r#","model":"pro","tokens":{{"input":100,"output":{output},"cached":40,"thoughts":0,"tool":0,"total":{total}}}"#
    );
    message("gemini", id, &format!("\"{text}\""), &tokens)
}

fn totals(file: &[&str]) -> ([Option<u64>; 4], Quality) {
    let totals = record(&read_session(lines(file))).totals();
    (classes(&totals), totals.quality)
}

const ONE: [Option<u64>; 4] = [Some(60), Some(40), Some(0), Some(9)];
const TWO: [Option<u64>; 4] = [Some(120), Some(80), Some(0), Some(16)];

#[test]
fn what_was_taken_back_was_paid_for() {
    let file = [
        HEADER,
        &asked("u1", "one"),
        &reply("a-reply-of-a-long-name-1", "first", 9),
        r#"{"$rewindTo":"u1"}"#,
        &asked("u2", "two"),
        &reply("a-reply-of-a-long-name-2", "second", 7),
    ];
    assert_eq!(totals(&file), (TWO, Quality::Exact));
    let observations = read_session(lines(&file));
    assert_eq!(prompts(&observations), [Some("one"), Some("two")]);
    assert_eq!(record(&observations).outcomes, [Outcome::Completed, Outcome::Completed]);
}

#[test]
fn a_list_of_all_messages_repeats_them() {
    let set = |messages: &[&str]| format!(r#"{{"$set":{{"messages":[{}]}}}}"#, messages.join(","));
    let (context, question) = (asked("c", "<session_context> here"), asked("u1", "one"));
    let answer = reply("m1", "first", 9);
    let file = [HEADER, &set(&[&context]), &question, &answer, &set(&[&context, &question, &answer])];
    assert_eq!(totals(&file), (ONE, Quality::Exact));
    let observations = read_session(lines(&file));
    assert_eq!(prompts(&observations), [Some("one")]);
    assert_eq!(record(&observations).output(0), Some("first"));
    // A reply whose own line is lost is in the list.
    assert_eq!(totals(&[HEADER, &question, &set(&[&context, &question, &answer])]).0, ONE);
}

#[test]
fn what_the_client_writes_is_no_prompt() {
    for text in ["<session_context>\\nThis is", "System: Please continue.", ""] {
        assert_eq!(prompts(&read_session(lines(&[HEADER, &asked("u", text)]))), [], "{text}");
    }
    let results = message("user", "u", r#"[{"functionResponse":{"id":"t","name":"n","response":{}}}]"#, "");
    assert_eq!(prompts(&read_session(lines(&[HEADER, &results]))), []);
    let plain = message("user", "u", r#""plain text""#, "");
    assert_eq!(prompts(&read_session(lines(&[HEADER, &plain, &plain]))), [Some("plain text")], "a prompt comes once");
}

#[test]
fn signs_that_a_request_was_broken_off_make_a_lower_bound() {
    let (question, answer) = (asked("u1", "one"), reply("m1", "first", 9));
    let taken_back = r#"{"$set":{"messages":[]}}"#;
    for (sign, outcome) in [
        (message("error", "e", r#""quota""#, ""), Some(Outcome::Failed)),
        (message("info", "i", r#""Request cancelled.""#, ""), Some(Outcome::Interrupted)),
        (message("warning", "w", r#""truncated""#, ""), Some(Outcome::Completed)),
        (asked("s", "System: Potential loop detected. Details"), Some(Outcome::Interrupted)),
        (format!("{}\n{taken_back}", asked("s", "System: Please continue.")), Some(Outcome::Failed)),
    ] {
        let file = [HEADER, &question, &answer, &sign];
        assert_eq!(totals(&file), (ONE, Quality::LowerBound), "{sign}");
        let outcomes = record(&read_session(lines(&file))).outcomes;
        assert_eq!(outcomes.last().copied(), outcome, "{sign}");
    }
    let notice = message("info", "i", r#""Update available""#, "");
    assert_eq!(totals(&[HEADER, &question, &answer, &notice]), (ONE, Quality::Exact));
}

#[test]
fn a_prompt_that_has_no_answer_when_the_next_one_comes_was_broken_off() {
    let file = [HEADER, &asked("u1", "one"), &asked("u2", "two"), &reply("m1", "first", 9)];
    assert_eq!(totals(&file), (ONE, Quality::LowerBound));
    assert_eq!(totals(&[HEADER, &asked("u1", "one")]).1, Quality::Unknown, "it may be answered yet");
}

#[test]
fn a_reply_of_which_nobody_counted_is_a_request_of_unknown_cost() {
    let uncounted = message("gemini", "m1", r#""hello""#, r#","model":"pro","tokens":null"#);
    let (classes, quality) = totals(&[HEADER, &asked("u", "one"), &uncounted]);
    assert_eq!((classes, quality), ([None; 4], Quality::Unknown));
    assert_eq!(totals(&[HEADER, &asked("u", "one"), &uncounted, &reply("m1", "hello", 9)]), (ONE, Quality::Exact));
    // Calls alone may be a part of the request before them.
    let calls =
        message("gemini", "m2", r#""""#, r#","model":"pro","toolCalls":[{"id":"t","name":"n","status":"success"}]"#);
    assert_eq!(totals(&[HEADER, &asked("u", "one"), &reply("m1", "x", 9), &calls]), (ONE, Quality::Exact));
}

#[test]
fn figures_that_do_not_add_up_are_a_lower_bound() {
    let with = |tokens: &str| {
        let reply = message("gemini", "m1", r#""x""#, &format!(r#","model":"pro","tokens":{tokens}"#));
        read_session(lines(&[HEADER, &asked("u", "one"), &reply]))
    };
    let more = with(r#"{"input":100,"output":9,"cached":40,"thoughts":0,"tool":0,"total":150}"#);
    assert_eq!((notes(&more), record(&more).totals().quality), (vec![], Quality::LowerBound));
    let odd = with(r#"{"input":10,"output":9,"cached":40,"thoughts":0,"tool":0,"total":19}"#);
    assert_eq!(notes(&odd)[0].1, NoteKind::IllegibleFigure);
    assert_eq!(record(&odd).totals().quality, Quality::LowerBound);
    let tool = with(r#"{"input":100,"output":9,"cached":40,"thoughts":5,"tool":3,"total":117}"#);
    assert_eq!(classes(&record(&tool).totals()), [Some(63), Some(40), Some(0), Some(14)]);
}

#[test]
fn a_short_id_is_made_longer_to_tell_copies_from_others() {
    let key = |id: &str| {
        let observations = read_session(lines(&[HEADER, &reply(id, "x", 9)]));
        let report = usage(&observations)[0].clone();
        assert_eq!(report.key, id);
        report.request_key.unwrap()
    };
    assert_eq!(key("m1"), "m1:pro:60:40");
    let long = "6c6c0001-0000-4000-8000-000000000001";
    assert_eq!(key(long), long);
}

#[test]
fn a_subagent_s_session_is_told_as_the_agent_s() {
    let header = r#"{"sessionId":"child","projectHash":"h","startTime":"2026-01-01T00:00:00.000Z","kind":"subagent","directories":["/work","/more"]}"#;
    let observations = read_session(lines(&[header, &asked("u", "look around"), &reply("m1", "done", 9)]));
    let agent = Agent::Sub(String::from("child"));
    assert_eq!(prompts(&observations), [], "only the main agent has prompts");
    assert!(usage(&observations).iter().all(|report| report.agent == agent));
    assert!(events(&observations).iter().all(|(by, _)| *by == agent) && !events(&observations).is_empty());
    let agents: Vec<&AgentSeen> = observations
        .iter()
        .filter_map(|seen| match seen {
            Observation::Agent(seen) => Some(seen),
            _ => None,
        })
        .collect();
    assert_eq!(agents.last().unwrap().prompt.as_deref(), Some("look around"));
    let Some(Observation::Session(session)) = observations.first() else { panic!("no session") };
    assert_eq!((session.id.as_str(), session.cwd.as_deref()), ("child", Some("/work")));
    assert!(!observations.iter().any(|seen| matches!(seen, Observation::Receipt(_) | Observation::Result { .. })));
}

#[test]
fn a_tool_that_is_a_subagent_names_it() {
    let calls = r#","model":"pro","toolCalls":[{"id":"t1","name":"investigate","args":{"objective":"x"},"status":"success","agentId":"child"}]"#;
    let reply = message("gemini", "m1", r#""""#, calls);
    // A message is written again whenever more is known of it.
    let observations = read_session(lines(&[HEADER, &reply, &reply]));
    let seen = observations.iter().filter_map(|seen| match seen {
        Observation::Agent(seen) => Some(seen.clone()),
        _ => None,
    });
    let seen: Vec<AgentSeen> = seen.collect();
    let expected = AgentSeen {
        agent: Agent::Sub(String::from("child")),
        tool_call: Some(String::from("t1")),
        kind: Some(String::from("investigate")),
        prompt: Some(String::from(r#"{"objective":"x"}"#)),
        ..AgentSeen::default()
    };
    assert_eq!(seen, [expected]);
}

#[test]
fn a_session_that_grew_is_read_on_from_where_it_was_left() {
    for name in ["gemini-rounds", "gemini-append", "gemini-rewritten", "gemini-fail"] {
        let file = fixture(&format!("{name}/session.jsonl"));
        let whole = super::read(SourceFormat::GeminiSession, Detail::Usage, &file);
        for cut in (0..file.len()).step_by(file.len() / 40 + 1) {
            let mut reader = reader_for(SourceFormat::GeminiSession, Detail::Usage).unwrap();
            let mut out = Vec::new();
            reader.push(&file[..cut], &mut out);
            let checkpoint = reader.checkpoint().unwrap();
            assert!(checkpoint.state.len() < 1000, "{}", checkpoint.state);
            let mut reader = resume_reader(SourceFormat::GeminiSession, Detail::Usage, &checkpoint).unwrap();
            reader.push(&file[usize::try_from(checkpoint.offset).unwrap()..], &mut out);
            reader.finish(&mut out);
            assert_eq!(out, whole, "{name} cut at {cut}");
        }
    }
    let everything = reader_for(SourceFormat::GeminiSession, Detail::Everything).unwrap();
    assert_eq!(everything.checkpoint(), None, "what was told of the exchange is not remembered");
}

#[test]
fn a_document_is_a_session_in_one_piece() {
    let (question, answer) = (asked("u1", "one"), reply("m1", "first", 9));
    let document = format!(r#"{{"sessionId":"s-1","projectHash":"h","messages":[{question},{answer}]}}"#);
    let observations = read_document(&document);
    let file = read_session(lines(&[r#"{"sessionId":"s-1","projectHash":"h"}"#, &question, &answer]));
    assert_eq!(record(&observations).totals(), record(&file).totals());
    for seen in &observations {
        if let Observation::Input { span, .. } = seen {
            let place = usize::try_from(span.start()).unwrap()..usize::try_from(span.end()).unwrap();
            assert_eq!(&document[place], question);
        }
    }
}
