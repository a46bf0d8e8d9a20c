//! Unit tests of the codec.
