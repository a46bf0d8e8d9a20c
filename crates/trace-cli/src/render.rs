//! Values to what is printed: text for people in [`text`], documents for programs in [`json`].

pub(crate) mod csv;
pub(crate) mod json;
pub(crate) mod output;
pub(crate) mod text;
