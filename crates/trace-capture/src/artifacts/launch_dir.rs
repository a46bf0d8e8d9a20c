//! The folder of a launch, to be read.

use std::{io::Read, path::Path};

use serde::{Deserialize, de::DeserializeOwned};
use trace_model::{
    context::{Sha256Hex, TurnContext},
    event::SCHEMA_VERSION,
    launch::LaunchHeader,
    path::ArtifactPath,
    words::OutputStream,
};

use super::{
    error::ArtifactError,
    home::{Home, in_traces},
    layout, lease,
    reader::ConversationReader,
};

/// The folder of a launch, to be read. Its writer may still live.
#[derive(Debug, Clone)]
pub struct LaunchDir {
    home: Home,
    dir: ArtifactPath,
    header: LaunchHeader,
}

/// The part of a file that tells whether the rest can be understood.
#[derive(Deserialize)]
struct SchemaVersion {
    schema_version: u32,
}

impl LaunchDir {
    pub(super) fn open(home: Home, dir: ArtifactPath) -> Result<Self, ArtifactError> {
        let path = in_traces(&dir).join(layout::HEADER);
        let (header, _) = document::<LaunchHeader>(&home, &path)?;
        let named = header.artifact_dir();
        if named != dir {
            return Err(ArtifactError::Misplaced { path: home.full(&path), named: named.to_string() });
        }
        Ok(Self { home, dir, header })
    }

    pub(super) const fn home(&self) -> &Home {
        &self.home
    }

    /// Returns where the launch is.
    pub const fn path(&self) -> &ArtifactPath {
        &self.dir
    }

    /// Returns identity and labels of the launch.
    pub const fn header(&self) -> &LaunchHeader {
        &self.header
    }

    /// Returns the path of the events.
    pub fn conversation_path(&self) -> ArtifactPath {
        self.file(layout::CONVERSATION)
    }

    /// Returns the path of the context file of a turn.
    pub fn context_path(&self, ordinal: u32) -> ArtifactPath {
        self.file(&layout::context_file(ordinal))
    }

    fn file(&self, name: &str) -> ArtifactPath {
        self.dir.join(name).expect("the names of the layout are paths below a folder")
    }

    /// Reads assets and decisions of a turn; the hash is that of the file.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::FutureVersion`] if a newer version wrote it, [`ArtifactError::Malformed`] if it makes no sense,
    /// [`ArtifactError::Io`] if it cannot be read.
    pub fn context(&self, ordinal: u32) -> Result<(TurnContext, Sha256Hex), ArtifactError> {
        document(&self.home, &in_traces(&self.context_path(ordinal)))
    }

    /// Reads the events of the launch.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::Io`] if the file cannot be opened.
    pub fn conversation(&self) -> Result<ConversationReader, ArtifactError> {
        let path = self.conversation_path();
        let file = self.home.open_artifact(&path)?;
        Ok(ConversationReader::new(self.home.full(&in_traces(&path)), file))
    }

    /// Opens the events of the launch as they are written.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::Io`] if the file cannot be opened.
    pub(crate) fn conversation_bytes(&self) -> Result<Box<dyn Read + Send>, ArtifactError> {
        self.home.open_artifact(&self.conversation_path())
    }

    /// Opens the provider's own output.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::Io`] if the file cannot be opened; also where the output is not kept.
    pub fn raw(&self, stream: OutputStream) -> Result<Box<dyn Read + Send>, ArtifactError> {
        let name = match stream {
            OutputStream::Stdout => layout::RAW_STDOUT,
            OutputStream::Stderr => layout::RAW_STDERR,
        };
        self.home.open_artifact(&self.file(name))
    }

    /// Tells whether the launch has a writer that lives.
    ///
    /// # Errors
    ///
    /// [`ArtifactError::Io`] if the lease cannot be tried.
    pub fn is_live(&self) -> Result<bool, ArtifactError> {
        lease::is_live(&self.home, &in_traces(&self.dir))
    }
}

fn document<T: DeserializeOwned>(home: &Home, path: &Path) -> Result<(T, Sha256Hex), ArtifactError> {
    let text = home.read(path)?;
    let malformed = |source| ArtifactError::Malformed { path: home.full(path), source };
    let SchemaVersion { schema_version } = serde_json::from_slice(&text).map_err(malformed)?;
    home.check_version(path, schema_version, SCHEMA_VERSION)?;
    Ok((serde_json::from_slice(&text).map_err(malformed)?, Sha256Hex::of(&text)))
}
