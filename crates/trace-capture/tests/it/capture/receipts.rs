//! What the provider says about itself.

use trace_capture::{Capture, Start};
use trace_model::{
    event::{Payload, Receipt},
    words::{OutputStream, Provider},
};

use super::support::{Rig, events, labels, prompt};

#[test]
fn the_session_of_an_unknown_provider_is_read_from_its_bytes_whatever_their_pieces() {
    let rig = Rig::new();
    let capture = rig.begin();
    for piece in [&b"noise\n{\"type\":\"x\",\"sess"[..], b"ionID\":\"ses_1\"}\n", b"{\"sessionID\":\"ses_2\"}\n"] {
        capture.record_raw(OutputStream::Stdout, piece);
    }
    let sessions: Vec<_> = events(&rig.home)
        .into_iter()
        .filter_map(|event| match event.payload {
            Payload::Receipt(receipt) => receipt.provider_session_id,
            _ => None,
        })
        .collect();
    assert_eq!(sessions, ["ses_1"]);
}

#[test]
fn an_observed_session_fills_only_an_empty_one_and_a_stated_one_replaces() {
    let rig = Rig::new();
    let capture = rig.begin();
    let observed = |id: &str| Receipt { provider_session_id: Some(id.to_owned()), ..Receipt::default() };
    capture.record_receipt(observed("s1"));
    capture.record_receipt(observed("s2"));
    capture.set_provider_session_id("s3");
    capture.set_provider_session_path("/s3.jsonl");
    capture.record_receipt(Receipt { provider: Some(Provider::Codex), ..observed("s4") });
    drop(capture);
    let launch = &rig.rows()[0]["launch"];
    assert_eq!((&launch["provider_session_id"], &launch["provider"]), (&"s3".into(), &"codex".into()));
    assert_eq!(launch["provider_session_path"], "/s3.jsonl");
}

#[test]
fn raw_output_is_kept_verbatim_and_only_where_it_is_wanted() {
    let rig = Rig::new();
    let raw = Start { raw: true, ..Start::new(Provider::Unknown, "headless") };
    let capture = Capture::blocking_begin(&rig.env, labels(), prompt("x"), raw).unwrap();
    let bytes = b"torn \xff\xc3 bytes\n";
    capture.record_raw(OutputStream::Stdout, bytes);
    capture.record_raw(OutputStream::Stderr, b"oops");
    let silent = rig.begin();
    silent.record_raw(OutputStream::Stdout, bytes);
    let kept: Vec<_> = rig.files.paths().into_iter().filter(|path| path.ends_with("raw/stdout")).collect();
    let [stdout] = &kept[..] else { panic!("{kept:?}") };
    assert_eq!(rig.files.content(stdout).unwrap(), bytes);
    assert_eq!(silent.status().trouble, None, "it is no trouble that nobody wants the bytes");
}
