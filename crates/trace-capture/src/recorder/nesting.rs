//! Whose session it is that is seen on a stream, where one recorder runs inside of another.
//!
//! The outer one sees the same bytes as the inner one, and the launch nearest to the agent owns the session. A recorder
//! has bytes on record before it passes them on. So when a session is named to the outer launch, the files of a launch
//! beneath it name the same one already.
//!
//! It is asked for each session that is named, as one output may hold some that come through another recorder and some
//! that do not.

mod scan;

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read},
};

use memchr::memmem::Finder;
use trace_model::{
    codec::Line,
    event::{Event, Payload},
    id::LaunchId,
    launch::LaunchHeader,
    path::ArtifactPath,
    words::{OutputStream, Provider},
};
use trace_providers::SessionScanner;

pub(super) use self::scan::SessionScan;
use crate::artifacts::{ArtifactError, Home, LaunchDir};

/// The most launches of a run that are looked at, the youngest first.
const LAUNCHES: usize = 1_000;
/// How far into a launch's events a session is looked for. One that is named later is found in the launch's raw output.
const EVENT_BYTES: u64 = 64 << 10;
/// The longest line of output in which a session is looked for.
const LINE: u64 = 8 << 20;

/// A session that is named on the streams of a launch.
pub(super) struct NamedSession<'a> {
    /// The launch.
    pub(super) outer: &'a LaunchHeader,
    /// The session.
    pub(super) session: &'a str,
    /// How far the raw output of the launches beneath is looked into. What came through another recorder is there no
    /// longer than what the launch has seen.
    pub(super) raw_bytes: u64,
}

impl NamedSession<'_> {
    /// Returns the launch beneath the outer one that owns the session, if one does.
    ///
    /// What cannot be read owns nothing.
    pub(super) fn owner_beneath(&self, home: &Home) -> Option<LaunchId> {
        let beneath = self.launches_beneath(home).ok()?;
        let owner = beneath.iter().find(|dir| self.is_in_events(dir).unwrap_or(false) || self.is_in_raw(dir))?;
        Some(owner.header().id)
    }

    /// Returns the launches beneath the outer one, those farthest from it first.
    fn launches_beneath(&self, home: &Home) -> Result<Vec<LaunchDir>, ArtifactError> {
        let dirs = home.list_launch_dirs_of_run(&self.outer.run_id)?.into_iter();
        let mut dirs: Vec<(LaunchId, ArtifactPath)> = dirs.filter_map(|dir| Some((id_of(&dir)?, dir))).collect();
        dirs.sort_by_key(|(id, _)| std::cmp::Reverse(*id));
        let others = dirs.into_iter().filter(|(id, _)| *id != self.outer.id).take(LAUNCHES);
        let launches: BTreeMap<_, _> =
            others.filter_map(|(id, dir)| Some((id, home.open_launch(&dir).ok()?))).collect();
        let parent = |id| launches.get(&id)?.header().parent_launch_id;
        let depth = |id: &LaunchId| depth_beneath(self.outer.id, *id, launches.len(), parent);
        let mut beneath: Vec<_> = launches.keys().filter_map(|id| Some((depth(id)?, *id))).collect();
        beneath.sort_unstable_by(|left, right| right.cmp(left));
        Ok(beneath.iter().filter_map(|(_, id)| launches.get(id).cloned()).collect())
    }

    /// Tells whether the launch has a receipt of the session.
    fn is_in_events(&self, dir: &LaunchDir) -> Result<bool, ArtifactError> {
        let mut events = dir.conversation()?;
        while let Some(stretch) = events.next()?.filter(|stretch| stretch.offset < EVENT_BYTES) {
            if let Some(Line::Event(Event { payload: Payload::Receipt(receipt), .. })) = stretch.line
                && receipt.provider_session_id.as_deref() == Some(self.session)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Tells whether the session is named in what the launch recorded of its agent's output, by the rules of the outer
    /// launch's provider or of one that is not known. The launch's own rules may find it only later.
    fn is_in_raw(&self, dir: &LaunchDir) -> bool {
        [OutputStream::Stdout, OutputStream::Stderr]
            .into_iter()
            .any(|stream| dir.raw(stream).is_ok_and(|raw| self.is_named_in(raw.take(self.raw_bytes))))
    }

    /// Tells whether a line of the bytes names the session. What cannot be read is taken for the end of them.
    fn is_named_in(&self, bytes: impl Read) -> bool {
        let session = Finder::new(self.session);
        let mut bytes = BufReader::new(bytes);
        let mut line = Vec::new();
        while bytes.by_ref().take(LINE).read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            if session.find(&line).is_some() && self.is_named_by(&line) {
                return true;
            }
            line.clear();
        }
        false
    }

    fn is_named_by(&self, line: &[u8]) -> bool {
        [self.outer.provider.clone(), Provider::Unknown].into_iter().any(|provider| {
            let mut scanner = SessionScanner::new(provider);
            let receipt = scanner.push(line).or_else(|| scanner.finish());
            receipt.is_some_and(|receipt| receipt.provider_session_id.as_deref() == Some(self.session))
        })
    }
}

fn id_of(dir: &ArtifactPath) -> Option<LaunchId> {
    dir.as_str().rsplit('/').next()?.parse().ok()
}

/// Returns how many launches `inner` is beneath `outer`, or `None` if it is not beneath it. A chain of parents that is
/// longer than `most` goes around in a circle.
fn depth_beneath(
    outer: LaunchId,
    inner: LaunchId,
    most: usize,
    parent: impl Fn(LaunchId) -> Option<LaunchId>,
) -> Option<usize> {
    let mut at = inner;
    for depth in 1..=most {
        at = parent(at)?;
        if at == outer {
            return Some(depth);
        }
    }
    None
}
