//! Launches that start launches: their labels, and whose session it is that both see.

use trace_capture::{Capture, Labels, Parents, Recorded, Start};
use trace_model::{
    event::{ConversationEvent, Payload, Receipt},
    turn::Outcome,
    words::{InputOp, OutputStream, Provider},
};

use super::support::{Rig, labels, prompt, read_events};

const HOOK: &[u8] = b"{\"type\":\"system\",\"subtype\":\"hook_started\",\"session_id\":\"s-1\"}\n";
const INIT: &[u8] = b"{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s-1\"}\n";

fn begin(rig: &Rig, labels: Labels, provider: Provider, raw: bool) -> Capture {
    let start = Start { raw, ..Start::new(provider, "headless") };
    Capture::blocking_begin(&rig.env, labels, prompt("Fix the parser."), start).unwrap()
}

fn beneath(rig: &Rig, outer: &Capture, provider: Provider) -> Capture {
    begin(rig, Labels::beneath(outer).unwrap(), provider, true)
}

/// Lets the bytes come through the recorders, the one nearest to the agent first.
fn come_through(recorders: &[&Capture], bytes: &[u8]) {
    for recorder in recorders {
        recorder.record_raw(OutputStream::Stdout, bytes);
    }
}

/// Returns the sessions that the launch has receipts of.
fn sessions(rig: &Rig, capture: &Capture) -> Vec<String> {
    let (events, _) = read_events(&rig.home, &capture.artifact_dir().unwrap());
    let session = |payload| match payload {
        Payload::Receipt(Receipt { provider_session_id, .. }) => provider_session_id,
        _ => None,
    };
    events.into_iter().filter_map(|event| session(event.payload)).collect()
}

#[test]
fn a_launch_beneath_another_one_has_its_labels_and_it_as_the_parent() {
    let rig = Rig::new();
    let labels = Labels {
        wave: Some("w".to_owned()),
        tags: [("kind".parse().unwrap(), "nightly".to_owned())].into(),
        parent_turn_id: Some("turn_01923456789a7bcd8ef0123456789abc".parse().unwrap()),
        ..labels()
    };
    let outer = begin(&rig, labels.clone(), Provider::Claude, false);
    let expected = Labels { parent_launch_id: outer.launch_id(), parent_turn_id: outer.running_turn(), ..labels };
    assert_eq!(Labels::beneath(&outer), Some(expected.clone()));
    outer.blocking_finish_turn(Outcome::Completed);
    let between_turns = Labels { parent_turn_id: None, ..expected };
    assert_eq!(Labels::beneath(&outer), Some(between_turns), "no turn of it runs");
    assert_eq!(Labels::beneath(&Capture::disabled()), None);
}

#[test]
fn labels_join_what_is_around_them_as_far_as_that_is_known() {
    let rig = Rig::new();
    let outer = rig.begin();
    let parents = Parents::beneath(&outer);
    let own = Labels::new("run_2".parse().unwrap(), "process_2".parse().unwrap(), "/other", "/other");
    let joined = own.clone().within(parents);
    assert_eq!(
        joined,
        Labels {
            process_id: own.process_id.clone(),
            repo: own.repo.clone(),
            worktree: own.worktree.clone(),
            ..Labels::beneath(&outer).unwrap()
        }
    );
    assert_eq!(joined.clone().within(Parents::default()), joined);
}

#[test]
fn a_session_that_a_launch_beneath_sees_first_is_that_ones() {
    let rig = Rig::new();
    let outer = begin(&rig, labels(), Provider::Unknown, true);
    let inner = beneath(&rig, &outer, Provider::Unknown);
    for piece in INIT.chunks(7) {
        come_through(&[&inner, &outer], piece);
    }
    assert_eq!(outer.status().yielded_to, inner.launch_id());
    assert_eq!((sessions(&rig, &inner), sessions(&rig, &outer)), (vec!["s-1".to_owned()], vec![]));
    let id = inner.launch_id().unwrap();
    inner.blocking_finish(Outcome::Completed, Recorded::Conversation);
    outer.blocking_finish(Outcome::Completed, Recorded::PromptOnly);
    let raw: Vec<_> = rig.files.paths().into_iter().filter(|path| path.ends_with("raw/stdout")).collect();
    assert!(raw.iter().all(|path| rig.files.content(path).unwrap() == INIT), "both keep the bytes");
    let rows = rig.rows();
    let row = |parent: bool| {
        let mut rows = rows.as_array().unwrap().iter().map(|rows| &rows["launch"]);
        rows.find(|launch| launch["parent_launch_id"].is_string() == parent).unwrap().clone()
    };
    let (inner, outer) = (row(true), row(false));
    assert_eq!((&inner["provider_session_id"], &inner["capture_status"]), (&"s-1".into(), &"complete".into()));
    assert_eq!((&outer["provider_session_id"], &outer["provider"]), (&serde_json::Value::Null, &"unknown".into()));
    assert_eq!(outer["capture_status"], "prompt_only");
    assert_eq!(outer["incomplete_reason"], format!("its session is recorded by {id}"));
}

#[test]
fn the_owner_is_found_where_its_own_rules_find_the_session_later() {
    let rig = Rig::new();
    let outer = begin(&rig, labels(), Provider::Unknown, true);
    let inner = beneath(&rig, &outer, Provider::Claude);
    come_through(&[&inner, &outer], HOOK);
    assert_eq!(sessions(&rig, &inner), [""; 0], "Claude Code names its session later");
    assert_eq!(outer.status().yielded_to, inner.launch_id());
    come_through(&[&inner, &outer], INIT);
    assert_eq!((sessions(&rig, &inner), sessions(&rig, &outer)), (vec!["s-1".to_owned()], vec![]));
}

#[test]
fn the_owner_is_found_by_its_receipt_where_it_keeps_no_bytes() {
    let rig = Rig::new();
    let outer = begin(&rig, labels(), Provider::Unknown, false);
    let inner = begin(&rig, Labels::beneath(&outer).unwrap(), Provider::Unknown, false);
    come_through(&[&inner, &outer], INIT);
    assert_eq!(outer.status().yielded_to, inner.launch_id());
}

#[test]
fn of_three_the_one_nearest_to_the_agent_owns_the_session() {
    let rig = Rig::new();
    let outer = begin(&rig, labels(), Provider::Unknown, true);
    let middle = beneath(&rig, &outer, Provider::Unknown);
    let inner = beneath(&rig, &middle, Provider::Claude);
    come_through(&[&inner, &middle, &outer], INIT);
    assert_eq!(middle.status().yielded_to, inner.launch_id());
    assert_eq!(outer.status().yielded_to, inner.launch_id());
    assert_eq!(inner.status().yielded_to, None);
}

#[test]
fn a_session_on_a_last_line_without_its_line_feed_is_the_inner_ones_too() {
    let rig = Rig::new();
    let outer = begin(&rig, labels(), Provider::Unknown, true);
    let inner = beneath(&rig, &outer, Provider::Unknown);
    come_through(&[&inner, &outer], INIT.trim_ascii());
    inner.blocking_finish(Outcome::Completed, Recorded::Conversation);
    outer.blocking_finish(Outcome::Completed, Recorded::PromptOnly);
    assert_eq!(outer.status().yielded_to, inner.launch_id());
    assert_eq!((sessions(&rig, &inner), sessions(&rig, &outer)), (vec!["s-1".to_owned()], vec![]));
}

#[test]
fn a_session_of_its_own_is_recorded_by_the_outer_launch() {
    let rig = Rig::new();
    let outer = begin(&rig, labels(), Provider::Claude, true);
    // A tool of the agent starts another agent, whose output the first one keeps to itself.
    let inner = beneath(&rig, &outer, Provider::Claude);
    inner.record_raw(OutputStream::Stdout, b"{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s-2\"}\n");
    outer.record_raw(OutputStream::Stdout, INIT);
    assert_eq!(outer.status().yielded_to, None);
    assert_eq!((sessions(&rig, &outer), sessions(&rig, &inner)), (vec!["s-1".to_owned()], vec!["s-2".to_owned()]));
}

fn line(session: &str) -> Vec<u8> {
    format!("{{\"session_id\":\"{session}\"}}\n").into_bytes()
}

#[test]
fn the_first_session_that_is_its_own_is_the_session_of_the_outer_launch() {
    let nested = |rig: &Rig, outer: &Capture, sessions: &[&str]| {
        let inner = beneath(rig, outer, Provider::Unknown);
        come_through(&[&inner, outer], &sessions.iter().map(|session| line(session)).collect::<Vec<_>>().concat());
        inner.launch_id()
    };
    for first in [&["n-1"][..], &["n-1", "n-2", "n-3"]] {
        let rig = Rig::new();
        let outer = begin(&rig, labels(), Provider::Unknown, true);
        let inner = nested(&rig, &outer, first);
        assert_eq!(outer.status().yielded_to, inner);
        nested(&rig, &outer, &["n-4"]);
        assert_eq!((outer.status().yielded_to, sessions(&rig, &outer)), (inner, vec![]), "the first one is named");
        come_through(&[&outer], &[line("o-1"), line("o-2")].concat());
        nested(&rig, &outer, &["n-5"]);
        assert_eq!(sessions(&rig, &outer), ["o-1"]);
        assert_eq!(outer.status().yielded_to, None, "it has a session");
    }
}

#[test]
fn each_session_is_asked_for_by_itself() {
    let rig = Rig::new();
    let outer = begin(&rig, labels(), Provider::Unknown, true);
    come_through(&[&outer], &line("o-1"));
    let inner = beneath(&rig, &outer, Provider::Claude);
    come_through(&[&inner, &outer], &[line("n-1"), b"words\n".repeat(100_000), line("n-2")].concat());
    for (session, owner) in [("o-1", None), ("n-1", inner.launch_id()), ("n-2", inner.launch_id()), ("n", None)] {
        assert_eq!(outer.session_owner(session), owner, "{session}");
    }
    assert_eq!(inner.session_owner("n-1"), None);
    assert_eq!(Capture::disabled().session_owner("n-1"), None);
}

#[test]
fn a_session_that_is_only_spoken_of_beneath_is_the_outer_launch_s() {
    let rig = Rig::new();
    let outer = begin(&rig, labels(), Provider::Unknown, true);
    let inner = beneath(&rig, &outer, Provider::Unknown);
    come_through(&[&inner, &outer], b"{\"resumes\":\"o-1\"}\no-1\n{\"session_id\":\"o-10\"}\n");
    come_through(&[&outer], &line("o-1"));
    assert_eq!(sessions(&rig, &outer), ["o-1"]);
}

#[test]
fn launches_that_are_not_beneath_do_not_own_what_they_see() {
    let rig = Rig::new();
    let outer = begin(&rig, labels(), Provider::Unknown, true);
    // A sibling that resumed the session, and launches whose parents go around in a circle.
    let sibling = begin(&rig, labels(), Provider::Unknown, true);
    let circle = |parent| Labels { parent_launch_id: Some(parent), ..labels() };
    let own = "launch_01990000000070008000000000000005";
    let one = begin(&rig, circle(own.parse().unwrap()), Provider::Unknown, true);
    let other = begin(&rig, circle(one.launch_id().unwrap()), Provider::Unknown, true);
    for beside in [&sibling, &one, &other] {
        beside.record_raw(OutputStream::Stdout, INIT);
    }
    outer.record_raw(OutputStream::Stdout, INIT);
    assert_eq!(outer.status().yielded_to, None);
    assert_eq!(sessions(&rig, &outer), ["s-1"]);
}

#[test]
fn whose_session_it_is_is_looked_for_once() {
    let rig = Rig::new();
    let outer = begin(&rig, labels(), Provider::Unknown, true);
    let inner = beneath(&rig, &outer, Provider::Unknown);
    come_through(&[&inner, &outer], INIT);
    let reads = || {
        let effects = rig.files.effects();
        effects.iter().filter(|effect| matches!(effect, trace_testkit::Effect::OpenFile(_))).count()
    };
    let before = reads();
    for _ in 0..100 {
        come_through(&[&inner, &outer], INIT);
    }
    assert_eq!(reads(), before);
}

#[test]
fn what_a_harness_says_itself_is_recorded_in_a_launch_that_yields_too() {
    let rig = Rig::new();
    let outer = begin(&rig, labels(), Provider::Unknown, true);
    let inner = beneath(&rig, &outer, Provider::Unknown);
    come_through(&[&inner, &outer], INIT);
    outer.record_conversation(ConversationEvent::TextDelta { turn_id: None, content: "mine".to_owned() });
    outer.blocking_begin_turn(InputOp::Message, "Again.").unwrap();
    outer.blocking_finish(Outcome::Completed, Recorded::Conversation);
    let row = pollster::block_on(rig.ledger.launch(outer.launch_id().unwrap())).unwrap();
    assert_eq!(row.capture, trace_model::launch::CaptureState::Complete);
}
