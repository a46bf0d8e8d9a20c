//! The exact prompts of a launch.

use alloc::{format, string::String, vec::Vec};

use serde::{Serialize, Serializer};
use trace_model::{
    context::{Asset, Sha256Hex},
    id::{LaunchId, TurnId},
    words::Channel,
};

use crate::{
    SCHEMA_VERSION,
    launch::{AssetRow, LaunchReport, TurnReport},
};

/// The exact prompts of the turns of a launch.
#[derive(Debug, Clone, Serialize)]
pub struct ContentReport<'a> {
    /// The schema of the document.
    pub schema_version: u32,
    /// The launch.
    pub launch_id: LaunchId,
    /// The turns, by ordinal.
    pub turns: Vec<TurnContent<'a>>,
    /// Where what is shown is not what was sent.
    pub notes: Vec<ContentNote>,
}

/// The exact prompts of a turn.
#[derive(Debug, Clone, Serialize)]
pub struct TurnContent<'a> {
    /// The turn.
    pub turn_id: TurnId,
    /// Its place in the launch, from 1.
    pub ordinal: u32,
    /// The prompts that are there, the system prompt first.
    pub channels: Vec<ChannelContent<'a>>,
}

/// An exact prompt, and the assets that tile it.
#[derive(Debug, Clone, Serialize)]
pub struct ChannelContent<'a> {
    /// Which prompt it is.
    pub channel: Channel,
    /// Its text, as its file holds it. In a document what is no UTF-8 is U+FFFD.
    #[serde(rename = "text", serialize_with = "as_text")]
    pub bytes: Vec<u8>,
    /// Its assets, by position.
    pub assets: Vec<&'a AssetRow>,
}

/// A prompt whose file is not what was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ContentNote {
    /// The turn.
    pub turn_id: TurnId,
    /// Its place in the launch, from 1.
    pub ordinal: u32,
    /// Which prompt it is.
    pub channel: Channel,
    /// What is wrong with it, in words.
    pub detail: String,
}

fn as_text<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&String::from_utf8_lossy(bytes))
}

impl<'a> ContentReport<'a> {
    /// Returns the report of a launch; `read` returns the bytes of a turn's prompt, or `None` if there is no such
    /// prompt.
    ///
    /// Every prompt is held against the hashes of its assets, which tile it, and has to be text.
    ///
    /// # Errors
    ///
    /// What `read` returns.
    pub fn new<E>(
        report: &'a LaunchReport,
        mut read: impl FnMut(&TurnReport, Channel) -> Result<Option<Vec<u8>>, E>,
    ) -> Result<Self, E> {
        let mut turns = Vec::with_capacity(report.turns.len());
        let mut notes = Vec::new();
        for turn in &report.turns {
            let (turn_id, ordinal) = (turn.row.turn.id, turn.row.turn.ordinal);
            let mut channels = Vec::new();
            for &channel in Channel::ALL {
                if let Some(bytes) = read(turn, channel)? {
                    let assets = turn.assets.iter().filter(|row| row.asset.channel == channel).collect();
                    let content = ChannelContent { channel, bytes, assets };
                    let details = [content.difference(), content.wrong_byte()].into_iter().flatten();
                    notes.extend(details.map(|detail| ContentNote { turn_id, ordinal, channel, detail }));
                    channels.push(content);
                }
            }
            turns.push(TurnContent { turn_id, ordinal, channels });
        }
        Ok(Self { schema_version: SCHEMA_VERSION, launch_id: report.launch.header.id, turns, notes })
    }
}

impl ChannelContent<'_> {
    /// Returns how the bytes differ from those that the assets were recorded of, if they do.
    fn difference(&self) -> Option<String> {
        let sent = self.assets.last().map_or(0, |row| row.asset.span.end());
        let found = u64::try_from(self.bytes.len()).unwrap_or(u64::MAX);
        if found != sent {
            return Some(format!("its file was changed: it has {found} bytes, and {sent} were sent"));
        }
        let changed = self.assets.iter().find(|row| !self.holds(&row.asset))?;
        let Asset { span, label, .. } = &changed.asset;
        Some(format!("its file was changed: bytes {} to {}, {label:?}, are not those sent", span.start(), span.end()))
    }

    fn holds(&self, asset: &Asset) -> bool {
        let place = |offset| usize::try_from(offset).ok();
        let range = place(asset.span.start()).zip(place(asset.span.end()));
        let bytes = range.and_then(|(start, end)| self.bytes.get(start..end));
        bytes.is_some_and(|bytes| Sha256Hex::of(bytes) == asset.content_sha256)
    }

    /// Returns where the bytes are no text, if they are none.
    fn wrong_byte(&self) -> Option<String> {
        let error = str::from_utf8(&self.bytes).err()?;
        Some(format!("its file is not UTF-8 text: the byte at {} is part of no character", error.valid_up_to()))
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;
    use crate::samples;

    /// Returns a launch whose second turn was sent `ab` as one asset and `c` as another.
    fn report() -> LaunchReport {
        let mut report = samples::two_turns();
        report.turns.remove(0);
        let rows = &mut report.turns[0].assets;
        let mut template = rows[0].clone();
        template.asset.channel = Channel::Task;
        *rows = [(0..2, "ab"), (2..3, "c")]
            .map(|(span, text)| {
                let mut row = template.clone();
                row.asset.span = trace_model::span::ByteSpan::new(span.start, span.end).unwrap();
                row.asset.content_sha256 = Sha256Hex::of(text.as_bytes());
                row.asset.label = String::from(text);
                row
            })
            .into();
        report
    }

    fn details(file: &[u8]) -> Vec<String> {
        let report = report();
        let content =
            ContentReport::new(&report, |_, channel| Ok::<_, ()>((channel == Channel::Task).then(|| file.to_vec())));
        let notes = content.unwrap().notes;
        notes.into_iter().map(|note| format!("{} {}: {}", note.ordinal, note.channel, note.detail)).collect()
    }

    #[test]
    fn each_prompt_comes_with_its_own_assets() {
        let report = samples::two_turns();
        let content = ContentReport::new(&report, |turn, channel| {
            let is_there = channel == Channel::Task || turn.row.turn.ordinal == 1;
            Ok::<_, ()>(is_there.then(|| channel.to_string().into_bytes()))
        });
        let content = content.unwrap();
        let channels = content.turns.iter().flat_map(|turn| turn.channels.iter().map(move |part| (turn.ordinal, part)));
        let found: Vec<_> = channels.map(|(ordinal, part)| (ordinal, &*part.bytes, part.assets.len())).collect();
        assert_eq!(found, [(1, &b"system"[..], 3), (1, b"task", 1), (2, b"task", 1)]);
    }

    #[test]
    fn a_prompt_that_was_changed_is_noted() {
        assert_eq!(details(b"abc"), [""; 0]);
        assert_eq!(details(b"abcd"), ["2 task: its file was changed: it has 4 bytes, and 3 were sent"]);
        assert_eq!(details(b""), ["2 task: its file was changed: it has 0 bytes, and 3 were sent"]);
        assert_eq!(details(b"abx"), [r#"2 task: its file was changed: bytes 2 to 3, "c", are not those sent"#]);
    }

    #[test]
    fn a_prompt_that_is_no_text_is_noted_and_shown() {
        let [changed, no_text] = details(b"a\xffc").try_into().unwrap();
        assert!(changed.contains("bytes 0 to 2"), "{changed}");
        assert_eq!(no_text, "2 task: its file is not UTF-8 text: the byte at 1 is part of no character");
        let report = report();
        let content = ContentReport::new(&report, |_, _| Ok::<_, ()>(Some(b"a\xffc".to_vec()))).unwrap();
        let document = serde_json::to_value(&content).unwrap();
        assert_eq!(document["turns"][0]["channels"][1]["text"], "a\u{fffd}c");
    }

    #[test]
    fn a_text_that_cannot_be_read_stops_the_report() {
        let report = samples::two_turns();
        assert_eq!(ContentReport::new(&report, |_, _| Err("gone")).unwrap_err(), "gone");
    }
}
