//! What every command is given.

use std::{
    path::PathBuf,
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use pollster::FutureExt;
use trace_capture::{Home, LedgerKind, OpenError, artifacts::ArtifactError, open_home_ledger, reindex::index_deferred};
use trace_model::ledger::LedgerError;

use crate::{
    args::GlobalArgs,
    environment::Environment,
    error::{Advise, WrongUsage, advised},
    refresh,
    render::output::{Messages, Output},
    store::Store,
};

/// The environment, the options of every command, and the ways out.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) environment: Environment,
    pub(crate) global: GlobalArgs,
    /// Where data goes.
    pub(crate) output: Output,
    /// Where everything else goes.
    pub(crate) messages: Messages,
}

/// How long a look at the home waits for launches that are not in the ledger yet.
const DEFERRED_LIMIT: Duration = Duration::from_millis(500);

impl App {
    pub(crate) fn new(environment: Environment, global: GlobalArgs) -> Self {
        let has_color = |stream| environment.has_color(global.color, stream);
        let output = Output::new(environment.stdout, has_color(environment.stdout));
        let messages = Messages::new(has_color(environment.stderr));
        Self { environment, global, output, messages }
    }

    /// Returns the folder that recordings are kept in.
    pub(crate) fn home_path(&self) -> anyhow::Result<PathBuf> {
        self.global.home.clone().or_else(|| self.environment.default_home()).ok_or_else(|| {
            WrongUsage("no folder for recordings is known: set TRACE_HOME or give --home DIR".to_owned()).into()
        })
    }

    /// Opens the home, which is made if it is missing.
    pub(crate) fn open_home(&self) -> anyhow::Result<Home> {
        let path = self.home_path()?;
        let home = Home::open_real(&path).advise(|| format!("check that {} can be written", path.display()))?;
        self.warn_of_others(&home);
        Ok(home)
    }

    /// Opens the home, which is made if it is missing, and its ledger.
    pub(crate) fn open_store(&self) -> anyhow::Result<Store> {
        self.with_ledger(self.open_home()?)
    }

    /// Opens the home and its ledger, with all that the agents wrote until now. Where nothing was ever recorded and no
    /// agent keeps any files there is none: looking makes no folders.
    pub(crate) fn open_refreshed_store(&self) -> anyhow::Result<Option<Store>> {
        if !self.environment.agent_roots().is_anything_there() || self.looks_past_the_ledger() {
            return self.open_store_to_look();
        }
        let store = self.open_store()?;
        self.bring_in_deferred(&store);
        refresh::refresh(self, &store);
        Ok(Some(store))
    }

    /// Opens the home and its ledger, with what recorders could not bring in, or returns `None` where nothing was ever
    /// recorded: looking makes no folders.
    pub(crate) fn open_store_to_look(&self) -> anyhow::Result<Option<Store>> {
        let store = self.open_store_as_it_is()?;
        if let Some(store) = &store {
            self.bring_in_deferred(store);
        }
        Ok(store)
    }

    /// Opens the home and its ledger, or returns `None` where nothing was ever recorded.
    pub(crate) fn open_store_as_it_is(&self) -> anyhow::Result<Option<Store>> {
        let path = self.home_path()?;
        let home = Home::open_existing(&path).advise(|| {
            let path = path.display();
            format!("{path} has to be a folder that can be read: set TRACE_HOME or give --home DIR for another one")
        })?;
        let Some(home) = home else { return Ok(None) };
        self.warn_of_others(&home);
        self.with_ledger(home).map(Some)
    }

    /// Brings in what recorders could not, while that is quick: what is left is brought in next time.
    pub(crate) fn bring_in_deferred(&self, store: &Store) {
        let kind = self.global.ledger.or_else(|| LedgerKind::of_home(&store.home).ok());
        // What a memory ledger is filled with is no use to the home's own.
        let is_kept = kind.is_some_and(|kind| kind.file_name().is_some());
        if !is_kept || !store.home.deferred_launches().is_ok_and(|launches| !launches.is_empty()) {
            return;
        }
        let (done, result) = mpsc::channel();
        let (home, ledger) = (store.home.clone(), Arc::clone(&store.ledger));
        let started = thread::Builder::new().name("trace-deferred".to_owned()).spawn(move || {
            // Whoever waits may have stopped to.
            let _ = done.send(index_deferred(&home, &*ledger).block_on());
        });
        let said = match started.map(|_| result.recv_timeout(DEFERRED_LIMIT)) {
            Ok(Ok(Ok(_))) => return,
            Ok(Ok(Err(error))) => anyhow::Error::from(error),
            Ok(Err(_)) => anyhow::Error::msg("it takes its time"),
            Err(error) => error.into(),
        };
        let text =
            format!("some launches are recorded and not in the ledger yet ({said:#}); `trace reindex` brings them in");
        self.messages.say("note", &text);
    }

    /// Tells whether a ledger in memory is wanted where the home has one with files. What it would be filled with now
    /// would be known as brought in, and be missing in the home's own.
    fn looks_past_the_ledger(&self) -> bool {
        let has_files = || LedgerKind::ALL.iter().any(|kind| kind.is_compiled() && kind.file_name().is_some());
        self.global.ledger == Some(LedgerKind::Memory) && has_files()
    }

    fn with_ledger(&self, home: Home) -> anyhow::Result<Store> {
        match open_home_ledger(&home, self.global.ledger) {
            Ok(ledger) => Ok(Store { home, ledger }),
            Err(error) => {
                let advice = next_step(&error);
                Err(advised(error, advice))
            }
        }
    }

    /// Warns of a home that others may change. It was not made by Trace, and may be so for a reason.
    fn warn_of_others(&self, home: &Home) {
        if home.is_open_to_others() {
            let path = home.root().display();
            self.messages.say("warning", &format!("others can write into {path}; `chmod 700 {path}` makes it private"));
        }
    }

    /// Returns the columns that the lines of a view have to fit in, if they have to.
    pub(crate) const fn width(&self) -> Option<u16> {
        self.output.width()
    }
}

/// Returns what to do about a ledger that could not be opened.
pub(crate) fn next_step(error: &OpenError) -> String {
    let without = "`--ledger memory` reads the recordings without the ledger";
    match error {
        OpenError::Home(ArtifactError::Malformed { path, .. }) => {
            format!("move {} away, and it is made anew; {without}", path.display())
        }
        OpenError::Home(ArtifactError::Io { path, .. }) => {
            format!("check that {} can be read and written; {without}", path.display())
        }
        OpenError::Home(_) | OpenError::Ledger { source: LedgerError::FutureSchema { .. }, .. } => {
            format!("use a newer trace; {without}")
        }
        OpenError::Fill(_) => "check that the recordings can be read".to_owned(),
        _ => without.to_owned(),
    }
}
