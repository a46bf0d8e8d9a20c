//! Whether usage is added up without reading records that nobody asked for.

use trace_model::query::LaunchQuery;

use super::*;
use crate::read::tests::plan;

fn of_session() -> UsageQuery {
    let sessions = [String::from("session")].into();
    UsageQuery { launches: LaunchQuery { sessions, ..LaunchQuery::default() }, ..UsageQuery::default() }
}

#[test]
fn what_is_kept_is_answered_without_any_record() {
    for query in [UsageQuery::default(), of_session()] {
        for sql in [kept_sql(&query).0, without_rollup_sql(&query).0] {
            let plan = plan(&sql);
            assert!(!plan.contains("usage_records") && !plan.contains("TEMP B-TREE"), "{sql}: {plan}");
        }
    }
}

#[test]
fn the_cells_of_a_session_are_looked_up_through_its_launches() {
    let cells = plan(&kept_sql(&of_session()).0);
    assert!(cells.contains("SEARCH usage_cells USING PRIMARY KEY (launch_id=?)"), "{cells}");
    assert!(cells.contains("SEARCH launches USING INDEX launches_by_session (provider_session_id=?)"), "{cells}");
    let missing = plan(&without_rollup_sql(&of_session()).0);
    assert!(missing.contains("SEARCH launches USING INDEX launches_by_session (provider_session_id=?)"), "{missing}");
}

#[test]
fn a_write_looks_at_its_own_requests_and_cells_alone() {
    for (sql, way) in [
        (COUNT_REQUEST, "SEARCH usage_records USING COVERING INDEX usage_by_request (request_hash=?)"),
        (FORGET_SHARED, "SEARCH usage_records USING INDEX usage_by_request (request_hash=?)"),
        (&part_sql(), "SEARCH usage_cells USING PRIMARY KEY (launch_id=?)"),
    ] {
        let plan = plan(sql);
        assert!(plan.contains(way) && !plan.contains("SCAN usage"), "{sql}: {plan}");
    }
}
