//! What attribution promises, checked from outside against implementations that are simple enough to be believed.

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
