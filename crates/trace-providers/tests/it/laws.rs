//! What holds for all streams.

mod codex_threads;
mod sources;

use proptest::prelude::*;
use trace_model::words::{Provider, Quality};
use trace_providers::{Observation, recognise::SessionStart};

use crate::{
    claude,
    support::{fixture, interpret, notes, record},
};

/// The recordings that are cut up and damaged.
const RECORDINGS: [&str; 10] = [
    "claude-partial",
    "claude-subagent",
    "claude-fail",
    "codex-rounds",
    "codex-fail",
    "codex-turns",
    "gemini-rounds",
    "gemini-fail",
    "opencode-rounds",
    "opencode-fail",
];

fn recording(name: &str) -> Vec<u8> {
    fixture(&format!("{name}/stream.jsonl"))
}

/// Whose rules read a stream. Each reads the streams of all: a wrong name on the command line is no disaster.
fn rules() -> impl Strategy<Value = (Provider, SessionStart)> {
    let providers =
        proptest::sample::select(vec![Provider::Claude, Provider::Codex, Provider::Gemini, Provider::OpenCode]);
    (providers, proptest::sample::select(vec![SessionStart::New, SessionStart::Resumed]))
}

/// Interprets a stream as a whole.
fn observe((provider, start): &(Provider, SessionStart), stream: &[u8]) -> Vec<Observation> {
    interpret(provider, *start, [stream])
}

/// Pieces of streams, whole and broken, that meet each other in any order.
fn mess() -> impl Strategy<Value = Vec<u8>> {
    let recorded: Vec<Vec<u8>> = RECORDINGS
        .into_iter()
        .flat_map(|name| recording(name).split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>())
        .collect();
    let broken = [
        &b"\n"[..],
        b"\r\n",
        b"\0\0",
        b"\xF0\x9F",
        b"{\"type\":\"assistant\",",
        b"{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":-1,",
        b"{\"type\":\"item.completed\",\"item\":",
        b"\xEF\xBB\xBF",
        b"\\ud83d",
        b"plain\n",
    ];
    let line = proptest::sample::select(recorded);
    let piece = prop_oneof![
        4 => line.clone(),
        1 => (line, any::<proptest::sample::Index>()).prop_map(|(line, at)| line[..at.index(line.len())].to_vec()),
        1 => proptest::sample::select(broken.map(<[u8]>::to_vec).to_vec()),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

pub(super) fn pieces<'a>(stream: &'a [u8], cuts: &[proptest::sample::Index]) -> Vec<&'a [u8]> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
    cuts.sort_unstable();
    let mut from = 0;
    cuts.into_iter()
        .chain([stream.len()])
        .map(|cut| {
            let piece = &stream[from..cut];
            from = cut;
            piece
        })
        .collect()
}

/// Tells whether all places that were observed lie in a stream of that length.
pub(super) fn places_lie_within(observations: &[Observation], len: usize) -> bool {
    let len = u64::try_from(len).unwrap();
    observations.iter().all(|seen| match seen {
        Observation::Event(observed) => observed.span.is_some_and(|span| span.end() <= len),
        Observation::Input { span, .. } | Observation::Result { span, .. } => span.end() <= len,
        Observation::Note(note) => note.offset <= len && note.detail.len() <= 300,
        Observation::Session(_) | Observation::Agent(_) | Observation::Usage(_) | Observation::Receipt(_) => true,
    })
}

proptest! {
    #[test]
    fn observations_do_not_depend_on_how_the_bytes_are_cut(
        rules in rules(),
        stream in mess(),
        cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..20),
    ) {
        let (provider, start) = &rules;
        prop_assert_eq!(interpret(provider, *start, pieces(&stream, &cuts)), observe(&rules, &stream));
    }

    #[test]
    fn observations_lie_within_the_stream(rules in rules(), stream in mess()) {
        prop_assert!(places_lie_within(&observe(&rules, &stream), stream.len()));
    }

    #[test]
    fn any_bytes_are_read(rules in rules(), stream in proptest::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(places_lie_within(&observe(&rules, &stream), stream.len()));
    }

    #[test]
    fn any_damage_to_a_recording_is_read(
        rules in rules(),
        recorded in proptest::sample::select(RECORDINGS.to_vec()),
        damage in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..20),
    ) {
        let mut stream = recording(recorded);
        for (at, byte) in damage {
            let at = at.index(stream.len());
            stream[at] = byte;
        }
        prop_assert!(places_lie_within(&observe(&rules, &stream), stream.len()));
    }

    /// A key is a record's own: what a later report of it adds, it adds to the same record.
    #[test]
    fn no_remainder_is_told_twice(rules in rules(), stream in mess()) {
        let observations = observe(&rules, &stream);
        let keys = observations.iter().filter_map(|seen| match seen {
            Observation::Usage(report) if report.key.starts_with("remainder:") => Some(&report.key),
            _ => None,
        });
        let keys: Vec<_> = keys.collect();
        let distinct: std::collections::BTreeSet<_> = keys.iter().collect();
        prop_assert_eq!(distinct.len(), keys.len());
    }
}

/// One request as the provider counts it.
#[derive(Debug, Clone, Copy)]
struct Request {
    model: usize,
    /// Whether a subagent makes it.
    delegated: bool,
    input: u64,
    output: u64,
    /// What its line says of the output, if it is on a line.
    placeholder: Option<u64>,
    /// How many steps later its true output comes as a partial message, if it does.
    told_after: Option<usize>,
}

#[derive(Debug, Clone)]
enum Step {
    Request(Request),
    /// The turn ends; `next` is what comes then.
    Result {
        next: Next,
    },
}

#[derive(Debug, Clone, Copy)]
enum Next {
    /// Late lines of the turn.
    Nothing,
    Prompt,
    /// A new process with a session of its own.
    Session,
}

fn request() -> impl Strategy<Value = Request> {
    (0..3_usize, any::<bool>(), 1..50_u64, 3..50_u64, proptest::option::of(0..3_u64), proptest::option::of(0..4_usize))
        .prop_map(|(model, delegated, input, output, placeholder, told_after)| Request {
            model,
            delegated,
            input,
            output,
            placeholder,
            told_after,
        })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let next = prop_oneof![Just(Next::Nothing), Just(Next::Prompt), Just(Next::Session)];
    let step = prop_oneof![3 => request().prop_map(Step::Request), 1 => next.prop_map(|next| Step::Result { next })];
    proptest::collection::vec(step, 1..25)
}

/// The provider: it counts each request when it is made, and prints some of them.
#[derive(Debug, Default)]
struct Simulation {
    stream: String,
    session: usize,
    requests: usize,
    /// What this process spent so far by model: input and output.
    spent: [(u64, u64); 3],
    /// What all of it spent.
    truth: (u64, u64),
    /// True outputs that are still to be told: when, and the lines.
    untold: Vec<(usize, String)>,
}

impl Simulation {
    fn line(&mut self, line: &str) {
        self.stream.push_str(line);
        self.stream.push('\n');
    }

    fn init(&mut self) {
        let session = self.session;
        self.line(&format!(r#"{{"type":"system","subtype":"init","session_id":"s{session}","model":"m0[1m]"}}"#));
        self.line(r#"{"type":"user","session_id":"s","message":{"content":"go on"}}"#);
    }

    fn request(&mut self, step: usize, request: &Request) {
        self.requests += 1;
        let (spent, Request { input, output, .. }) = (&mut self.spent[request.model], *request);
        for sum in [spent, &mut self.truth] {
            sum.0 += input;
            sum.1 += output;
        }
        let Some(placeholder) = request.placeholder else { return };
        let parent = if request.delegated { r#","parent_tool_use_id":"toolu_1""# } else { "" };
        let usage = format!(r#"{{"input_tokens":{input},"output_tokens":{placeholder}}}"#);
        let message = format!(r#"{{"id":"msg_{}","model":"m{}","usage":{usage}}}"#, self.requests, request.model);
        self.line(&format!(r#"{{"type":"assistant","session_id":"s"{parent},"message":{message}}}"#));
        if let Some(told_after) = request.told_after {
            let event = |event: &str| format!(r#"{{"type":"stream_event","session_id":"s"{parent},"event":{event}}}"#);
            let start = event(&format!(r#"{{"type":"message_start","message":{message}}}"#));
            let delta = event(&format!(r#"{{"type":"message_delta","usage":{{"output_tokens":{output}}}}}"#));
            self.untold.push((step + told_after, format!("{start}\n{delta}")));
        }
    }

    fn tell(&mut self, step: usize) {
        let (told, untold) = std::mem::take(&mut self.untold).into_iter().partition(|(due, _)| *due <= step);
        self.untold = untold;
        for (_, lines) in told {
            self.line(&lines);
        }
    }

    fn result(&mut self) {
        let used = self.spent.iter().enumerate().filter(|(_, spent)| **spent != (0, 0));
        let total = |(model, (input, output)): (usize, &(u64, u64))| {
            format!(r#""m{model}[1m]":{{"inputTokens":{input},"outputTokens":{output}}}"#)
        };
        // Not in the order of the names.
        let totals: Vec<String> = used.rev().map(total).collect();
        let totals = totals.join(",");
        self.line(&format!(r#"{{"type":"result","subtype":"success","session_id":"s","modelUsage":{{{totals}}}}}"#));
    }

    fn run(steps: &[Step]) -> Self {
        let mut simulation = Self::default();
        simulation.init();
        for (number, step) in steps.iter().chain([&Step::Result { next: Next::Nothing }]).enumerate() {
            simulation.tell(number);
            match step {
                Step::Request(request) => simulation.request(number, request),
                Step::Result { next } => {
                    simulation.result();
                    match next {
                        Next::Nothing => {}
                        Next::Prompt => simulation.init(),
                        Next::Session => {
                            simulation.session += 1;
                            simulation.spent = Default::default();
                            simulation.init();
                        }
                    }
                }
            }
        }
        simulation.tell(usize::MAX);
        simulation
    }
}

proptest! {
    /// Whatever of the requests is on lines, and however late, requests and remainders are what the provider counted.
    #[test]
    fn requests_and_remainders_add_up_to_what_the_provider_counted(steps in steps()) {
        let simulation = Simulation::run(&steps);
        let observations = claude::observe(&simulation.stream);
        let totals = record(&observations).totals();
        let sum = (totals.input_tokens.unwrap_or(0), totals.output_tokens.unwrap_or(0));
        prop_assert_eq!(sum, simulation.truth, "{}", simulation.stream);
        prop_assert_eq!(totals.quality, Quality::Exact);
        prop_assert_eq!(notes(&observations), []);
    }
}
