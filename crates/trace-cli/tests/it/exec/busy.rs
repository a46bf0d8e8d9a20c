//! A ledger that only one process may have open.

use trace_capture::{Home, LedgerKind, open_home_ledger};

use super::bench::{Bench, stderr, stdout};

#[test]
fn a_launch_beside_a_process_that_has_the_ledger_is_recorded_and_indexed_by_the_next_opening() {
    let bench = Bench::new();
    let home = Home::open_real(&bench.home()).unwrap();
    let held = open_home_ledger(&home, Some(LedgerKind::Sled)).unwrap();
    for word in ["one", "two"] {
        let output = bench.exec(&[], &["echo", word]).output().unwrap();
        assert_eq!(stdout(&output), format!("{word}\n"));
        let text = stderr(&output);
        let place = bench.home().join("ledger.sled");
        assert_eq!(text.matches("is held by another process").count(), 1, "{text}");
        assert!(text.contains(place.to_str().unwrap()), "{text}");
        assert!(text.contains("is recorded without the ledger, until that is opened next"), "{text}");
        assert_eq!(text.lines().count(), 2, "one warning and the summary: {text}");
    }
    let refused = bench.trace().arg("ls").output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("is held by another process"), "{}", stderr(&refused));
    let looked = bench.trace().args(["ls", "--ledger", "memory", "--json"]).output().unwrap();
    assert_eq!(stdout(&looked).matches("\"artifact_dir\"").count(), 2, "{}", stderr(&looked));

    drop(held);
    let listed = bench.trace().args(["ls", "--json"]).output().unwrap();
    assert_eq!((stdout(&listed).matches("\"completed\"").count(), stderr(&listed).as_str()), (2, ""));
    assert!(home.deferred_launches().unwrap().is_empty());
}
