//! What a harness may do, in any order.

use proptest::prelude::*;
use trace_model::turn::Outcome;
use trace_testkit::{Fault, Moment};

/// One thing that a harness does, or that goes wrong. Handles are chosen among all that were begun, ended ones too.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Reserve(u32),
    Release(u32),
    /// Begins a launch, under the control of that run if one is named.
    Begin(Option<u32>),
    Retry(usize),
    BeginTurn(usize),
    FinishTurn(usize, Outcome),
    Finish(usize, Outcome),
    /// Ends a launch while the n-th effect on its files fails.
    FinishBadly(usize, Outcome, u64),
    Drop(usize),
    Text(usize),
    /// Text of a turn as the provider names it, which may be one that nobody knows.
    Delta(usize, Option<u8>),
    Session(usize, u8),
    Raw(usize),
    StreamUsage(usize, u64),
    TurnUsage(usize, Option<u8>, u64),
    /// A running total of the provider's cost.
    Cost(usize, u64),
    /// A request by its key, and by an id that other launches may name too.
    Request(usize, u8, u64),
    /// The n-th effect on files from here fails, and a failing write leaves that many bytes.
    FailFile(u64, usize),
}

/// What happens to a harness.
#[derive(Debug, Clone)]
pub(super) struct Story {
    pub(super) steps: Vec<Step>,
    /// The call of the ledger that fails.
    pub(super) fault: Option<Fault>,
}

impl Story {
    /// Tells whether something may fail in it.
    pub(super) fn can_fail(&self) -> bool {
        self.fault.is_some() || self.steps.iter().any(Step::fails_files)
    }
}

impl Step {
    const fn fails_files(&self) -> bool {
        matches!(self, Self::FailFile(..) | Self::FinishBadly(..))
    }
}

fn outcomes() -> impl Strategy<Value = Outcome> {
    prop_oneof![Just(Outcome::Completed), Just(Outcome::Failed), Just(Outcome::Interrupted)]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let at = || 0..4_usize;
    let run = || 1..3_u32;
    let name = || prop::option::of(0..3_u8);
    let step = prop_oneof![
        2 => run().prop_map(Step::Reserve),
        1 => run().prop_map(Step::Release),
        3 => prop::option::of(run()).prop_map(Step::Begin),
        1 => at().prop_map(Step::Retry),
        3 => at().prop_map(Step::BeginTurn),
        2 => (at(), outcomes()).prop_map(|(at, outcome)| Step::FinishTurn(at, outcome)),
        2 => (at(), outcomes()).prop_map(|(at, outcome)| Step::Finish(at, outcome)),
        2 => (at(), outcomes(), 1..20_u64).prop_map(|(at, outcome, nth)| Step::FinishBadly(at, outcome, nth)),
        1 => at().prop_map(Step::Drop),
        2 => at().prop_map(Step::Text),
        3 => (at(), name()).prop_map(|(at, turn)| Step::Delta(at, turn)),
        1 => (at(), 0..3_u8).prop_map(|(at, session)| Step::Session(at, session)),
        1 => at().prop_map(Step::Raw),
        3 => (at(), 1..9_u64).prop_map(|(at, tokens)| Step::StreamUsage(at, tokens)),
        3 => (at(), name(), 1..9_u64).prop_map(|(at, turn, tokens)| Step::TurnUsage(at, turn, tokens)),
        2 => (at(), 1..9_u64).prop_map(|(at, nanos)| Step::Cost(at, nanos)),
        4 => (at(), 0..3_u8, 1..9_u64).prop_map(|(at, key, tokens)| Step::Request(at, key, tokens)),
        4 => (prop_oneof![1..8_u64, 8..60_u64], 0..40_usize).prop_map(|(nth, torn)| Step::FailFile(nth, torn)),
    ];
    prop::collection::vec(step, 0..40)
}

/// Stories in which files or the ledger may fail, or neither.
pub(super) fn stories() -> impl Strategy<Value = Story> {
    let moment = prop_oneof![Just(Moment::Before), Just(Moment::After)];
    let fault = (1..30_u64, moment).prop_map(|(call, moment)| Fault { call, moment });
    (steps(), any::<bool>(), prop::option::of(fault)).prop_map(|(mut steps, files_fail, fault)| {
        steps.retain(|step| files_fail || !step.fails_files());
        Story { steps, fault }
    })
}
