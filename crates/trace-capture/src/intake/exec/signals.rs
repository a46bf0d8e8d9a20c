//! Signals that reach us and are meant for the agent.

use std::{
    fs, io,
    sync::{Arc, atomic::AtomicBool},
    thread::{self, JoinHandle},
};

use rustix::process::Signal;
use signal_hook::{
    consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2},
    flag,
    iterator::{Handle, SignalsInfo, exfiltrator::WithOrigin},
    low_level::siginfo::Origin,
};

use super::process::Process;

/// The signals that are forwarded.
///
/// TSTP, TTIN, TTOU and CONT are not among them: the terminal sends them to the agent as well, and both stop and go on.
const FORWARDED: [i32; 6] = [SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2];

/// Catches the signals from now on, and forwards them until the [`Forwarding`] is dropped.
///
/// A caught signal is at its default in a program that we start; an ignored one would stay ignored there. What was
/// ignored before, as under `nohup`, is left so: that was meant for the agent.
pub(super) fn forward_to(process: &Arc<Process>) -> io::Result<Forwarding> {
    // To whoever ignores the last one, the system does not tell how its children ended.
    let mut signals = SignalsInfo::<WithOrigin>::new(not_ignored().chain([SIGCHLD]))?;
    let handle = signals.handle();
    let process = Arc::clone(process);
    let forward =
        move || signals.forever().filter_map(|origin| forwarded(&origin)).for_each(|signal| process.signal(signal));
    let thread = thread::Builder::new().name("trace-signals".to_owned()).spawn(forward)?;
    Ok(Forwarding { handle, thread: Some(thread) })
}

/// Lets each signal that was forwarded do by default again what it does to a process: end it.
///
/// After [`Exec::run`](super::Exec::run) they stay caught and do nothing, as they may be another's in this process by
/// now. A command that does nothing but run one agent calls this behind it, so that nobody waits for it against their
/// will. What was ignored before, as under `nohup`, stays ignored.
///
/// # Errors
///
/// Those of the system, which then takes no handler of any kind.
pub fn restore_signals() -> io::Result<()> {
    let always = Arc::new(AtomicBool::new(true));
    not_ignored().try_for_each(|signal| flag::register_conditional_default(signal, Arc::clone(&always)).map(drop))
}

/// Returns the forwarded signals but those that are ignored in this process.
fn not_ignored() -> impl Iterator<Item = i32> {
    let ignored = ignored_signals();
    FORWARDED.into_iter().filter(move |&signal| !is_in(ignored, signal))
}

/// The thread that forwards signals. Dropping it ends the thread; the signals stay caught, and do nothing.
#[derive(Debug)]
pub(super) struct Forwarding {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Forwarding {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            // The thread cannot panic, and there would be nothing to do about it.
            let _ = thread.join();
        }
    }
}

/// Returns the signal if it is to be forwarded.
///
/// An interrupt typed at the terminal is not: the kernel sends it to the whole foreground process group, and the agent
/// is in it.
fn forwarded(origin: &Origin) -> Option<Signal> {
    match origin.signal {
        SIGCHLD => None,
        SIGINT | SIGQUIT if origin.process.is_none() => None,
        signal => Signal::from_named_raw(signal),
    }
}

/// Returns the set of ignored signals, where the system tells; signal 1 is the lowest bit.
fn ignored_signals() -> u64 {
    fs::read_to_string("/proc/self/status").ok().and_then(|status| parse_ignored(&status)).unwrap_or(0)
}

fn parse_ignored(status: &str) -> Option<u64> {
    let digits = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(digits.trim(), 16).ok()
}

fn is_in(set: u64, signal: i32) -> bool {
    u32::try_from(signal - 1).is_ok_and(|bit| set.checked_shr(bit).unwrap_or(0) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ignored_signals_are_read_from_the_status_of_the_process() {
        let nohup = "Name:\ttrace\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000001\nSigCgt:\t0000000000000000\n";
        assert_eq!(parse_ignored(nohup), Some(1));
        assert!(is_in(1, SIGHUP));
        assert!(!is_in(1, SIGINT));
        assert!(is_in(0b110, SIGQUIT));
        assert_eq!(parse_ignored("Name:\ttrace\n"), None);
        assert_eq!(parse_ignored("SigIgn:\tnothing\n"), None);
    }
}
