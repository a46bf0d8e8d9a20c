use proptest::{prelude::*, test_runner::Config};
use trace_attribution::{AssetSpec, Prompts};
use trace_model::words::{AssetKind, Scope, TokenizerName};

use super::*;
use crate::render::json;

#[path = "../../../tests/it/laws.rs"]
mod laws;

/// A prompt and specs, of which at least half are pieces of it that may overlap.
fn prompt_and_specs(channel: Channel) -> impl Strategy<Value = (String, Vec<AssetSpec>)> {
    let prompt = prop::collection::vec("[ab ]{0,9}|[日本語]{0,3}|\\PC{0,6}|internationa|\r?\n", 0..16);
    let piece = (any::<prop::sample::Index>(), 0..24_usize).prop_map(Some);
    let content = prop_oneof![3 => piece, 1 => Just(None)];
    let specs = prop::collection::vec((content, "\\PC{0,4}", any::<bool>()), 0..10);
    (prompt, specs).prop_map(move |(prompt, specs)| {
        let prompt = prompt.concat();
        let characters: Vec<char> = prompt.chars().collect();
        let content = |piece: Option<(prop::sample::Index, usize)>, other: String| match piece {
            Some((start, len)) => characters[start.index(characters.len() + 1)..].iter().take(len).collect(),
            None => other,
        };
        let spec = |(number, (piece, other, match_all_occurrences))| AssetSpec {
            channel,
            kind: AssetKind::Document,
            scope: Scope::Task,
            label: format!("{channel} {number}"),
            source_path: None,
            included_by: "test".to_owned(),
            content: content(piece, other),
            match_all_occurrences,
        };
        let specs = specs.into_iter().enumerate().map(spec).collect();
        (prompt, specs)
    })
}

proptest! {
    #![proptest_config(Config { cases: 1_000, ..Config::default() })]

    #[test]
    fn the_laws_hold_for_random_prompts_and_specs(
        (system, mut specs) in prompt_and_specs(Channel::System),
        (task, of_task) in prompt_and_specs(Channel::Task),
        with_system: bool,
        tokenizer in prop::sample::select(TokenizerName::ALL),
    ) {
        specs.extend(of_task);
        let system = with_system.then_some(system);
        let prompts = Prompts { system: system.clone(), task: Some(task.clone()) };
        let context = PreparedTurnContext::from_attributed_prompts(tokenizer, prompts, &specs, Vec::new()).unwrap();
        let mut bytes = Vec::new();
        json::write(&mut bytes, &report(&context)).unwrap();
        laws::check(&serde_json::from_slice(&bytes).unwrap(), system.as_deref(), Some(&task));
    }
}
