//! The power is cut at every single file operation.

use trace_capture::artifacts::{Home, LaunchFiles};
use trace_model::words::OutputStream;
use trace_testkit::{SimulatedFiles, Unsynced, samples};

use super::support::{events, home, line, only_launch, publish, try_home, turn_opened, write_turn};

/// What a writer knows to be on disk when the power is cut.
#[derive(Debug, Default, Clone, Copy)]
struct Known {
    published: bool,
    /// The events with lower seqs survive.
    events: u64,
    /// The bytes of stdout that survive.
    raw: usize,
    turns: u32,
}

const RAW: &[u8] = b"{\"type\":\"system\"}\n";

/// Writes until the power is cut, and returns what was promised until then.
fn write(files: &SimulatedFiles) -> Known {
    let mut known = Known::default();
    let Ok(home) = try_home(files) else { return known };
    let Ok(mut launch) = publish(&home, &samples::header(1), 1) else { return known };
    known = Known { published: true, events: 2, raw: RAW.len(), turns: 1 };
    // What fails from here on is not promised; it must not take away what was.
    let _ = go_on(&mut launch, &mut known);
    known
}

fn go_on(launch: &mut LaunchFiles, known: &mut Known) -> Result<(), Box<dyn std::error::Error>> {
    let handles = launch.sync_handles()?;
    launch.append_raw(OutputStream::Stdout, samples::time(9), RAW)?;
    launch.append(&line(2))?;
    launch.append(&line(3))?;
    handles.sync()?;
    known.events = 4;
    known.raw = 2 * RAW.len();
    let written = write_turn(launch, 1, 2)?;
    known.turns = 2;
    launch.append(&turn_opened(4, samples::turn(1, 2), written.context_sha256))?;
    handles.sync()?;
    known.events = 5;
    launch.append(&line(5))?;
    Ok(())
}

fn what_was_promised_is_there(home: &Home, known: Known, case: &str) {
    let Some(launch) = only_launch(home) else {
        assert!(!known.published, "{case}: a published launch is gone");
        drop(publish(home, &samples::header(1), 1).unwrap());
        return;
    };
    assert_eq!(launch.header(), &samples::header(1), "{case}");
    let (seqs, skipped, tail) = events(&launch);
    let whole = u64::try_from(seqs.len()).unwrap();
    // Whatever has a name was whole when it got it.
    assert!(whole >= known.events.max(2), "{case}: {seqs:?} of {known:?}");
    assert_eq!(seqs, (0..whole).collect::<Vec<u64>>(), "{case}");
    assert_eq!(skipped, 0, "{case}");
    // Where a sync failed, the system may leave zeros.
    let is_zeros = tail.iter().all(|byte| *byte == 0);
    assert!(line(whole).starts_with(&tail) || whole == 4 || is_zeros, "{case}: {tail:?}");
    for ordinal in 1..=known.turns.max(1) {
        launch.context(ordinal).unwrap_or_else(|error| panic!("{case}: {error}"));
    }
    let mut raw = Vec::new();
    launch.raw(OutputStream::Stdout).unwrap().read_to_end(&mut raw).unwrap();
    assert!(raw.len() >= known.raw, "{case}");
}

#[test]
fn what_was_promised_survives_a_power_cut_at_every_operation() {
    let kept = [0, 1, 5, 50, 5_000].map(|bytes| Unsynced::Kept { bytes });
    for unsynced in [Unsynced::Lost].into_iter().chain(kept) {
        for nth in 1.. {
            let files = SimulatedFiles::new();
            files.fail_forever_at(nth);
            let known = write(&files);
            let cut = home(&files.after_power_cut(unsynced));
            what_was_promised_is_there(&cut, known, &format!("{unsynced:?} at operation {nth}"));
            if !files.has_failed() {
                assert_eq!(known.events, 5);
                break;
            }
        }
    }
}

#[test]
fn a_torn_tail_keeps_the_whole_events() {
    let files = SimulatedFiles::new();
    let mut launch = publish(&home(&files), &samples::header(1), 1).unwrap();
    launch.append(&line(2)).unwrap();
    for bytes in 0..line(2).len() - 1 {
        let cut = files.after_power_cut(Unsynced::Kept { bytes });
        let launch = only_launch(&home(&cut)).unwrap();
        assert_eq!(events(&launch), (vec![0, 1], 0, line(2)[..bytes].to_vec()));
    }
}
