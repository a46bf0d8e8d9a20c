//! Every forbidden mistake, made in a scratch copy of this workspace and seen refused.

mod compiled;
mod layers;
mod manifests;
mod purity;
mod tidy;

use crate::workspace::{Files, Problem, Workspace, read_files};

/// One of the checks of `ci`.
type Check = fn(&Workspace) -> Vec<Problem>;

const CHECKS: [Check; 4] = [crate::layers::check, crate::manifests::check, crate::purity::check, crate::tidy::check];

#[test]
fn the_workspace_as_it_is_is_accepted() {
    let found: Vec<String> = CHECKS.iter().flat_map(|check| problems(*check, scratch())).collect();
    assert_eq!(found, Vec::<String>::new());
}

/// Returns the texts of this workspace, to be changed at will.
fn scratch() -> Files {
    read_files(crate::root()).unwrap()
}

fn problems(check: Check, files: Files) -> Vec<String> {
    check(&Workspace::from_files(files).unwrap()).iter().map(ToString::to_string).collect()
}

/// Makes a mistake, and expects `check` to find exactly these problems that were not there before.
#[track_caller]
fn refused(check: Check, mistake: impl FnOnce(&mut Files), expected: &[&str]) {
    let before = problems(check, scratch());
    let mut files = scratch();
    mistake(&mut files);
    let mut found = problems(check, files);
    found.retain(|problem| !before.contains(problem));
    assert_eq!(found, expected);
}

/// Replaces the first `old` in the file at `path`.
#[track_caller]
fn replace(files: &mut Files, path: &str, old: &str, new: &str) {
    let text = files.get_mut(path).unwrap();
    assert!(text.contains(old), "{path} does not contain {old:?}");
    *text = text.replacen(old, new, 1);
}

/// Adds a file.
fn write(files: &mut Files, path: &str, text: &str) {
    assert!(files.insert(path.to_owned(), text.to_owned()).is_none(), "{path} is there already");
}
