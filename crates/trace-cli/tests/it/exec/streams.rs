//! What passes between the agent and whoever reads us.

use std::{
    fs::{self, File},
    io::{Read, Write},
    process::Stdio,
    thread,
};

use super::bench::{Bench, stderr, stdout};

/// Returns bytes of all values, in no order that a line has.
fn binary(len: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}

#[test]
fn both_streams_pass_byte_for_byte_and_are_on_record() {
    let bench = Bench::new();
    let (out, err) = (binary(10 << 20), binary(300_000));
    fs::write(bench.path("out"), &out).unwrap();
    fs::write(bench.path("err"), &err).unwrap();
    let output = bench.exec(&["--quiet"], &["sh", "-c", "cat out; cat err >&2"]).output().unwrap();
    assert!(output.status.success());
    assert!(output.stdout == out, "stdout differs");
    assert!(output.stderr == err, "stderr differs");
    assert!(bench.artifact("raw/stdout") == out, "raw/stdout differs");
    assert!(bench.artifact("raw/stderr") == err, "raw/stderr differs");
}

#[test]
fn two_streams_that_are_one_file_keep_their_order() {
    let bench = Bench::new();
    let log = File::create(bench.path("log")).unwrap();
    let mut command = bench.exec(&["--quiet"], &["sh", "-c", "echo 1; echo 2 >&2; echo 3; echo 4 >&2"]);
    command.stdout(log.try_clone().unwrap()).stderr(log);
    assert!(command.status().unwrap().success());
    assert_eq!(fs::read_to_string(bench.path("log")).unwrap(), "1\n2\n3\n4\n");
    assert_eq!(bench.artifact("raw/stdout"), b"1\n2\n3\n4\n");
    assert_eq!(bench.artifact("raw/stderr"), b"");
}

#[test]
fn a_stream_that_goes_nowhere_is_recorded_all_the_same() {
    let bench = Bench::new();
    let status = bench.shell("echo seen by nobody").stdout(Stdio::null()).status().unwrap();
    assert!(status.success());
    assert_eq!(bench.artifact("raw/stdout"), b"seen by nobody\n");
}

#[test]
fn the_agent_has_our_standard_input() {
    let bench = Bench::new();
    let mut trace = bench.exec(&[], &["cat"]).stdin(Stdio::piped()).spawn().unwrap();
    let (mut stdin, mut reader) = (trace.stdin.take().unwrap(), trace.stdout.take().unwrap());
    // The answer to each line comes before the next one is asked: nothing is held back on the way.
    for line in [&b"first\n"[..], b"second\n"] {
        stdin.write_all(line).unwrap();
        let mut echo = vec![0; line.len()];
        reader.read_exact(&mut echo).unwrap();
        assert_eq!(echo, line);
    }
    drop(stdin);
    assert!(trace.wait().unwrap().success());
}

#[test]
fn a_task_from_standard_input_is_recorded_and_given_to_the_agent() {
    let bench = Bench::new();
    let task = "Füge einen Test hinzu.\n".repeat(20_000);
    let mut command = bench.exec(&["--task-file", "-"], &["cat"]);
    let mut trace = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = trace.stdin.take().unwrap();
    let text = task.clone();
    let writer = thread::spawn(move || stdin.write_all(text.as_bytes()).unwrap());
    let output = trace.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stdout(&output), task);
    assert_eq!(bench.artifact("turns/0001-task.md"), task.as_bytes());
    assert_eq!(bench.show()["turns"][0]["context_coverage"], "assembled");
}

#[test]
fn an_agent_need_not_read_the_task() {
    let bench = Bench::new();
    fs::write(bench.path("task"), "word ".repeat(200_000)).unwrap();
    let mut command = bench.exec(&["--task-file", "-"], &["true"]);
    command.stdin(File::open(bench.path("task")).unwrap());
    assert!(command.status().unwrap().success());
}

#[test]
fn when_our_reader_is_gone_the_agent_finds_its_pipe_closed() {
    let bench = Bench::new();
    let mut trace = bench.exec(&[], &["yes"]).spawn().unwrap();
    let mut reader = trace.stdout.take().unwrap();
    let mut first = [0; 2];
    reader.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"y\n");
    drop(reader);
    // 13 is SIGPIPE.
    assert_eq!(trace.wait().unwrap().code(), Some(128 + 13));
    assert_eq!(bench.show()["launch"]["outcome"], "interrupted");
}

#[test]
fn a_grandchild_that_holds_the_pipe_is_reported_and_not_waited_for() {
    let bench = Bench::new();
    // It ends when this test lets go of its input.
    let mut command = bench.shell("exec 3<&0; cat <&3 & echo done");
    let mut trace = command.stdin(Stdio::piped()).spawn().unwrap();
    let hold = trace.stdin.take();
    let output = trace.wait_with_output().unwrap();
    drop(hold);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(stdout(&output), "done\n");
    assert!(stderr(&output).contains("still holds the stdout"), "{}", stderr(&output));
    assert_eq!(bench.artifact("raw/stdout"), b"done\n");
}

#[test]
fn what_a_grandchild_prints_at_once_after_the_exit_is_on_record() {
    let bench = Bench::new();
    // The grandchild waits for the end of its input, which is the agent's last act.
    let output = bench.shell("mkfifo gate; (cat gate; echo late) & exec 3>gate; echo early").output().unwrap();
    assert_eq!(stdout(&output), "early\nlate\n");
    assert_eq!(bench.artifact("raw/stdout"), b"early\nlate\n");
}
