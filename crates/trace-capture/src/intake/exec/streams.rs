//! What is done with each output stream of the agent: the judgement, and the pipes that follow from it.

use std::{
    io::{self, IsTerminal, PipeReader},
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    process::{Command, Stdio},
};

use rustix::fs::fstat;
use trace_model::words::OutputStream;

/// Where the agent's output goes, as judged by where ours goes.
///
/// Each stream is judged by itself. One that is a terminal belongs to the agent, which finds the same terminal there as
/// without Trace; it is not recorded. Any other is a tee.
#[derive(Debug)]
pub struct Outputs {
    stdout: Option<OwnedFd>,
    stderr: Stderr,
}

#[derive(Debug)]
enum Stderr {
    Inherited,
    Teed(OwnedFd),
    /// Both streams are one file. Two pipes would lose the order between them.
    WithStdout,
}

impl Outputs {
    /// Judges the two streams that the agent would inherit.
    ///
    /// # Errors
    ///
    /// That of the system call that failed: `fstat`, or the duplication of a descriptor.
    pub fn judge(stdout: BorrowedFd<'_>, stderr: BorrowedFd<'_>) -> io::Result<Self> {
        let teed = |stream: BorrowedFd<'_>| (!stream.is_terminal()).then(|| stream.try_clone_to_owned()).transpose();
        let stdout_sink = teed(stdout)?;
        let stderr = if stdout_sink.is_some() && are_one_file(stdout, stderr)? {
            Stderr::WithStdout
        } else {
            teed(stderr)?.map_or(Stderr::Inherited, Stderr::Teed)
        };
        Ok(Self { stdout: stdout_sink, stderr })
    }

    /// Returns the judgement that leaves both streams to the agent, so that nothing is recorded.
    pub fn inherited() -> Self {
        Self { stdout: None, stderr: Stderr::Inherited }
    }

    /// Opens the pipes, and hands their writing ends to the command.
    ///
    /// The reading ends see the end of the file only after `command` is dropped, too.
    pub(super) fn connect(self, command: &mut Command) -> io::Result<Vec<Tee>> {
        let mut tees = Vec::new();
        if let Some(sink) = self.stdout {
            let (source, pipe) = io::pipe()?;
            if matches!(self.stderr, Stderr::WithStdout) {
                command.stderr(pipe.try_clone()?);
            }
            command.stdout(pipe);
            tees.push(Tee { stream: OutputStream::Stdout, source, sink });
        } else {
            command.stdout(Stdio::inherit());
        }
        match self.stderr {
            Stderr::Inherited => {
                command.stderr(Stdio::inherit());
            }
            Stderr::Teed(sink) => {
                let (source, pipe) = io::pipe()?;
                command.stderr(pipe);
                tees.push(Tee { stream: OutputStream::Stderr, source, sink });
            }
            Stderr::WithStdout => {}
        }
        Ok(tees)
    }
}

/// A stream between the agent and whoever reads us.
#[derive(Debug)]
pub(super) struct Tee {
    /// The stream.
    pub(super) stream: OutputStream,
    /// What the agent writes.
    pub(super) source: PipeReader,
    /// Where it goes.
    pub(super) sink: OwnedFd,
}

fn are_one_file(one: BorrowedFd<'_>, other: BorrowedFd<'_>) -> io::Result<bool> {
    let (one, other) = (fstat(one.as_fd())?, fstat(other.as_fd())?);
    Ok((one.st_dev, one.st_ino) == (other.st_dev, other.st_ino))
}

#[cfg(test)]
mod tests {
    use std::{fs::File, io::Read};

    use super::*;

    fn run(outputs: Outputs, script: &str) -> Vec<(OutputStream, String)> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let tees = outputs.connect(&mut command).unwrap();
        assert!(command.status().unwrap().success());
        drop(command);
        let read = |mut tee: Tee| {
            let mut text = String::new();
            tee.source.read_to_string(&mut text).unwrap();
            (tee.stream, text)
        };
        tees.into_iter().map(read).collect()
    }

    #[test]
    fn two_files_are_two_pipes() {
        let (one, other) = (File::open("/dev/null").unwrap(), File::open("/dev/zero").unwrap());
        let outputs = Outputs::judge(one.as_fd(), other.as_fd()).unwrap();
        let read = run(outputs, "echo out; echo err >&2");
        assert_eq!(read, [(OutputStream::Stdout, "out\n".into()), (OutputStream::Stderr, "err\n".into())]);
    }

    #[test]
    fn one_file_is_one_pipe_that_keeps_the_order() {
        let (_reader, writer) = io::pipe().unwrap();
        let twin = writer.try_clone().unwrap();
        let outputs = Outputs::judge(writer.as_fd(), twin.as_fd()).unwrap();
        let read = run(outputs, "echo 1; echo 2 >&2; echo 3; echo 4 >&2");
        assert_eq!(read, [(OutputStream::Stdout, "1\n2\n3\n4\n".into())]);
    }

    #[test]
    fn two_pipes_are_not_one_file() {
        let ((_one, one), (_other, other)) = (io::pipe().unwrap(), io::pipe().unwrap());
        assert!(!are_one_file(one.as_fd(), other.as_fd()).unwrap());
    }
}
