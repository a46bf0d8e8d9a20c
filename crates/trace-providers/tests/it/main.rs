//! What the interpreter makes of recordings of real clients, and of lines that trip up readers.

mod laws;
mod messy;
mod recordings;
mod rules;
mod support;
