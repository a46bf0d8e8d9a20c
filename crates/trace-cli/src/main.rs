//! The `trace` command: a flight recorder and context profiler for coding agents.
//!
//! [`args`] is the grammar of the command line, [`commands`] has one file for each command, [`render`] turns values
//! into text and JSON, and [`environment`] alone reads the environment. What is recorded and how is the library's part.

mod app;
mod args;
mod calendar;
mod commands;
mod control;
mod environment;
mod error;
mod object;
mod pricing;
mod progress;
mod prompts;
mod refresh;
mod render;
mod store;
mod when;

use std::process::ExitCode;

use clap::FromArgMatches;

use crate::{app::App, args::Arguments, environment::Environment, error::Verdict};

fn main() -> ExitCode {
    let environment = Environment::read();
    let mut grammar = Arguments::grammar();
    let matches = grammar.try_get_matches_from_mut(&environment.args);
    let parsed = matches.and_then(|matches| Arguments::from_arg_matches(&matches));
    let arguments = match parsed.map_err(|error| error.format(&mut grammar)) {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help for a pipe that is closed, or an error that cannot be shown: there is no better place for either.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let mut app = App::new(environment, arguments.global);
    let result = commands::run(arguments.command, &mut app);
    let flushed = app.output.flush();
    match result.and_then(|code| Ok(flushed.map(|()| code)?)) {
        Ok(code) => code,
        Err(error) => {
            let code = match Verdict::of(&error) {
                Verdict::Quiet => return ExitCode::SUCCESS,
                Verdict::Failure => ExitCode::FAILURE,
                Verdict::WrongUsage => ExitCode::from(2),
            };
            for (word, text) in error::lines(&error) {
                app.messages.say(word, &text);
            }
            code
        }
    }
}
