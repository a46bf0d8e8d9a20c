//! What a harness's own test looks like: the rows of a launch in memory, asked for through the `Ledger` trait.
//!
//! `cargo run --package trace-capture --example memory_in_tests`

use std::{error::Error, sync::Arc};

use trace_capture::{
    Capture, CaptureEnv, EnvParts, Home, Labels, MemoryLedger, PreparedTurnContext, Recorded, Start, StreamEvent,
    TokenizerName,
    model::{ledger::Ledger as _, turn::Outcome, words::Provider},
};

/// The code under test: it answers through the capture that it is given.
async fn answer(capture: &Capture) {
    capture.record_stream_event(StreamEvent::Text { text: "Hello.".to_owned() });
    capture.finish(Outcome::Completed, Recorded::Conversation).await;
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let ledger = MemoryLedger::new();
    let env = CaptureEnv::new(EnvParts::new(Home::open_real(folder.path())?, Arc::new(ledger.clone())));
    let labels = Labels::new("test".parse()?, "test".parse()?, "/repo", "/repo");
    let prepared = PreparedTurnContext::provider_total_only(TokenizerName::Cl100kBase, "Say hello.");

    // Any executor will do.
    let turns = pollster::block_on(async {
        let capture = Capture::begin(&env, labels, prepared, Start::new(Provider::Unknown, "test")).await?;
        answer(&capture).await;
        let launch = capture.launch_id().ok_or("the capture is disabled")?;
        Ok::<_, Box<dyn Error>>(ledger.turns(launch).await?)
    })?;

    assert_eq!(turns.len(), 1);
    assert_eq!(turns[0].turn.root_output.as_deref(), Some("Hello."));
    println!("the answer is on record");
    Ok(())
}
