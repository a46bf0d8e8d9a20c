//! From files to rows.

use std::{collections::BTreeMap, fs, path::Path, sync::Arc};

use trace_capture::{
    artifacts::{ArtifactError, Home, LaunchFiles},
    reindex::{FoldedLaunch, Note, Progress, ReindexReport, launch_rows, reindex},
};
use trace_model::{
    codec::{self, Line},
    event::Payload,
    fold::{self, FoldLine},
    ledger::Ledger,
    turn::Outcome,
    words::CaptureStatus,
};
use trace_store_memory::MemoryLedger;
use trace_testkit::{Fault, FaultLedger, Moment, SimulatedFiles, samples};

use super::support::{context, folder, line, line_of, publish, turn_opened, write_turn};

/// A home in a folder, with a ledger.
struct Place {
    _folder: tempfile::TempDir,
    home: Home,
    ledger: MemoryLedger,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open_real(folder.path()).unwrap();
        Self { _folder: folder, home, ledger: MemoryLedger::new() }
    }

    fn reindex(&self) -> ReindexReport {
        pollster::block_on(reindex(&self.home, &self.ledger, &mut |_| {})).unwrap()
    }

    fn rows(&self, n: u32) -> FoldedLaunch {
        launch_rows(&self.home, &samples::header(n).artifact_dir()).unwrap()
    }

    fn edit(&self, name: &str, change: impl FnOnce(Vec<u8>) -> Vec<u8>) {
        let path = self.home.root().join(folder(1)).join(name);
        fs::write(&path, change(fs::read(&path).unwrap())).unwrap();
    }
}

/// Writes the n-th launch with two turns to its end, and returns the lines of its conversation.
fn whole_launch(home: &Home, n: u32) -> Vec<Vec<u8>> {
    let mut files = LaunchFiles::stage(home, &samples::header(n)).unwrap();
    let mut lines = Vec::new();
    for ordinal in [1, 2] {
        let written = write_turn(&mut files, n, ordinal).unwrap();
        let seq = u64::try_from(lines.len()).unwrap();
        lines.push(turn_opened(seq, samples::turn(n, ordinal), written.context_sha256));
        lines.push(line(seq + 1));
    }
    let record = samples::usage_record(n, Some(1), &format!("msg-{n}"));
    lines.push(line_of(4, Payload::UsageRecord { record }));
    let files_so_far = files.file_hashes().unwrap();
    let (outcome, capture_status) = (Outcome::Completed, CaptureStatus::Complete);
    lines.push(line_of(5, Payload::LaunchEnded { outcome, capture_status, reason: None, files: files_so_far }));
    for line in &lines {
        files.append(line).unwrap();
    }
    files.publish().unwrap();
    lines
}

#[test]
fn rows_are_the_fold_over_header_contexts_and_lines() {
    let place = Place::new();
    let lines = whole_launch(&place.home, 1);
    let decoded: Vec<Line> = lines.iter().map(|line| codec::decode(line).unwrap()).collect();
    let stretches = lines.iter().zip(&decoded).map(|(bytes, line)| FoldLine { bytes, line: Some(line) });
    let contexts = BTreeMap::from([1, 2].map(|ordinal| (samples::turn_id(1, ordinal), context(1, ordinal))));
    let expected = fold::fold(samples::header(1), contexts, stretches);
    assert_eq!(place.rows(1), FoldedLaunch { rows: expected, skipped_lines: 0, notes: vec![] });
}

#[test]
fn a_deleted_ledger_comes_back_whole() {
    let place = Place::new();
    for n in 1..=3 {
        whole_launch(&place.home, n);
    }
    let report = place.reindex();
    assert_eq!(report, ReindexReport { launches: 3, events: 18, ..ReindexReport::default() });
    for n in 1..=3 {
        let rows = place.rows(n).rows;
        let launch = pollster::block_on(place.ledger.launch(samples::launch_id(n))).unwrap();
        assert_eq!(launch, rows.launch);
        let turns = pollster::block_on(place.ledger.turns(launch.header.id)).unwrap();
        assert_eq!(turns.len(), 2);
        assert_eq!(pollster::block_on(place.ledger.assets(turns[1].turn.id)).unwrap(), rows.turns[1].assets);
        assert_eq!(pollster::block_on(place.ledger.usage(launch.header.id)).unwrap().len(), 1);
    }
    assert_eq!(place.reindex(), report, "once more changes nothing");
}

#[test]
fn progress_is_told_for_every_launch() {
    let place = Place::new();
    for n in 1..=2 {
        whole_launch(&place.home, n);
    }
    let mut seen = Vec::new();
    pollster::block_on(reindex(&place.home, &place.ledger, &mut |progress| seen.push(progress))).unwrap();
    assert_eq!(seen, [0, 1, 2].map(|done| Progress { done, total: 2 }));
}

fn reasons(notes: &[Note]) -> Vec<(&str, Option<u64>, &str)> {
    let name = |note: &'_ Note| note.path.as_str().rsplit_once('/').map_or(0, |(folder, _)| folder.len() + 1);
    notes.iter().map(|note| (&note.path.as_str()[name(note)..], note.offset, &*note.reason)).collect()
}

#[test]
fn lines_that_are_no_events_are_noted_and_hide_nothing() {
    let place = Place::new();
    let lines = whole_launch(&place.home, 1);
    let clean = place.rows(1).rows;
    let at = u64::try_from(lines[0].len()).unwrap();
    place.edit("conversation.jsonl", |_| [&lines[0], &b"nonsense\n"[..], &lines[1..].concat(), b"{\"torn"].concat());
    let folded = place.rows(1);
    assert_eq!(folded.skipped_lines, 1);
    let end = u64::try_from(lines.concat().len()).unwrap() + 9;
    let expected = [
        ("conversation.jsonl", Some(at), "no event: expected ident at line 1 column 2"),
        ("conversation.jsonl", Some(end), "the last line is torn"),
    ];
    assert_eq!(reasons(&folded.notes), expected);
    assert_eq!(folded.rows.launch.conversation_bytes, end + 6, "it is the size of the file");
    assert_eq!((folded.rows.turns, folded.rows.usage), (clean.turns, clean.usage));
}

#[test]
fn many_bad_lines_do_not_fill_the_memory_with_notes() {
    let place = Place::new();
    whole_launch(&place.home, 1);
    place.edit("conversation.jsonl", |bytes| [&b"x\n".repeat(10_000)[..], &bytes].concat());
    let folded = place.rows(1);
    assert_eq!(folded.skipped_lines, 10_000);
    assert!(folded.notes.len() <= 100);
    assert_eq!(folded.rows.turns.len(), 2);
}

#[test]
fn a_context_that_was_changed_is_noted_and_used() {
    let place = Place::new();
    whole_launch(&place.home, 1);
    place.edit("turns/0001-context.json", |bytes| {
        String::from_utf8(bytes).unwrap().replace("guide 1", "guide X").into_bytes()
    });
    let folded = place.rows(1);
    assert_eq!(reasons(&folded.notes), [("0001-context.json", None, "it was changed after the turn was opened")]);
    assert_eq!(folded.rows.turns[0].assets[1].label, "guide X");
}

#[test]
fn a_context_that_is_missing_broken_or_of_another_turn_leaves_its_turn_without_assets() {
    let place = Place::new();
    whole_launch(&place.home, 1);
    let other = fs::read(place.home.root().join(folder(1)).join("turns/0002-context.json")).unwrap();
    for broken in [&b"{}"[..], b"", &other] {
        place.edit("turns/0001-context.json", |_| broken.to_vec());
        let folded = place.rows(1);
        assert_eq!(folded.notes.len(), 1, "{:?}", folded.notes);
        assert_eq!(folded.rows.turns[0].assets, []);
        assert_eq!(folded.rows.turns[1].assets.len(), 2);
    }
    fs::remove_file(place.home.root().join(folder(1)).join("turns/0001-context.json")).unwrap();
    assert_eq!(place.rows(1).notes.len(), 1);
}

#[test]
fn a_file_that_cannot_be_read_now_leaves_nothing_out_of_the_rows() {
    let files = SimulatedFiles::new();
    let home = Home::open(Path::new("/home/sam/trace"), Arc::new(files.clone())).unwrap();
    whole_launch(&home, 1);
    let dir = samples::header(1).artifact_dir();
    let whole = launch_rows(&home, &dir).unwrap().rows;
    for nth in 1.. {
        files.fail_once_at(nth);
        let folded = launch_rows(&home, &dir);
        files.heal();
        match folded {
            Err(error) => assert!(matches!(error, ArtifactError::Io { .. }), "effect {nth}: {error:?}"),
            Ok(folded) => {
                assert_eq!(folded.rows, whole, "effect {nth}");
                assert!(nth > 5, "every effect was made to fail");
                return;
            }
        }
    }
}

#[test]
fn a_launch_without_a_conversation_has_the_rows_of_its_header() {
    let place = Place::new();
    whole_launch(&place.home, 1);
    fs::remove_file(place.home.root().join(folder(1)).join("conversation.jsonl")).unwrap();
    let folded = place.rows(1);
    assert_eq!(reasons(&folded.notes), [("conversation.jsonl", None, "it is missing")]);
    assert_eq!(folded.rows.launch.conversation_path, None);
    assert_eq!(folded.rows.turns, []);
}

#[test]
fn one_broken_launch_does_not_stop_the_rest() {
    let place = Place::new();
    for n in 1..=3 {
        whole_launch(&place.home, n);
    }
    place.edit("launch.json", |_| b"{".to_vec());
    let report = place.reindex();
    assert_eq!((report.launches, report.failed), (2, 1));
    assert_eq!(report.notes.len(), 1);
    assert_eq!(report.notes[0].path, samples::header(1).artifact_dir());
    assert!(report.notes[0].reason.starts_with("could not understand "), "{}", report.notes[0].reason);
}

#[test]
fn a_launch_in_the_folder_of_another_is_noted_and_not_indexed() {
    let place = Place::new();
    for n in 1..=2 {
        whole_launch(&place.home, n);
    }
    let moved = place.home.root().join(folder(9));
    fs::rename(place.home.root().join(folder(1)), moved).unwrap();
    let report = place.reindex();
    assert_eq!((report.launches, report.failed), (1, 1));
    assert_eq!(report.notes[0].path, samples::header(9).artifact_dir());
}

#[test]
fn rows_that_contradict_another_launch_do_not_stop_the_rest() {
    let place = Place::new();
    for n in 1..=3 {
        whole_launch(&place.home, n);
    }
    // The second launch says that a turn of the first one is its own.
    let theirs = samples::turn_id(1, 1).to_string();
    let path = place.home.root().join(folder(2)).join("conversation.jsonl");
    let text = fs::read_to_string(&path).unwrap().replace(&samples::turn_id(2, 1).to_string(), &theirs);
    fs::write(&path, text).unwrap();
    let report = place.reindex();
    assert_eq!((report.launches, report.failed), (2, 1), "{:?}", report.notes);
}

#[test]
fn a_live_launch_is_left_to_its_writer_once_the_ledger_knows_it() {
    let place = Place::new();
    let mut files = publish(&place.home, &samples::header(1), 1).unwrap();
    assert_eq!((place.reindex().launches, place.reindex().live), (1, 1));
    files.append(&line(2)).unwrap();
    assert_eq!(place.reindex().live, 1);
    let events = || pollster::block_on(place.ledger.launch(samples::launch_id(1))).unwrap().conversation_event_count;
    assert_eq!(events(), 2);
    drop(files);
    assert_eq!(place.reindex().launches, 1);
    assert_eq!(events(), 3);
}

#[test]
fn rows_whose_recording_is_gone_stay_and_are_told() {
    let place = Place::new();
    for n in 1..=3 {
        whole_launch(&place.home, n);
    }
    place.reindex();
    fs::remove_dir_all(place.home.root().join(folder(2))).unwrap();
    let report = place.reindex();
    assert_eq!((report.launches, report.failed, report.without_recording), (2, 0, 1));
    let gone = samples::header(2).artifact_dir();
    let reason = "its recording is not there; the ledger keeps its rows".to_owned();
    assert_eq!(report.notes, [Note { path: gone, offset: None, reason }]);
    assert!(pollster::block_on(place.ledger.launch(samples::launch_id(2))).is_ok());
}

#[test]
fn a_ledger_that_fails_stops_the_reindex() {
    let place = Place::new();
    whole_launch(&place.home, 1);
    let fault = Fault { call: 1, moment: Moment::Before };
    let ledger = FaultLedger::new(Arc::new(MemoryLedger::new()), Some(fault));
    let error = pollster::block_on(reindex(&place.home, &ledger, &mut |_| {})).unwrap_err();
    assert_eq!(error.to_string(), format!("could not index {}", samples::header(1).artifact_dir()));
}
