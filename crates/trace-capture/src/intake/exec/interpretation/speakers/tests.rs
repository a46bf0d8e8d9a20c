use trace_model::event::{ConversationEvent, Item};

use super::*;

fn claude(session: &str, text: &str) -> String {
    let reply = format!(r#"{{"id":"{text}","model":"m","content":[{{"type":"text","text":"{text}"}}]}}"#);
    format!(r#"{{"type":"assistant","session_id":"{session}","message":{reply}}}"#) + "\n"
}

fn init(session: &str) -> String {
    format!(r#"{{"type":"system","subtype":"init","session_id":"{session}","model":"m"}}"#) + "\n"
}

fn thread(session: &str) -> String {
    format!(r#"{{"type":"thread.started","thread_id":"{session}"}}"#) + "\n"
}

fn codex(text: &str) -> String {
    format!(r#"{{"type":"item.completed","item":{{"id":"{text}","type":"agent_message","text":"{text}"}}}}"#) + "\n"
}

/// Returns the texts that are heard of a stream which is recognised as that provider's, if sessions that begin with `-`
/// are those of launches beneath, and the number of notes.
fn heard(provider: &Provider, pieces: &[&[u8]]) -> (Vec<String>, usize) {
    let mut speakers = Speakers::recognised(provider, SessionStart::New).unwrap();
    let mut is_own = |session: &str| !session.starts_with('-');
    let mut out = Vec::new();
    for piece in pieces {
        speakers.push(piece, &mut is_own, &mut out);
    }
    speakers.finish(&mut is_own, &mut out);
    let notes = out.iter().filter(|said| matches!(said, Observation::Note(_))).count();
    let text = |said: Observation| match said {
        Observation::Event(seen) => match seen.event {
            ConversationEvent::ItemCompleted { item: Item::Message { text, .. }, .. } => Some(text),
            event => panic!("{event:?}"),
        },
        _ => None,
    };
    (out.into_iter().filter_map(text).collect(), notes)
}

fn check(provider: &Provider, lines: &[String], expected: &[&str]) {
    let text = lines.concat();
    for at in 0..=text.len() {
        let (one, other) = text.as_bytes().split_at(at);
        assert_eq!(heard(provider, &[one, other]), (expected.iter().map(|&text| text.to_owned()).collect(), 0));
    }
}

#[test]
fn agents_that_follow_each_other_are_all_heard() {
    let lines = [init("a"), claude("a", "one"), thread("b"), codex("two"), init("a"), claude("a", "three")];
    check(&Provider::Claude, &lines, &["one", "two", "three"]);
}

#[test]
fn what_is_of_a_launch_beneath_is_passed_over_until_a_session_of_its_own_comes() {
    let own = [init("a"), claude("a", "one")];
    let beneath = [thread("-b"), codex("two"), init("-c"), claude("-c", "three")];
    check(&Provider::Claude, &[&own[..], &beneath].concat(), &["one"]);
    check(&Provider::Codex, &[&beneath[..], &own].concat(), &["one"]);
    check(&Provider::Codex, &[&beneath[..], &own, &beneath].concat(), &["one"]);
}

#[test]
fn a_line_is_of_the_session_that_it_names() {
    // What `claude --output-format json` prints is one line, and begins no session.
    let lines = [claude("-a", "one"), init("b"), claude("b", "two"), claude("-a", "three"), claude("b", "four")];
    check(&Provider::Claude, &lines, &["two", "four"]);
}

#[test]
fn a_session_that_only_lines_name_is_told_once() {
    let mut speakers = Speakers::recognised(&Provider::Claude, SessionStart::New).unwrap();
    let mut out = Vec::new();
    let lines = [claude("-a", "one"), claude("b", "two"), claude("b", "three")].concat();
    speakers.push(lines.as_bytes(), &mut |session| session != "-a", &mut out);
    assert_eq!(out.iter().filter_map(session_of).collect::<Vec<_>>(), ["b"]);
}

#[test]
fn a_line_of_a_log_begins_no_session() {
    let log = "{\"session_id\":\"request\",\"type\":\"log\"}\n".to_owned();
    let lines = [log, thread("-a"), codex("one"), thread("b"), codex("two")].concat();
    assert_eq!(heard(&Provider::Codex, &[lines.as_bytes()]), (vec!["two".to_owned()], 1));
}

#[test]
fn a_provider_that_named_no_session_is_not_heard() {
    let stray = "{\"type\":\"user\",\"message\":{\"content\":\"no prompt\"}}\n".to_owned();
    let lines = [thread("a"), stray, claude("s", "no reply"), codex("one")].concat();
    let (texts, notes) = heard(&Provider::Codex, &[lines.as_bytes()]);
    assert_eq!((texts, notes), (vec!["one".to_owned()], 2), "Codex does not know two of the lines");
}

#[test]
fn notes_are_those_of_the_agent_that_spoke_last_unless_it_is_passed_over() {
    let bad = "no record\n".to_owned();
    let lines = [init("a"), claude("a", "one"), bad.clone(), thread("-b"), codex("two"), bad.clone(), bad];
    assert_eq!(heard(&Provider::Claude, &[lines.concat().as_bytes()]), (vec!["one".to_owned()], 1));
}

#[test]
fn a_stream_that_is_said_to_be_of_a_provider_is_read_by_its_rules_alone() {
    let mut speakers = Speakers::named(&Provider::Claude, SessionStart::New).unwrap();
    let mut out = Vec::new();
    speakers.push([thread("a"), codex("one")].concat().as_bytes(), &mut |_| true, &mut out);
    assert!(out.iter().all(|said| matches!(said, Observation::Note(_))), "{out:?}");
}
