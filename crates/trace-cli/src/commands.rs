//! The commands, one file each: its arguments, and what it does.

pub(crate) mod attribute;
pub(crate) mod completions;
pub(crate) mod context;
pub(crate) mod doctor;
pub(crate) mod exec;
pub(crate) mod import;
pub(crate) mod ls;
pub(crate) mod reindex;
pub(crate) mod release;
pub(crate) mod reservations;
pub(crate) mod reserve;
pub(crate) mod show;
pub(crate) mod statusline;
mod today;
pub(crate) mod usage;

use std::process::ExitCode;

use clap::Args;

use crate::{app::App, args::Command};

/// How a view is printed.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct FormatArgs {
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

/// Runs the command; without one, shows the launches of today.
pub(crate) fn run(command: Option<Command>, app: &mut App) -> anyhow::Result<ExitCode> {
    match command {
        None => today::run(app),
        Some(Command::Exec(args)) => exec::run(&args, app),
        Some(Command::Import(args)) => import::run(&args, app),
        Some(Command::Reserve(args)) => reserve::run(&args, app),
        Some(Command::Release(args)) => release::run(&args, app),
        Some(Command::Ls(args)) => ls::run(args, app),
        Some(Command::Show(args)) => show::run(&args, app),
        Some(Command::Context(args)) => context::run(&args, app),
        Some(Command::Usage(args)) => usage::run(&args, app),
        Some(Command::Statusline(_)) => Ok(statusline::run(app)),
        Some(Command::Attribute(args)) => attribute::run(&args, app),
        Some(Command::Reservations(args)) => reservations::run(&args, app),
        Some(Command::Reindex(args)) => reindex::run(&args, app),
        Some(Command::Doctor(args)) => doctor::run(&args, app),
        Some(Command::Completions(args)) => completions::run(&args, app),
    }
}
