//! The contract of a ledger, one function per rule.
//!
//! [`ledger_conformance!`](crate::ledger_conformance) makes a `#[test]` of each, so that a failure names the rule. A
//! rule gets an empty ledger; the rules of [`durability`] get a way to open the same one again.

use std::{fmt::Debug, path::Path, sync::Arc};

use trace_model::{
    id::{LaunchId, TurnId},
    ledger::{Ledger, LedgerError},
    rows::{BoundaryRows, LaunchRows},
    turn::TurnRow,
    usage::UsageRow,
};

pub mod cells;
pub mod costs;
pub mod durability;
pub mod extension;
pub mod launches;
pub mod queries;
pub mod replacement;
pub mod replays;
pub mod reservations;
pub mod turns;
pub mod usage;
pub mod writes;

/// Makes one `#[test]` per rule of the contract, and one that compares random calls with the memory ledger.
///
/// `open` is a `fn(&Path) -> Arc<dyn Ledger>`: it opens the ledger in a folder, which is empty at first. Where the
/// ledger outlives its handles, `reopens` adds the rules of durability, and steps that open it again. Where only one
/// may have it open at a time, `exclusive` does so; `open` is a `fn(&Path) -> Result<Arc<dyn Ledger>, LedgerError>`
/// then.
///
/// ```
/// use std::{path::Path, sync::Arc};
///
/// use trace_model::ledger::Ledger;
/// use trace_store_memory::MemoryLedger;
///
/// fn open(_: &Path) -> Arc<dyn Ledger> {
///     Arc::new(MemoryLedger::new())
/// }
/// trace_testkit::ledger_conformance!(open);
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! ledger_conformance {
    ($open:expr) => {
        $crate::ledger_conformance!(@rules $open);

        #[test]
        fn random_calls_are_answered_as_by_the_memory_ledger() {
            $crate::comparison::compare($open, $crate::comparison::Reopening::Never, file!());
        }
    };
    (@rules $open:expr) => {
        $crate::ledger_rules! { $open, check;
            launches:
                a_new_launch_is_read_back_as_it_was_written,
                every_state_of_a_launch_survives,
                a_launch_that_is_not_here_is_not_found,
                a_launch_id_that_is_taken_already_exists,
                an_updated_launch_looks_like_its_update,
                an_update_of_a_launch_that_is_not_here_is_not_found,
                what_a_launch_is_called_never_changes,
                an_ended_launch_stays_ended,
                an_ended_launch_may_still_learn_something,
                the_parents_of_a_launch_are_labels;
            queries:
                launches_come_by_start_and_then_id,
                each_filter_of_a_query_allows_what_it_names,
                pages_meet_without_gap_or_repetition,
                a_launch_is_found_by_the_end_of_its_id,
                an_end_that_no_id_has_is_not_found,
                an_end_of_several_ids_is_ambiguous_and_lists_up_to_ten;
            turns:
                a_turn_is_read_back_with_its_context,
                every_state_of_a_turn_survives,
                turns_come_by_ordinal_and_contexts_by_position,
                what_is_not_here_has_no_rows,
                a_turn_id_that_is_taken_already_exists,
                an_ordinal_that_is_taken_already_exists,
                a_position_that_is_taken_already_exists,
                an_updated_turn_looks_like_its_update,
                an_update_of_a_turn_that_is_not_here_is_not_found,
                a_turn_may_be_opened_and_updated_in_one_boundary,
                where_a_turn_belongs_never_changes,
                an_ended_turn_stays_ended,
                an_ended_launch_gets_no_new_turn,
                a_launch_may_end_in_the_boundary_that_opens_its_turn;
            extension:
                the_end_of_an_extended_launch_may_move,
                an_extended_launch_gets_new_turns,
                the_turns_of_an_extended_launch_may_go_on,
                an_extension_changes_no_identity,
                an_extension_is_for_one_boundary_of_a_launch_that_is_here;
            usage:
                records_come_back_by_key,
                a_saved_record_stands_instead_of_one_of_its_key,
                a_deleted_record_is_gone_and_may_be_deleted_again,
                a_record_of_a_turn_that_is_not_here_is_not_found,
                numbers_may_use_all_of_their_64_bits,
                the_earliest_record_of_a_request_counts,
                records_of_one_time_count_by_launch_and_then_key,
                a_record_without_a_time_comes_last,
                records_without_a_request_are_no_replays,
                replays_change_when_another_launch_changes,
                replays_are_counted_by_launch,
                a_turn_says_what_its_records_say,
                a_turn_without_records_knows_nothing;
            cells:
                without_usage_there_are_no_cells,
                cells_come_by_launch_period_model_and_agent,
                a_period_begins_at_a_quarter_of_an_hour,
                sums_stop_at_the_largest_number,
                unknown_numbers_add_up_to_unknown,
                each_filter_of_usage_wants_what_it_names,
                every_write_shows_in_the_cells,
                cells_follow_what_changes_in_the_row_of_their_launch,
                cells_add_up_to_the_totals_of_their_records;
            replays:
                replays_come_and_go_in_the_cells,
                a_request_counts_once_within_a_launch_too,
                records_of_a_request_part_and_meet_in_one_write;
            costs:
                a_cost_is_known_by_the_version_of_its_prices,
                a_model_without_a_price_is_neither_free_nor_uncosted,
                costs_stop_at_the_largest_number,
                a_cost_of_a_record_that_changed_is_forgotten,
                a_record_that_stays_as_it_was_keeps_its_cost,
                a_cost_of_what_a_record_is_no_more_is_not_saved,
                costs_of_records_that_are_not_here_are_passed_over,
                what_has_no_cost_comes_by_launch_and_key_up_to_the_limit,
                costs_of_records_with_odd_keys_are_kept_apart,
                the_cost_of_a_replay_counts_when_the_replay_does,
                costs_are_in_no_row;
            replacement:
                a_launch_that_is_not_here_is_added,
                no_old_row_of_a_replaced_launch_is_left,
                what_ended_may_be_replaced_by_what_runs,
                a_turn_of_another_launch_already_exists,
                places_that_occur_twice_already_exist,
                a_record_of_a_turn_that_is_not_among_the_rows_is_not_found,
                a_refused_replacement_leaves_the_old_rows,
                other_launches_stay_as_they_are,
                many_launches_are_replaced_as_one_after_the_other,
                of_many_launches_none_is_replaced_in_part;
            reservations:
                a_reservation_is_read_back_as_it_was_written,
                a_control_run_without_reservation_is_not_found,
                a_control_run_has_one_waiting_reservation,
                a_launch_has_one_reservation,
                a_launch_that_is_here_cannot_be_reserved,
                an_opened_launch_takes_its_reservation,
                a_launch_put_in_place_takes_its_reservation,
                a_refused_launch_leaves_its_reservation_waiting,
                a_released_reservation_waits_no_more,
                what_was_taken_cannot_be_released,
                a_launch_that_begins_after_its_release_takes_it,
                the_waiting_reservation_comes_before_later_ones,
                reservations_come_by_time_and_then_launch,
                a_copied_reservation_keeps_its_state;
            writes:
                a_refused_boundary_changes_nothing,
                rows_of_two_launches_in_one_call_conflict,
                rows_under_the_name_of_others_conflict,
                calls_from_many_threads_all_count,
        }
    };
    ($open:expr, reopens) => {
        $crate::ledger_conformance!(@durable $open);

        $crate::ledger_rules! { $open, check_reopening;
            durability:
                two_handles_see_what_each_other_wrote,
                two_handles_add_up_what_each_other_wrote,
        }
    };
    ($open:expr, exclusive) => {
        $crate::ledger_conformance!(@durable |folder: &::std::path::Path| $open(folder).unwrap());

        $crate::ledger_rules! { $open, check_exclusive;
            durability:
                a_ledger_that_is_open_is_busy,
        }
    };
    (@durable $open:expr) => {
        $crate::ledger_conformance!(@rules $open);

        $crate::ledger_rules! { $open, check_reopening;
            durability:
                what_was_written_is_there_after_reopening,
                costs_and_cells_are_there_after_reopening,
        }

        #[test]
        fn random_calls_and_reopening_are_answered_as_by_the_memory_ledger() {
            $crate::comparison::compare($open, $crate::comparison::Reopening::Often, file!());
        }
    };
}

/// Makes a test of each rule of each module.
#[doc(hidden)]
#[macro_export]
macro_rules! ledger_rules {
    ($open:expr, $check:ident; $($module:ident: $($rule:ident),+ $(,)?);+) => {
        $($(
            #[test]
            fn $rule() {
                $crate::suite::$check($open, $crate::suite::$module::$rule);
            }
        )+)+
    };
}

/// An open ledger.
pub type Handle = Arc<dyn Ledger>;

/// Runs a rule on a new ledger.
pub fn check<F: Future<Output = ()>>(open: fn(&Path) -> Handle, rule: impl FnOnce(Handle) -> F) {
    let folder = tempfile::tempdir().unwrap();
    pollster::block_on(rule(open(folder.path())));
}

/// Runs a rule on a new ledger that it may open as often as it likes.
pub fn check_reopening<F: Future<Output = ()>>(
    open: fn(&Path) -> Handle,
    rule: impl FnOnce(Box<dyn Fn() -> Handle>) -> F,
) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_path_buf();
    pollster::block_on(rule(Box::new(move || open(&path))));
}

/// Runs a rule on a new ledger that only one may have open, and that the rule may try to open as often as it likes.
pub fn check_exclusive<F: Future<Output = ()>>(
    open: fn(&Path) -> Result<Handle, LedgerError>,
    rule: impl FnOnce(Box<dyn Fn() -> Result<Handle, LedgerError>>) -> F,
) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_path_buf();
    pollster::block_on(rule(Box::new(move || open(&path))));
}

/// Checks that the usage that a ledger holds adds up and takes costs as its definition says, whoever wrote it: an older
/// version, of which no cost by these prices is known, or this one.
///
/// # Panics
///
/// If it does not, or if it holds no usage.
pub fn check_usage_that_is_there(ledger: &Handle) {
    pollster::block_on(costs::what_is_there_adds_up_and_takes_costs(ledger));
}

/// Applies all boundaries, none of which may be refused.
async fn apply_all(ledger: &Handle, boundaries: impl IntoIterator<Item = BoundaryRows>) {
    for rows in boundaries {
        ledger.apply(&rows).await.unwrap();
    }
}

/// Checks that a call was refused just so.
#[track_caller]
fn assert_refused<T: Debug>(result: Result<T, LedgerError>, expected: &LedgerError) {
    let error = result.expect_err("the call must be refused");
    assert_eq!(format!("{error:?}"), format!("{expected:?}"));
}

/// Everything that a ledger says of a launch.
#[derive(Debug, PartialEq)]
struct Rows {
    launch: Option<trace_model::launch::Launch>,
    turns: Vec<TurnRow>,
    contexts: Vec<(TurnId, Vec<trace_model::context::Asset>, Vec<trace_model::context::Decision>)>,
    usage: Vec<UsageRow>,
}

impl Rows {
    /// Reads all rows of the launch.
    async fn of(ledger: &Handle, id: LaunchId) -> Self {
        let turns = ledger.turns(id).await.unwrap();
        let mut contexts = Vec::new();
        for TurnRow { turn, .. } in &turns {
            let assets = ledger.assets(turn.id).await.unwrap();
            contexts.push((turn.id, assets, ledger.decisions(turn.id).await.unwrap()));
        }
        Self { launch: ledger.launch(id).await.ok(), turns, contexts, usage: ledger.usage(id).await.unwrap() }
    }

    /// Checks that these are exactly the rows, apart from what a ledger derives.
    #[track_caller]
    fn assert_are(&self, expected: &LaunchRows) {
        assert_eq!(self.launch.as_ref(), Some(&expected.launch));
        let turns: Vec<_> = self.turns.iter().map(|row| &row.turn).collect();
        assert_eq!(turns, expected.turns.iter().map(|rows| &rows.turn).collect::<Vec<_>>());
        let contexts: Vec<_> =
            expected.turns.iter().map(|rows| (rows.turn.id, rows.assets.clone(), rows.decisions.clone())).collect();
        assert_eq!(self.contexts, contexts);
        let usage: Vec<_> = self.usage.iter().map(|row| &row.record).collect();
        assert_eq!(usage, expected.usage.values().collect::<Vec<_>>());
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_rule_is_in_the_list_of_the_macro() {
        let list = include_str!("suite.rs");
        let modules = [
            include_str!("suite/cells.rs"),
            include_str!("suite/costs.rs"),
            include_str!("suite/durability.rs"),
            include_str!("suite/extension.rs"),
            include_str!("suite/launches.rs"),
            include_str!("suite/queries.rs"),
            include_str!("suite/replacement.rs"),
            include_str!("suite/replays.rs"),
            include_str!("suite/reservations.rs"),
            include_str!("suite/turns.rs"),
            include_str!("suite/usage.rs"),
            include_str!("suite/writes.rs"),
        ];
        for line in modules.into_iter().flat_map(str::lines) {
            let Some(rule) = line.strip_prefix("pub async fn ").and_then(|rest| rest.split('(').next()) else {
                continue;
            };
            assert!(list.contains(&format!("    {rule},\n")) || list.contains(&format!("    {rule};\n")), "{rule}");
        }
    }
}
