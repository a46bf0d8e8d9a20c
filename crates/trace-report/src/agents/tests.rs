use std::{format, string::ToString, vec, vec::Vec};

use proptest::prelude::*;
use trace_model::{
    id::LaunchId,
    totals::add_known,
    usage::{UsageRecord, UsageReport},
    words::{Grain, Quality},
};
use uuid::Uuid;

use super::*;

fn sub(id: &str) -> Agent {
    Agent::Sub(id.to_string())
}

fn fact(agent: &str, parent: Agent) -> AgentFacts {
    AgentFacts { agent: sub(agent), parent: Some(parent), ..AgentFacts::default() }
}

fn usage(number: usize, agent: Agent, output: Option<u64>) -> UsageRow {
    let report = UsageReport {
        agent,
        output_tokens: output,
        context_tokens: output,
        ..UsageReport::new(format!("msg_{number}"), Grain::Request, Quality::Exact)
    };
    let launch_id = LaunchId::from_uuid(Uuid::from_u128(1));
    UsageRow { record: UsageRecord { launch_id, turn_id: None, report }, replay_of: None }
}

fn usage_of_main(output: u64) -> UsageRow {
    usage(0, Agent::Main, Some(output))
}

fn shape(rows: &[AgentRow]) -> Vec<(&str, u64, ParentPlace)> {
    rows.iter().map(|row| (row.agent.as_str(), row.depth, row.parent_place)).collect()
}

#[test]
fn a_launch_without_subagents_has_no_rows() {
    assert!(rows(Vec::new(), &AgentSteps::default(), &[usage(0, Agent::Main, Some(3))]).is_empty());
}

#[test]
fn agents_stand_beneath_those_that_started_them() {
    let facts = vec![fact("c", sub("b")), fact("b", sub("a")), fact("a", Agent::Main), fact("z", sub("gone"))];
    let rows = rows(facts, &AgentSteps::default(), &[usage(0, sub("m"), Some(7))]);
    let (above, none, missing) = (ParentPlace::Above, ParentPlace::None, ParentPlace::Missing);
    let expected =
        [("main", 0, none), ("a", 1, above), ("b", 2, above), ("c", 3, above), ("m", 1, none), ("z", 1, missing)];
    assert_eq!(shape(&rows), expected);
    assert_eq!(shape(beneath(&rows, &sub("a"))), expected[2..4]);
    let by_usage = &rows[4];
    assert_eq!((by_usage.parent.as_ref(), by_usage.largest_context_tokens), (None, Some(7)));
    assert_eq!((by_usage.prompts, by_usage.tool_calls, &by_usage.prompt), (None, None, &None));
}

#[test]
fn a_circle_is_cut_and_said() {
    let rows = rows(vec![fact("a", sub("b")), fact("b", sub("a"))], &AgentSteps::default(), &[]);
    let expected = [("main", 0, ParentPlace::None), ("a", 1, ParentPlace::Circle), ("b", 2, ParentPlace::Above)];
    assert_eq!(shape(&rows), expected);
}

fn agent() -> impl Strategy<Value = Agent> {
    (0..8_u8).prop_map(|number| if number == 0 { Agent::Main } else { sub(&format!("agent{number}")) })
}

proptest! {
    #[test]
    fn all_agents_together_used_what_the_launch_used(
        facts in prop::collection::vec((agent(), prop::option::of(agent())), 0..8),
        spent in prop::collection::vec((agent(), prop::option::of(0..1_000_u64)), 0..20),
        remainder in prop::option::of(0..1_000_u64),
    ) {
        let usage: Vec<UsageRow> =
            spent.into_iter().enumerate().map(|(number, (agent, output))| usage(number, agent, output)).collect();
        let mut usage = usage;
        usage.extend(remainder.map(|output| {
            let mut row = usage_of_main(output);
            row.record.report.key = UsageOrigin::remainder_key(1, "m");
            row
        }));
        let facts: Vec<AgentFacts> =
            facts.into_iter().map(|(agent, parent)| AgentFacts { agent, parent, ..AgentFacts::default() }).collect();
        let named: BTreeSet<Agent> = facts.iter().map(|fact| fact.agent.clone())
            .chain(usage.iter().map(|row| row.record.report.agent.clone()))
            .filter(|agent| !agent.is_main())
            .collect();
        let rows = rows(facts, &AgentSteps::default(), &usage);
        let found: Vec<Agent> = rows.iter().filter(|row| !row.agent.is_main()).map(|row| row.agent.clone()).collect();
        prop_assert_eq!(found.len(), named.len());
        prop_assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), named.clone());
        if !named.is_empty() {
            let all = Totals::of(&usage);
            let rest = rest(&usage);
            let parts: Vec<Totals> = rows.iter().map(|row| row.totals).chain(rest).collect();
            prop_assert_eq!(add_known(parts.iter().map(|part| part.output_tokens)), all.output_tokens);
            prop_assert_eq!(add_known(parts.iter().map(|part| part.total_tokens)), all.total_tokens);
            for row in &rows {
                let models = models(&usage, &row.agent);
                prop_assert_eq!(add_known(models.iter().map(|model| model.totals.total_tokens)), row.totals.total_tokens);
            }
        }
    }
}
