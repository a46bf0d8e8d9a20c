//! The thread that understands what the agent prints: it follows the record, and never the agent.

use std::io::{self, Read};

use trace_model::{
    event::{RawSpan, Receipt},
    words::{InputOp, OutputStream, Provider},
};
use trace_providers::{
    Interpreter, Note, Observation, interpreter_for,
    recognise::{Recognition, SessionStart, StreamRecogniser},
};

use super::{
    growth::Bell,
    record::RecordReader,
    turns::{TurnStep, Turns},
};
use crate::{Capture, PreparedTurnContext};

/// The interpretation of one stream of one launch.
///
/// What it has not read yet waits in the raw file, not in memory. So a slow interpretation costs the agent nothing and
/// holds nothing, and a byte has the same offset here as in the record. Where nobody says whose stream it is, the record
/// is read twice: once as far as it takes to recognise that, and then from its start.
#[derive(Debug)]
pub(super) struct Interpretation {
    capture: Capture,
    stream: OutputStream,
    /// What the command tells about the provider's session.
    start: SessionStart,
    stage: Stage,
    interpreted: Interpreted,
    observations: Vec<Observation>,
}

/// How far the stream is known.
#[derive(Debug)]
enum Stage {
    /// It may be any provider's.
    Recognising(StreamRecogniser),
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
    pub(super) fn new(
        capture: Capture,
        stream: OutputStream,
        provider: Option<&Provider>,
        start: SessionStart,
    ) -> Self {
        let stage = Stage::Recognising(StreamRecogniser::new());
        let interpreted = Interpreted::default();
        let mut new = Self { capture, stream, start, stage, interpreted, observations: Vec::new() };
        if let Some(provider) = provider {
            new.decide(Some(provider.clone()));
        }
        new
    }

    /// Reads the record to its end. A ring of the bell says that there is more; when nobody can ring it any more, there
    /// is no more to come. `probe` is another reader of the same record.
    pub(super) fn follow<R: Read>(
        mut self,
        mut probe: RecordReader<R>,
        mut record: RecordReader<R>,
        bell: &Bell,
    ) -> Interpreted {
        let mut more_will_come = true;
        while more_will_come && !matches!(self.stage, Stage::RawOnly) {
            more_will_come = bell.wait();
            let end = bell.end();
            if !more_will_come {
                self.capture.end_output();
            }
            // It is known of all bytes before the end, for the pump finds it out before it tells the end.
            if self.capture.status().yielded_to.is_some() {
                self.stage = Stage::RawOnly;
                break;
            }
            let recognised = self.recognise(&mut probe, end, more_will_come);
            if let Err(error) = recognised.and_then(|()| self.interpret(&mut record, end)) {
                self.interpreted.failure = Some(error);
                break;
            }
        }
        self.finish();
        self.interpreted
    }

    /// Finds out whose stream it is, if the record tells that before `end`.
    fn recognise<R: Read>(&mut self, probe: &mut RecordReader<R>, end: u64, more_will_come: bool) -> io::Result<()> {
        while let Stage::Recognising(recogniser) = &mut self.stage {
            let bytes = probe.read(end)?;
            let recognition = match bytes {
                [] if more_will_come => break,
                [] => recogniser.finish(),
                bytes => recogniser.push(bytes),
            };
            match recognition.clone() {
                Recognition::Undecided => {}
                Recognition::Decided(provider) => self.decide(Some(provider)),
                Recognition::NotKnown => self.decide(None),
            }
        }
        Ok(())
    }

    /// Takes the provider's rules, if there are any, for the stream.
    fn decide(&mut self, provider: Option<Provider>) {
        let interpreter = provider.as_ref().and_then(|provider| interpreter_for(provider, self.start));
        self.stage = match interpreter {
            Some(interpreter) => Stage::Interpreting(interpreter),
            None => Stage::RawOnly,
        };
        if provider.is_some() {
            self.capture.record_receipt(Receipt { provider, ..Receipt::default() });
        }
    }

    /// Interprets what is on record before `end`.
    fn interpret<R: Read>(&mut self, record: &mut RecordReader<R>, end: u64) -> io::Result<()> {
        while let Stage::Interpreting(interpreter) = &mut self.stage {
            let bytes = record.read(end)?;
            if bytes.is_empty() {
                break;
            }
            interpreter.push(bytes, &mut self.observations);
            self.record();
        }
        Ok(())
    }

    fn finish(&mut self) {
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
