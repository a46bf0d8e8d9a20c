//! Sources with more usage records than are held at once: they are brought in in parts.

use pollster::FutureExt;
use trace_capture::intake::import::{ImportFrom, ImportReport, ImportRequest, Keep, import};

use super::world::{NOW, World, kinds, of_agent, prompt, reply};

/// Writes a session of some megabytes with a subagent, whose replies stand on more than one line each.
fn write(world: &World) {
    let long = "word ".repeat(30_000);
    let mut text = String::new();
    for number in 0..30 {
        let (minute, id) = (2 * number, format!("msg_{number}"));
        text += &prompt("s1", minute, &long);
        text += &reply("s1", minute, &id, 1);
        text += &prompt("s1", minute, &long).replace(r#""type":"user""#, r#""type":"system""#);
        text += &reply("s1", minute + 1, &id, 10 + u64::from(number));
        if number % 10 == 9 {
            text += "{\"type\":\"assistant\",\"mess\n";
        }
    }
    world.write("projects/p/s1.jsonl", text);
    let replies: String = (0..8).map(|number| reply("s1", 2 + 7 * number, &format!("msg_a{number}"), 100)).collect();
    world.write("projects/p/s1/subagents/agent-ab12.jsonl", of_agent(&replies, "ab12"));
}

fn import_at_once(world: &World, keep: Keep, records_at_once: usize) -> ImportReport {
    let request = ImportRequest::new(ImportFrom::Paths(vec![world.files()]), keep, NOW.parse().unwrap());
    let request = ImportRequest { records_at_once, ..request };
    import(&world.home, &*world.ledger, &request, &mut |_| {}).block_on().unwrap()
}

#[test]
fn a_session_that_is_brought_in_in_parts_is_that_of_the_whole() {
    for keep in [Keep::Copies, Keep::Index] {
        let whole = World::new();
        write(&whole);
        let report = import_at_once(&whole, keep, usize::MAX);
        let rows = whole.rows();
        assert_eq!(rows[0].usage.len(), 38);
        assert_eq!(kinds(&report), ["bad_line"; 3]);
        for records_at_once in [1, 7] {
            let parts = World::new();
            write(&parts);
            let in_parts = import_at_once(&parts, keep, records_at_once);
            assert_eq!(
                (in_parts.sessions, in_parts.files, in_parts.bytes),
                (report.sessions, report.files, report.bytes)
            );
            assert_eq!(kinds(&in_parts), kinds(&report));
            assert_eq!(parts.rows(), rows, "{keep:?}, {records_at_once} at once");
            assert_eq!(parts.reindexed(), rows, "{keep:?}, {records_at_once} at once");
            assert_eq!(import_at_once(&parts, keep, records_at_once).files.unchanged, 2);
        }
    }
}
