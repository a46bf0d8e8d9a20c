//! What Claude Code tells the command of its status line.
//!
//! The fields are those of <https://code.claude.com/docs/en/statusline>. Each is read by itself: one that is missing or
//! of another kind is unknown, and the others are not.

use std::path::PathBuf;

use serde_json::Value;
use trace_model::money::NanoUsd;

/// The session that the status line is of.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Said {
    /// `session_id`.
    pub(super) session: Option<String>,
    /// `transcript_path`: the session's file.
    pub(super) transcript: Option<PathBuf>,
    /// `model.id`; a `[1m]` behind it selects the window.
    pub(super) model_id: Option<String>,
    /// `model.display_name`.
    pub(super) model_name: Option<String>,
    /// `context_window.context_window_size`.
    pub(super) window: Option<u64>,
    /// `context_window.used_percentage`, rounded; null after a compaction.
    pub(super) used_per_cent: Option<u64>,
    /// The prompt of the last request: `context_window.current_usage` without what was produced.
    pub(super) context_tokens: Option<u64>,
    /// `cost.total_cost_usd`: of the process, which may have had other sessions before.
    pub(super) cost: Option<NanoUsd>,
}

impl Said {
    /// Returns the session: what its file is called tells it, too.
    pub(super) fn session(&self) -> Option<&str> {
        self.session.as_deref().or_else(|| self.transcript.as_deref()?.file_stem()?.to_str())
    }

    /// Reads the document; `None` if it is no JSON object.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let said: Value = serde_json::from_slice(bytes).ok()?;
        if !said.is_object() {
            return None;
        }
        let text = |pointer: &str| said.pointer(pointer)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let number = |pointer: &str| said.pointer(pointer)?.as_u64();
        let usage = |class: &str| number(&format!("/context_window/current_usage/{class}"));
        let prompt = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"];
        Some(Self {
            session: text("/session_id"),
            transcript: text("/transcript_path").map(PathBuf::from),
            model_id: text("/model/id"),
            model_name: text("/model/display_name"),
            window: number("/context_window/context_window_size").filter(|window| *window > 0),
            used_per_cent: said.pointer("/context_window/used_percentage").and_then(rounded),
            context_tokens: trace_model::totals::add_known(prompt.map(usage)),
            cost: said
                .pointer("/cost/total_cost_usd")
                .filter(|cost| cost.is_number())
                .and_then(|cost| cost.to_string().parse().ok()),
        })
    }
}

/// Returns a number as the nearest whole one.
fn rounded(value: &Value) -> Option<u64> {
    let text = value.as_f64().filter(|number| (0.0..1e9).contains(number))?.round().to_string();
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_read() {
        let said = Said::read(
            br#"{"session_id": "s-1", "transcript_path": "/t/s-1.jsonl", "cwd": "/src", "version": "2.1.251",
                "model": {"id": "claude-opus-4-8[1m]", "display_name": "Opus 4.8"},
                "cost": {"total_cost_usd": 0.0393, "total_duration_ms": 45000},
                "context_window": {"total_input_tokens": 15234, "context_window_size": 1000000,
                    "used_percentage": 12.5, "current_usage": {"input_tokens": 5, "output_tokens": 7,
                    "cache_creation_input_tokens": 100, "cache_read_input_tokens": 2000}}}"#,
        );
        let expected = Said {
            session: Some("s-1".to_owned()),
            transcript: Some("/t/s-1.jsonl".into()),
            model_id: Some("claude-opus-4-8[1m]".to_owned()),
            model_name: Some("Opus 4.8".to_owned()),
            window: Some(1_000_000),
            used_per_cent: Some(13),
            context_tokens: Some(2_105),
            cost: Some(NanoUsd::from_nanos(39_300_000)),
        };
        assert_eq!(said, Some(expected));
    }

    #[test]
    fn the_file_names_the_session_where_nothing_else_does() {
        let said = Said::read(br#"{"transcript_path": "/t/s-1.jsonl"}"#).unwrap();
        assert_eq!(said.session(), Some("s-1"));
        let said = Said::read(br#"{"transcript_path": "/t/s-1.jsonl", "session_id": "s-2"}"#).unwrap();
        assert_eq!(said.session(), Some("s-2"));
        assert_eq!(Said::default().session(), None);
    }

    #[test]
    fn a_field_of_another_kind_is_unknown_and_the_others_are_not() {
        let said = Said::read(
            br#"{"session_id": 7, "model": "opus", "cost": {"total_cost_usd": "1"},
                "context_window": {"context_window_size": 200000, "used_percentage": null, "current_usage": null}}"#,
        );
        assert_eq!(said, Some(Said { window: Some(200_000), ..Said::default() }));
        assert_eq!(Said::read(b"{}"), Some(Said::default()));
        for bad in [&b"[]"[..], b"null", b"{", b"\xff", b"text", b"{\"a\": \"\\ud83d\"}"] {
            assert_eq!(Said::read(bad), None);
        }
    }
}
