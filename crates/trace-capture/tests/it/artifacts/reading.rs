//! What a home holds, and what its documents say.

use std::{fs, path::Path};

use trace_capture::{
    artifacts::{ArtifactError, Home, HomeConfig, LaunchFiles},
    backend::LedgerKind,
};
use trace_testkit::samples;

use super::support::{context, folder, publish};

fn in_a_folder(check: impl FnOnce(&Home)) {
    let folder = tempfile::tempdir().unwrap();
    check(&Home::open_real(&folder.path().join("home")).unwrap());
}

#[test]
fn launches_are_listed_in_order_without_files_and_staging_folders() {
    in_a_folder(|home| {
        for n in [3, 1, 2] {
            drop(publish(home, &samples::header(n), n).unwrap());
        }
        let mut other = samples::header(4);
        other.run_id = "a-run-of-someone".parse().unwrap();
        drop(publish(home, &other, 4).unwrap());
        let _staged = LaunchFiles::stage(home, &samples::header(5)).unwrap();
        let traces = home.root().join("traces");
        let process = traces.join(samples::header(1).run_id.as_str()).join("worker-1");
        for file in [traces.join("notes.txt"), process.parent().unwrap().join("notes.txt"), process.join("notes.txt")] {
            fs::write(file, "x").unwrap();
        }
        fs::create_dir_all(traces.join(".hidden/process/launch")).unwrap();
        let expected = [other.artifact_dir()].into_iter().chain([1, 2, 3].map(|n| samples::header(n).artifact_dir()));
        assert_eq!(home.list_launch_artifact_dirs().unwrap(), expected.collect::<Vec<_>>());
    });
}

#[test]
fn a_home_without_traces_has_no_launches() {
    in_a_folder(|home| {
        assert_eq!(home.list_launch_artifact_dirs().unwrap(), []);
        fs::remove_dir(home.root().join("traces")).unwrap();
        assert_eq!(home.list_launch_artifact_dirs().unwrap(), []);
    });
}

#[test]
fn the_root_follows_the_configured_home() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["one", "another/deep"] {
        let root = folder.path().join(name);
        let home = Home::open_real(&root).unwrap();
        assert_eq!(home.root(), root);
        assert!(root.join("traces").is_dir());
    }
}

#[test]
fn a_home_says_what_it_is() {
    in_a_folder(|home| {
        assert_eq!(home.config().unwrap(), None);
        for ledger in LedgerKind::ALL.iter().copied() {
            home.write_config(&HomeConfig { ledger }).unwrap();
            assert_eq!(home.config().unwrap(), Some(HomeConfig { ledger }));
        }
        let names: Vec<_> = fs::read_dir(home.root()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names.len(), 2, "{names:?}");
    });
}

#[test]
fn a_draft_that_a_killed_process_left_does_not_block_the_configuration() {
    in_a_folder(|home| {
        fs::write(home.root().join(".home.json.1"), "{").unwrap();
        home.write_config(&HomeConfig { ledger: LedgerKind::Memory }).unwrap();
        assert!(home.config().unwrap().is_some());
    });
}

#[test]
fn a_newer_home_is_refused_with_both_versions() {
    in_a_folder(|home| {
        let path = home.root().join("home.json");
        fs::write(&path, r#"{"format_version":2,"ledger":{"kind":"new"}}"#).unwrap();
        let error = home.config().unwrap_err();
        assert!(matches!(error, ArtifactError::FutureVersion { found: 2, supported: 1, .. }), "{error:?}");
        let message = format!("{} has version 2, and this trace reads up to 1; use a newer trace", path.display());
        assert_eq!(error.to_string(), message);
        fs::write(&path, r#"{"format_version":1,"ledger":"clay"}"#).unwrap();
        assert!(matches!(home.config().unwrap_err(), ArtifactError::UnknownLedger { name, .. } if name == "clay"));
        for text in ["", "{", "[]", r#"{"ledger":"memory"}"#] {
            fs::write(&path, text).unwrap();
            assert!(matches!(home.config(), Err(ArtifactError::Malformed { .. })), "{text}");
        }
    });
}

#[test]
fn a_launch_reads_back_as_it_was_written() {
    in_a_folder(|home| {
        let header = samples::header(1);
        drop(publish(home, &header, 1).unwrap());
        let launch = home.open_launch(&header.artifact_dir()).unwrap();
        assert_eq!(launch.header(), &header);
        assert_eq!(launch.path(), &header.artifact_dir());
        assert_eq!(launch.context(1).unwrap().0, context(1, 1));
        assert!(launch.context(2).unwrap_err().is_not_found());
        let turn = home.root().join(folder(1)).join("turns");
        assert_eq!(fs::read_to_string(turn.join("0001-system.md")).unwrap(), "Be brief.");
        assert_eq!(fs::read_to_string(turn.join("0001-task.md")).unwrap(), "Count to ten.");
    });
}

#[test]
fn a_turn_without_prompts_has_only_its_context() {
    in_a_folder(|home| {
        let mut launch = LaunchFiles::stage(home, &samples::header(1)).unwrap();
        let context = context(1, 1);
        let files = trace_capture::artifacts::TurnFiles { ordinal: 1, system: None, task: None, context: &context };
        let written = launch.turn_writer().write(&files).unwrap();
        launch.publish().unwrap();
        assert_eq!((written.system_prompt_path, written.task_prompt_path), (None, None));
        let names = fs::read_dir(home.root().join(folder(1)).join("turns")).unwrap().count();
        assert_eq!(names, 1);
    });
}

#[test]
fn the_paths_of_a_turn_are_those_of_rows() {
    in_a_folder(|home| {
        let mut launch = LaunchFiles::stage(home, &samples::header(1)).unwrap();
        let written = super::support::write_turn(&mut launch, 1, 1).unwrap();
        launch.publish().unwrap();
        let paths = [written.system_prompt_path, written.task_prompt_path].map(Option::unwrap);
        let turn = samples::turn(1, 1);
        assert_eq!(paths, [turn.system_prompt_path, turn.task_prompt_path].map(Option::unwrap));
        for path in &paths {
            home.open_artifact(path).unwrap();
        }
        let (_, found) = home.open_launch(&samples::header(1).artifact_dir()).unwrap().context(1).unwrap();
        assert_eq!(found, written.context_sha256);
    });
}

#[test]
fn a_header_from_a_newer_version_or_another_folder_is_refused() {
    in_a_folder(|home| {
        drop(publish(home, &samples::header(1), 1).unwrap());
        let dir = samples::header(1).artifact_dir();
        let path = home.root().join(folder(1)).join("launch.json");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("\"schema_version\": 1", "\"schema_version\": 7")).unwrap();
        assert!(matches!(home.open_launch(&dir), Err(ArtifactError::FutureVersion { found: 7, supported: 1, .. })));
        fs::write(&path, text.replace("worker-1", "worker-2")).unwrap();
        let error = home.open_launch(&dir).unwrap_err();
        assert!(matches!(&error, ArtifactError::Misplaced { named, .. } if named.contains("worker-2")), "{error:?}");
        fs::write(&path, "{}").unwrap();
        assert!(matches!(home.open_launch(&dir), Err(ArtifactError::Malformed { .. })));
        fs::remove_file(&path).unwrap();
        assert!(home.open_launch(&dir).unwrap_err().is_not_found());
    });
}

#[test]
fn a_home_that_cannot_be_made_is_an_error_with_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "x").unwrap();
    for root in [file.clone(), file.join("home")] {
        let error = Home::open_real(&root).unwrap_err();
        assert!(error.to_string().contains(&*root.to_string_lossy()), "{error}");
    }
    assert!(Path::new(&file).is_file());
}

#[test]
fn a_real_lease_is_locked_as_long_as_its_writer_lives() {
    in_a_folder(|home| {
        let mut staged = LaunchFiles::stage(home, &samples::header(1)).unwrap();
        let again = LaunchFiles::stage(home, &samples::header(1));
        assert!(matches!(again, Err(ArtifactError::AlreadyExists { .. })));
        staged.publish().unwrap();
        let dir = home.open_launch(&samples::header(1).artifact_dir()).unwrap();
        assert!(dir.is_live().unwrap());
        let handles = staged.sync_handles().unwrap();
        drop(staged);
        assert!(!dir.is_live().unwrap(), "duplicates of other files do not hold the lease");
        drop(handles);
    });
}
