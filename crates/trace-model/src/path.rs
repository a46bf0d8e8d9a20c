//! Paths of artifacts.

use alloc::string::String;
use core::{fmt, str::FromStr};

use crate::{ModelError, text_enum::serde_as_text};

/// A path relative to the `traces` folder of a home: `/`-separated, without `.`, `..`, empty parts or NUL.
///
/// Nothing else is a path in a row, so a row can never name a file outside of the folder. Links are not followed when
/// it is opened; that is the file layer's part of the promise.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ArtifactPath(String);

impl ArtifactPath {
    /// Returns the path's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the parts between the slashes, outermost first.
    pub fn parts(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/')
    }

    /// Returns the path of `name` inside this folder.
    ///
    /// # Errors
    ///
    /// [`ModelError::BadPath`] if the result is no artifact path.
    pub fn join(&self, name: &str) -> Result<Self, ModelError> {
        alloc::format!("{}/{name}", self.0).parse()
    }
}

impl fmt::Display for ArtifactPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}

impl FromStr for ArtifactPath {
    type Err = ModelError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let reason = if text.is_empty() {
            "it is empty"
        } else if text.starts_with('/') {
            "it is absolute"
        } else if text.contains(['\0', '\\']) {
            "it holds a NUL or a backslash"
        } else if text.split('/').any(|part| matches!(part, "" | "." | "..")) {
            "a part of it is empty, '.' or '..'"
        } else {
            return Ok(Self(String::from(text)));
        };
        Err(ModelError::BadPath { path: String::from(text), reason })
    }
}

serde_as_text!(ArtifactPath);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_cannot_leave_its_root() {
        for bad in ["", "/etc/passwd", "..", "a/../b", "a/..", "./a", "a//b", "a/", "a\0b", "a\\b"] {
            assert!(bad.parse::<ArtifactPath>().is_err(), "{bad:?} was taken");
        }
        for good in ["run/proc/launch", "a", "a/.b", "a/...b", "ä/ö"] {
            assert_eq!(good.parse::<ArtifactPath>().unwrap().as_str(), good);
        }
    }

    #[test]
    fn joining_is_checked_too() {
        let folder: ArtifactPath = "run/proc".parse().unwrap();
        assert_eq!(folder.join("launch.json").unwrap().as_str(), "run/proc/launch.json");
        assert!(folder.join("../x").is_err());
        assert_eq!(folder.parts().last(), Some("proc"));
    }
}
