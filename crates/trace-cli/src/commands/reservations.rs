//! `trace reservations`.

use std::process::ExitCode;

use anyhow::{Context, anyhow};
use clap::Args;
use pollster::FutureExt;
use trace_capture::{Clock, LedgerKind, SystemClock};
use trace_report::reservations::ReservationsReport;

use super::FormatArgs;
use crate::{app::App, error::Advise, render::text::reservations, store::Store};

/// List what was reserved, and what became of it
///
/// A reservation waits until a launch takes it over, which then has its id, or until it is given up.
#[derive(Debug, Args)]
pub(crate) struct ReservationsArgs {
    #[command(flatten)]
    format: FormatArgs,
}

pub(crate) fn run(args: &ReservationsArgs, app: &mut App) -> anyhow::Result<ExitCode> {
    let store = app.open_store_to_look()?;
    let found = match &store {
        Some(store) => store.ledger.reservations().block_on().context("cannot list the reservations")?,
        None => Vec::new(),
    };
    let report = ReservationsReport::new(found);
    if args.format.json {
        app.output.json(&report)?;
    } else {
        app.output.lines(reservations::lines(&report, SystemClock.now(), app.width()))?;
    }
    if report.reservations.is_empty() {
        let is_kept = store.as_ref().is_none_or(|store| keeps_reservations(app, store));
        let note = if is_kept { "nothing is reserved" } else { "the memory ledger knows of no reservations" };
        app.messages.say("note", note);
    }
    Ok(ExitCode::SUCCESS)
}

/// Refuses a ledger that ends with the command. No file but the ledger's holds reservations.
pub(super) fn need_kept_ledger(app: &App, store: &Store) -> anyhow::Result<()> {
    if keeps_reservations(app, store) {
        return Ok(());
    }
    Err(anyhow!("reservations are kept in the ledger alone, and in the memory ledger they would be lost")).advise(
        || {
            let is_of_use = |kind: &&LedgerKind| kind.is_compiled() && kind.file_name().is_some();
            match LedgerKind::ALL.iter().find(is_of_use) {
                Some(kind) => format!("use a ledger with a file, such as `--ledger {kind}`"),
                None => "use a build of trace that has a ledger with a file".to_owned(),
            }
        },
    )
}

fn keeps_reservations(app: &App, store: &Store) -> bool {
    let kind = app.global.ledger.or_else(|| LedgerKind::of_home(&store.home).ok());
    kind.is_some_and(|kind| kind.file_name().is_some())
}
