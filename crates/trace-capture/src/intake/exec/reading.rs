//! The threads that read an agent's output.

use std::{
    io,
    thread::{self, Scope, ScopedJoinHandle},
};

use trace_model::words::{OutputStream, Provider};
use trace_providers::recognise::SessionStart;

use super::{
    ExecError, ExecLaunch,
    growth::growth,
    interpretation::{Interpretation, Interpreted},
    pump::{ExitWatch, PumpEnd, pump},
    record::RecordReader,
    streams::Tee,
};

/// The threads that read an agent's output: a pump for each recorded stream, and the interpretation of standard output.
#[derive(Debug, Default)]
pub(super) struct Reading<'scope> {
    pub(super) pumps: Vec<(OutputStream, ScopedJoinHandle<'scope, PumpEnd>)>,
    pub(super) interpretation: Option<ScopedJoinHandle<'scope, Interpreted>>,
}

/// What came of the reading.
#[derive(Debug, Default)]
pub(super) struct Output {
    /// How each stream ended.
    pub(super) pumps: Vec<(OutputStream, PumpEnd)>,
    /// What was understood.
    pub(super) interpreted: Interpreted,
}

impl<'scope> Reading<'scope> {
    /// Starts the threads. They end by themselves when the pipes or the watch do. The output is read by the rules of
    /// `provider`, or of whichever provider it is found to be of.
    pub(super) fn start(
        scope: &'scope Scope<'scope, '_>,
        launch: &ExecLaunch,
        tees: Vec<Tee>,
        watch: &ExitWatch,
        provider: Option<&Provider>,
        start: SessionStart,
    ) -> Result<Self, ExecError> {
        let mut reading = Self::default();
        for tee in tees {
            let stream = tee.stream;
            let watch = watch.try_clone().map_err(ExecError::NotStarted)?;
            let capture = launch.capture.clone();
            let (ring, bell) = growth();
            let record = move |bytes: &[u8]| {
                if let Some(end) = capture.keep_raw(stream, bytes) {
                    ring.ring(end);
                }
            };
            let pump = spawn(scope, "trace-pump", move || pump(tee, &watch, record))?;
            reading.pumps.push((stream, pump));
            if stream == OutputStream::Stdout {
                let open = || launch.record(stream).map(RecordReader::new).map_err(ExecError::NoRecord);
                let (probe, record) = (open()?, open()?);
                let interpretation = Interpretation::new(launch.capture.clone(), stream, provider, start);
                let interpret = move || interpretation.follow(probe, record, &bell);
                reading.interpretation = Some(spawn(scope, "trace-interpreter", interpret)?);
            }
        }
        Ok(reading)
    }

    /// Waits for the threads.
    pub(super) fn join(self) -> Output {
        let died = || io::Error::other("the thread that passed it on died");
        let end = |pump: ScopedJoinHandle<'_, PumpEnd>| pump.join().unwrap_or_else(|_| PumpEnd::Failed(died()));
        let pumps = self.pumps.into_iter().map(|(stream, pump)| (stream, end(pump))).collect();
        let died = || Interpreted::failed(io::Error::other("the thread that read it died"));
        let interpreted = self.interpretation.map(|thread| thread.join().unwrap_or_else(|_| died()));
        Output { pumps, interpreted: interpreted.unwrap_or_default() }
    }
}

fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &str,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, ExecError> {
    thread::Builder::new().name(name.to_owned()).spawn_scoped(scope, work).map_err(ExecError::NotStarted)
}
