//! Lines of a store, and what the reader makes of them.

use serde_json::Value;
use trace_model::usage::UsageReport;
use trace_providers::{Detail, Observation, SourceFormat, reader_for};

/// Returns the lines as values.
pub(super) fn values(lines: &[u8]) -> Vec<Value> {
    let lines = lines.strip_suffix(b"\n").unwrap_or(lines);
    lines
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}

/// Returns the ids of the rows of a table, in their order.
pub(super) fn ids(lines: &[u8], table: &str) -> Vec<String> {
    let of_table = values(lines).into_iter().filter(|line| line["table"] == table);
    of_table.map(|line| line["row"]["id"].as_str().unwrap().to_owned()).collect()
}

/// Returns the usage that the reader finds in the lines.
pub(super) fn usage(lines: &[u8]) -> Vec<UsageReport> {
    let mut reader = reader_for(SourceFormat::OpenCodeStore, Detail::Usage).unwrap();
    let mut out = Vec::new();
    reader.push(lines, &mut out);
    reader.finish(&mut out);
    let reports = out.into_iter().filter_map(|seen| match seen {
        Observation::Usage(report) => Some(report),
        _ => None,
    });
    reports.collect()
}

/// Returns input, cache read and output of all requests.
pub(super) fn sums(lines: &[u8]) -> [u64; 3] {
    usage(lines).iter().fold([0; 3], |sums, report| {
        let classes = [report.input_tokens, report.cache_read_tokens, report.output_tokens];
        std::array::from_fn(|class| sums[class] + classes[class].unwrap_or(0))
    })
}
