//! A home, a ledger, and the files of an agent.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use pollster::FutureExt;
use tempfile::TempDir;
use trace_capture::{
    Home, MemoryLedger,
    intake::import::{ImportFrom, ImportReport, ImportRequest, Keep, import},
    reindex::reindex,
};
use trace_model::{
    ledger::Ledger,
    query::LaunchQuery,
    rows::{LaunchRows, TurnRows},
    timestamp::Timestamp,
    totals::Totals,
    usage_query::UsageQuery,
};

/// When imports are made: long after anything that the files tell.
pub(crate) const NOW: &str = "2030-01-01T00:00:00Z";

pub(crate) struct World {
    pub(crate) folder: TempDir,
    pub(crate) home: Home,
    pub(crate) ledger: Arc<dyn Ledger>,
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let home = Home::open_real(&folder.path().join("home")).unwrap();
        fs::create_dir(folder.path().join("files")).unwrap();
        Self { folder, home, ledger: Arc::new(MemoryLedger::new()) }
    }

    /// Returns the folder of the agent's files.
    pub(crate) fn files(&self) -> PathBuf {
        self.folder.path().join("files")
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.files().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn append(&self, name: &str, text: impl AsRef<[u8]>) {
        use std::io::Write;
        let path = self.files().join(name);
        fs::OpenOptions::new().append(true).open(path).unwrap().write_all(text.as_ref()).unwrap();
    }

    pub(crate) fn import(&self, keep: Keep) -> ImportReport {
        self.import_paths(keep, &[self.files()])
    }

    pub(crate) fn import_paths(&self, keep: Keep, paths: &[PathBuf]) -> ImportReport {
        let now: Timestamp = NOW.parse().unwrap();
        let request = ImportRequest::new(ImportFrom::Paths(paths.to_vec()), keep, now);
        import(&self.home, &*self.ledger, &request, &mut |_| {}).block_on().unwrap()
    }

    pub(crate) fn rows(&self) -> Vec<LaunchRows> {
        rows(&*self.ledger)
    }

    /// Returns what a ledger holds that is made of the files of the home alone.
    pub(crate) fn reindexed(&self) -> Vec<LaunchRows> {
        let ledger = MemoryLedger::new();
        let report = reindex(&self.home, &ledger, &mut |_| {}).block_on().unwrap();
        assert_eq!(report.failed, 0, "{:?}", report.notes);
        rows(&ledger)
    }

    pub(crate) fn totals(&self) -> Totals {
        let cells = self.ledger.usage_cells(&UsageQuery::default()).block_on().unwrap();
        Totals::of_sums(cells.iter().map(|cell| (cell.launch_id, &cell.sum)))
    }
}

pub(crate) fn rows(ledger: &dyn Ledger) -> Vec<LaunchRows> {
    let read = async {
        let mut all = Vec::new();
        for launch in ledger.launches(&LaunchQuery::default()).await.unwrap() {
            let id = launch.header.id;
            let mut turns = Vec::new();
            for row in ledger.turns(id).await.unwrap() {
                let assets = ledger.assets(row.turn.id).await.unwrap();
                let decisions = ledger.decisions(row.turn.id).await.unwrap();
                turns.push(TurnRows { turn: row.turn, assets, decisions });
            }
            let usage = ledger.usage(id).await.unwrap().into_iter().map(|row| row.record);
            let usage = usage.map(|record| (record.report.key.clone(), record)).collect();
            all.push(LaunchRows { launch, turns, usage });
        }
        all
    };
    read.block_on()
}

/// Returns the kinds of the notes, sorted.
pub(crate) fn kinds(report: &ImportReport) -> Vec<&str> {
    let mut kinds: Vec<&str> = report.notes.iter().map(|note| note.kind.as_str()).collect();
    kinds.sort_unstable();
    kinds
}

/// A line of a transcript, of the minute of an hour.
pub(crate) fn prompt(session: &str, minute: u32, text: &str) -> String {
    format!(
        r#"{{"type":"user","sessionId":"{session}","uuid":"u{session}{minute}","cwd":"/home/ada/work","version":"2.1.0","isSidechain":false,"timestamp":"2026-03-02T09:{minute:02}:00.000Z","message":{{"role":"user","content":"{text}"}}}}"#
    ) + "\n"
}

/// A reply of ten prompt tokens and so many of output.
pub(crate) fn reply(session: &str, minute: u32, id: &str, output: u64) -> String {
    reply_of("claude-sonnet-4-5-20250929", session, minute, id, output)
}

pub(crate) fn reply_of(model: &str, session: &str, minute: u32, id: &str, output: u64) -> String {
    format!(
        r#"{{"type":"assistant","sessionId":"{session}","uuid":"a{id}{minute}","cwd":"/home/ada/work","version":"2.1.0","isSidechain":false,"timestamp":"2026-03-02T09:{minute:02}:01.000Z","requestId":"req_{id}","message":{{"id":"{id}","type":"message","role":"assistant","model":"{model}","content":[{{"type":"text","text":"ok"}}],"stop_reason":"end_turn","usage":{{"input_tokens":10,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":{output}}}}}}}"#
    ) + "\n"
}

/// Returns the same line as one of a subagent.
pub(crate) fn of_agent(line: &str, agent: &str) -> String {
    line.replace(r#""isSidechain":false"#, &format!(r#""isSidechain":true,"agentId":"{agent}""#))
}

/// Tells whether a file with this name is anywhere below the folder.
pub(crate) fn holds(folder: &Path, name: &str) -> bool {
    fs::read_dir(folder)
        .unwrap()
        .flatten()
        .any(|entry| entry.file_name() == name || entry.file_type().unwrap().is_dir() && holds(&entry.path(), name))
}
