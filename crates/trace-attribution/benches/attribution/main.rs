//! What attribution costs beside its floor: one direct count of the same text by the same encoder, and one SHA-256.
//!
//! Prints one JSON object a line, as `cargo xtask bench` reads them. All times of one ratio are taken in turns, in the
//! same run, as the time that the thread has a processor, and the best of each is used: what else the machine does
//! makes a run slower, never faster.

#![expect(clippy::disallowed_macros, reason = "a benchmark prints")]
#![expect(clippy::disallowed_methods, reason = "a benchmark reads its arguments and what the kernel says of it")]
#![expect(clippy::disallowed_types, reason = "a benchmark starts a process to measure its memory")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot run has nothing to say")]

mod inputs;
mod memory;
mod origin;
mod report;
mod texts;

use std::{hint::black_box, time::Duration};

use inputs::Input;
use report::{Gate, report};
use texts::mixed;
use trace_attribution::{PreparedTurnContext, Prompts, claims::Claims};
use trace_model::{context::Sha256Hex, words::TokenizerName};

const MB: usize = 1_000_000;
const TIMES_FLOOR: &str = "x floor";

/// The groups of measurements, by the names under which they can be asked for alone.
const GROUPS: [(&str, fn()); 7] = [
    ("ten-megabytes", ten_megabytes),
    ("one-megabyte", one_megabyte),
    ("short-segments", short_segments),
    ("adversaries", adversaries),
    ("claims", claims_alone),
    ("others", beside_others),
    ("memory", memory::measure),
];

fn main() {
    if let Some(input) = memory::wanted() {
        memory::print_growth(input);
        return;
    }
    // The tables are built once in a process, and belong to no measurement.
    black_box(bpe_openai::cl100k_base().count("warm"));

    // Cargo adds an argument of its own.
    let asked: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    for (name, group) in GROUPS {
        if asked.is_empty() || asked.iter().any(|asked| asked == name) {
            group();
        }
    }
}

fn ten_megabytes() {
    let text = mixed(10 * MB, 1);
    let inputs = [10, 1_000, 10_000].map(|specs| Input::pieces(text.clone(), specs, 2));
    let (floor, times) = race(&text, &inputs, 5);
    let names = ["10 MB, 10 specs", "10 MB, 1,000 specs", "10 MB, 10,000 specs"];
    for ((name, input), time) in names.iter().zip(&inputs).zip(&times) {
        report(name, ratio(*time, floor), TIMES_FLOOR, Gate::Max(1.5), &input.note());
    }
    report("10 MB, 10,000 specs against 10", ratio(times[2], times[0]), "x", Gate::Max(1.5), "");
}

fn one_megabyte() {
    let text = mixed(MB, 3);
    let input = Input::pieces(text.clone(), 1_000, 4);
    let (floor, times) = race(&text, std::slice::from_ref(&input), 15);
    report("1 MB, 1,000 specs", ratio(times[0], floor), TIMES_FLOOR, Gate::Max(1.5), &input.note());
}

/// Segments of 60 bytes and less.
fn short_segments() {
    let text = mixed(MB, 5);
    for (name, input) in [
        ("1 MB, 15,000 specs", Input::pieces(text, 15_000, 6)),
        ("1 MB, 83,333 occurrences of one spec", Input::every_line(83_333, 7)),
    ] {
        let (floor, times) = race(&input.text, std::slice::from_ref(&input), 15);
        report(name, ratio(times[0], floor), TIMES_FLOOR, Gate::Max(3.0), &input.note());
    }
}

fn adversaries() {
    let text = mixed(MB, 8);
    let mut prose = String::new();
    texts::sentences(&mut prose, &mut texts::Random(9), 8);
    prose.truncate(200);
    for (name, input) in [
        ("1 MB, 5,000 specs that begin with 200 bytes of prose", Input::common_beginning(&prose, 5_000)),
        ("1 MB, 5,000 specs that begin with 200 times one letter", Input::common_beginning(&"a".repeat(200), 5_000)),
        ("1 MB, 5,000 specs nested in one another", Input::nested(text, 5_000)),
        ("1 MB of one letter, 5,000 specs nested in one another", Input::nested("a".repeat(MB), 5_000)),
    ] {
        let (floor, times) = race(&input.text, std::slice::from_ref(&input), 15);
        report(name, ratio(times[0], floor), TIMES_FLOOR, Gate::Max(3.5), &input.note());
    }
}

/// The claims of one spec whose occurrences are found already, a hundred bytes from one to the next.
fn claims_alone() {
    let text = mixed(10 * MB, 10);
    let found = |occurrences: usize| (0..occurrences).map(|number| number * 100..number * 100 + 5).collect::<Vec<_>>();
    let claim = |found: Vec<std::ops::Range<usize>>| {
        let mut claims = Claims::new(found.len() * 100);
        claims.claim_each(found, 0);
        claims.into_sorted()
    };
    let (mut floor, mut all, mut half) = (Duration::MAX, Duration::MAX, Duration::MAX);
    for _ in 0..5 {
        floor = floor.min(time(|| floor_of(&text)));
        for _ in 0..20 {
            let (many, fewer) = (found(100_000), found(50_000));
            all = all.min(time(|| claim(many)));
            half = half.min(time(|| claim(fewer)));
        }
    }
    let name = "claims of 100,000 found occurrences";
    report(name, ratio(all, floor), TIMES_FLOOR, Gate::Max(0.05), "the floor of 10 MB");
    report(&format!("{name} against 50,000"), ratio(all, half), "x", Gate::Max(2.5), "");
}

fn beside_others() {
    let text = mixed(MB, 11);
    let tiktoken = tiktoken_rs::cl100k_base_singleton();
    let (mut floor, mut other) = (Duration::MAX, Duration::MAX);
    for _ in 0..7 {
        floor = floor.min(time(|| floor_of(&text)));
        other = other.min(time(|| tiktoken.encode_ordinary(&text)));
    }
    report("floor against tiktoken-rs, 1 MB", ratio(floor, other), "x", Gate::Max(0.7), "one encoding each");

    let input = Input::pieces(mixed(MB / 10, 12), 1_000, 13);
    let (_, times) = race(&input.text, std::slice::from_ref(&input), 15);
    let origin = time(|| origin::attribute(&input.text, &input.specs));
    let note = "a search per spec, each prefix encoded again; the same encoder";
    report("100 KB, 1,000 specs: a design by prefixes", ratio(origin, times[0]), "x this one", Gate::None, note);
}

/// Returns the best time of the floor of a text and of attributing each input, taken in turns.
fn race(text: &str, inputs: &[Input], rounds: usize) -> (Duration, Vec<Duration>) {
    let mut floor = Duration::MAX;
    let mut times = vec![Duration::MAX; inputs.len()];
    for _ in 0..rounds {
        floor = floor.min(time(|| floor_of(text)));
        for (best, input) in times.iter_mut().zip(inputs) {
            let prompts = input.prompts();
            *best = (*best).min(time(|| attribute(prompts, input)));
        }
    }
    (floor, times)
}

fn floor_of(text: &str) -> (usize, Sha256Hex) {
    (bpe_openai::cl100k_base().count(text), Sha256Hex::of(text.as_bytes()))
}

fn attribute(prompts: Prompts, input: &Input) -> PreparedTurnContext {
    PreparedTurnContext::from_attributed_prompts(TokenizerName::Cl100kBase, prompts, &input.specs, Vec::new()).unwrap()
}

/// Returns how long this thread works; the result is dropped outside of that time.
fn time<T>(work: impl FnOnce() -> T) -> Duration {
    let start = thread_time();
    let result = black_box(work());
    let time = thread_time().saturating_sub(start);
    drop(result);
    time
}

/// Returns the time that this thread has had a processor.
fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap()
}

fn ratio(time: Duration, base: Duration) -> f64 {
    time.as_secs_f64() / base.as_secs_f64()
}
