//! Records from a program without an asynchronous runtime: each asynchronous call has a blocking twin.
//!
//! `cargo run --package trace-capture --example no_runtime -- FOLDER`

use std::{error::Error, path::PathBuf};

use trace_capture::{
    Capture, CaptureEnv, EnvParts, Home, Labels, PreparedTurnContext, Prompts, Recorded, Start, StreamEvent,
    TokenizerName,
    model::{
        turn::Outcome,
        words::{InputOp, Provider},
    },
    open_home_ledger,
};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args_os().nth(1).ok_or("usage: no_runtime FOLDER")?);
    let home = Home::open_real(&folder)?;
    let ledger = open_home_ledger(&home, None)?;
    let env = CaptureEnv::new(EnvParts::new(home, ledger));

    let prompts = Prompts { system: Some("Be brief.".to_owned()), task: Some("What is 2 + 2?".to_owned()) };
    let prepared = PreparedTurnContext::from_prompts(TokenizerName::Cl100kBase, prompts);
    let labels = Labels::new("sums".parse()?, "main".parse()?, "/repo", "/repo");
    let start = Start::new("my-agent".parse::<Provider>()?, "headless");
    let capture = Capture::blocking_begin(&env, labels, prepared, start)?;
    capture.record_stream_event(StreamEvent::Text { text: "4".to_owned() });
    capture.record_stream_event(StreamEvent::Usage {
        input_tokens: Some(18),
        output_tokens: Some(1),
        cache_read_tokens: None,
    });
    capture.blocking_finish_turn(Outcome::Completed);

    // A follow-up goes to the session that the provider keeps: only its text is known here.
    capture.blocking_begin_turn(InputOp::Message, "And 3 + 3?")?;
    capture.record_stream_event(StreamEvent::Text { text: "6".to_owned() });
    capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
    println!("{}", capture.launch_id().map(|id| id.to_string()).unwrap_or_default());
    Ok(())
}
