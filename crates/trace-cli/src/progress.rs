//! Progress, on standard error, where that is a terminal.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::environment::Stream;

/// Returns a bar of things that is seen on a terminal only.
pub(crate) fn bar(stderr: Stream, work: &'static str) -> ProgressBar {
    if !stderr.is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
    dress(&bar, work, "{msg} {wide_bar} {human_pos} of {human_len}");
    bar.enable_steady_tick(TICK);
    bar
}

/// Bytes that are being read, told of on a terminal as soon as that takes its time.
pub(crate) struct Bytes {
    bar: ProgressBar,
    begun: Instant,
    /// Whether there is a terminal to tell it on, and it is not told yet.
    is_to_show: bool,
}

/// How long work goes on before it is told of: a bar that is gone at once only flickers.
const QUIET: Duration = Duration::from_millis(300);

impl Bytes {
    /// Begins the work.
    pub(crate) fn new(stderr: Stream, work: &'static str) -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden());
        let template = "{msg} {wide_bar} {bytes} of {total_bytes}, {bytes_per_sec}";
        dress(&bar, work, template);
        Self { bar, begun: Instant::now(), is_to_show: stderr.is_terminal() }
    }

    /// Tells how many bytes were read, and how many are to be.
    pub(crate) fn set(&mut self, done: u64, total: u64) {
        self.bar.set_length(total);
        self.bar.set_position(done);
        if self.is_to_show && done < total && self.begun.elapsed() >= QUIET {
            self.is_to_show = false;
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.bar.enable_steady_tick(TICK);
        }
    }

    /// Ends the work, and takes what was told of it from the terminal.
    pub(crate) fn end(self) {
        self.bar.finish_and_clear();
    }
}

/// How often a bar is drawn while nothing is told.
const TICK: Duration = Duration::from_millis(200);

fn dress(bar: &ProgressBar, work: &'static str, template: &str) {
    let style = ProgressStyle::with_template(template);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_message(work);
}
