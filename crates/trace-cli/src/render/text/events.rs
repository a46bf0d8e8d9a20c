//! Events, one line each.

use std::collections::BTreeMap;

use trace_model::{
    codec::UnknownEvent,
    event::{ConversationEvent, Event, Item, ItemData, Payload, Receipt, UsageFigures},
    id::TurnId,
    turn::EndStatus,
    usage::UsageReport,
};

use super::{cut::cut, escape, figures, style};

/// The ordinals of the turns that were opened so far.
#[derive(Debug, Default)]
pub(crate) struct Ordinals(BTreeMap<TurnId, u32>);

impl Ordinals {
    fn of(&mut self, event: &Event) -> Option<u32> {
        if let Payload::TurnOpened { turn, .. } = &event.payload {
            self.0.insert(turn.id, turn.ordinal);
        }
        self.0.get(&event.turn_id?).copied()
    }
}

/// Returns the line of an event: its place, time, turn and type, and what it says; cut to the width, if there is one.
pub(crate) fn line(event: &Event, ordinals: &mut Ordinals, width: Option<u16>) -> String {
    let turn = ordinals.of(event).map_or_else(String::new, |ordinal| format!("t{ordinal}"));
    let (kind, detail) = describe(&event.payload);
    let agent = if event.agent.is_main() { String::new() } else { format!("[{}] ", event.agent) };
    let lead = format!("{:>6}  {}  {turn:<4}", event.seq, figures::time_of_day(event.ts));
    let room = width.map(|width| usize::from(width).saturating_sub(lead.chars().count() + KIND_WIDTH + 4));
    let detail = format!("{agent}{detail}");
    let detail = escape::line(&detail);
    let detail = cut(&detail, room);
    let kind = style::styled(style::NAME, format_args!("{kind:<KIND_WIDTH$}"));
    format!("{}  {kind}  {detail}", style::styled(style::FAINT, lead)).trim_end().to_owned()
}

/// Returns the line of an event of a newer writer.
pub(crate) fn unknown_line(unknown: &UnknownEvent) -> String {
    let seq = unknown.seq.map_or_else(|| figures::UNKNOWN.to_owned(), |seq| seq.to_string());
    let kind = escape::line(unknown.kind.as_deref().unwrap_or("unknown")).into_owned();
    let lead = style::styled(style::FAINT, format_args!("{seq:>6}  {:<18}", ""));
    let kind = style::styled(style::ODD, format_args!("{kind:<KIND_WIDTH$}"));
    format!("{lead}  {kind}  of a newer writer, schema version {}", unknown.schema_version)
}

const KIND_WIDTH: usize = 14;

/// Returns the type of a payload and what it says.
fn describe(payload: &Payload) -> (&'static str, String) {
    match payload {
        Payload::TurnOpened { turn, .. } => ("turn opened", format!("{} · {}", turn.input_op, turn.context_coverage)),
        Payload::TurnEnded { status, partial_reason } => {
            let reason = EndStatus::from_words(*status, *partial_reason).ok().flatten();
            let reason = reason.and_then(|end| end.words().1).map(|reason| format!(": {reason}"));
            ("turn ended", format!("{status}{}", reason.unwrap_or_default()))
        }
        Payload::Receipt(receipt) => ("receipt", describe_receipt(receipt)),
        Payload::UsageRecord { record } => ("usage record", describe_report(&record.report)),
        Payload::CaptureError { message, lost_events } => {
            let lost = lost_events.map(|lost| format!(" ({} lost)", figures::counted(lost, "event")));
            ("capture error", format!("{message}{}", lost.unwrap_or_default()))
        }
        Payload::LaunchEnded { outcome, capture_status, reason, files } => {
            let reason = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
            let files = figures::counted(u64::try_from(files.len()).unwrap_or(u64::MAX), "file");
            (
                "launch ended",
                format!("{} · {capture_status}{reason} · {files}", trace_model::words::LaunchOutcome::from(*outcome)),
            )
        }
        Payload::UserInput { op, text } => ("user input", format!("{op}: {text}")),
        Payload::Conversation { event } => describe_conversation(event),
        Payload::LegacyText { text, .. } => ("text", text.clone()),
        Payload::LegacyTool { name, summary } => ("tool", format!("{name}: {summary}")),
        Payload::Usage { usage } => ("usage", describe_figures(usage)),
        Payload::Result { status, cost_usd, duration_secs } => {
            let cost = cost_usd.map(|cost| format!(" · {}", figures::money(Some(cost)))).unwrap_or_default();
            let took = duration_secs.map(|seconds| format!(" · {seconds} s")).unwrap_or_default();
            ("result", format!("{}{cost}{took}", trace_model::words::LaunchOutcome::from(*status)))
        }
    }
}

fn describe_conversation(event: &ConversationEvent) -> (&'static str, String) {
    match event {
        ConversationEvent::TurnStarted { turn_id } => ("turn started", turn_id.clone().unwrap_or_default()),
        ConversationEvent::TurnCompleted { status, .. } => {
            ("turn completed", trace_model::words::LaunchOutcome::from(*status).to_string())
        }
        ConversationEvent::TurnUsage { usage, .. } => ("turn usage", describe_figures(usage)),
        ConversationEvent::ItemStarted { item, .. } => ("item started", describe_item(item)),
        ConversationEvent::ItemCompleted { item, .. } => ("item completed", describe_item(item)),
        ConversationEvent::ItemUpdated { item_id, data, .. } => {
            let (ItemData::Output { content } | ItemData::PlanText { content }) = data;
            ("item updated", format!("{item_id}: {content}"))
        }
        ConversationEvent::TextDelta { content, .. } => ("text delta", content.clone()),
        ConversationEvent::ReasoningDelta { content, .. } => ("thought delta", content.clone()),
        ConversationEvent::DiffUpdated { diff, .. } => ("diff updated", diff.clone()),
        ConversationEvent::SuggestedActions { actions, .. } => {
            let labels: Vec<&str> = actions.iter().map(|action| action.label.as_str()).collect();
            ("suggestions", labels.join(" · "))
        }
        ConversationEvent::StatusChanged { status } => ("status", status.to_string()),
        ConversationEvent::Error { code, message } => ("error", format!("{code}: {message}")),
    }
}

fn describe_item(item: &Item) -> String {
    match item {
        Item::Command { command, status, exit_code, .. } => {
            let code = exit_code.map(|code| format!(", exit code {code}")).unwrap_or_default();
            format!("command {}: {status}{code}", command.join(" "))
        }
        Item::File { changes, status, .. } => {
            let paths: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
            format!("files {}: {status}", paths.join(" "))
        }
        Item::Message { text, .. } => format!("message: {text}"),
        Item::Thought { text, .. } => format!("thought: {text}"),
        Item::Tool { name, status, input, .. } => {
            format!("tool {name}: {status} {}", input.as_deref().unwrap_or_default())
        }
    }
}

fn describe_receipt(receipt: &Receipt) -> String {
    let provider = receipt.provider.as_ref().map(ToString::to_string);
    let parts = [
        ("provider", &provider),
        ("version", &receipt.agent_version),
        ("model", &receipt.model),
        ("session", &receipt.provider_session_id),
        ("kept in", &receipt.provider_session_path),
    ];
    let parts = parts.into_iter().filter_map(|(name, value)| Some(format!("{name} {}", value.as_ref()?)));
    parts.collect::<Vec<_>>().join(" · ")
}

fn describe_report(report: &UsageReport) -> String {
    let classes = [
        (report.input_tokens, "uncached"),
        (report.cache_read_tokens, "cache read"),
        (report.cache_write_tokens, "cache write"),
        (report.output_tokens, "out"),
    ];
    let mut parts = vec![report.key.clone()];
    parts.extend(known(classes));
    parts.extend(report.reported_cost_usd.map(|cost| figures::money(Some(cost))));
    parts.push(report.quality.to_string());
    parts.join(" · ")
}

fn describe_figures(usage: &UsageFigures) -> String {
    let classes = [
        (usage.input_tokens, "uncached"),
        (usage.cache_read_tokens, "cache read"),
        (usage.cache_write_tokens, "cache write"),
        (usage.output_tokens, "out"),
    ];
    let cost = usage.cost_usd.map(|cost| figures::money(Some(cost)));
    known(classes).chain(cost).collect::<Vec<_>>().join(" · ")
}

fn known(classes: [(Option<u64>, &'static str); 4]) -> impl Iterator<Item = String> {
    classes.into_iter().filter_map(|(tokens, name)| Some(format!("{} {name}", figures::count(tokens?))))
}
