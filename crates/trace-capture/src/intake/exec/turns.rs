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

#[cfg(test)]
mod tests {
    use trace_model::span::ByteSpan;

    use super::*;

    const SPAN: ByteSpan = ByteSpan::new(0, 1).unwrap();

    fn prompt(text: &str) -> Observation {
        Observation::Input { text: Some(text.to_owned()), at: None, span: SPAN }
    }

    fn result(status: Outcome) -> Observation {
        Observation::Result { status, cost_usd: None, duration_secs: None, at: None, span: SPAN }
    }

    /// Compares the boundaries that observations make, and how the launch went if its process ended so.
    fn check(observations: &[Observation], expected: &[TurnStep<'_>], end: ProcessEnd, outcome: Outcome) {
        let mut turns = Turns::default();
        let mut steps = Vec::new();
        for observation in observations {
            steps.extend(turns.before(observation));
            steps.extend(turns.after(observation));
        }
        assert_eq!(steps, expected);
        assert_eq!(turns.outcome(end), outcome);
    }

    const DONE: ProcessEnd = ProcessEnd::Exited(0);

    #[test]
    fn the_first_prompt_is_that_of_the_turn_that_runs() {
        check(&[prompt("one")], &[], DONE, Outcome::Completed);
        check(&[prompt("one"), result(Outcome::Completed)], &[], DONE, Outcome::Completed);
    }

    #[test]
    fn a_further_prompt_ends_an_answered_turn_and_begins_one() {
        let observations = [prompt("one"), result(Outcome::Completed), prompt("two")];
        let steps = [TurnStep::End(Outcome::Completed), TurnStep::Begin(Some("two"))];
        check(&observations, &steps, DONE, Outcome::Completed);
    }

    #[test]
    fn a_further_prompt_supersedes_a_turn_without_a_result() {
        check(&[prompt("one"), prompt("two")], &[TurnStep::Begin(Some("two"))], DONE, Outcome::Completed);
    }

    #[test]
    fn an_error_ends_its_turn_at_once_and_fails_the_launch_only_if_it_is_the_last() {
        let failed = [prompt("one"), result(Outcome::Failed)];
        check(&failed, &[TurnStep::End(Outcome::Failed)], DONE, Outcome::Failed);
        let mended = [prompt("one"), result(Outcome::Failed), prompt("two"), result(Outcome::Completed)];
        let steps = [TurnStep::End(Outcome::Failed), TurnStep::Begin(Some("two"))];
        check(&mended, &steps, DONE, Outcome::Completed);
    }

    #[test]
    fn a_good_result_does_not_mend_a_bad_end_of_the_process() {
        let answered = [prompt("one"), result(Outcome::Completed)];
        check(&answered, &[], ProcessEnd::Exited(1), Outcome::Failed);
        check(&answered, &[], ProcessEnd::Signalled(2), Outcome::Interrupted);
        check(&[result(Outcome::Failed)], &[TurnStep::End(Outcome::Failed)], ProcessEnd::Signalled(2), Outcome::Failed);
    }
}
