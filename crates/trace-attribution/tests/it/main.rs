//! What attribution promises, checked from outside against implementations that are simple enough to be believed.

#![expect(clippy::unwrap_used, reason = "the helpers of tests may panic as the tests do")]

mod builder;
mod constructors;
mod decisions;
mod laws;
mod origin;
mod placing;
mod reference;
mod strategies;
mod support;
mod tokenizers;
