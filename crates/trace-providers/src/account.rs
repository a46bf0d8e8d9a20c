//! What a launch has spent by its requests, and what a provider's running totals hold beyond that.
//!
//! A provider that states a running total counts requests in it that no line shows: those of a subagent, a title, a
//! summary. So each total becomes one *remainder* record per model: the total less all records of that model before it,
//! earlier remainders included. Requests and remainders together then are what the provider says.
//!
//! Three rules keep that so:
//!
//! * Models are compared by their name without its `[…]` suffix. A record whose model is in no total counts as one of
//!   the main agent's model.
//! * `trace_model::fold` takes what a request adds after a total out of that total's remainder, if the request was
//!   first seen in the turn of the total or before. The account does the same, so that it knows what the records add up
//!   to.
//! * A total that is less than the one before it is that of a new process, which counts from zero.

use alloc::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    string::String,
    vec::Vec,
};
use core::mem;

use trace_model::{
    money::NanoUsd,
    usage::{UsageOrigin, UsageReport, base_model},
    words::{Grain, Quality},
};

/// What adds up: the four classes of tokens (input, cache read, cache write, output), and how much of the output is
/// thinking.
pub(crate) type Figures = [Option<u64>; 5];

/// Nothing was spent; whether any of it would have been thinking is not known.
const NOTHING: Figures = [Some(0), Some(0), Some(0), Some(0), None];

/// How many models an account tells apart; further ones count together, as one of an unknown name.
const MAX_MODELS: usize = 256;

/// How many remainders are remembered. Requests come late by a turn or two, not by hundreds.
const MAX_REMAINDERS: usize = 256;

/// When a record was first seen: it decides which totals hold the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment {
    turn: u64,
    process: u64,
}

/// What a provider states at the end of a turn.
#[derive(Debug, Default)]
pub(crate) struct Statement {
    /// The running total by model; `None` where the provider states none.
    pub(crate) models: Option<Vec<ModelTotal>>,
    /// What the main agent's requests of this turn alone add up to.
    pub(crate) turn: Option<Figures>,
    /// The running total of the cost.
    pub(crate) cost: Option<NanoUsd>,
    /// The model of the main agent.
    pub(crate) main_model: Option<String>,
    /// Whether a figure of it is there and cannot be read.
    pub(crate) is_illegible: bool,
    /// Whether it is known to leave out something that was spent.
    pub(crate) leaves_out: bool,
}

/// What is stated of one model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ModelTotal {
    /// The model as the provider names it.
    pub(crate) model: String,
    pub(crate) figures: Figures,
    pub(crate) cost: Option<NanoUsd>,
    pub(crate) context_window: Option<u64>,
}

/// What a statement comes to.
#[derive(Debug)]
pub(crate) struct Settled {
    /// What no earlier record holds: one remainder per model.
    pub(crate) remainders: Vec<UsageReport>,
    /// What the turn alone cost.
    pub(crate) cost: Option<NanoUsd>,
    /// Whether the records add up to more than what was stated.
    pub(crate) contradicted: bool,
}

/// The account of one launch.
#[derive(Debug, Default)]
pub(crate) struct Account {
    turn: u64,
    process: u64,
    /// How many statements there were in the launch.
    statements: u64,
    /// What the records up to the last statement add up to, in this process.
    before: Ledger,
    /// What was added since.
    since: Ledger,
    /// The part of it that the main agent added.
    since_by_main: Sum,
    /// The turn of the first record since the last statement.
    since_turn: Option<u64>,
    remainders: VecDeque<Remainder>,
    /// The last total of each model.
    totals: BTreeMap<String, Figures>,
    cost: NanoUsd,
    context_windows: BTreeMap<String, u64>,
}

/// A sum of tokens. It is signed because a correction may take away what was counted elsewhere.
type Sum = [i128; 5];

/// Sums by the base name of the model, with the money of the remainders.
#[derive(Debug, Default)]
struct Ledger(BTreeMap<String, (Sum, NanoUsd)>);

impl Ledger {
    fn entry(&mut self, model: &str) -> &mut (Sum, NanoUsd) {
        let model = if self.0.contains_key(model) || self.0.len() < MAX_MODELS { model } else { "" };
        self.0.entry(String::from(model)).or_default()
    }

    /// Adds up the models that are chosen.
    fn sum(&self, chosen: impl Fn(&str) -> bool) -> (Sum, NanoUsd) {
        let mut total = <(Sum, NanoUsd)>::default();
        for (_, (sum, cost)) in self.0.iter().filter(|(model, _)| chosen(model)) {
            add(&mut total.0, *sum);
            total.1 = total.1.saturating_add(*cost);
        }
        total
    }
}

fn add(sum: &mut Sum, other: Sum) {
    for (sum, other) in sum.iter_mut().zip(other) {
        *sum = sum.saturating_add(other);
    }
}

/// Returns what `new` is more than `old`, figure by figure; unknown counts as nothing.
fn difference(new: Figures, old: Figures) -> Sum {
    let known = |figures: Figures| figures.map(|figure| i128::from(figure.unwrap_or(0)));
    let mut sum = known(new);
    add(&mut sum, known(old).map(|figure| -figure));
    sum
}

/// Returns what a stated figure is more than the sum, and whether the sum is more than the figure.
fn beyond(stated: Figures, sum: Sum) -> (Figures, bool) {
    let mut rest = stated;
    let mut contradicted = false;
    for (figure, sum) in rest.iter_mut().zip(sum) {
        let sum = u64::try_from(sum.max(0)).unwrap_or(u64::MAX);
        contradicted |= figure.is_some_and(|figure| figure < sum);
        *figure = figure.map(|figure| figure.saturating_sub(sum));
    }
    (rest, contradicted)
}

/// A remainder, as far as no later request was found to be a part of it.
#[derive(Debug)]
struct Remainder {
    turn: u64,
    model: String,
    rest: Figures,
}

impl Account {
    /// Returns the moment for a record that is seen now for the first time.
    pub(crate) const fn now(&self) -> Moment {
        Moment { turn: self.turn, process: self.process }
    }

    /// Returns the size of the model's context window, if a statement has told it.
    pub(crate) fn context_window(&self, model: &str) -> Option<u64> {
        self.context_windows.get(base_model(model)).copied()
    }

    /// Notes that a further turn began.
    pub(crate) const fn begin_turn(&mut self) {
        self.turn += 1;
    }

    /// Notes that a new process prints from here on.
    ///
    /// If the last one ended without stating a total, a remainder says that there may be more than its records show.
    pub(crate) fn begin_process(&mut self) -> Option<UsageReport> {
        let unsettled = self.since_turn.take().and_then(|_| self.since.0.keys().next().cloned());
        self.process += 1;
        self.since = Ledger::default();
        self.since_by_main = Sum::default();
        self.count_from_zero();
        let remainder = self.leave_unstated(unsettled?);
        self.count_from_zero();
        Some(remainder)
    }

    /// Notes that nobody states what was spent on the model since the last statement.
    ///
    /// A remainder without any figure says that there may be more than the records show.
    pub(crate) fn leave_unstated(&mut self, model: String) -> UsageReport {
        self.statements += 1;
        self.since_turn = None;
        self.remainder(ModelTotal { model, ..ModelTotal::default() }, Quality::LowerBound)
    }

    /// Notes that the process goes on from a total that the provider had stated before this launch.
    ///
    /// It is in no record: the next total is that much more than the records of the launch.
    pub(crate) fn go_on_from(&mut self, total: ModelTotal) {
        add(&mut self.before.entry(base_model(&total.model)).0, difference(total.figures, Figures::default()));
        self.remember(&[total]);
    }

    fn count_from_zero(&mut self) {
        self.before = Ledger::default();
        self.remainders.clear();
        self.totals.clear();
        self.cost = NanoUsd::ZERO;
    }

    /// Notes that a record first seen at `seen` now says `new` where it said `old`.
    pub(crate) fn change(&mut self, seen: Moment, by_main: bool, model: &str, old: Figures, new: Figures) {
        if seen.process != self.process {
            return;
        }
        self.since_turn.get_or_insert(self.turn);
        let change = difference(new, old);
        self.lessen_remainders(seen.turn, base_model(model), change);
        add(&mut self.since.entry(base_model(model)).0, change);
        if by_main {
            add(&mut self.since_by_main, change);
        }
    }

    /// Does what the fold does: see the second rule of this module.
    fn lessen_remainders(&mut self, turn: u64, model: &str, change: Sum) {
        let holds = |remainder: &Remainder| remainder.turn >= turn;
        let of_model = self.remainders.iter().any(|remainder| holds(remainder) && remainder.model == model);
        let mut added = change;
        for holder in self.remainders.iter_mut().filter(|remainder| holds(remainder)) {
            if of_model && holder.model != model {
                continue;
            }
            let old = holder.rest;
            holder.rest = beyond(old, added).0;
            let taken = difference(holder.rest, old);
            add(&mut added, taken);
            add(&mut self.before.entry(&holder.model).0, taken);
        }
    }

    /// Takes what the provider states at the end of a turn.
    ///
    /// * A running total is exact.
    /// * A total without any model says that nothing was spent, provided that nothing else says otherwise.
    /// * Where there is no running total, the figure for the turn leaves out subagents and side requests. So the
    ///   remainder is what this figure holds beyond the main agent's requests of the turn, and a lower bound.
    /// * Where the records add up to more than the total, they stay what they are and are a lower bound.
    /// * So they are where the total leaves something out, where a figure of it cannot be read or is missing, and where
    ///   the total is that of a new process and an earlier turn was left without one: which of the two spent the
    ///   requests is not known.
    pub(crate) fn settle(&mut self, statement: Statement) -> Settled {
        self.statements += 1;
        let main_model = statement.main_model;
        let has_models = statement.models.is_some();
        let models = merge_by_base(statement.models.unwrap_or_default());
        let stated_nothing = statement.turn.is_none_or(|turn| turn.iter().flatten().all(|figure| *figure == 0))
            && self.since.sum(|_| true).0 == Sum::default();
        let left_a_turn = self.since_turn.take().is_some_and(|turn| turn < self.turn);
        let is_of_new_process = self.is_of_new_process(&models, statement.cost);
        if is_of_new_process {
            self.count_from_zero();
        }
        let is_whole = |total: &ModelTotal| matches!(total.figures, [Some(_), _, _, Some(_), _]);
        let is_doubtful = statement.is_illegible
            || statement.leaves_out
            || (is_of_new_process && left_a_turn)
            || !models.iter().all(is_whole);
        let cost = statement.cost.map(|cost| cost.saturating_sub(self.cost));
        self.cost = self.cost.max(statement.cost.unwrap_or_default());
        let rest_of_cost = statement.cost.map(|cost| cost.saturating_sub(self.before.sum(|_| true).1));
        let of_main = |figures: Figures| ModelTotal {
            model: main_model.clone().unwrap_or_default(),
            figures,
            cost: rest_of_cost,
            context_window: None,
        };
        let (mut owed, contradicted, quality) = if !models.is_empty() {
            let (owed, contradicted) = self.beyond_records(&models, main_model.as_deref(), statement.cost);
            (owed, contradicted, if contradicted || is_doubtful { Quality::LowerBound } else { Quality::Exact })
        } else if has_models && stated_nothing && !is_doubtful {
            (Vec::from([of_main(NOTHING)]), false, Quality::Exact)
        } else {
            let (figures, contradicted) = beyond(statement.turn.unwrap_or_default(), self.since_by_main);
            let owed = (statement.turn.is_some() || statement.cost.is_some()).then(|| of_main(figures));
            (owed.into_iter().collect(), contradicted, Quality::LowerBound)
        };
        for (model, (sum, _)) in mem::take(&mut self.since).0 {
            add(&mut self.before.entry(&model).0, sum);
        }
        self.since_by_main = Sum::default();
        self.remember(&models);
        // In the order of their keys, which is the one in which the fold takes from them.
        owed.sort_by(|a, b| base_model(&a.model).cmp(base_model(&b.model)));
        let remainders = owed.into_iter().map(|owed| self.remainder(owed, quality)).collect();
        Settled { remainders, cost, contradicted }
    }

    /// Tells whether a running total fell. An absent or empty one is no sign: an error may state nothing.
    fn is_of_new_process(&self, models: &[ModelTotal], cost: Option<NanoUsd>) -> bool {
        if models.is_empty() {
            return cost.is_some_and(|cost| cost != NanoUsd::ZERO && cost < self.cost);
        }
        models.iter().any(|total| {
            let before = self.totals.get(base_model(&total.model)).copied().unwrap_or_default();
            total.figures.iter().zip(before).any(|(figure, before)| figure.is_some() && *figure < before)
        })
    }

    /// Returns what each total holds beyond the records of its model, and whether the records of any are more.
    fn beyond_records(
        &self,
        models: &[ModelTotal],
        main: Option<&str>,
        cost: Option<NanoUsd>,
    ) -> (Vec<ModelTotal>, bool) {
        let main = main.map(base_model).filter(|main| models.iter().any(|total| base_model(&total.model) == *main));
        // Where the totals leave out the model that the agent began with, the first one stands for it.
        let main = main.or_else(|| models.first().map(|total| base_model(&total.model)));
        let named: BTreeSet<&str> = models.iter().map(|total| base_model(&total.model)).collect();
        let stated_costs: NanoUsd = models.iter().filter_map(|total| total.cost).sum();
        let mut contradicted = false;
        let owed = models.iter().map(|total| {
            let base = base_model(&total.model);
            let is_main = main == Some(base);
            let belongs = |model: &str| model == base || (is_main && !named.contains(model));
            let (mut sum, spent) = self.before.sum(belongs);
            add(&mut sum, self.since.sum(belongs).0);
            let (figures, less) = beyond(total.figures, sum);
            contradicted |= less;
            // The main model bears what no model's own figure tells.
            let untold = cost.filter(|_| is_main).map(|cost| cost.saturating_sub(stated_costs));
            let cost = total.cost.or(untold).map(|cost| cost.saturating_sub(spent));
            ModelTotal { figures, cost, ..total.clone() }
        });
        (owed.collect(), contradicted)
    }

    fn remember(&mut self, models: &[ModelTotal]) {
        for total in models {
            let base = base_model(&total.model);
            if self.totals.len() < MAX_MODELS || self.totals.contains_key(base) {
                self.totals.insert(String::from(base), total.figures);
                if let Some(window) = total.context_window {
                    self.context_windows.insert(String::from(base), window);
                }
            }
        }
    }

    /// Takes one remainder into the account and returns its record.
    fn remainder(&mut self, owed: ModelTotal, quality: Quality) -> UsageReport {
        let base = base_model(&owed.model);
        let (sum, cost) = self.before.entry(base);
        add(sum, difference(owed.figures, Figures::default()));
        *cost = cost.saturating_add(owed.cost.unwrap_or_default());
        let key = UsageOrigin::remainder_key(self.statements, if base.is_empty() { "unknown" } else { base });
        if self.remainders.len() == MAX_REMAINDERS {
            self.remainders.pop_front();
        }
        self.remainders.push_back(Remainder { turn: self.turn, model: String::from(base), rest: owed.figures });
        let [input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens] = owed.figures;
        UsageReport {
            input_tokens,
            cache_read_tokens,
            cache_write_tokens,
            output_tokens,
            reasoning_tokens,
            context_window_tokens: owed.context_window,
            reported_cost_usd: owed.cost,
            model: Some(owed.model).filter(|model| !model.is_empty()),
            ..UsageReport::new(key, Grain::Turn, quality)
        }
    }
}

/// Makes one total of those whose models differ in their suffix only; it bears the first one's name.
fn merge_by_base(models: Vec<ModelTotal>) -> Vec<ModelTotal> {
    let mut merged: Vec<ModelTotal> = Vec::new();
    let mut positions: BTreeMap<String, usize> = BTreeMap::new();
    for total in models {
        let next = merged.len();
        let position = *positions.entry(String::from(base_model(&total.model))).or_insert(next);
        match merged.get_mut(position) {
            Some(first) => {
                for (sum, figure) in first.figures.iter_mut().zip(total.figures) {
                    *sum = [*sum, figure].into_iter().flatten().reduce(u64::saturating_add);
                }
                first.cost = [first.cost, total.cost].into_iter().flatten().reduce(NanoUsd::saturating_add);
                first.context_window = first.context_window.max(total.context_window);
            }
            None => merged.push(total),
        }
    }
    merged
}

#[cfg(test)]
mod tests;
