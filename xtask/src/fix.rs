//! `cargo xtask fix`: formats the sources and applies what clippy can mend by itself.

use std::path::Path;

use anyhow::Result;

use crate::commands::{cargo, succeed};

/// Mends what can be mended; what clippy can only point at stays for `ci`.
pub(crate) fn run(root: &Path) -> Result<bool> {
    succeed(cargo(root).args(["clippy", "--workspace", "--all-targets", "--fix", "--allow-dirty", "--allow-staged"]))?;
    // Last, as what clippy writes is not formatted.
    succeed(cargo(root).args(["fmt", "--all"]))?;
    Ok(true)
}
