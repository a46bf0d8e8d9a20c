//! The two programs of `power-cuts/run.py`: one writes until its power is cut, the other one looks what is left.
//!
//! `power_cut write FOLDER FIRST` writes launches from the number FIRST on to the ledger in the folder, and prints a
//! line for each write that was acknowledged. `power_cut check FOLDER` reads such lines, and prints how many of them
//! tell of rows that are missing or not what was written; it fails if the ledger does not open.

use std::{
    env,
    error::Error,
    io::{self, Write as _},
    path::Path,
    process::ExitCode,
};

use pollster::block_on;
use trace_model::{
    ledger::Ledger,
    rows::{BoundaryRows, LaunchChange},
    turn::{EndStatus, Outcome, Turn},
};
use trace_store_sled::SledLedger;
use trace_testkit::samples;

/// The usage records of each launch.
const RECORDS: u32 = 40;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments.as_slice() {
        ["write", folder, first] => first.parse().map_err(Into::into).and_then(|first| write(Path::new(folder), first)),
        ["check", folder] => check(Path::new(folder)),
        _ => Err("usage: power_cut write FOLDER FIRST | check FOLDER".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Writes until it is stopped.
fn write(folder: &Path, first: u32) -> Result<(), Box<dyn Error>> {
    let ledger = SledLedger::open(folder)?;
    let mut output = io::stdout().lock();
    for launch in first.. {
        block_on(ledger.apply(&samples::beginning(launch)))?;
        writeln!(output, "launch {launch}")?;
        for number in 0..RECORDS {
            let key = key(launch, number);
            let record = samples::usage_record(launch, Some(1), &key);
            block_on(ledger.apply(&samples::usage_boundary(launch, [record])))?;
            writeln!(output, "record {launch} {number}")?;
        }
        let turn = ended_turn(launch);
        let rows = BoundaryRows {
            turns_updated: [(turn.id, turn)].into(),
            ..BoundaryRows::of_launch(LaunchChange::Updated(samples::ended(
                samples::launch(launch),
                Outcome::Completed,
            )))
        };
        block_on(ledger.apply(&rows))?;
        writeln!(output, "end {launch}")?;
    }
    Ok(())
}

fn key(launch: u32, number: u32) -> String {
    format!("{launch}-{number:03}")
}

/// Returns the turn of the launch after its end. Its output has up to a megabyte: several segments of sled's log.
fn ended_turn(launch: u32) -> Turn {
    let turn = samples::ended_turn(samples::turn(launch, 1), EndStatus::Of(Outcome::Completed));
    let repeated = if launch % 10 == 9 { 60_000 } else { 2_000 };
    let output = format!("a line of {launch:06}\n").repeat(repeated);
    Turn { root_output: Some(output), ..turn }
}

/// Prints how many of the acknowledged rows are missing.
fn check(folder: &Path) -> Result<(), Box<dyn Error>> {
    let ledger = SledLedger::open(folder)?;
    let mut missing = 0_u32;
    for line in io::stdin().lines() {
        let line = line?;
        missing += u32::from(!is_there(&ledger, &line)?);
    }
    println!("{missing}");
    Ok(())
}

/// Tells whether the rows are there of which the line tells.
fn is_there(ledger: &SledLedger, line: &str) -> Result<bool, Box<dyn Error>> {
    let words: Vec<&str> = line.split(' ').collect();
    Ok(match words.as_slice() {
        ["launch", launch] => {
            let launch = launch.parse()?;
            let rows = samples::turn_rows(samples::turn(launch, 1), 2);
            block_on(ledger.launch(samples::launch_id(launch))).is_ok()
                && block_on(ledger.assets(rows.turn.id))? == rows.assets
                && block_on(ledger.decisions(rows.turn.id))? == rows.decisions
        }
        ["record", launch, number] => {
            let launch = launch.parse()?;
            let key = key(launch, number.parse()?);
            let usage = block_on(ledger.usage(samples::launch_id(launch)))?;
            usage.iter().any(|row| row.record == samples::usage_record(launch, Some(1), &key))
        }
        ["end", launch] => {
            let launch = launch.parse()?;
            let turns = block_on(ledger.turns(samples::launch_id(launch)))?;
            turns.iter().any(|row| row.turn == ended_turn(launch))
        }
        _ => return Err(format!("{line:?} tells of no row").into()),
    })
}
