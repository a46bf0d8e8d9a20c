//! The thread that understands what the agent prints: it follows the record, and never the agent.

mod speakers;

use std::io::{self, Read};

use trace_model::{
    event::{RawSpan, Receipt},
    words::{InputOp, OutputStream, Provider},
};
use trace_providers::{
    Note, Observation,
    recognise::{Recognition, SessionStart, StreamRecogniser},
};

use self::speakers::Speakers;
use super::{
    growth::Bell,
    record::RecordReader,
    turns::{TurnStep, Turns},
};
use crate::{Capture, PreparedTurnContext};

/// The interpretation of one stream of one launch.
///
/// What it has not read yet waits in the raw file, not in memory. So a slow interpretation costs the agent nothing and
/// holds nothing, and a byte has the same offset here as in the record. Where nobody says whose stream it is, the
/// record is read twice: once as far as it takes to recognise that, and then from its start.
///
/// The sessions of launches beneath this one, which recorded the same bytes before they came here, are passed over.
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
    /// Providers that are known speak on it.
    Interpreting(Speakers),
    /// Nobody knows it: it is kept raw only, and searched for the name of its session.
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
            new.capture.record_receipt(Receipt { provider: Some(provider.clone()), ..Receipt::default() });
            new.interpret_by(Speakers::named(provider, start));
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
        while more_will_come {
            more_will_come = bell.wait();
            let end = bell.end();
            let recognised = self.recognise(&mut probe, end, more_will_come);
            if let Err(error) = recognised.and_then(|()| self.interpret(&mut record, end)) {
                self.interpreted.failure = Some(error);
                break;
            }
            if matches!(self.stage, Stage::RawOnly) {
                self.capture.take_sessions();
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
                Recognition::Decided(provider) => self.interpret_by(Speakers::recognised(&provider, self.start)),
                Recognition::NotKnown => self.interpret_by(None),
            }
        }
        Ok(())
    }

    /// Takes the rules, if there are any, for the stream.
    fn interpret_by(&mut self, speakers: Option<Speakers>) {
        self.stage = match speakers {
            Some(speakers) => {
                self.capture.stop_scan();
                Stage::Interpreting(speakers)
            }
            None => Stage::RawOnly,
        };
    }

    /// Interprets what is on record before `end`.
    fn interpret<R: Read>(&mut self, record: &mut RecordReader<R>, end: u64) -> io::Result<()> {
        while let Stage::Interpreting(speakers) = &mut self.stage {
            let bytes = record.read(end)?;
            if bytes.is_empty() {
                break;
            }
            let capture = &self.capture;
            speakers.push(bytes, &mut |session| is_own(capture, session), &mut self.observations);
            self.record();
        }
        Ok(())
    }

    fn finish(&mut self) {
        if let Stage::Interpreting(speakers) = &mut self.stage {
            let capture = &self.capture;
            speakers.finish(&mut |session| is_own(capture, session), &mut self.observations);
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
            Observation::Result { status, cost_usd, duration_secs, span, .. } => {
                let raw = RawSpan { stream: self.stream, offset: span.start(), len: span.len() };
                self.capture.record_result(status, cost_usd, duration_secs, Some(raw));
            }
            // The turn that an input begins has its text, and what a stream says of sessions and agents is in its
            // receipts and events, too.
            Observation::Input { .. } | Observation::Session(_) | Observation::Agent(_) => {}
            Observation::Note(note) => {
                self.interpreted.notes += 1;
                self.interpreted.first_note.get_or_insert(note);
            }
        }
    }
}

/// Tells whether the session is none of a launch beneath.
fn is_own(capture: &Capture, session: &str) -> bool {
    capture.session_owner(session).is_none()
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
