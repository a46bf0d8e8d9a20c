//! What a turn cost, out of the running totals of threads.
//!
//! * `usage` of `turn.completed` is the running total of the thread, not the figure of the turn (openai/codex#17539):
//!   a turn's usage is the difference to the total before. A total that fell is that of a counter that began again, and
//!   counts in full.
//! * A resumed thread goes on from a total that is in no output of its process. So its first total tells nothing but
//!   where the next turn begins, and the usage of the first turn is unknown.
//! * A completed turn asked the model at least once. Where the total did not grow, nobody counted, so that the usage of
//!   the turn is unknown, too. Nor did anybody where all of it is zero or absent, whatever it was before: the client
//!   writes zeros if it was told nothing. The total before goes on to be the last one that is known.
//! * `turn.failed` states no usage, and a turn that was interrupted has no line at all. The next total holds what their
//!   requests cost, but not what one did that was broken off. So they leave a lower bound behind that no total covers.
//! * Only the thread itself is counted: what its subagents spend is in no line (`should_process_notification` in
//!   `codex-rs/exec/src/lib.rs` lets only the thread's own figures pass). So totals after a `collab_tool_call` are
//!   lower bounds.
//!
//! No line shows a request or names a model: their number is unknown, and the records have no model of their own.

use alloc::{string::String, vec::Vec};

use trace_model::usage::UsageReport;

use super::tally::Tally;
use crate::{
    account::{Account, Figures, ModelTotal, Statement},
    json::Json,
    observation::NoteKind,
    recent::Recent,
    recognise::SessionStart,
    saying::Saying,
};

/// A total in which unknown counts as nothing.
type Total = [u64; 5];

/// The account of all threads of a stream.
#[derive(Debug)]
pub(super) struct Spending {
    account: Account,
    /// How a thread begins that the stream has not shown before.
    start: SessionStart,
    thread: String,
    /// The last total of the thread; unknown for a resumed one that has stated none.
    last: Option<Total>,
    /// The last totals of the other threads.
    others: Recent<Option<Total>>,
    has_subagents: bool,
}

impl Spending {
    pub(super) fn new(start: SessionStart) -> Self {
        Self {
            account: Account::default(),
            start,
            thread: String::new(),
            last: first_total(start),
            others: Recent::default(),
            has_subagents: false,
        }
    }

    /// Notes that the totals are those of another thread from here on.
    pub(super) fn begin_thread(&mut self, thread: &str) {
        // Nothing is on the account that a change of threads would have to settle: no line shows a request.
        let _ = self.account.begin_process();
        self.others.insert(&self.thread, self.last, size_of::<Option<Total>>());
        self.thread = String::from(thread);
        self.last = self.others.remove(thread).unwrap_or_else(|| first_total(self.start));
        if let Some(total) = self.last {
            self.account.go_on_from(ModelTotal { figures: total.map(Some), ..ModelTotal::default() });
        }
    }

    pub(super) const fn begin_turn(&mut self) {
        self.account.begin_turn();
    }

    /// Notes that a subagent works.
    pub(super) const fn delegate(&mut self) {
        self.has_subagents = true;
    }

    /// Takes the end of a turn whose usage nobody states.
    pub(super) fn leave_turn(&mut self) -> UsageReport {
        self.account.leave_unstated(String::new())
    }

    /// Takes the total at the end of a turn, and tells of the turn's usage.
    pub(super) fn settle(&mut self, usage: Option<Json<'_>>, line: &mut Saying<'_>) {
        let read = usage.map(Reading::of).unwrap_or_default();
        if read.is_illegible {
            line.note(NoteKind::IllegibleFigure, "a figure of the total cannot be read");
        }
        let reports = match self.last {
            Some(before) if read.is_counted() && read.after(before) != before => {
                self.last = Some(read.after(before));
                self.stated(read)
            }
            Some(_) => Vec::from([self.leave_turn()]),
            None => {
                let unknown = self.leave_turn();
                if read.is_counted() && read.is_whole() {
                    self.last = Some(read.after(Total::default()));
                    self.account.go_on_from(read.total());
                }
                Vec::from([unknown])
            }
        };
        line.usage(reports);
    }

    fn stated(&mut self, read: Reading) -> Vec<UsageReport> {
        let statement = Statement {
            models: Some(Vec::from([read.total()])),
            is_illegible: read.is_illegible,
            leaves_out: self.has_subagents,
            ..Statement::default()
        };
        self.account.settle(statement).remainders
    }
}

fn first_total(start: SessionStart) -> Option<Total> {
    match start {
        SessionStart::New => Some(Total::default()),
        SessionStart::Resumed => None,
    }
}

/// What a `usage` object says.
#[derive(Debug, Clone, Copy, Default)]
struct Reading {
    figures: Figures,
    /// Whether a figure is there and makes no sense.
    is_illegible: bool,
}

impl Reading {
    fn of(usage: Json<'_>) -> Self {
        let (figures, is_illegible) = Tally::of(usage).classes();
        Self { figures, is_illegible }
    }

    /// Tells whether anybody counted.
    fn is_counted(&self) -> bool {
        self.figures.into_iter().flatten().any(|figure| figure != 0)
    }

    /// Returns the total, in which a figure that is unknown stays what it was before.
    fn after(&self, before: Total) -> Total {
        let mut total = before;
        for (total, figure) in total.iter_mut().zip(self.figures) {
            *total = figure.unwrap_or(*total);
        }
        total
    }

    /// Tells whether the total can be gone on from.
    const fn is_whole(&self) -> bool {
        !self.is_illegible && matches!(self.figures, [Some(_), Some(_), _, Some(_), _])
    }

    fn total(self) -> ModelTotal {
        ModelTotal { figures: self.figures, ..ModelTotal::default() }
    }
}
