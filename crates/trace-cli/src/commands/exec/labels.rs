//! What a launch is called, and where it runs.

use std::path::{Path, PathBuf};

use anyhow::Context;
use trace_capture::{EnvParts, Labels, Machine};
use trace_model::id::{ProcessId, RunId};

use crate::{environment::Environment, render::output::Messages};

/// Returns the labels of a launch in the folder that the command was started in, within the run of the recorder around
/// it, if there is one.
pub(super) fn labels(environment: &Environment, parts: &EnvParts, messages: Messages) -> anyhow::Result<Labels> {
    let worktree = environment.current_dir.as_deref().context("the working directory is gone")?;
    let repo = git_top_level(worktree).unwrap_or_else(|| worktree.to_path_buf());
    for variable in &environment.ignored {
        messages.say("warning", &variable.to_string());
    }
    let new_id = || parts.ids.next(parts.clock.now());
    let (run_id, process_id) = (RunId::from_uuid(new_id()), ProcessId::from_uuid(new_id()));
    let labels = Labels::new(run_id, process_id, repo.to_string_lossy(), worktree.to_string_lossy());
    Ok(labels.within(environment.parents.clone()))
}

/// Returns what the machine and its user are called.
pub(super) fn machine(environment: &Environment) -> Machine {
    let hostname = rustix::system::uname().nodename().to_str().ok().map(str::to_owned);
    Machine { machine_id: None, hostname, os_user: environment.user.clone() }
}

/// Returns the closest folder above that git knows as the top of a working tree, by the entry that it keeps there.
fn git_top_level(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().find(|folder| folder.join(".git").exists()).map(Path::to_path_buf)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_top_of_a_working_tree_has_a_folder_or_a_file_of_git() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("a/b");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::create_dir(folder.path().join(".git")).unwrap();
        assert_eq!(git_top_level(&inner).as_deref(), Some(folder.path()));
        std::fs::write(folder.path().join("a/.git"), "gitdir: elsewhere").unwrap();
        assert_eq!(git_top_level(&inner), Some(folder.path().join("a")));
    }
}
