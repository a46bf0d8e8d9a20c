//! The session id on a stream, whoever prints it.

use alloc::string::String;

use trace_model::{event::Receipt, words::Provider};

use crate::{
    interpreter::Format,
    json::Json,
    lines::{Line, LineSplitter},
};

/// How far into a stream its session id is looked for, in bytes. Every known client names it in its first lines.
const LOOK_AHEAD: usize = 8 << 20;

/// Where an unknown provider's session id is looked for, in this order.
const PLACES: [&[&str]; 6] = [
    &["session_id"],
    &["sessionId"],
    &["sessionID"],
    &["thread_id"],
    &["stream_event", "event", "session_id"],
    &["params", "thread", "id"],
];

/// Finds the provider's own session id in its output.
///
/// It is for outputs that no interpreter reads; an interpreter observes receipts itself. The scanner stops at the first
/// id, and at most 8 MiB from the start: it costs a stream nothing after its first lines.
#[derive(Debug)]
pub struct SessionScanner {
    provider: Provider,
    lines: LineSplitter,
    left: usize,
}

impl SessionScanner {
    /// Returns a scanner for the output of that provider.
    ///
    /// Claude Code and Gemini CLI name their session on an `init` line, Codex on `thread.started`, `OpenCode` on every
    /// line. For a provider whose output is not interpreted it is the first string that is not empty at `session_id`,
    /// `sessionId`, `sessionID`, `thread_id`, `/stream_event/event/session_id` or `/params/thread/id`.
    pub const fn new(provider: Provider) -> Self {
        Self { provider, lines: LineSplitter::with_limit(LOOK_AHEAD), left: LOOK_AHEAD }
    }

    /// Takes the next bytes of the output and returns a receipt when they hold the id: once.
    pub fn push(&mut self, bytes: &[u8]) -> Option<Receipt> {
        let looked_at = bytes.get(..self.left).unwrap_or(bytes);
        self.left -= looked_at.len();
        self.read(|lines, on_line| lines.push(looked_at, on_line))
    }

    /// Takes the end of the output: a last line without a line feed is read now.
    pub fn finish(&mut self) -> Option<Receipt> {
        if self.left == 0 {
            return None;
        }
        self.read(LineSplitter::finish)
    }

    fn read(&mut self, feed: impl FnOnce(&mut LineSplitter, &mut dyn FnMut(Line<'_>))) -> Option<Receipt> {
        let mut session = None;
        let provider = &self.provider;
        feed(&mut self.lines, &mut |line| {
            if session.is_none()
                && let Line::Whole(line) = line
                && let Ok(text) = str::from_utf8(line.bytes)
                && let Ok(json) = Json::object(text)
            {
                session = match Format::of_provider(provider) {
                    Some(format) => (format.session_id)(json),
                    None => by_place(json),
                };
            }
        });
        let session = session?;
        self.left = 0;
        Some(Receipt { provider_session_id: Some(session), ..Receipt::default() })
    }
}

fn by_place(json: Json<'_>) -> Option<String> {
    PLACES.iter().find_map(|place| place.iter().try_fold(json, |json, name| json.field(name))?.name())
}
