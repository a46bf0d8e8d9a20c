//! What is synced, when, and what a failed sync means.

use std::path::{Path, PathBuf};

use trace_capture::artifacts::{ArtifactError, LaunchFiles};
use trace_model::words::OutputStream;
use trace_testkit::{Effect, SimulatedFiles, Unsynced, samples};

use super::support::{events, home, line, only_launch, publish, write_turn};

fn parent(path: &Path) -> PathBuf {
    path.parent().unwrap().to_path_buf()
}

/// Asserts that every entry that was made, and every byte that was written, is on disk in the end.
fn everything_is_synced(effects: &[Effect]) {
    for (place, effect) in effects.iter().enumerate() {
        let awaited = match effect {
            Effect::CreateDir(path) | Effect::CreateFile(path) | Effect::Rename { to: path, .. } => {
                Effect::SyncDir(parent(path))
            }
            Effect::Write { path, .. } => Effect::Sync(path.clone()),
            _ => continue,
        };
        assert!(effects[place..].contains(&awaited), "{effect:?} is not followed by {awaited:?}");
    }
}

#[test]
fn every_entry_and_byte_is_synced_when_a_launch_is_published() {
    let files = SimulatedFiles::new();
    let _launch = publish(&home(&files), &samples::header(1), 1).unwrap();
    let effects = files.effects();
    everything_is_synced(&effects);
    let renamed = effects.iter().position(|effect| matches!(effect, Effect::Rename { .. })).unwrap();
    let synced_late = effects[renamed..].iter().any(|effect| matches!(effect, Effect::Sync(_)));
    assert!(!synced_late, "a file is on disk before its launch has a name");
}

#[test]
fn every_entry_and_byte_of_a_later_turn_is_synced_before_the_turn_is_written() {
    let files = SimulatedFiles::new();
    let mut launch = publish(&home(&files), &samples::header(1), 1).unwrap();
    write_turn(&mut launch, 1, 2).unwrap();
    everything_is_synced(&files.effects());
}

#[test]
fn what_is_written_into_a_home_is_synced() {
    let files = SimulatedFiles::new();
    let config = trace_capture::artifacts::HomeConfig { ledger: trace_capture::backend::LedgerKind::Memory };
    home(&files).write_config(&config).unwrap();
    everything_is_synced(&files.effects());
    let cut = files.after_power_cut(Unsynced::Lost);
    assert_eq!(home(&cut).config().unwrap(), Some(config));
}

fn syncs(files: &SimulatedFiles) -> usize {
    files.effects().iter().filter(|effect| matches!(effect, Effect::Sync(_))).count()
}

#[test]
fn only_files_that_were_written_to_are_synced_again() {
    let files = SimulatedFiles::new();
    let mut launch = publish(&home(&files), &samples::header(1), 1).unwrap();
    let handles = launch.sync_handles().unwrap();
    let before = syncs(&files);
    handles.sync().unwrap();
    assert_eq!(syncs(&files), before);
    launch.append(&line(2)).unwrap();
    launch.append(&line(3)).unwrap();
    handles.sync().unwrap();
    handles.sync().unwrap();
    assert_eq!(syncs(&files), before + 1);
    launch.append_raw(OutputStream::Stderr, samples::time(9), b"late").unwrap();
    handles.sync().unwrap();
    assert_eq!(syncs(&files), before + 3, "a chunk is in a stream's file and in the index");
}

#[test]
fn a_failed_sync_is_never_retried_as_if_it_were_good() {
    let files = SimulatedFiles::new();
    let mut launch = publish(&home(&files), &samples::header(1), 1).unwrap();
    let handles = launch.sync_handles().unwrap();
    launch.append(&line(2)).unwrap();
    files.fail_once_at(1);
    assert!(matches!(handles.sync(), Err(ArtifactError::Io { verb: "sync", .. })));
    files.heal();
    launch.append(&line(3)).unwrap();
    let before = syncs(&files);
    assert!(matches!(handles.sync(), Err(ArtifactError::SyncFailed { .. })));
    let others = launch.sync_handles().unwrap();
    assert!(matches!(others.sync(), Err(ArtifactError::SyncFailed { .. })), "every handle knows");
    assert_eq!(syncs(&files), before);
}

#[test]
fn a_file_whose_sync_failed_does_not_keep_the_others_from_being_synced() {
    let files = SimulatedFiles::new();
    let mut launch = publish(&home(&files), &samples::header(1), 1).unwrap();
    let handles = launch.sync_handles().unwrap();
    launch.append_raw(OutputStream::Stdout, samples::time(9), b"x").unwrap();
    launch.append(&line(2)).unwrap();
    // The provider's output is synced first.
    files.fail_once_at(1);
    assert!(handles.sync().is_err());
    let cut = files.after_power_cut(Unsynced::Lost);
    assert_eq!(events(&only_launch(&home(&cut)).unwrap()).0, [0, 1, 2]);
}

#[test]
fn a_launch_whose_files_cannot_be_synced_is_not_published() {
    let files = SimulatedFiles::new();
    let home = home(&files);
    let mut staged = LaunchFiles::stage(&home, &samples::header(1)).unwrap();
    files.fail_once_at(1);
    assert!(staged.publish().is_err());
    assert_eq!(home.list_launch_artifact_dirs().unwrap(), []);
    assert!(matches!(staged.publish(), Err(ArtifactError::SyncFailed { .. })));
}
