//! The thread that passes a stream on: bytes go on record, then to whoever reads us.

use std::{
    io::{self, PipeReader, Read},
    os::fd::OwnedFd,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::{Errno, retry_on_intr},
};

use super::streams::Tee;

/// How long a stream may be silent after the agent's exit before whoever still holds it is left behind.
const SILENCE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// As much as a pipe hands over in one read.
const CHUNK: usize = 64 << 10;

/// The most that a pipe holds, and so the most that the agent itself can have left in it.
const PIPE_CAPACITY: usize = 1 << 20;

/// Why a pump stopped.
#[derive(Debug)]
pub(super) enum PumpEnd {
    /// Nobody can write to the stream any more.
    EndOfFile,
    /// Whoever read us does so no longer. The agent's next write fails, as it would without us.
    SinkClosed,
    /// The agent is gone and its output has come through, but another process holds the stream.
    HeldOpen,
    /// The stream could not be read, or not be passed on.
    Failed(io::Error),
}

/// What the pumps know about the agent's process.
///
/// It is the reading end of a pipe, so that a pump can wait for it and for bytes at the same time. A byte in it says
/// that the agent has exited; its end says that nothing shall be waited for any more.
#[derive(Debug)]
pub(super) struct ExitWatch(pub(super) PipeReader);

impl ExitWatch {
    pub(super) fn try_clone(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }
}

/// How long a pump waits for bytes.
#[derive(Debug, Clone, Copy)]
enum Patience {
    /// As long as it takes: the agent runs.
    Endless,
    /// For the time of [`SILENCE`]: the agent has exited.
    UntilSilence,
    /// Not at all. At most this many bytes are still passed on, as a process may print without end.
    Exhausted { bytes_left: usize },
}

impl Patience {
    fn timeout(self) -> Option<&'static Timespec> {
        match self {
            Self::Endless => None,
            Self::UntilSilence => Some(&SILENCE),
            Self::Exhausted { .. } => Some(&Timespec { tv_sec: 0, tv_nsec: 0 }),
        }
    }

    /// What the agent's process being in this state leaves of the patience.
    fn after(self, exit: PollFlags) -> Self {
        match self {
            Self::Exhausted { .. } => self,
            _ if exit.contains(PollFlags::HUP) => Self::Exhausted { bytes_left: PIPE_CAPACITY },
            _ if exit.contains(PollFlags::IN) => Self::UntilSilence,
            _ => self,
        }
    }

    /// What is left of it after so many bytes, or `None` if nothing is.
    fn spend(self, bytes: usize) -> Option<Self> {
        match self {
            Self::Exhausted { bytes_left } => {
                bytes_left.checked_sub(bytes).map(|bytes_left| Self::Exhausted { bytes_left })
            }
            _ => Some(self),
        }
    }
}

/// Passes a stream on until its end.
///
/// `record` gets each chunk before anyone else sees it, in order; nothing else is called. When this returns, the
/// reading end of the agent's pipe is closed.
pub(super) fn pump(tee: Tee, exit: &ExitWatch, mut record: impl FnMut(&[u8])) -> PumpEnd {
    let Tee { mut source, sink, .. } = tee;
    let mut patience = Patience::Endless;
    let mut sink_can_be_polled = true;
    let mut chunk = vec![0; CHUNK];
    loop {
        let seen = match wait(&source, sink_can_be_polled.then_some(&sink), exit, patience) {
            Ok(seen) => seen,
            Err(error) => return PumpEnd::Failed(error),
        };
        if seen.readable {
            let bytes = match source.read(&mut chunk) {
                Ok(0) => return PumpEnd::EndOfFile,
                Ok(read) => chunk.get(..read).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return PumpEnd::Failed(error),
            };
            record(bytes);
            match pass_on(&sink, bytes) {
                Ok(()) => {}
                Err(Errno::PIPE) => return PumpEnd::SinkClosed,
                Err(errno) => return PumpEnd::Failed(errno.into()),
            }
            match patience.spend(bytes.len()) {
                Some(left) => patience = left,
                None => return PumpEnd::HeldOpen,
            }
        } else if seen.sink.intersects(PollFlags::ERR | PollFlags::HUP) {
            return PumpEnd::SinkClosed;
        } else if seen.timed_out || matches!(patience, Patience::Exhausted { .. }) {
            return PumpEnd::HeldOpen;
        }
        sink_can_be_polled &= !seen.sink.contains(PollFlags::NVAL);
        patience = patience.after(seen.exit);
    }
}

/// What a pump woke up for.
struct Seen {
    readable: bool,
    timed_out: bool,
    exit: PollFlags,
    sink: PollFlags,
}

/// Waits for bytes, for the sink to be closed, or for news of the agent's process.
///
/// The sink is watched although nothing is written to it now: without us the agent's first write after the sink was
/// closed would fail, not the one after that.
fn wait(source: &PipeReader, sink: Option<&OwnedFd>, exit: &ExitWatch, patience: Patience) -> io::Result<Seen> {
    // Its byte wakes us only as long as it is news. Its end always does.
    let exit_events = match patience {
        Patience::Endless => PollFlags::IN,
        Patience::UntilSilence | Patience::Exhausted { .. } => PollFlags::empty(),
    };
    let mut watched = vec![PollFd::new(source, PollFlags::IN), PollFd::new(&exit.0, exit_events)];
    watched.extend(sink.map(|sink| PollFd::new(sink, PollFlags::empty())));
    let timed_out = retry_on_intr(|| poll(&mut watched, patience.timeout()))? == 0;

    let mut seen = watched.iter().map(PollFd::revents);
    let mut next = || seen.next().unwrap_or(PollFlags::empty());
    Ok(Seen { timed_out, readable: !next().is_empty(), exit: next(), sink: next() })
}

/// Writes all of the bytes, also to a sink that another process made non-blocking.
fn pass_on(sink: &OwnedFd, mut bytes: &[u8]) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match rustix::io::write(sink, bytes) {
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                retry_on_intr(|| poll(&mut [PollFd::new(sink, PollFlags::OUT)], None))?;
            }
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
