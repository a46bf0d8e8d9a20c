use std::{
    format,
    string::{String, ToString},
    vec,
    vec::Vec,
};

use trace_model::{
    id::{LaunchId, TurnId},
    launch::LaunchHeader,
    money::NanoUsd,
    usage::{UsageRecord, UsageReport, UsageRow},
    usage_query::UsageQuery,
    usage_sum::ComputedCost,
    words::{Grain, Quality},
};
use uuid::Uuid;

use super::*;
use crate::samples;

/// What is known of some usage.
pub(super) struct Sample {
    launches: BTreeMap<LaunchId, Launch>,
    rows: Vec<(LaunchId, UsageRow, ComputedCost)>,
}

/// Returns a time of 30 November 2026, `10:00`.
pub(super) fn at(time: &str) -> Timestamp {
    format!("2026-11-30T{time}:00Z").parse().unwrap()
}

pub(super) fn id(number: u128) -> LaunchId {
    LaunchId::from_uuid(Uuid::from_u128(number))
}

/// A request of ten prompt tokens and one of output, at 10:00, by the main agent with `opus`.
pub(super) fn request(key: &str) -> UsageReport {
    UsageReport {
        model: Some("opus".to_string()),
        observed_at: Some(at("10:00")),
        input_tokens: Some(10),
        output_tokens: Some(1),
        ..UsageReport::new(key, Grain::Request, Quality::Exact)
    }
}

pub(super) fn dollars(dollars: u64) -> ComputedCost {
    ComputedCost::Priced(NanoUsd::from_nanos(dollars * 1_000_000_000))
}

impl Sample {
    pub(super) fn new() -> Self {
        Self { launches: BTreeMap::new(), rows: Vec::new() }
    }

    /// Adds a launch of that number; its session is called like it unless told otherwise.
    pub(super) fn launch(mut self, number: u128, change: impl FnOnce(&mut LaunchHeader, &mut Option<String>)) -> Self {
        let mut launch = samples::launch();
        launch.header.id = id(number);
        launch.header.started_at = at("09:00");
        launch.provider_session_id = Some(format!("session-{number}"));
        change(&mut launch.header, &mut launch.provider_session_id);
        self.launches.insert(launch.header.id, launch);
        self
    }

    pub(super) fn used(self, number: u128, report: UsageReport, cost: ComputedCost) -> Self {
        self.row(number, report, cost, None)
    }

    fn row(mut self, number: u128, report: UsageReport, cost: ComputedCost, replay_of: Option<LaunchId>) -> Self {
        let turn_id = Some(TurnId::from_uuid(Uuid::from_u128(1)));
        let record = UsageRecord { launch_id: id(number), turn_id, report };
        self.rows.push((id(number), UsageRow { record, replay_of }, cost));
        self
    }

    pub(super) fn view(&self, by: UsageBy) -> UsageView {
        self.view_of(by, false, &|_| true)
    }

    pub(super) fn view_of(&self, by: UsageBy, breakdown: bool, wanted: &dyn Fn(&UsageCell) -> bool) -> UsageView {
        let rows_of = |launch: &LaunchId| {
            let rows = self.rows.iter().filter(|(id, ..)| id == launch);
            rows.map(|(_, row, cost)| (row.clone(), *cost)).collect::<Vec<_>>()
        };
        let launches = self.launches.iter().map(|(id, launch)| (launch, rows_of(id)));
        let cells = UsageQuery::default().cells(launches);
        let label = |at: Timestamp| {
            let length = match by {
                UsageBy::Monthly => 7,
                UsageBy::Blocks => 16,
                _ => 10,
            };
            at.to_string()[..length].to_string()
        };
        let price_version = PriceVersion("prices of today".to_string());
        let parts = UsageParts {
            launches: &self.launches,
            cells: &cells,
            wanted,
            price_version: &price_version,
            now: at("12:00"),
        };
        UsageView::new(parts, UsageLayout { by, breakdown, time_zone: "UTC", label: &label })
    }
}

pub(super) fn keys(view: &UsageView) -> Vec<Option<&str>> {
    view.rows.iter().map(|row| row.key.as_deref()).collect()
}

fn on(day: &str, report: UsageReport) -> UsageReport {
    UsageReport { observed_at: Some(format!("{day}T10:00:00Z").parse().unwrap()), ..report }
}

#[test]
fn days_are_in_order_and_what_has_no_time_comes_last() {
    let sample = Sample::new()
        .launch(1, |_, _| {})
        .used(1, on("2026-11-30", request("a")), dollars(1))
        .used(1, UsageReport { observed_at: None, ..request("b") }, dollars(9))
        .used(1, on("2026-10-02", request("c")), dollars(5));
    assert_eq!(keys(&sample.view(UsageBy::Daily)), [Some("2026-10-02"), Some("2026-11-30"), None]);
    let months = sample.view(UsageBy::Monthly);
    assert_eq!(keys(&months), [Some("2026-10"), Some("2026-11"), None]);
    assert_eq!(months.rows[0].totals.input_tokens, Some(10));
    assert_eq!(months.totals.total_tokens, Some(33));
    assert_eq!((months.totals.sessions, months.totals.requests), (1, Some(3)));
    assert_eq!(months.totals.cost_usd, Some(NanoUsd::from_nanos(15_000_000_000)));
}

#[test]
fn a_session_that_goes_on_in_another_launch_is_one_row_of_the_first() {
    let sample = Sample::new()
        .launch(1, |header, session| {
            header.started_at = at("09:30");
            *session = Some("one".to_string());
        })
        .launch(2, |header, session| {
            header.started_at = at("08:30");
            header.project = Some("parser".to_string());
            *session = Some("one".to_string());
        })
        .launch(3, |header, session| {
            header.started_at = at("08:00");
            *session = None;
        })
        .used(1, request("a"), dollars(1))
        .used(2, request("b"), dollars(1))
        .used(3, request("c"), dollars(1));
    let view = sample.view(UsageBy::Session);
    assert_eq!(keys(&view), [Some(id(3).to_string().as_str()), Some("one")]);
    let Subject { launch_id, started_at, project, agent, .. } = &view.rows[1].subject;
    assert_eq!((*launch_id, *started_at), (Some(id(2)), Some(at("08:30"))));
    assert_eq!((project.as_deref(), agent), (Some("parser"), &None));
    assert_eq!((view.rows[1].totals.sessions, view.rows[1].totals.requests), (1, Some(2)));
    assert_eq!(view.totals.sessions, 2);
}

#[test]
fn models_projects_and_agents_come_with_the_dearest_first() {
    let sub = Agent::Sub("agent-7".to_string());
    let sample = Sample::new()
        .launch(1, |header, _| header.project = Some("parser".to_string()))
        .launch(2, |header, _| header.repo = "/src/lexer".to_string())
        .launch(3, |header, _| header.repo = String::new())
        .used(1, request("a"), dollars(1))
        .used(1, UsageReport { model: Some("haiku".to_string()), agent: sub.clone(), ..request("b") }, dollars(2))
        .used(2, UsageReport { model: None, ..request("c") }, dollars(4));
    assert_eq!(keys(&sample.view(UsageBy::Model)), [None, Some("haiku"), Some("opus")]);
    let agents = sample.view(UsageBy::Agent);
    assert_eq!(keys(&agents), [Some("main"), Some("agent-7"), Some("main")]);
    let subjects: Vec<_> = agents.rows.iter().map(|row| (row.subject.launch_id, row.subject.agent.clone())).collect();
    assert_eq!(
        subjects,
        [(Some(id(2)), Some(Agent::Main)), (Some(id(1)), Some(sub)), (Some(id(1)), Some(Agent::Main))]
    );
}

#[test]
fn what_is_told_of_all_agents_together_is_of_none_and_bounds_each() {
    let sub = || UsageReport { agent: Agent::Sub("agent-7".to_string()), ..request("b") };
    let later = || on("2026-12-01", request("c"));
    let rest = || UsageReport { output_tokens: Some(100), ..UsageReport { grain: Grain::Session, ..request("d") } };
    let alone = Sample::new().launch(1, |_, _| {}).used(1, request("a"), dollars(1)).used(1, rest(), dollars(2));
    // Where nobody else is, it is the main agent's.
    assert_eq!(keys(&alone.view(UsageBy::Agent)), [Some("main")]);
    let sample = alone.used(1, sub(), dollars(4)).used(1, later(), dollars(8));
    let sample = sample.launch(2, |_, _| {}).used(2, UsageReport { key: "e".to_string(), ..sub() }, dollars(16));
    let view = sample.view_of(UsageBy::Agent, true, &|_| true);
    // The main agent's request of the same quarter of an hour cannot be told from the rest.
    assert_eq!(keys(&view), [Some("agent-7"), Some("main"), Some("agent-7"), None]);
    let agents: Vec<_> = view.rows.iter().map(|row| row.subject.agent.is_some()).collect();
    assert_eq!(agents, [true, true, true, false]);
    let bounds: Vec<_> = view.rows.iter().map(|row| (row.totals.quality, row.totals.requests)).collect();
    let bound = (Quality::LowerBound, None);
    assert_eq!(bounds, [(Quality::Exact, Some(1)), bound, bound, (Quality::Exact, None)]);
    for row in &view.rows {
        let models = row.models.as_ref().unwrap();
        assert_eq!((models[0].totals.quality, models[0].totals.requests), (row.totals.quality, row.totals.requests));
    }
    let sum: u64 = view.rows.iter().filter_map(|row| row.totals.total_tokens).sum();
    assert_eq!((view.totals.total_tokens, view.totals.quality), (Some(sum), Quality::Exact));
    // By session it is all that session's.
    assert_eq!(sample.view(UsageBy::Session).rows[0].totals.quality, Quality::Exact);
}

#[test]
fn a_breakdown_has_the_models_of_each_row_that_add_up_to_it() {
    let sample = Sample::new().launch(1, |_, _| {}).used(1, request("a"), dollars(1)).used(
        1,
        UsageReport { model: Some("haiku".to_string()), ..request("b") },
        dollars(2),
    );
    assert!(sample.view(UsageBy::Daily).rows[0].models.is_none());
    assert!(sample.view_of(UsageBy::Model, true, &|_| true).rows[0].models.is_none());
    let view = sample.view_of(UsageBy::Daily, true, &|_| true);
    let models = view.rows[0].models.as_ref().unwrap();
    assert_eq!(models.iter().map(|model| model.model.as_deref()).collect::<Vec<_>>(), [Some("haiku"), Some("opus")]);
    let sum: u64 = models.iter().filter_map(|model| model.totals.total_tokens).sum();
    assert_eq!(Some(sum), view.rows[0].totals.total_tokens);
}

#[test]
fn what_has_no_price_is_null_and_listed_and_makes_the_sum_a_lower_bound() {
    let unknown = || UsageReport { model: Some("invented".to_string()), ..request("b") };
    let sample = Sample::new().launch(1, |_, _| {}).used(1, unknown(), ComputedCost::NoPrice).used(
        1,
        UsageReport { key: "c".to_string(), ..unknown() },
        ComputedCost::NotYet,
    );
    let view = sample.view(UsageBy::Model);
    assert_eq!((view.rows[0].totals.cost_usd, view.rows[0].totals.cost_quality), (None, Quality::Unknown));
    let sample = sample.used(1, request("a"), dollars(3));
    let view = sample.view(UsageBy::Model);
    assert_eq!(keys(&view), [Some("opus"), Some("invented")]);
    let UsageTotals { cost_usd, cost_quality, unpriced, quality, .. } = view.totals;
    assert_eq!((cost_usd, cost_quality), (Some(NanoUsd::from_nanos(3_000_000_000)), Quality::LowerBound));
    assert_eq!((unpriced, quality), (2, Quality::Exact));
    assert_eq!(
        view.unpriced,
        [Unpriced {
            provider: Provider::Claude,
            model: Some("invented".to_string()),
            records: 2,
            total_tokens: Some(22)
        }]
    );
}

#[test]
fn a_lower_bound_is_one_in_every_sum_that_holds_it_and_in_no_other() {
    let bound = UsageReport { quality: Quality::LowerBound, ..on("2026-11-29", request("b")) };
    let sample = Sample::new().launch(1, |_, _| {}).used(1, request("a"), dollars(1)).used(1, bound, dollars(1));
    let view = sample.view(UsageBy::Daily);
    let qualities: Vec<_> = view.rows.iter().map(|row| (row.totals.quality, row.totals.cost_quality)).collect();
    assert_eq!(qualities, [(Quality::LowerBound, Quality::LowerBound), (Quality::Exact, Quality::Exact)]);
    assert_eq!((view.totals.quality, view.totals.cost_quality), (Quality::LowerBound, Quality::LowerBound));
}

#[test]
fn what_the_provider_said_stands_beside_what_was_computed() {
    let reported = UsageReport { reported_cost_usd: Some(NanoUsd::from_nanos(7)), ..request("a") };
    let view = Sample::new().launch(1, |_, _| {}).used(1, reported, dollars(1)).view(UsageBy::Daily);
    assert_eq!(view.totals.cost_usd, Some(NanoUsd::from_nanos(1_000_000_000)));
    assert_eq!(view.totals.reported_cost_usd, Some(NanoUsd::from_nanos(7)));
}

#[test]
fn a_copy_counts_nothing_and_is_told() {
    let sample = Sample::new()
        .launch(1, |_, _| {})
        .launch(2, |header, _| header.started_at = at("09:30"))
        .used(1, request("a"), dollars(1))
        .row(2, request("a"), dollars(1), Some(id(1)));
    let view = sample.view(UsageBy::Session);
    let counts: Vec<_> = view.rows.iter().map(|row| (row.totals.requests, row.totals.replays)).collect();
    assert_eq!(counts, [(Some(1), 0), (None, 1)]);
    assert_eq!((view.totals.sessions, view.totals.requests, view.totals.replays), (1, Some(1), 1));
    assert_eq!(view.totals.total_tokens, Some(11));
}

#[test]
fn what_is_not_wanted_counts_nowhere() {
    let sample = Sample::new().launch(1, |_, _| {}).used(1, request("a"), dollars(1)).used(
        1,
        UsageReport { model: Some("haiku".to_string()), ..request("b") },
        ComputedCost::NoPrice,
    );
    let view = sample.view_of(UsageBy::Daily, true, &|cell| cell.model.as_deref() == Some("opus"));
    assert_eq!((view.totals.requests, view.totals.unpriced, view.unpriced.len()), (Some(1), 0, 0));
    assert_eq!(view.rows[0].models.as_ref().map(Vec::len), Some(1));
    let nothing = sample.view_of(UsageBy::Daily, false, &|_| false);
    assert!(nothing.rows.is_empty());
    assert_eq!((nothing.totals.total_tokens, nothing.totals.cost_usd), (None, None));
}

#[test]
fn unknown_is_null_in_the_document() {
    let unknown = UsageReport { quality: Quality::Unknown, ..UsageReport::new("a", Grain::Turn, Quality::Unknown) };
    let view = Sample::new().launch(1, |_, _| {}).used(1, unknown, ComputedCost::NotYet).view(UsageBy::Daily);
    let document = serde_json::to_value(&view).unwrap();
    let totals = &document["rows"][0]["totals"];
    for field in ["requests", "input_tokens", "output_tokens", "total_tokens", "cost_usd", "reported_cost_usd"] {
        assert!(totals[field].is_null() && totals.get(field).is_some(), "{field} in {totals}");
    }
    assert_eq!(document["rows"][0]["key"], serde_json::Value::Null);
    assert_eq!((&totals["quality"], &document["by"]), (&"unknown".into(), &"daily".into()));
    assert_eq!(vec![document["unpriced"].clone()], [serde_json::json!([])]);
}
