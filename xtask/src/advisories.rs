//! `cargo xtask advisories`: known vulnerabilities of dependencies, and all that `deny.toml` says, by cargo-deny.
//!
//! Not a part of `ci`: it needs the network, and its answer changes without a change of ours.

use std::path::Path;

use anyhow::Result;

use crate::commands::{cargo, install_deny, succeed};

/// Runs cargo-deny, which is built first if it is not installed.
pub(crate) fn run(root: &Path) -> Result<bool> {
    install_deny(root)?;
    succeed(cargo(root).args(["deny", "check"]))?;
    Ok(true)
}
