//! `cargo xtask bench`: measures against the floors, in one table, and holds the gates.
//!
//! A bench prints one JSON object a line:
//! `{"name": "10 MB, 1,000 specs", "value": 1.2, "unit": "x floor", "gate": {"max": 1.5}, "note": null}`.
//! The gate is `{"max": n}`, `{"min": n}` or null; a value that cannot be measured on this machine is null, and its
//! note says why. Lines that do not begin with `{` are for the person who watches.

use std::fmt;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use comfy_table::{CellAlignment, Table, presets};
use serde::Deserialize;
use toml::Value;

use crate::commands::{cargo, output};
use crate::workspace::{Crate, Workspace};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Measurement {
    name: String,
    value: Option<f64>,
    unit: String,
    gate: Option<Gate>,
    note: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Gate {
    Max(f64),
    Min(f64),
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Max(limit) => write!(f, "at most {limit}"),
            Self::Min(limit) => write!(f, "at least {limit}"),
        }
    }
}

impl Gate {
    fn holds(self, value: f64) -> bool {
        match self {
            Self::Max(limit) => value <= limit,
            Self::Min(limit) => value >= limit,
        }
    }
}

/// What a measurement says about its gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Holds,
    Failed,
    Ungated,
    NotMeasurable,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Holds => "ok",
            Self::Failed => "FAILED",
            Self::Ungated => "",
            Self::NotMeasurable => "not measurable",
        })
    }
}

impl Measurement {
    fn verdict(&self) -> Verdict {
        match (self.value, self.gate) {
            (Some(value), Some(gate)) if gate.holds(value) => Verdict::Holds,
            (Some(_), None) => Verdict::Ungated,
            (None, _) if self.note.is_some() => Verdict::NotMeasurable,
            _ => Verdict::Failed,
        }
    }
}

/// Runs the benches whose package or name contains one of `names`, or all, and returns whether every gate holds.
pub(crate) fn run(root: &Path, names: &[String]) -> Result<bool> {
    let chosen = |(package, bench): &(&str, &str)| {
        names.is_empty() || names.iter().any(|name| package.contains(name) || bench.contains(name))
    };
    let workspace = Workspace::read(root)?;
    let benches: Vec<_> = workspace.crates.iter().flat_map(declared).filter(chosen).collect();
    ensure!(!benches.is_empty(), "no bench has such a name");

    let mut measurements = Vec::new();
    let mut failed = Vec::new();
    for (package, bench) in benches {
        match measure(root, package, bench) {
            Ok(found) => measurements.extend(found),
            Err(error) => {
                eprintln!("{error:#}");
                failed.push(format!("bench {bench} of {package}"));
            }
        }
    }
    println!("{}", table(&measurements).trim_fmt());
    let broken = measurements.iter().filter(|measurement| measurement.verdict() == Verdict::Failed);
    failed.extend(broken.map(|measurement| measurement.name.clone()));
    if !failed.is_empty() {
        println!("failed: {}", failed.join("; "));
    }
    Ok(failed.is_empty())
}

/// Returns the benches that a manifest declares: package and name.
fn declared(member: &Crate) -> impl Iterator<Item = (&str, &str)> {
    let benches = member.manifest.get("bench").and_then(Value::as_array).into_iter().flatten();
    benches.filter_map(|bench| Some((member.name.as_str(), bench.get("name")?.as_str()?)))
}

/// Runs one bench. One that measures nothing is an error, not a bench without gates.
fn measure(root: &Path, package: &str, bench: &str) -> Result<Vec<Measurement>> {
    let call = cargo(root).args(["bench", "--locked", "--package", package, "--bench", bench]);
    let found = read(&output(call)?)?;
    ensure!(!found.is_empty(), "bench {bench} of {package} measured nothing");
    Ok(found)
}

fn read(printed: &str) -> Result<Vec<Measurement>> {
    let mut measurements = Vec::new();
    for line in printed.lines() {
        if line.starts_with('{') {
            measurements.push(serde_json::from_str(line).with_context(|| format!("read `{line}`"))?);
        } else if !line.is_empty() {
            eprintln!("{line}");
        }
    }
    Ok(measurements)
}

fn table(measurements: &[Measurement]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["measured", "value", "unit", "gate", "", "note"]);
    for measurement in measurements {
        table.add_row([
            measurement.name.clone(),
            measurement.value.map_or_else(|| "–".to_owned(), figure),
            measurement.unit.clone(),
            measurement.gate.map_or_else(String::new, |gate| gate.to_string()),
            measurement.verdict().to_string(),
            measurement.note.clone().unwrap_or_default(),
        ]);
    }
    if let Some(values) = table.column_mut(1) {
        values.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Writes a value with about three digits that mean something.
fn figure(value: f64) -> String {
    let decimals = match value.abs() {
        magnitude if magnitude >= 100.0 => 0,
        magnitude if magnitude >= 10.0 => 1,
        magnitude if magnitude >= 1.0 => 2,
        _ => 4,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::{Verdict, read, table};

    fn check(line: &str, expected: Verdict) {
        let measurements = read(line).unwrap();
        let verdicts: Vec<Verdict> = measurements.iter().map(super::Measurement::verdict).collect();
        assert_eq!(verdicts, [expected], "{line}");
    }

    #[test]
    fn a_gate_holds_up_to_its_limit() {
        check(r#"{"name":"a","value":1.5,"unit":"x","gate":{"max":1.5},"note":null}"#, Verdict::Holds);
        check(r#"{"name":"a","value":1.51,"unit":"x","gate":{"max":1.5},"note":null}"#, Verdict::Failed);
        check(r#"{"name":"a","value":40,"unit":"x","gate":{"min":40.0}}"#, Verdict::Holds);
        check(r#"{"name":"a","value":39.9,"unit":"x","gate":{"min":40.0}}"#, Verdict::Failed);
        check(r#"{"name":"a","value":39.9,"unit":"x","gate":null}"#, Verdict::Ungated);
    }

    #[test]
    fn a_value_is_left_out_only_with_a_reason() {
        check(
            r#"{"name":"a","value":null,"unit":"x","gate":{"max":1.5},"note":"the disk is too fast"}"#,
            Verdict::NotMeasurable,
        );
        check(r#"{"name":"a","value":null,"unit":"x","gate":{"max":1.5},"note":null}"#, Verdict::Failed);
    }

    #[test]
    fn words_for_people_are_passed_over_and_broken_lines_are_not() {
        assert!(read("warming up\n\n").unwrap().is_empty());
        assert!(read("{\"name\":\"a\"").is_err());
        assert!(read(r#"{"name":"a","value":1,"unit":"x","gate":{"most":1}}"#).is_err());
    }

    #[test]
    fn the_table_is_aligned() {
        let printed = [
            r#"{"name":"10 MB, 10 specs","value":1.234,"unit":"x floor","gate":{"max":1.5}}"#,
            r#"{"name":"claims","value":451.2,"unit":"x","note":"expected about 450"}"#,
        ];
        let printed = table(&read(&printed.join("\n")).unwrap()).trim_fmt();
        let lines: Vec<&str> = printed.lines().collect();
        assert_eq!(
            lines,
            [
                " measured         value  unit     gate             note",
                " 10 MB, 10 specs   1.23  x floor  at most 1.5  ok",
                " claims             451  x                         expected about 450",
            ]
        );
    }
}
