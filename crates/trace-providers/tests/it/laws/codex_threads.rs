//! Threads of Codex that share an output: what is recorded of them is what their counters stated.

use std::{collections::BTreeMap, fmt::Write as _};

use proptest::prelude::*;
use trace_model::words::{Provider, Quality};
use trace_providers::recognise::SessionStart;

use crate::support::{interpret, notes, record};

#[derive(Debug, Clone)]
enum Step {
    /// A process prints this thread from here on.
    Thread(u8),
    /// A turn that spends this much.
    Turn(Spent, End),
}

/// Input, cached input, written input, output, thinking: each without the others.
type Spent = [u64; 5];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Completed,
    /// The client was not told what was spent; its counter knows by the next end.
    Uncounted(&'static str),
    Failed,
    /// The output goes on, or ends, without a word.
    Interrupted,
}

/// What the client states if nobody told it.
const NOTHING: [&str; 4] = [
    "",
    r#","usage":null"#,
    r#","usage":{"output_tokens":0}"#,
    r#","usage":{"input_tokens":0,"cached_input_tokens":0,"output_tokens":0,"reasoning_output_tokens":0}"#,
];

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let uncounted = proptest::sample::select(&NOTHING[..]).prop_map(End::Uncounted);
    let end =
        prop_oneof![3 => Just(End::Completed), 1 => uncounted, 1 => Just(End::Failed), 1 => Just(End::Interrupted)];
    let spent = [1..50_u64, 0..50, 0..50, 1..50, 0..50];
    let turn = (spent, end).prop_map(|(spent, end)| Step::Turn(spent, end));
    proptest::collection::vec(prop_oneof![1 => (0..3_u8).prop_map(Step::Thread), 3 => turn], 0..20)
}

/// The client: its threads count, and their counters are stated where a turn is completed.
#[derive(Debug, Default)]
struct Simulation {
    stream: String,
    /// What the counter of each thread stands at.
    counters: BTreeMap<u8, Spent>,
    /// What of it was stated first and last.
    stated: BTreeMap<u8, (Spent, Spent)>,
    /// Whether a turn has no total of its own.
    is_unknown_anywhere: bool,
}

fn add(sum: &mut Spent, other: Spent) {
    sum.iter_mut().zip(other).for_each(|(sum, other)| *sum += other);
}

impl Simulation {
    fn run(start: SessionStart, steps: &[Step]) -> Self {
        let mut simulation = Self::default();
        let mut thread = 0;
        for step in [Step::Thread(0)].iter().chain(steps) {
            match step {
                Step::Thread(next) => {
                    thread = *next;
                    writeln!(simulation.stream, r#"{{"type":"thread.started","thread_id":"t{thread}"}}"#).unwrap();
                }
                Step::Turn(spent, end) => simulation.turn(start, thread, *spent, *end),
            }
        }
        simulation
    }

    fn turn(&mut self, start: SessionStart, thread: u8, spent: Spent, end: End) {
        self.stream.push_str("{\"type\":\"turn.started\"}\n");
        let before = if start == SessionStart::Resumed { [1_000; 5] } else { [0; 5] };
        let counter = self.counters.entry(thread).or_insert(before);
        add(counter, spent);
        let [input, cached, written, output, thinking] = *counter;
        match end {
            End::Completed => {
                self.stated.entry(thread).or_insert((*counter, *counter)).1 = *counter;
                let (input, output) = (input + cached + written, output + thinking);
                let input = format!(
                    r#""input_tokens":{input},"cached_input_tokens":{cached},"cache_write_input_tokens":{written}"#
                );
                let output = format!(r#""output_tokens":{output},"reasoning_output_tokens":{thinking}"#);
                writeln!(self.stream, r#"{{"type":"turn.completed","usage":{{{input},{output}}}}}"#).unwrap();
            }
            End::Uncounted(nothing) => {
                writeln!(self.stream, r#"{{"type":"turn.completed"{nothing}}}"#).unwrap();
                self.is_unknown_anywhere = true;
            }
            End::Failed => {
                self.stream.push_str("{\"type\":\"turn.failed\",\"error\":{\"message\":\"m\"}}\n");
                self.is_unknown_anywhere = true;
            }
            End::Interrupted => self.is_unknown_anywhere = true,
        }
    }

    /// Returns what the records have to add up to.
    fn truth(&self, start: SessionStart) -> Spent {
        let mut sum = Spent::default();
        for (first, last) in self.stated.values() {
            let mut of_thread = *last;
            if start == SessionStart::Resumed {
                of_thread.iter_mut().zip(first).for_each(|(last, first)| *last -= first);
            }
            add(&mut sum, of_thread);
        }
        sum
    }
}

proptest! {
    #[test]
    fn remainders_add_up_to_what_the_threads_stated(
        start in proptest::sample::select(vec![SessionStart::New, SessionStart::Resumed]),
        steps in steps(),
    ) {
        let simulation = Simulation::run(start, &steps);
        let observations = interpret(&Provider::Codex, start, [simulation.stream.as_bytes()]);
        let totals = record(&observations).totals();
        let found = [
            totals.input_tokens,
            totals.cache_read_tokens,
            totals.cache_write_tokens,
            totals.output_tokens,
            totals.reasoning_tokens,
        ];
        let [input, cached, written, output, thinking] = simulation.truth(start);
        let expected = [input, cached, written, output + thinking, thinking];
        prop_assert_eq!(found.map(Option::unwrap_or_default), expected, "{}", simulation.stream);
        let is_exact = start == SessionStart::New && !simulation.is_unknown_anywhere && !simulation.stated.is_empty();
        prop_assert_eq!(totals.quality == Quality::Exact, is_exact, "{}", simulation.stream);
        prop_assert_eq!(notes(&observations), []);
    }
}
