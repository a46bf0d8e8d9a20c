//! Progress, on standard error, where that is a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::environment::Stream;

/// Returns a bar of things that is seen on a terminal only.
pub(crate) fn bar(stderr: Stream, work: &'static str) -> ProgressBar {
    of(stderr, work, "{msg} {wide_bar} {human_pos} of {human_len}")
}

/// Returns a bar of bytes, with their rate, that is seen on a terminal only.
pub(crate) fn bytes(stderr: Stream, work: &'static str) -> ProgressBar {
    of(stderr, work, "{msg} {wide_bar} {bytes} of {total_bytes}, {bytes_per_sec}")
}

fn of(stderr: Stream, work: &'static str, template: &str) -> ProgressBar {
    if !stderr.is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template(template);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_message(work);
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
