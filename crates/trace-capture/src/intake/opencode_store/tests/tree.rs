use std::{collections::BTreeSet, fs, path::Path};

use serde_json::json;

use super::{
    super::{OpenCodeStoreError, OpenCodeTree},
    support::{ids, sums, values},
};

fn write(storage: &Path, name: &str, value: &serde_json::Value) {
    let path = storage.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    // As OpenCode writes it, on many lines.
    fs::write(path, serde_json::to_string_pretty(value).unwrap()).unwrap();
}

/// A session of two messages, and one below it.
fn tree(storage: &Path) -> OpenCodeTree {
    let session = |parent: Option<&str>, at: i64| json!({"parentID": parent, "title": "t", "directory": "/work", "version": "1.0", "time": {"created": at, "updated": at + 5}});
    write(storage, "session/p/ses_root.json", &session(None, 1000));
    write(storage, "session/p/ses_child.json", &session(Some("ses_root"), 2000));
    write(storage, "session/global/ses_other.json", &session(None, 500));
    let message =
        |role: &str, at: i64| json!({"role": role, "providerID": "p", "modelID": "m", "time": {"created": at}});
    write(storage, "message/ses_root/msg_1.json", &message("user", 1001));
    write(storage, "message/ses_root/msg_3.json", &message("assistant", 3000));
    write(storage, "message/ses_child/msg_2.json", &message("assistant", 2001));
    write(storage, "part/msg_1/prt_1.json", &json!({"type": "text", "text": "go\non"}));
    let step = json!({"type": "step-finish", "reason": "stop", "cost": 0.01,
        "tokens": {"input": 10, "output": 5, "reasoning": 0, "cache": {"read": 100, "write": 0}}});
    write(storage, "part/msg_2/prt_2.json", &step);
    write(storage, "part/msg_3/prt_3.json", &step);
    OpenCodeTree::open(storage)
}

fn lines(tree: &OpenCodeTree, root: &str) -> Vec<u8> {
    let mut lines = Vec::new();
    tree.lines(root, &mut |line| lines.extend_from_slice(line)).unwrap();
    lines
}

#[test]
fn a_session_is_told_with_its_children_and_their_messages_by_time() {
    let folder = tempfile::tempdir().unwrap();
    let tree = tree(folder.path());
    let lines = lines(&tree, "ses_root");
    assert_eq!(ids(&lines, "session"), ["ses_root", "ses_child"]);
    assert_eq!(ids(&lines, "message"), ["msg_1", "msg_2", "msg_3"]);
    assert_eq!(ids(&lines, "part"), ["prt_1", "prt_2", "prt_3"]);
    assert_eq!(sums(&lines), [20, 200, 10]);
    assert_eq!(values(&lines)[0]["row"]["directory"], "/work");
}

#[test]
fn only_what_is_stored_nowhere_else_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let tree = tree(folder.path());
    let sessions = |elsewhere: &[&str]| -> Vec<String> {
        let elsewhere: BTreeSet<String> = elsewhere.iter().map(|id| (*id).to_owned()).collect();
        tree.sessions(&elsewhere).unwrap().into_iter().map(|session| session.id).collect()
    };
    assert_eq!(sessions(&[]), ["ses_other", "ses_root"]);
    assert_eq!(sessions(&["ses_other"]), ["ses_root"]);
    assert_eq!(sessions(&["ses_child"]), ["ses_other"]);
}

#[test]
fn a_session_that_gets_a_message_has_another_state() {
    let folder = tempfile::tempdir().unwrap();
    let tree = tree(folder.path());
    let state = |id: &str| {
        let sessions = tree.sessions(&BTreeSet::new()).unwrap();
        sessions.into_iter().find(|session| session.id == id).unwrap().state
    };
    let (root, other) = (state("ses_root"), state("ses_other"));
    assert_eq!((root.rows, other.rows), (5, 1));
    write(folder.path(), "message/ses_child/msg_4.json", &json!({"role": "assistant"}));
    assert_ne!(state("ses_root"), root, "its child got one");
    assert_eq!(state("ses_other"), other);
}

#[test]
fn files_that_make_no_sense_go_along_and_spoil_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let tree = tree(folder.path());
    fs::write(folder.path().join("part/msg_1/prt_1.json"), "{\"type\":").unwrap();
    fs::write(folder.path().join("session/p/ses_child.json"), b"\xFF\n").unwrap();
    let lines = lines(&tree, "ses_root");
    assert_eq!(values(&lines).iter().filter(|line| line["row"]["data"].is_string()).count(), 1);
    assert_eq!(sums(&lines), [10, 100, 5], "who the parent of the other one was is lost");
    assert_eq!(tree.sessions(&BTreeSet::new()).unwrap().len(), 3);
}

#[test]
fn a_file_that_cannot_be_read_is_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let tree = tree(folder.path());
    fs::create_dir(folder.path().join("part/msg_1/prt_9.json")).unwrap();
    let error = tree.lines("ses_root", &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("prt_9.json"), "{error}");
    assert!(matches!(error, OpenCodeStoreError::Read { .. }));
    assert_eq!(OpenCodeTree::open(&folder.path().join("none")).sessions(&BTreeSet::new()).unwrap(), []);
}
