//! Who may read what is written.

use std::{
    env, fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
    process::Command,
};

use trace_capture::{
    artifacts::{Home, HomeConfig},
    backend::LedgerKind,
};
use trace_testkit::samples;

use super::support::{publish, write_turn};

const CHILD: &str = "TRACE_TEST_HOME_FOR_UMASK";

/// Writes one of everything into a home.
fn fill(root: &Path) {
    let home = Home::open_real(root).unwrap();
    home.write_config(&HomeConfig { ledger: LedgerKind::Memory }).unwrap();
    let mut launch = publish(&home, &samples::header(1), 1).unwrap();
    write_turn(&mut launch, 1, 2).unwrap();
}

fn assert_private(path: &Path) {
    let metadata = fs::symlink_metadata(path).unwrap();
    let mode = metadata.permissions().mode() & 0o7777;
    if metadata.is_dir() {
        assert_eq!(mode, 0o700, "{}", path.display());
        for entry in fs::read_dir(path).unwrap() {
            assert_private(&entry.unwrap().path());
        }
    } else {
        assert_eq!(mode, 0o600, "{}", path.display());
        assert!(metadata.size() > 0 || path.ends_with("raw/stderr"), "{} is empty", path.display());
    }
}

#[test]
fn files_are_their_owners_alone_whatever_the_umask() {
    // The umask belongs to the whole process, so each one is set in a process of its own: this test, run again.
    if let Some(child) = env::var_os(CHILD) {
        let child = child.into_string().unwrap();
        let (umask, root) = child.split_once(':').unwrap();
        let umask = u16::from_str_radix(umask, 8).unwrap();
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(umask.into()));
        fill(Path::new(root));
        return;
    }
    for umask in ["000", "022", "077", "277", "777"] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("above/home");
        let test = "artifacts::private_files::files_are_their_owners_alone_whatever_the_umask";
        let output = Command::new(env::current_exe().unwrap())
            .args(["--exact", test])
            .env(CHILD, format!("{umask}:{}", root.display()))
            .output()
            .unwrap();
        assert!(output.status.success(), "umask {umask}: {}", String::from_utf8_lossy(&output.stdout));
        assert_private(&root);
        assert!(root.join("home.json").exists());
    }
}

#[test]
fn a_folder_that_was_there_before_keeps_its_mode() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fill(folder.path());
    assert_eq!(fs::metadata(folder.path()).unwrap().permissions().mode() & 0o7777, 0o755);
    assert_private(&folder.path().join("traces"));
}
