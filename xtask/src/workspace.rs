//! The manifests, sources and documents of a workspace, in memory.
//!
//! The checks are functions of this value alone, so a test can change a copy of it and see what they say.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use toml::{Table, Value};

/// Texts by path; paths are relative to the root, with `/`.
pub(crate) type Files = BTreeMap<String, String>;

/// A workspace as the checks see it.
#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) files: Files,
    pub(crate) manifest: Table,
    pub(crate) crates: Vec<Crate>,
}

/// One member of the workspace.
#[derive(Debug)]
pub(crate) struct Crate {
    /// Where it sits, relative to the root, without a final `/`.
    pub(crate) dir: String,
    pub(crate) name: String,
    pub(crate) manifest: Table,
}

/// A broken rule, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) path: String,
    pub(crate) line: Option<usize>,
    pub(crate) message: String,
}

impl Problem {
    pub(crate) fn in_file(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), line: None, message: message.into() }
    }

    pub(crate) fn at_line(path: impl Into<String>, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.into(), line: Some(line), message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.message),
            None => write!(f, "{}: {}", self.path, self.message),
        }
    }
}

impl Workspace {
    /// Reads the workspace at `root`.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        Self::from_files(read_files(root)?)
    }

    /// Makes a workspace of texts.
    pub(crate) fn from_files(files: Files) -> Result<Self> {
        let manifest = parse(&files, "Cargo.toml")?;
        let dirs: BTreeSet<&str> = files.keys().filter_map(|path| path.strip_suffix("/Cargo.toml")).collect();
        let mut crates = Vec::new();
        for dir in dirs {
            let path = format!("{dir}/Cargo.toml");
            let manifest = parse(&files, &path)?;
            let name = manifest.get("package").and_then(|package| package.get("name")).and_then(Value::as_str);
            let Some(name) = name.map(str::to_owned) else { bail!("{path} has no package name") };
            crates.push(Crate { dir: dir.to_owned(), name, manifest });
        }
        Ok(Self { files, manifest, crates })
    }

    /// Returns the names of the members.
    pub(crate) fn names(&self) -> BTreeSet<&str> {
        self.crates.iter().map(|member| member.name.as_str()).collect()
    }

    /// Returns the member called `name`.
    pub(crate) fn find(&self, name: &str) -> Option<&Crate> {
        self.crates.iter().find(|member| member.name == name)
    }

    /// Returns the text at `path`.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    /// Returns every Rust file with its path.
    pub(crate) fn rust_files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files
            .iter()
            .filter(|(path, _)| has_extension(path, "rs"))
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Returns the Rust files under the `src` of `member`.
    pub(crate) fn sources<'a>(&'a self, member: &Crate) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let prefix = format!("{}/src/", member.dir);
        self.rust_files().filter(move |(path, _)| path.starts_with(&prefix))
    }
}

impl Crate {
    /// Returns the path of the manifest.
    pub(crate) fn manifest_path(&self) -> String {
        format!("{}/Cargo.toml", self.dir)
    }

    /// Returns each dependency as the section it stands in, its name and what the manifest says of it.
    pub(crate) fn dependencies(&self) -> Vec<Dependency<'_>> {
        let mut found = dependencies_in(&self.manifest);
        let targets = self.manifest.get("target").and_then(Value::as_table);
        for target in targets.into_iter().flatten().filter_map(|(_, target)| target.as_table()) {
            found.extend(dependencies_in(target));
        }
        found
    }

    /// Returns the names of the features that are on unless they are switched off.
    pub(crate) fn default_features(&self) -> Vec<String> {
        let features = self.manifest.get("features").and_then(|features| features.get("default"));
        let names = features.and_then(Value::as_array).into_iter().flatten();
        names.filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// Returns the names of the features that the manifest declares.
    pub(crate) fn features(&self) -> BTreeSet<&str> {
        let features = self.manifest.get("features").and_then(Value::as_table);
        features.into_iter().flatten().map(|(name, _)| name.as_str()).collect()
    }
}

/// One dependency of a manifest.
#[derive(Debug)]
pub(crate) struct Dependency<'a> {
    pub(crate) kind: Kind,
    pub(crate) name: &'a str,
    pub(crate) value: &'a Value,
}

/// The section that a dependency stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Normal,
    Build,
    Development,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Normal, Self::Build, Self::Development];

    /// Returns the name of the section.
    pub(crate) fn section(self) -> &'static str {
        match self {
            Self::Normal => "dependencies",
            Self::Build => "build-dependencies",
            Self::Development => "dev-dependencies",
        }
    }
}

fn dependencies_in(table: &Table) -> Vec<Dependency<'_>> {
    let mut found = Vec::new();
    for kind in Kind::ALL {
        let section = table.get(kind.section()).and_then(Value::as_table);
        found.extend(section.into_iter().flatten().map(|(name, value)| Dependency { kind, name, value }));
    }
    found
}

fn parse(files: &Files, path: &str) -> Result<Table> {
    let text = files.get(path).with_context(|| format!("{path} is missing"))?;
    text.parse().with_context(|| format!("{path} is not TOML"))
}

/// Reads what the checks look at: manifests, settings, sources, documents, licences. Not data of tests.
pub(crate) fn read_files(root: &Path) -> Result<Files> {
    let mut files = Files::new();
    read_dir(root, "", &mut files)?;
    Ok(files)
}

fn read_dir(dir: &Path, prefix: &str, files: &mut Files) -> Result<()> {
    for entry in fs::read_dir(dir).with_context(|| format!("read {}", dir.display()))? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = format!("{prefix}{name}");
        if entry.file_type()?.is_dir() {
            let ours = !name.starts_with('.') || [".cargo", ".ci", ".config"].contains(&name.as_str());
            if ours && path != "target" {
                read_dir(&entry.path(), &format!("{path}/"), files)?;
            }
        } else if is_checked(&path) {
            let text = fs::read_to_string(entry.path()).with_context(|| format!("read {path}"))?;
            files.insert(path, text);
        }
    }
    Ok(())
}

fn is_checked(path: &str) -> bool {
    ["rs", "toml", "md", "lock"].iter().any(|extension| has_extension(path, extension))
        || path.starts_with("LICENSE-")
        || path.starts_with(".ci/")
}

fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|found| found == extension)
}
