//! A home that holds a scripted session: the clock and the ids are fixed, so that every byte of it is known.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
};

use trace_capture::{
    AssetSpec, Capture, CaptureEnv, Clock, EnvParts, Home, IdSource, Labels, LedgerKind, Machine, PreparedTurnContext,
    Prompts, Recorded, Start, open_home_ledger,
};
use trace_model::{
    event::{ConversationEvent, Item, ItemStatus, Receipt},
    id::LaunchId,
    money::NanoUsd,
    timestamp::Timestamp,
    turn::Outcome,
    usage::UsageReport,
    words::{AssetKind, Channel, Grain, InputOp, OutputStream, Provider, Quality, Scope, TokenizerName},
};
use uuid::Uuid;

use super::exec::bench::AGENT_VARIABLES;

/// A home of a scripted session, which is deleted with the value.
pub(crate) struct ScriptedHome {
    folder: tempfile::TempDir,
}

/// The end of the id of the first launch: two turns of an agent that answered.
pub(crate) const ANSWERED: &str = "00000001";
/// The end of the id of the second launch: it failed, and only its prompt is on record.
pub(crate) const FAILED: &str = "00000004";

/// What the first agent printed: an escape sequence that sets the title, and bytes that are no text.
pub(crate) const RAW: &[u8] = b"{\"type\":\"text\"}\n\x1b]0;stolen\x07\xff\n";

/// What an orchestrator says of a launch, as its file holds it.
pub(crate) const CONTROL: &str =
    r#"{"run_id":"order-7","home_id":"orders","containment":{"kind":"container","id":"c-1"}}"#;

/// Every ledger with files that this build has; the first one is what homes have by themselves.
pub(crate) fn disk_kinds() -> impl Iterator<Item = LedgerKind> {
    LedgerKind::ALL.iter().copied().filter(|kind| kind.is_compiled() && kind.file_name().is_some())
}

/// Returns the ledger that homes have by themselves.
pub(crate) fn own() -> LedgerKind {
    disk_kinds().next().unwrap_or(LedgerKind::Memory)
}

/// The part of an id that counts nothing.
const FIRST_ID: u128 = 0x0199_0000_0000_7000_8000_0000_0000_0000;

/// Returns the launch that takes the id of that number.
pub(crate) fn launch_id(number: u64) -> LaunchId {
    LaunchId::from_uuid(Uuid::from_u128(FIRST_ID + u128::from(number)))
}

/// A clock that stands still until it is told to go on.
#[derive(Debug)]
pub(crate) struct ScriptedClock(AtomicI64);

impl ScriptedClock {
    /// Goes on by that much.
    pub(crate) fn wait(&self, millis: i64) {
        self.0.fetch_add(millis * 1_000, Ordering::Relaxed);
    }
}

impl Clock for ScriptedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::Relaxed)).unwrap()
    }
}

#[derive(Debug, Default)]
struct CountingIds(AtomicU64);

impl IdSource for CountingIds {
    fn next(&self, _now: Timestamp) -> Uuid {
        let count = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        Uuid::from_u128(FIRST_ID + u128::from(count))
    }
}

impl ScriptedHome {
    /// Records the session into a ledger of that kind.
    pub(crate) fn with_ledger(kind: LedgerKind) -> Self {
        Self::recorded(kind, |env, clock| {
            answered(env, clock);
            clock.wait(60_000);
            failed(env, clock);
        })
    }

    /// Records what the script says into a ledger of that kind.
    pub(crate) fn recorded(kind: LedgerKind, script: impl FnOnce(&CaptureEnv, &ScriptedClock)) -> Self {
        let scripted = Self { folder: tempfile::tempdir().unwrap() };
        let home = Home::open_real(&scripted.home()).unwrap();
        let ledger = open_home_ledger(&home, Some(kind)).unwrap();
        let clock = Arc::new(ScriptedClock(AtomicI64::new(1_796_059_090_000_000)));
        let machine = Machine { hostname: Some("desk".to_owned()), os_user: Some("ada".to_owned()), machine_id: None };
        let ids = Arc::new(CountingIds::default());
        let parts = EnvParts { clock: clock.clone(), ids, machine, ..EnvParts::new(home, ledger) };
        let env = CaptureEnv::new(parts);
        script(&env, &clock);
        drop(env);
        scripted
    }

    /// Records the session into the ledger that homes have by themselves.
    pub(crate) fn new() -> Self {
        Self::with_ledger(own())
    }

    /// Returns a home that was never opened.
    pub(crate) fn missing() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.path("home")
    }

    /// Returns the path of a file beside the home.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the command with those arguments, and nothing in its environment that steers it. No agent keeps files
    /// where it looks for them.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.arg("--home").arg(self.home()).args(arguments).current_dir(self.folder.path());
        command.env("HOME", self.path("person")).env("TZ", "UTC");
        for name in ["TRACE_HOME", "NO_COLOR", "CLICOLOR_FORCE", "TERM"].iter().chain(&AGENT_VARIABLES) {
            command.env_remove(name);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Returns what the command prints, which must succeed without a message; the path of the home is replaced.
    pub(crate) fn print(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success() && output.stderr.is_empty(), "{arguments:?}: {output:?}");
        self.without_paths(&String::from_utf8(output.stdout).unwrap())
    }

    /// Returns the code and the messages of a command that prints no data; the path of the home is replaced.
    pub(crate) fn complain(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.run(arguments);
        assert!(output.stdout.is_empty(), "{arguments:?}: {output:?}");
        (output.status.code().unwrap(), self.without_paths(&String::from_utf8(output.stderr).unwrap()))
    }

    fn without_paths(&self, text: &str) -> String {
        text.replace(self.home().to_str().unwrap(), "HOME").replace(self.folder.path().to_str().unwrap(), "FOLDER")
    }
}

pub(crate) fn program() -> &'static Path {
    assert_cmd::cargo::cargo_bin!("trace")
}

fn labels() -> Labels {
    let labels = Labels::new("nightly".parse().unwrap(), "proc_1".parse().unwrap(), "/src/parser", "/src/parser");
    Labels { project: Some("parser".to_owned()), tags: [("team".parse().unwrap(), "core".to_owned())].into(), ..labels }
}

fn spec(channel: Channel, kind: AssetKind, label: &str, content: &str) -> AssetSpec {
    AssetSpec {
        channel,
        kind,
        scope: Scope::Repo,
        label: label.to_owned(),
        source_path: Some(label.to_owned()),
        included_by: "harness".to_owned(),
        content: content.to_owned(),
        match_all_occurrences: false,
    }
}

fn prepared() -> PreparedTurnContext {
    let guide = "Write small commits. Test what you change.";
    let memory = "The parser is in src/parser.rs.";
    let prompts = Prompts {
        system: Some(format!("# Guide\n{guide}\n")),
        task: Some(format!("<memory>{memory}</memory>\nMake the parser read 日本語.\n")),
    };
    let specs = [
        spec(Channel::System, AssetKind::RepoInstructions, "GUIDE.md", guide),
        spec(Channel::Task, AssetKind::Memory, "memory \u{1b}[31mred\u{202e}", memory),
        spec(Channel::Task, AssetKind::Goal, "goal", "Make the parser read 日本語."),
        spec(Channel::Task, AssetKind::Goal, "the goal again", "the parser read"),
        spec(Channel::Task, AssetKind::Document, "NOTES.md", "Nothing of this is in the prompt."),
    ];
    PreparedTurnContext::from_attributed_prompts(TokenizerName::Cl100kBase, prompts, &specs, Vec::new()).unwrap()
}

fn message(text: &str) -> ConversationEvent {
    let item = Item::Message { id: "item_1".to_owned(), text: text.to_owned(), phase: None };
    ConversationEvent::ItemCompleted { turn_id: None, item }
}

/// Two turns: one assembled and measured, one follow-up of which a lower bound is known.
pub(crate) fn answered(env: &CaptureEnv, clock: &ScriptedClock) {
    let start = Start { raw: true, gather_ms: 12, render_ms: 3, ..Start::new(Provider::Claude, "headless") };
    let capture = Capture::blocking_begin(env, labels(), prepared(), start).unwrap();
    clock.wait(100);
    capture.record_raw(OutputStream::Stdout, RAW);
    capture.record_receipt(Receipt {
        provider_session_id: Some("session-1".to_owned()),
        model: Some("claude-opus-4-8".to_owned()),
        agent_version: Some("2.1.197".to_owned()),
        ..Receipt::default()
    });
    clock.wait(1_400);
    capture.record_conversation(ConversationEvent::ItemCompleted {
        turn_id: None,
        item: Item::Command {
            id: "item_0".to_owned(),
            command: vec!["cargo".to_owned(), "test".to_owned()],
            cwd: None,
            status: ItemStatus::Completed,
            output: None,
            exit_code: Some(0),
            duration_ms: Some(900),
        },
    });
    capture.record_usage(UsageReport {
        model: Some("claude-opus-4-8".to_owned()),
        input_tokens: Some(1_200),
        cache_read_tokens: Some(30_000),
        output_tokens: Some(250),
        reasoning_tokens: Some(40),
        context_tokens: Some(31_200),
        context_window_tokens: Some(200_000),
        reported_cost_usd: Some(NanoUsd::from_nanos(18_110_250)),
        ..UsageReport::new("msg_1", Grain::Request, Quality::Exact)
    });
    capture.record_conversation(message("Done:\u{1b}[2J the parser reads it.\nAll tests pass."));
    clock.wait(500);
    capture.blocking_finish_turn(Outcome::Completed);
    clock.wait(2_000);
    capture.blocking_begin_turn(InputOp::Message, "Now write the changelog.").unwrap();
    capture.record_usage(UsageReport {
        input_tokens: Some(900),
        output_tokens: Some(1),
        context_tokens: Some(900),
        ..UsageReport::new("msg_2", Grain::Request, Quality::LowerBound)
    });
    clock.wait(65_000);
    capture.blocking_finish(Outcome::Completed, Recorded::Conversation);
}

/// A harness's own agent, which could not be listened to.
pub(crate) fn failed(env: &CaptureEnv, clock: &ScriptedClock) {
    let prompts = Prompts { system: None, task: Some("Try it.".to_owned()) };
    let prepared = PreparedTurnContext::from_prompts(TokenizerName::O200kBase, prompts);
    let start = Start::new("my-agent".parse().unwrap(), "worker");
    let capture = Capture::blocking_begin(env, labels(), prepared, start).unwrap();
    clock.wait(40);
    capture.blocking_finish(Outcome::Failed, Recorded::PromptOnly);
}
