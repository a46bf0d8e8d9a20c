//! The lines that `cargo xtask bench` reads.

use serde_json::json;

/// What a value is held to.
#[derive(Clone, Copy)]
pub(crate) enum Gate {
    /// At most this.
    Max(f64),
    /// Nothing.
    None,
}

pub(crate) fn report(name: &str, value: impl Into<Option<f64>>, unit: &str, gate: Gate, note: &str) {
    let gate = match gate {
        Gate::Max(limit) => json!({ "max": limit }),
        Gate::None => json!(null),
    };
    let note = (!note.is_empty()).then_some(note);
    let value: Option<f64> = value.into();
    println!("{}", json!({ "name": name, "value": value, "unit": unit, "gate": gate, "note": note }));
}
