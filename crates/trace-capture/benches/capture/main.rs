//! What recording costs beside its floor, one `write` per event, and beside one fsync per event; and that a million
//! events take bounded memory and time in proportion.
//!
//! Prints one JSON object a line, as `cargo xtask bench` reads them. All times of one ratio are taken in turns, in the
//! same run.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot run has nothing to say")]

mod append;
mod launches;
mod million;
mod pace;
mod report;

/// The groups of measurements, by the names under which they can be asked for alone.
const GROUPS: [(&str, fn()); 3] = [("append", append::measure), ("pace", pace::measure), ("million", million::measure)];

fn main() {
    if million::run_as_child() {
        return;
    }
    // Cargo adds an argument of its own.
    let asked: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    for (name, group) in GROUPS {
        if asked.is_empty() || asked.iter().any(|asked| asked == name) {
            group();
        }
    }
}
