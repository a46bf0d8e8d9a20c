//! `trace completions`.

use std::process::ExitCode;

use clap::Args;
use clap_complete::Shell;

use crate::{app::App, args::Arguments};

/// Print the completions of a shell
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: &CompletionsArgs, app: &mut App) -> anyhow::Result<ExitCode> {
    let mut grammar = Arguments::grammar();
    clap_complete::Generator::try_generate(&args.shell, &complete(&mut grammar), app.output.writer())?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the grammar in the form that generators ask for: built, and with the name of the program.
fn complete(grammar: &mut clap::Command) -> clap::Command {
    grammar.set_bin_name("trace");
    grammar.build();
    grammar.clone()
}
