//! The same code with and without recording: a disabled capture does nothing, and no caller has to ask.
//!
//! `cargo run --package trace-capture --example disabled [-- FOLDER]`

use std::{error::Error, path::Path};

use trace_capture::{
    Capture, CaptureEnv, EnvParts, Home, Labels, PreparedTurnContext, Recorded, Start, StreamEvent, TokenizerName,
    model::{turn::Outcome, words::Provider},
    open_home_ledger,
};

fn open(folder: &Path) -> Result<CaptureEnv, Box<dyn Error>> {
    let home = Home::open_real(folder)?;
    let ledger = open_home_ledger(&home, None)?;
    Ok(CaptureEnv::new(EnvParts::new(home, ledger)))
}

fn begin(env: &CaptureEnv) -> Result<Capture, Box<dyn Error>> {
    let labels = Labels::new("hello".parse()?, "main".parse()?, "/repo", "/repo");
    let prepared = PreparedTurnContext::provider_total_only(TokenizerName::Cl100kBase, "Say hello.");
    Ok(Capture::blocking_begin(env, labels, prepared, Start::new(Provider::Unknown, "headless"))?)
}

/// A recording that cannot begin is no reason not to run the agent.
fn unless_it_fails<T>(result: Result<T, Box<dyn Error>>) -> Option<T> {
    result.inspect_err(|error| eprintln!("this run is not recorded: {error}")).ok()
}

fn main() {
    // The environment outlives the capture: when it is dropped, it waits until everything is on record.
    let env = std::env::args_os().nth(1).and_then(|folder| unless_it_fails(open(Path::new(&folder))));
    let capture = env.as_ref().and_then(|env| unless_it_fails(begin(env))).unwrap_or_else(Capture::disabled);
    capture.record_stream_event(StreamEvent::Text { text: "Hello.".to_owned() });
    capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
    match capture.launch_id() {
        Some(id) => println!("recorded as {id}"),
        None => println!("not recorded"),
    }
}
