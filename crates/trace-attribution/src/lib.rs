//! Attribution: which source each byte and each token of a prompt came from.
//!
//! In go the finished texts of a turn's channels and what may be in them; out comes a [`PreparedTurnContext`]: assets
//! that tile each text byte for byte, the tokens of each, and a decision for every candidate. A harness that knows
//! only the texts of its sources describes them as [`AssetSpec`]s, and they are searched for; one that assembles the
//! prompt itself uses a [`PromptBuilder`], and nothing is searched.
//!
//! ```
//! use trace_attribution::{AssetSpec, PreparedTurnContext, Prompts};
//! use trace_model::words::{AssetKind, Channel, Scope, TokenizerName};
//!
//! let guide = AssetSpec {
//!     channel: Channel::System,
//!     kind: AssetKind::RepoInstructions,
//!     scope: Scope::Repo,
//!     label: "GUIDE.md".to_owned(),
//!     source_path: None,
//!     included_by: "harness".to_owned(),
//!     content: "Write small commits.".to_owned(),
//!     match_all_occurrences: false,
//! };
//! let prompts = Prompts {
//!     system: Some("# Guide\nWrite small commits.\n".to_owned()),
//!     task: Some("Fix the parser.".to_owned()),
//! };
//! let context =
//!     PreparedTurnContext::from_attributed_prompts(TokenizerName::Cl100kBase, prompts, &[guide], Vec::new())?;
//!
//! let labels: Vec<_> = context.assets().map(|asset| asset.label.as_str()).collect();
//! assert_eq!(labels, ["prompt assembly", "GUIDE.md", "prompt assembly", "prompt assembly"]);
//! let attributed: u64 = context.assets().map(|asset| asset.attributed_tokens).sum();
//! assert_eq!(Some(attributed), context.total_tokens());
//! # Ok::<(), trace_attribution::AttributionError>(())
//! ```
//!
//! # The way of a channel
//!
//! `search` finds where contents occur, `place` lets the specs [`claims`] bytes in their order, `tile` turns the
//! claims into segments without holes, `count` shares the tokens out, and `decide` says what became of each candidate.
//! `prompt` and `builder` are the doors in front of that. `tokenizer` is the only module that knows an encoder, and
//! `sync` the only one that knows how an encoder splits text.
//!
//! Nothing here reads a file, a clock, the environment or randomness, and nothing is kept between calls but the
//! encoders' own immutable tables: the same input gives the same output.

#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod builder;
mod channel;
pub mod claims;
mod count;
mod decide;
mod error;
mod place;
mod prompt;
mod search;
mod source;
mod sync;
mod tile;
mod tokenizer;

pub use builder::PromptBuilder;
pub use channel::PreparedChannel;
pub use error::AttributionError;
pub use prompt::{PreparedTurnContext, Prompts, ProviderInvocation};
pub use source::{AssetSpec, Source};
