//! Lines of transcripts, as Claude Code writes them.

use serde_json::{Value, json};

/// The model of replies.
pub(crate) const MODEL: &str = "claude-sonnet-4-5-20250929";

fn line(kind: &str, session: &str, minute: u32, id: &str, message: &Value) -> String {
    let line = json!({"type": kind, "sessionId": session, "uuid": id, "cwd": "/src/app", "version": "2.1.0",
        "isSidechain": false, "timestamp": format!("2026-03-02T09:{minute:02}:00.000Z"), "message": message});
    format!("{line}\n")
}

/// A prompt, of a minute of an hour.
pub(crate) fn prompt(session: &str, minute: u32, text: &str) -> String {
    let message = json!({"role": "user", "content": text});
    line("user", session, minute, &format!("u{session}{minute}"), &message)
}

/// A reply of ten prompt tokens and so many of output.
pub(crate) fn reply(session: &str, minute: u32, id: &str, output: u64) -> String {
    reply_of(MODEL, session, minute, id, output)
}

pub(crate) fn reply_of(model: &str, session: &str, minute: u32, id: &str, output: u64) -> String {
    let usage = json!({"input_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
        "output_tokens": output});
    let message = json!({"id": id, "type": "message", "role": "assistant", "model": model,
        "content": [{"type": "text", "text": "ok"}], "stop_reason": "end_turn", "usage": usage});
    line("assistant", session, minute, &format!("a{id}{minute}"), &message)
}

/// A session of one prompt and one reply.
pub(crate) fn session(id: &str, output: u64) -> String {
    prompt(id, 0, "hello") + &reply(id, 1, &format!("msg_{id}"), output)
}
