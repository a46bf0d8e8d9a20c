//! From specs to claims: which occurrence of its content a spec gets.
//!
//! Specs come in their order of priority. One claims the first occurrence of its content that is wholly unclaimed; if
//! there is none, the first that has an unclaimed byte; or, on its wish, every non-overlapping occurrence from the
//! left. Claims only grow, so what a content has been refused once need not be looked at again: all specs with equal
//! contents share their progress through the text.

use alloc::{collections::BTreeMap, vec::Vec};

use trace_model::words::Channel;

use crate::{
    AssetSpec,
    claims::{Claim, Claims},
    search::Search,
};

/// What became of the specs of one channel.
pub(crate) struct Placement {
    /// The claims from left to right; an owner is the index of a spec among all specs.
    pub(crate) claims: Vec<Claim>,
    /// The specs that claim nothing, by their index among all specs.
    pub(crate) unplaced: Vec<(usize, Unplaced)>,
}

/// Why a spec claims nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unplaced {
    /// Its content is empty.
    Empty,
    /// Its content is not in the text.
    Absent,
    /// Earlier specs hold every occurrence.
    Held {
        /// The first byte of the first occurrence.
        first: usize,
    },
}

/// Places the specs of a channel in its text, which is empty for a channel that is absent.
pub(crate) fn place(text: &str, channel: Channel, specs: &[AssetSpec]) -> Placement {
    let mut contents = Vec::new();
    // Lengths are compared first: contents that share a long beginning seldom share their length too.
    let mut known = BTreeMap::new();
    let mut wishes = Vec::new();
    for (owner, spec) in specs.iter().enumerate().filter(|(_, spec)| spec.channel == channel) {
        let content = spec.content.as_str();
        let index = (!content.is_empty()).then(|| {
            *known.entry((content.len(), content)).or_insert_with(|| {
                contents.push(content);
                contents.len() - 1
            })
        });
        wishes.push((owner, spec, index));
    }

    let mut placer = Placer::new(text, &contents);
    let mut unplaced = Vec::new();
    for (owner, spec, index) in wishes {
        let result = match index {
            None => Err(Unplaced::Empty),
            Some(content) if spec.match_all_occurrences => placer.claim_all(content, owner),
            Some(content) => placer.claim_one(content, owner),
        };
        if let Err(reason) = result {
            unplaced.push((owner, reason));
        }
    }
    Placement { claims: placer.claims.into_sorted(), unplaced }
}

struct Placer<'a> {
    search: Search<'a>,
    claims: Claims,
    progress: Vec<Progress>,
    /// No gap is longer. Gaps only shrink, so an old answer stays true.
    longest_gap: usize,
    /// Occurrences that were refused since `longest_gap` was last found out.
    refused: usize,
}

/// How far one content has been placed.
struct Progress {
    bytes: usize,
    /// Where it occurs first.
    first: Option<usize>,
    /// No occurrence before this one is wholly unclaimed; `None`: no occurrence is.
    unclaimed_from: Option<usize>,
    /// No occurrence before this one has an unclaimed byte; `None`: no occurrence has.
    open_from: Option<usize>,
    /// Whether all its non-overlapping occurrences have been claimed.
    swept: bool,
}

impl<'a> Placer<'a> {
    fn new(text: &'a str, contents: &[&'a str]) -> Self {
        let search = Search::new(text, contents);
        let progress = |(index, content): (usize, &&str)| {
            let first = search.next(index, 0);
            Progress { bytes: content.len(), first, unclaimed_from: first, open_from: first, swept: false }
        };
        let progress = contents.iter().enumerate().map(progress).collect();
        Self { search, claims: Claims::new(text.len()), progress, longest_gap: text.len(), refused: 0 }
    }

    /// Claims the best occurrence that is left of a content.
    fn claim_one(&mut self, content: usize, owner: usize) -> Result<(), Unplaced> {
        let Progress { bytes, first, .. } = self.progress[content];
        let first = first.ok_or(Unplaced::Absent)?;
        let start = self.first_unclaimed(content).or_else(|| self.first_open(content));
        let start = start.ok_or(Unplaced::Held { first })?;
        self.claims.claim(start..start + bytes, owner);
        Ok(())
    }

    /// Claims every non-overlapping occurrence of a content from the left.
    fn claim_all(&mut self, content: usize, owner: usize) -> Result<(), Unplaced> {
        let Progress { bytes, first, swept, .. } = self.progress[content];
        let first = first.ok_or(Unplaced::Absent)?;
        let open_until = self.claims.last_gap_end();
        let mut occurrences = Vec::new();
        let mut next = if swept { None } else { Some(first) };
        while let Some(start) = next.filter(|&start| start < open_until) {
            occurrences.push(start..start + bytes);
            next = self.search.next(content, start + bytes);
        }
        let claimed = self.claims.claim_each(occurrences, owner);
        // Every other occurrence overlaps one of those.
        self.progress[content].swept = true;
        self.progress[content].unclaimed_from = None;
        if claimed { Ok(()) } else { Err(Unplaced::Held { first }) }
    }

    /// Returns the first occurrence of a content that is wholly unclaimed.
    fn first_unclaimed(&mut self, content: usize) -> Option<usize> {
        let Progress { bytes, unclaimed_from: mut found, .. } = self.progress[content];
        while let Some(start) = found {
            let Some(gap) = self.claims.next_gap(start).filter(|_| bytes <= self.longest_gap) else {
                found = None;
                break;
            };
            if gap.start <= start && start + bytes <= gap.end {
                break;
            }
            // The next start that may fit is that of the gap; nothing fits into what is left of one that was entered.
            let from = if gap.start > start && gap.len() >= bytes { gap.start } else { gap.end };
            found = self.search.next(content, from);
            self.refuse();
        }
        self.progress[content].unclaimed_from = found;
        found
    }

    /// Returns the first occurrence of a content that has an unclaimed byte.
    fn first_open(&mut self, content: usize) -> Option<usize> {
        let Progress { bytes, open_from: mut found, .. } = self.progress[content];
        while let Some(start) = found {
            let Some(gap) = self.claims.next_gap(start) else {
                found = None;
                break;
            };
            if gap.start < start + bytes {
                break;
            }
            // The next start that may reach into the gap.
            found = self.search.next(content, gap.start + 1 - bytes);
        }
        self.progress[content].open_from = found;
        found
    }

    /// Counts a refusal, and looks at all gaps when there were as many refusals as gaps.
    fn refuse(&mut self) {
        self.refused += 1;
        if self.refused > self.claims.gaps() {
            self.refused = 0;
            self.longest_gap = self.claims.longest_gap();
        }
    }
}
