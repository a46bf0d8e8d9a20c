//! Paths cannot leave the root: no link beneath it is followed, at no level.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use trace_capture::{
    artifacts::{Existing, FileEffects, Home, LaunchFiles, RealFiles},
    backend::LedgerKind,
};
use trace_model::{launch::LaunchHeader, path::ArtifactPath, words::OutputStream};
use trace_testkit::samples;

use super::support::{folder, publish, staging_folder, write_turn};

/// A home, and a folder outside of it.
struct Place {
    _folder: tempfile::TempDir,
    root: PathBuf,
    outside: PathBuf,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let [root, outside] = ["home", "outside"].map(|name| folder.path().join(name));
        fs::create_dir(&outside).unwrap();
        Self { _folder: folder, root, outside }
    }

    fn home(&self) -> Home {
        Home::open_real(&self.root).unwrap()
    }

    fn header() -> LaunchHeader {
        samples::header(1)
    }

    /// Moves something of the home outside and puts a link in its place.
    fn replace_by_a_link(&self, path: &str) {
        let outside = self.outside.join("moved");
        fs::rename(self.root.join(path), &outside).unwrap();
        symlink(&outside, self.root.join(path)).unwrap();
    }

    fn assert_nothing_outside(&self) {
        let entries: Vec<_> = fs::read_dir(&self.outside).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(entries.is_empty(), "{entries:?}");
    }
}

/// The folders that lead to the n-th launch, outermost first.
fn folders_above(n: u32) -> [String; 3] {
    let header = samples::header(n);
    let run = format!("traces/{}", header.run_id);
    [String::from("traces"), run.clone(), format!("{run}/{}", header.process_id)]
}

#[test]
fn a_home_whose_traces_are_a_link_is_not_opened() {
    let place = Place::new();
    fs::create_dir(&place.root).unwrap();
    symlink(&place.outside, place.root.join("traces")).unwrap();
    let error = Home::open_real(&place.root).unwrap_err();
    assert!(error.to_string().ends_with("home/traces"), "{error}");
    place.assert_nothing_outside();
}

#[test]
fn the_root_itself_may_be_a_link() {
    let place = Place::new();
    symlink(&place.outside, &place.root).unwrap();
    drop(publish(&place.home(), &Place::header(), 1).unwrap());
    assert!(place.outside.join(folder(1)).join("launch.json").exists());
}

#[test]
fn nothing_is_made_behind_a_link_to_a_folder() {
    for level in folders_above(1) {
        let place = Place::new();
        let home = place.home();
        let path = place.root.join(&level);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = fs::remove_dir(&path);
        symlink(&place.outside, &path).unwrap();
        assert!(LaunchFiles::stage(&home, &Place::header()).is_err(), "{level}");
        place.assert_nothing_outside();
        assert!(fs::symlink_metadata(&path).unwrap().is_symlink(), "{level}");
    }
}

#[test]
fn a_link_in_the_place_of_a_launch_or_its_staging_folder_is_not_followed() {
    for path in [folder(1), staging_folder(1)] {
        let place = Place::new();
        let home = place.home();
        fs::create_dir_all(place.root.join(&path).parent().unwrap()).unwrap();
        symlink(&place.outside, place.root.join(&path)).unwrap();
        assert!(LaunchFiles::stage(&home, &Place::header()).is_err(), "{path}");
        place.assert_nothing_outside();
    }
}

#[test]
fn a_link_to_a_quarantine_takes_nothing_out_of_the_home() {
    let place = Place::new();
    let home = place.home();
    fs::create_dir_all(place.root.join(staging_folder(1))).unwrap();
    symlink(&place.outside, place.root.join("quarantine")).unwrap();
    assert!(LaunchFiles::stage(&home, &Place::header()).is_err());
    place.assert_nothing_outside();
}

#[test]
fn a_turn_is_not_written_behind_a_link() {
    for level in [folder(1), format!("{}/turns", folder(1))] {
        let place = Place::new();
        let mut launch = publish(&place.home(), &Place::header(), 1).unwrap();
        place.replace_by_a_link(&level);
        assert!(write_turn(&mut launch, 1, 2).is_err(), "{level}");
        let turn = place.outside.join("moved").join(if level.ends_with("turns") { "" } else { "turns" });
        assert!(!turn.join("0002-context.json").exists(), "{level}");
    }
}

#[test]
fn nothing_is_read_behind_a_link() {
    let levels = folders_above(1).into_iter().chain([folder(1)]);
    let files = ["launch.json", "conversation.jsonl", "turns", "turns/0001-context.json", "raw", "raw/stdout"];
    for level in levels.chain(files.map(|name| format!("{}/{name}", folder(1)))) {
        let place = Place::new();
        let home = place.home();
        drop(publish(&home, &Place::header(), 1).unwrap());
        place.replace_by_a_link(&level);
        let dir = Place::header().artifact_dir();
        let read = |name: &str| home.open_artifact(&dir.join(name).unwrap()).map(drop);
        for name in ["launch.json", "conversation.jsonl", "turns/0001-context.json", "raw/stdout"] {
            let path = format!("{}/{name}", folder(1));
            let is_behind = Path::new(&path).starts_with(&level);
            assert_eq!(read(name).is_err(), is_behind, "{name} with a link at {level}");
        }
        let opened = home.open_launch(&dir).and_then(|launch| {
            launch.context(1)?;
            launch.raw(OutputStream::Stdout)?;
            launch.conversation().map(drop)
        });
        assert!(opened.is_err(), "{level}");
    }
}

#[test]
fn an_error_at_a_link_says_so() {
    let place = Place::new();
    let home = place.home();
    drop(publish(&home, &Place::header(), 1).unwrap());
    place.replace_by_a_link(&format!("{}/turns", folder(1)));
    let path = Place::header().artifact_dir().join("turns/0001-task.md").unwrap();
    let error = home.open_artifact(&path).map(drop).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("could not open {}", place.root.join("traces").join(path.as_str()).display())
    );
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(source, "turns is a link, and links are not followed");
}

#[test]
fn a_configuration_behind_a_link_is_neither_read_nor_overwritten() {
    let place = Place::new();
    let home = place.home();
    let outside = place.outside.join("home.json");
    let text = br#"{"format_version":1,"ledger":"memory"}"#;
    fs::write(&outside, text).unwrap();
    symlink(&outside, place.root.join("home.json")).unwrap();
    assert!(home.config().is_err());
    home.write_config(&trace_capture::artifacts::HomeConfig { ledger: LedgerKind::Sqlite }).unwrap();
    assert_eq!(fs::read(&outside).unwrap(), text, "the link was replaced, not what it names");
    assert_eq!(home.config().unwrap().unwrap().ledger, LedgerKind::Sqlite);
}

#[test]
fn links_are_in_no_list() {
    let place = Place::new();
    let home = place.home();
    drop(publish(&home, &Place::header(), 1).unwrap());
    let [_, run, process] = folders_above(1);
    for (level, name) in [("traces", "run"), (&*run, "process"), (&*process, "launch")] {
        symlink(place.root.join(folder(1)), place.root.join(level).join(name)).unwrap();
    }
    assert_eq!(home.list_launch_artifact_dirs().unwrap(), [Place::header().artifact_dir()]);
}

#[test]
fn a_named_pipe_in_the_place_of_a_file_keeps_nobody_waiting() {
    let place = Place::new();
    let home = place.home();
    drop(publish(&home, &Place::header(), 1).unwrap());
    let path = place.root.join(folder(1)).join("conversation.jsonl");
    fs::remove_file(&path).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    let launch = home.open_launch(&Place::header().artifact_dir()).unwrap();
    assert!(launch.conversation().is_err());
}

#[test]
fn only_plain_names_beneath_the_root_are_paths() {
    let place = Place::new();
    let files = RealFiles::open(&place.root).unwrap();
    fs::write(place.outside.join("secret"), "x").unwrap();
    let absolute = place.outside.join("secret");
    for path in
        [Path::new("../outside/secret"), Path::new("./../outside/secret"), &absolute, Path::new(".."), Path::new("/")]
    {
        assert!(files.open_file(path).is_err(), "{}", path.display());
        assert!(files.create_file(path).is_err(), "{}", path.display());
        assert!(files.create_dir(path).is_err(), "{}", path.display());
        assert!(files.remove_file(path).is_err(), "{}", path.display());
        assert!(files.rename(path, Path::new("here"), Existing::Replace).is_err(), "{}", path.display());
    }
    assert!("../../outside/secret".parse::<ArtifactPath>().is_err());
    assert!(absolute.exists());
}

#[test]
fn a_rename_that_must_not_replace_does_not() {
    let place = Place::new();
    let files = RealFiles::open(&place.root).unwrap();
    for name in ["from", "to"] {
        files.create_dir(Path::new(name)).unwrap();
    }
    let renamed = files.rename(Path::new("from"), Path::new("to"), Existing::Refuse);
    assert_eq!(renamed.unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
    files.rename(Path::new("from"), Path::new("elsewhere"), Existing::Refuse).unwrap();
}
