//! Random texts that encoders and searches find hard, and specs of which most are pieces of the prompt.

use proptest::{prelude::*, sample::Index, test_runner::Config};
use trace_attribution::AssetSpec;
use trace_model::words::{AssetKind, Channel, Scope};

/// 2,000 cases, or what `PROPTEST_CASES` says.
pub(crate) fn config() -> Config {
    #[expect(clippy::disallowed_methods, reason = "a test may be told how long to run")]
    let told = std::env::var_os("PROPTEST_CASES").is_some();
    if told { Config::default() } else { Config::with_cases(2_000) }
}

/// A text: from few letters, of the encoders' special cases, or of anything.
pub(crate) fn text() -> impl Strategy<Value = String> {
    let hard = prop::sample::select(
        &[
            "go then go",
            "internationa",
            "international",
            "don't",
            "'s",
            "'LL",
            "ſ",
            "'ſ",
            "https://",
            "//\n",
            "{\"a\": [1]}",
            "\u{a0}",
            "\u{3000}",
            "\u{2028}",
            "\u{85}",
            "e\u{301}",
            "\u{301}",
            "ǅ",
            "日本語。",
            "漢字かな",
            "½٣Ⅷ",
            "🦀",
            "👩‍👩‍👧",
            "\0",
            "<|endoftext|>",
            "<|fim_prefix|>",
            "𓀀",
            "aGVsbG8gd29ybGQ=",
            "    ",
            "\r\n",
            "\n\n\n",
            "\t",
            " \n ",
        ][..],
    );
    let part = prop_oneof![
        3 => hard.prop_map(str::to_owned),
        2 => "[a-zA-Z]{1,6}",
        1 => "[0-9]{1,5}",
        2 => "[ \n]{1,3}",
        1 => "[!-/:-@]{1,3}",
        1 => "\\PC{1,4}",
    ];
    prop_oneof![
        2 => "[ab]{0,40}",
        1 => "[ab ß]{0,40}",
        5 => prop::collection::vec(part, 0..16).prop_map(|parts| parts.concat()),
        2 => any::<String>(),
    ]
}

/// The content of a spec, before the prompt is known.
#[derive(Debug, Clone)]
enum Content {
    /// A piece of the prompt between two characters.
    Piece(Index, Index),
    /// A short piece of the prompt, which often occurs more than once.
    ShortPiece(Index, usize),
    Text(String),
}

#[derive(Debug, Clone)]
struct Draft {
    content: Content,
    channel: Channel,
    kind: AssetKind,
    scope: Scope,
    match_all_occurrences: bool,
}

impl Draft {
    fn finish(self, number: usize, system: &str, task: &str) -> AssetSpec {
        let text = match self.channel {
            Channel::System => system,
            Channel::Task => task,
        };
        let bounds: Vec<usize> = (0..=text.len()).filter(|&offset| text.is_char_boundary(offset)).collect();
        let content = match self.content {
            Content::Piece(one, other) => {
                let (one, other) = (*one.get(&bounds), *other.get(&bounds));
                text[one.min(other)..one.max(other)].to_owned()
            }
            Content::ShortPiece(start, characters) => text[*start.get(&bounds)..].chars().take(characters).collect(),
            Content::Text(text) => text,
        };
        AssetSpec {
            channel: self.channel,
            kind: self.kind,
            scope: self.scope,
            label: format!("spec {number}"),
            source_path: number.is_multiple_of(2).then(|| format!("sources/{number}")),
            included_by: "a law".to_owned(),
            content,
            match_all_occurrences: self.match_all_occurrences,
        }
    }
}

fn draft(content: impl Strategy<Value = Content>) -> impl Strategy<Value = Draft> {
    let channel = prop_oneof![1 => Just(Channel::System), 3 => Just(Channel::Task)];
    let kind = prop::sample::select(AssetKind::ALL);
    let scope = prop::sample::select(Scope::ALL);
    (content, channel, kind, scope, prop::bool::weighted(0.3)).prop_map(
        |(content, channel, kind, scope, match_all_occurrences)| Draft {
            content,
            channel,
            kind,
            scope,
            match_all_occurrences,
        },
    )
}

/// The prompts of a turn and specs for them, of which at least half are pieces of the prompts.
pub(crate) fn attributed() -> impl Strategy<Value = (String, String, Vec<AssetSpec>)> {
    let piece = prop_oneof![
        2 => (any::<Index>(), any::<Index>()).prop_map(|(one, other)| Content::Piece(one, other)),
        1 => (any::<Index>(), 1_usize..12).prop_map(|(start, characters)| Content::ShortPiece(start, characters)),
    ];
    let other = prop_oneof![
        1 => Just(Content::Text(String::new())),
        2 => "[ab]{1,4}".prop_map(Content::Text),
        2 => text().prop_map(Content::Text),
    ];
    let system = prop_oneof![1 => Just(String::new()), 2 => text()];
    let specs = (prop::collection::vec(draft(piece), 0..14), prop::collection::vec(draft(other), 0..5))
        .prop_filter("at least half are pieces", |(pieces, others)| pieces.len() >= others.len())
        .prop_map(|(pieces, others)| [pieces, others].concat())
        .prop_shuffle();
    (system, text(), specs).prop_map(|(system, task, drafts)| {
        let specs =
            drafts.into_iter().enumerate().map(|(number, draft)| draft.finish(number, &system, &task)).collect();
        (system, task, specs)
    })
}
