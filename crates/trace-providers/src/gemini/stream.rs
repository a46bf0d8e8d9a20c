//! `gemini --output-format stream-json`: what each line means.
//!
//! Sources: google-gemini/gemini-cli@5411f113cafa `output/types.ts` and `packages/cli/src/nonInteractiveCli.ts`, and
//! recordings of Gemini CLI 0.61.
//!
//! | line | what becomes of it |
//! |---|---|
//! | `init` | a receipt; a process that counts from zero |
//! | `message` of the user | the prompt |
//! | `message` of the assistant | a delta of text |
//! | `tool_use`, `tool_result` | a tool |
//! | `error` | an error or a warning; the total of the process is a lower bound |
//! | `result` | the remainders of the running total, see [`super::stats`]; an error; the result |
//!
//! What was spent is in `result` alone, so that the number of requests is unknown, and so is all of it where the
//! process was killed. The usage of a request that the client broke off is in no total (measured: the `rounds`
//! recording stops with "Loop detected", and its total is 4 requests of 6): where an `error` line or a failed result
//! says that something was broken off, the total is a lower bound. One that says success and counts nothing was told
//! nothing.

use alloc::{borrow::Cow, string::String, vec::Vec};

use trace_model::{
    event::{ConversationEvent, Item, ItemStatus, Receipt},
    span::ByteSpan,
    turn::Outcome,
    usage::{Agent, UsageReport},
    words::Provider,
};

use super::stats::Stats;
use crate::{
    account::{Account, Statement},
    interpreter::Records,
    json::Json,
    observation::{NoteKind, Observation},
    recent::Recent,
    recognise::SessionStart,
    saying::{LastError, Saying, UnknownTypes},
    source::{Detail, SourceFormat},
};

/// The rules of the stream, and what they remember of it.
#[derive(Debug, Default)]
pub(crate) struct GeminiStream {
    detail: Detail,
    session: Option<String>,
    /// The model that the client began with; not known where it chooses one for each request.
    model: Option<String>,
    /// Whether a prompt was told that has no result yet.
    turn_is_open: bool,
    /// Whether something since the last result says that a request may have been broken off.
    broke_off: bool,
    account: Account,
    /// The tools that were called and have not answered.
    calls: Recent<Call>,
    /// A result repeats it.
    last_error: LastError,
    unknown_types: UnknownTypes,
}

/// A tool that was called.
#[derive(Debug)]
struct Call {
    name: String,
    input: Option<String>,
}

impl Records for GeminiStream {
    const PROVIDER: Provider = Provider::Gemini;
    const FORMAT: SourceFormat = SourceFormat::GeminiStream;

    /// Each process counts from zero, whether it begins a session or resumes one.
    fn new(_: SessionStart) -> Self {
        Self::default()
    }

    fn reader(detail: Detail) -> Self {
        Self { detail, ..Self::default() }
    }

    fn resume(_: Detail, _: &str) -> Option<Self> {
        None
    }

    fn state(&self) -> Option<String> {
        None
    }

    /// A line has one of the types, a time in words, and what goes with the type.
    fn is_record(json: Json<'_>) -> bool {
        let [kind, time] = json.fields(["type", "timestamp"]).map(|field| field.and_then(Json::text));
        let with = |names: [&str; 2]| json.fields(names).iter().all(Option::is_some);
        time.is_some()
            && match kind.as_deref() {
                Some("init") => with(["session_id", "model"]),
                Some("message") => with(["role", "content"]),
                Some("tool_use") => with(["tool_id", "tool_name"]),
                Some("tool_result") => with(["tool_id", "status"]),
                Some("error") => with(["severity", "message"]),
                Some("result") => with(["status", "stats"]) || with(["status", "error"]),
                _ => false,
            }
    }

    fn session_id(json: Json<'_>) -> Option<String> {
        let [kind, session] = json.fields(["type", "session_id"]).map(|field| field.and_then(Json::name));
        session.filter(|_| kind.is_some_and(|kind| kind == "init"))
    }

    fn record(&mut self, json: Json<'_>, span: ByteSpan, out: &mut Vec<Observation>) {
        let [kind, time] = json.fields(["type", "timestamp"]).map(|field| field.and_then(Json::text));
        let at = time.and_then(|time| time.parse().ok());
        let line = &mut Saying { agent: Agent::Main, at, span, out };
        match kind.as_deref().unwrap_or_default() {
            "init" => self.init(json, line),
            "message" => self.message(json, line),
            "tool_use" => self.tool_use(json, line),
            "tool_result" => self.tool_result(json, line),
            "error" => self.error(json, line),
            "result" => self.result(json, line),
            kind => self.unknown_types.note(kind, line),
        }
    }

    fn finish(&mut self, out: &mut Vec<Observation>) {
        out.extend(self.leave_turn().map(Observation::Usage));
    }
}

impl GeminiStream {
    fn event(&self, event: ConversationEvent, line: &mut Saying<'_>) {
        if self.detail == Detail::Everything {
            line.event(event);
        }
    }

    fn init(&mut self, json: Json<'_>, line: &mut Saying<'_>) {
        let [session, model] = json.fields(["session_id", "model"]).map(|field| field.and_then(Json::name));
        line.usage(self.leave_turn());
        // Nothing is on the account that a change of processes would have to settle: no line shows a request.
        let _ = self.account.begin_process();
        self.broke_off = false;
        // "auto" and "auto-gemini-3" are ways to choose a model.
        let model = model.filter(|model| model != "auto" && !model.starts_with("auto-"));
        if self.session != session || self.model != model {
            line.out.push(Observation::Receipt(Receipt {
                provider: Some(Provider::Gemini),
                provider_session_id: session.clone(),
                model: model.clone(),
                ..Receipt::default()
            }));
        }
        (self.session, self.model) = (session, model);
    }

    fn message(&mut self, json: Json<'_>, line: &mut Saying<'_>) {
        let [role, content] = json.fields(["role", "content"]).map(|field| field.and_then(Json::text));
        match role.as_deref().unwrap_or_default() {
            "user" => {
                line.usage(self.leave_turn());
                self.turn_is_open = true;
                self.account.begin_turn();
                self.last_error = LastError::default();
                line.out.push(Observation::Input { text: content.map(Cow::into_owned), at: line.at, span: line.span });
            }
            "assistant" => {
                if let Some(content) = content.filter(|content| !content.is_empty()) {
                    let content = content.into_owned();
                    self.event(ConversationEvent::TextDelta { turn_id: None, content }, line);
                }
            }
            role => self.unknown_types.note(&alloc::format!("message of {role:?}"), line),
        }
    }

    fn tool_use(&mut self, json: Json<'_>, line: &mut Saying<'_>) {
        if self.detail == Detail::Usage {
            return;
        }
        let [id, name, input] = json.fields(["tool_id", "tool_name", "parameters"]);
        let [id, name] = [id, name].map(|field| field.and_then(Json::name).unwrap_or_default());
        let input = input.map(|input| String::from(input.source()));
        let held = name.len() + input.as_ref().map_or(0, String::len);
        self.calls.insert(&id, Call { name: name.clone(), input: input.clone() }, held);
        let item = Item::Tool { id, name, status: ItemStatus::Running, input, output: None };
        self.event(ConversationEvent::ItemStarted { turn_id: None, item }, line);
    }

    fn tool_result(&mut self, json: Json<'_>, line: &mut Saying<'_>) {
        let [id, status, output, error] = json.fields(["tool_id", "status", "output", "error"]);
        let id = id.and_then(Json::name).unwrap_or_default();
        let call = self.calls.remove(&id);
        let words = error.map(|error| error.field("message").unwrap_or(error)).or(output);
        let output = words.map(|words| words.text().map_or_else(|| String::from(words.source()), Cow::into_owned));
        let (name, input) = call.map_or_else(Default::default, |call| (call.name, call.input));
        let is_success = status.and_then(Json::text).is_some_and(|status| status == "success");
        let status = if is_success { ItemStatus::Completed } else { ItemStatus::Failed };
        let item = Item::Tool { id, name, status, input, output };
        self.event(ConversationEvent::ItemCompleted { turn_id: None, item }, line);
    }

    fn error(&mut self, json: Json<'_>, line: &mut Saying<'_>) {
        self.broke_off = true;
        let [severity, message] =
            json.fields(["severity", "message"]).map(|field| field.and_then(Json::name).unwrap_or_default());
        self.tell(severity, message, line);
    }

    fn result(&mut self, json: Json<'_>, line: &mut Saying<'_>) {
        let [status, error, totals] = json.fields(["status", "error", "stats"]);
        let is_success = status.and_then(Json::text).is_some_and(|status| status == "success");
        if let Some(error) = error {
            let [code, message] =
                error.fields(["type", "message"]).map(|field| field.and_then(Json::name).unwrap_or_default());
            self.tell(code, message, line);
        }
        let read = totals.map(|totals| Stats::read(totals, self.model.as_deref())).unwrap_or_default();
        let duration_secs = read.duration_secs;
        self.settle(read, is_success, line);
        self.turn_is_open = false;
        self.broke_off = false;
        self.last_error = LastError::default();
        let outcome = if is_success { Outcome::Completed } else { Outcome::Failed };
        line.out.push(Observation::Result {
            status: outcome,
            cost_usd: None,
            duration_secs,
            at: line.at,
            span: line.span,
        });
    }

    fn tell(&mut self, code: String, message: String, line: &mut Saying<'_>) {
        if self.detail == Detail::Everything {
            self.last_error.tell(code, message, line);
        }
    }

    fn settle(&mut self, stats: Stats, is_success: bool, line: &mut Saying<'_>) {
        if stats.is_illegible {
            line.note(NoteKind::IllegibleFigure, "a figure of the total cannot be read");
        }
        if stats.models.is_empty() || (is_success && !stats.is_counted()) {
            let unstated = self.leave_unstated();
            return Self::stated(Vec::from([unstated]), line);
        }
        let statement = Statement {
            models: Some(stats.models),
            main_model: self.model.clone(),
            is_illegible: stats.is_illegible,
            leaves_out: self.broke_off || !is_success || stats.is_incomplete,
            ..Statement::default()
        };
        let remainders = self.account.settle(statement).remainders;
        Self::stated(remainders, line);
    }

    /// Tells of what the line states.
    fn stated(reports: Vec<UsageReport>, line: &mut Saying<'_>) {
        let at = line.at;
        line.usage(reports.into_iter().map(|report| UsageReport { observed_at: at, ..report }));
    }

    /// Leaves a turn that has no result, and returns what is known of its usage: that there may be some.
    fn leave_turn(&mut self) -> Option<UsageReport> {
        core::mem::take(&mut self.turn_is_open).then(|| self.leave_unstated())
    }

    fn leave_unstated(&mut self) -> UsageReport {
        self.account.leave_unstated(self.model.clone().unwrap_or_default())
    }
}
