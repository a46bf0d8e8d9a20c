//! Which provider or format it is, and whether its session is a new one.

use alloc::{borrow::Cow, string::String};

use trace_model::words::Provider;

use crate::{
    cut::closed,
    interpreter::Format,
    json::Json,
    lines::{Line, LineSplitter},
    record::{Found, read_line},
    source::SourceFormat,
};

/// The longest line that is looked at, and how much of shorter lines of no known provider is, in bytes.
///
/// A stream's first object tells its provider. Warnings of a runtime may stand before that, and it may be long: Claude
/// Code's lists all tools.
const LOOK_AHEAD: usize = 1 << 20;

/// How many objects of a stream may be of no known provider before one is: a runtime's own log, say. A line that is too
/// long to look at counts as one.
const FOREIGN_OBJECTS: u8 = 16;

/// Programs, and commands of theirs, that run the program that they are given, and so tell nothing about it.
const RUNNERS: [&str; 17] = [
    "bun", "bunx", "deno", "dlx", "env", "exec", "nice", "node", "nohup", "npx", "pnpm", "run", "stdbuf", "time",
    "timeout", "x", "yarn",
];

/// Returns the provider whose program the command runs, if its name is known.
///
/// A program is known by its file name or by the name of its package. What runs another program (`env`, `npx` …) is
/// passed over with its options. A shell's script is not looked into: the stream will tell.
///
/// ```
/// use trace_model::words::Provider;
/// use trace_providers::recognise::by_command;
///
/// assert_eq!(by_command(&["/usr/local/bin/claude", "-p", "hi"]), Some(Provider::Claude));
/// assert_eq!(by_command(&["env", "DEBUG=1", "npx", "-y", "@openai/codex@latest", "exec"]), Some(Provider::Codex));
/// assert_eq!(by_command(&["cat", "claude"]), None);
/// ```
pub fn by_command(argv: &[impl AsRef<str>]) -> Option<Provider> {
    let mut words = argv.iter().map(AsRef::as_ref);
    let mut name = program(words.next()?);
    while RUNNERS.contains(&name) {
        let is_option = |word: &&str| {
            word.starts_with('-') || word.contains('=') || word.starts_with(|first: char| first.is_ascii_digit())
        };
        name = program(words.find(|word| !is_option(word))?);
    }
    match name {
        "claude" | "claude-code" => Some(Provider::Claude),
        "codex" => Some(Provider::Codex),
        "gemini" | "gemini-cli" => Some(Provider::Gemini),
        "opencode" | "opencode-ai" => Some(Provider::OpenCode),
        _ => None,
    }
}

/// Returns the name of a program without its folder, the version of its package and its ending.
fn program(word: &str) -> &str {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    let name = name.split('@').next().filter(|name| !name.is_empty()).unwrap_or(name);
    [".exe", ".cmd", ".js", ".mjs"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name)
}

/// Whether a command begins a session of the provider or goes on with one.
///
/// It matters where a provider counts what a session spends over all of its processes: what the session had spent
/// before stands in no output of the process. Of the providers that are interpreted, Codex alone counts so.
///
/// It is a guess, and a wrong one costs this:
///
/// * A session that is taken for [`Resumed`](Self::Resumed) and is new: what its first turn spent is unknown, and the
///   usage of the launch a lower bound.
/// * A session that is taken for [`New`](Self::New) and was there before: all that it had spent before is counted as
///   spent by its first turn, and as exact. So it is where a wrapper resumes a thread and its command line does not say
///   so: a program or script of one's own, `make`, `npm run`. An output that is only repeated (`cat run.jsonl`) looks
///   the same, and is exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SessionStart {
    /// The session begins, as far as is known.
    #[default]
    New,
    /// The session was there before.
    Resumed,
}

impl SessionStart {
    /// Returns what the command tells. Its first word is the program, which tells nothing.
    ///
    /// Codex resumes with the word `resume` (`codex exec resume ID`, `codex exec --json resume --last`), which it takes
    /// for its command wherever a prompt could stand. A program that is no provider's may hand it on, so the word
    /// counts there, too, and also inside of an argument, which may be a script. Should it have been another word than
    /// Codex's command, then less is known of the usage than could be.
    ///
    /// ```
    /// use trace_providers::recognise::SessionStart;
    ///
    /// assert_eq!(SessionStart::of_command(&["codex", "exec", "--json", "resume", "--last"]), SessionStart::Resumed);
    /// assert_eq!(SessionStart::of_command(&["codex", "exec", "--json", "resume the work"]), SessionStart::New);
    /// assert_eq!(SessionStart::of_command(&["sh", "-c", "cd a && codex exec resume --last"]), SessionStart::Resumed);
    /// assert_eq!(SessionStart::of_command(&["./agent.sh"]), SessionStart::New);
    /// ```
    pub fn of_command(argv: &[impl AsRef<str>]) -> Self {
        let is_of_provider = by_command(argv).is_some();
        let resumes =
            |word: &str| word == "resume" || (!is_of_provider && script_words(word).any(|word| word == "resume"));
        if argv.iter().skip(1).any(|word| resumes(word.as_ref())) { Self::Resumed } else { Self::New }
    }
}

/// Returns the words of a text that may be a script: what stands between white space, quotes and the signs of a shell.
fn script_words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|sign: char| sign.is_whitespace() || "\"'`;&|()<>".contains(sign))
}

/// What is known about the provider of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recognition {
    /// It is this one, and its stream can be interpreted.
    Decided(Provider),
    /// More of the stream is needed.
    Undecided,
    /// It is none that can be interpreted; more of the stream changes nothing.
    NotKnown,
}

/// Recognises a provider by what its program prints first.
///
/// The first line that is an object of a known provider decides. The search ends after 16 foreign objects, or 1 MiB of
/// foreign lines; a line of more than 1 MiB is passed over and counts as one object. At most one line is held.
#[derive(Debug)]
pub struct StreamRecogniser {
    lines: LineSplitter,
    /// How many bytes of foreign lines may still come.
    left: usize,
    /// How many foreign objects came.
    foreign: u8,
    recognition: Recognition,
}

impl Default for StreamRecogniser {
    fn default() -> Self {
        Self::new()
    }
}

impl StreamRecogniser {
    /// Returns a recogniser for a stream of which nothing was seen.
    pub const fn new() -> Self {
        Self {
            lines: LineSplitter::with_limit(LOOK_AHEAD),
            left: LOOK_AHEAD,
            foreign: 0,
            recognition: Recognition::Undecided,
        }
    }

    /// Takes the next bytes of the stream and returns what is known now.
    pub fn push(&mut self, bytes: &[u8]) -> &Recognition {
        if self.recognition != Recognition::Undecided {
            return &self.recognition;
        }
        self.read(|lines, on_line| lines.push(bytes, on_line));
        &self.recognition
    }

    /// Takes the end of the stream: a line without a line feed is read now, and nothing stays undecided.
    pub fn finish(&mut self) -> &Recognition {
        if self.recognition == Recognition::Undecided {
            self.read(LineSplitter::finish);
        }
        if self.recognition == Recognition::Undecided {
            self.recognition = Recognition::NotKnown;
        }
        &self.recognition
    }

    fn read(&mut self, feed: impl FnOnce(&mut LineSplitter, &mut dyn FnMut(Line<'_>))) {
        let Self { lines, left, foreign, recognition } = self;
        feed(lines, &mut |line| {
            if *recognition != Recognition::Undecided {
                return;
            }
            match line {
                Line::TooLong(_) => *foreign += 1,
                Line::Whole(line) => {
                    *left = left.saturating_sub(line.bytes.len());
                    if let Ok(text) = str::from_utf8(line.bytes)
                        && let Ok(json) = Json::object(text)
                    {
                        if let Some(format) = Format::of_stream_line(json) {
                            *recognition = Recognition::Decided(format.provider.clone());
                            return;
                        }
                        *foreign += 1;
                    }
                }
            }
            if *foreign == FOREIGN_OBJECTS || *left == 0 {
                *recognition = Recognition::NotKnown;
            }
        });
    }
}

/// How much of a source tells what it is, in bytes: 1 MiB.
pub const SOURCE_HEAD: usize = LOOK_AHEAD;

/// Recognises the format of a source by its first bytes, up to [`SOURCE_HEAD`]; no name is needed.
///
/// A document is known by its fields. Else the first line that is an object of a known format decides, as it does for a
/// stream: other lines may stand before it, and the search ends after 16 foreign objects. Damage is no obstacle: a line
/// is read as a reader reads it, and one that the end of the head cuts is read as far as it goes.
///
/// ```
/// use trace_providers::{SourceFormat, recognise::recognise_source};
///
/// let head = b"a warning\n{\"type\":\"thread.started\",\"thread_id\":\"t\"}\n";
/// assert_eq!(recognise_source(head), Some(SourceFormat::CodexExec));
/// assert_eq!(recognise_source(b"just text"), None);
/// ```
pub fn recognise_source(head: &[u8]) -> Option<SourceFormat> {
    let head = head.get(..SOURCE_HEAD).unwrap_or(head);
    document(head).or_else(|| first_known_line(head)).map(|format| format.source)
}

/// Returns the format of a document that begins so.
fn document(head: &[u8]) -> Option<&'static Format> {
    let text = text_of_head(head);
    let text = text.trim_start_matches('\u{FEFF}').trim_start();
    match Json::prefix(text) {
        Ok((json, _)) => Format::of_document(json),
        Err(_) => Format::of_document(Json::object(&closed(text)?).ok()?),
    }
}

/// Returns the text of a head, which may end in the middle of a character.
fn text_of_head(head: &[u8]) -> Cow<'_, str> {
    match str::from_utf8(head) {
        Ok(text) => Cow::Borrowed(text),
        // That one is left out.
        Err(error) if error.error_len().is_none() => {
            let (whole, _) = head.split_at(error.valid_up_to());
            str::from_utf8(whole).map_or_else(|_| String::from_utf8_lossy(head), Cow::Borrowed)
        }
        Err(_) => String::from_utf8_lossy(head),
    }
}

fn first_known_line(head: &[u8]) -> Option<&'static Format> {
    let mut found = None;
    let mut foreign = 0;
    let mut take = |line: Line<'_>| {
        let Line::Whole(line) = line else { return };
        if found.is_some() || foreign == FOREIGN_OBJECTS {
            return;
        }
        let mut has_object = false;
        read_line(line, |json| Format::of_line(json).is_some(), &mut |part| {
            if let Found::Record(json, _) = part {
                has_object = true;
                found = found.or_else(|| Format::of_line(json));
            }
        });
        // The head, or a crash, may have cut it.
        if !has_object && !line.ended {
            let text = String::from_utf8_lossy(line.bytes);
            found = closed(&text).and_then(|text| Format::of_line(Json::object(&text).ok()?));
        }
        foreign += u8::from(has_object && found.is_none());
    };
    let mut lines = LineSplitter::with_limit(SOURCE_HEAD);
    lines.push(head, &mut take);
    lines.finish(&mut take);
    found
}
