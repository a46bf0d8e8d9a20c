use std::{
    io::{PipeWriter, Write as _},
    sync::{Arc, Mutex},
    thread,
};

use rustix::fs::{OFlags, fcntl_setfl};
use trace_model::words::OutputStream;

use super::*;
use crate::intake::exec::process::exit_news;

/// A pump with an agent that writes into `agent`, a reader at `reader`, and `news` of the agent's exit.
struct Bench {
    agent: PipeWriter,
    news: PipeWriter,
    reader: PipeReader,
    recorded: Arc<Mutex<Vec<u8>>>,
    pump: thread::JoinHandle<PumpEnd>,
}

impl Bench {
    fn start() -> Self {
        Self::start_with(|_| {})
    }

    fn start_with(prepare_sink: impl FnOnce(&PipeWriter)) -> Self {
        let (source, agent) = io::pipe().unwrap();
        let (reader, sink) = io::pipe().unwrap();
        prepare_sink(&sink);
        let (watch, news) = exit_news().unwrap();
        let recorded = Arc::new(Mutex::new(Vec::new()));
        let record = Arc::clone(&recorded);
        let tee = Tee { stream: OutputStream::Stdout, source, sink: sink.into() };
        let pump = thread::spawn(move || pump(tee, &watch, |bytes| record.lock().unwrap().extend_from_slice(bytes)));
        Self { agent, news, reader, recorded, pump }
    }
}

fn bytes(count: usize) -> Vec<u8> {
    (0..=u8::MAX).cycle().step_by(7).take(count).collect()
}

#[test]
fn every_byte_is_on_record_before_it_is_passed_on() {
    let Bench { mut agent, news: _news, mut reader, recorded, pump } = Bench::start();
    let sent = bytes(10 << 20);
    let writer = thread::spawn({
        let sent = sent.clone();
        move || agent.write_all(&sent).unwrap()
    });
    let mut seen = Vec::new();
    let mut chunk = [0; 7919];
    loop {
        let read = reader.read(&mut chunk).unwrap();
        if read == 0 {
            break;
        }
        seen.extend_from_slice(&chunk[..read]);
        assert!(recorded.lock().unwrap().len() >= seen.len());
    }
    writer.join().unwrap();
    assert!(matches!(pump.join().unwrap(), PumpEnd::EndOfFile));
    assert!(seen == sent && *recorded.lock().unwrap() == sent);
}

#[test]
fn a_sink_that_closes_closes_the_source_of_a_silent_agent() {
    let Bench { mut agent, news: _news, reader, pump, .. } = Bench::start();
    drop(reader);
    assert!(matches!(pump.join().unwrap(), PumpEnd::SinkClosed));
    assert_eq!(agent.write_all(b"late").unwrap_err().kind(), io::ErrorKind::BrokenPipe);
}

#[test]
fn what_was_written_before_the_sink_closed_is_on_record() {
    let (source, mut agent) = io::pipe().unwrap();
    let (reader, sink) = io::pipe().unwrap();
    let (watch, _news) = exit_news().unwrap();
    agent.write_all(b"before").unwrap();
    drop(reader);
    let mut recorded = Vec::new();
    let tee = Tee { stream: OutputStream::Stdout, source, sink: sink.into() };
    assert!(matches!(pump(tee, &watch, |bytes| recorded.extend_from_slice(bytes)), PumpEnd::SinkClosed));
    assert_eq!(recorded, b"before");
}

#[test]
fn a_stream_that_is_held_open_in_silence_is_left_after_the_exit() {
    let Bench { mut agent, mut news, mut reader, pump, .. } = Bench::start();
    agent.write_all(b"last words").unwrap();
    news.write_all(b"x").unwrap();
    assert!(matches!(pump.join().unwrap(), PumpEnd::HeldOpen));
    let mut seen = String::new();
    reader.read_to_string(&mut seen).unwrap();
    assert_eq!(seen, "last words");
    assert!(agent.write_all(b"lost").is_err());
}

#[test]
fn a_stream_that_ends_with_the_agent_is_read_to_its_end() {
    let Bench { mut agent, mut news, mut reader, pump, .. } = Bench::start();
    news.write_all(b"x").unwrap();
    agent.write_all(b"after the exit").unwrap();
    drop(agent);
    assert!(matches!(pump.join().unwrap(), PumpEnd::EndOfFile));
    let mut seen = String::new();
    reader.read_to_string(&mut seen).unwrap();
    assert_eq!(seen, "after the exit");
}

#[test]
fn a_process_that_prints_without_end_is_left_when_nothing_is_waited_for() {
    let Bench { mut agent, news, mut reader, pump, .. } = Bench::start();
    let printer = thread::spawn(move || while agent.write_all(&[b'y'; 4096]).is_ok() {});
    let sink = thread::spawn(move || io::copy(&mut reader, &mut io::sink()));
    drop(news);
    assert!(matches!(pump.join().unwrap(), PumpEnd::HeldOpen));
    printer.join().unwrap();
    sink.join().unwrap().unwrap();
}

#[test]
fn a_sink_that_does_not_block_gets_every_byte_too() {
    let Bench { mut agent, news: _news, mut reader, pump, .. } =
        Bench::start_with(|sink| fcntl_setfl(sink, OFlags::NONBLOCK).unwrap());
    let sent = bytes(1 << 20);
    let writer = thread::spawn({
        let sent = sent.clone();
        move || agent.write_all(&sent).unwrap()
    });
    let mut seen = Vec::new();
    reader.read_to_end(&mut seen).unwrap();
    writer.join().unwrap();
    assert!(matches!(pump.join().unwrap(), PumpEnd::EndOfFile));
    assert!(seen == sent);
}

#[test]
fn a_file_takes_every_byte() {
    let (source, mut agent) = io::pipe().unwrap();
    let (watch, _news) = exit_news().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    let sink = std::fs::File::create(&path).unwrap();
    agent.write_all(b"to a file").unwrap();
    drop(agent);
    let tee = Tee { stream: OutputStream::Stdout, source, sink: sink.into() };
    assert!(matches!(pump(tee, &watch, |_| {}), PumpEnd::EndOfFile));
    assert_eq!(std::fs::read(path).unwrap(), b"to a file");
}
