//! What usage adds up to: by launch, quarter of an hour, model and agent.

use std::collections::{BTreeMap, BTreeSet};

use trace_model::{
    id::LaunchId,
    launch::Launch,
    money::NanoUsd,
    query::{LaunchCursor, LaunchQuery, Order},
    rows::{BoundaryRows, LaunchChange, UsageChange},
    timestamp::Timestamp,
    totals::Totals,
    turn::Outcome,
    usage::{Agent, UsageRecord, UsageReport},
    usage_query::{UsageCell, UsageQuery},
    usage_sum::ComputedCost,
    words::{Grain, Quality},
};

use super::{Handle, apply_all};
use crate::samples::{self, usage_boundary};

/// How many seconds a period has.
const PERIOD: u32 = 900;

/// Returns a record of a request of its own, which used that many tokens.
pub(super) fn spent(n: u32, key: &str, at: Option<u32>, output: u64) -> UsageRecord {
    let report = UsageReport {
        model: Some(String::from("claude-opus-4-8")),
        observed_at: at.map(samples::time),
        output_tokens: Some(output),
        ..UsageReport::new(key, Grain::Request, Quality::Exact)
    };
    UsageRecord { launch_id: samples::launch_id(n), turn_id: None, report }
}

fn of_model(model: Option<&str>, mut record: UsageRecord) -> UsageRecord {
    record.report.model = model.map(String::from);
    record
}

fn of_agent(agent: &str, mut record: UsageRecord) -> UsageRecord {
    record.report.agent = Agent::Sub(String::from(agent));
    record
}

pub(super) fn deletion(n: u32, key: &str) -> BoundaryRows {
    BoundaryRows { usage: BTreeMap::from([(String::from(key), UsageChange::Deleted)]), ..usage_boundary(n, []) }
}

/// Returns the cells by their definition: from all launches and all of their records. No cost is known.
async fn defined(ledger: &Handle, query: &UsageQuery) -> Vec<UsageCell> {
    let launches = ledger.launches(&LaunchQuery::default()).await.unwrap();
    let mut rows = Vec::new();
    for launch in &launches {
        let usage = ledger.usage(launch.header.id).await.unwrap();
        rows.push((launch, usage.into_iter().map(|row| (row, ComputedCost::NotYet)).collect()));
    }
    query.cells(rows)
}

/// Returns all cells, after checking that they are what their definition says.
pub(super) async fn cells(ledger: &Handle) -> Vec<UsageCell> {
    wanted(ledger, &UsageQuery::default()).await
}

/// Returns the wanted cells, after checking that they are what their definition says.
async fn wanted(ledger: &Handle, query: &UsageQuery) -> Vec<UsageCell> {
    let found = ledger.usage_cells(query).await.unwrap();
    assert_eq!(found, defined(ledger, query).await, "{query:?}");
    found
}

/// The launch's number, period in quarters of an hour from [`samples::time`]`(0)`, model, agent, and output tokens.
pub(super) type Short<'a> = (u32, Option<i64>, Option<&'a str>, &'a str, Option<u64>);

#[track_caller]
pub(super) fn assert_are<'a>(cells: &'a [UsageCell], expected: &[Short<'a>]) {
    let quarters = |period: Timestamp| {
        (period.as_micros() - samples::time(0).as_micros()).div_euclid(i64::from(PERIOD) * 1_000_000)
    };
    let number = |launch: LaunchId| (0..100).find(|n| samples::launch_id(*n) == launch).unwrap();
    let short = |cell: &'a UsageCell| -> Short<'a> {
        let UsageCell { launch_id, period, model, agent, sum } = cell;
        (number(*launch_id), period.map(quarters), model.as_deref(), agent.as_str(), sum.output_tokens)
    };
    assert_eq!(cells.iter().map(short).collect::<Vec<_>>(), expected);
}

pub(super) const OPUS: Option<&str> = Some("claude-opus-4-8");

/// A ledger without usage has no cells, whatever is asked for.
pub async fn without_usage_there_are_no_cells(ledger: Handle) {
    assert_eq!(cells(&ledger).await, []);
    apply_all(&ledger, [1, 2].map(samples::beginning)).await;
    assert_eq!(cells(&ledger).await, []);
}

/// Cells come by launch, period, model and agent, and what is unknown comes first.
pub async fn cells_come_by_launch_period_model_and_agent(ledger: Handle) {
    apply_all(&ledger, [2, 1].map(samples::beginning)).await;
    let later = 3 * PERIOD;
    let records = |n| {
        [
            spent(n, "a", Some(later), 1),
            spent(n, "b", Some(0), 2),
            of_model(Some("é"), spent(n, "c", Some(0), 3)),
            of_model(Some(""), spent(n, "d", Some(0), 4)),
            of_model(None, spent(n, "e", Some(0), 5)),
            of_agent("sub", spent(n, "f", Some(0), 6)),
            of_agent("Sub", spent(n, "g", Some(0), 7)),
            spent(n, "h", None, 8),
            spent(n, "i", Some(PERIOD - 1), 9),
        ]
    };
    for n in [2, 1] {
        ledger.apply(&usage_boundary(n, records(n))).await.unwrap();
    }
    let of_launch = |n| {
        [
            (n, None, OPUS, "main", Some(8)),
            (n, Some(0), None, "main", Some(5)),
            (n, Some(0), Some(""), "main", Some(4)),
            (n, Some(0), OPUS, "main", Some(11)),
            (n, Some(0), OPUS, "Sub", Some(7)),
            (n, Some(0), OPUS, "sub", Some(6)),
            (n, Some(0), Some("é"), "main", Some(3)),
            (n, Some(3), OPUS, "main", Some(1)),
        ]
    };
    assert_are(&cells(&ledger).await, &[1, 2].map(of_launch).concat());
}

/// A period is a quarter of an hour of UTC, before 1970 too, and in no zone of anybody.
pub async fn a_period_begins_at_a_quarter_of_an_hour(ledger: Handle) {
    ledger.apply(&samples::beginning(1)).await.unwrap();
    let quarter: i64 = 900_000_000;
    let at = |key: &str, micros| {
        let mut record = spent(1, key, None, 1);
        record.report.observed_at = Timestamp::from_micros(micros);
        record
    };
    let records = [
        at("a", -quarter - 1),
        at("b", -quarter),
        at("c", -1),
        at("d", 0),
        at("e", quarter - 1),
        at("f", quarter),
        at("first", -62_135_596_800_000_000),
        at("last", 253_402_300_799_999_999),
    ];
    ledger.apply(&usage_boundary(1, records)).await.unwrap();
    let found = cells(&ledger).await;
    let periods: Vec<_> = found.iter().map(|cell| (cell.period.unwrap().as_micros(), cell.sum.requests)).collect();
    let last = 253_402_300_800_000_000 - quarter;
    let first = -62_135_596_800_000_000;
    assert_eq!(periods, [(first, 1), (-2 * quarter, 1), (-quarter, 2), (0, 2), (quarter, 1), (last, 1)]);
}

/// Sums stop at the largest number, and go on from there as one more is added or the parts are joined.
pub async fn sums_stop_at_the_largest_number(ledger: Handle) {
    apply_all(&ledger, [1, 2].map(samples::beginning)).await;
    let largest = |key: &str, tokens| {
        let mut record = spent(1, key, Some(0), tokens);
        record.report.reported_cost_usd = Some(NanoUsd::from_nanos(tokens));
        record.report.input_tokens = Some(tokens);
        record
    };
    ledger.apply(&usage_boundary(1, [largest("a", u64::MAX), spent(1, "b", Some(0), 0)])).await.unwrap();
    assert_eq!(cells(&ledger).await[0].sum.output_tokens, Some(u64::MAX));
    for (key, tokens) in [("c", 1), ("d", u64::MAX), ("e", 1 << 63)] {
        ledger.apply(&usage_boundary(1, [largest(key, tokens)])).await.unwrap();
        let sum = cells(&ledger).await[0].sum;
        assert_eq!((sum.output_tokens, sum.input_tokens), (Some(u64::MAX), Some(u64::MAX)));
        assert_eq!(sum.reported_cost_usd, Some(NanoUsd::from_nanos(u64::MAX)));
    }
    // What went over is found again as soon as it fits.
    ledger.apply(&usage_boundary(1, [largest("d", 7)])).await.unwrap();
    assert_eq!(cells(&ledger).await[0].sum.output_tokens, Some(u64::MAX));
    ledger.apply(&usage_boundary(1, [largest("a", 3)])).await.unwrap();
    assert_eq!(cells(&ledger).await[0].sum.output_tokens, Some((1 << 63) + 11));
    ledger.apply(&deletion(1, "d")).await.unwrap();
    assert_eq!(cells(&ledger).await[0].sum.output_tokens, Some((1 << 63) + 4));
}

/// What is unknown stays unknown in a sum, and is no zero.
pub async fn unknown_numbers_add_up_to_unknown(ledger: Handle) {
    ledger.apply(&samples::beginning(1)).await.unwrap();
    let bare = |key: &str, quality| {
        let report = UsageReport::new(key, Grain::Turn, quality);
        UsageRecord { launch_id: samples::launch_id(1), turn_id: None, report }
    };
    ledger.apply(&usage_boundary(1, [bare("a", Quality::Unknown), bare("turn:1", Quality::LowerBound)])).await.unwrap();
    let sum = cells(&ledger).await[0].sum;
    assert_eq!((sum.records, sum.requests, sum.unlisted), (2, 0, 2));
    assert_eq!((sum.input_tokens, sum.output_tokens, sum.reported_cost_usd), (None, None, None));
    assert_eq!(sum.quality(), Some(Quality::Unknown));
    ledger.apply(&usage_boundary(1, [spent(1, "b", None, 0)])).await.unwrap();
    assert_eq!(cells(&ledger).await[0].sum.output_tokens, None, "of another model");
    assert_eq!(cells(&ledger).await[1].sum.output_tokens, Some(0));
}

/// Each filter, alone and together with others, wants what it names; pages do not matter.
pub async fn each_filter_of_usage_wants_what_it_names(ledger: Handle) {
    for n in 1..=4 {
        let mut rows = samples::whole_launch(n);
        rows.launch.header.project = Some(format!("project {}", n % 2));
        if n == 4 {
            rows.launch.header.provider = "codex".parse().unwrap();
            rows.launch.provider_session_id = Some(String::from("session 4"));
        }
        let records = [
            spent(n, "a", Some(0), 1),
            spent(n, "b", Some(2 * PERIOD), 2),
            of_model(Some("haiku"), spent(n, "c", Some(PERIOD), 3)),
            of_agent("sub", of_model(None, spent(n, "d", Some(PERIOD), 4))),
            spent(n, "e", None, 5),
        ];
        rows.usage = records.map(|record| (record.report.key.clone(), record)).into();
        ledger.replace_launch(&rows).await.unwrap();
    }
    let all = UsageQuery::default;
    let launches = |launches| UsageQuery { launches, ..all() };
    let names = |names: &[&str]| names.iter().map(|name| String::from(*name)).collect::<BTreeSet<_>>();
    let any = LaunchQuery::default;
    let cursor = LaunchCursor { started_at: samples::time(2), id: samples::launch_id(2) };
    let queries = [
        (20, all()),
        (10, launches(LaunchQuery { projects: names(&["project 1"]), ..any() })),
        (5, launches(LaunchQuery { providers: ["codex".parse().unwrap()].into(), ..any() })),
        (5, launches(LaunchQuery { sessions: names(&["session 4", "none"]), ..any() })),
        (0, launches(LaunchQuery { sessions: names(&["none"]), ..any() })),
        (0, launches(LaunchQuery { runs: ["no-run".parse().unwrap()].into(), ..any() })),
        (10, launches(LaunchQuery { started_from: Some(samples::time(3)), ..any() })),
        (5, launches(LaunchQuery { projects: names(&["project 1"]), started_before: Some(samples::time(2)), ..any() })),
        // Which page is asked for does not matter.
        (20, launches(LaunchQuery { limit: Some(1), after: Some(cursor), order: Order::NewestFirst, ..any() })),
        (12, UsageQuery { models: names(&["claude-opus-4-8"]), ..all() }),
        (4, UsageQuery { models: names(&["haiku", ""]), ..all() }),
        (0, UsageQuery { models: names(&["Haiku"]), ..all() }),
        (4, UsageQuery { agents: [Agent::Sub(String::from("sub"))].into(), ..all() }),
        (16, UsageQuery { agents: [Agent::Main].into(), ..all() }),
        // A quarter of an hour is wanted whole; what has no time is in no span of it.
        (16, UsageQuery { observed_from: Some(samples::time(PERIOD - 1)), ..all() }),
        (12, UsageQuery { observed_from: Some(samples::time(PERIOD)), ..all() }),
        (4, UsageQuery { observed_before: Some(samples::time(PERIOD)), ..all() }),
        (12, UsageQuery { observed_before: Some(samples::time(PERIOD + 1)), ..all() }),
        (
            8,
            UsageQuery {
                observed_from: Some(samples::time(PERIOD)),
                observed_before: Some(samples::time(2 * PERIOD)),
                ..all()
            },
        ),
        (
            2,
            UsageQuery {
                models: names(&["haiku"]),
                agents: [Agent::Main].into(),
                observed_from: Some(samples::time(1)),
                ..launches(LaunchQuery { projects: names(&["project 0"]), ..any() })
            },
        ),
    ];
    for (count, query) in queries {
        assert_eq!(wanted(&ledger, &query).await.len(), count, "{query:?}");
    }
}

/// Every kind of write shows at once, for those who asked before it and for those who did not.
pub async fn every_write_shows_in_the_cells(ledger: Handle) {
    let opened = samples::beginning(1);
    apply_all(&ledger, [opened, samples::beginning(2)]).await;
    ledger.apply(&usage_boundary(2, [spent(2, "other", Some(0), 1_000)])).await.unwrap();
    let other = (2, Some(0), OPUS, "main", Some(1_000));
    ledger.apply(&usage_boundary(1, [spent(1, "a", Some(0), 1), spent(1, "b", Some(1), 20)])).await.unwrap();
    assert_are(&cells(&ledger).await, &[(1, Some(0), OPUS, "main", Some(21)), other]);
    // The same key again: its old record counts no more, …
    ledger.apply(&usage_boundary(1, [spent(1, "a", Some(0), 2)])).await.unwrap();
    assert_are(&cells(&ledger).await, &[(1, Some(0), OPUS, "main", Some(22)), other]);
    // … whatever cell it is in now.
    ledger.apply(&usage_boundary(1, [of_agent("sub", spent(1, "a", Some(PERIOD), 3))])).await.unwrap();
    let moved = [(1, Some(0), OPUS, "main", Some(20)), (1, Some(1), OPUS, "sub", Some(3)), other];
    assert_are(&cells(&ledger).await, &moved);
    // What changes nothing changes nothing.
    ledger.apply(&usage_boundary(1, [spent(1, "b", Some(1), 20)])).await.unwrap();
    ledger.apply(&deletion(1, "never")).await.unwrap();
    assert_are(&cells(&ledger).await, &moved);
    ledger.apply(&deletion(1, "b")).await.unwrap();
    assert_are(&cells(&ledger).await, &[(1, Some(1), OPUS, "sub", Some(3)), other]);
    let end = BoundaryRows {
        launch: LaunchChange::Updated(samples::ended(samples::launch(1), Outcome::Completed)),
        ..usage_boundary(1, [spent(1, "c", Some(0), 4)])
    };
    ledger.apply(&end).await.unwrap();
    let ended = [(1, Some(0), OPUS, "main", Some(4)), (1, Some(1), OPUS, "sub", Some(3)), other];
    assert_are(&cells(&ledger).await, &ended);
    let more = BoundaryRows {
        launch: LaunchChange::Extended(samples::ended(samples::launch(1), Outcome::Failed)),
        turns_opened: vec![samples::turn_rows(samples::turn(1, 2), 0)],
        ..usage_boundary(1, [UsageRecord { turn_id: Some(samples::turn_id(1, 2)), ..spent(1, "d", Some(0), 5) }])
    };
    ledger.apply(&more).await.unwrap();
    let extended = [(1, Some(0), OPUS, "main", Some(9)), (1, Some(1), OPUS, "sub", Some(3)), other];
    assert_are(&cells(&ledger).await, &extended);
    // A write that is refused is none.
    let refused = UsageRecord { turn_id: Some(samples::turn_id(1, 9)), ..spent(1, "z", Some(0), 7) };
    let boundary =
        BoundaryRows { launch: more.launch, ..usage_boundary(1, [spent(1, "a", Some(0), 8), refused.clone()]) };
    ledger.apply(&boundary).await.unwrap_err();
    let mut rows = samples::whole_launch(1);
    rows.usage = [(String::from("z"), refused)].into();
    ledger.replace_launch(&rows).await.unwrap_err();
    assert_are(&cells(&ledger).await, &extended);
    rows.usage = [(String::from("b"), spent(1, "b", None, 6))].into();
    ledger.replace_launch(&rows).await.unwrap();
    assert_are(&cells(&ledger).await, &[(1, None, OPUS, "main", Some(6)), other]);
    rows.usage.clear();
    ledger.replace_launch(&rows).await.unwrap();
    assert_are(&cells(&ledger).await, &[other]);
}

/// Which launches are wanted follows their rows, though no usage changes with these.
pub async fn cells_follow_what_changes_in_the_row_of_their_launch(ledger: Handle) {
    apply_all(&ledger, [1, 2].map(samples::beginning)).await;
    for n in [1, 2] {
        ledger.apply(&usage_boundary(n, [spent(n, "a", Some(0), u64::from(n))])).await.unwrap();
    }
    let of = |session: &str| UsageQuery {
        launches: LaunchQuery { sessions: [String::from(session)].into(), ..LaunchQuery::default() },
        ..UsageQuery::default()
    };
    assert_eq!(wanted(&ledger, &of("new")).await, []);
    let launch = Launch { provider_session_id: Some(String::from("new")), ..samples::launch(1) };
    ledger.apply(&BoundaryRows::of_launch(LaunchChange::Updated(launch))).await.unwrap();
    assert_are(&wanted(&ledger, &of("new")).await, &[(1, Some(0), OPUS, "main", Some(1))]);
}

/// Cells add up to the totals of their records, however they are grouped: here a lower bound and the exact remainder
/// that covers it, in cells of their own.
pub async fn cells_add_up_to_the_totals_of_their_records(ledger: Handle) {
    let mut rows = samples::whole_launch(1);
    let in_turn = |ordinal, record| UsageRecord { turn_id: Some(samples::turn_id(1, ordinal)), ..record };
    let mut bound = in_turn(1, spent(1, "a", Some(0), 1));
    bound.report.quality = Quality::LowerBound;
    let mut remainder = in_turn(2, spent(1, "remainder:1:m", Some(PERIOD), 50));
    remainder.report.grain = Grain::Turn;
    remainder.report.input_tokens = Some(0);
    rows.usage = [bound, remainder].map(|record| (record.report.key.clone(), record)).into();
    ledger.replace_launch(&rows).await.unwrap();
    let found = cells(&ledger).await;
    let totals = Totals::of_sums(found.iter().map(|cell| (cell.launch_id, &cell.sum)));
    assert_eq!(totals, Totals::of(&ledger.usage(samples::launch_id(1)).await.unwrap()));
    assert_eq!((totals.output_tokens, totals.quality), (Some(51), Quality::Exact));
    assert_eq!(found[0].sum.quality(), Some(Quality::LowerBound));
}
