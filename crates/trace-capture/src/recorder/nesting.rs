//! Whose session it is that is seen on a stream, where one recorder runs inside of another.
//!
//! The outer one sees the same bytes as the inner one, and the launch nearest to the agent owns the session. A recorder
//! has bytes on record before it passes them on. So when a session is named to the outer launch, the files of a launch
//! beneath it name the same one already, and reading them once is enough.

use std::{
    collections::BTreeMap,
    io::{self, Read},
};

use trace_model::{
    codec::Line,
    event::{Event, Payload, Receipt},
    id::LaunchId,
    launch::LaunchHeader,
    path::ArtifactPath,
    words::OutputStream,
};
use trace_providers::SessionScanner;

use crate::artifacts::{ArtifactError, Home, LaunchDir};

/// The most launches of a run that are looked at, the youngest first.
const LAUNCHES: usize = 1_000;
/// How far into a launch's events its session is looked for: it is among the first of them.
const EVENT_BYTES: u64 = 64 << 10;
const CHUNK: usize = 64 << 10;

/// A session that is named on the streams of a launch.
pub(super) struct NamedSession<'a> {
    /// The launch.
    pub(super) outer: &'a LaunchHeader,
    /// The session.
    pub(super) session: &'a str,
    /// How many bytes of its streams the launch has seen. What came through another recorder is no longer than that.
    pub(super) seen: u64,
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
            let Some(Line::Event(Event { payload: Payload::Receipt(receipt), .. })) = stretch.line else { continue };
            if let Some(session) = receipt.provider_session_id {
                return Ok(session == self.session);
            }
        }
        Ok(false)
    }

    /// Tells whether the session is named in what the launch recorded of its agent's output, by the rules by which the
    /// outer one found it. The launch's own rules may find it only later.
    fn is_in_raw(&self, dir: &LaunchDir) -> bool {
        [OutputStream::Stdout, OutputStream::Stderr].into_iter().any(|stream| {
            let Ok(raw) = dir.raw(stream) else { return false };
            let receipt = first_receipt(raw.take(self.seen), SessionScanner::new(self.outer.provider.clone()));
            receipt.is_some_and(|receipt| receipt.provider_session_id.as_deref() == Some(self.session))
        })
    }
}

/// Returns the first receipt in the bytes. What cannot be read is taken for the end of them.
fn first_receipt(mut bytes: impl Read, mut scanner: SessionScanner) -> Option<Receipt> {
    let mut chunk = vec![0; CHUNK];
    loop {
        let read = match bytes.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read.unwrap_or(0),
        };
        let Some(read @ [_, ..]) = chunk.get(..read) else { return scanner.finish() };
        if let Some(receipt) = scanner.push(read) {
            return Some(receipt);
        }
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
