//! What sessions work on: files that are read again and again.

use fastrand::Rng;

use super::text::Vocabulary;

/// How many files a project has.
const FILES: usize = 40;

/// A project.
#[derive(Debug)]
pub(super) struct Project {
    pub(super) cwd: String,
    files: Vec<SourceFile>,
}

#[derive(Debug)]
struct SourceFile {
    path: String,
    lines: Vec<String>,
}

/// Some lines of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece<'a> {
    pub(super) path: &'a str,
    pub(super) lines: &'a [String],
    /// How many lines stand before them.
    pub(super) before: usize,
}

impl Project {
    pub(super) fn new(number: u64, vocabulary: &Vocabulary, rng: &mut Rng) -> Self {
        let cwd = format!("/home/dev/{}-{number}", vocabulary.name(rng));
        let files = (0..FILES)
            .map(|_| SourceFile {
                path: format!("{cwd}/src/{}/{}.rs", vocabulary.name(rng), vocabulary.name(rng)),
                lines: vocabulary.source_file(rng.usize(60..1200), rng),
            })
            .collect();
        Self { cwd, files }
    }

    /// Chooses lines of a file: at most so many.
    pub(super) fn piece(&self, most: usize, rng: &mut Rng) -> Piece<'_> {
        let SourceFile { path, lines } = rng.choice(&self.files).expect("a project has files");
        let len = rng.usize(1..=most.min(lines.len()));
        let before = rng.usize(0..=lines.len() - len);
        Piece { path, lines: &lines[before..before + len], before }
    }
}
