//! The agent's process: started, signalled, waited for.

use std::{
    io::{self, PipeWriter, Write},
    mem,
    os::unix::process::ExitStatusExt,
    process::{Child, ExitStatus},
    sync::{Mutex, MutexGuard, PoisonError},
};

use rustix::process::{Pid, Signal, kill_process};
use trace_model::turn::Outcome;

use super::{pump::ExitWatch, stop::wait_for_exit};

/// How the agent's process came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProcessEnd {
    /// It exited with this code.
    Exited(u8),
    /// A signal of this number ended it.
    Signalled(u8),
    /// There is no such program.
    NotFound,
    /// The program is there and cannot be executed.
    NotExecutable,
}

impl ProcessEnd {
    /// Returns the exit code by which a shell tells this end: 128 + the signal's number, 127, 126 or the code itself.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Exited(code) => code,
            Self::Signalled(signal) => 128_u8.saturating_add(signal),
            Self::NotFound => 127,
            Self::NotExecutable => 126,
        }
    }

    /// Returns what the end means for a launch whose stream says nothing.
    pub fn outcome(self) -> Outcome {
        match self {
            Self::Exited(0) => Outcome::Completed,
            Self::Exited(_) | Self::NotFound | Self::NotExecutable => Outcome::Failed,
            Self::Signalled(_) => Outcome::Interrupted,
        }
    }

    fn of_status(status: ExitStatus) -> Self {
        let byte = |number: i32| u8::try_from(number).unwrap_or(u8::MAX);
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Exited(byte(code)),
            (None, Some(signal)) => Self::Signalled(byte(signal)),
            // A wait for an exit is answered by nothing else.
            (None, None) => Self::Exited(u8::MAX),
        }
    }

    pub(super) fn of_failed_start(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::NotFound { Self::NotFound } else { Self::NotExecutable }
    }
}

/// The agent's process as the threads around it see it.
#[derive(Debug)]
pub(super) struct Process(Mutex<Life>);

#[derive(Debug)]
enum Life {
    /// It is about to be started. These signals came too early for it.
    Starting { news: PipeWriter, early: Vec<Signal> },
    /// The id is the agent's, also while it is a zombie.
    Running { news: PipeWriter, pid: Pid },
    /// The id may be another process's. The end of the news is still to be told.
    Exited { _news: PipeWriter },
    /// Its output is not waited for any more.
    LeftBehind,
}

impl Process {
    /// Returns a process that is about to be started, and will tell the news of its end.
    pub(super) fn new(news: PipeWriter) -> Self {
        Self(Mutex::new(Life::Starting { news, early: Vec::new() }))
    }

    /// Waits for the process to exit, and tells the [`ExitWatch`] of it.
    pub(super) fn wait(&self, mut child: Child) -> io::Result<ProcessEnd> {
        let pid = Pid::from_child(&child);
        self.started(pid);
        // The process is left a zombie at first, so that its id stays its own until signals know that it is gone.
        wait_for_exit(pid)?;
        let mut life = self.lock();
        let status = child.wait()?;
        if let Life::Running { mut news, .. } = mem::replace(&mut *life, Life::LeftBehind)
            && news.write_all(b"x").is_ok()
        {
            *life = Life::Exited { _news: news };
        }
        Ok(ProcessEnd::of_status(status))
    }

    fn started(&self, pid: Pid) {
        let mut life = self.lock();
        if let Life::Starting { news, early } = mem::replace(&mut *life, Life::LeftBehind) {
            *life = Life::Running { news, pid };
            for signal in early {
                send(pid, signal);
            }
        }
    }

    /// Sends the process a signal. If it has exited, what is meant is us, and its output is waited for no longer.
    pub(super) fn signal(&self, signal: Signal) {
        let mut life = self.lock();
        match &mut *life {
            Life::Starting { early, .. } => early.push(signal),
            Life::Running { pid, .. } => send(*pid, signal),
            Life::Exited { .. } => *life = Life::LeftBehind,
            Life::LeftBehind => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, Life> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn send(pid: Pid, signal: Signal) {
    // It fails only if the agent is another user's by now. Without us, the sender would have failed too.
    let _ = kill_process(pid, signal);
}

/// Returns the two ends of the way by which pumps learn of the agent's exit.
pub(super) fn exit_news() -> io::Result<(ExitWatch, PipeWriter)> {
    let (watch, news) = io::pipe()?;
    Ok((ExitWatch(watch), news))
}
