//! How what is said about usage becomes usage records.
//!
//! A record is written right after the event that it comes from. What a finer record replaces is dropped by the fold,
//! never by an event.

use trace_model::{
    event::{Payload, UsageFigures},
    id::TurnId,
    money::NanoUsd,
    totals::add_known,
    turn::Outcome,
    usage::{Agent, UsageOrigin, UsageRecord, UsageReport},
    words::{Grain, Quality},
};

use super::{Batch, Recording, ResultCost};

impl Recording {
    /// Records a report under its own key.
    pub(super) fn usage_report(&self, report: UsageReport, batch: &mut Batch) {
        // A later report of a key counts to the turn that the key was first seen in.
        let known = self.fold.usage_record(&report.key).and_then(|record| record.turn_id);
        self.push_usage(known.or_else(|| self.spending_turn()), report, batch);
    }

    /// Records one usage event of a stream: the turn's sum for readers, and a record of its own.
    pub(super) fn stream_usage(
        &self,
        input_tokens: Option<u64>,
        output_tokens: Option<u64>,
        cache_read_tokens: Option<u64>,
        batch: &mut Batch,
    ) {
        let turn = self.spending_turn();
        let key = UsageOrigin::event_key(batch.next_seq());
        let before = self.stream_usage.as_ref().filter(|(of, _)| Some(*of) == turn).map(|(_, usage)| usage.clone());
        let before = before.unwrap_or_default();
        let usage = UsageFigures {
            input_tokens: add_known([before.input_tokens, input_tokens]),
            output_tokens: add_known([before.output_tokens, output_tokens]),
            cache_read_tokens: add_known([before.cache_read_tokens, cache_read_tokens]),
            ..UsageFigures::default()
        };
        batch.push(turn, Payload::Usage { usage });
        let model = self.launch().header.model.clone();
        let report = UsageReport {
            model,
            input_tokens,
            output_tokens,
            cache_read_tokens,
            ..UsageReport::new(key, Grain::Request, Quality::Exact)
        };
        self.push_usage(turn, report, batch);
    }

    /// Records the provider's figures for a whole turn. There is one such record per turn; the next one replaces it.
    ///
    /// The money stands in the turn's record of costs, for finer records of tokens may come to stand instead of this.
    pub(super) fn turn_usage(&self, turn: TurnId, usage: &UsageFigures, agent: &Agent, batch: &mut Batch) {
        let cached = add_known([usage.cache_read_tokens, usage.cache_write_tokens]).unwrap_or(0);
        let uncached = usage.total_input_tokens.map(|total| total.saturating_sub(cached));
        let report = UsageReport {
            agent: agent.clone(),
            model: usage.model.clone().or_else(|| self.launch().header.model.clone()),
            input_tokens: usage.input_tokens.or(uncached),
            cache_read_tokens: usage.cache_read_tokens,
            cache_write_tokens: usage.cache_write_tokens,
            output_tokens: usage.output_tokens,
            reasoning_tokens: usage.reasoning_tokens,
            context_tokens: usage.peak_input_tokens,
            context_window_tokens: usage.context_window_tokens,
            ..UsageReport::new(UsageOrigin::turn_key(turn), Grain::Turn, Quality::Exact)
        };
        self.push_usage(Some(turn), report, batch);
        if let Some(cost) = usage.cost_usd {
            self.push_cost(turn, cost, batch);
        }
    }

    /// Records the result of a stream, and its cost as a record of its own.
    pub(super) fn result(
        &self,
        status: Outcome,
        cost: Option<ResultCost>,
        duration_secs: Option<f64>,
        batch: &mut Batch,
    ) {
        let turn = self.spending_turn();
        let (stated, own) = match cost {
            None => (None, None),
            Some(ResultCost::Own(own)) => (Some(own), Some(own)),
            Some(ResultCost::RunningTotal(total)) => {
                batch.set_running_cost(total);
                // A total below the last one began anew.
                let before = self.running_cost.filter(|before| *before <= total).unwrap_or(NanoUsd::ZERO);
                (Some(total), Some(total.saturating_sub(before)))
            }
        };
        let result = Payload::Result { status, cost_usd: stated, duration_secs };
        batch.push(turn, result);
        if let (Some(turn), Some(own)) = (turn, own) {
            // Another result of the turn adds to it.
            let before = self.result_cost.filter(|(of, _)| *of == turn).map_or(NanoUsd::ZERO, |(_, cost)| cost);
            let cost = before.saturating_add(own);
            batch.set_result_cost(turn, cost);
            self.push_cost(turn, cost, batch);
        }
    }

    /// Records what a turn cost. Its results and its figures tell of the same money, so the most that one of them says
    /// counts.
    fn push_cost(&self, turn: TurnId, cost: NanoUsd, batch: &mut Batch) {
        let key = UsageOrigin::cost_key(turn);
        let told = self.fold.usage_record(&key).and_then(|record| record.report.reported_cost_usd);
        let report = UsageReport {
            reported_cost_usd: Some(cost).max(told),
            ..UsageReport::new(key, Grain::Turn, Quality::Exact)
        };
        self.push_usage(Some(turn), report, batch);
    }

    /// Records the report as a record of the launch.
    pub(super) fn push_usage(&self, turn_id: Option<TurnId>, mut report: UsageReport, batch: &mut Batch) {
        report.observed_at.get_or_insert(batch.now());
        let agent = report.agent.clone();
        let record = UsageRecord { launch_id: self.launch().header.id, turn_id, report };
        batch.push_observed(turn_id, agent, None, Payload::UsageRecord { record });
    }
}
