//! What the tests of artifacts have in common.

use std::{path::Path, sync::Arc};

use trace_capture::artifacts::{
    ArtifactError, ConversationReader, Home, LaunchDir, LaunchFiles, TurnFiles, TurnWriter, WrittenTurn,
};
use trace_model::{
    codec::{self, Line},
    context::{Sha256Hex, TurnContext},
    event::{Event, Payload, SCHEMA_VERSION, TextStream},
    launch::LaunchHeader,
    turn::Turn,
    words::OutputStream,
};
use trace_testkit::{SimulatedFiles, samples};

/// Opens a home in simulated files.
pub(super) fn home(files: &SimulatedFiles) -> Home {
    try_home(files).unwrap()
}

pub(super) fn try_home(files: &SimulatedFiles) -> Result<Home, ArtifactError> {
    Home::open(Path::new("/home/sam/trace"), Arc::new(files.clone()))
}

/// Returns where the n-th launch is, beneath the root.
pub(super) fn folder(n: u32) -> String {
    format!("traces/{}", samples::header(n).artifact_dir())
}

/// Returns where the n-th launch is before it is published, beneath the root.
pub(super) fn staging_folder(n: u32) -> String {
    let header = samples::header(n);
    format!("traces/{}/{}/.{}.staging", header.run_id, header.process_id, header.id)
}

/// Returns the line of an event with text.
pub(super) fn line(seq: u64) -> Vec<u8> {
    line_of(seq, Payload::LegacyText { stream: TextStream::Assistant, text: format!("{seq} größer") })
}

/// Returns the line of any event.
pub(super) fn line_of(seq: u64, payload: Payload) -> Vec<u8> {
    let event = Event {
        schema_version: SCHEMA_VERSION,
        seq,
        ts: samples::time(9),
        turn_id: None,
        agent: trace_model::usage::Agent::Main,
        raw: None,
        payload,
    };
    let mut line = Vec::new();
    codec::encode(&event, &mut line);
    line
}

/// Returns the line that opens a turn of the n-th launch.
pub(super) fn turn_opened(seq: u64, turn: Turn, context_sha256: Sha256Hex) -> Vec<u8> {
    line_of(seq, Payload::TurnOpened { turn, context_sha256 })
}

/// Returns the context of a turn of the n-th launch: two assets and two decisions.
pub(super) fn context(n: u32, ordinal: u32) -> TurnContext {
    let rows = samples::turn_rows(samples::turn(n, ordinal), 2);
    TurnContext {
        schema_version: SCHEMA_VERSION,
        turn_id: rows.turn.id,
        coverage: rows.turn.context_coverage,
        tokenizer: rows.turn.tokenizer,
        assets: rows.assets,
        decisions: rows.decisions,
    }
}

/// Writes the files of a turn of the n-th launch.
pub(super) fn write_with(turns: &mut TurnWriter, n: u32, ordinal: u32) -> Result<WrittenTurn, ArtifactError> {
    let context = context(n, ordinal);
    turns.write(&TurnFiles { ordinal, system: Some("Be brief."), task: Some("Count to ten."), context: &context })
}

/// Writes the files of a turn of the n-th launch, and takes the turn in.
pub(super) fn write_turn(files: &mut LaunchFiles, n: u32, ordinal: u32) -> Result<WrittenTurn, ArtifactError> {
    let written = write_with(&mut files.turn_writer(), n, ordinal)?;
    files.add_turn(&written);
    Ok(written)
}

/// Makes and publishes a launch with one turn and two events.
pub(super) fn publish(home: &Home, header: &LaunchHeader, n: u32) -> Result<LaunchFiles, ArtifactError> {
    let mut files = LaunchFiles::stage(home, header)?;
    let result = (|| {
        let written = write_turn(&mut files, n, 1)?;
        // An append that fails does not keep a launch from being published: its events are lost, and said to be.
        let _ = files.append(&turn_opened(0, samples::turn(n, 1), written.context_sha256));
        let _ = files.append(&line(1));
        let _ = files.append_raw(OutputStream::Stdout, samples::time(9), b"{\"type\":\"system\"}\n");
        files.publish()
    })();
    match result {
        Ok(()) => Ok(files),
        Err(error) => {
            files.discard();
            Err(error)
        }
    }
}

/// Returns the only launch of a home, if it has one.
pub(super) fn only_launch(home: &Home) -> Option<LaunchDir> {
    let dirs = home.list_launch_artifact_dirs().unwrap();
    assert!(dirs.len() <= 1, "{dirs:?}");
    dirs.first().map(|dir| home.open_launch(dir).unwrap())
}

/// Returns the seqs of the events of a launch, the number of skipped lines, and the torn tail.
pub(super) fn events(launch: &LaunchDir) -> (Vec<u64>, usize, Vec<u8>) {
    let mut conversation = launch.conversation().unwrap();
    let mut seqs = Vec::new();
    let mut skipped = 0;
    while let Some(stretch) = conversation.next().unwrap() {
        skipped += usize::from(stretch.skipped.is_some());
        if let Some(Line::Event(event)) = stretch.line {
            seqs.push(event.seq);
        }
    }
    (seqs, skipped, tail(&conversation))
}

pub(super) fn tail(conversation: &ConversationReader) -> Vec<u8> {
    conversation.tail().map(|tail| tail.bytes.to_vec()).unwrap_or_default()
}

/// Asserts that the hashes of the first launch list each of its files as it is.
pub(super) fn hashes_are_those_of_the_files(files: &SimulatedFiles, launch: &mut LaunchFiles) {
    let hashes = launch.file_hashes().unwrap();
    let names: Vec<&str> = hashes.iter().map(|hash| &*hash.path).collect();
    assert!(names.is_sorted(), "{names:?}");
    for hash in &hashes {
        let bytes = files.content(&Path::new(&folder(1)).join(&hash.path)).unwrap();
        assert_eq!((hash.bytes, hash.sha256), (u64::try_from(bytes.len()).unwrap(), Sha256Hex::of(&bytes)), "{hash:?}");
    }
    let written = files.paths().iter().filter(|path| path.starts_with(folder(1)) && path.extension().is_some()).count();
    let without_extension = names.iter().filter(|name| !name.contains('.')).count();
    assert_eq!(names.len(), written + without_extension, "every file but the lease is listed");
}
