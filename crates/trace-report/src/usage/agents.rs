//! Whose usage it is, where a launch has several agents.

use alloc::collections::BTreeSet;

use trace_model::{id::LaunchId, usage::Agent, usage_query::UsageCell};

use super::totals::UsageTotals;

/// The launches with subagents of which something is told of all agents together alone, as a stream does that ends with
/// the total of its process.
#[derive(Debug)]
pub(super) struct ToldTogether(BTreeSet<LaunchId>);

impl ToldTogether {
    pub(super) fn of(cells: &[UsageCell]) -> Self {
        let launches = |is_it: fn(&&UsageCell) -> bool| cells.iter().filter(is_it).map(|cell| cell.launch_id);
        let with_subagents: BTreeSet<LaunchId> = launches(|cell| !cell.agent.is_main()).collect();
        Self(launches(|cell| cell.sum.unlisted > 0).filter(|id| with_subagents.contains(id)).collect())
    }

    /// Returns the agent whose usage it is, unless nobody can tell.
    pub(super) fn agent_of<'a>(&self, cell: &'a UsageCell) -> Option<&'a Agent> {
        let is_of_all = cell.sum.unlisted > 0 && self.0.contains(&cell.launch_id);
        (!is_of_all).then_some(&cell.agent)
    }

    /// Marks what an agent used as a lower bound if there is more that may be its.
    pub(super) fn bound(&self, totals: &mut UsageTotals, cells: &[&UsageCell]) {
        if cells.iter().any(|cell| self.0.contains(&cell.launch_id)) {
            totals.lower_bound();
        }
    }
}
