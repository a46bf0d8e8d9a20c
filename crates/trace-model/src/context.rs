//! The context of a turn: its prompts, the assets that tile them, and the decisions that made them.

use alloc::{string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use crate::{
    Entity, ModelError,
    id::TurnId,
    span::ByteSpan,
    words::{AssetKind, Channel, Coverage, DecisionKind, Scope, TokenizerName},
};

/// One contiguous range of a channel's bytes with one origin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "AssetRecord", into = "AssetRecord")]
pub struct Asset {
    /// Its place among the assets of the turn, from 0; positions run on from the system channel to the task channel.
    pub position: u32,
    /// The prompt that it is part of.
    pub channel: Channel,
    /// What it is.
    pub kind: AssetKind,
    /// How far it reaches.
    pub scope: Scope,
    /// What a person calls it.
    pub label: String,
    /// Where its text came from, as the harness names it.
    pub source_path: Option<String>,
    /// The part of the harness that put it into the prompt.
    pub included_by: String,
    /// SHA-256 of its bytes, in hexadecimal.
    pub content_sha256: Sha256Hex,
    /// Its bytes in the channel's text.
    pub span: ByteSpan,
    /// The tokens of its own bytes encoded alone.
    pub isolated_tokens: u64,
    /// The tokens of the channel that begin in it.
    pub attributed_tokens: u64,
}

/// An [`Asset`] as JSON and stores hold it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct AssetRecord {
    position: u32,
    channel: Channel,
    kind: AssetKind,
    scope: Scope,
    label: String,
    source_path: Option<String>,
    included_by: String,
    content_sha256: Sha256Hex,
    byte_start: u64,
    byte_end: u64,
    bytes: u64,
    isolated_tokens: u64,
    attributed_tokens: u64,
}

impl From<Asset> for AssetRecord {
    fn from(asset: Asset) -> Self {
        Self {
            position: asset.position,
            channel: asset.channel,
            kind: asset.kind,
            scope: asset.scope,
            label: asset.label,
            source_path: asset.source_path,
            included_by: asset.included_by,
            content_sha256: asset.content_sha256,
            byte_start: asset.span.start(),
            byte_end: asset.span.end(),
            bytes: asset.span.len(),
            isolated_tokens: asset.isolated_tokens,
            attributed_tokens: asset.attributed_tokens,
        }
    }
}

impl TryFrom<AssetRecord> for Asset {
    type Error = ModelError;

    fn try_from(record: AssetRecord) -> Result<Self, Self::Error> {
        let contradiction = |reason| ModelError::Contradiction { entity: Entity::Asset, reason };
        let span = ByteSpan::new(record.byte_start, record.byte_end)
            .ok_or_else(|| contradiction("byte_end lies before byte_start"))?;
        if span.len() != record.bytes {
            return Err(contradiction("bytes is not byte_end - byte_start"));
        }
        Ok(Self {
            position: record.position,
            channel: record.channel,
            kind: record.kind,
            scope: record.scope,
            label: record.label,
            source_path: record.source_path,
            included_by: record.included_by,
            content_sha256: record.content_sha256,
            span,
            isolated_tokens: record.isolated_tokens,
            attributed_tokens: record.attributed_tokens,
        })
    }
}

/// What was done with one candidate for the context, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// Its place among the decisions of the turn.
    pub position: u32,
    /// What the candidate is.
    pub kind: AssetKind,
    /// How far it reaches.
    pub scope: Scope,
    /// What a person calls it.
    pub label: String,
    /// Where its text came from, as the harness names it.
    pub source_path: Option<String>,
    /// What was done with it.
    pub decision: DecisionKind,
    /// Why, in words.
    pub reason: String,
    /// The size of the candidate, in bytes.
    pub original_bytes: Option<u64>,
    /// The size of the candidate, in tokens of its own.
    pub original_tokens: Option<u64>,
    /// The asset that it became, or the first one that holds its content.
    pub asset_position: Option<u32>,
}

/// The parsed `turns/NNNN-context.json`: what the rows of one turn's context are made of.
///
/// The texts themselves stand beside it in `NNNN-system.md` and `NNNN-task.md`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnContext {
    /// The schema of this file; 1 today.
    pub schema_version: u32,
    /// The turn that the context belongs to.
    pub turn_id: TurnId,
    /// How much of the real input it is.
    pub coverage: Coverage,
    /// The encoding of all token counts; absent where nothing was counted.
    pub tokenizer: Option<TokenizerName>,
    /// The assets, by position.
    pub assets: Vec<Asset>,
    /// The decisions, by position.
    pub decisions: Vec<Decision>,
}

impl TurnContext {
    /// Tells whether each asset and each decision has a later position than the one before it.
    pub fn positions_ascend(&self) -> bool {
        self.assets.is_sorted_by(|a, b| a.position < b.position)
            && self.decisions.is_sorted_by(|a, b| a.position < b.position)
    }
}

/// A SHA-256 in 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sha256Hex([u8; 32]);

impl Sha256Hex {
    /// Returns the text form's value of a digest.
    pub const fn from_digest(digest: [u8; 32]) -> Self {
        Self(digest)
    }

    /// Returns the digest that the text form is of.
    pub const fn as_digest(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns the hash of the bytes.
    pub fn of(bytes: &[u8]) -> Self {
        use sha2::Digest;
        Self(sha2::Sha256::digest(bytes).into())
    }
}

impl core::fmt::Debug for Sha256Hex {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        core::fmt::Display::fmt(self, formatter)
    }
}

impl core::fmt::Display for Sha256Hex {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let mut text = [0; 64];
        hex::encode_to_slice(self.0, &mut text).map_err(|_| core::fmt::Error)?;
        formatter.write_str(core::str::from_utf8(&text).map_err(|_| core::fmt::Error)?)
    }
}

impl core::str::FromStr for Sha256Hex {
    type Err = ModelError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut digest = [0; 32];
        if text.bytes().any(|byte| byte.is_ascii_uppercase()) || hex::decode_to_slice(text, &mut digest).is_err() {
            return Err(ModelError::BadName {
                kind: "SHA-256",
                text: String::from(text),
                expected: "64 lower-case hexadecimal digits",
            });
        }
        Ok(Self(digest))
    }
}

crate::text_enum::serde_as_text!(Sha256Hex);
