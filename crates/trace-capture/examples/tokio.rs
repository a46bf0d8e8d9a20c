//! Records an agent that runs under tokio: the asynchronous calls complete on any executor.
//!
//! `cargo run --package trace-capture --example tokio -- FOLDER`

use std::{error::Error, path::PathBuf, process::Stdio};

use tokio::{io::AsyncReadExt as _, process::Command};
use trace_capture::{
    Capture, CaptureEnv, EnvParts, Home, Labels, PreparedTurnContext, Prompts, Recorded, Start, TokenizerName,
    model::{
        turn::Outcome,
        words::{OutputStream, Provider},
    },
    open_home_ledger,
};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args_os().nth(1).ok_or("usage: tokio FOLDER")?);
    let home = Home::open_real(&folder)?;
    let ledger = open_home_ledger(&home, None)?;
    let env = CaptureEnv::new(EnvParts::new(home, ledger));

    let task = "Say hello.";
    let prompts = Prompts { system: None, task: Some(task.to_owned()) };
    let prepared = PreparedTurnContext::from_prompts(TokenizerName::Cl100kBase, prompts);
    let labels = Labels::new("greetings".parse()?, "main".parse()?, "/repo", "/repo");
    let start = Start { raw: true, ..Start::new(Provider::Unknown, "headless") };
    let capture = Capture::begin(&env, labels, prepared, start).await?;

    // `echo` stands for the agent. Its output is on record before it is used.
    let mut child = Command::new("echo").arg(task).stdout(Stdio::piped()).spawn()?;
    let mut output = child.stdout.take().ok_or("the child has no stdout")?;
    let mut buffer = [0; 8192];
    loop {
        let count = output.read(&mut buffer).await?;
        if count == 0 {
            break;
        }
        capture.record_raw(OutputStream::Stdout, &buffer[..count]);
    }
    let outcome = if child.wait().await?.success() { Outcome::Completed } else { Outcome::Failed };
    // Its bytes are on record, and nothing made events of them.
    capture.finish(outcome, Recorded::PromptOnly).await;
    println!("{}", capture.launch_id().map(|id| id.to_string()).unwrap_or_default());
    Ok(())
}
