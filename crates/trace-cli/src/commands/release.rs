//! `trace release`.

use std::process::ExitCode;

use clap::Args;
use pollster::FutureExt;
use trace_model::{Entity, control::Reservation, id::ControlRunId, ledger::LedgerError, words::ReservationState};
use trace_report::reservations::ReservationReport;

use super::{FormatArgs, reservations::need_kept_ledger};
use crate::{app::App, error::Advise};

/// Give up the reservation of a control run
///
/// It prints the id that no launch will have now. A reservation that a launch has taken over cannot be given up.
#[derive(Debug, Args)]
pub(crate) struct ReleaseArgs {
    #[command(flatten)]
    format: FormatArgs,
    /// The control run
    #[arg(value_name = "CONTROL_RUN")]
    control_run: ControlRunId,
}

pub(crate) fn run(args: &ReleaseArgs, app: &mut App) -> anyhow::Result<ExitCode> {
    let control_run = &args.control_run;
    let see_list = || "`trace reservations` lists what was reserved".to_owned();
    let Some(store) = app.open_store_to_look()? else {
        return Err(LedgerError::not_found(Entity::Reservation, control_run)).advise(see_list);
    };
    need_kept_ledger(app, &store)?;
    let release = async {
        let given_up = store.ledger.reservation(control_run).await?;
        store.ledger.release(control_run).await?;
        Ok::<_, LedgerError>(Reservation { state: ReservationState::Released, ..given_up })
    };
    let released = release.block_on().advise(see_list)?;
    if args.format.json {
        app.output.json(&ReservationReport::new(&released))?;
    } else {
        app.output.line(&released.launch_id.to_string())?;
    }
    Ok(ExitCode::SUCCESS)
}
