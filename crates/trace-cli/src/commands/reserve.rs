//! `trace reserve`.

use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use trace_capture::{CaptureEnv, CaptureError, EnvParts};
use trace_model::{ledger::LedgerError, words::Provider};
use trace_report::reservations::ReservationReport;

use super::{FormatArgs, reservations::need_kept_ledger};
use crate::{app::App, control, error::advised};

/// Reserve a launch for a control run, and print its id
///
/// For an orchestrator that has to know a launch before its agent starts. The next launch under control of that run,
/// such as that of `trace exec --control`, takes it over: it has this id and starts at this time. One launch at a time
/// waits for a control run.
#[derive(Debug, Args)]
pub(crate) struct ReserveArgs {
    #[command(flatten)]
    format: FormatArgs,
    /// The file of what the orchestrator says of the launch, as a JSON object
    ///
    /// Its keys are `run_id`, `home_id` and `containment` with `kind` and `id`, and if wanted `account_id`,
    /// `resume_token` and `opaque_basis`. Trace keeps them with the launch and reads nothing but the run.
    #[arg(long, value_name = "FILE")]
    control: PathBuf,
    /// The provider that is to be launched
    #[arg(long, value_name = "NAME", default_value_t = Provider::Unknown)]
    provider: Provider,
    /// The model that is to be used
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// What the agent is to be used through
    #[arg(long, value_name = "NAME", default_value = "headless")]
    surface: String,
}

pub(crate) fn run(args: &ReserveArgs, app: &mut App) -> anyhow::Result<ExitCode> {
    let control = control::read(&args.control)?;
    let control_run = control.run_id.clone();
    let store = app.open_store()?;
    need_kept_ledger(app, &store)?;
    app.bring_in_deferred(&store);
    let env = CaptureEnv::new(EnvParts::new(store.home, store.ledger));
    let reserved = env.blocking_reserve(control, args.provider.clone(), args.model.clone(), &args.surface);
    let reservation = match reserved {
        Err(CaptureError::Reserve(LedgerError::AlreadyExists { .. })) => {
            let error = anyhow::anyhow!("a launch is reserved for the control run {control_run} already");
            let advice = format!("let a launch take it over, or give it up with `trace release {control_run}`");
            return Err(advised(error, advice));
        }
        reserved => reserved?,
    };
    if args.format.json {
        app.output.json(&ReservationReport::new(&reservation))?;
    } else {
        app.output.line(&reservation.launch_id.to_string())?;
    }
    Ok(ExitCode::SUCCESS)
}
