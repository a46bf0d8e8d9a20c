//! The exact prompts of a launch.

use alloc::{string::String, vec::Vec};

use serde::Serialize;
use trace_model::{
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
    /// Its text.
    pub text: String,
    /// Its assets, by position.
    pub assets: Vec<&'a AssetRow>,
}

impl<'a> ContentReport<'a> {
    /// Returns the report of a launch; `read` returns the text of a turn's prompt, or `None` if there is no such prompt.
    ///
    /// # Errors
    ///
    /// What `read` returns.
    pub fn new<E>(
        report: &'a LaunchReport,
        mut read: impl FnMut(&TurnReport, Channel) -> Result<Option<String>, E>,
    ) -> Result<Self, E> {
        let mut turns = Vec::with_capacity(report.turns.len());
        for turn in &report.turns {
            let mut channels = Vec::new();
            for &channel in Channel::ALL {
                if let Some(text) = read(turn, channel)? {
                    let assets = turn.assets.iter().filter(|row| row.asset.channel == channel).collect();
                    channels.push(ChannelContent { channel, text, assets });
                }
            }
            turns.push(TurnContent { turn_id: turn.row.turn.id, ordinal: turn.row.turn.ordinal, channels });
        }
        Ok(Self { schema_version: SCHEMA_VERSION, launch_id: report.launch.header.id, turns })
    }
}

#[cfg(test)]
mod tests {
    use std::{string::ToString, vec::Vec};

    use super::*;
    use crate::samples;

    #[test]
    fn each_prompt_comes_with_its_own_assets() {
        let report = samples::two_turns();
        let content = ContentReport::new(&report, |turn, channel| {
            let is_there = channel == Channel::Task || turn.row.turn.ordinal == 1;
            Ok::<_, ()>(is_there.then(|| channel.to_string()))
        });
        let content = content.unwrap();
        let channels = content.turns.iter().flat_map(|turn| turn.channels.iter().map(move |part| (turn.ordinal, part)));
        let found: Vec<_> = channels.map(|(ordinal, part)| (ordinal, part.text.as_str(), part.assets.len())).collect();
        assert_eq!(found, [(1, "system", 3), (1, "task", 1), (2, "task", 1)]);
    }

    #[test]
    fn a_text_that_cannot_be_read_stops_the_report() {
        let report = samples::two_turns();
        assert_eq!(ContentReport::new(&report, |_, _| Err("gone")).unwrap_err(), "gone");
    }
}
