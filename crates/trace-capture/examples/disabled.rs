//! The same code with and without recording: a disabled capture does nothing, and no caller has to ask.
//!
//! `cargo run --package trace-capture --example disabled [-- FOLDER]`

use std::{error::Error, path::Path};

use trace_capture::{
    Capture, CaptureEnv, EnvParts, Home, Labels, PreparedTurnContext, Recorded, Start, StreamEvent, TokenizerName,
    model::{turn::Outcome, words::Provider},
    open_home_ledger,
};

fn begin(folder: &Path) -> Result<Capture, Box<dyn Error>> {
    let home = Home::open_real(folder)?;
    let ledger = open_home_ledger(&home, None)?;
    let env = CaptureEnv::new(EnvParts::new(home, ledger));
    let labels = Labels::new("hello".parse()?, "main".parse()?, "/repo", "/repo");
    let prepared = PreparedTurnContext::provider_total_only(TokenizerName::Cl100kBase, "Say hello.");
    Ok(Capture::blocking_begin(&env, labels, prepared, Start::new(Provider::Unknown, "headless"))?)
}

fn main() {
    // A capture that cannot begin is no reason not to run the agent.
    let capture = match std::env::args_os().nth(1) {
        Some(folder) => begin(Path::new(&folder)).unwrap_or_else(|error| {
            eprintln!("this run is not recorded: {error}");
            Capture::disabled()
        }),
        None => Capture::disabled(),
    };
    capture.record_stream_event(StreamEvent::Text { text: "Hello.".to_owned() });
    capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
    match capture.launch_id() {
        Some(id) => println!("recorded as {id}"),
        None => println!("not recorded"),
    }
}
