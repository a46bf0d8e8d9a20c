//! What is under which keys in which [tree](crate::trees), as bytes.
//!
//! Keys are made so that their bytes sort as what they stand for. Their parts follow each other without a gap:
//!
//! * `launch`, `turn`: the 16 bytes of the UUID.
//! * `ordinal`, `position`: 4 bytes, the most significant one first.
//! * `time`: microseconds since 1970 in 8 bytes, the most significant one first and its sign bit flipped, so that times
//!   before 1970 come first.
//! * `flag`: one byte, 0 or 1.
//! * `digits`: the 32 hexadecimal digits of a launch's id, the last one first.
//! * `text`: its UTF-8, with `00 02` for each NUL, and `00 01` behind it: a text comes right before those that it is
//!   the beginning of, and no text is the beginning of another one's bytes. Of a long text only the first
//!   [`LONGEST_TEXT`] bytes are there, and behind them, instead of `00 01`, `00 03` and the 64 hexadecimal digits of
//!   its SHA-256.
//!
//! | tree | key | value |
//! |---|---|---|
//! | `format` | `version` | the number of the format, in decimal |
//! | `launches` | launch | row |
//! | `launches_by_start` | time of the start, launch | |
//! | `launches_by_end_of_id` | digits | launch |
//! | `launches_by_run` | text of the run, time of the start, launch | |
//! | `launches_by_parent` | launch that is the parent, time of the start, launch | |
//! | `launches_by_session` | text of the provider's session, time of the start, launch | |
//! | `turns` | launch, ordinal | row |
//! | `turns_by_id` | turn | launch, ordinal |
//! | `assets` | turn, position | row |
//! | `decisions` | turn, position | row |
//! | `usage` | launch, text of the record's key | row |
//! | `requests` | text of the request's key, flag "has no time", time or 0, launch, text of the record's key | |
//! | `costs` | launch, text of the record's key | what it costs by which version of the prices, as a row; since format 2 |
//! | `reservations` | launch | row |
//! | `reservations_by_run` | text of the control run, flag "waits", time of the reservation, launch | |
//!
//! The first record of a request is the one that counts, and the last reservation of a control run is the one that is
//! its own. A row is the JSON of the model's row, in pieces: see [`pieces`](crate::pieces).

use trace_model::{
    context::Sha256Hex,
    control::Reservation,
    id::{ControlRunId, IdSuffix, LaunchId, TurnId},
    launch::Launch,
    timestamp::Timestamp,
    usage::UsageRecord,
};

use crate::trees::Tree;

/// How many bytes of a text are in a key. Two texts of that length, and what stands beside them, leave room for a whole
/// page of keys below the size at which sled would put the page into a file of its own.
pub(crate) const LONGEST_TEXT: usize = 128;

const END_OF_TEXT: [u8; 2] = [0, 1];
const NUL: [u8; 2] = [0, 2];
const END_OF_CUT_TEXT: [u8; 2] = [0, 3];
/// How many bytes stand for the rest of a text that is cut.
const HASH_DIGITS: usize = 64;

/// A key, or the beginning of some.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(Vec<u8>);

impl Key {
    pub(crate) fn launch(self, launch: LaunchId) -> Self {
        self.bytes(launch.as_uuid().as_bytes())
    }

    pub(crate) fn turn(self, turn: TurnId) -> Self {
        self.bytes(turn.as_uuid().as_bytes())
    }

    /// Adds an ordinal, a position, or the number of a piece.
    pub(crate) fn number(self, number: u32) -> Self {
        self.bytes(&number.to_be_bytes())
    }

    pub(crate) fn time(self, time: Timestamp) -> Self {
        self.bytes(&(time.as_micros().cast_unsigned() ^ (1 << 63)).to_be_bytes())
    }

    pub(crate) fn flag(self, flag: bool) -> Self {
        self.bytes(&[u8::from(flag)])
    }

    /// Adds hexadecimal digits, the last one first.
    pub(crate) fn digits(mut self, digits: &str) -> Self {
        self.0.extend(digits.bytes().rev());
        self
    }

    pub(crate) fn text(mut self, text: &str) -> Self {
        let start = self.0.len();
        for byte in text.bytes() {
            let written: &[u8] = if byte == 0 { &NUL } else { &[byte] };
            if self.0.len() - start + written.len() > LONGEST_TEXT {
                return self.bytes(&END_OF_CUT_TEXT).bytes(Sha256Hex::of(text.as_bytes()).to_string().as_bytes());
            }
            self.0.extend(written);
        }
        self.bytes(&END_OF_TEXT)
    }

    /// Returns the launch that the key ends with.
    pub(crate) fn last_launch(&self) -> Self {
        Self::from(self.0.last_chunk::<16>().map_or(&[][..], |launch| launch))
    }

    /// Returns the part of the key behind that many bytes.
    fn behind(&self, bytes: usize) -> Self {
        Self::from(self.0.get(bytes..).unwrap_or_default())
    }

    /// Returns what the key has in common with those whose last text begins so too, if that text is cut.
    pub(crate) fn before_cut(&self) -> Option<Self> {
        let is_cut = !self.0.ends_with(&END_OF_TEXT);
        let length = self.0.len().checked_sub(HASH_DIGITS).filter(|_| is_cut)?;
        self.0.get(..length).map(Self::from)
    }

    fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }
}

impl From<&[u8]> for Key {
    fn from(bytes: &[u8]) -> Self {
        Self(Vec::from(bytes))
    }
}

impl From<Key> for Vec<u8> {
    fn from(key: Key) -> Self {
        key.0
    }
}

impl AsRef<[u8]> for Key {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Returns the entries of the launch in the trees that lead to it, with their values.
pub(crate) fn ways_to_launch(launch: &Launch) -> impl Iterator<Item = (Tree, Key, Key)> {
    let (id, start) = (launch.header.id, launch.header.started_at);
    let in_order = |tree, beginning: Key| (tree, beginning.time(start).launch(id), Key::default());
    let digits = Key::default().digits(&id.as_uuid().simple().to_string());
    let run = Key::default().text(launch.header.run_id.as_str());
    let parent = launch.header.parent_launch_id.map(|parent| Key::default().launch(parent));
    let session = launch.provider_session_id.as_ref().map(|session| Key::default().text(session));
    [
        Some(in_order(Tree::LaunchesByStart, Key::default())),
        Some((Tree::LaunchesByEndOfId, digits, Key::default().launch(id))),
        Some(in_order(Tree::LaunchesByRun, run)),
        parent.map(|parent| in_order(Tree::LaunchesByParent, parent)),
        session.map(|session| in_order(Tree::LaunchesBySession, session)),
    ]
    .into_iter()
    .flatten()
}

/// Returns the beginning of the entries in [`Tree::LaunchesByEndOfId`] of the launches whose ids end so.
pub(crate) fn end_of_id(suffix: &IdSuffix) -> Key {
    Key::default().digits(suffix.as_str())
}

/// Returns the key of a row in [`Tree::Launches`] and [`Tree::Reservations`], and the beginning of those of the
/// launch's rows in [`Tree::Turns`], [`Tree::Usage`] and [`Tree::Costs`].
pub(crate) fn launch(launch: LaunchId) -> Key {
    Key::default().launch(launch)
}

/// Returns the key of a row in [`Tree::Turns`].
pub(crate) fn turn(launch: LaunchId, ordinal: u32) -> Key {
    Key::default().launch(launch).number(ordinal)
}

/// Tells whether the key of a row in [`Tree::Turns`] is that of a turn of the launch.
pub(crate) fn is_turn_of(place: &Key, launch: LaunchId) -> bool {
    place.0.starts_with(launch.as_uuid().as_bytes())
}

/// Returns the key of a row in [`Tree::Assets`] and [`Tree::Decisions`].
pub(crate) fn of_turn(turn: TurnId, position: u32) -> Key {
    Key::default().turn(turn).number(position)
}

/// Returns the key of a row in [`Tree::Usage`].
pub(crate) fn usage(launch: LaunchId, key: &str) -> Key {
    Key::default().launch(launch).text(key)
}

/// Returns the record's entry in [`Tree::Requests`], if it names a request.
pub(crate) fn request(record: &UsageRecord) -> Option<Key> {
    let (without_time, time, launch, key) = record.seniority();
    let request = of_request(record.report.request_key.as_ref()?);
    Some(request.flag(without_time).time(time.unwrap_or(Timestamp::UNIX_EPOCH)).launch(launch).text(key))
}

/// Returns the beginning of the entries of a request in [`Tree::Requests`].
pub(crate) fn of_request(request: &str) -> Key {
    Key::default().text(request)
}

/// Returns the key in [`Tree::Usage`] of the record that an entry of [`Tree::Requests`] names. The entry begins with
/// `request`.
pub(crate) fn usage_of_request(entry: &Key, request: &Key) -> Key {
    let place = Key::default().flag(false).time(Timestamp::UNIX_EPOCH);
    entry.behind(request.0.len() + place.0.len())
}

/// Returns the reservation's entry in [`Tree::ReservationsByRun`].
pub(crate) fn reservation(reservation: &Reservation) -> Key {
    let (waits, time, launch) = reservation.precedence();
    of_control_run(&reservation.control.run_id).flag(waits).time(time).launch(launch)
}

/// Returns the beginning of the entries of a control run in [`Tree::ReservationsByRun`].
pub(crate) fn of_control_run(run: &ControlRunId) -> Key {
    Key::default().text(run.as_str())
}

#[cfg(test)]
mod tests;
