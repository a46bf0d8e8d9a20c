use std::{fs::File, os::fd::AsFd as _, panic::resume_unwind, sync::Arc};

use trace_model::launch::CaptureState;

use super::{interpretation::Interpreted, *};
use crate::{EnvParts, MemoryLedger};

const SUCCESS: ProcessEnd = ProcessEnd::Exited(0);

/// An environment in a folder of its own.
struct Bench {
    home: Home,
    env: CaptureEnv,
    _folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open_real(folder.path()).unwrap();
        let env = CaptureEnv::new(EnvParts::new(home.clone(), Arc::new(MemoryLedger::new())));
        Self { home, env, _folder: folder }
    }

    fn begin(&self) -> ExecLaunch {
        let labels = Labels::new("run".parse().unwrap(), "process".parse().unwrap(), "/repo", "/repo");
        let start = Start::new(Provider::Claude, "headless");
        ExecLaunch::begin(&self.env, &self.home, labels, PreparedTurnContext::unknown(), start).unwrap()
    }

    /// Returns how the files say that the launch was captured.
    fn captured(&self, launch: &ExecLaunch) -> CaptureState {
        crate::reindex::launch_rows(&self.home, &launch.dir).unwrap().rows.launch.capture
    }
}

fn partial(reason: &str) -> CaptureState {
    CaptureState::Partial { reason: reason.to_owned() }
}

/// Ends a launch after such a reading, and compares how it was captured.
fn check(output: Output, expected: &CaptureState) {
    let bench = Bench::new();
    let launch = bench.begin();
    conclude(Some(&launch), output, SUCCESS, None, || SessionFile::NotLooked);
    assert_eq!(bench.captured(&launch), *expected);
}

fn understood() -> Interpreted {
    Interpreted { conversation: true, ..Interpreted::default() }
}

#[test]
fn an_output_that_was_read_to_its_end_is_complete() {
    let pumps = vec![(OutputStream::Stdout, PumpEnd::EndOfFile), (OutputStream::Stderr, PumpEnd::SinkClosed)];
    check(Output { pumps, interpreted: understood() }, &CaptureState::Complete);
}

#[test]
fn a_record_that_was_not_read_back_is_partial() {
    let failure = Some(io::Error::other("broken"));
    let output = Output { pumps: Vec::new(), interpreted: Interpreted { failure, ..understood() } };
    check(output, &partial("the output was not understood to its end: broken"));
}

#[test]
fn a_stream_that_could_not_be_passed_on_is_partial() {
    let pumps = vec![(OutputStream::Stderr, PumpEnd::Failed(io::Error::other("no space")))];
    let output = Output { pumps, interpreted: understood() };
    check(output, &partial("the agent's stderr was closed before its end: no space"));
}

#[test]
fn an_interpretation_that_died_is_partial() {
    let output = thread::scope(|scope| {
        let interpretation = Some(scope.spawn(|| resume_unwind(Box::new("a bug"))));
        Reading { interpretation, ..Reading::default() }.join()
    });
    check(output, &partial("the output was not understood to its end: the thread that read it died"));
}

#[test]
fn a_pump_that_died_is_partial() {
    let output = thread::scope(|scope| {
        let pump = scope.spawn(|| resume_unwind(Box::new("a bug")));
        Reading { pumps: vec![(OutputStream::Stdout, pump)], interpretation: None }.join()
    });
    check(output, &partial("the agent's stdout was closed before its end: the thread that passed it on died"));
}

#[test]
fn an_agent_whose_output_finds_no_place_is_partial_and_on_record() {
    // Not every system has a device that is always full.
    let Ok(full) = File::options().write(true).open("/dev/full") else { return };
    let bench = Bench::new();
    let launch = bench.begin();
    let stderr = File::options().write(true).open("/dev/null").unwrap();
    let command = AgentCommand { program: "echo".into(), arguments: vec!["hello".into()] };
    let outputs = Outputs::judge(full.as_fd(), stderr.as_fd()).unwrap();
    let report = Exec { command, input: AgentInput::Bytes(Vec::new()), outputs, provider: None, lookup: None }
        .run(Some(&launch));
    assert_eq!(report.unwrap().broken.len(), 1);
    let CaptureState::Partial { reason } = bench.captured(&launch) else { panic!("it is not partial") };
    assert!(reason.starts_with("the agent's stdout was closed before its end: No space"), "{reason}");
    let recorded = bench.home.artifact_path(&launch.dir).join("raw/stdout");
    assert_eq!(std::fs::read(recorded).unwrap(), b"hello\n");
}

#[test]
fn bytes_are_on_record_as_far_as_the_launch_says() {
    let bench = Bench::new();
    let launch = bench.begin();
    let keep = |stream, bytes: &[u8]| launch.capture.keep_raw(stream, bytes);
    assert_eq!(keep(OutputStream::Stdout, b"abc"), Some(3));
    assert_eq!(keep(OutputStream::Stderr, b"x"), Some(1));
    assert_eq!(keep(OutputStream::Stdout, b"de"), Some(5));
    launch.capture.blocking_finish(Outcome::Completed, Recorded::PromptOnly);
    assert_eq!(keep(OutputStream::Stdout, b"late"), None);
    assert_eq!(Capture::disabled().keep_raw(OutputStream::Stdout, b"x"), None);
}
