//! Running tests, and counting them from what the runners say at their end.

use std::io::{self, BufRead as _, BufReader};
use std::ops::AddAssign;
use std::path::Path;

use anyhow::{Result, ensure};

use crate::commands::{self, Call};

/// How many tests ran.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

/// Runs the tests that `arguments` select, each in a process of its own.
pub(crate) fn nextest(root: &Path, arguments: &[String]) -> Result<Counts> {
    commands::install_nextest(root)?;
    commands::install_strace(root)?;
    run(commands::cargo(root).args(["nextest", "run", "--no-fail-fast"]).args(arguments))
}

/// Runs the examples of the documentation.
pub(crate) fn doctests(root: &Path) -> Result<Counts> {
    run(commands::cargo(root).args(["test", "--locked", "--workspace", "--doc", "--no-fail-fast"]))
}

/// Runs `call`, prints what it prints, and counts the tests of its closing lines.
fn run(call: Call) -> Result<Counts> {
    let mut command = call.env("CARGO_TERM_COLOR", "never").into_command();
    // Both streams are one pipe, so that they stay in order. The command holds the ends that are written to;
    // it goes away first, or the reader would never see the end.
    let (reader, writer) = io::pipe()?;
    let mut child = command.stdout(writer.try_clone()?).stderr(writer).spawn()?;
    drop(command);
    let mut counts = Counts::default();
    for line in BufReader::new(reader).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        println!("{line}");
        if let Some(closing) = closing_line(&line) {
            counts += closing;
        }
    }
    let status = child.wait()?;
    ensure!(status.success() || counts.failed > 0, "the tests did not run ({status})");
    Ok(counts)
}

/// Reads the line with which nextest or the test harness of Rust ends.
fn closing_line(line: &str) -> Option<Counts> {
    let line = line.trim_start();
    let text = match line.strip_prefix("Summary [") {
        Some(rest) => rest.split_once(']')?.1,
        None => line.strip_prefix("test result: ")?,
    };
    let words: Vec<&str> = text.split_whitespace().map(|word| word.trim_matches([',', ';', ':', '(', ')'])).collect();
    let mut counts = Counts::default();
    for pair in words.windows(2) {
        let [number, outcome] = pair else { continue };
        let Ok(number) = number.parse::<u64>() else { continue };
        match *outcome {
            "passed" => counts.passed += number,
            // nextest says `2 timed out` and `1 exec failed` beside `3 failed`.
            "failed" | "timed" | "exec" => counts.failed += number,
            _ => {}
        }
    }
    Some(counts)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::{Counts, closing_line, run};
    use crate::commands::program;

    fn run_script(script: &str) -> Result<Counts, String> {
        let shell = program(OsStr::new("sh"), crate::root()).args(["-c", script]);
        run(shell).map_err(|error| error.to_string())
    }

    #[test]
    fn a_run_with_failed_tests_is_counted() {
        let script = "echo ' Summary [ 1.0s] 3 tests run: 2 passed, 1 failed, 0 skipped' >&2; exit 100";
        assert_eq!(run_script(script), Ok(Counts { passed: 2, failed: 1 }));
    }

    #[test]
    fn the_closing_lines_of_several_crates_add_up() {
        let script = "echo 'test result: ok. 2 passed; 0 failed'; echo 'test result: ok. 3 passed; 0 failed'";
        assert_eq!(run_script(script), Ok(Counts { passed: 5, failed: 0 }));
    }

    #[test]
    fn a_run_that_ends_without_tests_is_an_error() {
        let refused = Err("the tests did not run (exit status: 101)".to_owned());
        assert_eq!(run_script("echo 'error: could not compile'; exit 101"), refused);
    }

    fn check(line: &str, expected: Option<(u64, u64)>) {
        assert_eq!(closing_line(line), expected.map(|(passed, failed)| Counts { passed, failed }), "{line}");
    }

    #[test]
    fn the_closing_lines_of_nextest_are_counted() {
        check("     Summary [   0.012s] 12 tests run: 12 passed, 0 skipped", Some((12, 0)));
        check(
            "     Summary [  61.5s] 12 tests run: 7 passed (2 slow), 3 failed, 1 timed out, 1 exec failed, 0 skipped",
            Some((7, 5)),
        );
        check("     Summary [   0.1s] 5/12 tests run: 4 passed (1 slow, 1 flaky), 1 failed, 0 skipped", Some((4, 1)));
    }

    #[test]
    fn the_closing_lines_of_the_test_harness_are_counted() {
        check(
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.10s",
            Some((3, 0)),
        );
        check("test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out", Some((3, 2)));
    }

    #[test]
    fn other_lines_are_not_counted() {
        check("        PASS [   0.005s] xtask tests::twelve_passed", None);
        check("3 passed, 2 failed", None);
    }
}
