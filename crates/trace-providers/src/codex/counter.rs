//! Requests out of a running total.
//!
//! * A request is what the total grew by, figure by figure. A total that is the same again is written for another
//!   reason, such as new limits, and is no request (ccusage#1288, #876); one that grew by the same as before is one
//!   (diri#174).
//! * A total of which any figure fell is that of a counter that began again, and counts in full (measured: 1,363,408 to
//!   37,543 at a second prompt).
//! * Where there is no total, each figure for a request counts.
//! * `token_usage_record` comes before the `token_count` of the same response (measured: 6 and 6 for 6 requests). So it
//!   counts first, and the total that holds it grows by nothing more.
//! * A growth that is not the figure for the last request is that of more requests than one, whose lines are lost.
//! * A total of zeros was stated by nobody.

use alloc::{format, string::String};

use serde::{Deserialize, Serialize};

use super::tally::Tally;

/// Figures in which unknown counts as nothing, in the order of [`Tally::figures`].
type Total = [u64; 5];

/// What a thread has spent, as far as it was read.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Counter {
    /// How often the counter began again.
    epoch: u64,
    /// All that was counted.
    counted: Total,
    /// The last total that was stated.
    stated: Total,
    /// What was counted since without a total that holds it.
    unstated: Total,
}

/// What is to be counted.
#[derive(Debug)]
pub(super) struct Growth {
    /// Its name, which a copy of the lines gives, too.
    pub(super) key: String,
    pub(super) tally: Tally,
    /// Whether it is one request, as far as can be told.
    pub(super) is_request: bool,
}

impl Counter {
    /// Takes the figures of one request.
    pub(super) fn request(&mut self, tally: Tally) -> Option<Growth> {
        for sums in [&mut self.counted, &mut self.unstated] {
            for (sum, figure) in sums.iter_mut().zip(tally.figures) {
                *sum = sum.saturating_add(figure.unwrap_or(0));
            }
        }
        self.growth(tally, true)
    }

    /// Takes a running total, and the figures of the last request in it.
    pub(super) fn total(&mut self, total: Tally, last: Option<Tally>) -> Option<Growth> {
        if !total.is_counted() {
            return None;
        }
        let is_less_than = |before: Total| {
            total.figures.iter().zip(before).any(|(figure, before)| figure.is_some_and(|figure| figure < before))
        };
        // It does not hold yet what was counted since.
        if after(total, self.stated) == self.stated {
            return None;
        }
        let began_again = is_less_than(self.counted);
        let before = match began_again {
            false => self.counted,
            true if is_less_than(self.unstated) => Total::default(),
            true => self.unstated,
        };
        self.epoch += u64::from(began_again);
        self.counted = after(total, if began_again { Total::default() } else { self.counted });
        self.stated = self.counted;
        self.unstated = Total::default();
        let tally = total.since(before);
        let is_request = last.is_none_or(|last| !contradict(last, tally));
        self.growth(tally, is_request)
    }

    fn growth(&self, tally: Tally, is_request: bool) -> Option<Growth> {
        let [input, cached, _, output, thinking] = self.counted;
        let key = || format!("total:{}:{input}:{cached}:{output}:{thinking}", self.epoch);
        tally.is_counted().then(|| Growth { key: key(), tally, is_request })
    }
}

/// Returns the total, in which a figure that is unknown stays what it was before.
fn after(total: Tally, before: Total) -> Total {
    let mut known = before;
    for (known, figure) in known.iter_mut().zip(total.figures) {
        *known = figure.unwrap_or(*known);
    }
    known
}

/// Tells whether a figure that both state is not the same in both.
fn contradict(one: Tally, other: Tally) -> bool {
    one.figures.iter().zip(other.figures).filter_map(|(one, other)| one.zip(other)).any(|(one, other)| one != other)
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;
    use crate::json::Json;

    fn tally(output: u64) -> Tally {
        let text = format!(
            r#"{{"input_tokens":{},"cached_input_tokens":{output},"output_tokens":{output},"reasoning_output_tokens":0}}"#,
            10 * output
        );
        Tally::of(Json::object(&text).unwrap())
    }

    enum Step {
        Total(u64, u64),
        Request(u64),
    }
    use Step::{Request, Total};

    /// Returns the output of each growth, and whether it is one request.
    fn outputs(steps: &[Step]) -> Vec<(u64, bool)> {
        let mut counter = Counter::default();
        let growths = steps.iter().filter_map(|step| match step {
            Total(total, last) => counter.total(tally(*total), Some(tally(*last))),
            Request(output) => counter.request(tally(*output)),
        });
        growths.map(|growth| (growth.tally.figures[3].unwrap(), growth.is_request)).collect()
    }

    #[test]
    fn growth_counts_whoever_states_it_and_however_often() {
        for (name, steps, expected) in [
            ("a total that is the same", &[Total(5, 5), Total(5, 5), Total(8, 3)][..], &[(5, true), (3, true)][..]),
            ("a request like the one before", &[Total(5, 5), Total(10, 5)], &[(5, true), (5, true)]),
            (
                "a counter that began again",
                &[Total(50, 50), Total(8, 8), Total(9, 1)],
                &[(50, true), (8, true), (1, true)],
            ),
            ("zeros", &[Total(50, 50), Total(0, 0), Total(53, 3)], &[(50, true), (3, true)]),
            ("two requests in one growth", &[Total(5, 5), Total(9, 1)], &[(5, true), (4, false)]),
            ("both kinds of lines", &[Request(5), Total(5, 5), Request(3), Total(8, 3)], &[(5, true), (3, true)]),
            ("the old total in between", &[Total(5, 5), Request(3), Total(5, 5), Total(8, 3)], &[(5, true), (3, true)]),
            ("a total that holds two", &[Request(5), Request(3), Total(8, 3)], &[(5, true), (3, true)]),
            ("a total that holds more", &[Request(5), Total(9, 5)], &[(5, true), (4, false)]),
            (
                "began again at a request",
                &[Total(50, 50), Request(3), Total(3, 3), Total(5, 2)],
                &[(50, true), (3, true), (2, true)],
            ),
            ("no totals", &[Request(5), Request(5)], &[(5, true), (5, true)]),
        ] {
            assert_eq!(outputs(steps), expected, "{name}");
        }
    }

    #[test]
    fn a_copy_of_which_some_lines_are_left_out_gives_the_same_keys() {
        let mut counter = Counter::default();
        let whole = [
            counter.request(tally(5)),
            counter.total(tally(5), None),
            counter.request(tally(2)),
            counter.total(tally(7), None),
        ];
        let mut counter = Counter::default();
        let copy = [counter.total(tally(5), None), counter.total(tally(7), None)];
        let keys =
            |growths: &[Option<Growth>]| growths.iter().flatten().map(|growth| growth.key.clone()).collect::<Vec<_>>();
        assert_eq!(keys(&whole), ["total:0:50:5:5:0", "total:0:70:7:7:0"]);
        assert_eq!(keys(&whole), keys(&copy));
    }
}
