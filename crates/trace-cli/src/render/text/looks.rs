//! Where the agents' files were looked for.

use trace_capture::intake::import::Look;

use super::{escape, figures};

/// Returns the line of a place: whose it is, where it is, and how many files that may be sessions are there.
pub(crate) fn line(look: &Look) -> String {
    let whose = look.provider.as_ref().map_or("", |provider| provider.as_str());
    let found = match look.files {
        Some(files) => figures::counted(files, "file"),
        None => "is not there".to_owned(),
    };
    format!("  {whose:<9} {}  {found}", escape::line(&look.path.display().to_string()))
}
