//! Where turns begin and end in what an interpreter observes: a pure machine.

use trace_model::turn::Outcome;
use trace_providers::Observation;

use super::process::ProcessEnd;

/// What is known about the turns of a launch.
///
/// The first turn runs from the start. A result that is no success ends its turn. After a successful one the turn's end
/// is open until a further prompt comes, as what becomes of the process may still make a failure of it.
#[derive(Debug, Default)]
pub(super) struct Turns {
    prompts: u64,
    /// The running turn has its result, and that is a success.
    answered: bool,
    last_result: Option<Outcome>,
}

/// A boundary of turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TurnStep<'a> {
    /// The running turn ended so.
    End(Outcome),
    /// A turn begins with this prompt, if the stream tells it.
    Begin(Option<&'a str>),
}

impl Turns {
    /// Returns the boundaries to be recorded before the observation is.
    pub(super) fn before<'a>(&mut self, observation: &'a Observation) -> impl Iterator<Item = TurnStep<'a>> {
        let mut steps = [None, None];
        if let Observation::Input { text, .. } = observation {
            self.prompts += 1;
            if self.prompts > 1 {
                let answered = std::mem::take(&mut self.answered);
                steps = [answered.then_some(TurnStep::End(Outcome::Completed)), Some(TurnStep::Begin(text.as_deref()))];
            }
        }
        steps.into_iter().flatten()
    }

    /// Returns the boundary to be recorded after the observation is.
    pub(super) fn after(&mut self, observation: &Observation) -> Option<TurnStep<'static>> {
        let Observation::Result { status, .. } = observation else { return None };
        self.last_result = Some(*status);
        self.answered = *status == Outcome::Completed;
        (!self.answered).then_some(TurnStep::End(*status))
    }

    /// Returns the number of turns so far.
    pub(super) fn count(&self) -> u64 {
        self.prompts.max(1)
    }

    /// Returns how the launch went: failed if its last result is an error, else as its process ended.
    pub(super) fn outcome(&self, end: ProcessEnd) -> Outcome {
        match self.last_result {
            Some(Outcome::Failed) => Outcome::Failed,
            _ => end.outcome(),
        }
    }
}
