//! Before a write is acknowledged, what sled wrote is synced: seen from outside, in the system calls of a process.
//!
//! sled's own flush calls `sync_file_range`, which starts writing and leaves the disk's cache as it is. It takes an
//! `fsync` of the file behind it.

use std::{
    collections::HashMap,
    env, fs,
    io::{ErrorKind, Write},
    path::PathBuf,
    process::Command,
};

use pollster::block_on;
use trace_model::ledger::Ledger;
use trace_store_sled::SledLedger;
use trace_testkit::samples;

/// Tells the process that the test starts which ledger to write to.
const CHILD_LEDGER: &str = "TRACE_TEST_TRACED_LEDGER";

/// What the process prints when a write was acknowledged.
const ACKNOWLEDGED: &str = "acknowledged";

/// The writes of the process.
const WRITES: usize = 30;

/// The calls that are traced: all that put bytes into a file, or make them survive.
const TRACED: &str = "trace=write,writev,pwrite64,pwritev,pwritev2,fsync,fdatasync";

/// This is the program of the process that the test below starts; by itself there is nothing to do.
#[test]
fn child_writes_and_says_so() {
    let Some(path) = env::var_os(CHILD_LEDGER) else { return };
    let ledger = SledLedger::open(&PathBuf::from(path)).unwrap();
    // One call each, unlike `println`, and never held back.
    let acknowledge = || std::io::stderr().write_all(ACKNOWLEDGED.as_bytes()).unwrap();
    block_on(async {
        ledger.apply(&samples::beginning(1)).await.unwrap();
        acknowledge();
        for write in 2..WRITES {
            let record = samples::usage_record(1, Some(1), &format!("{write}"));
            ledger.apply(&samples::usage_boundary(1, [record])).await.unwrap();
            acknowledge();
        }
        ledger.reserve(&samples::reservation(2)).await.unwrap();
        acknowledge();
    });
}

#[test]
fn the_last_call_on_the_data_before_each_acknowledgement_is_an_fsync() {
    let folder = tempfile::tempdir().unwrap();
    let (path, trace) = (folder.path().join("ledger.sled"), folder.path().join("trace"));
    let traced = Command::new("strace")
        .args(["-f", "-y", "-e", TRACED, "-o"])
        .arg(&trace)
        .arg(env::current_exe().unwrap())
        .args(["--exact", "system_calls::child_writes_and_says_so", "--nocapture"])
        .env(CHILD_LEDGER, &path)
        .output();
    let traced = match traced {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            panic!("strace is not installed; `cargo xtask ci --only tests` installs it")
        }
        traced => traced.unwrap(),
    };
    assert!(traced.status.success(), "{}", String::from_utf8_lossy(&traced.stderr));
    let text = String::from_utf8_lossy(&fs::read(&trace).unwrap()).into_owned();
    let data = path.canonicalize().unwrap().join("db");
    assert_eq!(check(&text, data.to_str().unwrap()), Ok(WRITES));
}

/// A system call that is over, by the lines of the trace at which it began and ended.
struct Call<'a> {
    name: &'a str,
    /// From the first argument on.
    arguments: &'a str,
    began: usize,
    ended: usize,
    result: &'a str,
}

impl Call<'_> {
    fn is_sync(&self) -> bool {
        matches!(self.name, "fsync" | "fdatasync")
    }

    fn is_on(&self, path: &str) -> bool {
        self.arguments.split_once('<').is_some_and(|(_, rest)| rest.starts_with(&format!("{path}>")))
    }

    fn acknowledges(&self) -> bool {
        self.name == "write" && self.arguments.contains(&format!("\"{ACKNOWLEDGED}\""))
    }
}

/// Reads the calls, each from its line, or from the two lines of one that others came between.
fn calls(trace: &str) -> Vec<Call<'_>> {
    let mut unfinished = HashMap::new();
    let mut calls = Vec::new();
    for (line, text) in trace.lines().enumerate() {
        let Some((thread, text)) = text.split_once(' ') else { continue };
        let text = text.trim_start();
        if let Some(call) = text.strip_suffix("<unfinished ...>") {
            unfinished.insert(thread, (line, call));
            continue;
        }
        let (began, call) = match unfinished.remove(thread) {
            Some(beginning) if text.starts_with("<... ") => beginning,
            _ => (line, text),
        };
        let (Some((name, arguments)), Some((_, result))) = (call.split_once('('), text.rsplit_once(" = ")) else {
            continue;
        };
        calls.push(Call { name, arguments, began, ended: line, result });
    }
    calls
}

/// Checks that each acknowledgement comes after a sync that succeeded, and that after the sync began, nothing more was
/// written to the data. Returns the number of acknowledgements.
fn check(trace: &str, data: &str) -> Result<usize, String> {
    let calls = calls(trace);
    let on_data = || calls.iter().filter(|call| call.is_on(data));
    let mut acknowledged = 0;
    let mut since = 0;
    for acknowledgement in calls.iter().filter(|call| call.acknowledges()) {
        acknowledged += 1;
        let before = || on_data().filter(|call| call.began < acknowledgement.began);
        let last_write = before().filter(|call| !call.is_sync()).map(|call| call.ended).max();
        let last_write = last_write.filter(|line| *line >= since);
        let last_write = last_write.ok_or_else(|| format!("nothing was written for number {acknowledged}"))?;
        let is_synced = before().any(|call| {
            call.is_sync() && call.result == "0" && call.began > last_write && call.ended < acknowledgement.began
        });
        if !is_synced {
            return Err(format!(
                "number {acknowledged} was acknowledged before the write of line {last_write} was synced"
            ));
        }
        since = acknowledgement.ended;
    }
    Ok(acknowledged)
}

/// What strace prints for two writes, the second one by two threads.
const GOOD: &str = r#"10 pwrite64(5</l/db>, "\0"..., 62, 0) = 62
10 fsync(7</l/db>) = 0
10 write(2<pipe:[1]>, "acknowledged", 12) = 12
11 pwrite64(5</l/db>, "\0"..., 62, 62 <unfinished ...>
10 write(1<pipe:[2]>, "x", 1) = 1
11 <... pwrite64 resumed>) = 62
10 fsync(7</l/db> <unfinished ...>
11 write(8</l/other>, "x", 1) = 1
10 <... fsync resumed>) = 0
10 write(2<pipe:[1]>, "acknowledged", 12) = 12
"#;

#[test]
fn a_trace_with_its_syncs_passes() {
    assert_eq!(check(GOOD, "/l/db"), Ok(2));
    assert_eq!(check(&GOOD.replace("fsync", "fdatasync"), "/l/db"), Ok(2));
}

#[test]
fn a_trace_that_lacks_a_sync_does_not_pass() {
    let without = |line: &str| -> String {
        assert!(GOOD.contains(line));
        GOOD.replace(line, "")
    };
    for trace in [
        // No sync, or one of another file.
        without("10 fsync(7</l/db>) = 0\n"),
        GOOD.replace("fsync(7</l/db>", "fsync(7</l/dba>"),
        // A sync that fails.
        GOOD.replace("fsync(7</l/db>) = 0", "fsync(7</l/db>) = -1 EIO (Input/output error)"),
        GOOD.replace("fsync resumed>) = 0", "fsync resumed>) = -1 EIO (Input/output error)"),
        // One that goes on while the write is acknowledged.
        without("10 <... fsync resumed>) = 0\n"),
        // A write after the sync, or while it goes on.
        GOOD.replace("10 fsync(7</l/db>) = 0\n", "10 fsync(7</l/db>) = 0\n11 pwrite64(5</l/db>, \"\", 1, 0) = 1\n"),
        GOOD.replace("11 write(8</l/other>,", "11 write(8</l/db>,"),
        // Only what sled does by itself.
        GOOD.replace("fsync", "sync_file_range"),
        // An acknowledgement of nothing.
        without("10 pwrite64(5</l/db>, \"\\0\"..., 62, 0) = 62\n"),
    ] {
        assert!(check(&trace, "/l/db").is_err(), "{trace}");
    }
}
