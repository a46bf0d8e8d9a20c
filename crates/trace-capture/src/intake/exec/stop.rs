//! Waiting for the agent, and stopping when it does.
//!
//! A stop that is typed at the terminal reaches us and the agent alike. But an agent that reads single keys has to stop
//! itself, and then the shell, which knows us alone, would wait for a command that does nothing. So we stop as well,
//! and the shell has its terminal back; when it lets its job go on, both do.

use std::{io, thread, time::Duration};

use rustix::{
    io::retry_on_intr,
    process::{Pid, Signal, WaitId, WaitIdOptions, getpgrp, getpid, kill_process, waitid},
    stdio,
    termios::tcgetpgrp,
};

/// How often a stop is looked at, and at what distance, before it is believed.
///
/// A typed stop is ours too. While we are let go on, the agent may still seem to be stopped for a moment, and to stop
/// then would be a second stop that nobody asked for.
const LOOKS: u32 = 3;
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// Waits until the process has exited, and leaves it to be reaped.
pub(super) fn wait_for_exit(agent: Pid) -> io::Result<()> {
    loop {
        let seen = WaitIdOptions::EXITED | WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT;
        let status = retry_on_intr(|| waitid(WaitId::Pid(agent), seen))?;
        match status.and_then(|status| status.stopping_signal()) {
            None => return Ok(()),
            Some(signal) if we_are_in_the_foreground() => stop_along(agent, signal),
            Some(_) => forget_stop(agent),
        }
    }
}

/// Stops us until somebody lets us go on, if the agent stays stopped.
fn stop_along(agent: Pid, signal: i32) {
    if !stays_stopped(agent) {
        return;
    }
    let signal = Signal::from_named_raw(signal).unwrap_or(Signal::STOP);
    // We may always signal ourselves.
    let _ = kill_process(getpid(), signal);
    // Whoever let us go on meant the job, of which only we may have been told.
    if stays_stopped(agent) {
        let _ = kill_process(agent, Signal::CONT);
    }
}

fn stays_stopped(agent: Pid) -> bool {
    (0..LOOKS).all(|_| {
        thread::sleep(BETWEEN_LOOKS);
        let seen = WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        matches!(waitid(WaitId::Pid(agent), seen), Ok(Some(_)))
    })
}

/// Takes note of a stop that is none of ours, so that it is not seen again.
fn forget_stop(agent: Pid) {
    let _ = waitid(WaitId::Pid(agent), WaitIdOptions::STOPPED | WaitIdOptions::NOHANG);
}

/// Tells whether a shell waits for us with a terminal in front of it. Nobody else would let us go on.
fn we_are_in_the_foreground() -> bool {
    let group = getpgrp();
    [stdio::stdin(), stdio::stdout(), stdio::stderr()]
        .into_iter()
        .any(|stream| tcgetpgrp(stream).is_ok_and(|foreground| foreground == group))
}
