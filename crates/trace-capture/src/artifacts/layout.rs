//! The names in a launch's folder.

pub(super) const HEADER: &str = "launch.json";
pub(super) const CONVERSATION: &str = "conversation.jsonl";
pub(super) const TURNS: &str = "turns";
pub(super) const RAW: &str = "raw";
pub(super) const RAW_STDOUT: &str = "raw/stdout";
pub(super) const RAW_STDERR: &str = "raw/stderr";
pub(super) const RAW_INDEX: &str = "raw/index.jsonl";
pub(super) const SOURCES: &str = "sources.jsonl";

/// Returns the name of the copy of a piece of a source.
pub(super) fn source_file(number: u32) -> String {
    format!("{RAW}/source-{number}.zst")
}

/// The files of a turn: its system prompt, its task prompt, its context.
pub(super) const TURN_FILES: [&str; 3] = ["system.md", "task.md", CONTEXT];
const CONTEXT: &str = "context.json";

/// Returns the name of one of the files of a turn.
pub(super) fn turn_file(ordinal: u32, suffix: &str) -> String {
    format!("{TURNS}/{ordinal:04}-{suffix}")
}

/// Returns the name of the context file of a turn.
pub(super) fn context_file(ordinal: u32) -> String {
    turn_file(ordinal, CONTEXT)
}
