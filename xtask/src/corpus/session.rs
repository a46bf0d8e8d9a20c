//! One session, as Claude Code writes it.

use std::fmt::Write as _;
use std::fs;
use std::ops::Range;
use std::path::Path;

use anyhow::Result;
use fastrand::Rng;
use time::OffsetDateTime;

use super::lines::Lines;
use super::project::Project;
use super::text::{Vocabulary, id, noise, uuid};
use super::truth::{Truth, Usage};

/// The models of main agents.
const MAIN_MODELS: [&str; 3] = ["claude-opus-4-8", "claude-sonnet-4-6", "claude-opus-4-5-20251101"];

/// The model of most subagents.
const SUBAGENT_MODEL: &str = "claude-haiku-4-5-20251001";

/// Where a context is compacted. It stays below the size from which some models cost more.
const FULL_CONTEXT: u64 = 160_000;

const WRITTEN: &str = "a string takes all that is written";

/// A session that is being written: of the main agent, or of a subagent.
#[derive(Debug)]
pub(super) struct Session<'a> {
    vocabulary: &'a Vocabulary,
    project: &'a Project,
    rng: Rng,
    /// How long its texts are, in thousandths of the usual.
    permille: usize,
    id: String,
    /// The subagent whose lines these are.
    agent: Option<String>,
    model: &'static str,
    /// Of a hundred tokens that are written to the cache, how many are written for an hour.
    kept_for_an_hour: u64,
    /// The time, in milliseconds since 1970.
    now: u64,
    /// How much of the context is cached.
    context: u64,
    last_line: Option<String>,
    line: String,
}

/// A call of a subagent.
#[derive(Debug)]
struct Delegation {
    agent: String,
    tool_call: String,
    at: u64,
}

impl<'a> Session<'a> {
    pub(super) fn new(
        vocabulary: &'a Vocabulary,
        project: &'a Project,
        start: u64,
        permille: usize,
        mut rng: Rng,
    ) -> Self {
        let model = rng.choice(MAIN_MODELS).expect("there are models");
        let kept_for_an_hour = *rng.choice(&[0, 0, 40, 100]).expect("there are shares");
        let id = uuid(&mut rng);
        Self {
            vocabulary,
            project,
            rng,
            permille,
            id,
            agent: None,
            model,
            kept_for_an_hour,
            now: start,
            context: 14_000,
            last_line: None,
            line: String::new(),
        }
    }

    /// Writes the session of about so many bytes, and a subagent of its own into a folder beside it.
    pub(super) fn write(mut self, folder: &Path, room: u64, subagent: Option<u64>, truth: &mut Truth) -> Result<()> {
        let mut lines = Lines::create(&folder.join(format!("{}.jsonl", self.id)))?;
        let delegation = self.turn(subagent.is_some(), room, &mut lines, truth)?;
        while lines.bytes < room {
            self.turn(false, room, &mut lines, truth)?;
        }
        lines.finish(truth)?;
        truth.sessions += 1;
        if let (Some(delegation), Some(room)) = (delegation, subagent) {
            self.write_subagent(&folder.join(&self.id).join("subagents"), room, &delegation, truth)?;
        }
        Ok(())
    }

    fn write_subagent(&mut self, folder: &Path, room: u64, delegation: &Delegation, truth: &mut Truth) -> Result<()> {
        fs::create_dir_all(folder)?;
        let Delegation { agent, tool_call, at } = delegation;
        let model = if self.rng.usize(0..4) == 0 { self.model } else { SUBAGENT_MODEL };
        let mut subagent = Session {
            id: self.id.clone(),
            agent: Some(agent.clone()),
            model,
            kept_for_an_hour: 0,
            ..Session::new(self.vocabulary, self.project, *at, self.permille, self.rng.fork())
        };
        let mut lines = Lines::create(&folder.join(format!("agent-{agent}.jsonl")))?;
        subagent.turn(false, room, &mut lines, truth)?;
        while lines.bytes < room {
            subagent.turn(false, room, &mut lines, truth)?;
        }
        lines.finish(truth)?;
        truth.subagents += 1;
        let meta = format!(r#"{{"agentType":"general-purpose","toolUseId":"{tool_call}"}}"#);
        Ok(fs::write(folder.join(format!("agent-{agent}.meta.json")), meta)?)
    }

    /// Writes a prompt and all that is done about it, or as much of it as there is room for.
    fn turn(&mut self, delegates: bool, room: u64, lines: &mut Lines, truth: &mut Truth) -> Result<Option<Delegation>> {
        let began = self.now;
        self.prompt(lines)?;
        let mut delegation = None;
        for step in 0..self.rng.usize(4..16) {
            if lines.bytes >= room && step > 1 {
                break;
            }
            let tool_call = id("toolu_01", &mut self.rng);
            if delegates && step == 1 {
                let agent = format!("a{:016x}", self.rng.u64(..));
                self.reply(&Last::Delegate(&tool_call), lines, truth)?;
                delegation = Some(Delegation { agent: agent.clone(), tool_call: tool_call.clone(), at: self.now });
                self.delegated(&tool_call, &agent, lines)?;
            } else {
                let tool = *self.rng.choice(&Tool::ALL).expect("there are tools");
                self.reply(&Last::Call(&tool_call, tool), lines, truth)?;
                self.result(&tool_call, tool, lines)?;
            }
        }
        self.reply(&Last::Say, lines, truth)?;
        self.open();
        write!(self.line, r#""type":"system","subtype":"turn_duration","durationMs":{},"#, self.now - began)
            .expect(WRITTEN);
        self.close(lines)?;
        if self.context > FULL_CONTEXT {
            self.compact(lines)?;
        }
        self.now += self.rng.u64(20_000..240_000);
        Ok(delegation)
    }

    /// Chooses how long a text is.
    fn len(&mut self, usual: Range<usize>) -> usize {
        let usual = self.rng.usize(usual);
        self.scaled(usual)
    }

    /// Returns how much there is of what is usually so much.
    fn scaled(&self, usual: usize) -> usize {
        (usual * self.permille / 1000).max(1)
    }

    fn prompt(&mut self, lines: &mut Lines) -> Result<()> {
        self.open();
        self.line.push_str(r#""type":"user","message":{"role":"user","content":""#);
        let len = self.len(40..900);
        self.vocabulary.prose(&mut self.line, len, &mut self.rng);
        self.line.push_str(r#""},"#);
        self.close(lines)
    }

    /// Writes the three lines of a reply.
    fn reply(&mut self, last: &Last<'_>, lines: &mut Lines, truth: &mut Truth) -> Result<()> {
        let usage = self.usage();
        truth.add(self.model, usage);
        let (message, request) = (id("msg_01", &mut self.rng), id("req_011C", &mut self.rng));
        self.now += self.rng.u64(5_000..25_000);
        let some = self.rng.u64(1..=usage.output_tokens);
        for (place, output) in [1, some, usage.output_tokens].into_iter().enumerate() {
            self.now += self.rng.u64(200..3_000);
            self.open();
            let model = self.model;
            write!(
                self.line,
                r#""message":{{"id":"{message}","type":"message","role":"assistant","model":"{model}","content":["#
            )
            .expect(WRITTEN);
            match place {
                0 => self.thought(),
                1 => self.text(200..2_600),
                _ => self.last(last),
            }
            let stop = if matches!(last, Last::Say) { "end_turn" } else { "tool_use" };
            let Usage { input_tokens, cache_read_tokens, cache_write_tokens, .. } = usage;
            let Usage { cache_write_5m_tokens, cache_write_1h_tokens, .. } = usage;
            write!(
                self.line,
                r#"],"stop_reason":"{stop}","stop_sequence":null,"usage":{{"input_tokens":{input_tokens},"cache_creation_input_tokens":{cache_write_tokens},"cache_read_input_tokens":{cache_read_tokens},"output_tokens":{output},"server_tool_use":{{"web_search_requests":0,"web_fetch_requests":0}},"service_tier":"standard","cache_creation":{{"ephemeral_1h_input_tokens":{cache_write_1h_tokens},"ephemeral_5m_input_tokens":{cache_write_5m_tokens}}},"inference_geo":"","iterations":[],"speed":"standard"}}}},"requestId":"{request}","type":"assistant","#
            )
            .expect(WRITTEN);
            self.close(lines)?;
        }
        Ok(())
    }

    /// Returns what a request costs, whose context has grown since the last one.
    fn usage(&mut self) -> Usage {
        let written = self.rng.u64(150..4_500);
        let for_an_hour = written * self.kept_for_an_hour / 100;
        let usage = Usage {
            input_tokens: self.rng.u64(1..40),
            cache_read_tokens: self.context,
            cache_write_tokens: written,
            cache_write_5m_tokens: written - for_an_hour,
            cache_write_1h_tokens: for_an_hour,
            output_tokens: self.rng.u64(20..1_800),
            ..Usage::default()
        };
        self.context += written;
        usage
    }

    fn thought(&mut self) {
        self.line.push_str(r#"{"type":"thinking","thinking":""#);
        let len = self.len(100..3_400);
        self.vocabulary.prose(&mut self.line, len, &mut self.rng);
        self.line.push_str(r#"","signature":""#);
        let len = self.len(200..600);
        noise(&mut self.line, len, &mut self.rng);
        self.line.push_str(r#""}"#);
    }

    fn text(&mut self, len: Range<usize>) {
        self.line.push_str(r#"{"type":"text","text":""#);
        let len = self.len(len);
        self.vocabulary.prose(&mut self.line, len, &mut self.rng);
        self.line.push_str(r#""}"#);
    }

    fn last(&mut self, last: &Last<'_>) {
        match last {
            Last::Say => self.text(300..4_000),
            Last::Delegate(call) => {
                write!(
                    self.line,
                    r#"{{"type":"tool_use","id":"{call}","name":"Agent","input":{{"subagent_type":"general-purpose","prompt":""#
                )
                .expect(WRITTEN);
                let len = self.scaled(800);
                self.vocabulary.prose(&mut self.line, len, &mut self.rng);
                self.line.push_str(r#""}}"#);
            }
            Last::Call(call, tool) => {
                write!(self.line, r#"{{"type":"tool_use","id":"{call}","name":"{}","input":{{"#, tool.name())
                    .expect(WRITTEN);
                if *tool == Tool::Edit {
                    let piece = self.project.piece(self.scaled(240), &mut self.rng);
                    let old = piece.lines.join("\\n");
                    let added = self.len(1..60);
                    let added = self.vocabulary.source_file(added, &mut self.rng).join("\\n");
                    let path = piece.path;
                    write!(self.line, r#""file_path":"{path}","old_string":"{old}","new_string":"{old}\n{added}""#)
                        .expect(WRITTEN);
                } else {
                    self.line.push_str(r#""description":""#);
                    let len = self.len(40..300);
                    self.vocabulary.prose(&mut self.line, len, &mut self.rng);
                    self.line.push('"');
                }
                self.line.push_str("}}");
            }
        }
    }

    fn result(&mut self, call: &str, tool: Tool, lines: &mut Lines) -> Result<()> {
        self.now += self.rng.u64(100..6_000);
        self.open();
        write!(self.line, r#""type":"user","message":{{"role":"user","content":[{{"tool_use_id":"{call}","type":"tool_result","content":""#)
            .expect(WRITTEN);
        let from = self.line.len();
        match tool {
            Tool::Read => {
                let piece = self.project.piece(self.scaled(900), &mut self.rng);
                for (number, text) in (piece.before + 1..).zip(piece.lines) {
                    write!(self.line, "{number:>6}\\t{text}\\n").expect(WRITTEN);
                }
            }
            Tool::Edit => {
                let piece = self.project.piece(self.scaled(40), &mut self.rng);
                write!(self.line, "The file {} has been updated.\\n{}", piece.path, piece.lines.join("\\n"))
                    .expect(WRITTEN);
            }
            Tool::Run => {
                let len = self.len(200..20_000);
                self.vocabulary.output(&mut self.line, len, &mut self.rng);
            }
            Tool::List => {
                let len = self.len(500..42_000);
                self.vocabulary.records(&mut self.line, len, &mut self.rng);
            }
        }
        let content = if tool == Tool::Run { self.line[from..].to_owned() } else { String::new() };
        write!(
            self.line,
            r#"","is_error":false}}]}},"toolUseResult":{{"stdout":"{content}","stderr":"","interrupted":false}},"#
        )
        .expect(WRITTEN);
        self.close(lines)
    }

    /// Writes what a subagent answered, with what it spent: a figure that its own file has, too.
    fn delegated(&mut self, call: &str, agent: &str, lines: &mut Lines) -> Result<()> {
        self.now += self.rng.u64(30_000..90_000);
        self.open();
        write!(
            self.line,
            r#""type":"user","message":{{"role":"user","content":[{{"tool_use_id":"{call}","type":"tool_result","content":[{{"type":"text","text":""#
        )
        .expect(WRITTEN);
        let len = self.scaled(1_500);
        self.vocabulary.prose(&mut self.line, len, &mut self.rng);
        write!(
            self.line,
            r#""}}]}}]}},"toolUseResult":{{"status":"completed","agentId":"{agent}","totalTokens":40000,"usage":{{"input_tokens":10,"cache_creation_input_tokens":900,"cache_read_input_tokens":38000,"output_tokens":1090}}}},"#
        )
        .expect(WRITTEN);
        self.close(lines)
    }

    fn compact(&mut self, lines: &mut Lines) -> Result<()> {
        self.open();
        write!(
            self.line,
            r#""type":"system","subtype":"compact_boundary","content":"Conversation compacted","compactMetadata":{{"trigger":"auto","preTokens":{}}},"#,
            self.context
        )
        .expect(WRITTEN);
        self.context = 24_000;
        self.close(lines)
    }

    /// Begins a line.
    fn open(&mut self) {
        let parent = self.last_line.as_deref().map_or_else(|| "null".to_owned(), |parent| format!("\"{parent}\""));
        write!(self.line, r#"{{"parentUuid":{parent},"isSidechain":{},"#, self.agent.is_some()).expect(WRITTEN);
        if let Some(agent) = &self.agent {
            write!(self.line, r#""agentId":"{agent}","#).expect(WRITTEN);
        }
    }

    /// Ends a line and writes it.
    fn close(&mut self, lines: &mut Lines) -> Result<()> {
        let (uuid, time) = (uuid(&mut self.rng), rfc3339(self.now)?);
        let (cwd, id) = (&self.project.cwd, &self.id);
        write!(
            self.line,
            r#""uuid":"{uuid}","timestamp":"{time}","userType":"external","entrypoint":"cli","cwd":"{cwd}","sessionId":"{id}","version":"2.1.197","gitBranch":"main"}}"#
        )
        .expect(WRITTEN);
        self.last_line = Some(uuid);
        lines.write(&mut self.line)
    }
}

/// What the last line of a reply has.
#[derive(Debug)]
enum Last<'a> {
    Say,
    Call(&'a str, Tool),
    Delegate(&'a str),
}

/// A tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tool {
    Read,
    Edit,
    Run,
    List,
}

impl Tool {
    const ALL: [Self; 4] = [Self::Read, Self::Edit, Self::Run, Self::List];

    const fn name(self) -> &'static str {
        match self {
            Self::Read => "Read",
            Self::Edit => "Edit",
            Self::Run => "Bash",
            Self::List => "mcp__records__list",
        }
    }
}

fn rfc3339(millis: u64) -> Result<String> {
    let time = OffsetDateTime::from_unix_timestamp(i64::try_from(millis / 1000)?)?;
    let (year, month, day) = time.to_calendar_date();
    let (hour, minute, second) = time.to_hms();
    let month = u8::from(month);
    Ok(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", millis % 1000))
}
