//! The prompts of a turn and their sources, as the command line gives them.

mod specs;

use std::{
    ffi::{OsStr, OsString},
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, Error};
use clap::{
    ArgGroup, Args,
    builder::{OsStringValueParser, TypedValueParser},
};
use trace_attribution::{AssetSpec, PreparedTurnContext, Prompts};
use trace_model::words::{AssetKind, Channel, Scope, TokenizerName};

use crate::{
    args::words,
    error::{Advise, WrongUsage},
};

/// The part of the help that these options stand in.
const HEADING: &str = "Prompts";

/// The prompts and what is known about their sources.
#[derive(Debug, Clone, Args)]
#[command(group = ArgGroup::new("prompt").multiple(true))]
pub(crate) struct PromptArgs {
    /// The file of the system prompt that you give the agent; it is put on record, not delivered
    #[arg(long, value_name = "FILE", group = "prompt", help_heading = HEADING)]
    system_file: Option<PathBuf>,
    /// The file of the task prompt that you give the agent; it is put on record, not delivered, but `-` is standard
    /// input, which goes on to the agent
    #[arg(long, value_name = "FILE", group = "prompt", help_heading = HEADING)]
    task_file: Option<PathBuf>,
    /// A file whose text is part of the task prompt, and what it is, such as goal=GOAL.md; may be given again
    #[arg(
        long,
        value_name = "KIND=PATH",
        requires = "task_file",
        value_parser = asset_file(),
        help_heading = HEADING,
    )]
    asset: Vec<AssetFile>,
    /// A JSON array of asset specs, which come before those of --asset
    #[arg(long, value_name = "FILE", requires = "prompt", help_heading = HEADING)]
    spec_file: Option<PathBuf>,
    /// The encoding to count tokens with
    #[arg(
        long,
        value_name = "NAME",
        default_value_t = TokenizerName::Cl100kBase,
        value_parser = words(TokenizerName::ALL, TokenizerName::as_str),
        help_heading = HEADING,
    )]
    tokenizer: TokenizerName,
}

/// A file whose text is a part of the task prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
struct AssetFile {
    kind: AssetKind,
    path: PathBuf,
}

fn asset_file() -> impl TypedValueParser<Value = AssetFile> {
    OsStringValueParser::new().try_map(|text: OsString| AssetFile::parse(&text))
}

impl AssetFile {
    fn parse(text: &OsStr) -> Result<Self, String> {
        let bytes = text.as_bytes();
        let at = bytes.iter().position(|byte| *byte == b'=').ok_or("it is not KIND=PATH")?;
        let (kind, path) = (String::from_utf8_lossy(&bytes[..at]), &bytes[at + 1..]);
        let kind = kind.parse().map_err(|_| {
            let kinds: Vec<&str> = AssetKind::ALL.iter().map(|kind| kind.as_str()).collect();
            format!("{kind:?} is no kind of asset; there are {}", kinds.join(", "))
        })?;
        if path.is_empty() {
            return Err("it names no file".to_owned());
        }
        Ok(Self { kind, path: PathBuf::from(OsStr::from_bytes(path)) })
    }

    fn spec(&self) -> anyhow::Result<AssetSpec> {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        Ok(AssetSpec {
            channel: Channel::Task,
            kind: self.kind,
            scope: Scope::Task,
            label: name.to_string_lossy().into_owned(),
            source_path: Some(self.path.to_string_lossy().into_owned()),
            included_by: "command_line".to_owned(),
            content: read_text(&self.path)?,
            match_all_occurrences: false,
        })
    }
}

impl PromptArgs {
    /// Tells whether a prompt is given.
    pub(crate) const fn is_given(&self) -> bool {
        self.system_file.is_some() || self.task_file.is_some()
    }

    /// Tells whether the task prompt is what standard input holds.
    pub(crate) fn takes_stdin(&self) -> bool {
        self.task_file.as_deref() == Some(Path::new("-"))
    }

    /// Reads the files and attributes the prompts; without any prompt the context is unknown.
    ///
    /// A file that cannot be read, or does not hold what its option asks for, is wrong usage.
    ///
    /// `stdin` is what standard input held, where [`takes_stdin`](Self::takes_stdin) asks for it.
    pub(crate) fn prepare(&self, stdin: &[u8]) -> anyhow::Result<PreparedTurnContext> {
        if !self.is_given() {
            return Ok(PreparedTurnContext::unknown());
        }
        let system = self.system_file.as_deref().map(read_text).transpose()?;
        let task = match &self.task_file {
            Some(_) if self.takes_stdin() => Some(text("standard input", stdin.to_vec()).map_err(Error::msg)?),
            file => file.as_deref().map(read_text).transpose()?,
        };
        let prompts = Prompts { system, task };
        let specs = self.specs()?;
        if self.asset.is_empty() && self.spec_file.is_none() {
            return Ok(PreparedTurnContext::from_prompts(self.tokenizer, prompts));
        }
        Ok(PreparedTurnContext::from_attributed_prompts(self.tokenizer, prompts, &specs, Vec::new())?)
    }

    fn specs(&self) -> anyhow::Result<Vec<AssetSpec>> {
        let mut specs = match &self.spec_file {
            None => Vec::new(),
            Some(path) => {
                let text = read_text(path)?;
                specs::parse(&text)
                    .map_err(|specs::BadSpecs { place, error }| {
                        Error::new(error).context(WrongUsage(format!("{} {place}", path.display())))
                    })
                    .advise(|| {
                        "each spec is an object with channel, kind, scope, label, included_by and content, and may have \
                         source_path and match_all_occurrences"
                            .to_owned()
                    })?
            }
        };
        for file in &self.asset {
            specs.push(file.spec()?);
        }
        Ok(specs)
    }
}

/// Reads a file that the command line names. One that cannot be read, or is no text, is wrong usage.
pub(crate) fn read_text(path: &Path) -> anyhow::Result<String> {
    let bytes = fs::read(path).with_context(|| WrongUsage(format!("cannot read {}", path.display())))?;
    Ok(text(&path.display().to_string(), bytes).map_err(WrongUsage)?)
}

/// Returns the text, or what is wrong with it.
fn text(name: &str, bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        format!("{name} is not UTF-8 text: the byte at {at} is part of no character")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_asset_is_a_kind_and_a_path() {
        let parse = |text: &str| AssetFile::parse(OsStr::new(text));
        let goal = AssetFile { kind: AssetKind::Goal, path: PathBuf::from("notes/a=b.md") };
        assert_eq!(parse("goal=notes/a=b.md"), Ok(goal));
        assert_eq!(parse("goal"), Err("it is not KIND=PATH".to_owned()));
        assert_eq!(parse("goal="), Err("it names no file".to_owned()));
        assert!(parse("gaol=x").unwrap_err().contains("repo_instructions"));
    }
}
