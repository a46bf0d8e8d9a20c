//! The lines that `cargo xtask bench` reads.

use serde_json::json;

/// What a value is held to.
#[derive(Clone, Copy)]
pub(crate) enum Gate {
    /// At least this.
    Min(f64),
    /// At most this.
    Max(f64),
    /// Nothing.
    None,
}

/// Prints a measurement; no value is one that cannot be measured here, and the note says why.
pub(crate) fn report(name: &str, value: Option<f64>, unit: &str, gate: Gate, note: &str) {
    let gate = match gate {
        Gate::Min(limit) => json!({ "min": limit }),
        Gate::Max(limit) => json!({ "max": limit }),
        Gate::None => json!(null),
    };
    let note = (!note.is_empty()).then_some(note);
    println!("{}", json!({ "name": name, "value": value, "unit": unit, "gate": gate, "note": note }));
}
