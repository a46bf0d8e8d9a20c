//! The sessions that are named on the streams of a launch which no interpreter reads.

use std::{collections::VecDeque, mem};

use trace_model::words::{OutputStream, Provider};
use trace_providers::SessionScanner;

/// How many names may wait to be looked up. Further ones are passed over.
const WAITING: usize = 64;

/// Looks for sessions in the output of a launch until the launch has one.
#[derive(Debug)]
pub(in crate::recorder) struct SessionScan {
    provider: Provider,
    stdout: Names,
    /// What it names counts where the output names nothing.
    stderr: Names,
    is_over: bool,
}

impl SessionScan {
    pub(in crate::recorder) fn new(provider: Provider) -> Self {
        let names = || Names::new(provider.clone());
        Self { stdout: names(), stderr: names(), provider, is_over: false }
    }

    /// Takes the next bytes of a stream.
    pub(in crate::recorder) fn push(&mut self, stream: OutputStream, bytes: &[u8]) {
        if self.is_over {
            return;
        }
        let names = match stream {
            OutputStream::Stdout => &mut self.stdout,
            OutputStream::Stderr => &mut self.stderr,
        };
        // A scanner is done with the first session that it finds.
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            if let Some(receipt) = names.scanner.push(line) {
                names.scanner = SessionScanner::new(self.provider.clone());
                names.add(receipt.provider_session_id);
            }
        }
    }

    /// Takes the end of both streams: a last line without a line feed is read now, and what standard
    /// error names is looked up after what the output names.
    pub(in crate::recorder) fn end(&mut self) {
        self.stdout.end();
        self.stderr.end();
        self.stdout.waiting.extend(mem::take(&mut self.stderr.waiting));
    }

    /// Looks for no more sessions, and forgets those that wait.
    pub(in crate::recorder) fn stop(&mut self) {
        *self = Self { is_over: true, ..Self::new(self.provider.clone()) };
    }

    /// Returns the next session that is to be looked up.
    pub(in crate::recorder) fn next(&mut self) -> Option<String> {
        self.stdout.waiting.pop_front()
    }
}

/// The sessions that one stream names.
#[derive(Debug)]
struct Names {
    scanner: SessionScanner,
    /// The last one; most streams name theirs on every line.
    last: Option<String>,
    waiting: VecDeque<String>,
}

impl Names {
    fn new(provider: Provider) -> Self {
        Self { scanner: SessionScanner::new(provider), last: None, waiting: VecDeque::new() }
    }

    fn add(&mut self, session: Option<String>) {
        if session.is_some() && session != self.last && self.waiting.len() < WAITING {
            self.waiting.extend(session.clone());
            self.last = session;
        }
    }

    fn end(&mut self) {
        let receipt = self.scanner.finish();
        self.add(receipt.and_then(|receipt| receipt.provider_session_id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(scan: &mut SessionScan) -> Vec<String> {
        std::iter::from_fn(|| scan.next()).collect()
    }

    fn line(session: &str) -> String {
        format!("{{\"session_id\":\"{session}\"}}\n")
    }

    #[test]
    fn each_session_of_the_output_is_named_when_it_begins_however_the_bytes_are_cut() {
        let text = ["a", "a", "b", "a"].map(line).concat();
        for at in 0..=text.len() {
            let mut scan = SessionScan::new(Provider::Unknown);
            let (one, other) = text.as_bytes().split_at(at);
            scan.push(OutputStream::Stdout, one);
            scan.push(OutputStream::Stdout, other);
            assert_eq!(named(&mut scan), ["a", "b", "a"], "cut at {at}");
        }
    }

    #[test]
    fn standard_error_counts_at_the_end_and_after_the_output() {
        let mut scan = SessionScan::new(Provider::Unknown);
        scan.push(OutputStream::Stderr, line("error").as_bytes());
        assert_eq!(named(&mut scan), [""; 0]);
        scan.push(OutputStream::Stdout, line("output").trim().as_bytes());
        scan.end();
        assert_eq!(named(&mut scan), ["output", "error"]);
    }

    #[test]
    fn only_so_many_names_wait() {
        let mut scan = SessionScan::new(Provider::Unknown);
        let sessions: Vec<_> = (0..100).map(|session| session.to_string()).collect();
        scan.push(OutputStream::Stdout, sessions.iter().map(|session| line(session)).collect::<String>().as_bytes());
        assert_eq!(named(&mut scan), sessions[..WAITING]);
    }

    #[test]
    fn a_stopped_scan_names_nothing_any_more() {
        let mut scan = SessionScan::new(Provider::Unknown);
        scan.push(OutputStream::Stdout, line("a").as_bytes());
        scan.stop();
        scan.push(OutputStream::Stdout, line("b").as_bytes());
        scan.end();
        assert_eq!(named(&mut scan), [""; 0]);
    }
}
