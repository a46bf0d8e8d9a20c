//! Prompts, and specs of many shapes for them.

use trace_attribution::{AssetSpec, Prompts};
use trace_model::words::{AssetKind, Channel, Scope};

use crate::texts::Random;

/// A task prompt and the specs to find in it.
pub(crate) struct Input {
    pub(crate) text: String,
    pub(crate) specs: Vec<AssetSpec>,
}

impl Input {
    pub(crate) fn prompts(&self) -> Prompts {
        Prompts { system: None, task: Some(self.text.clone()) }
    }

    /// Says how long segments are on average.
    pub(crate) fn note(&self) -> String {
        let segments = crate::attribute(self.prompts(), self).assets().count();
        format!("{segments} segments of {} bytes", self.text.len() / segments)
    }

    /// Overlapping pieces of the text that come to nine tenths of it, or 20 KB each; one in twenty is not in the text
    /// after all, and one in twenty is the one before it again.
    pub(crate) fn pieces(text: String, count: usize, seed: u64) -> Self {
        let mut random = Random(seed);
        let longest = (text.len() * 18 / 10 / count).clamp(16, 40_000);
        let mut contents: Vec<String> = Vec::with_capacity(count);
        for number in 0..count {
            let start = text.floor_char_boundary(random.below(text.len() - longest));
            let end = text.ceil_char_boundary(start + 8 + random.below(longest - 8));
            let mut content = text[start..end].to_owned();
            match number % 20 {
                7 => content.push('\u{1}'),
                13 => content.clone_from(&contents[number - 1]),
                _ => {}
            }
            contents.push(content);
        }
        Self { text, specs: specs(contents) }
    }

    /// Short lines, and one spec for what they all begin with.
    pub(crate) fn every_line(lines: usize, seed: u64) -> Self {
        let mut random = Random(seed);
        let mut text = String::new();
        for _ in 0..lines {
            text.push_str("\n* ");
            text.push_str(random.word());
            text.push_str(random.word());
        }
        let mut specs = specs(vec!["\n* ".to_owned()]);
        specs[0].match_all_occurrences = true;
        Self { text, specs }
    }

    /// Specs that share their beginning, all in the text.
    pub(crate) fn common_beginning(beginning: &str, count: usize) -> Self {
        let contents: Vec<String> = (0..count).map(|number| format!("{beginning} {number:06}")).collect();
        Self { text: contents.concat(), specs: specs(contents) }
    }

    /// Specs of which each is the one before it without its last characters, the longest first.
    pub(crate) fn nested(text: String, count: usize) -> Self {
        let contents = (1..=count).rev().map(|length| text[..text.ceil_char_boundary(length)].to_owned()).collect();
        Self { text, specs: specs(contents) }
    }
}

fn specs(contents: Vec<String>) -> Vec<AssetSpec> {
    let spec = |(number, content)| AssetSpec {
        channel: Channel::Task,
        kind: AssetKind::Document,
        scope: Scope::Repo,
        label: format!("document {number}"),
        source_path: Some(format!("docs/{number}.md")),
        included_by: "benchmark".to_owned(),
        content,
        match_all_occurrences: false,
    };
    contents.into_iter().enumerate().map(spec).collect()
}
