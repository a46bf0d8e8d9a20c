//! Unit tests of the questions.
