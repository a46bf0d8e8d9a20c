//! The private files of launches: the truth that every row is a fold over.
//!
//! ```text
//! <home>/                                  0700
//!   home.json                              format version and ledger kind
//!   config.toml                            what the owner set
//!   sources/                               what is known of the files that agents write
//!   reserved/<launch>                      the folder of a launch whose id was promised
//!   quarantine/                            staging folders whose writer died
//!   traces/<run>/<process>/<launch>/       the paths of rows are relative to traces/
//!     launch.json                          the header: identity and labels, written once
//!     conversation.jsonl                   events
//!     turns/0001-system.md  0001-task.md   exact prompts
//!     turns/0001-context.json              assets and decisions
//!     raw/stdout  raw/stderr               what the provider wrote, verbatim
//!     raw/index.jsonl                      each chunk of it: when, which stream, where
//!     raw/source-1.zst                     a copy of a piece of what the agent wrote itself
//!     sources.jsonl                        what the agent wrote itself and the launch draws on
//!     lease                                locked by the writer while it lives
//! ```
//!
//! [`Home`] is the way in; [`LaunchFiles`] writes a launch, and [`LaunchDir`] reads one. All of it stands on
//! [`FileEffects`], of which [`RealFiles`] is the one that touches the operating system. What is recorded, and when it
//! is synced, is decided elsewhere; so is what the rows are.

mod append;
mod catalog;
mod claim;
mod deferred;
mod effects;
mod error;
mod home;
mod launch_dir;
mod launch_files;
mod layout;
mod lease;
mod moving;
mod reader;
mod real_files;
mod settings;
mod sources;
mod staging;
mod system;
mod turn_files;

pub(crate) use catalog::Importing;
pub(crate) use claim::Claim;
pub use effects::{Entry, EntryKind, Existing, FileEffects, FileHandle, FileId, Lock};
pub use error::{AppendError, ArtifactError};
pub use home::{Home, HomeConfig};
pub use launch_dir::LaunchDir;
pub use launch_files::{LaunchFiles, RawChunk, SyncHandles};
pub use reader::{ConversationReader, LINE_LIMIT, SkipReason, Stretch, Tail};
pub use real_files::RealFiles;
pub use settings::Settings;
pub(crate) use sources::KeptPiece;
pub use sources::SourceEntry;
pub use turn_files::{TurnFiles, TurnWriter, WrittenTurn};
