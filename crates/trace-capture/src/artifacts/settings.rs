//! What the owner of a home set: the file `config.toml`.

use std::path::Path;

use serde::Deserialize;

use super::{error::ArtifactError, home::Home};

const SETTINGS: &str = "config.toml";

/// What the owner of a home set. What is not set has its default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// `keep`: whether copies of the sessions are kept that a look at the usage finds, as `trace import` keeps them.
    pub keep: bool,
}

impl Home {
    /// Returns what the owner set.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::Settings`] if the file makes no sense, [`ArtifactError::Io`] if it cannot be read.
    pub fn settings(&self) -> Result<Settings, ArtifactError> {
        let path = Path::new(SETTINGS);
        let text = match self.read(path) {
            Err(error) if error.is_not_found() => return Ok(Settings::default()),
            text => text?,
        };
        let wrong = |message: String| ArtifactError::Settings { path: self.full(path), message };
        let text = String::from_utf8(text).map_err(|error| wrong(error.to_string()))?;
        toml::from_str(&text).map_err(|error| wrong(error.message().to_owned()))
    }
}
