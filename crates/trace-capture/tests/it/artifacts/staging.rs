//! Launches on their way from nothing to published.

use std::{path::Path, sync::mpsc, thread};

use trace_capture::artifacts::{ArtifactError, FileEffects, LaunchFiles, Lock};
use trace_testkit::{SimulatedFiles, samples};

use super::support::{
    events, folder, hashes_are_those_of_the_files, home, line, only_launch, publish, staging_folder, write_turn,
};

fn paths(files: &SimulatedFiles) -> Vec<String> {
    files.paths().iter().map(|path| path.display().to_string()).collect()
}

fn is_already_exists(result: &Result<LaunchFiles, ArtifactError>) -> bool {
    matches!(result, Err(ArtifactError::AlreadyExists { .. }))
}

#[test]
fn a_published_launch_has_its_name_and_all_its_files() {
    let files = SimulatedFiles::new();
    let launch = publish(&home(&files), &samples::header(1), 1).unwrap();
    let names = [
        "",
        "/conversation.jsonl",
        "/launch.json",
        "/lease",
        "/raw",
        "/raw/index.jsonl",
        "/raw/stderr",
        "/raw/stdout",
        "/turns",
        "/turns/0001-context.json",
        "/turns/0001-system.md",
        "/turns/0001-task.md",
    ];
    let inside: Vec<String> = names.iter().map(|name| format!("{}{name}", folder(1))).collect();
    let run = format!("traces/{}", samples::header(1).run_id);
    let above = [String::from("traces"), run.clone(), format!("{run}/worker-1")];
    assert_eq!(paths(&files), [&above[..], &inside[..]].concat());
    drop(launch);
    assert!(only_launch(&home(&files)).is_some(), "a published launch stays when its writer goes");
}

#[test]
fn a_launch_that_keeps_no_output_has_no_raw_folder() {
    let files = SimulatedFiles::new();
    let header = samples::bare_launch(1).header;
    let mut launch = publish(&home(&files), &header, 1).unwrap();
    assert!(!paths(&files).iter().any(|path| path.contains("raw")));
    assert!(launch.append_raw(trace_model::words::OutputStream::Stdout, samples::time(9), b"x").is_err());
}

#[test]
fn a_staged_launch_is_in_no_list() {
    let files = SimulatedFiles::new();
    let home = home(&files);
    let _staged = LaunchFiles::stage(&home, &samples::header(1)).unwrap();
    assert_eq!(home.list_launch_artifact_dirs().unwrap(), []);
}

#[test]
fn a_handle_dropped_before_its_launch_is_published_leaves_nothing_behind() {
    let files = SimulatedFiles::new();
    let mut staged = LaunchFiles::stage(&home(&files), &samples::header(1)).unwrap();
    write_turn(&mut staged, 1, 1).unwrap();
    drop(staged);
    assert_eq!(paths(&files), ["traces"]);
}

#[test]
fn discarding_leaves_nothing_behind_even_of_a_published_launch() {
    let files = SimulatedFiles::new();
    publish(&home(&files), &samples::header(1), 1).unwrap().discard();
    assert_eq!(paths(&files), ["traces"]);
}

#[test]
fn discarding_keeps_the_other_launches_of_the_process() {
    let files = SimulatedFiles::new();
    let home = home(&files);
    let first = LaunchFiles::stage(&home, &samples::header(1)).unwrap();
    let _second = publish(&home, &samples::header(2), 2).unwrap();
    first.discard();
    assert_eq!(only_launch(&home).unwrap().header().id, samples::launch_id(2));
}

#[test]
fn a_published_launch_is_not_made_again() {
    let files = SimulatedFiles::new();
    let home = home(&files);
    drop(publish(&home, &samples::header(1), 1).unwrap());
    let before = files.paths();
    assert!(is_already_exists(&LaunchFiles::stage(&home, &samples::header(1))));
    assert_eq!(files.paths(), before);
}

#[test]
fn a_live_staging_folder_is_left_to_its_writer() {
    let files = SimulatedFiles::new();
    let home = home(&files);
    let mut staged = LaunchFiles::stage(&home, &samples::header(1)).unwrap();
    let before = files.paths();
    assert!(is_already_exists(&LaunchFiles::stage(&home, &samples::header(1))));
    assert_eq!(files.paths(), before);
    staged.append(&line(0)).unwrap();
    staged.publish().unwrap();
    assert_eq!(events(&only_launch(&home).unwrap()).0, [0]);
}

#[test]
fn a_stale_staging_folder_goes_to_quarantine_and_blocks_nobody() {
    let mut files = SimulatedFiles::new();
    for round in 1..=3 {
        let mut staged = LaunchFiles::stage(&home(&files), &samples::header(1)).unwrap();
        staged.append(&line(round)).unwrap();
        files = files.after_kill();
    }
    let _published = publish(&home(&files), &samples::header(1), 1).unwrap();
    let id = samples::launch_id(1);
    for (place, round) in [(format!("{id}.staging"), 1), (format!("{id}.staging.2"), 2), (format!("{id}.staging.3"), 3)]
    {
        let kept = files.content(Path::new(&format!("quarantine/{place}/conversation.jsonl"))).unwrap();
        assert_eq!(kept, line(round), "{place}");
    }
    assert!(!paths(&files).contains(&staging_folder(1)));
}

#[test]
fn a_staging_folder_without_a_lease_is_stale() {
    let files = SimulatedFiles::new();
    let home = home(&files);
    drop(publish(&home, &samples::header(2), 2).unwrap());
    files.create_dir(Path::new(&staging_folder(1))).unwrap();
    drop(publish(&home, &samples::header(1), 1).unwrap());
    assert_eq!(home.list_launch_artifact_dirs().unwrap().len(), 2);
}

/// Returns files with the staging folder of a writer that died.
fn stale() -> SimulatedFiles {
    let files = SimulatedFiles::new();
    let _stale = LaunchFiles::stage(&home(&files), &samples::header(1)).unwrap();
    files.after_kill()
}

/// Begins the same launch twice, the second time before each single file operation of the first.
fn exactly_one_of_two_begins_gets_the_launch(prepare: impl Fn() -> SimulatedFiles) {
    for nth in 1.. {
        let files = prepare();
        let (sender, receiver) = mpsc::channel();
        let second = home(&files);
        let first = home(&files);
        files.interrupt_at(nth, move || {
            sender.send(LaunchFiles::stage(&second, &samples::header(1))).unwrap();
        });
        let first_staged = LaunchFiles::stage(&first, &samples::header(1));
        if files.awaits_interruption() {
            assert!(nth > 5, "the first begin was never interrupted");
            return;
        }
        let second_staged = receiver.recv().unwrap();
        assert!(first_staged.is_ok() != second_staged.is_ok(), "{nth}: {first_staged:?} and {second_staged:?}");
        let mut staged = first_staged.or(second_staged).unwrap();
        write_turn(&mut staged, 1, 1).unwrap();
        staged.append(&line(0)).unwrap();
        staged.publish().unwrap();
        assert_eq!(events(&only_launch(&first).unwrap()).0, [0], "{nth}");
        hashes_are_those_of_the_files(&files, &mut staged);
    }
}

#[test]
fn of_two_that_begin_a_launch_at_once_exactly_one_gets_it() {
    exactly_one_of_two_begins_gets_the_launch(SimulatedFiles::new);
}

#[test]
fn of_two_that_find_a_stale_staging_folder_at_once_exactly_one_gets_the_launch() {
    exactly_one_of_two_begins_gets_the_launch(stale);
}

/// Begins the same launch twice. The first one stops before each of its file operations, until the second one has come
/// to each of its own; then the first goes on to its end, and the second after it.
fn exactly_one_of_two_entangled_begins_gets_the_launch(prepare: impl Fn() -> SimulatedFiles) {
    for first_stop in 1.. {
        for second_stop in 1.. {
            let files = prepare();
            let (first, second) = (home(&files), home(&files));
            let (sender, news) = mpsc::channel();
            let (go, gate) = mpsc::channel::<()>();
            files.interrupt_at(first_stop, {
                let sender = sender.clone();
                move || {
                    sender.send(None).unwrap();
                    // Nobody sends anything: it opens when the other end is dropped.
                    let _ = gate.recv();
                }
            });
            let thread =
                thread::spawn(move || drop(sender.send(Some(LaunchFiles::stage(&first, &samples::header(1))))));
            let first_ended = news.recv().unwrap();
            if first_ended.is_some() {
                // Its files are removed now, and nothing shall stop that.
                files.interrupt_at(u64::MAX, || {});
                assert!(first_stop > 5, "the first begin was never stopped");
                return;
            }
            let (give, given) = mpsc::channel();
            files.interrupt_at(second_stop, move || {
                drop(go);
                give.send(news.recv().unwrap().unwrap()).unwrap();
            });
            let second_staged = LaunchFiles::stage(&second, &samples::header(1));
            if files.awaits_interruption() {
                // The second one came to its end before that: what the first does then is no entanglement.
                files.interrupt_at(u64::MAX, || {});
                thread.join().unwrap();
                break;
            }
            thread.join().unwrap();
            let first_staged = given.recv().unwrap();
            let stops = (first_stop, second_stop);
            assert!(first_staged.is_ok() != second_staged.is_ok(), "{stops:?}: {first_staged:?}, {second_staged:?}");
            let mut staged = first_staged.or(second_staged).unwrap();
            write_turn(&mut staged, 1, 1).unwrap();
            staged.append(&line(0)).unwrap();
            staged.publish().unwrap();
            assert_eq!(events(&only_launch(&second).unwrap()).0, [0], "{stops:?}");
        }
    }
}

#[test]
fn of_two_entangled_begins_exactly_one_gets_the_launch() {
    exactly_one_of_two_entangled_begins_gets_the_launch(SimulatedFiles::new);
}

#[test]
fn of_two_entangled_begins_at_a_stale_staging_folder_exactly_one_gets_the_launch() {
    exactly_one_of_two_entangled_begins_gets_the_launch(stale);
}

#[test]
fn a_begin_that_fails_beside_another_does_not_take_its_folders_away() {
    for nth in 1.. {
        let files = SimulatedFiles::new();
        let home = home(&files);
        let other = LaunchFiles::stage(&home, &samples::header(2)).unwrap();
        files.interrupt_at(nth, move || other.discard());
        let mut staged = LaunchFiles::stage(&home, &samples::header(1)).unwrap();
        staged.append(&line(0)).unwrap();
        staged.publish().unwrap();
        assert_eq!(events(&only_launch(&home).unwrap()).0, [0], "{nth}");
        if files.awaits_interruption() {
            break;
        }
    }
}

#[test]
fn two_who_ask_at_once_whether_a_launch_is_live_do_not_take_each_other_for_its_writer() {
    let files = SimulatedFiles::new();
    let home = home(&files);
    drop(publish(&home, &samples::header(1), 1).unwrap());
    let other = files.open_file(Path::new(&format!("{}/lease", folder(1)))).unwrap();
    assert!(other.try_lock(Lock::Shared).unwrap());
    assert!(!only_launch(&home).unwrap().is_live().unwrap());
}

#[test]
fn a_lease_says_who_writes() {
    let files = SimulatedFiles::new();
    let _launch = publish(&home(&files), &samples::header(1), 1).unwrap();
    let text = files.content(Path::new(&format!("{}/lease", folder(1)))).unwrap();
    let lease: serde_json::Value = serde_json::from_slice(&text).unwrap();
    assert_eq!(lease["pid"], std::process::id());
    assert_eq!(lease["host"], "builder");
    let told = ["process_start", "boot_id"].map(|key| !lease[key].is_null());
    assert_eq!(told, [cfg!(target_os = "linux"); 2], "{lease}");
}

#[test]
fn a_launch_is_live_as_long_as_its_writer() {
    let files = SimulatedFiles::new();
    let home = home(&files);
    let launch = publish(&home, &samples::header(1), 1).unwrap();
    let dir = only_launch(&home).unwrap();
    assert!(dir.is_live().unwrap());
    assert!(dir.is_live().unwrap(), "asking changes nothing");
    drop(launch);
    assert!(!dir.is_live().unwrap());
}
