//! Unit tests of the account.

use std::{format, vec};

use super::*;

const MODEL: &str = "opus";

/// The four classes; nobody tells how much is thinking.
fn known([input, cache_read, cache_write, output]: [u64; 4]) -> Figures {
    [Some(input), Some(cache_read), Some(cache_write), Some(output), None]
}

fn total(model: &str, classes: [u64; 4]) -> ModelTotal {
    ModelTotal { model: String::from(model), figures: known(classes), ..ModelTotal::default() }
}

fn running(models: Vec<ModelTotal>, cost: Option<u64>) -> Statement {
    Statement {
        models: Some(models),
        turn: None,
        cost: cost.map(NanoUsd::from_nanos),
        main_model: Some(String::from(MODEL)),
        ..Statement::default()
    }
}

/// Returns what matters of a remainder.
fn short(report: &UsageReport) -> (&str, [Option<u64>; 4], Quality) {
    let classes = [report.input_tokens, report.cache_read_tokens, report.cache_write_tokens, report.output_tokens];
    (&report.key, classes, report.quality)
}

fn request(account: &mut Account, model: &str, classes: [u64; 4]) -> Moment {
    let seen = account.now();
    account.change(seen, true, model, Figures::default(), known(classes));
    seen
}

#[test]
fn a_remainder_is_the_total_less_all_records_of_the_model() {
    let mut account = Account::default();
    request(&mut account, "opus", [10, 20, 30, 1]);
    let settled =
        account.settle(running(vec![total("opus[1m]", [10, 20, 30, 40]), total("haiku", [5, 0, 0, 6])], None));
    assert_eq!(short(&settled.remainders[0]), ("remainder:1:haiku", [5, 0, 0, 6].map(Some), Quality::Exact));
    assert_eq!(short(&settled.remainders[1]), ("remainder:1:opus", [0, 0, 0, 39].map(Some), Quality::Exact));
    assert_eq!(settled.remainders[1].model.as_deref(), Some("opus[1m]"));

    account.begin_turn();
    request(&mut account, "opus", [1, 0, 0, 1]);
    let settled = account.settle(running(vec![total("opus", [13, 20, 30, 44]), total("haiku", [5, 0, 0, 6])], None));
    assert_eq!(short(&settled.remainders[0]), ("remainder:2:haiku", [0; 4].map(Some), Quality::Exact));
    assert_eq!(short(&settled.remainders[1]), ("remainder:2:opus", [2, 0, 0, 3].map(Some), Quality::Exact));
}

#[test]
fn a_record_of_a_model_that_no_total_names_counts_as_one_of_the_main_model() {
    let mut account = Account::default();
    request(&mut account, "alias-of-opus", [10, 0, 0, 1]);
    let settled = account.settle(running(vec![total("haiku", [1, 0, 0, 1]), total("opus", [10, 0, 0, 7])], None));
    assert_eq!(short(&settled.remainders[0]).1, [1, 0, 0, 1].map(Some));
    assert_eq!(short(&settled.remainders[1]).1, [0, 0, 0, 6].map(Some));
}

#[test]
fn totals_that_differ_in_their_suffix_only_are_one() {
    let mut account = Account::default();
    let settled = account.settle(running(vec![total("opus[1m]", [1, 1, 1, 1]), total("opus", [2, 2, 2, 2])], None));
    assert_eq!(settled.remainders.len(), 1);
    assert_eq!(short(&settled.remainders[0]).1, [3; 4].map(Some));
}

#[test]
fn the_cost_is_a_running_total_and_the_main_model_bears_what_no_model_tells() {
    let mut account = Account::default();
    let with_cost = |model, cost| ModelTotal { cost: Some(NanoUsd::from_nanos(cost)), ..total(model, [0; 4]) };
    let cost_of = |settled: &Settled, nth: usize| settled.remainders[nth].reported_cost_usd.map(NanoUsd::as_nanos);
    let settled = account.settle(running(vec![total("opus", [0; 4]), with_cost("haiku", 3)], Some(10)));
    assert_eq!((cost_of(&settled, 0), cost_of(&settled, 1)), (Some(3), Some(7)));
    assert_eq!(settled.cost, Some(NanoUsd::from_nanos(10)));
    let settled = account.settle(running(vec![total("opus", [0; 4]), with_cost("haiku", 5)], Some(17)));
    assert_eq!((cost_of(&settled, 0), cost_of(&settled, 1)), (Some(2), Some(5)));
    assert_eq!(settled.cost, Some(NanoUsd::from_nanos(7)));
    let settled = account.settle(running(vec![total("opus", [0; 4])], None));
    assert_eq!((cost_of(&settled, 0), settled.cost), (None, None));
}

#[test]
fn a_total_that_fell_is_that_of_a_new_process() {
    let mut account = Account::default();
    account.settle(running(vec![total("opus", [100, 0, 0, 100])], Some(50)));
    account.begin_turn();
    request(&mut account, "opus", [10, 0, 0, 1]);
    let settled = account.settle(running(vec![total("opus", [12, 0, 0, 8])], Some(4)));
    assert_eq!(short(&settled.remainders[0]).1, [2, 0, 0, 7].map(Some));
    assert_eq!(settled.cost, Some(NanoUsd::from_nanos(4)));
}

#[test]
fn an_empty_total_is_zero_only_if_nothing_else_says_otherwise() {
    let mut account = Account::default();
    let settled = account.settle(running(vec![], Some(0)));
    assert_eq!(short(&settled.remainders[0]), ("remainder:1:opus", [0; 4].map(Some), Quality::Exact));
    assert_eq!(settled.remainders[0].reported_cost_usd, Some(NanoUsd::ZERO));

    request(&mut account, "opus", [10, 0, 0, 1]);
    let turn = Some(known([10, 0, 0, 9]));
    let settled = account.settle(Statement { turn, ..running(vec![], None) });
    assert_eq!(short(&settled.remainders[0]), ("remainder:2:opus", [0, 0, 0, 8].map(Some), Quality::LowerBound));
    // The next total goes on where the last one was.
    let settled = account.settle(running(vec![total("opus", [10, 0, 0, 12])], None));
    assert_eq!(short(&settled.remainders[0]).1, [0, 0, 0, 3].map(Some));
}

#[test]
fn without_a_running_total_the_turn_of_the_main_agent_is_a_lower_bound() {
    let mut account = Account::default();
    request(&mut account, "opus", [10, 0, 0, 1]);
    let seen = account.now();
    account.change(seen, false, "haiku", Figures::default(), known([7, 0, 0, 7]));
    let turn = Some([Some(10), None, None, Some(9), None]);
    let of_turn = Statement { models: None, turn, ..running(vec![], Some(5)) };
    let settled = account.settle(of_turn);
    let expected = [Some(0), None, None, Some(8)];
    assert_eq!(short(&settled.remainders[0]), ("remainder:1:opus", expected, Quality::LowerBound));
    assert_eq!(settled.remainders[0].reported_cost_usd, Some(NanoUsd::from_nanos(5)));
    let nothing = Statement::default();
    assert!(account.settle(nothing).remainders.is_empty());
}

#[test]
fn a_total_below_its_requests_is_told_and_never_negative() {
    let mut account = Account::default();
    request(&mut account, "opus", [10, 0, 0, 5]);
    let settled = account.settle(running(vec![total("opus", [8, 0, 0, 6])], None));
    assert!(settled.contradicted);
    assert_eq!(short(&settled.remainders[0]), ("remainder:1:opus", [0, 0, 0, 1].map(Some), Quality::LowerBound));
}

#[test]
fn what_a_request_adds_late_is_taken_out_of_the_total_that_held_it() {
    let mut account = Account::default();
    let seen = request(&mut account, "opus", [10, 0, 0, 1]);
    account.settle(running(vec![total("opus", [10, 0, 0, 30])], None));
    // The fold takes this out of the remainder, so the records still add up to 30.
    account.change(seen, true, "opus", known([10, 0, 0, 1]), known([10, 0, 0, 21]));
    account.begin_turn();
    let settled = account.settle(running(vec![total("opus", [10, 0, 0, 35])], None));
    assert_eq!(short(&settled.remainders[0]).1, [0, 0, 0, 5].map(Some));
}

#[test]
fn a_new_process_counts_from_zero_and_late_records_of_the_old_one_do_not_count_in_it() {
    let mut account = Account::default();
    let seen = request(&mut account, "opus", [10, 0, 0, 1]);
    account.begin_process();
    account.change(seen, true, "opus", known([10, 0, 0, 1]), known([10, 0, 0, 9]));
    let settled = account.settle(running(vec![total("opus", [4, 0, 0, 4])], None));
    assert_eq!(short(&settled.remainders[0]).1, [4, 0, 0, 4].map(Some));
}

#[test]
fn models_without_end_take_no_memory_without_end() {
    let mut account = Account::default();
    for number in 0..1_000 {
        request(&mut account, &format!("model-{number}"), [1, 0, 0, 0]);
    }
    assert!(account.since.0.len() <= MAX_MODELS + 1);
    let settled = account.settle(running(vec![total("opus", [1_500, 0, 0, 0])], None));
    assert_eq!(short(&settled.remainders[0]).1, [500, 0, 0, 0].map(Some));
}

#[test]
fn thinking_adds_up_like_the_classes() {
    let mut account = Account::default();
    let with_thinking = |output, thinking| {
        let figures = [Some(1), Some(0), Some(0), Some(output), Some(thinking)];
        running(vec![ModelTotal { figures, ..total("gpt", [0; 4]) }], None)
    };
    let thinking = |settled: &Settled| settled.remainders[0].reasoning_tokens;
    assert_eq!(thinking(&account.settle(with_thinking(10, 4))), Some(4));
    assert_eq!(thinking(&account.settle(with_thinking(30, 9))), Some(5));
    // The counter began again.
    assert_eq!(thinking(&account.settle(with_thinking(30, 8))), Some(8));
    let settled = account.settle(running(vec![total("gpt", [1, 0, 0, 40])], None));
    assert_eq!(thinking(&settled), None);
}

#[test]
fn a_turn_that_nobody_states_is_a_lower_bound_without_figures() {
    let mut account = Account::default();
    let unstated = account.leave_unstated(String::from("opus"));
    assert_eq!(short(&unstated), ("remainder:1:opus", [None; 4], Quality::LowerBound));
    // The next total holds it.
    let settled = account.settle(running(vec![total("opus", [10, 0, 0, 5])], None));
    assert_eq!(short(&settled.remainders[0]), ("remainder:2:opus", [10, 0, 0, 5].map(Some), Quality::Exact));
}

#[test]
fn what_was_stated_before_the_launch_is_in_no_remainder() {
    let mut account = Account::default();
    account.go_on_from(total("opus", [100, 0, 0, 50]));
    let settled = account.settle(running(vec![total("opus", [110, 0, 0, 55])], None));
    assert_eq!(short(&settled.remainders[0]).1, [10, 0, 0, 5].map(Some));
    // It is what a counter that began again is known by, too.
    let mut account = Account::default();
    account.go_on_from(total("opus", [100, 0, 0, 50]));
    let settled = account.settle(running(vec![total("opus", [10, 0, 0, 5])], None));
    assert_eq!(short(&settled.remainders[0]).1, [10, 0, 0, 5].map(Some));
}

#[test]
fn a_total_that_leaves_something_out_is_a_lower_bound() {
    let mut account = Account::default();
    let statement = Statement { leaves_out: true, ..running(vec![total("opus", [1; 4])], None) };
    assert_eq!(account.settle(statement).remainders[0].quality, Quality::LowerBound);
}
