//! The laws of an attribution document. The unit tests of the command use them too.

use serde_json::Value;
use trace_model::context::Sha256Hex;

/// Checks that the assets tile the prompts, that their hashes are those of their bytes, and that their tokens add up.
pub(crate) fn check(document: &Value, system: Option<&str>, task: Option<&str>) {
    // An empty system prompt is as good as none.
    let prompts = [("system", system.filter(|text| !text.is_empty())), ("task", task)];
    let prompts: Vec<(&str, &str)> = prompts.into_iter().filter_map(|(name, text)| Some((name, text?))).collect();
    let channels = array(document, "channels");
    let names: Vec<&str> = channels.iter().map(|channel| channel["channel"].as_str().unwrap()).collect();
    assert_eq!(names, prompts.iter().map(|(name, _)| *name).collect::<Vec<_>>());

    let mut position = 0;
    for (channel, (_, text)) in channels.iter().zip(prompts) {
        assert_eq!(number(channel, "bytes"), text.len());
        let mut end = 0;
        let mut tokens = 0;
        for asset in array(channel, "assets") {
            assert_eq!(number(asset, "position"), position);
            position += 1;
            assert_eq!(number(asset, "byte_start"), end, "a hole or an overlap before {asset}");
            let start = end;
            end = number(asset, "byte_end");
            assert_eq!(number(asset, "bytes"), end - start);
            let slice = text.get(start..end).expect("an asset begins and ends between characters");
            assert_eq!(asset["content_sha256"], Sha256Hex::of(slice.as_bytes()).to_string());
            tokens += number(asset, "attributed_tokens");
        }
        assert_eq!(end, text.len(), "the assets cover the prompt");
        assert_eq!(tokens, number(channel, "tokens"), "the tokens add up");
        assert!(!array(channel, "assets").is_empty());
    }
    let decisions = array(document, "decisions");
    assert!(decisions.iter().enumerate().all(|(index, decision)| number(decision, "position") == index));
}

fn array<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().unwrap()
}

fn number(value: &Value, key: &str) -> usize {
    usize::try_from(value[key].as_u64().unwrap()).unwrap()
}
