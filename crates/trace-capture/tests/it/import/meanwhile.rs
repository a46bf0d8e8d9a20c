//! Files that change while they are read.

use std::{fs::File, path::Path};

use pollster::FutureExt;
use trace_capture::intake::import::{ImportFrom, ImportReport, ImportRequest, Keep, import};

use super::world::{NOW, World, prompt, reply};

const FILE: &str = "projects/p/s1.jsonl";

/// A session that is read in more than one go.
fn long_session() -> String {
    let filler = "x".repeat(20_000);
    let lines = (0..100).map(|n| prompt("s1", 0, &filler) + &reply("s1", 1, &format!("msg_{n}"), 1));
    lines.collect()
}

/// Imports, and lets something happen to the file as soon as some of it was read and not all.
fn import_while(world: &World, keep: Keep, happens: impl FnOnce(&Path) + Send) -> ImportReport {
    let request = ImportRequest::new(ImportFrom::Paths(vec![world.files()]), keep, NOW.parse().unwrap());
    let path = world.files().join(FILE);
    let mut happens = Some(happens);
    let mut told = |progress: trace_capture::intake::import::ImportProgress| {
        if progress.done > 0
            && progress.done < progress.total
            && let Some(happens) = happens.take()
        {
            happens(&path);
        }
    };
    let report = import(&world.home, &*world.ledger, &request, &mut told).block_on().unwrap();
    assert!(happens.is_none(), "the file was read at once");
    report
}

#[test]
fn a_file_that_grows_meanwhile_is_read_to_its_end_then_or_the_next_time() {
    for keep in [Keep::Copies, Keep::Index] {
        let world = World::new();
        world.write(FILE, long_session());
        import_while(&world, keep, |_| world.append(FILE, reply("s1", 2, "msg_late", 1_000)));
        world.import(keep);
        assert_eq!(world.totals().output_tokens, Some(1_100), "{keep:?}");
        assert_eq!(world.import(keep).files.read, 0, "{keep:?}");
        assert_eq!(world.reindexed(), world.rows(), "{keep:?}");
    }
}

#[test]
fn a_file_that_shrinks_meanwhile_loses_nothing_of_what_was_read() {
    for keep in [Keep::Copies, Keep::Index] {
        let world = World::new();
        let text = long_session();
        world.write(FILE, &text);
        let half = u64::try_from(text.len() / 2).unwrap();
        import_while(&world, keep, |path| File::options().write(true).open(path).unwrap().set_len(half).unwrap());
        let read = world.totals().output_tokens.unwrap();
        assert!((50..100).contains(&read), "{keep:?}: {read}");
        // What is there now was all read; it is looked at again, and goes on from there.
        world.import(keep);
        assert_eq!(world.totals().output_tokens, Some(read), "{keep:?}");
        world.write(FILE, &text);
        world.import(keep);
        assert_eq!(world.totals().output_tokens, Some(100), "{keep:?}");
    }
}

#[test]
fn a_file_that_is_emptied_or_removed_meanwhile_stops_nothing() {
    for keep in [Keep::Copies, Keep::Index] {
        let world = World::new();
        world.write(FILE, long_session());
        world.write("projects/p/s2.jsonl", prompt("s2", 0, "one") + &reply("s2", 1, "msg_of_2", 1_000));
        import_while(&world, keep, |path| File::options().write(true).open(path).unwrap().set_len(0).unwrap());
        let read = world.totals().output_tokens.unwrap();
        assert!((1_001..1_100).contains(&read), "{keep:?}: {read}");
        let world = World::new();
        world.write(FILE, long_session());
        import_while(&world, keep, |path| std::fs::remove_file(path).unwrap());
        assert_eq!(world.totals().output_tokens, Some(100), "it stays open while it is read: {keep:?}");
        assert_eq!(world.import(keep).files.missing, 1, "{keep:?}");
    }
}

#[test]
fn a_file_that_is_replaced_meanwhile_is_read_as_one_of_the_two_and_then_as_the_other() {
    for (keep, more) in [(Keep::Copies, 0), (Keep::Index, 0), (Keep::Copies, 200), (Keep::Index, 200)] {
        let world = World::new();
        world.write(FILE, long_session());
        // Be it shorter or longer than what it stands instead of.
        let filler = prompt("s1", 0, &"y".repeat(20_000)).repeat(more);
        let other = prompt("s1", 0, "another") + &reply("s1", 1, "msg_other", 7) + &filler;
        import_while(&world, keep, |path| {
            let beside = path.with_extension("new");
            std::fs::write(&beside, &other).unwrap();
            std::fs::rename(beside, path).unwrap();
        });
        world.import(keep);
        assert_eq!(world.totals().output_tokens, Some(107), "{keep:?}, {more}");
    }
}
