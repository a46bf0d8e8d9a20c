//! The command line.

use std::{fmt, path::PathBuf, str::FromStr};

use clap::{
    Args, ColorChoice, CommandFactory, Parser, Subcommand,
    builder::{PossibleValuesParser, TypedValueParser},
};
use trace_capture::LedgerKind;
use trace_model::id::IdSuffix;

use crate::commands::{
    attribute::AttributeArgs, completions::CompletionsArgs, context::ContextArgs, doctor::DoctorArgs, exec::ExecArgs,
    import::ImportArgs, ls::LsArgs, reindex::ReindexArgs, release::ReleaseArgs, reservations::ReservationsArgs,
    reserve::ReserveArgs, show::ShowArgs, statusline::StatuslineArgs, usage::UsageArgs,
};
use crate::render::text::style;

/// A flight recorder and context profiler for coding agents.
#[derive(Debug, Parser)]
#[command(name = "trace", version)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// The options of every command; its own ones come first in its help.
#[derive(Debug, Clone, Args)]
pub(crate) struct GlobalArgs {
    #[expect(clippy::doc_markdown, reason = "it is the help, and there are no backticks in a terminal")]
    /// Where recordings are kept [default: $TRACE_HOME, else the platform's folder for data]
    #[arg(long, global = true, display_order = 901, value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
    /// The ledger to use [default: the home's own]
    #[arg(long, global = true, display_order = 902, value_name = "KIND", value_parser = words(LedgerKind::ALL, LedgerKind::as_str))]
    pub(crate) ledger: Option<LedgerKind>,
    /// When to use colours
    #[arg(long, global = true, display_order = 903, value_name = "WHEN", default_value_t = ColorChoice::Auto)]
    pub(crate) color: ColorChoice,
}

/// The commands, in the order of [`GROUPS`].
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Exec(ExecArgs),
    Import(ImportArgs),
    Reserve(ReserveArgs),
    Release(ReleaseArgs),
    Ls(LsArgs),
    Show(ShowArgs),
    Context(ContextArgs),
    Usage(UsageArgs),
    Statusline(StatuslineArgs),
    Attribute(AttributeArgs),
    Reservations(ReservationsArgs),
    Reindex(ReindexArgs),
    Doctor(DoctorArgs),
    Completions(CompletionsArgs),
}

/// The commands by what they are for.
const GROUPS: &[(&str, &[&str])] = &[
    ("Record", &["exec", "import", "reserve", "release"]),
    ("Look", &["ls", "show", "context", "usage", "statusline", "attribute", "reservations"]),
    ("Keep", &["reindex", "doctor", "completions"]),
];

impl Arguments {
    /// Returns the command line's grammar, with the commands grouped in its help.
    pub(crate) fn grammar() -> clap::Command {
        let command = Self::command();
        let groups: String = GROUPS.iter().map(|(title, names)| group_help(&command, title, names)).collect();
        let options = group_title("Options");
        command.help_template(format!(
            "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{groups}\n{options}\n{{options}}\n"
        ))
    }
}

fn group_title(title: &str) -> String {
    style::styled(style::TITLE.underline(), format_args!("{title}:"))
}

/// Returns the part of the help that lists the commands of a group.
fn group_help(command: &clap::Command, title: &str, names: &[&str]) -> String {
    let line = |name: &&str| {
        let about = command.find_subcommand(name).and_then(clap::Command::get_about);
        let about = about.map(ToString::to_string).unwrap_or_default();
        format!("  {} {about}\n", style::styled(style::TITLE, format_args!("{name:<12}")))
    };
    format!("\n{}\n{}", group_title(title), names.iter().map(line).collect::<String>())
}

/// A launch as a person names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LaunchName {
    /// The one that began last.
    Latest,
    /// The one whose id ends so.
    Suffix(IdSuffix),
}

impl FromStr for LaunchName {
    type Err = trace_model::ModelError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "latest" { Ok(Self::Latest) } else { text.parse().map(Self::Suffix) }
    }
}

impl fmt::Display for LaunchName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latest => formatter.write_str("latest"),
            Self::Suffix(suffix) => suffix.fmt(formatter),
        }
    }
}

/// Which launch a command is about.
#[derive(Debug, Clone, Args)]
pub(crate) struct LaunchArg {
    /// The last four or more characters of its id, the whole id, or `latest`
    #[arg(value_name = "LAUNCH", default_value_t = LaunchName::Latest)]
    pub(crate) launch: LaunchName,
}

/// Returns a parser of a closed list of words, which the help and the completions list.
pub(crate) fn words<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    as_str: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let find = move |word: String| all.iter().copied().find(|known| as_str(*known) == word).ok_or("it is no such word");
    PossibleValuesParser::new(all.iter().map(|word| as_str(*word))).try_map(find)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grammar_holds_together() {
        Arguments::grammar().debug_assert();
    }

    #[test]
    fn every_command_is_in_one_group_in_the_order_of_its_declaration() {
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let command = Arguments::command();
        let declared: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        assert_eq!(grouped, declared);
    }

    #[test]
    fn a_launch_is_named_by_its_end_or_as_the_latest() {
        assert_eq!("latest".parse::<LaunchName>().unwrap(), LaunchName::Latest);
        assert_eq!("56789abc".parse::<LaunchName>().unwrap().to_string(), "56789abc");
        for bad in ["abc", "last", "turn_01923456789a7bcd8ef0123456789abc", "../x", ""] {
            assert!(bad.parse::<LaunchName>().is_err(), "{bad:?} was taken");
        }
    }
}
