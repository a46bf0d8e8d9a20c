//! What every command is given.

use std::path::PathBuf;

use trace_capture::{Home, open_home_ledger};

use crate::{
    args::GlobalArgs,
    environment::Environment,
    error::{Advise, WrongUsage},
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

    /// Opens the home, which is made if it is missing, and its ledger.
    pub(crate) fn open_store(&self) -> anyhow::Result<Store> {
        let path = self.home_path()?;
        let home = Home::open_real(&path).advise(|| format!("check that {} can be written", path.display()))?;
        let ledger = open_home_ledger(&home, self.global.ledger).advise(|| {
            "`--ledger memory` reads the recordings without the ledger; `trace reindex` brings the ledger in line"
                .to_owned()
        })?;
        Ok(Store { home, ledger })
    }

    /// Opens the home and its ledger, or returns `None` where nothing was ever recorded: looking makes no folders.
    pub(crate) fn open_store_to_look(&self) -> anyhow::Result<Option<Store>> {
        if Home::is_at(&self.home_path()?) { self.open_store().map(Some) } else { Ok(None) }
    }

    /// Returns the columns that the lines of a view have to fit in, if they have to.
    pub(crate) const fn width(&self) -> Option<u16> {
        self.output.width()
    }
}
