use std::{string::ToString, vec, vec::Vec};

use trace_model::{
    id::ProcessId,
    launch::LaunchState,
    turn::Outcome,
    usage::UsageRecord,
    words::{Grain, Quality},
};
use uuid::Uuid;

use super::*;
use crate::samples;

const RUN: &str = "nightly";

fn id(number: usize) -> LaunchId {
    LaunchId::from_uuid(Uuid::from_u128(u128::try_from(number).unwrap()))
}

fn at(seconds: usize) -> Timestamp {
    Timestamp::from_micros(1_796_059_090_000_000 + i64::try_from(seconds).unwrap() * 1_000_000).unwrap()
}

/// Returns the launch of that number, which began that many seconds after the first, and took one.
fn launch(number: usize, parent: Option<usize>) -> Launch {
    let mut launch = samples::two_turns().launch;
    launch.header.id = id(number);
    launch.header.run_id = RUN.parse().unwrap();
    launch.header.process_id = ProcessId::from_uuid(Uuid::from_u128(2));
    launch.header.parent_launch_id = parent.map(id);
    launch.header.started_at = at(number);
    launch.state = LaunchState::Ended { at: at(number + 1), outcome: Outcome::Completed };
    launch
}

fn row(launch: usize, key: &str, input: u64) -> UsageRow {
    let report = trace_model::usage::UsageReport {
        input_tokens: Some(input),
        ..trace_model::usage::UsageReport::new(key, Grain::Request, Quality::Exact)
    };
    UsageRow { record: UsageRecord { launch_id: id(launch), turn_id: None, report }, replay_of: None }
}

fn report(launches: impl IntoIterator<Item = (usize, Option<usize>)>) -> RunReport {
    let launches = launches.into_iter().map(|(number, parent)| (launch(number, parent), Vec::new()));
    RunReport::new(RUN.parse().unwrap(), launches, &TurnOrdinals::new()).unwrap()
}

/// Returns the launches in the order of the tree: number, depth, and where the parent is.
fn walk(launches: &[RunLaunch], depth: usize) -> Vec<(u128, usize, ParentPlace)> {
    let step = |launch: &RunLaunch| {
        let number = launch.entry.launch.header.id.as_uuid().as_u128();
        [vec![(number, depth, launch.parent_place)], walk(&launch.children, depth + 1)].concat()
    };
    launches.iter().flat_map(step).collect()
}

#[test]
fn children_stand_beneath_their_parents_by_start() {
    let report = report([(5, Some(1)), (3, Some(2)), (4, None), (2, Some(1)), (1, None), (6, Some(99))]);
    assert_eq!(
        walk(&report.launches, 0),
        [
            (1, 0, ParentPlace::None),
            (2, 1, ParentPlace::Above),
            (3, 2, ParentPlace::Above),
            (5, 1, ParentPlace::Above),
            (4, 0, ParentPlace::None),
            (6, 0, ParentPlace::Missing),
        ]
    );
    assert_eq!((report.launch_count, report.started_at, report.ended_at), (6, at(1), Some(at(7))));
}

#[test]
fn a_circle_is_cut_and_nothing_is_lost() {
    let report = report([(1, Some(3)), (2, Some(1)), (3, Some(2)), (4, Some(4)), (5, Some(2))]);
    assert_eq!(
        walk(&report.launches, 0),
        [
            (1, 0, ParentPlace::Circle),
            (2, 1, ParentPlace::Above),
            (3, 2, ParentPlace::Above),
            (5, 2, ParentPlace::Above),
            (4, 0, ParentPlace::Circle),
        ]
    );
}

#[test]
fn a_tree_deeper_than_a_document_may_be_goes_on_beside_its_deepest_launch() {
    let launches = 2_000_usize;
    let report = report((0..launches).map(|number: usize| (number, number.checked_sub(1))));
    let walked = walk(&report.launches, 0);
    let deepest = RunReport::DEEPEST - 1;
    let place = |number| match number {
        0 => ParentPlace::None,
        number if number > deepest => ParentPlace::Beside,
        _ => ParentPlace::Above,
    };
    let expected = (0..launches).map(|number| (u128::try_from(number).unwrap(), number.min(deepest), place(number)));
    assert!(expected.eq(walked));

    // This parser is one of those that read 128 levels.
    let document = serde_json::to_string(&report).unwrap();
    let read: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(read["launch_count"], launches);
}

#[test]
fn a_run_costs_what_its_launches_cost_and_a_replay_nothing() {
    let mut replay = row(2, "msg_1", 10);
    replay.replay_of = Some(id(1));
    let launches = [
        (launch(1, None), vec![row(1, "msg_1", 10), row(1, "msg_2", 5)]),
        (launch(2, Some(1)), vec![replay, row(2, "msg_3", 100)]),
    ];
    let report = RunReport::new(RUN.parse().unwrap(), launches, &TurnOrdinals::new()).unwrap();
    let [first] = &*report.launches else { panic!("the second launch is a child") };
    assert_eq!(first.entry.totals.input_tokens, Some(15));
    assert_eq!(first.children[0].entry.totals.input_tokens, Some(100));
    assert_eq!((report.totals.input_tokens, report.totals.requests), (Some(115), Some(3)));
}

#[test]
fn the_turn_that_started_a_launch_is_known_by_its_parents_number() {
    let turn = |number| TurnId::from_uuid(Uuid::from_u128(number));
    let child = |number, turn_id| {
        let mut launch = launch(number, Some(1));
        launch.header.parent_turn_id = turn_id;
        (launch, Vec::new())
    };
    let launches = [(launch(1, None), Vec::new()), child(2, Some(turn(8))), child(3, Some(turn(9))), child(4, None)];
    // The turn of another launch is not the one that is meant.
    let ordinals = [((id(1), turn(8)), 3), ((id(7), turn(9)), 1)].into();
    let report = RunReport::new(RUN.parse().unwrap(), launches, &ordinals).unwrap();
    let found: Vec<_> = report.launches[0].children.iter().map(|child| child.parent_turn_ordinal).collect();
    assert_eq!(found, [Some(3), None, None]);
}

#[test]
fn a_run_has_not_ended_while_a_launch_runs() {
    let mut running = launch(2, None);
    running.state = LaunchState::Running;
    let launches = [(launch(1, None), Vec::new()), (running, Vec::new())];
    assert_eq!(RunReport::new(RUN.parse().unwrap(), launches, &TurnOrdinals::new()).unwrap().ended_at, None);
}

#[test]
fn what_has_no_launch_is_no_run() {
    assert!(RunReport::new(RUN.parse().unwrap(), [], &TurnOrdinals::new()).is_none());
}

#[test]
fn a_document_nests_the_launches() {
    let report = report([(1, None), (2, Some(1))]);
    let mut document = serde_json::to_value(&report).unwrap();
    let child = document["launches"][0]["children"][0].take();
    assert_eq!((&document["schema_version"], &document["run_id"]), (&1.into(), &RUN.into()));
    assert_eq!(child["id"], id(2).to_string());
    assert_eq!(child["parent_launch_id"], id(1).to_string());
    assert_eq!((&child["parent_place"], &child["parent_turn_ordinal"]), (&"above".into(), &serde_json::Value::Null));
    assert_eq!((&child["totals"]["quality"], &child["children"]), (&"unknown".into(), &serde_json::json!([])));
}
