use std::{fs, os::unix::fs::MetadataExt, sync::Arc};

use pollster::FutureExt;
use proptest::prelude::*;
use trace_capture::intake::import::{ImportFrom, ImportRequest, Keep, import};
use trace_model::launch::{CaptureState, LaunchState};
use trace_testkit::FaultLedger;

use super::world::{NOW, World, holds, kinds, of_agent, prompt, reply};

const FILE: &str = "projects/p/s1.jsonl";

fn lines() -> Vec<String> {
    vec![
        prompt("s1", 0, "one"),
        reply("s1", 1, "msg_1", 1).replace(r#""stop_reason":"end_turn""#, r#""stop_reason":null"#),
        reply("s1", 1, "msg_1", 5),
        prompt("s1", 2, "two"),
        reply("s1", 3, "msg_2", 7),
        reply("s1", 4, "msg_3", 9),
        prompt("s1", 5, "three"),
        reply("s1", 6, "msg_4", 11),
    ]
}

#[test]
fn a_grown_file_is_read_from_where_it_was_left() {
    let world = World::new();
    let lines = lines();
    world.write(FILE, lines[..3].concat());
    world.import(Keep::Copies);
    world.append(FILE, lines[3..].concat());
    let report = world.import(Keep::Copies);
    assert_eq!(report.bytes, u64::try_from(lines[3..].concat().len()).unwrap());
    assert_eq!((report.sessions.new, report.sessions.updated), (0, 1));

    let whole = World::new();
    whole.write(FILE, lines.concat());
    whole.import(Keep::Copies);
    assert_eq!(world.rows(), whole.rows());
    fs::remove_dir_all(world.files()).unwrap();
    assert_eq!(world.reindexed(), whole.rows(), "the pieces make the whole");
}

#[test]
fn what_did_not_change_costs_no_write_and_no_sum() {
    let world = World::new();
    world.write("projects/p/s2.jsonl", prompt("s2", 0, "other") + &reply("s2", 1, "msg_other", 3));
    let path = world.write(FILE, lines().concat());
    world.import(Keep::Index);
    let catalog = || fs::metadata(world.home.root().join("sources/catalog.jsonl")).unwrap().ino();
    let before = catalog();
    let ledger = FaultLedger::new(Arc::clone(&world.ledger), None);
    let request = ImportRequest::new(ImportFrom::Paths(vec![path]), Keep::Index, NOW.parse().unwrap());
    let report = import(&world.home, &ledger, &request, &mut |_| {}).block_on().unwrap();
    assert_eq!((report.files.seen, report.files.unchanged, report.bytes), (1, 1, 0));
    assert_eq!(catalog(), before, "the catalog was written");
    // It is asked for the launch of the file alone, to tell whether it is the ledger that this was brought into.
    assert_eq!(ledger.calls(), 1);
}

#[test]
fn a_copy_that_is_kept_is_not_kept_twice() {
    let world = World::new();
    world.write(FILE, lines().concat());
    world.import(Keep::Copies);
    let rows = world.rows();
    for _time in 0..2 {
        // What is known of the sources is a cache.
        fs::remove_dir_all(world.home.root().join("sources")).unwrap();
        assert_eq!(world.import(Keep::Copies).files.read, 1);
    }
    assert_eq!(world.rows(), rows);
    assert!(holds(world.home.root(), "source-1.zst") && !holds(world.home.root(), "source-2.zst"));
    fs::remove_dir_all(world.files()).unwrap();
    assert_eq!(world.reindexed(), rows);
}

#[test]
fn a_torn_end_is_read_when_it_is_whole() {
    let world = World::new();
    let lines = lines();
    let cut = lines[4].len() / 2;
    world.write(FILE, lines[..4].concat() + &lines[4][..cut]);
    assert_eq!(kinds(&world.import(Keep::Copies)), ["incomplete_tail"]);
    world.append(FILE, lines[4][cut..].to_owned() + &lines[5..].concat());
    let report = world.import(Keep::Copies);
    assert!(report.notes.is_empty(), "{:?}", report.notes);
    assert_eq!(world.totals().output_tokens, Some(32));
    fs::remove_dir_all(world.files()).unwrap();
    assert_eq!(world.reindexed(), world.rows());
}

#[test]
fn a_subagent_that_comes_later_is_added() {
    let world = World::new();
    world.write(FILE, lines().concat());
    world.import(Keep::Copies);
    let turns = world.rows()[0].turns.clone();
    world.write("projects/p/s1/subagents/agent-ab12.jsonl", of_agent(&reply("s1", 3, "msg_a", 100), "ab12"));
    let report = world.import(Keep::Copies);
    assert_eq!((report.files.read, report.sessions.updated), (1, 1));
    let rows = world.rows();
    assert_eq!(rows[0].turns, turns);
    assert_eq!(rows[0].usage["msg_a"].turn_id, Some(turns[1].turn.id));
    assert_eq!(world.reindexed(), rows);
}

#[test]
fn a_rewritten_file_is_noticed_and_what_it_told_is_kept() {
    for keep in [Keep::Copies, Keep::Index] {
        let world = World::new();
        let lines = lines();
        world.write(FILE, lines.concat());
        world.import(keep);
        world.write(FILE, prompt("s1", 7, "compacted") + &reply("s1", 8, "msg_9", 13));
        world.import(keep);
        let rows = world.rows();
        let keys: Vec<&str> = rows[0].usage.keys().map(String::as_str).collect();
        assert_eq!(keys, ["msg_1", "msg_2", "msg_3", "msg_4", "msg_9"], "{keep:?}");
        match (&rows[0].launch.capture, keep) {
            (CaptureState::Complete, Keep::Copies) => assert_eq!(world.reindexed(), rows),
            (CaptureState::Partial { reason }, Keep::Index) => assert!(reason.contains("source_rewritten"), "{reason}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_file_that_is_gone_is_noticed_and_its_session_kept() {
    for keep in [Keep::Copies, Keep::Index] {
        let world = World::new();
        world.write(FILE, lines().concat());
        world.import(keep);
        let before = world.rows();
        fs::remove_file(world.files().join(FILE)).unwrap();
        let report = world.import(keep);
        assert_eq!((report.files.missing, kinds(&report)), (1, vec!["source_missing"]));
        let rows = world.rows();
        assert_eq!(rows[0].usage, before[0].usage);
        match (&rows[0].launch.capture, keep) {
            (CaptureState::Complete, Keep::Copies) => assert_eq!(world.reindexed(), rows),
            (CaptureState::Partial { reason }, Keep::Index) => assert!(reason.contains("source_missing"), "{reason}"),
            other => panic!("{other:?}"),
        }
        assert_eq!(world.import(keep).files.missing, 0, "it is told once");
        world.write(FILE, lines().concat());
        assert_eq!(world.import(keep).files.read, 1, "and it may come back");
        assert_eq!(world.rows(), before);
    }
}

#[test]
fn a_turn_without_an_end_runs_until_its_file_has_rested() {
    let world = World::new();
    let path = world.write(FILE, lines()[..1].concat());
    let file = fs::File::options().write(true).open(&path).unwrap();
    let now: trace_model::timestamp::Timestamp = NOW.parse().unwrap();
    let at = |minutes: u64| {
        std::time::UNIX_EPOCH
            + std::time::Duration::from_micros(u64::try_from(now.as_micros()).unwrap() - minutes * 60_000_000)
    };
    file.set_modified(at(1)).unwrap();
    world.import(Keep::Copies);
    assert_eq!(world.rows()[0].launch.state, LaunchState::Running);
    file.set_modified(at(61)).unwrap();
    world.import(Keep::Copies);
    assert!(matches!(world.rows()[0].launch.state, LaunchState::Ended { .. }));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn however_a_session_grows_its_rows_are_those_of_the_whole(cuts in proptest::collection::vec(0..2_400_usize, 0..4), keep in any::<bool>()) {
        let keep = if keep { Keep::Copies } else { Keep::Index };
        let text = lines().concat();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
        cuts.sort_unstable();
        let world = World::new();
        world.write(FILE, "");
        let mut from = 0;
        for to in cuts.into_iter().chain([text.len()]) {
            world.append(FILE, &text[from..to]);
            world.import(keep);
            from = to;
        }
        let whole = World::new();
        whole.write(FILE, &text);
        whole.import(keep);
        prop_assert_eq!(world.rows(), whole.rows());
        prop_assert_eq!(world.reindexed(), whole.rows());
    }
}
