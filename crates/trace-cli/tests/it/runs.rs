//! Runs: launches that start launches.

use serde_json::Value;
use trace_capture::{Capture, CaptureEnv, Labels, PreparedTurnContext, Recorded, Start};
use trace_model::{
    control::{Containment, Control},
    id::LaunchId,
    money::NanoUsd,
    turn::Outcome,
    usage::UsageReport,
    words::{Grain, InputOp, Provider, Quality},
};

use super::{
    manners::in_terminal,
    scripted::{ScriptedClock, ScriptedHome, launch_id, own},
};

/// The run whose launches are told one by one.
pub(crate) const FAMILY: &str = "family";
/// The end of the id of its first launch, which started most of the others.
const FIRST: &str = "00000001";
/// The end of the id of its last launch, whose parent is elsewhere.
const ORPHAN: &str = "0000000c";

fn begin(env: &CaptureEnv, provider: Provider, labels: Labels) -> Capture {
    let start = Start { model: Some("m-1".to_owned()), ..Start::new(provider, "headless") };
    Capture::blocking_begin(env, labels, PreparedTurnContext::unknown(), start).unwrap()
}

fn labels(run: &str, parent: Option<LaunchId>) -> Labels {
    let labels = Labels::new(run.parse().unwrap(), "proc_1".parse().unwrap(), "/src/parser", "/src/parser");
    Labels { parent_launch_id: parent, ..labels }
}

/// Returns the labels of a launch that the running turn of another one starts, for a task.
fn child_of(parent: &Capture, task: &str) -> Labels {
    Labels {
        parent_turn_id: parent.running_turn(),
        project: Some("parser".to_owned()),
        task: Some(task.to_owned()),
        ..labels(FAMILY, parent.launch_id())
    }
}

fn usage(key: &str, quality: Quality) -> UsageReport {
    UsageReport {
        request_key: Some(format!("request-{key}")),
        input_tokens: Some(1_000),
        output_tokens: Some(20),
        reported_cost_usd: Some(NanoUsd::from_nanos(1_000_000)),
        ..UsageReport::new(key, Grain::Request, quality)
    }
}

/// A launch whose first turn starts one that fails, and another in its place; its second turn starts a third.
pub(crate) fn family(env: &CaptureEnv, clock: &ScriptedClock) {
    let control = Control {
        run_id: "order-7".parse().unwrap(),
        home_id: "orders".to_owned(),
        account_id: None,
        containment: Containment { kind: "container".to_owned(), id: "c-1".to_owned() },
        resume_token: None,
        opaque_basis: None,
    };
    let start = Start { control: Some(control), ..Start::new(Provider::Claude, "headless") };
    let first = Capture::blocking_begin(env, labels(FAMILY, None), PreparedTurnContext::unknown(), start).unwrap();
    clock.wait(1_000);
    let failed = begin(env, Provider::Codex, child_of(&first, "read \u{1b}[31mred"));
    failed.record_usage(usage("msg_1", Quality::Exact));
    clock.wait(2_000);
    failed.blocking_finish(Outcome::Failed, Recorded::PromptOnly);
    let second = begin(env, Provider::Codex, child_of(&first, "read"));
    second.record_usage(usage("msg_2", Quality::LowerBound));
    clock.wait(2_000);
    let inner = begin(env, Provider::Gemini, Labels { parent_turn_id: None, ..child_of(&second, "look") });
    clock.wait(500);
    inner.blocking_finish(Outcome::Interrupted, Recorded::Conversation);
    second.blocking_finish(Outcome::Completed, Recorded::Conversation);
    first.blocking_begin_turn(InputOp::Message, "Go on.").unwrap();
    let third = begin(env, "my-agent".parse().unwrap(), child_of(&first, "write"));
    // It shows a request of its sibling once more.
    third.record_usage(usage("msg_1", Quality::Exact));
    clock.wait(61_000);
    third.blocking_finish(Outcome::Completed, Recorded::Conversation);
    first.blocking_finish(Outcome::Completed, Recorded::Conversation);
    let orphan = begin(env, Provider::Claude, labels(FAMILY, Some(launch_id(0xfff))));
    clock.wait(1_000);
    orphan.blocking_finish(Outcome::Completed, Recorded::Conversation);
}

fn family_home() -> ScriptedHome {
    ScriptedHome::recorded(own(), family)
}

#[test]
fn a_run_is_shown_as_the_tree_of_its_launches() {
    let home = family_home();
    insta::assert_snapshot!("run", home.print(&["show", FAMILY]));
    insta::assert_snapshot!("run.json", home.print(&["show", FAMILY, "--json"]));
}

#[test]
fn a_launch_names_its_run_its_parent_and_its_control_run_and_counts_its_children() {
    let home = family_home();
    let facts = |name: &str| {
        let shown = home.print(&["show", name]);
        let names = ["run ", "parent ", "children ", "control "];
        let is_wanted = |line: &&str| names.iter().any(|name| line.trim_start().starts_with(name));
        shown.lines().filter(is_wanted).map(|line| line.trim().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(facts(FIRST), ["run       family", "children  3 launches", "control   order-7"]);
    assert_eq!(facts("00000007"), ["run       family", "parent    00000005"]);
    let document: Value = serde_json::from_str(&home.print(&["show", FIRST, "--json"])).unwrap();
    let children = [3, 5, 10].map(|number| launch_id(number).to_string());
    assert_eq!(document["children"], serde_json::json!(children));
}

#[test]
fn the_launches_that_a_launch_started_are_listed() {
    let home = family_home();
    let listed = |parent: &str| {
        let document: Value = serde_json::from_str(&home.print(&["ls", "--json", "--parent", parent])).unwrap();
        document["launches"].as_array().unwrap().iter().map(|launch| launch["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(listed(FIRST), [10, 5, 3].map(|number| launch_id(number).to_string()));
    // A parent that is not here has children that are.
    assert_eq!(listed(&launch_id(0xfff).to_string()), [launch_id(0xc).to_string()]);
    let (code, text) = home.complain(&["ls", "--parent", "ffff"]);
    assert_eq!((code, text.starts_with("error: there is no launch ffff\n")), (1, true), "{text}");
}

#[test]
fn a_launch_stands_before_a_run_of_the_same_name() {
    let home = ScriptedHome::recorded(own(), |env, _clock| {
        for run in ["0001", "beef"] {
            begin(env, Provider::Claude, labels(run, None)).blocking_finish(Outcome::Completed, Recorded::Conversation);
        }
    });
    assert!(home.print(&["show", "0001"]).starts_with("launch 00000001 "));
    assert!(home.print(&["show", "beef"]).starts_with("run beef  1 launch\n"));
}

#[test]
fn the_other_views_are_of_launches() {
    let home = family_home();
    for option in ["--events", "--content", "--raw", "--jsonl"] {
        let next = "`trace show family` shows its launches; name one of them";
        let expected = format!("error: {option} is for one launch, and family is a run\nnext: {next}\n");
        assert_eq!(home.complain(&["show", FAMILY, option]), (2, expected));
    }
}

#[test]
fn parents_in_a_circle_lose_no_launch() {
    let home = ScriptedHome::recorded(own(), |env, clock| {
        // The ids are known beforehand: each launch takes one, and its turn another.
        for parent in [5, 1, 3, 7] {
            let launch = begin(env, Provider::Claude, labels("circle", Some(launch_id(parent))));
            clock.wait(10);
            launch.blocking_finish(Outcome::Completed, Recorded::Conversation);
        }
    });
    insta::assert_snapshot!(home.print(&["show", "circle"]));
}

#[test]
fn a_deep_run_is_readable_and_whole() {
    let depth = 110;
    let home = ScriptedHome::recorded(own(), |env, _clock| {
        for level in 0..depth {
            let parent = (level > 0).then(|| launch_id(level * 2 - 1));
            let launch = begin(env, Provider::Claude, labels("deep", parent));
            launch.blocking_finish(Outcome::Completed, Recorded::Conversation);
        }
    });
    let shown = home.print(&["show", "deep"]);
    assert_eq!(shown.lines().count(), 4 + usize::try_from(depth).unwrap());
    insta::assert_snapshot!(shown.lines().take(16).collect::<Vec<_>>().join("\n"));
    for line in in_terminal(&home, 80, &["show", "deep", "--color", "never"]).lines() {
        assert!(unicode_width::UnicodeWidthStr::width(line.trim_end()) <= 80, "{line}");
    }
    let document: Value = serde_json::from_str(&home.print(&["show", "deep", "--json"])).unwrap();
    assert_eq!(document["launch_count"], depth);
}

#[test]
fn a_run_fits_the_terminal_and_cannot_steer_it() {
    let home = family_home();
    for columns in [60, 80, 140, 200] {
        let shown = in_terminal(&home, columns, &["show", FAMILY, "--color", "never"]);
        assert!(!shown.contains('\u{1b}'), "{shown:?}");
        assert!(shown.contains(ORPHAN), "{shown}");
        for line in shown.lines() {
            let width = unicode_width::UnicodeWidthStr::width(line.trim_end());
            assert!(width <= usize::from(columns), "{columns}: {line}");
        }
    }
    assert!(in_terminal(&home, 100, &["show", FAMILY]).contains('\u{1b}'));
}
