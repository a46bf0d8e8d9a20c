//! Every single file operation fails once, and for good.

use std::path::Path;

use proptest::prelude::*;
use trace_capture::artifacts::{AppendError, ArtifactError, RawChunk};
use trace_model::words::OutputStream;
use trace_testkit::{SimulatedFiles, samples};

use super::support::{
    events, folder, hashes_are_those_of_the_files, home, line, only_launch, publish, try_home, write_turn, write_with,
};

/// Runs `attempt` with its n-th file operation failing, for n = 1, 2, … until none is left to fail.
fn for_each_failure(arm: fn(&SimulatedFiles, u64), mut attempt: impl FnMut(&SimulatedFiles, &dyn Fn()) -> bool) {
    for nth in 1.. {
        let files = SimulatedFiles::new();
        let succeeded = attempt(&files, &|| arm(&files, nth));
        if !files.has_failed() {
            assert!(succeeded, "nothing failed, and yet it did not succeed");
            assert!(nth > 1, "nothing was made to fail");
            return;
        }
    }
}

#[test]
fn a_begin_that_fails_once_leaves_nothing_behind_and_may_be_tried_again() {
    for_each_failure(SimulatedFiles::fail_once_at, |files, arm| {
        let home = home(files);
        arm();
        let published = publish(&home, &samples::header(1), 1);
        let succeeded = published.is_ok();
        files.heal();
        if succeeded {
            // An append that failed loses its event and nothing else.
            assert_eq!(only_launch(&home).unwrap().header(), &samples::header(1));
        } else {
            let paths = files.paths();
            assert!(
                paths.iter().all(|path| path == Path::new("traces") || path == Path::new("quarantine")),
                "{paths:?}"
            );
            drop(publish(&home, &samples::header(1), 1).unwrap());
            assert_eq!(events(&only_launch(&home).unwrap()).0, [0, 1]);
        }
        succeeded
    });
}

#[test]
fn a_begin_that_dies_at_any_point_is_published_whole_or_not_at_all() {
    for_each_failure(SimulatedFiles::fail_forever_at, |files, arm| {
        arm();
        let succeeded = try_home(files).is_ok_and(|home| publish(&home, &samples::header(1), 1).is_ok());
        let home = home(&files.after_kill());
        match only_launch(&home) {
            Some(launch) => assert_eq!(launch.header(), &samples::header(1)),
            None => drop(publish(&home, &samples::header(1), 1).unwrap()),
        }
        succeeded
    });
}

#[test]
fn a_turn_whose_files_fail_leaves_none_and_may_be_written_again() {
    for_each_failure(SimulatedFiles::fail_once_at, |files, arm| {
        let launch = publish(&home(files), &samples::header(1), 1).unwrap();
        let mut turns = launch.turn_writer();
        let before = files.paths();
        arm();
        let succeeded = write_with(&mut turns, 1, 2).is_ok();
        if !succeeded {
            assert_eq!(files.paths(), before);
            write_with(&mut turns, 1, 2).unwrap();
        }
        assert_eq!(files.paths().len(), before.len() + 3);
        succeeded
    });
}

#[test]
fn files_of_a_failed_turn_that_could_not_be_removed_do_not_block_the_next() {
    for_each_failure(SimulatedFiles::fail_forever_at, |files, arm| {
        let launch = publish(&home(files), &samples::header(1), 1).unwrap();
        let mut turns = launch.turn_writer();
        let before = files.paths();
        arm();
        let succeeded = write_with(&mut turns, 1, 2).is_ok();
        if !succeeded {
            files.heal();
            write_with(&mut turns, 1, 2).unwrap();
        }
        assert_eq!(files.paths().len(), before.len() + 3);
        succeeded
    });
}

#[test]
fn the_files_of_the_turns_that_were_written_stay() {
    let files = SimulatedFiles::new();
    let launch = publish(&home(&files), &samples::header(1), 1).unwrap();
    let mut turns = launch.turn_writer();
    let before = files.paths();
    for ordinal in [2, 3] {
        write_with(&mut turns, 1, ordinal).unwrap();
    }
    assert_eq!(files.paths().len(), before.len() + 6);
}

#[test]
fn the_files_of_a_turn_that_could_not_be_opened_are_removed() {
    let files = SimulatedFiles::new();
    let mut launch = publish(&home(&files), &samples::header(1), 1).unwrap();
    let mut turns = launch.turn_writer();
    let before = files.paths();
    let written = write_with(&mut turns, 1, 2).unwrap();
    turns.remove(&written);
    assert_eq!(files.paths(), before);
    hashes_are_those_of_the_files(&files, &mut launch);
    let written = write_with(&mut turns, 1, 2).unwrap();
    files.fail_forever_at(1);
    turns.remove(&written);
    files.heal();
    write_with(&mut turns, 1, 2).unwrap();
    assert_eq!(files.paths().len(), before.len() + 3);
}

#[test]
fn a_turn_that_is_there_already_is_an_error_and_stays() {
    let files = SimulatedFiles::new();
    let mut launch = publish(&home(&files), &samples::header(1), 1).unwrap();
    let before = files.paths();
    assert!(matches!(write_turn(&mut launch, 1, 1), Err(ArtifactError::AlreadyExists { .. })));
    assert_eq!(files.paths(), before);
    hashes_are_those_of_the_files(&files, &mut launch);
}

#[test]
fn an_event_whose_write_fails_leaves_nothing_of_itself() {
    let len = line(2).len();
    for torn in [0, 1, len / 2, len - 1, len] {
        let files = SimulatedFiles::new();
        let home = home(&files);
        let mut launch = publish(&home, &samples::header(1), 1).unwrap();
        files.tear_failing_writes(torn);
        files.fail_once_at(1);
        assert!(matches!(launch.append(&line(2)), Err(AppendError::Lost { .. })), "{torn}");
        launch.append(&line(3)).unwrap();
        assert_eq!(events(&only_launch(&home).unwrap()), (vec![0, 1, 3], 0, vec![]), "{torn}");
        hashes_are_those_of_the_files(&files, &mut launch);
    }
}

#[test]
fn an_error_record_is_never_glued_to_a_torn_line() {
    let files = SimulatedFiles::new();
    let home = home(&files);
    let mut launch = publish(&home, &samples::header(1), 1).unwrap();
    files.tear_failing_writes(7);
    files.fail_forever_at(1);
    assert!(matches!(launch.append(&line(2)), Err(AppendError::Torn { .. })), "neither write nor cut works");
    assert!(matches!(launch.append(&line(3)), Err(AppendError::Torn { .. })), "nothing is written behind the piece");
    files.heal();
    assert_eq!(events(&only_launch(&home).unwrap()), (vec![0, 1], 0, line(2)[..7].to_vec()));
    launch.append(&line(4)).unwrap();
    assert_eq!(events(&only_launch(&home).unwrap()), (vec![0, 1, 4], 0, vec![]));
    hashes_are_those_of_the_files(&files, &mut launch);
}

#[test]
fn a_full_disk_loses_records_whole() {
    for space in 0..2 * line(2).len() {
        let files = SimulatedFiles::new();
        let home = home(&files);
        let mut launch = publish(&home, &samples::header(1), 1).unwrap();
        files.limit_space(space);
        let acknowledged: Vec<u64> = (2..5).filter(|seq| launch.append(&line(*seq)).is_ok()).collect();
        assert_eq!(acknowledged.len(), space / line(2).len(), "{space}");
        files.heal();
        launch.append(&line(9)).unwrap();
        let expected = [&[0, 1], &*acknowledged, &[9]].concat();
        assert_eq!(events(&only_launch(&home).unwrap()), (expected, 0, vec![]), "{space}");
    }
}

/// What is done to a launch in the property below.
#[derive(Debug, Clone)]
enum Step {
    Event,
    Raw(OutputStream, Vec<u8>),
    FailOnce(u64),
    FailForever(u64),
    Tear(usize),
    Space(usize),
    Heal,
}

fn step() -> impl Strategy<Value = Step> {
    let stream = prop_oneof![Just(OutputStream::Stdout), Just(OutputStream::Stderr)];
    prop_oneof![
        4 => Just(Step::Event),
        4 => (stream, proptest::collection::vec(any::<u8>(), 0..40)).prop_map(|(stream, bytes)| Step::Raw(stream, bytes)),
        1 => (1_u64..6).prop_map(Step::FailOnce),
        1 => (1_u64..6).prop_map(Step::FailForever),
        1 => (0_usize..200).prop_map(Step::Tear),
        1 => (0_usize..400).prop_map(Step::Space),
        2 => Just(Step::Heal),
    ]
}

#[test]
fn a_piece_of_a_chunk_is_cut_off_before_the_hash_of_its_file_is_told() {
    let files = SimulatedFiles::new();
    let mut launch = publish(&home(&files), &samples::header(1), 1).unwrap();
    files.tear_failing_writes(3);
    files.fail_forever_at(1);
    assert!(launch.append_raw(OutputStream::Stdout, samples::time(9), b"no place").is_err());
    assert!(launch.file_hashes().is_err(), "it cannot be cut off yet");
    files.heal();
    hashes_are_those_of_the_files(&files, &mut launch);
}

proptest! {
    #[test]
    fn what_was_acknowledged_is_there_and_nothing_else(steps in proptest::collection::vec(step(), 0..60)) {
        let files = SimulatedFiles::new();
        let home = home(&files);
        let mut launch = publish(&home, &samples::header(1), 1).unwrap();
        let mut seqs = vec![0, 1];
        let mut next = 2;
        let mut streams = [b"{\"type\":\"system\"}\n".to_vec(), Vec::new()];
        let mut chunks = 1;
        for step in steps {
            match step {
                Step::Event => {
                    if launch.append(&line(next)).is_ok() {
                        seqs.push(next);
                    }
                    next += 1;
                }
                Step::Raw(stream, bytes) => {
                    let kept = &mut streams[usize::from(stream == OutputStream::Stderr)];
                    if let Ok(end) = launch.append_raw(stream, samples::time(9), &bytes) {
                        kept.extend_from_slice(&bytes);
                        prop_assert_eq!(end, u64::try_from(kept.len()).unwrap());
                        chunks += u64::from(!bytes.is_empty());
                    }
                }
                Step::FailOnce(nth) => files.fail_once_at(nth),
                Step::FailForever(nth) => files.fail_forever_at(nth),
                Step::Tear(bytes) => files.tear_failing_writes(bytes),
                Step::Space(bytes) => files.limit_space(bytes),
                Step::Heal => files.heal(),
            }
        }
        files.heal();
        // One more record of each kind cuts off what could not be cut before.
        launch.append(&line(next)).unwrap();
        seqs.push(next);
        for (stream, kept) in [OutputStream::Stdout, OutputStream::Stderr].into_iter().zip(&mut streams) {
            launch.append_raw(stream, samples::time(9), b"end").unwrap();
            kept.extend_from_slice(b"end");
            chunks += 1;
        }
        prop_assert_eq!(events(&only_launch(&home).unwrap()), (seqs, 0, vec![]));
        let content = |name: &str| files.content(&Path::new(&folder(1)).join(name)).unwrap();
        prop_assert_eq!(&content("raw/stdout"), &streams[0]);
        prop_assert_eq!(&content("raw/stderr"), &streams[1]);
        let index = content("raw/index.jsonl");
        let index: Vec<RawChunk> = serde_json::Deserializer::from_slice(&index).into_iter().map(Result::unwrap).collect();
        let mut ends = [0_u64; 2];
        for (place, chunk) in index.iter().enumerate() {
            let end = &mut ends[usize::from(chunk.stream == OutputStream::Stderr)];
            prop_assert_eq!((chunk.chunk, chunk.offset), (u64::try_from(place).unwrap(), *end));
            *end += chunk.len;
        }
        prop_assert_eq!(u64::try_from(index.len()).unwrap(), chunks);
        prop_assert_eq!(ends, [&streams[0], &streams[1]].map(|bytes| u64::try_from(bytes.len()).unwrap()));
        hashes_are_those_of_the_files(&files, &mut launch);
    }
}
