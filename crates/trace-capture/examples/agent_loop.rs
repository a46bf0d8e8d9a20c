//! Records an agent loop of one's own: the prompt is assembled with its sources, so nothing is searched for, and each
//! step of the exchange is an item.
//!
//! `cargo run --package trace-capture --example agent_loop -- FOLDER`

use std::{error::Error, path::PathBuf};

use trace_capture::{
    Capture, CaptureEnv, EnvParts, Home, Labels, PromptBuilder, Recorded, Source, Start, TokenizerName,
    model::event::{ConversationEvent, Item, ItemStatus},
    model::turn::Outcome,
    model::usage::UsageReport,
    model::words::{AssetKind, Channel, Grain, Provider, Quality, Scope},
    open_home_ledger,
};

fn source(kind: AssetKind, scope: Scope, label: &str) -> Source {
    Source { kind, scope, label: label.to_owned(), source_path: None, included_by: "agent_loop".to_owned() }
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args_os().nth(1).ok_or("usage: agent_loop FOLDER")?);
    let home = Home::open_real(&folder)?;
    let ledger = open_home_ledger(&home, None)?;
    let env = CaptureEnv::new(EnvParts::new(home, ledger));

    let mut prompt = PromptBuilder::new();
    prompt.section(Channel::System, source(AssetKind::RepoInstructions, Scope::Repo, "GUIDE.md"), "Test first.\n");
    prompt.section(Channel::Task, source(AssetKind::Memory, Scope::Project, "memory"), "The suite is slow.\n");
    prompt.glue(Channel::Task, "\n---\n");
    prompt.section(Channel::Task, source(AssetKind::UserMessage, Scope::User, "request"), "Run the tests.");
    let prepared = prompt.build(TokenizerName::O200kBase, Vec::new())?;

    let labels = Labels::new("tests".parse()?, "main".parse()?, "/repo", "/repo");
    let start = Start::new("my-agent".parse::<Provider>()?, "headless");
    let capture = Capture::blocking_begin(&env, labels, prepared, start)?;
    let tool = |status, output| Item::Tool {
        id: "call_1".to_owned(),
        name: "run_tests".to_owned(),
        status,
        input: Some("{}".to_owned()),
        output,
    };
    let running = tool(ItemStatus::Running, None);
    capture.record_conversation(ConversationEvent::ItemStarted { turn_id: None, item: running });
    let done = tool(ItemStatus::Completed, Some("12 passed".to_owned()));
    capture.record_conversation(ConversationEvent::ItemCompleted { turn_id: None, item: done });
    capture.record_usage(UsageReport {
        input_tokens: Some(40),
        output_tokens: Some(9),
        ..UsageReport::new("reply_1", Grain::Request, Quality::Exact)
    });
    capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
    println!("{}", capture.launch_id().map(|id| id.to_string()).unwrap_or_default());
    Ok(())
}
