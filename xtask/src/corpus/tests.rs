//! What is made is the same each time, and costs what its truth says.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::tempdir;

use super::truth::Usage;
use super::*;

const PLAN: Plan = Plan { seed: 7, bytes: 3_000_000, files: 12, line_bytes: LINE_BYTES };

/// Returns the files under a folder with what they hold.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.insert(path.strip_prefix(folder).unwrap().to_owned(), fs::read(&path).unwrap());
            }
        }
    }
    files
}

fn made(plan: Plan) -> BTreeMap<PathBuf, Vec<u8>> {
    let out = tempdir().unwrap();
    make(out.path(), plan).unwrap();
    files(out.path())
}

/// Returns the files with lines.
fn transcripts(files: &BTreeMap<PathBuf, Vec<u8>>) -> impl Iterator<Item = (&PathBuf, &Vec<u8>)> {
    files.iter().filter(|(path, _)| path.extension().is_some_and(|extension| extension == "jsonl"))
}

#[test]
fn one_seed_makes_the_same_bytes_and_another_one_others() {
    let first = made(PLAN);
    assert!(first == made(PLAN), "the same seed made other bytes");
    assert!(first != made(Plan { seed: 8, ..PLAN }), "another seed made the same bytes");
}

#[test]
fn a_plain_count_of_the_lines_is_what_the_truth_says() {
    let files = made(PLAN);
    let truth: Value = serde_json::from_slice(&files[Path::new("truth.json")]).unwrap();
    let mut seen = BTreeMap::new();
    let mut lines = 0;
    for line in transcripts(&files).flat_map(|(_, bytes)| bytes.split(|byte| *byte == b'\n')) {
        if line.is_empty() {
            continue;
        }
        lines += 1;
        let line: Value = serde_json::from_slice(line).unwrap();
        let Some(message) = line["message"].as_object().filter(|_| line["type"] == "assistant") else { continue };
        let id = message["id"].as_str().unwrap().to_owned();
        assert_eq!((id.len(), line["requestId"].as_str().unwrap().len()), (28, 28));
        let figures = &message["usage"];
        let figure = |name: &str| figures[name].as_u64().unwrap();
        let written = |name: &str| figures["cache_creation"][name].as_u64().unwrap();
        let usage = Usage {
            input_tokens: figure("input_tokens"),
            cache_read_tokens: figure("cache_read_input_tokens"),
            cache_write_tokens: figure("cache_creation_input_tokens"),
            cache_write_5m_tokens: written("ephemeral_5m_input_tokens"),
            cache_write_1h_tokens: written("ephemeral_1h_input_tokens"),
            output_tokens: figure("output_tokens"),
            ..Usage::default()
        };
        let model = message["model"].as_str().unwrap().to_owned();
        let (known, count) = seen.entry(id).or_insert(((model, usage), 0));
        known.1.output_tokens = known.1.output_tokens.max(usage.output_tokens);
        *count += 1;
    }
    assert_eq!(truth["lines"].as_u64(), Some(lines));
    assert!(seen.values().all(|(_, lines)| *lines == 3), "three lines per reply");
    let mut totals = Usage::default();
    let mut models: BTreeMap<String, Usage> = BTreeMap::new();
    for ((model, usage), _) in seen.into_values() {
        totals.add(usage);
        models.entry(model).or_default().add(usage);
    }
    assert_eq!(serde_json::to_value(totals).unwrap(), truth["totals"]);
    assert_eq!(serde_json::to_value(&models).unwrap(), truth["models"]);
    assert!(totals.cache_write_5m_tokens > 0 && totals.cache_write_1h_tokens > 0);
    assert!(models.len() > 1);
}

#[test]
fn it_is_about_as_large_as_was_asked_for_and_one_file_holds_three_eighths() {
    let files = made(PLAN);
    let sizes: Vec<u64> = transcripts(&files).map(|(_, bytes)| u64::try_from(bytes.len()).unwrap()).collect();
    let all: u64 = sizes.iter().sum();
    assert!(all.abs_diff(PLAN.bytes) < PLAN.bytes / 5, "{all} bytes");
    let largest = *sizes.iter().max().unwrap();
    assert!(largest.abs_diff(PLAN.bytes * 3 / 8) < PLAN.bytes / 20, "{largest} bytes");
    assert_eq!(u64::try_from(sizes.len()).unwrap(), PLAN.files);
    let truth: Value = serde_json::from_slice(&files[Path::new("truth.json")]).unwrap();
    assert_eq!((truth["bytes"].as_u64(), truth["files"].as_u64()), (Some(all), Some(PLAN.files)));
}

#[test]
fn lines_are_about_as_long_as_was_asked_for() {
    for line_bytes in [1_500, LINE_BYTES] {
        let files = made(Plan { line_bytes, ..PLAN });
        let truth: Value = serde_json::from_slice(&files[Path::new("truth.json")]).unwrap();
        let mean = truth["bytes"].as_u64().unwrap() / truth["lines"].as_u64().unwrap();
        let expected = u64::try_from(line_bytes).unwrap();
        assert!(mean.abs_diff(expected) < expected / 5, "{mean} for {expected}");
    }
}

#[test]
fn a_subagent_has_a_file_of_its_own_under_its_session() {
    let files = made(PLAN);
    let sessions: BTreeSet<&str> = transcripts(&files).filter_map(|(path, _)| path.file_stem()?.to_str()).collect();
    let subagents: Vec<&PathBuf> =
        files.keys().filter(|path| path.to_string_lossy().contains("/subagents/agent-")).collect();
    assert_eq!(subagents.len(), 8, "four with what is said of each");
    for path in subagents {
        let session = path.ancestors().nth(2).and_then(Path::file_name).unwrap().to_str().unwrap();
        assert!(sessions.contains(session), "{}", path.display());
    }
}

#[test]
fn sizes_are_read_with_their_units() {
    for (text, bytes) in [("1.6GB", 1_600_000_000), ("250 kB", 250_000), ("4096", 4096), ("0.5mb", 500_000)] {
        assert_eq!(text.parse::<ByteCount>().unwrap(), ByteCount(bytes), "{text}");
    }
    for text in ["", "GB", "1.6TB", "1.x MB", "-1"] {
        assert!(text.parse::<ByteCount>().is_err(), "{text}");
    }
}

#[test]
fn nothing_is_made_inside_of_the_repository_or_over_other_files() {
    let root = tempdir().unwrap();
    let plan = Plan { bytes: 1_000, files: 1, ..PLAN };
    assert!(run(root.path(), &root.path().join("corpus"), plan).is_err());
    let other = tempdir().unwrap();
    run(root.path(), other.path(), plan).unwrap();
    assert!(run(root.path(), other.path(), plan).is_err());
}
