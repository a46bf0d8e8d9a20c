//! Unit tests of the codec. That every payload survives its line is shown where events are made, in the fold's tests
//! and in the property test of `trace-testkit`'s strategies.

use std::{string::ToString, vec};

use proptest::prelude::*;

use super::*;

fn line(json: &str) -> Line {
    decode(json.as_bytes()).unwrap()
}

#[test]
fn a_type_of_a_newer_writer_is_unknown_and_not_lost() {
    let unknown =
        line(r#"{"schema_version":1,"seq":7,"ts":"2026-01-01T00:00:00Z","payload":{"type":"hologram","x":[1]}}"#);
    assert_eq!(
        unknown,
        Line::Unknown(UnknownEvent { schema_version: 1, seq: Some(7), kind: Some("hologram".to_string()) })
    );
}

#[test]
fn a_later_schema_is_unknown_even_where_its_type_is_known() {
    for json in [
        r#"{"schema_version":2,"seq":7,"ts":"2026-01-01T00:00:00Z","payload":{"type":"legacy_text","stream":"x"}}"#,
        r#"{"schema_version":2,"seq":7}"#,
        r#"{"schema_version":2,"seq":7,"ts":"2026-01-01T00:00:00Z","payload":{"type":"capture_error","message":"m"}}"#,
    ] {
        assert!(matches!(line(json), Line::Unknown(UnknownEvent { schema_version: 2, seq: Some(7), .. })), "{json}");
    }
}

#[test]
fn what_is_no_event_says_why() {
    for (bytes, why) in [
        (&b""[..], "EOF"),
        (b"{\"schema_version\":1,\"se", "EOF"),
        (b"[]", "invalid length"),
        (b"{\"seq\":1}", "missing field `schema_version`"),
        (b"{\"schema_version\":1,\"seq\":1,\"ts\":\"2026-01-01T00:00:00Z\"}", "payload is missing"),
        (b"{\"schema_version\":1,\"seq\":1,\"payload\":{\"type\":\"receipt\"}}", "ts is missing"),
        (
            b"{\"schema_version\":1,\"ts\":\"2026-01-01T00:00:00Z\",\"payload\":{\"type\":\"receipt\"}}",
            "seq is missing",
        ),
        (
            b"{\"schema_version\":1,\"seq\":1,\"ts\":\"2026-01-01T00:00:00Z\",\"payload\":{\"type\":\"legacy_tool\"}}",
            "missing field `name`",
        ),
        (b"\xff\xfe", "expected value"),
    ] {
        let error = decode(bytes).unwrap_err().to_string();
        assert!(error.contains(why), "{error:?} does not say {why:?}");
    }
}

#[test]
fn the_list_of_known_types_is_what_payloads_are_called() {
    // serde names the allowed variants when it meets an unknown one.
    let error = serde_json::from_str::<Payload>(r#"{"type":"hologram"}"#).unwrap_err().to_string();
    for known in KNOWN {
        assert!(error.contains(&alloc::format!("`{known}`")), "{known} is no payload");
    }
    assert_eq!(error.matches('`').count(), 2 * (KNOWN.len() + 1), "{error}");
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode(&bytes);
    }

    #[test]
    fn any_text_survives_a_line_and_stays_on_it(text in ".*") {
        let event = Event {
            schema_version: SCHEMA_VERSION,
            seq: 0,
            ts: Timestamp::UNIX_EPOCH,
            turn_id: None,
            agent: Agent::Sub(text.clone() + "x"),
            raw: None,
            payload: Payload::CaptureError { message: text, lost_events: None },
        };
        let mut bytes = vec![];
        encode(&event, &mut bytes);
        prop_assert_eq!(bytes.iter().position(|byte| *byte == b'\n'), Some(bytes.len() - 1));
        prop_assert_eq!(decode(&bytes).unwrap(), Line::Event(event));
    }
}
