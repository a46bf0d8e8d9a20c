//! The thread that understands what the agent prints: it follows the record, and never the agent.

use std::io::{self, Read};

use trace_model::{
    event::{RawSpan, Receipt},
    words::{InputOp, OutputStream, Provider},
};
use trace_providers::{
    Interpreter, Note, Observation, interpreter_for,
    recognise::{Recognition, StreamRecogniser},
};

use super::{
    growth::Bell,
    turns::{TurnStep, Turns},
};
use crate::{Capture, PreparedTurnContext};

const CHUNK: usize = 64 << 10;

/// The interpretation of one stream of one launch.
///
/// What it has not read yet waits in the raw file, not in memory. So a slow interpretation costs the agent nothing and
/// holds nothing, and a byte has the same offset here as in the record.
#[derive(Debug)]
pub(super) struct Interpretation {
    capture: Capture,
    stream: OutputStream,
    stage: Stage,
    /// Where in the record it is.
    position: u64,
    interpreted: Interpreted,
    observations: Vec<Observation>,
}

/// How far the stream is known.
#[derive(Debug)]
enum Stage {
    /// It may be any provider's; these bytes were seen so far, and no more than the recogniser wants.
    Recognising(StreamRecogniser, Vec<u8>),
    /// It is a provider's.
    Interpreting(Box<dyn Interpreter>),
    /// Nobody knows it: it is kept raw only.
    RawOnly,
}

/// What came out of an interpretation.
#[derive(Debug, Default)]
pub(super) struct Interpreted {
    /// The turns and their results.
    pub(super) turns: Turns,
    /// Whether anything of the exchange was understood.
    pub(super) conversation: bool,
    /// How much could not be taken as it is.
    pub(super) notes: u64,
    /// The first thing that could not.
    pub(super) first_note: Option<Note>,
    /// Why the record was not read to its end.
    pub(super) failure: Option<io::Error>,
}

impl Interpreted {
    /// Returns what is left of an interpretation of which nothing but its failure is known.
    pub(super) fn failed(error: io::Error) -> Self {
        Self { failure: Some(error), ..Self::default() }
    }
}

impl Interpretation {
    /// Returns an interpretation by the rules of `provider`, or of whichever provider the stream is found to be of.
    pub(super) fn new(capture: Capture, stream: OutputStream, provider: Option<&Provider>) -> Self {
        let stage = match provider {
            Some(provider) => interpreter_for(provider).map_or(Stage::RawOnly, Stage::Interpreting),
            None => Stage::Recognising(StreamRecogniser::new(), Vec::new()),
        };
        let (interpreted, observations) = (Interpreted::default(), Vec::new());
        Self { capture, stream, stage, position: 0, interpreted, observations }
    }

    /// Reads the record to its end. A ring of the bell says that there is more; when nobody can ring it any more, there
    /// is no more to come.
    pub(super) fn follow(mut self, record: &mut dyn Read, bell: &Bell) -> Interpreted {
        let mut chunk = vec![0; CHUNK];
        let mut more_will_come = true;
        while more_will_come && !matches!(self.stage, Stage::RawOnly) {
            more_will_come = bell.wait();
            if let Err(error) = self.read_on(record, bell.end(), &mut chunk) {
                self.interpreted.failure = Some(error);
                break;
            }
        }
        self.finish();
        self.interpreted
    }

    /// Reads what is on record now, and nothing behind `end`.
    fn read_on(&mut self, record: &mut dyn Read, end: u64, chunk: &mut [u8]) -> io::Result<()> {
        let mut record = record.take(end.saturating_sub(self.position));
        while !matches!(self.stage, Stage::RawOnly) {
            match record.read(chunk) {
                Ok(0) if record.limit() > 0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(0) => break,
                Ok(read) => {
                    self.position = end - record.limit();
                    self.push(chunk.get(..read).unwrap_or_default());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn push(&mut self, bytes: &[u8]) {
        match &mut self.stage {
            Stage::Recognising(recogniser, seen) => {
                seen.extend_from_slice(bytes);
                let recognition = recogniser.push(bytes).clone();
                self.recognised(recognition);
            }
            Stage::Interpreting(interpreter) => interpreter.push(bytes, &mut self.observations),
            Stage::RawOnly => {}
        }
        self.record();
    }

    fn recognised(&mut self, recognition: Recognition) {
        let Stage::Recognising(_, seen) = &mut self.stage else { return };
        let provider = match recognition {
            Recognition::Undecided => return,
            Recognition::Decided(provider) => Some(provider),
            Recognition::NotKnown => None,
        };
        let seen = std::mem::take(seen);
        self.stage = match provider.as_ref().and_then(interpreter_for) {
            Some(mut interpreter) => {
                interpreter.push(&seen, &mut self.observations);
                Stage::Interpreting(interpreter)
            }
            None => Stage::RawOnly,
        };
        if provider.is_some() {
            self.capture.record_receipt(Receipt { provider, ..Receipt::default() });
        }
    }

    fn finish(&mut self) {
        if let Stage::Recognising(recogniser, _) = &mut self.stage {
            let recognition = recogniser.finish().clone();
            self.recognised(recognition);
        }
        if let Stage::Interpreting(interpreter) = &mut self.stage {
            interpreter.finish(&mut self.observations);
        }
        self.record();
    }

    /// Records what was observed.
    fn record(&mut self) {
        for observation in std::mem::take(&mut self.observations) {
            for step in self.interpreted.turns.before(&observation) {
                take(&self.capture, step);
            }
            let after = self.interpreted.turns.after(&observation);
            self.interpreted.conversation |= !matches!(observation, Observation::Note(_));
            self.observe(observation);
            if let Some(step) = after {
                take(&self.capture, step);
            }
        }
    }

    fn observe(&mut self, observation: Observation) {
        match observation {
            Observation::Event(observed) => self.capture.record_observed(self.stream, observed),
            Observation::Usage(report) => self.capture.record_usage(report),
            Observation::Receipt(receipt) => self.capture.record_receipt(receipt),
            Observation::Result { status, cost_usd, duration_secs, span } => {
                let raw = RawSpan { stream: self.stream, offset: span.start(), len: span.len() };
                self.capture.record_result(status, cost_usd, duration_secs, Some(raw));
            }
            // The turn that it begins has its text.
            Observation::Input { .. } => {}
            Observation::Note(note) => {
                self.interpreted.notes += 1;
                self.interpreted.first_note.get_or_insert(note);
            }
        }
    }
}

/// Records a boundary of turns.
fn take(capture: &Capture, step: TurnStep<'_>) {
    let begun = match step {
        TurnStep::End(outcome) => return capture.blocking_finish_turn(outcome),
        TurnStep::Begin(Some(text)) => capture.blocking_begin_turn(InputOp::Message, text),
        TurnStep::Begin(None) => {
            capture.blocking_begin_turn_with(InputOp::Message, PreparedTurnContext::unknown(), None)
        }
    };
    if let Err(error) = begun {
        // The capture is partial now and says so; what follows counts to the turn before.
        tracing::debug!(%error, "a turn could not be begun");
    }
}

#[cfg(test)]
mod tests;
